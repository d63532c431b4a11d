#include "lib/verdict/noise.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/random.h"
#include "lib/schedule/infer.h"

enum { SAMPLES = 8 };

typedef struct noise_state {
  uint64_t seed;
  int inputs;
  double largest; // 0: not known
} noise_state;

// `argument` is "SEED,INPUTS,LARGEST".
static dq_status open_noise(void **state, const char *argument, int64_t *count, int *inputs, const dq_context *context,
                            dq_error *error) {
  (void)context;
  noise_state *made = calloc(1, sizeof *made);
  if (!made || sscanf(argument, "%" SCNu64 ",%d,%lf", &made->seed, &made->inputs, &made->largest) != 3) {
    free(made);
    return dq_fail_memory(error, sizeof *made);
  }
  *state = made;
  *count = SAMPLES;
  *inputs = made->inputs;
  return DQ_OK;
}

static dq_status read_noise(const void *state, int input, int64_t index, float *values, int64_t elements,
                            dq_sample_info *info, dq_error *error) {
  (void)error;
  const noise_state *made = state;
  dq_random random = dq_random_start(made->seed, (uint64_t)(index * made->inputs + input));
  float largest = made->largest > 0 ? (float)made->largest : INFINITY, deviation = fminf(1, largest / 4);
  for (int64_t i = 0; values && i < elements; i++)
    values[i] = fminf(fmaxf(deviation * dq_random_normal(&random), -largest), largest);
  if (info) *info = (dq_sample_info){.name = "noise", .kind = DQ_LABEL_NONE, .label = -1};
  return DQ_OK;
}

static void close_noise(void *state) { free(state); }

static const dq_data_source noise_source = {
    .prefix = "noise:", .open = open_noise, .read = read_noise, .close = close_noise};

dq_status dq_noise_open(dq_data **data, const dq_graph *graph, uint64_t seed, double largest, const dq_context *context,
                        dq_error *error) {
  char spec[96];
  snprintf(spec, sizeof spec, "noise:%" PRIu64 ",%d,%.17g", seed, dq_input_count(graph), largest);
  const dq_data_options options = {.spec = spec, .sources = &noise_source, .source_count = 1};
  return dq_data_open(data, &options, context, error);
}
