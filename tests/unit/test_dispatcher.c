// Whose job runs next, by a simulated clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/multi/dispatcher.h"

enum { MOST = 4000 };

// A stream of requests: one each `period` from `first` on, of `jobs` jobs that take `job` each, to be ended within
// `deadline`; up to `jitter` later than that, at random.
typedef struct stream {
  int64_t first, period, jitter, job, deadline;
  int jobs, priority;
  int count; // of requests
} stream;

typedef struct simulated {
  dq_task task; // first: a task is its request
  int64_t arrival, finish;
  int left, stream; // jobs
} simulated;

typedef struct simulation {
  dq_dispatcher dispatcher;
  simulated requests[MOST];
  int count;
} simulation;

static int by_arrival(const void *a, const void *b) {
  const simulated *x = a, *y = b;
  return x->arrival != y->arrival ? (x->arrival < y->arrival ? -1 : 1) : x->stream - y->stream;
}

static void list_requests(simulation *s, const stream *streams, int count) {
  dq_random random = {5};
  for (int i = 0; i < count; i++)
    for (int r = 0; r < streams[i].count; r++) {
      simulated *request = &s->requests[s->count++];
      assert_true(s->count <= MOST);
      *request = (simulated){.arrival = streams[i].first + r * streams[i].period, .left = streams[i].jobs, .stream = i};
      request->arrival += (int64_t)dq_random_below(&random, (uint64_t)streams[i].jitter + 1);
      request->task = (dq_task){.network = i, .priority = streams[i].priority, .deadline = INT64_MAX};
      if (streams[i].deadline) request->task.deadline = request->arrival + streams[i].deadline;
    }
  qsort(s->requests, (size_t)s->count, sizeof *s->requests, by_arrival);
}

// Runs all requests with one worker.
static simulation *simulate(const char *policy, const stream *streams, int count) {
  simulation *s = calloc(1, sizeof *s);
  assert_int_equal(dq_dispatcher_open(&s->dispatcher, dq_job_policy_at(dq_job_policy_find(policy)), 2, NULL), DQ_OK);
  for (int i = 0; i < count; i++) assert_int_equal(dq_dispatcher_add_network(&s->dispatcher, NULL), DQ_OK);
  list_requests(s, streams, count);
  int64_t now = 0;
  for (int next = 0, ended = 0; ended < s->count;) {
    while (next < s->count && s->requests[next].arrival <= now)
      assert_int_equal(dq_dispatcher_add(&s->dispatcher, &s->requests[next++].task, NULL), DQ_OK);
    simulated *request = (simulated *)(void *)dq_dispatcher_next(&s->dispatcher);
    if (!request) {
      now = s->requests[next].arrival;
      continue;
    }
    now += streams[request->stream].job;
    if (--request->left) dq_dispatcher_return(&s->dispatcher, &request->task);
    else {
      dq_dispatcher_end(&s->dispatcher, &request->task);
      request->finish = now;
      ended++;
    }
  }
  assert_int_equal(s->dispatcher.frames, 2);
  dq_dispatcher_close(&s->dispatcher);
  return s;
}

static int missed(const simulation *s) {
  int count = 0;
  for (int i = 0; i < s->count; i++) count += s->requests[i].finish > s->requests[i].task.deadline;
  return count;
}

// The longest time from arrival to end of a stream, and the mean.
static int64_t longest(const simulation *s, int of) {
  int64_t most = 0;
  for (int i = 0; i < s->count; i++) {
    int64_t time = s->requests[i].finish - s->requests[i].arrival;
    if (s->requests[i].stream == of && time > most) most = time;
  }
  return most;
}

static double mean(const simulation *s, int of) {
  double sum = 0, count = 0;
  for (int i = 0; i < s->count; i++)
    if (s->requests[i].stream == of) sum += (double)(s->requests[i].finish - s->requests[i].arrival), count++;
  return sum / count;
}

// 10/20 + 12/40 = 80 % of the worker's time: by FIFO the short request waits behind the 12 jobs of the long one.
static void edf_misses_no_deadline_where_fifo_does(void **state) {
  (void)state;
  const stream streams[] = {{.period = 40, .job = 1, .deadline = 40, .jobs = 12, .count = 500},
                            {.period = 20, .job = 1, .deadline = 20, .jobs = 10, .count = 1000}};
  simulation *fifo = simulate("fifo", streams, 2), *edf = simulate("edf", streams, 2);
  assert_int_equal(missed(edf), 0);
  assert_int_equal(missed(fifo), 500); // every second request of the short deadline: it ends after 22
  assert_int_equal(longest(fifo, 1), 22);
  free(fifo);
  free(edf);
}

