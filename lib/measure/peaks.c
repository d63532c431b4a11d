#include "lib/measure/peaks.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/kernels/gemm/gemm_api.h"

enum { ROWS = 168, SIDE = 256, LEAST_PASSES = 3, STREAM = 64 << 20 };

// One product per thread, on one thread each, so that none waits for another.
typedef struct job {
  const dq_context *context;
  dq_gemm_parameters float32;
  dq_gemm_int8_parameters int8;
  bool integer;
  size_t a_bytes, packed_bytes, scratch_bytes, thread_bytes;
  char *rooms;
  char *stream;
  int threads;
  uint64_t sums[64]; // of what was read, so that reading is not left out
} job;

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static void multiply(void *argument, int64_t index, int thread) {
  job *j = argument;
  char *a = j->rooms + (size_t)thread * j->thread_bytes, *packed = a + j->a_bytes;
  char *scratch = packed + j->packed_bytes, *out = scratch + j->scratch_bytes;
  (void)index;
  if (j->integer) dq_gemm_int8(&j->int8, j->context->cpu, a, NULL, packed, out, NULL, scratch, NULL);
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

static dq_status peak(job *j, bool integer, double *result, dq_error *error) {
  unsigned cpu = j->context->cpu;
  j->integer = integer;
  j->a_bytes = round_up(ROWS * SIDE * sizeof(float));
  j->packed_bytes =
      round_up(integer ? dq_gemm_int8_packed_bytes(&j->int8, cpu) : dq_gemm_f32_packed_bytes(&j->float32, cpu));
  j->scratch_bytes =
      round_up(integer ? dq_gemm_int8_scratch_bytes(&j->int8, cpu, 1) : dq_gemm_f32_scratch_bytes(&j->float32, cpu, 1));
  j->thread_bytes = j->a_bytes + j->packed_bytes + j->scratch_bytes + j->a_bytes;
  size_t bytes = (size_t)j->threads * j->thread_bytes;
  if (!(j->rooms = aligned_alloc(64, bytes))) return dq_fail_memory(error, bytes);
  memset(j->rooms, 0, bytes);
  double macs = (double)ROWS * SIDE * SIDE * j->threads;
  *result = macs / least_time(j, 0.06, multiply);
  free(j->rooms);
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
  DQ_TRY(peak(&j, false, &peaks->float32, error));
  DQ_TRY(peak(&j, true, &peaks->int8, error));
  if (!(j.stream = malloc(STREAM))) return dq_fail_memory(error, STREAM);
  memset(j.stream, 1, STREAM);
  peaks->bandwidth = (double)(STREAM / j.threads) * j.threads / least_time(&j, 0.04, read_stream);
  free(j.stream);
  return DQ_OK;
}
