// The search for the fewest multiply-accumulates: bisection, what it keeps, going on after it ended.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "decomp/search/search.h"
#include "decomp/search/tucker_search.h"

// A network that loses a tenth of a point per percent up to 40, more from there, and cannot be cut by
// more than 80.
typedef struct fake {
  int attempts, kept, stop_at; // fails as if interrupted at this attempt; 0: never
  dq_context *late;            // the attempt fails because this one's deadline passes
} fake;

static dq_status attempt(void *user, dq_search_trial *trial, dq_error *error) {
  fake *it = user;
  if (++it->attempts == it->stop_at) {
    if (it->late) it->late->deadline = 1e-12;
    return dq_fail(error, DQ_CANCELLED, "interrupted");
  }
  trial->possible = trial->percent <= 80;
  trial->drop = trial->percent <= 40 ? 0.1 * trial->percent : 4 + trial->percent - 40;
  return DQ_OK;
}

static dq_status store(void *user, const dq_search_trial *trial, dq_error *error) {
  (void)error;
  ((fake *)user)->kept = trial->percent;
  return DQ_OK;
}

static char state[] = "/tmp/dq-search-XXXXXX";

static dq_search_options options_for(fake *it, double max_drop) {
  return (dq_search_options){
      .max_drop = max_drop, .state = state, .key = "model and data", .attempt = attempt, .store = store, .user = it};
}

static void finds_the_last_that_holds(void **unused) {
  (void)unused;
  const struct {
    double max_drop;
    int percent;
  } cases[] = {{0.05, 0}, {0.1, 1}, {2.5, 25}, {4, 40}, {4.5, 40}, {7, 43}, {1000, 80}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fake it = {0};
    dq_search_options options = options_for(&it, cases[i].max_drop + 1e-9);
    dq_search_result result;
    assert_int_equal(dq_search(&options, &result, NULL), DQ_OK);
    assert_int_equal(result.percent, cases[i].percent);
    assert_int_equal(it.kept, cases[i].percent);
    assert_true(result.complete && result.trials <= 7 && result.trials == it.attempts);
    assert_int_equal(access(state, F_OK), -1); // nothing is left
  }
}

static void goes_on_where_it_ended(void **unused) {
  (void)unused;
  fake whole = {0};
  dq_search_options options = options_for(&whole, 2.5 + 1e-9);
  dq_search_result result;
  assert_int_equal(dq_search(&options, &result, NULL), DQ_OK);
  for (int stop = 1; stop <= 6; stop++) {
    fake it = {.stop_at = stop};
    options = options_for(&it, 2.5 + 1e-9);
    assert_int_equal(dq_search(&options, &result, NULL), DQ_CANCELLED);
    assert_int_equal(access(state, F_OK), stop > 1 ? 0 : -1);
    fake again = {.kept = it.kept};
    options.user = &again, options.resume = true;
    assert_int_equal(dq_search(&options, &result, NULL), DQ_OK);
    assert_int_equal(result.percent, 25);
    assert_int_equal(again.attempts, whole.attempts - (stop - 1)); // none is made twice
    assert_int_equal(result.trials, whole.attempts);
    assert_int_equal(again.kept, 25);
  }
}

static void no_trial_after_the_time(void **unused) {
  (void)unused;
  fake it = {0};
  dq_search_options options = options_for(&it, 2.5);
  dq_context late = {.deadline = 1e-12};
  options.context = &late;
  dq_search_result result;
  assert_int_equal(dq_search(&options, &result, NULL), DQ_OK);
  assert_true(!result.complete && result.percent == 0 && it.attempts == 0);
  // a trial that was running then does not count
  it.stop_at = 3, it.late = &late;
  late.deadline = 0;
  assert_int_equal(dq_search(&options, &result, NULL), DQ_OK);
  assert_true(!result.complete && result.trials == 2 && result.percent == 25 && it.attempts == 3);
  unlink(state);
}

static void states_that_are_none(void **unused) {
  (void)unused;
  const char *const texts[] = {
      "",
      "{}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 2}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"another\", \"trials\": []}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"model and data\", \"trials\": "
      "[{\"percent\": 100, \"drop\": 1}]}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"model and data\", \"trials\": "
      "[{\"percent\": 5}]}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"model and data\", \"trials\": "
      "[{\"percent\": 1, \"drop\": 0}, {\"percent\": 0, \"drop\": null}]}",
      "{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"model and data\", \"trials\": "
      "[{\"percent\": 99, \"drop\": \"1\"}]}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    FILE *stream = fopen(state, "w");
    fputs(texts[i], stream);
    fclose(stream);
    fake it = {0};
    dq_search_options options = options_for(&it, 1);
    options.resume = true;
    dq_search_result result;
    dq_error error;
    assert_int_equal(dq_search(&options, &result, &error), DQ_BAD_INPUT);
    assert_non_null(strstr(error.message, state));
    assert_int_equal(it.attempts, 0);
  }
  unlink(state);
}

// As many trials as there are percents are known, one more is not.
static void states_of_many_trials(void **unused) {
  (void)unused;
  for (int count = 98; count <= 100; count++) {
    FILE *stream = fopen(state, "w");
    fputs("{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"model and data\", \"trials\": [", stream);
    for (int i = 0; i < count; i++) fprintf(stream, "%s{\"percent\": %d, \"drop\": %d}", i ? "," : "", i % 99 + 1, i);
    fputs("]}", stream);
    fclose(stream);
    fake it = {0};
    dq_search_options options = options_for(&it, 2.5);
    options.resume = true;
    dq_search_result result;
    assert_int_equal(dq_search(&options, &result, NULL), count <= 99 ? DQ_OK : DQ_BAD_INPUT);
    if (count <= 99) assert_true(result.percent == 3 && result.trials == count); // the fourth lost 3 points
    assert_int_equal(it.attempts, 0);
  }
  unlink(state);
}

// Without memory for the key that a state is compared with, the state is not read.
static void no_memory(void **unused) {
  (void)unused;
  FILE *file = fopen(state, "w");
  assert_non_null(file);
  fputs("{\"schema\": \"dq-tucker-search\", \"version\": 1, \"key\": \"x\", \"trials\": []}", file);
  fclose(file);
  dq_budget budget = {.limit = 1};
  dq_context context = {.budget = &budget};
  dq_tucker_options tucker = {.context = &context};
  dq_tucker_search_options options = {.tucker = &tucker, .state = state, .resume = true};
  dq_tucker_search_report report;
  dq_tucker_report decomposed;
  dq_graph *graph = dq_graph_new(0), *answer = graph;
  dq_error error = {0};
  assert_int_equal(dq_tucker_search(&answer, graph, &decomposed, &report, &options, &error), DQ_SYSTEM);
  assert_null(answer);
  assert_string_equal(error.message, "out of memory");
  assert_int_equal(access(state, F_OK), 0);
  unlink(state);
  dq_graph_free(graph);
}

int main(void) {
  close(mkstemp(state));
  unlink(state);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_the_last_that_holds), cmocka_unit_test(goes_on_where_it_ended),
      cmocka_unit_test(no_trial_after_the_time),   cmocka_unit_test(states_that_are_none),
      cmocka_unit_test(states_of_many_trials),     cmocka_unit_test(no_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