// A request of high priority waits for at most one job of others.
static void priority_waits_for_one_job(void **state) {
  (void)state;
  const stream streams[] = {{.period = 97, .job = 7, .jobs = 10, .count = 300},
                            {.period = 31, .job = 2, .jobs = 3, .priority = 1, .count = 900}};
  simulation *priority = simulate("priority", streams, 2), *fifo = simulate("fifo", streams, 2);
  assert_in_range(longest(priority, 1), 6, 6 + 7 - 1);
  assert_true(longest(fifo, 1) > 60);
  free(priority);
  free(fifo);
}

// Requests that come equally often, at random, and take between 12 and 24: FIFO slows no network down by more than 1.3
// times the mean, at 90 % load.
static void fifo_is_fair(void **state) {
  (void)state;
  enum { STREAMS = 3 };
  const stream streams[STREAMS] = {{.period = 60, .jitter = 59, .job = 3, .jobs = 4, .count = 1000},
                                   {.period = 60, .jitter = 59, .job = 3, .jobs = 6, .count = 1000},
                                   {.period = 60, .jitter = 59, .job = 6, .jobs = 4, .count = 1000}};
  simulation *s = simulate("fifo", streams, STREAMS);
  double slowdown[STREAMS], all = 0;
  for (int i = 0; i < STREAMS; i++) all += slowdown[i] = mean(s, i) / (double)(streams[i].job * streams[i].jobs);
  assert_true(all > 1.5 * STREAMS); // they do wait for each other
  for (int i = 0; i < STREAMS; i++) assert_true(slowdown[i] <= 1.3 * all / STREAMS);
  free(s);
}

// Two long requests of one network do not keep another network waiting, which takes every second job. A network that
// had no request for a while gets every second job from then on, not the jobs of the time before.
static void networks_take_turns(void **state) {
  (void)state;
  const stream together[] = {{.job = 1, .jobs = 100, .count = 2}, {.job = 1, .jobs = 4, .count = 1}};
  simulation *turns = simulate("round-robin", together, 2), *fifo = simulate("fifo", together, 2);
  assert_int_equal(longest(fifo, 1), 204);
  assert_in_range(longest(turns, 1), 7, 9);
  free(turns);
  free(fifo);
  const stream late[] = {{.job = 1, .jobs = 100, .count = 1}, {.first = 50, .job = 1, .jobs = 30, .count = 1}};
  simulation *one = simulate("round-robin", late, 2);
  assert_in_range(longest(one, 1), 59, 61);
  assert_int_equal(longest(one, 0), 130);
  free(one);
}

static void removed_tasks_give_their_frames_back(void **state) {
  (void)state;
  dq_dispatcher d;
  dq_task tasks[40];
  assert_int_equal(dq_dispatcher_open(&d, dq_job_policy_at(dq_job_policy_find("edf")), 2, NULL), DQ_OK);
  assert_int_equal(dq_dispatcher_add_network(&d, NULL), DQ_OK);
  for (int i = 0; i < 40; i++) {
    tasks[i] = (dq_task){.deadline = 1000 + i * 17 % 40};
    assert_int_equal(dq_dispatcher_add(&d, &tasks[i], NULL), DQ_OK);
  }
  for (int i = 0; i < 40; i += 3) dq_dispatcher_remove(&d, &tasks[i]);
  dq_task *first = dq_dispatcher_next(&d), *second = dq_dispatcher_next(&d);
  assert_true(first->deadline < second->deadline);
  assert_null(dq_dispatcher_next(&d)); // no frame is free
  dq_dispatcher_return(&d, first);
  dq_dispatcher_remove(&d, first);
  int64_t last = second->deadline;
  for (dq_task *task; (task = dq_dispatcher_next(&d)); last = task->deadline) {
    assert_true(task->deadline > last);
    dq_dispatcher_end(&d, task);
  }
  assert_int_equal(d.frames, 1);
  assert_int_equal(d.waiting.count, 0);
  dq_dispatcher_close(&d);
}

static void policies_are_rows(void **state) {
  (void)state;
  for (int i = 0; dq_job_policy_at(i); i++) assert_int_equal(dq_job_policy_find(dq_job_policy_at(i)->name), i);
  assert_int_equal(dq_job_policy_find("fast"), -1);
  assert_null(dq_job_policy_at(-1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edf_misses_no_deadline_where_fifo_does),
      cmocka_unit_test(priority_waits_for_one_job),
      cmocka_unit_test(fifo_is_fair),
      cmocka_unit_test(networks_take_turns),
      cmocka_unit_test(removed_tasks_give_their_frames_back),
      cmocka_unit_test(policies_are_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
