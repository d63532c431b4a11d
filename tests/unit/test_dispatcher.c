// Whose job runs next, by a simulated clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/multi/dispatcher.h"

enum { MOST = 4000, MOST_WORKERS = 2 };

// A stream of requests: one each `period` from `first` on, of `jobs` jobs that take `job` each, to be ended within
// `deadline`; up to `jitter` later than that, at random. Of a stream that is `closed` the next one
// comes when the last has ended.
typedef struct stream {
  int64_t first, period, jitter, job, deadline;
  int jobs, priority;
  int count; // of requests
  bool closed;
} stream;

typedef struct simulated {
  dq_task task;            // first: a task is its request
  int64_t arrival, finish; // arrival < 0: when the last of its stream has ended
  int left, stream;        // jobs
} simulated;

typedef struct simulated_worker {
  dq_worker_slice slice;
  simulated *request; // NULL: it has none
  int64_t end;        // of its job
} simulated_worker;

typedef struct simulation {
  dq_dispatcher dispatcher;
  const stream *streams;
  simulated_worker workers[MOST_WORKERS];
  int worker_count;
  simulated requests[MOST]; // by arrival, those without one first
  int count, next, ended;
} simulation;

static int by_arrival(const void *a, const void *b) {
  const simulated *x = a, *y = b;
  return x->arrival != y->arrival ? (x->arrival < y->arrival ? -1 : 1) : x->stream - y->stream;
}

static void list_requests(simulation *s, int count) {
  dq_random random = {5};
  for (int i = 0; i < count; i++)
    for (int r = 0; r < s->streams[i].count; r++) {
      const stream *from = &s->streams[i];
      simulated *request = &s->requests[s->count++];
      assert_true(s->count <= MOST);
      *request = (simulated){.arrival = from->first + r * from->period, .left = from->jobs, .stream = i};
      request->arrival += (int64_t)dq_random_below(&random, (uint64_t)from->jitter + 1);
      request->task = (dq_task){.network = i, .priority = from->priority, .deadline = INT64_MAX};
      request->task.cost = from->job * from->jobs;
      if (from->deadline) request->task.deadline = request->arrival + from->deadline;
      if (r && from->closed) request->arrival = -1;
    }
  qsort(s->requests, (size_t)s->count, sizeof *s->requests, by_arrival);
  while (s->next < s->count && s->requests[s->next].arrival < 0) s->next++;
}

static void arrive(simulation *s, simulated *request, int64_t now) {
  request->arrival = request->task.arrival = now;
  assert_int_equal(dq_dispatcher_add(&s->dispatcher, &request->task, NULL), DQ_OK);
}

static void end_job(simulation *s, simulated_worker *worker) {
  simulated *request = worker->request;
  worker->request = NULL;
  if (--request->left) {
    dq_dispatcher_return(&s->dispatcher, &request->task);
    return;
  }
  dq_dispatcher_end(&s->dispatcher, &request->task, worker->end);
  request->finish = worker->end;
  s->ended++;
  if (!s->streams[request->stream].closed) return;
  simulated *next = s->requests, *end = s->requests + s->count;
  while (next < end && (next->arrival >= 0 || next->stream != request->stream)) next++;
  if (next < end) arrive(s, next, worker->end);
}

// The next time at which something happens.
static int64_t next_time(const simulation *s) {
  int64_t time = s->next < s->count ? s->requests[s->next].arrival : INT64_MAX;
  for (int w = 0; w < s->worker_count; w++)
    if (s->workers[w].request && s->workers[w].end < time) time = s->workers[w].end;
  return time;
}

static void run_at(simulation *s, int64_t now) {
  for (int w = 0; w < s->worker_count; w++)
    if (s->workers[w].request && s->workers[w].end == now) end_job(s, &s->workers[w]);
  for (; s->next < s->count && s->requests[s->next].arrival <= now; s->next++)
    arrive(s, &s->requests[s->next], s->requests[s->next].arrival);
  for (int w = 0; w < s->worker_count; w++) {
    simulated_worker *worker = &s->workers[w];
    if (worker->request) continue;
    worker->request = (simulated *)(void *)dq_dispatcher_next(&s->dispatcher, &worker->slice);
    if (worker->request) worker->end = now + s->streams[worker->request->stream].job;
  }
}

