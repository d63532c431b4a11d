// What policies keep on the real clock, by workers and requests as they are. Jobs sleep in place of computing, so that
// they need no processor. How long a busy machine lets a worker wait for one is not dq's: the tests look at who was
// chosen, among the requests that were there at that time.
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/multi/multi.h"
#include "tests/unit/plan_harness.h"

enum { MOST = 256 };

static const int64_t UNIT = 5000000; // nanoseconds of the figures below

// Requests of `cost` units, one each `period`, to be ended within `deadline`.
typedef struct stream {
  int period, cost, deadline, priority, count;
} stream;

typedef struct arrival {
  dq_multi_request *request;
  int64_t time;           // after the start
  int64_t decided, begin; // not before this time the worker chose the request; its first job began
  int stream, cost;
} arrival;

typedef struct workload {
  dq_graph *graph;
  dq_session session;
  dq_multi *multi;
  arrival arrivals[MOST];
  int count;
  int64_t last_end; // of a job
} workload;

static void sleep_until(int64_t time) {
  const struct timespec until = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

static dq_status sleep_for_cost(void *user, dq_plan *plan, dq_error *error) {
  (void)error;
  sleep_until(dq_nanoseconds() + ((arrival *)user)->cost * UNIT);
  *(float *)dq_plan_input(plan, 0)->data = 1;
  return DQ_OK;
}

static void record_job(void *user, int worker, const dq_multi_request *request, int job, int64_t begin, int64_t end) {
  (void)worker;
  workload *w = user;
  arrival *a = request->user;
  if (job == DQ_JOB_PREPARE) a->decided = w->last_end, a->begin = begin;
  w->last_end = end;
}

static int by_time(const void *a, const void *b) {
  const arrival *x = a, *y = b;
  return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->stream - y->stream;
}

static void open_workload(workload *w, const char *policy, const stream *streams, int count) {
  *w = (workload){.graph = new_graph()};
  dq_value *x = shaped(w->graph, "x", 1, (int64_t[]){1});
  interface(w->graph, x, add(w->graph, "Relu", 1, &x, "y")->outputs[0]);
  assert_int_equal(dq_graph_index(w->graph, true, NULL), DQ_OK);
  const dq_multi_options options = {1, dq_job_policy_at(dq_job_policy_find(policy)), 1e-3, 0, record_job, w, 3};
  assert_int_equal(dq_multi_open(&w->multi, &options, &context, NULL), DQ_OK);
  const dq_session_options lent = {.lent = true};
  assert_int_equal(dq_session_open(&w->session, w->graph, &lent, dq_multi_context(w->multi, false), NULL), DQ_OK);
  assert_int_equal(dq_multi_add(w->multi, &w->session, DQ_THREADS_ONE, NULL), DQ_OK);
  for (int s = 0; s < count; s++)
    for (int r = 0; r < streams[s].count; r++)
      w->arrivals[w->count++] = (arrival){.time = r * streams[s].period * UNIT, .stream = s, .cost = streams[s].cost};
  assert_true(w->count <= MOST);
  qsort(w->arrivals, (size_t)w->count, sizeof *w->arrivals, by_time);
}

// Sends all requests at their times and waits for them.
static void run_workload(workload *w, const char *policy, const stream *streams, int count) {
  open_workload(w, policy, streams, count);
  const int64_t start = dq_nanoseconds() + UNIT;
  for (int i = 0; i < w->count; i++) {
    arrival *a = &w->arrivals[i];
    assert_int_equal(dq_multi_request_open(&a->request, w->multi, 0, NULL), DQ_OK);
    a->time += start;
    a->request->prepare = sleep_for_cost, a->request->user = a;
    a->request->priority = streams[a->stream].priority;
    if (streams[a->stream].deadline) a->request->deadline = a->time + streams[a->stream].deadline * UNIT;
  }
  for (int i = 0; i < w->count; i++) {
    sleep_until(w->arrivals[i].time);
    assert_int_equal(dq_multi_submit(w->arrivals[i].request, NULL), DQ_OK);
  }
  for (int i = 0; i < w->count; i++) {
    assert_true(dq_multi_wait(w->arrivals[i].request, -1));
    assert_int_equal(w->arrivals[i].request->status, DQ_OK);
  }
}

static void close_workload(workload *w) {
  for (int i = 0; i < w->count; i++) dq_multi_request_close(w->arrivals[i].request);
  dq_multi_close(w->multi);
  dq_session_close(&w->session);
  dq_graph_free(w->graph);
}

// Whether `b` should run before `a` where both wait.
typedef bool before(const arrival *b, const arrival *a);
static bool by_deadline(const arrival *b, const arrival *a) { return b->request->deadline < a->request->deadline; }
static bool by_priority(const arrival *b, const arrival *a) { return b->request->priority > a->request->priority; }
static bool by_arrival(const arrival *b, const arrival *a) { return b < a; }

// How often a request was chosen though another one, which was there, should have run before.
static int wrong_choices(const workload *w, before *is_before) {
  int count = 0;
  for (int i = 0; i < w->count; i++)
    for (int j = 0; j < w->count; j++) {
      const arrival *a = &w->arrivals[i], *b = &w->arrivals[j];
      count += b->request->submitted < a->decided && b->begin > a->begin && is_before(b, a);
    }
  return count;
}

// 80 % of the worker's time. By FIFO each third short deadline waits behind three requests that came at the same time,
// 3 * 4 + 12 > 20; by the earliest deadline first behind one that has begun at most.
static void earliest_deadlines_are_chosen(void **state) {
  (void)state;
  static const stream streams[] = {{.period = 60, .cost = 4, .deadline = 60, .count = 5},
                                   {.period = 60, .cost = 4, .deadline = 60, .count = 5},
                                   {.period = 60, .cost = 4, .deadline = 60, .count = 5},
                                   {.period = 20, .cost = 12, .deadline = 20, .count = 15}};
  workload w;
  run_workload(&w, "fifo", streams, 4);
  assert_int_equal(wrong_choices(&w, by_arrival), 0);
  assert_true(wrong_choices(&w, by_deadline) >= 5);
  close_workload(&w);
  run_workload(&w, "edf", streams, 4);
  assert_int_equal(wrong_choices(&w, by_deadline), 0);
  close_workload(&w);
}

// Of two senders of low priority requests wait all the time; one of high priority waits for the one that runs.
static void high_priority_is_chosen(void **state) {
  (void)state;
  static const stream streams[] = {{.period = 8, .cost = 4, .count = 20},
                                   {.period = 8, .cost = 4, .count = 20},
                                   {.period = 13, .cost = 2, .priority = 1, .count = 13}};
  workload w;
  run_workload(&w, "priority", streams, 3);
  assert_int_equal(wrong_choices(&w, by_priority), 0);
  assert_true(wrong_choices(&w, by_arrival) > 0);
  close_workload(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(earliest_deadlines_are_chosen),
      cmocka_unit_test(high_priority_is_chosen),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
