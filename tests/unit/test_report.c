// Reports: numbers and names as people read them, and the same facts as text, CSV, JSON and HTML.
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/render/report.h"
#include "lib/render/text.h"

static const dq_column layer_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 20, 0},     {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"bytes", "Size", DQ_COLUMN_BYTES, NULL, 0, 0, 0},    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 1, 0, 0},
    {"share", "Share", DQ_COLUMN_PERCENT, NULL, 1, 0, 0}, {"scale", "Scale", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 0},
    {"done", "Done", DQ_COLUMN_BOOL, NULL, 0, 0, 0},      {"unused", "Unused", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
};
static const dq_table_layout layers = {"layers", "Layers", layer_columns, 8, false};
static const dq_column model_columns[] = {{"name", "Model", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
                                          {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 0}};
static const dq_table_layout model = {"model", NULL, model_columns, 2, true};

static char *shown(const dq_report *report, dq_report_format format, int width) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  dq_error error = {0};
  dq_text_style style = {.width = width};
  assert_int_equal(dq_report_print(report, format, &style, stream, &error), DQ_OK);
  fclose(stream);
  return text;
}

static void add_layer(dq_table *table, const char *name, int64_t macs, double sqnr) {
  dq_table_row(table);
  dq_table_put_text(table, "node", name);
  dq_table_put_int(table, "macs", macs);
  dq_table_put_real(table, "sqnr", sqnr);
}

static dq_report *sample(dq_table **table) {
  dq_report *report = dq_report_new("dq-sample", 2, "Sample <1>");
  dq_table *record = dq_report_table(report, &model);
  dq_table_row(record);
  dq_table_put_text(record, "name", "a.onnx");
  dq_table_put_int(record, "nodes", 3);
  *table = dq_report_table(report, &layers);
  add_layer(*table, "conv1", 352540000, 41.25);
  dq_table_put_real(*table, "scale", 0.1f);
  dq_table_put_bool(*table, "done", true);
  dq_table_mark(*table, "sqnr", DQ_MARK_BAD);
  add_layer(*table, "a \"b\", c\n<i>", 1000, INFINITY);
  add_layer(*table, "\xf0\x9f\x98\x80 \xff", 999, NAN);
  dq_table_total_row(*table);
  dq_table_put_text(*table, "node", "total");
  dq_table_put_int(*table, "macs", 352541999);
  dq_report_add_note(report, "%d layers", 3);
  return report;
}

static void numbers(void **state) {
  (void)state;
  char t[64];
  assert_string_equal(dq_format_count(352540000, t, sizeof t), "352.54 M");
  assert_string_equal(dq_format_count(0, t, sizeof t), "0");
  assert_string_equal(dq_format_count(999, t, sizeof t), "999");
  assert_string_equal(dq_format_count(1000, t, sizeof t), "1.00 k");
  assert_string_equal(dq_format_count(999999, t, sizeof t), "1.00 M");
  assert_string_equal(dq_format_count(999960, t, sizeof t), "999.96 k");
  assert_string_equal(dq_format_count(999994, t, sizeof t), "999.99 k");
  assert_string_equal(dq_format_count(999996, t, sizeof t), "1.00 M");
  assert_string_equal(dq_format_bytes(1048473, t, sizeof t), "1023.9 KiB"); // 1023.899
  assert_string_equal(dq_format_bytes(1048535, t, sizeof t), "1.0 MiB");    // 1023.96
  assert_string_equal(dq_format_count(-352540000, t, sizeof t), "-352.54 M");
  assert_string_equal(dq_format_bytes(4942000, t, sizeof t), "4.7 MiB");
  assert_string_equal(dq_format_bytes(1023, t, sizeof t), "1023 B");
  assert_string_equal(dq_format_bytes(1024, t, sizeof t), "1.0 KiB");
  assert_string_equal(dq_format_percent(12.345, 1, t, sizeof t), "12.3 %");
  assert_string_equal(dq_format_fixed(-0.001, 2, t, sizeof t), "0.00");
  assert_string_equal(dq_format_fixed(NAN, 2, t, sizeof t), "nan");
  assert_string_equal(dq_format_exact(0.1, t, sizeof t), "0.1");
  assert_string_equal(dq_format_exact(-INFINITY, t, sizeof t), "-inf");
  assert_true(strtod(dq_format_exact(1.0 / 3, t, sizeof t), NULL) == 1.0 / 3);
}

