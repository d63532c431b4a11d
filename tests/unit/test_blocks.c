// Runs in blocks: who runs when, that plans are bound elsewhere, and what the ratio of blocks tells.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/kernels/conv/conv.h"
#include "lib/measure/timed_blocks.h"
#include "lib/measure/feed.h"
#include "tests/unit/plan_harness.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

// ---- The ratio ----

static dq_time_ratio ratio_of(const double *least, const double *reference, int64_t blocks) {
  dq_time_ratio ratio;
  dq_error error = {0};
  assert_int_equal(dq_block_ratio_of(&ratio, least, reference, blocks, &error), DQ_OK);
  return ratio;
}

// The reference takes a second in each block.
static dq_time_ratio ratio_of_values(const double *values, int64_t blocks) {
  double reference[100];
  for (int64_t b = 0; b < blocks; b++) reference[b] = 1;
  return ratio_of(values, reference, blocks);
}

// Least times 2, 8, 18 over 2, 2, 2: values 1, 4, 9, and sqrt of the products of two 2, 3, 6.
static void ratio_by_hand(void **state) {
  (void)state;
  const double least[3] = {2, 8, 18}, reference[3] = {2, 2, 2};
  dq_time_ratio ratio = ratio_of(least, reference, 3);
  NEAR(ratio.median, 3.5); // of 1 2 3 4 6 9
  NEAR(ratio.low, 1);
  NEAR(ratio.high, 9);
  NEAR(ratio.level, 0.75); // 1 - 2 / 2^3
}

// Sums of ranks of 8 up to 2: {}, {1}, {2}, so 3 of 256 on either side; up to 3: {3} and {1, 2} as well, 96.1 %.
static void interval_of_eight(void **state) {
  (void)state;
  double values[8];
  for (int b = 0; b < 8; b++) values[b] = ldexp(1, b); // means are 2^0, 2^0.5, 2^1, 2^1, ...
  dq_time_ratio ratio = ratio_of_values(values, 8);
  NEAR(ratio.level, 1 - 6.0 / 256);
  NEAR(ratio.low, 2); // behind two
  NEAR(ratio.high, 64);
  NEAR(ratio.median, pow(2, 3.5));
}

static void levels_of_few(void **state) {
  (void)state;
  const double values[6] = {3, 1, 2, 5, 4, 6}, levels[6] = {0, 0.5, 0.75, 0.875, 0.9375, 0.96875};
  const double least[6] = {3, 1, 1, 1, 1, 1}, largest[6] = {3, 3, 3, 5, 5, 6};
  for (int n = 1; n <= 6; n++) {
    dq_time_ratio ratio = ratio_of_values(values, n);
    NEAR(ratio.level, levels[n - 1]);
    NEAR(ratio.low, least[n - 1]);
    NEAR(ratio.high, largest[n - 1]);
  }
}

