// Several networks at once through the public interface: several threads with requests, cancelling, failures, options.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/api_harness.h"

enum { THREADS = 3, ROUNDS = 30 };

static void fill(const dq_array *input, int seed) {
  float *values = input->data;
  for (uint64_t i = 0; i < input->bytes / sizeof *values; i++)
    values[i] = (float)((i * 7 + (uint64_t)seed * 13) % 32) / 16 - 1;
}

// What dq_network_run gives.
static float *expected_of(dq_model *model, int seed, uint64_t *bytes) {
  dq_network *network;
  dq_array array;
  assert_int_equal(dq_network_open(&network, model, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_input(network, 0, &array), 1);
  fill(&array, seed);
  assert_int_equal(dq_network_run(network, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_network_output(network, 0, &array), 1);
  float *copy = malloc(array.bytes);
  memcpy(copy, array.data, *bytes = array.bytes);
  dq_network_close(network);
  return copy;
}

static dq_queue *open_queue_for(const char *threads, const char *policy, int workers, double job_time) {
  dq_queue *queue;
  dq_queue_options options;
  dq_queue_defaults(&options, sizeof options);
  options.policy = policy, options.workers = workers, options.job_time = job_time, options.threads = threads;
  assert_int_equal(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_OK);
  return queue;
}

static dq_queue *open_queue(const char *policy, int workers, double job_time) {
  return open_queue_for(NULL, policy, workers, job_time);
}

typedef struct client {
  dq_queue *queue;
  float *expected;
  int network, seed, wrong;
} client;

static void *run_client(void *argument) {
  client *self = argument;
  dq_request *request;
  dq_array array;
  dq_request_options options;
  dq_request_defaults(&options, sizeof options);
  options.priority = self->seed;
  options.deadline = 0.1 * (1 + self->seed);
  if (dq_request_open(&request, self->queue, self->network, NULL) != DQ_CODE_OK) return NULL;
  dq_request_input(request, 0, &array);
  fill(&array, self->seed);
  for (int round = 0; round < ROUNDS; round++) {
    dq_request_facts facts = {.size = sizeof facts};
    self->wrong += dq_request_submit(request, &options, NULL) != DQ_CODE_OK || !dq_request_wait(request, -1);
    self->wrong += dq_request_result(request, &facts, NULL) != DQ_CODE_OK || !(facts.seconds >= facts.running);
    dq_request_output(request, 0, &array);
    self->wrong += memcmp(array.data, self->expected, array.bytes) != 0;
  }
  dq_request_close(request);
  return NULL;
}

static void threads_get_what_networks_give(void **state) {
  (void)state;
  static const char *const policies[] = {"fifo", "round-robin", "priority", "edf", NULL};
  dq_model *models[2] = {api_load(), api_load()};
  float *expected[THREADS];
  uint64_t bytes;
  for (int t = 0; t < THREADS; t++) expected[t] = expected_of(models[0], t, &bytes);
  assert_int_equal(dq_model_amp(models[1], NULL, NULL, &api_failure), DQ_CODE_OK);
  float *half = expected_of(models[1], 0, &bytes);
  assert_memory_not_equal(half, expected[0], bytes);
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    static const char *const threads_of[] = {"one", "all", "auto"};
    dq_queue *queue = open_queue_for(threads_of[(p + 2) % 3], policies[p], (int)p % 3, p % 2 ? 1e-6 : 1);
    int numbers[2];
    for (int m = 0; m < 2; m++) {
      assert_int_equal(dq_queue_add(queue, models[m], NULL, &numbers[m], &api_failure), DQ_CODE_OK);
      assert_int_equal(numbers[m], m);
    }
    api_expect(dq_model_amp(models[0], NULL, NULL, &api_failure), DQ_CODE_USAGE, "");
    client clients[THREADS + 1];
    pthread_t threads[THREADS + 1];
    for (int t = 0; t <= THREADS; t++) {
      clients[t] = t < THREADS ? (client){queue, expected[t], 0, t, 0} : (client){queue, half, 1, 0, 0};
      assert_int_equal(pthread_create(&threads[t], NULL, run_client, &clients[t]), 0);
    }
    for (int t = 0; t <= THREADS; t++) {
      pthread_join(threads[t], NULL);
      assert_int_equal(clients[t].wrong, 0);
    }
    dq_queue_close(queue);
  }
  for (int t = 0; t < THREADS; t++) free(expected[t]);
  free(half);
  for (int m = 0; m < 2; m++) dq_model_free(models[m]);
}

static void requests_are_cancelled(void **state) {
  (void)state;
  enum { COUNT = 200 };
  dq_model *model = api_load();
  dq_queue *queue = open_queue("fifo", 1, 1e-6);
  int network, cancelled = 0;
  dq_request *requests[COUNT];
  assert_int_equal(dq_queue_add(queue, model, NULL, &network, &api_failure), DQ_CODE_OK);
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(dq_request_open(&requests[i], queue, network, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_wait(requests[0], 0), 1);
  assert_int_equal(dq_request_cancel(requests[0]), 0);
  api_expect(dq_request_result(requests[0], NULL, &api_failure), DQ_CODE_USAGE, "never submitted");
  for (int i = 0; i < COUNT; i++) assert_int_equal(dq_request_submit(requests[i], NULL, NULL), DQ_CODE_OK);
  for (int i = COUNT - 1; i >= 0; i -= 2) cancelled += dq_request_cancel(requests[i]);
  assert_true(cancelled > 0);
  for (int i = 0; i < COUNT; i++) {
    assert_int_equal(dq_request_wait(requests[i], 60), 1);
    dq_code code = dq_request_result(requests[i], NULL, &api_failure);
    if (code == DQ_CODE_CANCELLED) cancelled--;
    else assert_int_equal(code, DQ_CODE_OK);
  }
  assert_true(cancelled >= 0); // a request whose last job ran has ended by itself
  for (int i = 0; i < COUNT; i++) assert_int_equal(dq_request_submit(requests[i], NULL, NULL), DQ_CODE_OK);
  for (int i = 0; i < COUNT; i++) dq_request_close(requests[i]); // on their way
  dq_request *stopped;
  assert_int_equal(dq_request_open(&stopped, queue, network, &api_failure), DQ_CODE_OK);
  dq_engine_stop(api_engine, 1);
  assert_int_equal(dq_request_submit(stopped, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_wait(stopped, 60), 1);
  assert_int_equal(dq_request_result(stopped, NULL, &api_failure), DQ_CODE_CANCELLED);
  dq_engine_stop(api_engine, 0);
  assert_int_equal(dq_request_submit(stopped, NULL, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_wait(stopped, 60), 1);
  assert_int_equal(dq_request_result(stopped, NULL, &api_failure), DQ_CODE_OK);
  dq_request_close(stopped);
  dq_queue_close(queue);
  dq_model_free(model);
}

static void what_is_refused(void **state) {
  (void)state;
  dq_queue *queue = (dq_queue *)1;
  dq_queue_options options;
  dq_queue_defaults(&options, sizeof options);
  options.policy = "lifo";
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "lifo");
  assert_null(queue);
  options.policy = NULL, options.job_time = 0;
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "job_time");
  options.job_time = 1, options.threads = "two";
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "threads is 'two'");
  options.threads = NULL, options.priorities = 0;
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "priorities is 0");
  options.priorities = 2, options.slice = -1;
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "slice is -1");
  options.slice = 0, options.workers = -1;
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "workers");
  options.size = 0;
  api_expect(dq_queue_open(&queue, api_engine, &options, &api_failure), DQ_CODE_USAGE, "size");
  dq_model *model = api_load();
  queue = open_queue("edf", 1, 1);
  int network = 7;
  const char *const shapes[] = {"x=1,4,8,8", NULL};
  dq_network_options wrong;
  dq_network_defaults(&wrong, sizeof wrong);
  wrong.shapes = shapes;
  api_expect(dq_queue_add(queue, model, &wrong, &network, &api_failure), DQ_CODE_BAD_INPUT, "given is 4");
  assert_int_equal(network, 7);
  dq_request *request = (dq_request *)1;
  api_expect(dq_request_open(&request, queue, 0, &api_failure), DQ_CODE_USAGE, "the queue has 0");
  assert_null(request);
  wrong.shapes = NULL, wrong.batch = 3;
  assert_int_equal(dq_queue_add(queue, model, &wrong, &network, &api_failure), DQ_CODE_OK);
  assert_int_equal(dq_request_open(&request, queue, network, &api_failure), DQ_CODE_OK);
  dq_array array;
  assert_int_equal(dq_request_input(request, 0, &array), 1);
  assert_int_equal(array.dims[0], 3);
  for (uint64_t i = 0; i < array.bytes; i++) assert_int_equal(((const char *)array.data)[i], 0);
  assert_int_equal(dq_request_input(request, 1, &array), 0);
  assert_int_equal(dq_request_output(request, 1, &array), 0);
  dq_request_options late;
  dq_request_defaults(&late, sizeof late);
  late.deadline = -1;
  api_expect(dq_request_submit(request, &late, &api_failure), DQ_CODE_USAGE, "deadline");
  dq_request_close(request);
  dq_request_close(NULL);
  dq_queue_close(queue);
  dq_queue_close(NULL);
  assert_int_equal(dq_model_amp(model, NULL, NULL, &api_failure), DQ_CODE_OK); // no network is open any more
  dq_model_free(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(threads_get_what_networks_give),
      cmocka_unit_test(requests_are_cancelled),
      cmocka_unit_test(what_is_refused),
  };
  return cmocka_run_group_tests(tests, api_enter, api_leave);
}
