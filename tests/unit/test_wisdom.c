// The wisdom file: what is written, what is read, what counts; and that a choice changes no bit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/half.h"
#include "lib/dq.h"
#include "lib/kernels/conv/conv.h"
#include "lib/wisdom/wisdom.h"

static const dq_wisdom_place here = {.build = "b1", .machine = "m1", .threads = 2};
static char path[] = "/tmp/test_wisdomXXXXXX";
static char said[1024];

static void hear(void *user, dq_severity severity, const char *text) {
  (void)user, (void)severity;
  snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", text);
}

static const dq_context context = {.message = hear};

static int start(void **state) {
  (void)state;
  strcpy(path, "/tmp/test_wisdomXXXXXX");
  int file = mkstemp(path);
  said[0] = 0;
  return file < 0 || close(file) ? -1 : 0;
}

static int end(void **state) {
  (void)state;
  return unlink(path);
}

// The choice depth = `depth` with a bound of `high`.
static dq_record record_of(const char *run, int depth, double high) {
  dq_record record = {.run = run, .ratio = high - 0.01, .low = high - 0.02, .high = high, .runs = 32};
  record.choice.values[DQ_KNOB_OF_DEPTH] = depth;
  record.before = (dq_quantiles){1e-6, 2e-6, 3e-6};
  record.after = (dq_quantiles){1e-6, 1.5e-6, 2.5e-6};
  return record;
}

static void write_text(const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static dq_wisdom *open_at(const dq_wisdom_place *place) {
  dq_wisdom *wisdom;
  dq_error error = {0};
  if (dq_wisdom_open(&wisdom, path, place, &context, &error) != DQ_OK) fail_msg("%s", error.message);
  return wisdom;
}

static bool add(dq_wisdom *wisdom, const dq_record *record) {
  bool kept = false;
  assert_int_equal(dq_wisdom_add(wisdom, record, &kept, NULL), DQ_OK);
  return kept;
}

static void a_line_is_as_the_format_says(void **state) {
  (void)state;
  char line[DQ_WISDOM_LINE];
  dq_record record = record_of("Conv/x", -1, 0.9), read;
  record.choice.values[DQ_KNOB_OF_ALGORITHM] = DQ_CONV_tiles;
  int bytes = dq_record_print(&record, &here, line);
  assert_string_equal(line,
                      "dq-wisdom-1 build=b1 machine=m1 threads=2 run=Conv/x choice=algorithm=tiles,depth=-1 use=yes "
                      "ratio=0.88,0.89,0.9 before_us=1,2,3 after_us=1,1.5,2.5 runs=32 end\n");
  line[bytes - 1] = 0;
  assert_int_equal(dq_record_parse(line, &here, &read), DQ_LINE_RECORD);
  assert_string_equal(read.run, "Conv/x");
  assert_true(dq_choice_same(&read.choice, &record.choice));
  assert_false(read.withdrawn);
  assert_true(read.low == 0.88 && read.ratio == 0.89 && read.high == 0.9 && read.runs == 32);
  assert_true(read.after.median > 1.49e-6 && read.after.median < 1.51e-6);
}

// Counts stand behind the runs where there are some, and come back.
static void counts_are_kept(void **state) {
  (void)state;
  char line[DQ_WISDOM_LINE], wrong[DQ_WISDOM_LINE];
  dq_record record = record_of("Conv/x", 1, 0.9), read;
  for (int i = 0; i < DQ_COUNTS; i++) record.counts.values[i] = 1000 * i;
  int bytes = dq_record_print(&record, &here, line);
  assert_non_null(strstr(line, " runs=32 counts=0,1000,2000,"));
  line[bytes - 1] = 0;
  static const char *const faults[][2] = {{"counts=0,", "counts=0,0,"}, {"counts=0,", "counts="},
                                          {"counts=0,", "counts=-1,"},  {"counts=0,", "counts=nan,"},
                                          {"counts=0,", "counts=,"},    {"counts=0,", "counts=0,,"}};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    const char *at = strstr(line, faults[i][0]);
    snprintf(wrong, sizeof wrong, "%.*s%s%s", (int)(at - line), line, faults[i][1], at + strlen(faults[i][0]));
    assert_int_equal(dq_record_parse(wrong, &here, &read), DQ_LINE_BROKEN);
  }
  assert_int_equal(dq_record_parse(line, &here, &read), DQ_LINE_RECORD);
  for (int i = 0; i < DQ_COUNTS; i++) assert_true(read.counts.values[i] == 1000 * i);
}