static int ascending(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

// All 2^n sets of ranks, counted one by one: as many means outside as may be for the level, and no more.
static void levels_are_exact(void **state) {
  (void)state;
  for (int n = 7; n <= 16; n++) {
    double values[16], means[136];
    int64_t counts[137] = {0}, outside = -1, missed = 0;
    int at = 0;
    for (uint32_t set = 0; set < 1u << n; set++) {
      int sum = 0;
      for (int rank = 1; rank <= n; rank++) sum += set >> (rank - 1) & 1 ? rank : 0;
      counts[sum]++;
    }
    while (2.0 * (double)(missed + counts[outside + 1]) <= (1 - DQ_BLOCK_LEVEL) * (double)(1u << n))
      missed += counts[++outside];
    for (int i = 0; i < n; i++) values[i] = exp(0.01 * i * i);
    for (int i = 0; i < n; i++)
      for (int j = i; j < n; j++) means[at++] = sqrt(values[i] * values[j]);
    qsort(means, (size_t)at, sizeof *means, ascending);
    dq_time_ratio ratio = ratio_of_values(values, n);
    NEAR(ratio.level, 1 - 2.0 * (double)missed / (double)(1u << n));
    assert_true(ratio.level >= DQ_BLOCK_LEVEL);
    NEAR(ratio.low, means[outside]);
    NEAR(ratio.high, means[at - 1 - outside]);
  }
}

static void interval_of_a_hundred(void **state) {
  (void)state;
  double values[100];
  for (int i = 0; i < 100; i++) values[i] = exp(1e-3 * i);
  dq_time_ratio ratio = ratio_of_values(values, 100);
  assert_true(ratio.level >= DQ_BLOCK_LEVEL && ratio.level < DQ_BLOCK_LEVEL + 1e-3);
  NEAR(ratio.median, exp(1e-3 * 49.5));
  NEAR(ratio.low * ratio.high, exp(1e-3 * 99)); // as far on either side
}

static void expect_verdict(double low, double high, double level, int64_t blocks, bool unsteady, const char *expected) {
  char text[64];
  dq_time_ratio ratio = {.median = (low + high) / 2, .low = low, .high = high, .level = level};
  assert_string_equal(dq_time_verdict(&ratio, blocks, unsteady, text, sizeof text), expected);
}

static void verdicts_say_what_is_unsteady(void **state) {
  (void)state;
  expect_verdict(0.8, 0.9, 0.98, 12, false, "faster");
  expect_verdict(0.8, 0.9, 0.98, 12, true, "faster (unsteady)");
  expect_verdict(1.1, 1.2, 0.98, 12, true, "slower (unsteady)");
  expect_verdict(0.9, 1.1, 0.98, 12, true, "cannot tell");
  expect_verdict(1.005, 1.1, 0.98, 12, false, "cannot tell"); // half a percent belongs to the process, not to the model
  expect_verdict(0.9, 0.995, 0.98, 12, false, "cannot tell");
  expect_verdict(1.0051, 1.1, 0.98, 12, false, "slower");
  expect_verdict(0.9, 0.9949, 0.98, 12, false, "faster");
  expect_verdict(0.8, 0.9, DQ_BLOCK_LEVEL, 12, false, "faster"); // the level that is asked for is enough
  expect_verdict(0.8, 0.9, 0.96875, 6, false, "faster in all 6 blocks");
  expect_verdict(0.8, 0.9, 0.9375, 5, true, "faster in all 5 blocks (unsteady)");
  expect_verdict(1.5, 1.5, 0, 1, false, "slower in one block");
}

// ---- What intervals hold, on times that are drawn ----

enum { PROCESSES = 2000, BLOCKS = 25, EACH = 3, RUNS = BLOCKS * EACH };

// Places in memory change the time of a plan by 1.5 %; a run takes up to 2 % more than it has to, and one in ten is
// disturbed. A plan that stays has one place for all runs.
static void draw_times(double *times, double seconds, bool stays, dq_random *random) {
  double place = 0;
  for (int run = 0; run < RUNS; run++) {
    if (run == 0 || (!stays && run % EACH == 0)) place = 0.015 * dq_random_normal(random);
    double disturbed = dq_random_float(random) < 0.1f ? 2.0 * dq_random_float(random) : 0;
    times[run] = seconds * (1 + place) * (1 + 0.02 * dq_random_float(random) + disturbed);
  }
}

// How often of PROCESSES a plan is called faster and slower than another one.
typedef struct decided {
  int faster, slower;
} decided;

static double least_of(const double *times, int count) {
  double least = times[0];
  for (int i = 1; i < count; i++) least = fmin(least, times[i]);
  return least;
}

static decided compare(double seconds, bool stays) {
  dq_random random = dq_random_start(1, 0);
  decided found = {0};
  for (int process = 0; process < PROCESSES; process++) {
    double times[RUNS], reference[RUNS];
    draw_times(reference, 1, stays, &random);
    draw_times(times, seconds, stays, &random);
    double least[2][BLOCKS];
    for (int b = 0; b < BLOCKS; b++)
      least[0][b] = least_of(times + b * EACH, EACH), least[1][b] = least_of(reference + b * EACH, EACH);
    dq_time_ratio ratio = ratio_of(least[0], least[1], BLOCKS);
    if (stays) assert_int_equal(dq_time_ratio_of(&ratio, times, reference, RUNS, NULL), DQ_OK);
    found.faster += ratio.high < 1;
    found.slower += ratio.low > 1;
  }
  return found;
}

static void equal_plans_cannot_be_told_apart(void **state) {
  (void)state;
  decided found = compare(1, false);
  assert_true(found.faster + found.slower <= PROCESSES * 42 / 1000); // 3.0 % by the level, with a deviation of 0.4 %
  assert_true(found.faster > 0 && found.slower > 0);                 // the interval is no wider than it has to be
  found = compare(1, true); // many runs of plans that stay where they are tell their places apart
  assert_true(found.faster + found.slower > PROCESSES / 2);
}

static void three_percent_are_told(void **state) {
  (void)state;
  decided found = compare(1.03, false);
  assert_true(found.slower >= PROCESSES * 9 / 10);
  assert_int_equal(found.faster, 0);
  found = compare(0.97, false);
  assert_true(found.faster >= PROCESSES * 9 / 10);
  assert_int_equal(found.slower, 0);
}

// ---- Who runs when ----

static void blocks_for_rounds(void **state) {
  (void)state;
  static const int64_t cases[][2] = {{1, 1},   {5, 5},   {11, 11},   {12, 12},   {25, 12},
                                     {26, 13}, {50, 25}, {200, 100}, {202, 100}, {1000000, 100}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_int_equal(dq_block_count(cases[i][0]), cases[i][1]);
}

static void plans_change_places(void **state) {
  (void)state;
  static const int two[4][2] = {{0, 1}, {1, 0}, {0, 1}, {1, 0}};
  static const int three[7][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {0, 1, 2}};
  for (int b = 0; b < 4; b++)
    for (int turn = 0; turn < 2; turn++) assert_int_equal(dq_plan_in_turn(2, b, turn), two[b][turn]);
  for (int b = 0; b < 7; b++)
    for (int turn = 0; turn < 3; turn++) assert_int_equal(dq_plan_in_turn(3, b, turn), three[b][turn]);
  assert_int_equal(dq_plan_in_turn(1, 99, 0), 0);
}

// What is seen of two plans in a run, by the calls of the progress.
typedef struct watch {
  dq_session sessions[2];
  const void *plans[64], *inputs[64]; // of the first one, by round
  int rounds, messages;
  int64_t last, total;
  atomic_bool stop;
  int stop_at; // round; 0: none
} watch;

static void see_progress(void *user, const char *what, int64_t done, int64_t total) {
  watch *w = user;
  assert_string_equal(what, "timing");
  assert_int_equal(done, w->last + 1);
  w->last = done, w->total = total;
  if (w->rounds == 64) return;
  w->plans[w->rounds] = w->sessions[0].plan;
  w->inputs[w->rounds++] = dq_plan_input(w->sessions[0].plan, 0)->data;
  if (w->rounds == w->stop_at) atomic_store(&w->stop, true);
}

static void see_message(void *user, dq_severity severity, const char *text) {
  (void)severity, (void)text;
  ((watch *)user)->messages++;
}

static int count_different(const void *const *pointers, int count) {
  int different = 0;
  for (int i = 0; i < count; i++) {
    int same = 0;
    while (same < i && pointers[same] != pointers[i]) same++;
    different += same == i;
  }
  return different;
}

static dq_graph *small_graph(void) {
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 4, 24, 24});
  dq_tensor *weight = dq_tensor_new(graph->arena, DQ_F32, 4, (int64_t[]){4, 4, 5, 5});
  fill(weight, 3);
  dq_node *node = add(graph, "Conv", 2, (dq_value *[]){x, dq_graph_add_constant(graph, "w", weight)}, "y");
  interface(graph, x, node->outputs[0]);
  return graph;
}

