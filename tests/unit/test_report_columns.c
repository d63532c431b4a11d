// Tables on terminals of several widths: which columns are left out, which names are shortened, and how far.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/render/report.h"

// Natural widths: name 20 as the rows say, speed 5, low and high 4 each, note 6, reason as long as its text.
static const dq_column columns[] = {
    {"name", "Name", DQ_COLUMN_TEXT, NULL, 0, 20, 0},   {"speed", "Speed", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"low", "Low", DQ_COLUMN_INT, NULL, 0, 0, 3},       {"high", "High", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"note", "Note", DQ_COLUMN_TEXT, NULL, 0, 20, 2},   {"reason", "Reason", DQ_COLUMN_TEXT, NULL, 0, 60, -1},
    {"hidden", "Hidden", DQ_COLUMN_INT, NULL, 0, 0, 1},
};
static const dq_table_layout layout = {"layers", NULL, columns, (int)(sizeof columns / sizeof *columns), false};
static const dq_table_layout second = {"second", "Second", columns, (int)(sizeof columns / sizeof *columns), false};

static void add(dq_table *table, const char *name, const char *reason) {
  dq_table_row(table);
  dq_table_put_text(table, "name", name);
  dq_table_put_int(table, "speed", 12345);
  dq_table_put_int(table, "low", -100);
  dq_table_put_int(table, "high", 1000);
  dq_table_put_text(table, "note", "quick!");
  if (reason) dq_table_put_text(table, "reason", reason);
}

// The lines of a report at this width, as one text.
static const char *at_width(const dq_report *report, int width) {
  static char text[4096];
  FILE *stream = fmemopen(text, sizeof text, "w");
  dq_text_style style = {.width = width};
  dq_error error = {0};
  assert_int_equal(dq_report_print(report, DQ_FORMAT_TEXT, &style, stream, &error), DQ_OK);
  fclose(stream);
  return text;
}

static dq_report *report_of(const char *first, const char *other, const char *reason) {
  dq_report *report = dq_report_new("dq-sample", 1, "Sample");
  dq_table *table = dq_report_table(report, &layout);
  add(table, first, reason);
  add(table, other, reason);
  return report;
}

static void columns_leave_by_priority(void **state) {
  (void)state;
  dq_report *report = report_of("/block/conv/Conv", "/block/relu/Relu", NULL);
  // 16 + 2 + 5 + 2 + 4 + 2 + 4 + 2 + 6 = 43 columns
  const char *full = "Name              Speed   Low  High  Note\n"
                     "-------------------------------------------\n"
                     "/block/conv/Conv  12345  -100  1000  quick!\n"
                     "/block/relu/Relu  12345  -100  1000  quick!\n";
  assert_string_equal(at_width(report, 0), full);
  assert_string_equal(at_width(report, 43), full);
  assert_string_equal(at_width(report, 42), "Name              Speed  Note\n"
                                            "-------------------------------\n"
                                            "/block/conv/Conv  12345  quick!\n"
                                            "/block/relu/Relu  12345  quick!\n"
                                            "Left out: low, high (a wider terminal or\n"
                                            "--csv shows them)\n");
  assert_string_equal(at_width(report, 30), "Name              Speed\n"
                                            "-----------------------\n"
                                            "/block/conv/Conv  12345\n"
                                            "/block/relu/Relu  12345\n"
                                            "Left out: low, high, note (a\n"
                                            "wider terminal or --csv shows\n"
                                            "them)\n");
  assert_string_equal(at_width(report, 17), "Name\n"
                                            "----------------\n"
                                            "/block/conv/Conv\n"
                                            "/block/relu/Relu\n"
                                            "Left out: speed,\n"
                                            "low, high, note\n"
                                            "(a wider terminal\n"
                                            "or --csv shows\n"
                                            "them)\n");
  dq_report_free(report);
}

