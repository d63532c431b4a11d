// Several networks at once: whose job runs next by a simulated clock, how networks are cut into jobs, and requests that
// give the bytes of the network alone, whatever the policy, the workers and the jobs.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/multi/fairness.h"
#include "lib/multi/multi.h"
#include "tests/unit/plan_harness.h"

// ---- A simulated clock ----

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

// ---- Jobs ----

static void jobs_are_cut_by_time(void **state) {
  (void)state;
  const double seconds[] = {1, 2, 1, 9, 1, 1, 3, 1, 1};
  const bool joined[] = {false, false, false, false, false, false, true, true, false};
  dq_job jobs[9];
  assert_int_equal(dq_cut_jobs(jobs, seconds, joined, 9, 4), 5);
  const int ends[] = {3, 4, 5, 8, 9};
  const double times[] = {4, 9, 1, 5, 1};
  for (int i = 0; i < 5; i++) {
    assert_int_equal(jobs[i].from, i ? ends[i - 1] : 0);
    assert_int_equal(jobs[i].end, ends[i]);
    assert_true(jobs[i].seconds == times[i]);
  }
  assert_int_equal(dq_cut_jobs(jobs, seconds, joined, 9, 100), 1);
  assert_int_equal(dq_cut_jobs(jobs, seconds, joined, 9, 1e-9), 7);
}

// ---- Figures ----

// Two networks that take 10 ms alone: one takes 20 in the mix, the other, of two senders, 40. Slowdowns 2, 4, 4: their
// mean is 10/3. Speeds 1/2, 1/4, 1/4: their sum is 1, that of their squares 3/8, and 1 / (3 * 3/8) = 8/9.
static void figures_by_hand(void **state) {
  (void)state;
  const dq_share shares[] = {{0.010, 0.020, 1}, {0.010, 0.040, 2}};
  dq_fairness fairness = dq_fairness_of(shares, 2);
  assert_true(fabs(fairness.turnaround - 10.0 / 3) < 1e-12);
  assert_true(fabs(fairness.throughput - 1) < 1e-12);
  assert_true(fabs(fairness.jain - 8.0 / 9) < 1e-12);
  fairness = dq_fairness_of(&(dq_share){0.5, 1, 4}, 1); // all alike
  assert_true(fabs(fairness.jain - 1) < 1e-12);
  assert_true(fabs(fairness.throughput - 2) < 1e-12);
}

// ---- Requests ----

enum { NETWORKS = 3, REQUESTS = 4, ROUNDS = 6, SIDE = 12, CHANNELS = 8 };

typedef struct mix {
  dq_context context;
  dq_graph *graphs[NETWORKS];
  dq_session sessions[NETWORKS];
  dq_multi *multi;
  dq_arena *arena;
  float *pictures[REQUESTS];
  dq_tensor *expected[NETWORKS][REQUESTS]; // alone
} mix;

// A few convolutions; of network 1 the names are those of a decomposed layer.
static dq_graph *make_graph(int number) {
  static const char *const names[] = {"c/tucker_in", "c/tucker_core", "c/tucker_out"};
  dq_graph *graph = new_graph();
  dq_value *value = shaped(graph, "x", 4, (int64_t[]){1, CHANNELS, SIDE, SIDE}), *input = value;
  for (int i = 0; i < 3 + 2 * number; i++) {
    char name[24];
    float weights[CHANNELS * CHANNELS];
    dq_random random = {(uint64_t)(100 * number + i)};
    for (int w = 0; w < CHANNELS * CHANNELS; w++) weights[w] = dq_random_normal(&random) / 3;
    snprintf(name, sizeof name, "w%d", i);
    dq_value *weight = constant(graph, name, 4, (int64_t[]){CHANNELS, CHANNELS, 1, 1}, weights);
    snprintf(name, sizeof name, "c%d", i);
    dq_node *node = add(graph, "Conv", 2, (dq_value *[]){value, weight}, number == 1 && i < 3 ? names[i] : name);
    snprintf(name, sizeof name, "s%d", i);
    value = number != 1 || i > 2 ? add(graph, "Sigmoid", 1, node->outputs, name)->outputs[0] : node->outputs[0];
  }
  interface(graph, input, value);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  return graph;
}