static void names(void **state) {
  (void)state;
  char t[256];
  assert_string_equal(dq_text_fit("conv1", 20, t, sizeof t), "conv1");
  assert_string_equal(dq_text_fit("a\nb\x01", 20, t, sizeof t), "a\\nb\\x01");
  assert_string_equal(dq_text_fit("abcdefghijklmnop", 9, t, sizeof t), "abc...nop");
  assert_string_equal(dq_text_fit("\xff\xc0\x80", 9, t, sizeof t), "???");
  assert_string_equal(dq_text_fit("\xe2\x80\xae"
                                  "x",
                                  9, t, sizeof t),
                      "?x");
  assert_int_equal(dq_text_columns("\xf0\x9f\x98\x80"), 2);
  assert_int_equal(dq_text_columns("e\xcc\x81"), 1);
  dq_text_fit("\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80", 7, t, sizeof t);
  assert_string_equal(t, "\xf0\x9f\x98\x80...\xf0\x9f\x98\x80");
  char *huge = malloc((1 << 20) + 1);
  memset(huge, 'x', 1 << 20);
  huge[1 << 20] = 0;
  assert_int_equal(dq_text_columns(dq_text_fit(huge, 40, t, sizeof t)), 40);
  for (int i = 0; i < 1 << 20; i += 2) memcpy(huge + i, "\xcc\x81", 2); // only combining marks
  dq_text_fit(huge, 40, t, sizeof t);
  assert_true(strlen(t) < sizeof t);
  free(huge);
}

// Columns of every code point, by the blocks of Unicode: two of East Asian wide and full-width characters and of emoji,
// none of combining marks, marks of direction and joiners, one of all others.
static void columns_of_code_points(void **state) {
  (void)state;
  static const struct {
    int32_t first, last;
    int columns;
  } blocks[] = {{0x300, 0x36f, 0},     {0x1100, 0x115f, 2},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},
                {0x2e80, 0x303e, 2},   {0x3040, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
                {0xfe00, 0xfe0f, 0},   {0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},   {0xff00, 0xff60, 2},
                {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1faff, 2},
                {0x20000, 0x3fffd, 2}, {0x110000, 0, 0}};
  int32_t code = 0;
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    for (; code < blocks[i].first; code++)
      if (dq_utf8_columns(code) != 1) fail_msg("U+%X is not one column wide", (unsigned)code);
    for (; code <= blocks[i].last; code++)
      if (dq_utf8_columns(code) != blocks[i].columns)
        fail_msg("U+%X: %d columns", (unsigned)code, dq_utf8_columns(code));
  }
}

static void text_is_aligned(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  char *text = shown(report, DQ_FORMAT_TEXT, 0);
  static const char expected[] = "Model: a.onnx\nNodes: 3\n\nLayers\n"
                                 "Node               MACs  SQNR (dB)  Scale  Done\n"
                                 "-----------------------------------------------\n"
                                 "conv1          352.54 M       41.2    0.1  yes\n"
                                 "a \"b\", c\\n<i>    1.00 k        inf         \n"
                                 "\xf0\x9f\x98\x80 ?                999        nan         \n"
                                 "-----------------------------------------------\n"
                                 "total          352.54 M                    \n\n3 layers\n";
  assert_string_equal(text, expected);
  free(text);
  dq_report_free(report);
}

