// Option tables: every type of value, every kind of mistake, and the texts made from them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/options/options.h"
#include "lib/text/nearest.h"

typedef struct sample_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options out;
  dq_report_options report;
  double ratio, energy, macs, wait;
  int64_t multiple;
  size_t bytes;
  int method, observer;
  bool vbmf, half_io;
  dq_option_list exclude;
  const char *table;
} sample_options;

static const char *observer_name(int index) {
  static const char *const names[] = {"first", "second"};
  return index < 2 ? names[index] : NULL;
}

#define INTO(field) DQ_INTO(sample_options, field)
static const dq_option rows[] = {
    {.name = "ratio",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 1,
     .open_minimum = true,
     .value = "R",
     .group = "Rank",
     INTO(ratio),
     .help = "share of each mode's rank kept"},
    {.name = "energy",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 1,
     .open_minimum = true,
     .value = "E",
     .group = "Rank",
     INTO(energy),
     .help = "squared singular values kept"},
    {.name = "vbmf", .type = DQ_OPTION_FLAG, .group = "Rank", INTO(vbmf), .help = "ranks by VBMF"},
    {.name = "macs",
     .type = DQ_OPTION_PERCENT,
     .minimum = -100,
     .maximum = 0,
     .group = "Rank",
     INTO(macs),
     .help = "wanted change of the MACs",
     .details = ".starts with a dot\\n."},
    {.name = "multiple",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 512,
     .preset = "8",
     INTO(multiple),
     .help = "ranks are multiples of this"},
    {.name = "bytes", .type = DQ_OPTION_SIZE, INTO(bytes), .help = "a size"},
    {.name = "wait", .type = DQ_OPTION_TIME, INTO(wait), .help = "a time"},
    {.name = "method",
     .aliases = "calibration-method calibrate-method",
     .type = DQ_OPTION_ENUM,
     .choices = "minmax|u8=quint8=uint8|entropy",
     .preset = "entropy",
     INTO(method),
     .help = "how ranges are found"},
    {.name = "observer", .type = DQ_OPTION_ENUM, .choice = observer_name, INTO(observer), .help = "it's [a: list]"},
    {.name = "keep-io",
     .aliases = "keep-io-types",
     .letter = 'k',
     .type = DQ_OPTION_FLAG,
     INTO(half_io),
     .clears = true,
     .help = "keep inputs and outputs"},
    {.name = "half-io", .type = DQ_OPTION_FLAG, INTO(half_io), .help = "inputs and outputs too"},
    {.name = "exclude",
     .aliases = "nodes-to-exclude",
     .letter = 'x',
     .type = DQ_OPTION_LIST,
     INTO(exclude),
     .help = "leave these nodes alone"},
    {.name = "table", .type = DQ_OPTION_FILE, INTO(table), .needs = "data", .help = "table of ranges"},
};

static dq_status unused_run(const void *options, const dq_context *context, dq_error *error) {
  (void)options, (void)context, (void)error;
  return DQ_OK;
}

static const dq_command sample = {
    .name = "dq-sample",
    .summary = "a command for tests",
    .usage = "MODEL -o OUT (--ratio R | --energy E | --vbmf | --macs P) [options]",
    .description = "First paragraph.\n\nSecond paragraph.",
    .examples = "# half of it\ndq-sample a.onnx --ratio 0.5 -o b.onnx",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 2,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_OUTPUT | DQ_WITH_REPORT,
    .data_offset = offsetof(sample_options, data),
    .output_offset = offsetof(sample_options, out),
    .report_offset = offsetof(sample_options, report),
    .rules = {{DQ_RULE_REQUIRED, "output"}, {DQ_RULE_ONE_OF, "ratio energy vbmf macs"}},
    .options_size = sizeof(sample_options),
    .run = unused_run,
};

// Parses "a.onnx -o out --vbmf ..." split at spaces; `line` without the program's name.
static dq_status parse(const char *line, sample_options *options, dq_error *error) {
  static char text[512], name[] = "dq-sample";
  char *arguments[64] = {name};
  int count = 1;
  snprintf(text, sizeof text, "%s", line);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) arguments[count++] = word;
  memset(error, 0, sizeof *error);
  return dq_options_parse(&sample, count, arguments, options, error);
}

#define BASE "m.onnx -o out --vbmf "

// The line must fail as a usage error whose message or hint has all of `...` in it.
static void expect_failure(const char *line, ...) {
  sample_options options;
  dq_error error;
  dq_status status = parse(line, &options, &error);
  if (status != DQ_USAGE) fail_msg("'%s' gave %d", line, status);
  va_list parts;
  va_start(parts, line);
  for (const char *part; (part = va_arg(parts, const char *));)
    if (!strstr(error.message, part) && !strstr(error.hint, part))
      fail_msg("'%s' gave '%s' hint '%s', without '%s'", line, error.message, error.hint, part);
  va_end(parts);
  dq_options_free(&sample, &options);
}