// All values of all knobs, and those beyond them.
static void every_choice_has_a_text(void **state) {
  (void)state;
  static const int low[DQ_KNOBS] = {DQ_CONV_AUTO, -DQ_CONV_SCALES, -DQ_CONV_SCALES, -1},
                   high[DQ_KNOBS] = {DQ_CONV_CHOICES, DQ_CONV_SCALES, DQ_CONV_SCALES, 1};
  static const char *const beyond[] = {
      "algorithm=auto", "algorithm=", "columns=4", "columns=-4", "depth=4", "depth=-4", "threads=2",
      "threads=-1",     "threads=",   "rows=1",    "depth=1,",   "depth",   ""};
  char text[DQ_CHOICE_TEXT];
  for (int k = 0; k < DQ_KNOBS; k++)
    for (int value = low[k] + (k == DQ_KNOB_OF_ALGORITHM || k == DQ_KNOB_OF_THREADS); value <= high[k]; value++) {
      dq_step_choice choice = {{0}}, read;
      if (k == DQ_KNOB_OF_ALGORITHM && value == DQ_CONV_CHOICES) continue;
      choice.values[k] = value;
      assert_true(dq_choice_parse(dq_choice_text(&choice, text), &read));
      assert_true(dq_choice_same(&choice, &read));
      assert_int_equal(dq_choice_is_usual(&read), value == 0);
    }
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    dq_step_choice read;
    assert_false(dq_choice_parse(beyond[i], &read));
  }
}

// Every beginning of a line is broken, and so is every word with another letter in front.
static void no_part_of_a_line_is_a_record(void **state) {
  (void)state;
  char line[DQ_WISDOM_LINE], part[DQ_WISDOM_LINE];
  const dq_record record = record_of("Conv/x", 1, 0.9);
  dq_record read;
  int bytes = dq_record_print(&record, &here, line) - 1;
  for (int length = 0; length < bytes; length++) {
    snprintf(part, sizeof part, "%.*s", length, line);
    assert_int_equal(dq_record_parse(part, &here, &read), DQ_LINE_BROKEN);
  }
  static const char *const faults[][2] = {
      {"depth=1", "depth=9"},
      {"depth=1", "width=1"},
      {"use=yes", "use=maybe"},
      {"runs=32", "runs=0"},
      {"ratio=0.88", "ratio=nan"},
      {"ratio=0.88", "ratio=0.95"},
      {"3 after_us", "inf after_us"},
      {"threads=2", "threads=x"},
      {"choice=depth=1", "choice="},
      {"choice=depth=1", "choice=algorithm=magic"},
      {" end", "  end"},
      {" end", " end "},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    line[bytes] = 0;
    const char *at = strstr(line, faults[i][0]);
    assert_non_null(at);
    snprintf(part, sizeof part, "%.*s%s%s", (int)(at - line), line, faults[i][1], at + strlen(faults[i][0]));
    if (dq_record_parse(part, &here, &read) != DQ_LINE_BROKEN) fail_msg("%s", faults[i][1]);
  }
}

static void what_is_added_is_found_again(void **state) {
  (void)state;
  dq_wisdom *wisdom = open_at(&here);
  const dq_record first = record_of("a", 1, 0.9), second = record_of("b", 2, 0.8);
  assert_null(dq_wisdom_find(wisdom, "a"));
  assert_true(add(wisdom, &second) && add(wisdom, &first));
  for (int again = 0; again < 2; again++) {
    assert_int_equal(dq_wisdom_find(wisdom, "a")->choice.values[DQ_KNOB_OF_DEPTH], 1);
    assert_int_equal(dq_wisdom_find(wisdom, "b")->choice.values[DQ_KNOB_OF_DEPTH], 2);
    assert_null(dq_wisdom_find(wisdom, "c"));
    dq_wisdom_free(wisdom);
    wisdom = open_at(&here);
  }
  dq_wisdom_free(wisdom);
  assert_null(dq_wisdom_find(NULL, "a"));
  assert_string_equal(said, "");
}