static void csv_is_quoted(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  char *text = shown(report, DQ_FORMAT_CSV, 0);
  assert_string_equal(text, "node,macs,bytes,sqnr,share,scale,done,unused\r\n"
                            "conv1,352540000,,41.25,,0.10000000149011612,true,\r\n"
                            "\"a \"\"b\"\", c\n<i>\",1000,,inf,,,,\r\n"
                            "\xf0\x9f\x98\x80 \xff,999,,nan,,,,\r\n");
  free(text);
  dq_report_free(report);
}

// Names that a spreadsheet would take for formulas, and a terminal for commands.
static void csv_is_harmless(void **state) {
  (void)state;
  static const struct {
    const char *name, *cell;
  } cases[] = {{"=cmd|x", "\"'=cmd|x\""},   {"+1", "\"'+1\""},         {"-1", "\"'-1\""},
               {"@sum", "\"'@sum\""},       {"\t=1", "\"'\t=1\""},     {"\r=1", "\"'\r=1\""},
               {"a=b-c+d@e", "a=b-c+d@e"},  {"a\tb", "\"a\tb\""},      {"a\033[2J\ab", "a\\x1b[2J\\x07b"},
               {"\177", "\\x7f"},           {"\302\2332J", "\\x9b2J"}, {"\2332J", "?2J"},
               {"\342\200\256abc", "?abc"}, {"\342\200\250x", "?x"},   {"\330\234x", "?x"},
               {"\303\244", "\303\244"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_table *table;
    dq_report *report = sample(&table);
    add_layer(table, cases[i].name, 5, 1);
    char *text = shown(report, DQ_FORMAT_CSV, 0), expected[64];
    snprintf(expected, sizeof expected, "\r\n%s,5,", cases[i].cell);
    if (!strstr(text, expected)) fail_msg("no cell %s in: %s", cases[i].cell, text);
    free(text);
    dq_report_free(report);
  }
}

static void json_reads_back(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  char *text = shown(report, DQ_FORMAT_JSON, 0);
  assert_int_equal(strncmp(text, "{\n  \"schema\": \"dq-sample\",\n  \"version\": 2,", 42), 0);
  json_t *root = json_loads(text, 0, NULL), *rows = json_object_get(root, "layers");
  assert_int_equal(json_array_size(rows), 3);
  json_t *first = json_array_get(rows, 0), *second = json_array_get(rows, 1);
  assert_int_equal(json_integer_value(json_object_get(first, "macs")), 352540000);
  assert_true(json_real_value(json_object_get(first, "scale")) == (double)0.1f);
  assert_string_equal(json_string_value(json_object_get(second, "node")), "a \"b\", c\n<i>");
  assert_true(json_is_null(json_object_get(second, "sqnr")));
  assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 2), "node")),
                      "\xf0\x9f\x98\x80 \xef\xbf\xbd");
  assert_string_equal(json_string_value(json_object_get(json_object_get(root, "model"), "name")), "a.onnx");
  assert_non_null(json_object_get(root, "layers_total"));
  json_decref(root);
  free(text);
  dq_report_free(report);
}

static void html_is_escaped(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  char *text = shown(report, DQ_FORMAT_HTML, 0);
  assert_null(strstr(text, "<i>"));
  assert_non_null(strstr(text, "a &quot;b&quot;, c\\n&lt;i&gt;"));
  assert_non_null(strstr(text, "<title>Sample &lt;1&gt;</title>"));
  assert_non_null(strstr(text, "<td class=\"n bad\">41.2</td>"));
  assert_null(strstr(text, "<script"));
  free(text);
  dq_report_free(report);
}