// Runs two equal plans; `asks` for an algorithm that does not fit, which each first binding reports.
static dq_status run_watched(watch *w, const dq_block_options *options, dq_blocks *made, double times[2][64]) {
  static const dq_conv_setting setting = {.pattern = "y", .algorithm = DQ_CONV_winograd};
  const dq_session_options session = {.convolutions = &setting, .convolution_count = 1};
  dq_context watched = context;
  watched.progress = see_progress, watched.message = see_message, watched.user = w, watched.stop = &w->stop;
  dq_graph *graph = small_graph();
  dq_arena *arena = dq_context_arena(&watched);
  dq_timed_plan plans[2];
  dq_tensor **inputs[2];
  dq_error error = {0};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(dq_session_open(&w->sessions[i], graph, &session, &watched, &error), DQ_OK);
    assert_int_equal(dq_feed_make(&inputs[i], w->sessions[i].plan, &watched, arena, &error), DQ_OK);
    plans[i] = (dq_timed_plan){.session = &w->sessions[i], .options = &session, .inputs = inputs[i], .times = times[i]};
  }
  dq_status status = dq_blocks_run(made, plans, 2, options, &watched, arena, &error);
  for (int i = 0; i < 2; i++) {
    double least = plans[i].least[0]; // of all blocks; that of the warm-up may be less than that of the rounds
    for (int64_t b = 1; b < made->count; b++) least = fmin(least, plans[i].least[b]);
    for (int64_t b = 0; b < made->count && status == DQ_OK; b++) assert_true(plans[i].least[b] > 0);
    assert_true(status != DQ_OK || least <= least_of(times[i], (int)made->rounds));
    assert_true(plans[i].first >= least);
    bool is_each_alone = status == DQ_OK && !options->warmup && made->count == made->rounds;
    for (int64_t b = 0; b < made->count && is_each_alone; b++) assert_true(plans[i].least[b] == times[i][b]);
  }
  for (int i = 0; i < 2; i++) dq_session_close(&w->sessions[i]);
  dq_graph_free(graph);
  dq_arena_free(arena);
  return status;
}

