// Buffers with guards and random material for dqcheck.
#include "tests/check/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void *must(void *pointer) {
  if (pointer && pointer != MAP_FAILED) return pointer;
  fprintf(stderr, "dqcheck: no memory\n");
  exit(5);
}

enum { PAGE = 4096, GUARD = 256, GUARD_BYTE = 0xa5, FRESH_BYTE = 0x5a };

input_buffer input_new(size_t bytes) {
  input_buffer buffer;
  size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
  buffer.map_bytes = pages + PAGE;
  buffer.map = must(mmap(NULL, buffer.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect((uint8_t *)buffer.map + pages, PAGE, PROT_NONE);
  buffer.data = (uint8_t *)buffer.map + pages - bytes;
  return buffer;
}

void input_free(input_buffer *buffer) { munmap(buffer->map, buffer->map_bytes); }

output_buffer output_new(size_t bytes, size_t shift) {
  output_buffer buffer = {.bytes = bytes};
  size_t all = (bytes + shift + 2 * GUARD + 63) / 64 * 64;
  buffer.base = must(aligned_alloc(64, all));
  buffer.data = buffer.base + GUARD + shift;
  memset(buffer.base, GUARD_BYTE, all);
  memset(buffer.data, FRESH_BYTE, bytes);
  return buffer;
}

bool output_guards_hold(const output_buffer *buffer) {
  const uint8_t *data = buffer->data;
  for (int i = 1; i <= GUARD; i++)
    if (data[-i] != GUARD_BYTE) return false;
  for (size_t i = 0; i < GUARD; i++)
    if (data[buffer->bytes + i] != GUARD_BYTE) return false;
  return true;
}

void output_free(output_buffer *buffer) { free(buffer->base); }

int64_t between(checker *c, int64_t low, int64_t high) {
  return low + (int64_t)dq_random_below(&c->random, (uint64_t)(high - low + 1));
}

int64_t pick(checker *c, const int64_t *values, int count) { return values[between(c, 0, count - 1)]; }

bool chance(checker *c, int percent) { return between(c, 1, 100) <= percent; }

int64_t tile_size(checker *c, int64_t tile, int64_t limit) {
  if (tile < 1) tile = 16;
  int64_t sizes[] = {1, tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 3, between(c, 1, limit), between(c, 1, limit)};
  int64_t size = pick(c, sizes, 8);
  return size < 1 ? 1 : size > limit ? limit : size;
}

int64_t array_size(checker *c) {
  return pick(c, (int64_t[]){0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 1000, between(c, 1, 5000)}, 16);
}

void fill_floats(checker *c, float *data, int64_t count, int mode) {
  static const float special[] = {INFINITY, -INFINITY, NAN, 0.0f, -0.0f, 1e38f, -1e38f, 1e-45f};
  for (int64_t i = 0; i < count; i++) {
    float x = dq_random_float(&c->random) * 4 - 2;
    if (mode == FLOATS_TINY && chance(c, 40)) x *= 1e-38f;
    if (mode == FLOATS_TINY && chance(c, 10)) x = copysignf(0.0f, x);
    if (mode == FLOATS_SPECIAL && chance(c, 2)) x = special[between(c, 0, 7)];
    data[i] = x;
  }
}

void fill_bytes(checker *c, uint8_t *data, int64_t count, bool extremes) {
  static const uint8_t ends[] = {0, 127, 128, 255, 1, 254};
  for (int64_t i = 0; i < count; i++)
    data[i] = extremes ? ends[dq_random_below(&c->random, 6)] : (uint8_t)dq_random_next(&c->random);
}

requantization_material requantization_new(checker *c, int64_t channels, int64_t depth) {
  requantization_material m = {0};
  m.multipliers = must(malloc((size_t)channels * sizeof(float)));
  m.bias = must(malloc((size_t)channels * sizeof(int32_t)));
  static const float odd[] = {0.5f, 1.0f, 0.0f, 1e30f, 1e-30f, -0.25f, NAN, INFINITY};
  bool strange = chance(c, 15), huge = chance(c, 10);
  for (int64_t i = 0; i < channels; i++) {
    float usual = (0.2f + dq_random_float(&c->random)) * 0.02f / sqrtf((float)depth);
    m.multipliers[i] = strange ? odd[between(c, 0, 7)] : usual;
    m.bias[i] = (int32_t)between(c, huge ? INT32_MIN : -10000, huge ? INT32_MAX : 10000);
  }
  m.form = (dq_requantization){.multipliers = m.multipliers,
                               .multiplier_count = chance(c, 50) ? 1 : channels,
                               .bias = chance(c, 70) ? m.bias : NULL,
                               .output_signed = chance(c, 50)};
  int32_t low = m.form.output_signed ? -128 : 0, high = low + 255;
  m.form.zero_point = (int32_t)between(c, low, high);
  bool whole = chance(c, 60);
  m.form.low = whole ? low : (int32_t)between(c, low, high);
  m.form.high = whole ? high : (int32_t)between(c, m.form.low, high);
  return m;
}

void requantization_free(requantization_material *m) {
  free(m->multipliers);
  free(m->bias);
}

dq_activation random_activation(checker *c) {
  dq_activation activation = {.kind = (dq_activation_kind)between(c, 0, 3), .low = -0.5f, .high = 1.5f, .alpha = 0.1f};
  return activation;
}

void finish_array(checker *c, bool good, const char *what, int64_t count) {
  c->reached++;
  report(c, good, "%s of %lld", what, (long long)count);
}

bool same_floats(const float *a, const float *b, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (memcmp(a + i, b + i, 4) && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

// In float: gcc 12 for AArch64 fails on the reduction in double.
double largest_magnitude(const float *values, int64_t count) {
  float most = 0;
  for (int64_t i = 0; i < count; i++)
    if (fabsf(values[i]) > most) most = fabsf(values[i]);
  return (double)most;
}

void report(checker *c, bool good, const char *format, ...) {
  if (good) {
    c->passed++;
    return;
  }
  c->failed++;
  printf("FAILED %s (case seed %llu): ", c->row->symbol, (unsigned long long)c->case_seed);
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
}