// What is left out makes room for a less important column that is narrow.
static void room_is_used(void **state) {
  (void)state;
  dq_report *report = report_of("/block/conv/Conv", "a long note", NULL);
  dq_table *table = dq_report_table(report, &second);
  add(table, "x", NULL);
  dq_table_put_text(table, "note", "a note of twenty ...");
  const char *text = at_width(report, 30);
  const char *own = strstr(text, "Second\n");
  assert_non_null(own);
  assert_string_equal(own, "Second\n"
                           "Name  Speed   Low  High\n"
                           "-----------------------\n"
                           "x     12345  -100  1000\n"
                           "Left out: note (a wider\n"
                           "terminal or --json shows it)\n");
  dq_report_free(report);
}

static void names_are_shortened_last(void **state) {
  (void)state;
  // Beyond the 20 columns that the layout gives, where there is room.
  dq_report *report = report_of("/features/features.12/conv/Conv", "/features/features.13/conv/Conv", NULL);
  assert_non_null(strstr(at_width(report, 80), "/features/features.12/conv/Conv  12345  -100  1000  quick!\n"));
  // Cut in the middle at 20 both would be "/features.../conv/Conv": they stay as wide as tells them apart.
  const char *cut = at_width(report, 0);
  assert_null(strstr(cut, "/features/features.12/conv/Conv"));
  const char *line = strchr(strchr(cut, '\n') + 1, '\n') + 1, *next = strchr(line, '\n') + 1;
  assert_true(strncmp(line, next, 30) != 0);
  // Everything else is left out before they are cut, and they are not cut below what tells them apart.
  cut = at_width(report, 14);
  line = strchr(strchr(cut, '\n') + 1, '\n') + 1, next = strchr(line, '\n') + 1;
  assert_null(strstr(cut, "12345"));
  assert_true(strncmp(line, next, strcspn(line, "\n")) != 0);
  dq_report_free(report);
  report = report_of("/first/features.12/conv/Conv", "/other/features.13/conv/Relu", NULL);
  assert_non_null(strstr(at_width(report, 14), "/first.../Conv\n/other.../Relu\n"));
  dq_report_free(report);
}

static void reasons_give_way(void **state) {
  (void)state;
  const char *reason = "its first input is not a constant, and the second has no scale";
  dq_report *report = report_of("/block/conv/Conv", "/block/relu/Relu", reason);
  assert_non_null(strstr(at_width(report, 200), reason));
  // 16 + 2 + 5 + 2 + 32: what a reason keeps for itself while columns are left out; it is never left out.
  const char *text = at_width(report, 60);
  assert_null(strstr(text, "Note"));
  assert_non_null(strstr(text, "  its first input "));
  assert_non_null(strstr(text, "has no scale\n"));
  text = at_width(report, 30);
  assert_non_null(strstr(text, "/block/conv/Conv  its f...cale\n"));
  dq_report_free(report);
}

static void columns_of_files(void **state) {
  (void)state;
  dq_report *report = dq_report_new("dq-sample", 1, "Sample");
  dq_table *table = dq_report_table(report, &layout);
  add(table, "x", NULL);
  dq_table_put_int(table, "hidden", 77);
  assert_non_null(strstr(at_width(report, 0), "Hidden"));
  dq_table_column_files_only(table, "hidden");
  assert_null(strstr(at_width(report, 0), "77"));
  assert_null(strstr(at_width(report, 20), "hidden"));
  char csv[512];
  FILE *stream = fmemopen(csv, sizeof csv, "w");
  dq_error error = {0};
  assert_int_equal(dq_report_print(report, DQ_FORMAT_CSV, NULL, stream, &error), DQ_OK);
  fclose(stream);
  assert_non_null(strstr(csv, ",77\r\n"));
  dq_report_free(report);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_leave_by_priority), cmocka_unit_test(room_is_used),
      cmocka_unit_test(names_are_shortened_last),  cmocka_unit_test(reasons_give_way),
      cmocka_unit_test(columns_of_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
