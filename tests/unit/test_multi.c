// Several networks at once: how networks are cut into jobs, and requests that give the bytes of the network alone,
// whatever the policy, the workers and the jobs.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/multi/fairness.h"
#include "lib/multi/multi.h"
#include "tests/unit/plan_harness.h"

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

static void open_mix(mix *m, const char *policy, int workers, double job_time, dq_job_threads threads) {
  *m = (mix){.arena = dq_arena_new(0)};
  assert_int_equal(dq_context_init(&m->context, 1, ~0u, NULL), DQ_OK);
  dq_multi_options options = {workers, dq_job_policy_at(dq_job_policy_find(policy)), job_time, 0.004, NULL, NULL, 1};
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
    assert_int_equal(dq_session_open(&m->sessions[n], m->graphs[n], &lent,
                                     dq_multi_context(m->multi, threads != DQ_THREADS_ONE), NULL),
                     DQ_OK);
    assert_int_equal(dq_multi_add(m->multi, &m->sessions[n], threads, NULL), DQ_OK);
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

static void run_mix(const char *policy, int workers, double job_time, dq_job_threads threads) {
  mix m;
  open_mix(&m, policy, workers, job_time, threads);
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
    for (int workers = 1; workers <= 3; workers++)
      for (int threads = DQ_THREADS_ONE; threads <= DQ_THREADS_AUTO; threads++) {
        run_mix(dq_job_policy_at(p)->name, workers, 1e-9, (dq_job_threads)threads);
        run_mix(dq_job_policy_at(p)->name, workers, 1e-3, (dq_job_threads)threads);
      }
}

// A request that is alone is helped by the worker that has nothing to do, a network for one thread is not.
static void workers_without_a_job_help(void **state) {
  (void)state;
  for (int all_threads = 0; all_threads < 2; all_threads++) {
    mix m;
    int64_t helping = 0;
    const dq_thread_choice *choice;
    open_mix(&m, "fifo", 2, 1, all_threads ? DQ_THREADS_ALL : DQ_THREADS_ONE);
    assert_int_equal(dq_multi_threads(m.multi, 2, &choice), 1 + all_threads);
    assert_null(choice);
    dq_multi_request *request = open_request(&m, 2, 1);
    for (int i = 0; all_threads ? !helping : i < 100; i++) {
      assert_true(i < 100000); // a busy machine may let the other worker wait
      assert_int_equal(dq_multi_submit(request, NULL), DQ_OK);
      assert_true(dq_multi_wait(request, -1));
      same_bits(&request->outputs[0], m.expected[2][1]);
      helping += request->helping;
      assert_true(request->helping <= request->running);
    }
    assert_int_equal(helping > 0, all_threads);
    dq_multi_request_close(request);
    close_mix(&m);
  }
}

// Requests one after the other are measured in one thread and in all, by turns, and give the same bytes.
static void both_ways_are_measured(void **state) {
  (void)state;
  mix m;
  const dq_thread_choice *choice;
  open_mix(&m, "fifo", 2, 1, DQ_THREADS_AUTO);
  dq_multi_request *request = open_request(&m, 2, 1);
  assert_int_equal(dq_multi_threads(m.multi, 2, &choice), 1); // the safe way at first
  for (int i = 0; choice->stretch < 6; i++) {
    assert_true(i < 10000000);
    assert_int_equal(dq_multi_submit(request, NULL), DQ_OK);
    assert_true(dq_multi_wait(request, -1));
    same_bits(&request->outputs[0], m.expected[2][1]);
    if (!request->helped) assert_int_equal(request->helping, 0);
    dq_multi_threads(m.multi, 2, &choice);
  }
  assert_true(choice->ways[0].count > 0 && choice->ways[1].count > 0);
  assert_true(choice->ways[0].sum >= 3 * 4000000 && choice->ways[1].sum >= 3 * 4000000);
  dq_multi_request_close(request);
  close_mix(&m);
}

// The three convolutions of a decomposed one are one job, however short jobs are to be.
static void decomposed_layers_stay_together(void **state) {
  (void)state;
  mix m;
  int counts[NETWORKS];
  open_mix(&m, "fifo", 1, 1e-9, DQ_THREADS_ONE);
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
  open_mix(&m, "fifo", 1, 1e-9, DQ_THREADS_ONE);
  dq_multi_options options = {1, dq_job_policy_at(0), 1e-9, 0, stand_at_gate, &g, 1};
  dq_multi *multi;
  assert_int_equal(dq_multi_open(&multi, &options, &m.context, NULL), DQ_OK);
  dq_multi *unused = m.multi;
  m.multi = multi;
  assert_int_equal(dq_multi_add(multi, &m.sessions[2], DQ_THREADS_ONE, NULL), DQ_OK);
  dq_multi_request *begun = open_request(&m, 0, 0), *waiting = open_request(&m, 0, 1), *last = open_request(&m, 0, 2);
  assert_true(dq_multi_wait(last, 0)); // was never submitted
  assert_int_equal(dq_multi_submit(begun, NULL), DQ_OK);
  assert_int_equal(dq_multi_submit(begun, NULL), DQ_USAGE);
  assert_int_equal(dq_multi_add(multi, &m.sessions[1], DQ_THREADS_ONE, NULL), DQ_USAGE);
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
  dq_multi_options options = {2, dq_job_policy_at(0), 1e-9, 0, NULL, NULL, 1};
  assert_int_equal(dq_multi_open(&multi, &options, &context, NULL), DQ_OK);
  dq_session session;
  const dq_session_options lent = {.lent = true};
  assert_int_equal(dq_session_open(&session, graph, &lent, dq_multi_context(multi, false), NULL), DQ_OK);
  assert_int_equal(dq_multi_add(multi, &session, DQ_THREADS_ONE, NULL), DQ_OK);
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
      cmocka_unit_test(jobs_are_cut_by_time),         cmocka_unit_test(figures_by_hand),
      cmocka_unit_test(same_bytes_as_alone),          cmocka_unit_test(workers_without_a_job_help),
      cmocka_unit_test(both_ways_are_measured),       cmocka_unit_test(decomposed_layers_stay_together),
      cmocka_unit_test(cancelled_requests_end_alone), cmocka_unit_test(failing_requests_end_alone),
  };
  return cmocka_run_group_tests(tests, context_start, context_end);
}