static void blocks_lie_elsewhere(void **state) {
  (void)state;
  watch w = {0};
  dq_blocks made;
  double times[2][64] = {{0}};
  const dq_block_options options = {.rounds = 20, .warmup = 3, .blocks = 8};
  assert_int_equal(run_watched(&w, &options, &made, times), DQ_OK);
  assert_int_equal(made.rounds, 20);
  assert_int_equal(made.count, 8);
  assert_int_equal(w.last, 23); // with the first warm-up alone
  assert_int_equal(w.total, 23);
  for (int i = 0; i < 2; i++)
    for (int round = 0; round < 20; round++) assert_true(times[i][round] > 0);
  assert_true(times[0][20] == 0 && times[1][20] == 0);
  assert_true(count_different(w.inputs, 23) >= 4); // by chance a block may lie where one before it lay
  assert_int_equal(w.messages, 2);                 // one of each session, when it was opened
}

// A plan that is freed and bound again would lie where it lay.
static void places_are_drawn(void **state) {
  (void)state;
  enum { TIMES = 16 };
  const void *inputs[TIMES];
  dq_random places = dq_random_start(0, 0);
  dq_graph *graph = small_graph();
  dq_session session;
  assert_int_equal(dq_session_open(&session, graph, NULL, &context, NULL), DQ_OK);
  for (int i = 0; i < TIMES; i++) {
    assert_int_equal(dq_session_bind_again(&session, NULL, &places, &context, NULL), DQ_OK);
    inputs[i] = dq_plan_input(session.plan, 0)->data;
  }
  assert_true(count_different(inputs, TIMES) >= TIMES / 2);
  dq_session_close(&session);
  dq_graph_free(graph);
}

