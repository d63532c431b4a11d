#include "lib/measure/peaks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/kernels/conv/conv.h"
#include "lib/kernels/gemm/gemm_api.h"

enum { ROWS = 168, SIDE = 256, CHANNELS = 128, PLANE = 14, KERNEL = 5, LEAST_PASSES = 3, STREAM = 64 << 20 };
enum { WEIGHTS = CHANNELS * CHANNELS * KERNEL * KERNEL };

typedef enum job_kind { FLOAT32_PRODUCT, INT8_PRODUCT, INT8_CONVOLUTION } job_kind;

// One product or convolution per thread, on one thread each, so that none waits for another.
typedef struct job {
  const dq_context *context;
  dq_gemm_parameters float32;
  dq_gemm_int8_parameters int8;
  dq_conv_plan convolution;
  job_kind kind;
  size_t a_bytes, packed_bytes, scratch_bytes, thread_bytes;
  char *rooms;
  char *stream;
  int threads;
  uint64_t sums[64]; // of what was read, so that reading is not left out
} job;

static const dq_requantization requantization = {.multipliers = (const float[]){1}, .multiplier_count = 1, .high = 255};

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static char *packed_of(const job *j, int thread) { return j->rooms + (size_t)thread * j->thread_bytes + j->a_bytes; }

static void multiply(void *argument, int64_t index, int thread) {
  job *j = argument;
  char *packed = packed_of(j, thread), *a = packed - j->a_bytes;
  char *scratch = packed + j->packed_bytes, *out = scratch + j->scratch_bytes;
  (void)index;
  if (j->kind == INT8_CONVOLUTION) dq_conv_int8_run(&j->convolution, packed, a, out, &requantization, scratch, NULL);
  else if (j->kind == INT8_PRODUCT) dq_gemm_int8(&j->int8, j->context->cpu, a, NULL, packed, out, NULL, scratch, NULL);
  else
    dq_gemm_f32(&j->float32, j->context->cpu, (const float *)(const void *)a, NULL, (const float *)(const void *)packed,
                (float *)(void *)out, scratch, NULL);
}

static void read_stream(void *argument, int64_t index, int thread) {
  job *j = argument;
  const uint64_t *words = (const uint64_t *)(const void *)(j->stream + STREAM / j->threads * index);
  int64_t count = STREAM / j->threads / 8;
  uint64_t sum[8] = {0};
  for (int64_t i = 0; i + 8 <= count; i += 8)
    for (int k = 0; k < 8; k++) sum[k] += words[i + k];
  for (int k = 0; k < 8; k++) j->sums[thread % 64] += sum[k];
}

// The least time of one call by every thread within `limit` seconds: clocks take some time to rise.
static double least_time(job *j, double limit, void (*work)(void *, int64_t, int)) {
  double least = 0, begin = dq_seconds();
  for (int pass = 0; pass < LEAST_PASSES || dq_seconds() - begin < limit; pass++) {
    double start = dq_seconds();
    dq_pool_run(j->context->pool, j->threads, work, j);
    double seconds = dq_seconds() - start;
    if (!pass || seconds < least) least = seconds;
  }
  return least;
}

static void set_sizes(job *j) {
  unsigned cpu = j->context->cpu;
  j->a_bytes = round_up(ROWS * SIDE * sizeof(float)); // of the result too; the convolution needs less
  if (j->kind == INT8_CONVOLUTION) {
    j->packed_bytes = dq_conv_packed_bytes(&j->convolution);
    j->scratch_bytes = dq_conv_scratch_bytes(&j->convolution, 1);
  } else if (j->kind == INT8_PRODUCT) {
    j->packed_bytes = dq_gemm_int8_packed_bytes(&j->int8, cpu);
    j->scratch_bytes = dq_gemm_int8_scratch_bytes(&j->int8, cpu, 1);
  } else {
    j->packed_bytes = dq_gemm_f32_packed_bytes(&j->float32, cpu);
    j->scratch_bytes = dq_gemm_f32_scratch_bytes(&j->float32, cpu, 1);
  }
  j->packed_bytes = round_up(j->packed_bytes), j->scratch_bytes = round_up(j->scratch_bytes);
  j->thread_bytes = j->a_bytes + j->packed_bytes + j->scratch_bytes + j->a_bytes;
}