// The classes by which pages break lines and align: n, numbers; m, names; r, reasons; p, phrases; k, anything short.
static void html_cells_by_kind(void **state) {
  (void)state;
  static const dq_column columns[] = {{"name", "Name", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
                                      {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 1},
                                      {"kind", "Kind", DQ_COLUMN_TEXT, NULL, 0, 24, 2},
                                      {"phrase", "Phrase", DQ_COLUMN_TEXT, NULL, 0, 25, 3},
                                      {"reason", "Reason", DQ_COLUMN_TEXT, NULL, 0, 0, -1}};
  static const dq_table_layout layout = {"cells", "Cells", columns, 5, false};
  dq_report *report = dq_report_new("dq-sample", 2, "Cells");
  dq_table *table = dq_report_table(report, &layout);
  dq_table_row(table);
  dq_table_put_text(table, "name", "stem.conv");
  dq_table_put_int(table, "macs", 12);
  dq_table_put_text(table, "kind", "Conv");
  dq_table_put_text(table, "phrase", "a word");
  dq_table_put_text(table, "reason", "why not");
  dq_table_row(table);
  dq_table_put_text(table, "macs", "at least");
  char *text = shown(report, DQ_FORMAT_HTML, 0);
  assert_non_null(strstr(text, "<td class=\"m\">stem.<wbr>conv</td><td class=\"n\">12</td><td class=\"k\">Conv</td>"
                               "<td class=\"p\">a word</td><td class=\"r\">why not</td>"));
  assert_non_null(strstr(text, "<td class=\"m\"></td><td class=\"k\">at least</td><td class=\"k\"></td>"
                               "<td class=\"p\"></td><td class=\"r\"></td>"));
  free(text);
  dq_report_free(report);
}

static void rows_are_sorted(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  dq_error error = {0};
  assert_int_equal(dq_table_sort(table, "mac", false, &error), DQ_USAGE);
  assert_string_equal(error.message, "table 'layers' has no column 'mac' to sort by");
  assert_string_equal(error.hint, "did you mean 'macs'?");
  assert_int_equal(dq_table_sort(table, "macs", true, &error), DQ_OK);
  char *text = shown(report, DQ_FORMAT_CSV, 0);
  assert_true(strstr(text, ",999,") < strstr(text, ",1000,"));
  assert_true(strstr(text, ",1000,") < strstr(text, ",352540000,"));
  free(text);
  dq_report_free(report);
}

static void faults_are_reported(void **state) {
  (void)state;
  dq_report *report = dq_report_new("dq-sample", 1, "");
  dq_table *table = dq_report_table(report, &layers);
  dq_table_put_int(table, "macs", 1); // no row: nothing happens
  dq_table_row(table);
  dq_table_put_int(table, "nonsense", 1);
  dq_error error = {0};
  assert_int_equal(dq_report_print(report, DQ_FORMAT_TEXT, NULL, stdout, &error), DQ_SYSTEM);
  assert_non_null(strstr(error.message, "'nonsense'"));
  dq_report_free(report);
  assert_int_equal(dq_report_print(NULL, DQ_FORMAT_TEXT, NULL, stdout, &error), DQ_SYSTEM);
  report = dq_report_new("dq-sample", 1, "");
  assert_int_equal(dq_report_write(report, DQ_FORMAT_JSON, "/nonexistent/x.json", NULL, &error), DQ_SYSTEM);
  dq_report_free(report);
}

static void narrow_terminals_cut_names(void **state) {
  (void)state;
  dq_table *table;
  dq_report *report = sample(&table);
  add_layer(table, "/features/features.12/conv/conv.1/Conv", 5, 1);
  char *text = shown(report, DQ_FORMAT_TEXT, 46);
  assert_non_null(strstr(text, "..."));
  for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
    assert_true(strcspn(line, "\n") <= 48); // bytes; the emoji has more than columns
  free(text);
  dq_report_free(report);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers),
      cmocka_unit_test(names),
      cmocka_unit_test(columns_of_code_points),
      cmocka_unit_test(text_is_aligned),
      cmocka_unit_test(csv_is_quoted),
      cmocka_unit_test(csv_is_harmless),
      cmocka_unit_test(json_reads_back),
      cmocka_unit_test(html_is_escaped),
      cmocka_unit_test(html_cells_by_kind),
      cmocka_unit_test(rows_are_sorted),
      cmocka_unit_test(faults_are_reported),
      cmocka_unit_test(narrow_terminals_cut_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