static void open_mix(mix *m, const char *policy, int workers, double job_time) {
  *m = (mix){.arena = dq_arena_new(0)};
  assert_int_equal(dq_context_init(&m->context, 1, ~0u, NULL), DQ_OK);
  dq_multi_options options = {workers, dq_job_policy_at(dq_job_policy_find(policy)), job_time, NULL, NULL};
  assert_int_equal(dq_multi_open(&m->multi, &options, &m->context, NULL), DQ_OK);
  for (int r = 0; r < REQUESTS; r++) {
    m->pictures[r] = dq_arena_alloc(m->arena, CHANNELS * SIDE * SIDE * sizeof(float));
    dq_random random = {(uint64_t)r};
    for (int i = 0; i < CHANNELS * SIDE * SIDE; i++) m->pictures[r][i] = dq_random_normal(&random);
  }
  for (int n = 0; n < NETWORKS; n++) {
    m->graphs[n] = make_graph(n);
    dq_session alone;
    assert_int_equal(dq_session_open(&alone, m->graphs[n], NULL, &m->context, NULL), DQ_OK);
    for (int r = 0; r < REQUESTS; r++) {
      memcpy(dq_plan_input(alone.plan, 0)->data, m->pictures[r], CHANNELS * SIDE * SIDE * sizeof(float));
      assert_int_equal(dq_plan_run(alone.plan, NULL), DQ_OK);
      const dq_tensor *output = dq_plan_output(alone.plan, 0);
      m->expected[n][r] = dq_arena_copy(m->arena, output, sizeof *output);
      m->expected[n][r]->data = dq_arena_copy(m->arena, output->data, dq_tensor_bytes(output));
    }
    dq_session_close(&alone);
    const dq_session_options lent = {.lent = true};
    assert_int_equal(dq_session_open(&m->sessions[n], m->graphs[n], &lent, dq_multi_context(m->multi), NULL), DQ_OK);
    assert_int_equal(dq_multi_add(m->multi, &m->sessions[n], NULL), DQ_OK);
  }
}

static void close_mix(mix *m) {
  dq_multi_close(m->multi);
  for (int n = 0; n < NETWORKS; n++) {
    dq_session_close(&m->sessions[n]);
    dq_graph_free(m->graphs[n]);
  }
  dq_arena_free(m->arena);
  dq_context_deinit(&m->context);
}

static dq_multi_request *open_request(mix *m, int network, int picture) {
  dq_multi_request *request;
  assert_int_equal(dq_multi_request_open(&request, m->multi, network, NULL), DQ_OK);
  request->inputs[0] = m->pictures[picture];
  return request;
}

static void run_mix(const char *policy, int workers, double job_time) {
  mix m;
  open_mix(&m, policy, workers, job_time);
  dq_multi_request *requests[NETWORKS][REQUESTS];
  for (int n = 0; n < NETWORKS; n++)
    for (int r = 0; r < REQUESTS; r++) {
      requests[n][r] = open_request(&m, n, r);
      requests[n][r]->priority = r;
    }
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < NETWORKS * REQUESTS; i++) {
      dq_multi_request *request = requests[i % NETWORKS][i / NETWORKS];
      request->deadline = dq_nanoseconds() + 1000 * ((i * 7) % 12);
      assert_int_equal(dq_multi_submit(request, NULL), DQ_OK);
    }
    for (int n = 0; n < NETWORKS; n++)
      for (int r = 0; r < REQUESTS; r++) {
        dq_multi_request *request = requests[n][r];
        assert_true(dq_multi_wait(request, -1));
        assert_int_equal(request->status, DQ_OK);
        same_bits(&request->outputs[0], m.expected[n][r]);
        assert_true(request->running > 0 && request->running <= request->finish - request->submitted);
      }
  }
  assert_false(dq_multi_cancel(requests[0][0]));
  for (int i = 0; i < NETWORKS * REQUESTS; i++) dq_multi_request_close(requests[i % NETWORKS][i / NETWORKS]);
  close_mix(&m);
}

