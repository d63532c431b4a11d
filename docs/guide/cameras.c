// A camera loop with two networks in one process: each picture goes to the first network, which is urgent, and every
// third one also to the second, which works in the background. A picture that comes while the network is still at the
// one before is dropped and counted.
//   cc cameras.c -o cameras $(pkg-config --cflags --libs dq)
//   ./cameras urgent.onnx background.onnx 30
#include <dq.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>

enum { NETWORKS = 2, EVERY = 3, PERIOD = 33 }; // milliseconds between two pictures

typedef struct camera {
  dq_model *models[NETWORKS];
  dq_queue *queue;
  dq_request *requests[NETWORKS];
  int sent[NETWORKS], dropped[NETWORKS], answered[NETWORKS];
} camera;

static dq_code open_network(camera *c, int n, dq_engine *engine, const char *path, dq_failure *failure) {
  int number;
  dq_code code = dq_model_load(&c->models[n], engine, path, failure);
  if (code == DQ_CODE_OK) code = dq_queue_add(c->queue, c->models[n], NULL, &number, failure);
  if (code == DQ_CODE_OK) code = dq_request_open(&c->requests[n], c->queue, number, failure);
  return code;
}

static dq_code open_camera(camera *c, dq_engine *engine, char **paths, dq_failure *failure) {
  dq_queue_options options;
  dq_queue_defaults(&options, sizeof options);
  options.policy = "priority";
  dq_code code = dq_queue_open(&c->queue, engine, &options, failure);
  for (int n = 0; n < NETWORKS && code == DQ_CODE_OK; n++) code = open_network(c, n, engine, paths[n], failure);
  return code;
}

static void close_camera(camera *c) {
  for (int n = 0; n < NETWORKS; n++) dq_request_close(c->requests[n]);
  dq_queue_close(c->queue);
  for (int n = 0; n < NETWORKS; n++) dq_model_free(c->models[n]);
}

// A program with a real camera copies its picture here.
static void take_picture(const dq_array *input, int picture) {
  float *pixels = (float *)input->data;
  if (input->type != 1) return; // 1: float32
  for (uint64_t i = 0; i < input->bytes / sizeof *pixels; i++)
    pixels[i] = (float)((i + 5 * (uint64_t)picture) % 16) / 8 - 1;
}

// The answer to the picture before; a program does something with dq_request_output here.
static dq_code collect(camera *c, int n, dq_failure *failure) {
  if (c->sent[n] == c->answered[n]) return DQ_CODE_OK; // nothing is on its way
  dq_code code = dq_request_result(c->requests[n], NULL, failure);
  c->answered[n] += code == DQ_CODE_OK;
  return code;
}

static dq_code send(camera *c, int n, int picture, dq_failure *failure) {
  dq_array input;
  dq_request_options options;
  dq_request_defaults(&options, sizeof options);
  options.priority = n == 0 ? 1 : 0;
  if (!dq_request_wait(c->requests[n], 0)) {
    c->dropped[n]++;
    return DQ_CODE_OK;
  }
  dq_code code = collect(c, n, failure);
  for (int i = 0; dq_request_input(c->requests[n], i, &input); i++) take_picture(&input, picture);
  if (code == DQ_CODE_OK) code = dq_request_submit(c->requests[n], &options, failure);
  c->sent[n] += code == DQ_CODE_OK;
  return code;
}

static dq_code watch(camera *c, int pictures, dq_failure *failure) {
  dq_code code = DQ_CODE_OK;
  for (int picture = 0; picture < pictures && code == DQ_CODE_OK; picture++) {
    code = send(c, 0, picture, failure);
    if (code == DQ_CODE_OK && picture % EVERY == 0) code = send(c, 1, picture, failure);
    thrd_sleep(&(struct timespec){.tv_nsec = PERIOD * 1000000L}, NULL);
  }
  for (int n = 0; n < NETWORKS && code == DQ_CODE_OK; n++) {
    dq_request_wait(c->requests[n], -1);
    code = collect(c, n, failure);
    printf("network %d: %d pictures, %d dropped, %d answers\n", n, c->sent[n] + c->dropped[n], c->dropped[n],
           c->answered[n]);
  }
  return code;
}

int main(int argc, char **argv) {
  dq_failure failure = {DQ_CODE_OK, "", ""};
  if (argc != 4) {
    fprintf(stderr, "usage: cameras URGENT BACKGROUND PICTURES\n");
    return DQ_CODE_USAGE;
  }
  dq_engine *engine;
  camera c = {.queue = NULL};
  dq_code code = dq_engine_open(&engine, NULL, &failure);
  if (code == DQ_CODE_OK) code = open_camera(&c, engine, argv + 1, &failure);
  if (code == DQ_CODE_OK) code = watch(&c, atoi(argv[3]), &failure);
  if (code != DQ_CODE_OK) fprintf(stderr, "%s\n", failure.message);
  close_camera(&c);
  dq_engine_close(engine);
  return code;
}