static void tables_are_sound(void **state) {
  (void)state;
  dq_error error = {0};
  if (dq_options_check(&sample, &error)) fail_msg("%s", error.message);
}

// Names taken but not advertised are words of a list: each of them counts, wherever it stands, and no part of one.
static void names_are_found_among_aliases(void **state) {
  (void)state;
  static const struct {
    const char *aliases;
    bool taken;
  } cases[] = {{"other", true},           {"other one", true}, {"one other", true}, {"a b other c", true},
               {"another", false},        {"others", false},   {"oth er", false},   {"one another", false},
               {"one others two", false}, {"one  other", true}};
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
    for (int turned = 0; turned < 2; turned++) {
      dq_error error = {0};
      dq_option pair[] = {rows[0], rows[0]};
      pair[!turned].name = "other", pair[turned].aliases = cases[i].aliases;
      pair[0].letter = pair[1].letter = 0;
      dq_command command = sample;
      command.rows = pair, command.row_count = 2;
      dq_status status = dq_options_check(&command, &error);
      if (cases[i].taken != (status == DQ_USAGE && strstr(error.message, "share a name")))
        fail_msg("'%s': '%s'", cases[i].aliases, error.message);
    }
}

static void table_faults_are_found(void **state) {
  (void)state;
  dq_error error = {0};
  dq_option twice[] = {rows[0], rows[0]}, small[] = {rows[0]}, preset[] = {rows[4]};
  small[0].size = 1;
  preset[0].preset = "0";
  dq_command broken = sample;
  broken.rows = twice, broken.row_count = 2;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "share a name"));
  broken.rows = small, broken.row_count = 1;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  broken.rows = preset, broken.row_count = 1;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "1 to 512"));
  dq_option ended[] = {rows[0]};
  ended[0].help = "what it does.";
  broken.rows = ended;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "without a period"));
  dq_option needy[] = {rows[0]}, clearing[] = {rows[0]};
  needy[0].needs = "data nothing|nobody";
  broken.rows = needy;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "'ratio' needs 'nothing|nobody'"));
  clearing[0].clears = true;
  broken.rows = clearing;
  assert_int_equal(dq_options_check(&broken, &error), DQ_USAGE);
  assert_non_null(strstr(error.message, "only a flag"));
}

static void values_arrive(void **state) {
  (void)state;
  sample_options o;
  dq_error error;
  assert_int_equal(parse("--macs -50% m.onnx --multiple=16 --bytes 1.5G --wait 1h30m --method MinMax "
                         "-kx 'a*' -o out --exclude b second --observer second --threads 3 "
                         "--data pics --limit 7 --json - --memory 50M --table t --seed 5",
                         &o, &error),
                   DQ_OK);
  assert_true(o.macs == -50);
  assert_int_equal(o.multiple, 16);
  assert_true(o.bytes == (size_t)3 << 29);
  assert_true(o.wait == 5400);
  assert_int_equal(o.method, 0);
  assert_int_equal(o.observer, 1);
  assert_true(!o.vbmf && !o.half_io);
  assert_int_equal(o.exclude.count, 2);
  assert_string_equal(o.exclude.items[1], "b");
  assert_int_equal(o.common.operand_count, 2);
  assert_string_equal(o.common.operands[1], "second");
  assert_int_equal(o.common.threads, 3);
  assert_int_equal(o.common.seed, 5);
  assert_true(o.common.memory == (size_t)50 << 20);
  assert_string_equal(o.data.data, "pics");
  assert_int_equal(o.data.limit, 7);
  assert_string_equal(o.out.output, "out");
  assert_string_equal(o.report.json, "-");
  assert_true(dq_option_given(&o, "macs") && !dq_option_given(&o, "preset"));
  dq_option_place places[DQ_OPTION_ROWS];
  const int count = dq_option_places(&sample, places);
  for (int i = 0; i < count; i++)
    assert_ptr_equal(dq_option_target(&o, places[i].row->name), (const char *)&o + places[i].offset);
  assert_null(dq_option_target(&o, "nonsense"));
  dq_options_free(&sample, &o);
}

