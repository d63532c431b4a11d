// Candidates of tuning: of choices that make the same plan one is measured, once. Times are measured and not judged.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/kernels/conv/conv.h"
#include "lib/tune/tune.h"
#include "tests/unit/plan_harness.h"

// A convolution of 8 to 16 channels under a 3x3 kernel, on planes of size x size.
static dq_graph *convolution(int64_t size) {
  static float weights[16 * 8 * 9];
  for (int i = 0; i < 16 * 8 * 9; i++) weights[i] = 0.01f * (float)(i % 7 - 3);
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 4, (int64_t[]){1, 8, size, size});
  dq_value *w = constant(graph, "w", 4, (int64_t[]){16, 8, 3, 3}, weights);
  dq_node *node = add(graph, "Conv", 2, (dq_value *[]){x, w}, "y");
  dq_node_set_ints(graph, node, "pads", (int64_t[]){1, 1, 1, 1}, 4);
  interface(graph, x, node->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

// ---- Forms ----

enum { CHOICES = DQ_CONV_CHOICES * 50 };

// A plan of each choice of sizes of every algorithm that fits, on one thread or (`threads`) on all as well.
typedef struct tried {
  dq_step_choice choice;
  dq_step_form form;
  const char *algorithm;
  dq_plan_memory memory;
} tried;

static dq_step_choice choice_at(int i) {
  return (dq_step_choice){{[DQ_KNOB_OF_ALGORITHM] = i / 50,
                           [DQ_KNOB_OF_COLUMNS] = i % 5 - 2,
                           [DQ_KNOB_OF_DEPTH] = i / 5 % 5 - 2,
                           [DQ_KNOB_OF_THREADS] = i / 25 % 2}};
}

static bool try_choice(tried *one, const dq_plan *usual, const dq_context *with) {
  dq_plan *plan;
  const dq_binding binding = {.choices = &one->choice};
  int algorithm = one->choice.values[DQ_KNOB_OF_ALGORITHM];
  if (algorithm <= DQ_CONV_AUTO || !dq_conv_is_candidate((dq_conv_choice)algorithm)) return false;
  assert_int_equal(dq_plan_bind(&plan, dq_plan_schedule(usual), &binding, with, NULL), DQ_OK);
  one->form = dq_plan_step_form(usual, 0, &one->choice);
  one->algorithm = dq_plan_step_algorithm(plan, 0);
  one->memory = dq_plan_memory_of(plan);
  const dq_step_form bound = dq_plan_step_form(plan, 0, &one->choice); // whatever the plan is that is asked
  assert_true(dq_step_same_form(&one->form, &bound));
  dq_plan_free(plan);
  return !strcmp(one->algorithm, dq_conv_choice_name((dq_conv_choice)algorithm));
}

// Returns the number of forms of the choices that fit; *choices is that of the choices.
static int count_forms(int64_t size, const dq_context *with, int *choices) {
  dq_graph *graph = convolution(size);
  dq_plan *usual;
  static tried all[CHOICES];
  int count = 0, forms = 0;
  assert_int_equal(dq_plan_new(&usual, graph, NULL, NULL, with, NULL), DQ_OK);
  for (int i = 0; i < CHOICES; i++) {
    all[count] = (tried){.choice = choice_at(i)};
    if (!try_choice(&all[count], usual, with)) continue;
    const tried *same = NULL, *one = &all[count++];
    for (int k = 0; k < count - 1 && !same; k++)
      if (dq_step_same_form(&all[k].form, &one->form)) same = &all[k];
    if (!same) forms++;
    else if (same->algorithm != one->algorithm || same->memory.packed != one->memory.packed ||
             same->memory.workspace != one->memory.workspace)
      fail_msg("choices of one form need other memory");
  }
  dq_plan_free(usual);
  dq_graph_free(graph);
  *choices = count;
  return forms;
}

// Sums of 72 products, 144 outputs: tiles add up 96 products at a time or more, and take 12288 words of input at a time
// or more, where 10368 are all; bands hold 24576 words or more, where 4032 are all; so either has one form, whatever
// its sizes. Channels add up 64 products, or 72 with each of the other four values of the depth. Without a pool one
// thread alone is all threads.
static void sizes_that_change_nothing(void **state) {
  (void)state;
  int choices;
  assert_int_equal(count_forms(12, &(dq_context){0}, &choices), 4);
  assert_int_equal(choices, 3 * 50);
}

// At 123 by 123 outputs columns are parted too, and two threads are another form than one.
static void equal_forms_need_equal_memory(void **state) {
  (void)state;
  int choices, alone = count_forms(123, &(dq_context){.cpu = context.cpu}, &choices);
  assert_true(alone > 4);
  assert_int_equal(count_forms(123, &(dq_context){.cpu = context.cpu, .pool = context.pool}, &choices), 2 * alone);
}

// ---- Measurements ----

static int count_tried(const dq_wisdom *wisdom) {
  int count = 0;
  for (int i = 0; i < dq_wisdom_count(wisdom); i++) count += dq_wisdom_at(wisdom, i)->tried;
  return count;
}

// Of the four forms one is the usual choice. Each of the others is measured once, and another search measures nothing.
static void check_each_form(bool exhaustive) {
  enum { TRIES = 5 };
  char path[] = "/tmp/test_tune_candidatesXXXXXX";
  int file = mkstemp(path);
  dq_graph *graph = convolution(12);
  dq_arena *arena = dq_arena_new(0);
  dq_wisdom *wisdom;
  dq_tune_report report = {.noisy = true};
  const dq_context alone = {0};
  const dq_tune_options options = {.exhaustive = exhaustive, .time_limit = 60};
  assert_true(file >= 0 && !close(file));
  assert_int_equal(dq_wisdom_open_here(&wisdom, path, &alone, NULL), DQ_OK);
  for (int i = 0; i < TRIES && report.noisy; i++)
    assert_int_equal(dq_tune(&report, graph, &options, wisdom, &alone, arena, NULL), DQ_OK);
  bool noisy = report.noisy;
  if (!noisy) {
    assert_int_equal(report.candidates, 3);
    assert_int_equal(report.tried, 3);
    assert_int_equal(count_tried(wisdom), 3);
    assert_int_equal(dq_tune(&report, graph, &options, wisdom, &alone, arena, NULL), DQ_OK);
    assert_int_equal(report.runs, 0);
    assert_int_equal(count_tried(wisdom), 3);
  }
  dq_wisdom_free(wisdom);
  dq_arena_free(arena);
  dq_graph_free(graph);
  unlink(path);
  if (noisy) {
    print_message("skipped: the machine is too noisy to measure\n");
    skip();
  }
}

static void each_form_is_measured_once(void **state) {
  (void)state;
  check_each_form(true);
}

// A tenth of the time limit is more than the search of all candidates takes.
static void a_short_search_leaves_none_out(void **state) {
  (void)state;
  check_each_form(false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_that_change_nothing),
      cmocka_unit_test(equal_forms_need_equal_memory),
      cmocka_unit_test(a_short_search_leaves_none_out),
      cmocka_unit_test(each_form_is_measured_once),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