static void same_bytes_as_alone(void **state) {
  (void)state;
  for (int p = 0; dq_job_policy_at(p); p++)
    for (int workers = 1; workers <= 3; workers++) {
      run_mix(dq_job_policy_at(p)->name, workers, 1e-9);
      run_mix(dq_job_policy_at(p)->name, workers, 1e-3);
    }
}

// The three convolutions of a decomposed one are one job, however short jobs are to be.
static void decomposed_layers_stay_together(void **state) {
  (void)state;
  mix m;
  int counts[NETWORKS];
  open_mix(&m, "fifo", 1, 1e-9);
  for (int n = 0; n < NETWORKS; n++) {
    dq_multi_jobs(m.multi, n, &counts[n]);
    int steps = dq_plan_step_count(m.sessions[n].plan);
    assert_int_equal(counts[n], n == 1 ? steps - 2 : steps);
  }
  close_mix(&m);
}

typedef struct gate { // holds a worker inside of a request
  pthread_mutex_t lock;
  pthread_cond_t opened;
  bool entered, open;
} gate;

static void stand_at_gate(void *user, int worker, const dq_multi_request *request, int job, int64_t begin,
                          int64_t end) {
  (void)worker, (void)request, (void)job, (void)begin, (void)end;
  gate *g = user;
  pthread_mutex_lock(&g->lock);
  g->entered = true;
  pthread_cond_broadcast(&g->opened);
  while (!g->open) pthread_cond_wait(&g->opened, &g->lock);
  pthread_mutex_unlock(&g->lock);
}

// While the worker is held in the first job of one request, others are cancelled: those that wait at once, the one that
// has begun after its job. None of it changes what the last one gives.
static void cancelled_requests_end_alone(void **state) {
  (void)state;
  mix m;
  gate g = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};
  open_mix(&m, "fifo", 1, 1e-9);
  dq_multi_options options = {1, dq_job_policy_at(0), 1e-9, stand_at_gate, &g};
  dq_multi *multi;
  assert_int_equal(dq_multi_open(&multi, &options, &m.context, NULL), DQ_OK);
  dq_multi *unused = m.multi;
  m.multi = multi;
  assert_int_equal(dq_multi_add(multi, &m.sessions[2], NULL), DQ_OK);
  dq_multi_request *begun = open_request(&m, 0, 0), *waiting = open_request(&m, 0, 1), *last = open_request(&m, 0, 2);
  assert_true(dq_multi_wait(last, 0)); // was never submitted
  assert_int_equal(dq_multi_submit(begun, NULL), DQ_OK);
  assert_int_equal(dq_multi_submit(begun, NULL), DQ_USAGE);
  assert_int_equal(dq_multi_add(multi, &m.sessions[1], NULL), DQ_USAGE);
  pthread_mutex_lock(&g.lock);
  while (!g.entered) pthread_cond_wait(&g.opened, &g.lock);
  pthread_mutex_unlock(&g.lock);
  assert_int_equal(dq_multi_submit(waiting, NULL), DQ_OK);
  assert_int_equal(dq_multi_submit(last, NULL), DQ_OK);
  assert_false(dq_multi_withdraw(begun));
  assert_true(dq_multi_withdraw(waiting));
  assert_true(dq_multi_wait(waiting, 0));
  assert_int_equal(waiting->status, DQ_CANCELLED);
  assert_true(dq_multi_cancel(begun));
  assert_false(dq_multi_wait(begun, 0.001));
  pthread_mutex_lock(&g.lock);
  g.open = true;
  pthread_cond_broadcast(&g.opened);
  pthread_mutex_unlock(&g.lock);
  assert_true(dq_multi_wait(begun, -1));
  assert_int_equal(begun->status, DQ_CANCELLED);
  assert_true(dq_multi_wait(last, -1));
  assert_int_equal(last->status, DQ_OK);
  same_bits(&last->outputs[0], m.expected[2][2]);
  assert_int_equal(dq_multi_submit(begun, NULL), DQ_OK); // again
  assert_true(dq_multi_wait(begun, -1));
  same_bits(&begun->outputs[0], m.expected[2][0]);
  last->inputs[0] = NULL;
  assert_int_equal(dq_multi_submit(last, NULL), DQ_USAGE);
  dq_multi_request_close(begun);
  dq_multi_request_close(waiting);
  dq_multi_request_close(last);
  dq_multi_close(multi);
  m.multi = unused;
  close_mix(&m);
}