// *result receives the most multiply-accumulates per second.
static dq_status peak(job *j, job_kind kind, double *result, dq_error *error) {
  j->kind = kind;
  set_sizes(j);
  size_t bytes = (size_t)j->threads * j->thread_bytes;
  if (!(j->rooms = aligned_alloc(64, bytes))) return dq_fail_memory(error, bytes);
  memset(j->rooms, 0, bytes);
  bool convolves = kind == INT8_CONVOLUTION;
  int8_t *weights = convolves ? calloc(WEIGHTS, 1) : NULL;
  for (int t = 0; weights && t < j->threads; t++) dq_conv_int8_pack(&j->convolution, weights, packed_of(j, t));
  if (!convolves || weights) {
    double macs = convolves ? (double)WEIGHTS * PLANE * PLANE : (double)ROWS * SIDE * SIDE;
    *result = macs * j->threads / least_time(j, 0.06, multiply);
  }
  free(j->rooms);
  if (convolves && !weights) return dq_fail_memory(error, WEIGHTS);
  free(weights);
  return DQ_OK;
}

dq_status dq_measure_peaks(dq_peaks *peaks, const dq_context *context, dq_error *error) {
  job j = {.context = context, .threads = dq_pool_threads(context->pool)};
  j.float32 = (dq_gemm_parameters){
      .rows = ROWS, .columns = SIDE, .depth = SIDE, .a_stride = SIDE, .b_stride = SIDE, .out_stride = SIDE, .alpha = 1};
  j.int8 = (dq_gemm_int8_parameters){.rows = ROWS,
                                     .columns = SIDE,
                                     .depth = SIDE,
                                     .a_stride = SIDE,
                                     .b_stride = SIDE,
                                     .out_stride = SIDE,
                                     .b_signed = true};
  // Kernels of convolutions may have other instructions than those of products. Winograd's filtering, whose speed would
  // count products that it leaves out, has no kernel of 5 x 5.
  const dq_conv_int8_parameters convolution = {.shape = {.batch = 1,
                                                         .groups = 1,
                                                         .in_channels = CHANNELS,
                                                         .out_channels = CHANNELS,
                                                         .in_height = PLANE,
                                                         .in_width = PLANE,
                                                         .kernel_height = KERNEL,
                                                         .kernel_width = KERNEL,
                                                         .stride_height = 1,
                                                         .stride_width = 1,
                                                         .dilation_height = 1,
                                                         .dilation_width = 1,
                                                         .pad_top = KERNEL / 2,
                                                         .pad_left = KERNEL / 2,
                                                         .pad_bottom = KERNEL / 2,
                                                         .pad_right = KERNEL / 2,
                                                         .out_height = PLANE,
                                                         .out_width = PLANE},
                                               .weight_signed = true};
  double product, convolved;
  DQ_TRY(dq_conv_int8_plan(&convolution, context->cpu, &j.convolution, error));
  DQ_TRY(peak(&j, FLOAT32_PRODUCT, &peaks->float32, error));
  DQ_TRY(peak(&j, INT8_PRODUCT, &product, error));
  DQ_TRY(peak(&j, INT8_CONVOLUTION, &convolved, error));
  peaks->int8 = fmax(product, convolved);
  if (!(j.stream = malloc(STREAM))) return dq_fail_memory(error, STREAM);
  memset(j.stream, 1, STREAM);
  peaks->bandwidth = (double)(STREAM / j.threads) * j.threads / least_time(&j, 0.04, read_stream);
  free(j.stream);
  return DQ_OK;
}