// In every order of the lines the same record counts, so that files are merged by cat.
static void the_best_counts_in_any_order(void **state) {
  (void)state;
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (int o = 0; o < 12; o++) {
    dq_record records[3] = {record_of("a", 1, 0.9), record_of("a", 2, 0.8), record_of("a", 0, 1)};
    if (o >= 6) records[2] = record_of("a", 2, 0.8), records[2].withdrawn = true;
    assert_int_equal(truncate(path, 0), 0);
    dq_wisdom *wisdom = open_at(&here);
    for (int i = 0; i < 3; i++) assert_true(add(wisdom, &records[orders[o % 6][i]]));
    const dq_record *best = dq_wisdom_find(wisdom, "a");
    assert_int_equal(best->choice.values[DQ_KNOB_OF_DEPTH], o < 6 ? 2 : 1);
    assert_false(best->withdrawn);
    dq_wisdom_free(wisdom);
  }
}

static void what_is_withdrawn_is_known_and_not_used(void **state) {
  (void)state;
  dq_wisdom *wisdom = open_at(&here);
  dq_record record = record_of("a", 1, 0.9);
  assert_true(add(wisdom, &record));
  record.withdrawn = true;
  assert_true(add(wisdom, &record));
  assert_true(dq_wisdom_find(wisdom, "a")->withdrawn);
  dq_wisdom_free(wisdom);
}

// What a search has tried is found as such alone.
static void what_is_tried_counts_for_the_search_only(void **state) {
  (void)state;
  dq_wisdom *wisdom = open_at(&here);
  dq_record tried = record_of("a", 1, 0.5), other = record_of("a", 2, 0.9);
  tried.tried = true;
  assert_true(add(wisdom, &tried));
  for (int again = 0; again < 2; again++) {
    assert_null(dq_wisdom_find(wisdom, "a"));
    assert_true(dq_wisdom_find_tried(wisdom, "a", &tried.choice)->high == 0.5);
    assert_null(dq_wisdom_find_tried(wisdom, "a", &other.choice));
    dq_wisdom_free(wisdom);
    wisdom = open_at(&here);
  }
  assert_true(add(wisdom, &other));
  assert_true(dq_wisdom_find(wisdom, "a")->high == 0.9);
  assert_null(dq_wisdom_find_tried(wisdom, "a", &other.choice));
  dq_wisdom_free(wisdom);
}

static void others_are_ignored_with_a_line(void **state) {
  (void)state;
  static const dq_wisdom_place places[] = {{"b2", "m1", 2}, {"b1", "m2", 2}, {"b1", "m1", 1}};
  char text[4 * DQ_WISDOM_LINE] = "# a comment\n\n";
  const dq_record record = record_of("a", 1, 0.9);
  for (int i = 0; i < 3; i++) dq_record_print(&record, &places[i], text + strlen(text));
  write_text(text);
  dq_wisdom *wisdom = open_at(&here);
  assert_null(dq_wisdom_find(wisdom, "a"));
  dq_wisdom_free(wisdom);
  char expected[512];
  snprintf(expected, sizeof expected,
           "%s: 2 records are of another processor, or of another version or build of dq than this one (%s, build b1), "
           "and are ignored\n",
           path, dq_version());
  assert_string_equal(said, expected);
  wisdom = open_at(&places[2]); // its own number of threads
  assert_non_null(dq_wisdom_find(wisdom, "a"));
  dq_wisdom_free(wisdom);
}

// A process that was killed while it wrote leaves a part of a line, which the next one does not lengthen.
static void a_part_of_a_line_hurts_nobody(void **state) {
  (void)state;
  char line[DQ_WISDOM_LINE], expected[256];
  const dq_record first = record_of("a", 1, 0.9), second = record_of("b", 2, 0.8);
  dq_record_print(&first, &here, line);
  line[40] = 0;
  write_text(line);
  dq_wisdom *wisdom = open_at(&here);
  assert_true(add(wisdom, &second));
  dq_wisdom_free(wisdom);
  said[0] = 0;
  wisdom = open_at(&here);
  assert_non_null(dq_wisdom_find(wisdom, "b"));
  dq_wisdom_free(wisdom);
  snprintf(expected, sizeof expected, "%s: line 1 is no record of wisdom; such lines: 1, which are ignored\n", path);
  assert_string_equal(said, expected);
}