// Gather: an index outside of the table fails in its request alone. NonZero: an output whose shape depends on elements.
static void failing_requests_end_alone(void **state) {
  (void)state;
  dq_graph *graph = new_graph();
  dq_value *x = shaped(graph, "x", 1, (int64_t[]){3}),
           *table = constant(graph, "t", 1, (int64_t[]){4}, (float[]){0, 7, 0, 9});
  x->type = DQ_I64;
  dq_value *y = add(graph, "Gather", 2, (dq_value *[]){table, x}, "y")->outputs[0];
  interface(graph, x, add(graph, "NonZero", 1, &y, "z")->outputs[0]);
  assert_int_equal(dq_graph_index(graph, true, NULL), DQ_OK);
  dq_multi *multi;
  dq_multi_options options = {2, dq_job_policy_at(0), 1e-9, NULL, NULL};
  assert_int_equal(dq_multi_open(&multi, &options, &context, NULL), DQ_OK);
  dq_session session;
  const dq_session_options lent = {.lent = true};
  assert_int_equal(dq_session_open(&session, graph, &lent, dq_multi_context(multi), NULL), DQ_OK);
  assert_int_equal(dq_multi_add(multi, &session, NULL), DQ_OK);
  static const int64_t indices[][3] = {{1, 2, 3}, {0, 9, 0}, {1, 1, 3}, {0, 0, 2}};
  static const int64_t found[] = {2, -1, 3, 0};
  dq_multi_request *requests[4];
  for (int i = 0; i < 4; i++) {
    assert_int_equal(dq_multi_request_open(&requests[i], multi, 0, NULL), DQ_OK);
    requests[i]->inputs[0] = indices[i];
  }
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 4; i++) assert_int_equal(dq_multi_submit(requests[i], NULL), DQ_OK);
    for (int i = 0; i < 4; i++) {
      assert_true(dq_multi_wait(requests[i], -1));
      assert_int_equal(requests[i]->status, found[i] < 0 ? DQ_BAD_INPUT : DQ_OK);
      if (found[i] < 0) assert_non_null(strstr(requests[i]->error.message, "y"));
      else assert_int_equal(requests[i]->outputs[0].dims[1], found[i]);
    }
  }
  for (int i = 0; i < 4; i++) dq_multi_request_close(requests[i]);
  dq_multi_close(multi);
  dq_session_close(&session);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(edf_misses_no_deadline_where_fifo_does),
      cmocka_unit_test(priority_waits_for_one_job),
      cmocka_unit_test(fifo_is_fair),
      cmocka_unit_test(networks_take_turns),
      cmocka_unit_test(removed_tasks_give_their_frames_back),
      cmocka_unit_test(policies_are_rows),
      cmocka_unit_test(jobs_are_cut_by_time),
      cmocka_unit_test(figures_by_hand),
      cmocka_unit_test(same_bytes_as_alone),
      cmocka_unit_test(decomposed_layers_stay_together),
      cmocka_unit_test(cancelled_requests_end_alone),
      cmocka_unit_test(failing_requests_end_alone),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