static void spellings(void **state) {
  (void)state;
  sample_options o;
  dq_error error;
  const struct {
    const char *text;
    double seconds;
  } times[] = {{BASE "--wait 250ms", 0.25},
               {BASE "--wait 20us", 20e-6},
               {BASE "--wait 1m2s500ms", 62.5},
               {BASE "--wait 3m", 180}};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    assert_int_equal(parse(times[i].text, &o, &error), DQ_OK);
    assert_true(o.wait > 0.999999 * times[i].seconds && o.wait < 1.000001 * times[i].seconds);
    dq_options_free(&sample, &o);
  }
  assert_int_equal(parse(BASE "--keep_io --calibrate_method quint8 --multi 4", &o, &error), DQ_OK);
  assert_true(o.method == 1 && o.multiple == 4);
  dq_options_free(&sample, &o);
  assert_int_equal(parse(BASE "--keep-io-types --calibrate-method=UINT8", &o, &error), DQ_OK);
  assert_true(o.method == 1);
  assert_int_equal(o.multiple, 8);
  dq_options_free(&sample, &o);
  assert_int_equal(parse("-o out --vbmf -- --ratio", &o, &error), DQ_OK);
  assert_string_equal(o.common.operands[0], "--ratio");
  dq_options_free(&sample, &o);
  assert_int_equal(parse("-o- --vbmf -", &o, &error), DQ_OK);
  assert_string_equal(o.common.operands[0], "-");
  assert_string_equal(o.out.output, "-");
  dq_options_free(&sample, &o);
}

static void mistakes_are_named(void **state) {
  (void)state;
  expect_failure("", "no MODEL", "usage: dq-sample MODEL", NULL);
  expect_failure("a b c -o out --vbmf", "unexpected", "'c'", NULL);
  expect_failure(BASE "--retio 1", "unknown option '--retio'", "did you mean '--ratio'", NULL);
  expect_failure(BASE "--xyzzy", "unknown option '--xyzzy'", "dq-sample --help", NULL);
  expect_failure(BASE "-Z", "unknown option '-Z'", NULL);
  expect_failure(BASE "-\xc3\xa9", "unknown option '-\xc3'", "dq-sample --help", NULL); // no ASCII
  expect_failure(BASE "--m 3", "short for several", "--macs", "--method", NULL);
  expect_failure(BASE "--vbmf", "'--vbmf'", "twice", NULL);
  expect_failure(BASE "--multiple 2 --multi=2", "'--multiple'", "twice", NULL);
  expect_failure("m.onnx --vbmf -o", "'--output' needs a value", "FILE", NULL);
  expect_failure(BASE "--multiple", "'--multiple' needs a value", NULL);
  expect_failure("m.onnx -o out --ratio", "'--ratio' needs a value: R", NULL); // the first row of the table
  expect_failure(BASE "--keep-io=3", "'--keep-io' takes no value", NULL);
  expect_failure(BASE "--method minmux", "'--method'", "'minmux'", "minmax, u8, entropy", "did you mean 'minmax'",
                 NULL);
  expect_failure(BASE "--observer third", "first, second", NULL);
  expect_failure(BASE "--cpu-mask sse9", "'--cpu-mask'", "'sse9'", NULL);
  expect_failure(BASE "--table=", "'--table'", "empty", NULL);
}

static void ranges_are_named(void **state) {
  (void)state;
  expect_failure("m -o x --ratio 0", "'--ratio'", "'0'", "over 0 to 1", NULL);
  expect_failure("m -o x --ratio 1.5", "'--ratio'", "'1.5'", "over 0 to 1", NULL);
  expect_failure("m -o x --ratio nan", "'--ratio'", "'nan'", "over 0 to 1", NULL);
  expect_failure("m -o x --ratio inf", "'--ratio'", "'inf'", NULL);
  expect_failure("m -o x --ratio 0,5", "'--ratio'", "'0,5'", NULL);
  expect_failure("m -o x --ratio 0x1p-1", "'--ratio'", NULL);
  expect_failure("m -o x --ratio 1e999", "'--ratio'", NULL);
  expect_failure("m -o x --energy -1", "'--energy'", "'-1'", "over 0 to 1", NULL);
  expect_failure("m -o x --macs 50%", "'--macs'", "'50%'", "-100% to 0%", NULL);
  for (int i = 0; i < 3; i++) {
    static const char *const counts[] = {"0", "-3", "99999"};
    char line[64], value[16];
    snprintf(line, sizeof line, BASE "--threads %s", counts[i]);
    snprintf(value, sizeof value, "'%s'", counts[i]);
    expect_failure(line, "'--threads'", value, "1 to 1024", NULL);
  }
  expect_failure(BASE "--threads 2.5", "'2.5'", "whole number", NULL);
  expect_failure(BASE "--threads 99999999999999999999", "1 to 1024", NULL);
  expect_failure(BASE "--limit 0", "'--limit'", "'0'", NULL);
  expect_failure(BASE "--memory 0", "'--memory'", NULL);
  expect_failure(BASE "--memory 5Q", "'5Q'", "k, M, G", NULL);
  expect_failure(BASE "--bytes -5", "'-5'", NULL);
  expect_failure(BASE "--wait 5y", "'5y'", "us, ms, s, m, h", NULL);
}