static simulation *simulate_on(int workers, int64_t slice, const char *policy, const stream *streams, int count) {
  simulation *s = calloc(1, sizeof *s);
  const dq_job_policy *row = dq_job_policy_at(dq_job_policy_find(policy));
  s->worker_count = workers, s->streams = streams;
  int priorities = 1;
  for (int i = 0; i < count; i++)
    if (streams[i].priority >= priorities) priorities = streams[i].priority + 1;
  const int frames = dq_dispatcher_frames(row, workers, priorities);
  assert_int_equal(dq_dispatcher_open(&s->dispatcher, row, slice, frames, NULL), DQ_OK);
  for (int i = 0; i < count; i++) assert_int_equal(dq_dispatcher_add_network(&s->dispatcher, NULL), DQ_OK);
  list_requests(s, count);
  while (s->ended < s->count) run_at(s, next_time(s));
  assert_int_equal(s->dispatcher.frames, frames);
  dq_dispatcher_close(&s->dispatcher);
  return s;
}

// With one worker, and without time slices.
static simulation *simulate(const char *policy, const stream *streams, int count) {
  return simulate_on(1, 0, policy, streams, count);
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

// 10/20 + 12/40 = 80 % of the worker's time: by FIFO the short request waits behind the 12 jobs of the long one, until
// it is the one that was slowed down more.
static void edf_misses_no_deadline_where_fifo_does(void **state) {
  (void)state;
  const stream streams[] = {{.period = 40, .job = 1, .deadline = 40, .jobs = 12, .count = 500},
                            {.period = 20, .job = 1, .deadline = 20, .jobs = 10, .count = 1000}};
  simulation *fifo = simulate("fifo", streams, 2), *edf = simulate("edf", streams, 2);
  assert_int_equal(missed(edf), 0);
  assert_in_range(missed(fifo), 200, 500); // of every second request of the short deadline: it ends after 22
  assert_int_equal(longest(fifo, 1), 22);
  free(fifo);
  free(edf);
}

// Requests without deadlines are always there, and workers prefer networks among them: time slices are for requests
// that are as urgent as each other.
static void edf_misses_no_deadline_for_a_time_slice(void **state) {
  (void)state;
  const stream streams[] = {{.period = 40, .job = 1, .deadline = 40, .jobs = 12, .count = 500},
                            {.period = 20, .job = 1, .deadline = 20, .jobs = 8, .count = 1000},
                            {.job = 2, .jobs = 1, .count = 1000, .closed = true},
                            {.job = 1, .jobs = 3, .count = 1000, .closed = true}};
  for (int workers = 1; workers <= MOST_WORKERS; workers++) {
    simulation *edf = simulate_on(workers, 30, "edf", streams, 4);
    assert_int_equal(missed(edf), 0);
    free(edf);
  }
}

// A request of high priority waits for at most one job of others, also where workers have time slices.
static void priority_waits_for_one_job(void **state) {
  (void)state;
  const stream streams[] = {{.period = 97, .job = 7, .jobs = 10, .count = 300},
                            {.period = 31, .job = 2, .jobs = 3, .priority = 1, .count = 900}};
  simulation *priority = simulate("priority", streams, 2), *fifo = simulate("fifo", streams, 2);
  assert_in_range(longest(priority, 1), 6, 6 + 7 - 1);
  assert_true(longest(fifo, 1) > 60);
  free(priority);
  free(fifo);
  const stream stress[] = {{.job = 7, .jobs = 2, .count = 500, .closed = true},
                           {.job = 5, .jobs = 1, .count = 1500, .closed = true},
                           {.job = 6, .jobs = 4, .count = 300, .closed = true},
                           {.period = 31, .job = 2, .jobs = 3, .priority = 1, .count = 400}};
  for (int workers = 1; workers <= MOST_WORKERS; workers++) {
    priority = simulate_on(workers, 100, "priority", stress, 4);
    assert_in_range(longest(priority, 3), 6 + 1, 6 + 7 - 1);
    free(priority);
  }
  // Cameras of low priority that are slowed down unlike each other do not take the frame that is kept for the high one.
  const stream cameras[] = {{.period = 150, .job = 7, .jobs = 4, .deadline = 150, .count = 200},
                            {.first = 9, .period = 150, .job = 7, .jobs = 4, .deadline = 150, .count = 200},
                            {.first = 17, .period = 150, .job = 7, .jobs = 4, .deadline = 150, .count = 200},
                            {.period = 31, .job = 2, .jobs = 3, .priority = 1, .count = 900}};
  priority = simulate("priority", cameras, 4);
  assert_in_range(longest(priority, 3), 6 + 1, 6 + 7 - 1);
  free(priority);
}

// Each priority has frames enough: a request of the highest one waits for one job of those below it, also where a
// second one comes and where those of a middle priority have begun as well.
static void priorities_wait_for_one_job(void **state) {
  (void)state;
  const stream three[] = {{.period = 300, .job = 7, .jobs = 10, .count = 200},
                          {.period = 130, .job = 5, .jobs = 6, .priority = 1, .count = 400},
                          {.period = 31, .job = 2, .jobs = 3, .priority = 2, .count = 1900}};
  simulation *s = simulate("priority", three, 3);
  assert_in_range(longest(s, 2), 6 + 1, 6 + 7 - 1);
  free(s);
  const stream two[] = {{.job = 7, .jobs = 10, .count = 100, .closed = true},
                        {.job = 7, .jobs = 8, .count = 100, .closed = true},
                        {.job = 6, .jobs = 9, .count = 100, .closed = true},
                        {.period = 53, .job = 2, .jobs = 3, .priority = 1, .count = 300},
                        {.first = 1, .period = 59, .job = 2, .jobs = 3, .priority = 1, .count = 300}};
  s = simulate_on(2, 100, "priority", two, 5);
  for (int i = 3; i < 5; i++) assert_in_range(longest(s, i), 6 + 1, 6 + 7 - 1);
  free(s);
}

static void frames_by_hand(void **state) {
  (void)state;
  const dq_job_policy *fifo = dq_job_policy_at(dq_job_policy_find("fifo")),
                      *priority = dq_job_policy_at(dq_job_policy_find("priority"));
  assert_int_equal(dq_dispatcher_frames(fifo, 4, 3), 5);
  assert_int_equal(dq_dispatcher_frames(priority, 4, 1), 5);
  assert_int_equal(dq_dispatcher_frames(priority, 4, 3), 12);
  assert_int_equal(dq_dispatcher_frames(priority, 1, 2), 2);
}

// Requests that come equally often, at random, and take between 12 and 24: FIFO slows no network down by more than 1.3
// times the mean, at 90 % load, on one worker or two, with time slices or without.
static void fifo_is_fair(void **state) {
  (void)state;
  enum { STREAMS = 3 };
  const int64_t slices[] = {0, 48, 96};
  for (int i = 0; i < 6; i++) {
    const int workers = 1 + i / 3;
    const int64_t period = 60 / workers;
    const stream streams[STREAMS] = {{.period = period, .jitter = period - 1, .job = 3, .jobs = 4, .count = 1000},
                                     {.period = period, .jitter = period - 1, .job = 3, .jobs = 6, .count = 1000},
                                     {.period = period, .jitter = period - 1, .job = 6, .jobs = 4, .count = 1000}};
    simulation *s = simulate_on(workers, slices[i % 3], "fifo", streams, STREAMS);
    double slowdown[STREAMS], all = 0;
    for (int n = 0; n < STREAMS; n++) all += slowdown[n] = mean(s, n) / (double)(streams[n].job * streams[n].jobs);
    assert_true(all > (workers == 1 ? 1.5 : 1.2) * STREAMS); // they do wait for each other
    for (int n = 0; n < STREAMS; n++) assert_true(slowdown[n] <= 1.3 * all / STREAMS);
    free(s);
  }
}

static double largest_over_mean(const simulation *s, int streams) {
  double most = 0, all = 0;
  for (int i = 0; i < streams; i++) {
    double slowdown = mean(s, i) / (double)(s->streams[i].job * s->streams[i].jobs);
    all += slowdown;
    if (slowdown > most) most = slowdown;
  }
  return most / (all / streams);
}

// Three cameras whose pictures come equally often, so that in each round they come in the same order, by any distance
// from each other, at 75 % load: the one that comes last does not always wait for the others, which would slow it down
// by 1.5 times the mean and more.
static void fifo_is_fair_to_cameras(void **state) {
  (void)state;
  enum { STREAMS = 3, JOBS = 6, STEP = 7 };
  static const int64_t jobs[][STREAMS] = {{2, 2, 2}, {2, 3, 4}, {4, 4, 2}, {4, 2, 2}};
  int behind = 0;
  for (int c = 0; c < 8; c++) {
    const int workers = 1 + c / 4;
    const int64_t *job = jobs[c % 4], period = JOBS * (job[0] + job[1] + job[2]) * 4 / 3 / workers;
    for (int64_t second = 0; second < period; second += STEP)
      for (int64_t third = 0; third < period; third += STEP) {
        stream streams[STREAMS] = {{.first = 0}, {.first = second}, {.first = third}};
        for (int i = 0; i < STREAMS; i++) {
          streams[i].period = streams[i].deadline = period, streams[i].count = 200;
          streams[i].job = job[i], streams[i].jobs = JOBS;
        }
        simulation *s = simulate_on(workers, 50, "fifo", streams, STREAMS);
        behind += largest_over_mean(s, STREAMS) > 1.01; // they do wait for each other
        assert_true(largest_over_mean(s, STREAMS) <= 1.3);
        for (int i = 0; i < STREAMS; i++) assert_true(longest(s, i) <= 5 * JOBS * 4);
        free(s);
      }
  }
  assert_true(behind > 100);
}

// Senders that wait for their requests, 12 and 24, which are slowed down alike as well.
static void fifo_is_fair_to_senders(void **state) {
  (void)state;
  const stream streams[] = {{.job = 2, .jobs = 6, .count = 1300, .closed = true},
                            {.job = 4, .jobs = 6, .count = 650, .closed = true}};
  for (int64_t slice = 0; slice <= 96; slice += 48) { // none, and of several requests each
    simulation *s = simulate_on(1, slice, "fifo", streams, 2);
    assert_true(largest_over_mean(s, 2) < 1.1);
    free(s);
  }
}

// Two senders that wait for their requests, 10 each. Within a time slice of 40 a worker runs four requests of a network
// past the other one: that one waits for five, 50, the next four for none, which makes 20 in the mean, as by turns. The
// jobs of a request that is preferred stay together. A request that takes longer than the time slice is not preferred;
// the sender that began second and so was slowed down more passes by the first one at the start, which then takes 40.
static void networks_get_time_slices(void **state) {
  (void)state;
  const stream single = {.job = 10, .jobs = 1, .count = 500, .closed = true},
               cut = {.job = 2, .jobs = 5, .count = 500, .closed = true};
  const struct {
    stream sender;
    int64_t slice, longest;
  } cases[] = {{single, 40, 60}, {cut, 40, 60}, {single, 39, 50}, {cut, 9, 40}, {single, 0, 40}};
  for (int i = 0; i < 5; i++) {
    const stream streams[] = {cases[i].sender, cases[i].sender};
    simulation *s = simulate_on(1, cases[i].slice, "fifo", streams, 2);
    for (int n = 0; n < 2; n++) {
      assert_in_range(longest(s, n), cases[i].slice < 10 ? 20 : cases[i].longest, cases[i].longest);
      assert_in_range((int64_t)(1000 * mean(s, n)), 19800, 20200);
    }
    free(s);
  }
}

// A request with a deadline waits for the job that runs and for those that came before it, not for a time slice.
static void deadlines_end_time_slices(void **state) {
  (void)state;
  stream streams[] = {{.job = 10, .jobs = 1, .count = 500, .closed = true},
                      {.job = 10, .jobs = 1, .count = 500, .closed = true},
                      {.period = 97, .job = 3, .jobs = 1, .deadline = 97, .count = 90}};
  simulation *s = simulate_on(1, 100, "fifo", streams, 3);
  assert_in_range(longest(s, 2), 3 + 10, 3 + 10 + 10);
  assert_true(longest(s, 0) > 100);
  free(s);
  streams[2].deadline = 0;
  s = simulate_on(1, 100, "fifo", streams, 3);
  assert_true(longest(s, 2) > 3 + 10 + 50);
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
  dq_worker_slice slice = {0};
  assert_int_equal(dq_dispatcher_open(&d, dq_job_policy_at(dq_job_policy_find("edf")), 1000, 2, NULL), DQ_OK);
  assert_int_equal(dq_dispatcher_add_network(&d, NULL), DQ_OK);
  for (int i = 0; i < 40; i++) {
    tasks[i] = (dq_task){.deadline = 1000 + i * 17 % 40};
    assert_int_equal(dq_dispatcher_add(&d, &tasks[i], NULL), DQ_OK);
  }
  for (int i = 0; i < 40; i += 3) dq_dispatcher_remove(&d, &tasks[i]);
  dq_task *first = dq_dispatcher_next(&d, &slice), *second = dq_dispatcher_next(&d, &slice);
  assert_true(first->deadline < second->deadline);
  assert_null(dq_dispatcher_next(&d, &slice)); // no frame is free
  dq_dispatcher_return(&d, first);
  dq_dispatcher_remove(&d, first);
  int64_t last = second->deadline;
  for (dq_task *task; (task = dq_dispatcher_next(&d, &slice)); last = task->deadline) {
    assert_true(task->deadline > last);
    dq_dispatcher_end(&d, task, 0);
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
      cmocka_unit_test(edf_misses_no_deadline_for_a_time_slice),
      cmocka_unit_test(priority_waits_for_one_job),
      cmocka_unit_test(priorities_wait_for_one_job),
      cmocka_unit_test(frames_by_hand),
      cmocka_unit_test(fifo_is_fair),
      cmocka_unit_test(fifo_is_fair_to_cameras),
      cmocka_unit_test(fifo_is_fair_to_senders),
      cmocka_unit_test(networks_get_time_slices),
      cmocka_unit_test(deadlines_end_time_slices),
      cmocka_unit_test(networks_take_turns),
      cmocka_unit_test(removed_tasks_give_their_frames_back),
      cmocka_unit_test(policies_are_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