static void two_writers_lose_nothing(void **state) {
  (void)state;
  enum { EACH = 200 };
  for (int child = 0; child < 2; child++) {
    if (fork()) continue;
    dq_wisdom *wisdom = open_at(&here);
    for (int i = 0; i < EACH; i++) {
      char run[32];
      snprintf(run, sizeof run, "r%d.%d", child, i);
      const dq_record record = record_of(run, 1, 0.9);
      if (!add(wisdom, &record)) _exit(1);
    }
    _exit(0);
  }
  for (int child = 0, status; child < 2; child++) assert_true(wait(&status) > 0 && status == 0);
  dq_wisdom *wisdom = open_at(&here);
  for (int i = 0; i < 2 * EACH; i++) {
    char run[32];
    snprintf(run, sizeof run, "r%d.%d", i % 2, i / 2);
    assert_non_null(dq_wisdom_find(wisdom, run));
  }
  dq_wisdom_free(wisdom);
  assert_string_equal(said, "");
}

static void where_nothing_can_be_written_it_counts_all_the_same(void **state) {
  (void)state;
  char inside[64];
  dq_wisdom *wisdom;
  snprintf(inside, sizeof inside, "%s/wisdom", path); // the folder is a file
  assert_int_equal(dq_wisdom_open(&wisdom, inside, &here, &context, NULL), DQ_OK);
  const dq_record record = record_of("a", 1, 0.9);
  assert_false(add(wisdom, &record));
  assert_non_null(dq_wisdom_find(wisdom, "a"));
  dq_wisdom_free(wisdom);
}

static void the_place_has_no_spaces(void **state) {
  (void)state;
  char machine[DQ_MACHINE_TEXT];
  assert_null(strpbrk(dq_wisdom_machine(0, machine), " \t\n"));
  assert_int_equal(strlen(dq_wisdom_build()), 16);
}

// ---- Bits ----

