// Microseconds of one run of a network by libdq on one thread, from and to memory of the program: the least mean of
// nine times 1000 runs. ./calls MODEL
#include <dq.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int fail(const dq_failure *failure) {
  fprintf(stderr, "%s\n", failure->message);
  return 1;
}

int main(int count, char **arguments) {
  enum { TIMES = 9, RUNS = 1000 };
  dq_failure failure;
  dq_engine *engine;
  dq_model *model;
  dq_network *network;
  dq_array x, y;
  dq_engine_options threads;
  dq_network_options options;
  dq_engine_defaults(&threads, sizeof threads);
  dq_network_defaults(&options, sizeof options);
  threads.threads = 1, options.fast = 1;
  if (count != 2 || dq_engine_open(&engine, &threads, &failure) ||
      dq_model_load(&model, engine, arguments[1], &failure) || dq_network_open(&network, model, &options, &failure))
    return fail(&failure);
  if (!dq_network_input(network, 0, &x) || !dq_network_output(network, 0, &y)) return 1;
  void *input = calloc(1, x.bytes), *output = malloc(y.bytes);
  double least = 1e30;
  for (int t = 0; t < TIMES; t++) {
    const double start = microseconds();
    for (int r = 0; r < RUNS; r++)
      if (dq_network_run_on(network, (const void *const *)&input, &output, &failure)) return fail(&failure);
    const double mean = (microseconds() - start) / RUNS;
    if (mean < least) least = mean;
  }
  printf("%.3f\n", least);
  free(input);
  free(output);
  dq_network_close(network);
  dq_model_free(model);
  dq_engine_close(engine);
}