static void one_block_stays(void **state) {
  (void)state;
  watch w = {0};
  dq_blocks made;
  double times[2][64];
  assert_int_equal(run_watched(&w, &(dq_block_options){.rounds = 9, .blocks = 1}, &made, times), DQ_OK);
  assert_int_equal(made.count, 1);
  assert_int_equal(count_different(w.plans, 9), 1);
}

static void rounds_bound_blocks(void **state) {
  (void)state;
  watch w = {0};
  dq_blocks made;
  double times[2][64];
  assert_int_equal(run_watched(&w, &(dq_block_options){.rounds = 5, .blocks = 8}, &made, times), DQ_OK);
  assert_int_equal(made.count, 5);
  assert_int_equal(made.rounds, 5);
}

// A warm-up of short runs, which those of the small network are, asks for `quick` rounds; without one nothing is known.
static void short_runs_are_more(void **state) {
  (void)state;
  static const struct {
    dq_block_options options;
    int64_t rounds, blocks;
  } cases[] = {{{.rounds = 6, .quick = 30, .warmup = 3}, 30, 15},
               {{.rounds = 6, .quick = 30, .warmup = 3, .blocks = 8}, 30, 8},
               {{.rounds = 6, .quick = 30}, 6, 6},
               {{.rounds = 6, .warmup = 3}, 6, 6}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    watch w = {0};
    dq_blocks made;
    double times[2][64] = {{0}};
    assert_int_equal(run_watched(&w, &cases[i].options, &made, times), DQ_OK);
    assert_int_equal(made.rounds, cases[i].rounds);
    assert_int_equal(made.count, cases[i].blocks);
    assert_int_equal(w.total, cases[i].options.warmup + cases[i].rounds);
  }
  assert_int_equal(dq_block_rounds(&cases[0].options), 30);
  assert_int_equal(dq_block_rounds(&cases[3].options), 6);
}

// With a time that is over at once there is one round in each of the blocks that have to be.
static void time_ends_blocks(void **state) {
  (void)state;
  for (int64_t fewest = 0; fewest < 8; fewest += 7) {
    watch w = {0};
    dq_blocks made;
    double times[2][64];
    const dq_block_options options = {.rounds = 60, .blocks = 12, .fewest = fewest, .time_limit = 1e-9};
    assert_int_equal(run_watched(&w, &options, &made, times), DQ_OK);
    assert_int_equal(made.count, fewest ? fewest : 1);
    assert_int_equal(made.rounds, made.count);
  }
}

static void stopped_in_a_block(void **state) {
  (void)state;
  watch w = {.stop_at = 7};
  dq_blocks made;
  double times[2][64];
  assert_int_equal(run_watched(&w, &(dq_block_options){.rounds = 20, .blocks = 4}, &made, times), DQ_CANCELLED);
  assert_int_equal(w.rounds, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ratio_by_hand),
      cmocka_unit_test(interval_of_eight),
      cmocka_unit_test(levels_of_few),
      cmocka_unit_test(levels_are_exact),
      cmocka_unit_test(interval_of_a_hundred),
      cmocka_unit_test(verdicts_say_what_is_unsteady),
      cmocka_unit_test(equal_plans_cannot_be_told_apart),
      cmocka_unit_test(three_percent_are_told),
      cmocka_unit_test(blocks_for_rounds),
      cmocka_unit_test(plans_change_places),
      cmocka_unit_test(blocks_lie_elsewhere),
      cmocka_unit_test(places_are_drawn),
      cmocka_unit_test(one_block_stays),
      cmocka_unit_test(rounds_bound_blocks),
      cmocka_unit_test(short_runs_are_more),
      cmocka_unit_test(time_ends_blocks),
      cmocka_unit_test(stopped_in_a_block),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