static void the_last_of_two_flags_counts(void **state) {
  (void)state;
  sample_options o;
  dq_error error;
  assert_int_equal(parse(BASE "--half-io --keep-io", &o, &error), DQ_OK);
  assert_false(o.half_io);
  dq_options_free(&sample, &o);
  assert_int_equal(parse(BASE "--keep-io --half-io", &o, &error), DQ_OK);
  assert_true(o.half_io);
  dq_options_free(&sample, &o);
}

static void rules_are_named(void **state) {
  (void)state;
  expect_failure("m -o x --ratio 0.5 --energy 0.5", "'--ratio' and '--energy'", NULL);
  expect_failure("m -o x", "'--ratio', '--energy', '--vbmf' or '--macs'", NULL);
  expect_failure("m --vbmf", "'--output FILE' is needed", NULL);
  expect_failure(BASE "--table t", "'--table' needs '--data'", NULL);
  expect_failure(BASE "-q -v", "'--quiet' and '--verbose'", NULL);
}

static void help_wins(void **state) {
  (void)state;
  sample_options o;
  dq_error error;
  assert_int_equal(parse("--help --ratio nonsense", &o, &error), DQ_OK);
  assert_true(o.common.help);
  dq_options_free(&sample, &o);
  assert_int_equal(parse("--help-complete zsh", &o, &error), DQ_OK);
  assert_int_equal(o.common.help_complete, DQ_SHELL_ZSH);
  dq_options_free(&sample, &o);
}

static char *text_of(int what) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (what == 0) dq_options_help(&sample, stream);
  else if (what == 1) dq_options_man(&sample, stream);
  else dq_options_complete(&sample, (enum dq_shell)(what - 2), stream);
  fclose(stream);
  return text;
}

// "keep\\-io" for roff, the name itself otherwise.
static void escape_hyphens(const char *name, bool escaped, char *text) {
  for (; *name; name++) {
    if (escaped && *name == '-') *text++ = '\\';
    *text++ = *name;
  }
  *text = 0;
}

static void texts_name_every_option(void **state) {
  (void)state;
  for (int what = 0; what < 5; what++) {
    char *text = text_of(what);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      char name[64];
      escape_hyphens(rows[i].name, what == 1, name);
      assert_non_null(strstr(text, name));
    }
    assert_null(strstr(text, "help-check"));
    assert_null(strstr(text, "calibrate"));
    free(text);
  }
  char *help = text_of(0);
  for (const char *line = help; *line; line += strcspn(line, "\n"), line += *line == '\n')
    assert_true(strcspn(line, "\n") <= 80);
  assert_non_null(strstr(help, "  -o, --output FILE"));
  assert_non_null(strstr(help, "minmax, u8, entropy"));
  free(help);
  char *man = text_of(1);
  assert_non_null(strstr(man, "\n\\&.starts"));
  free(man);
}

static void nearest_names(void **state) {
  (void)state;
  assert_int_equal(dq_name_distance("ratio", "ratio"), 0);
  assert_int_equal(dq_name_distance("raito", "ratio"), 1);
  assert_int_equal(dq_name_distance("", "abc"), 3);
  assert_int_equal(dq_name_distance("kitten", "sitting"), 3);
  assert_int_equal(dq_name_distance("Keep_IO", "keep-io"), 0);
  dq_nearest nearest = dq_nearest_begin("conv_11");
  dq_nearest_offer(&nearest, "relu");
  assert_null(nearest.name);
  dq_nearest_offer(&nearest, "conv_21");
  dq_nearest_offer(&nearest, "conv_1");
  dq_nearest_offer(&nearest, "conv_2");
  assert_string_equal(nearest.name, "conv_21"); // the first of equals
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_are_sound),
      cmocka_unit_test(names_are_found_among_aliases),
      cmocka_unit_test(table_faults_are_found),
      cmocka_unit_test(values_arrive),
      cmocka_unit_test(spellings),
      cmocka_unit_test(mistakes_are_named),
      cmocka_unit_test(ranges_are_named),
      cmocka_unit_test(the_last_of_two_flags_counts),
      cmocka_unit_test(rules_are_named),
      cmocka_unit_test(help_wins),
      cmocka_unit_test(texts_name_every_option),
      cmocka_unit_test(nearest_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