static float noise(uint32_t *seed) {
  return (float)((*seed = *seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1.0f;
}

typedef enum operands { FLOATS, HALVES, BYTES, KINDS } operands;

// Operands of all kinds; each run of a kind reads the bytes as it needs them, and writes at most 4 for each output.
enum { MOST = 65536 };
static float weights[MOST], input[MOST];
static uint16_t half_weights[MOST], half_input[MOST];
static uint8_t byte_weights[MOST], byte_input[MOST];

static void make_operands(void) {
  uint32_t seed = 1;
  for (int i = 0; i < MOST; i++) {
    weights[i] = noise(&seed), input[i] = noise(&seed);
    half_weights[i] = dq_float_to_half(weights[i]), half_input[i] = dq_float_to_half(input[i]);
    byte_weights[i] = (uint8_t)(seed >> 8), byte_input[i] = (uint8_t)(seed >> 16);
  }
}

static void compute(operands kind, const dq_conv_parameters *shape, void *output, dq_pool *pool, const char **name) {
  dq_conv_plan plan;
  dq_error error = {0};
  unsigned cpu = dq_cpu_detect();
  const dq_conv_int8_parameters bytes = {
      .shape = *shape, .weight_signed = true, .input_zero_point = 7, .weights = byte_weights};
  dq_status status = kind == FLOATS   ? dq_conv_f32_plan(shape, cpu, &plan, &error)
                     : kind == HALVES ? dq_conv_f16_plan(shape, false, cpu, &plan, &error)
                                      : dq_conv_int8_plan(&bytes, cpu, &plan, &error);
  if (status != DQ_OK) fail_msg("%s", error.message);
  void *packed = aligned_alloc(64, dq_conv_packed_bytes(&plan));
  void *scratch = aligned_alloc(64, dq_conv_scratch_bytes(&plan, dq_pool_threads(pool)));
  if (kind == FLOATS) {
    dq_conv_f32_pack(&plan, weights, NULL, packed);
    dq_conv_f32_run(&plan, packed, input, NULL, output, scratch, pool);
  } else if (kind == HALVES) {
    dq_conv_f16_pack(&plan, half_weights, NULL, packed);
    dq_conv_f16_run(&plan, packed, half_input, output, scratch, pool);
  } else {
    dq_conv_int8_pack(&plan, byte_weights, packed);
    dq_conv_int8_run(&plan, packed, byte_input, output, NULL, scratch, pool);
  }
  *name = dq_conv_algorithm_name(&plan);
  free(packed);
  free(scratch);
}

// All algorithms and sizes of blocks; returns how many of them were other algorithms than the usual one.
static int vary(operands kind, dq_conv_parameters p, dq_pool *pool) {
  static uint32_t usual[MOST], tuned[MOST];
  const char *first, *name;
  int others = 0;
  compute(kind, &p, usual, pool, &first);
  size_t bytes = (size_t)(p.batch * p.out_channels * p.out_height * p.out_width) * (kind == HALVES ? 2 : 4);
  for (int a = 0; a < DQ_CONV_CHOICES; a++)
    for (int size = -DQ_CONV_SCALES; size <= DQ_CONV_SCALES; size++) {
      p.tuning = (dq_conv_tuning){.algorithm = a, .columns = size, .depth = -size};
      memset(tuned, 255, bytes);
      compute(kind, &p, tuned, pool, &name);
      assert_memory_equal(usual, tuned, bytes);
      others += strcmp(first, name) != 0;
    }
  return others;
}

static void choices_change_no_bit(void **state) {
  (void)state;
  static const dq_conv_parameters shapes[] = {
      {.batch = 1,
       .groups = 1,
       .in_channels = 40,
       .out_channels = 24,
       .in_height = 19,
       .in_width = 21,
       .kernel_height = 3,
       .kernel_width = 3,
       .pad_top = 1,
       .pad_left = 1,
       .out_height = 19,
       .out_width = 21},
      {.batch = 2,
       .groups = 1,
       .in_channels = 900,
       .out_channels = 10,
       .in_height = 5,
       .in_width = 7,
       .kernel_height = 1,
       .kernel_width = 1,
       .out_height = 5,
       .out_width = 7},
      {.batch = 1,
       .groups = 32,
       .in_channels = 32,
       .out_channels = 32,
       .in_height = 33,
       .in_width = 31,
       .kernel_height = 5,
       .kernel_width = 5,
       .pad_top = 2,
       .pad_left = 2,
       .out_height = 33,
       .out_width = 31},
  };
  int others[KINDS] = {0};
  dq_pool *pool = dq_pool_new(2);
  make_operands();
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int any = 0; any < 2; any++)
      for (int kind = 0; kind < KINDS; kind++) {
        dq_conv_parameters p = shapes[s];
        p.pad_bottom = p.pad_top, p.pad_right = p.pad_left;
        p.stride_height = p.stride_width = p.dilation_height = p.dilation_width = 1;
        p.algorithm = any ? DQ_CONV_AUTO : DQ_CONV_SAME_BITS;
        others[kind] += vary(kind, p, pool);
      }
  assert_true(others[FLOATS] > 40); // other algorithms were taken
  assert_true(others[HALVES] > 0 && others[BYTES] > 0);
  dq_pool_free(pool);
}

int main(void) {
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, start, end)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_as_the_format_says),
      cmocka_unit_test(counts_are_kept),
      cmocka_unit_test(every_choice_has_a_text),
      cmocka_unit_test(no_part_of_a_line_is_a_record),
      WITH_FILE(what_is_added_is_found_again),
      WITH_FILE(the_best_counts_in_any_order),
      WITH_FILE(what_is_withdrawn_is_known_and_not_used),
      WITH_FILE(what_is_tried_counts_for_the_search_only),
      WITH_FILE(others_are_ignored_with_a_line),
      WITH_FILE(a_part_of_a_line_hurts_nobody),
      WITH_FILE(two_writers_lose_nothing),
      WITH_FILE(where_nothing_can_be_written_it_counts_all_the_same),
      cmocka_unit_test(the_place_has_no_spaces),
      cmocka_unit_test(choices_change_no_bit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
