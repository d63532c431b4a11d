// Mutations that know nothing about the input, and the numbers that all mutators use.
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

static const int64_t numbers[] = {0,
                                  -1,
                                  1,
                                  INT64_MIN,
                                  INT64_MAX,
                                  INT64_MAX - 1,
                                  INT64_MIN + 1,
                                  INT32_MAX,
                                  INT32_MIN,
                                  1ll << 31,
                                  1ll << 32,
                                  1ll << 62,
                                  UINT32_MAX,
                                  (1ll << 32) + 1,
                                  1ll << 40,
                                  1ll << 16,
                                  (1 << 16) - 1,
                                  255,
                                  256,
                                  127,
                                  128,
                                  -128,
                                  1ll << 20,
                                  1000000007,
                                  4611686018427387905};

int64_t fuzz_integer(dq_random *random, int64_t value) {
  switch (dq_random_below(random, 6)) {
  case 0: return numbers[dq_random_below(random, sizeof numbers / sizeof *numbers)];
  case 1: return value == INT64_MAX ? 0 : value + 1;
  case 2: return value == INT64_MIN ? 0 : value - 1;
  case 3: return (int64_t)((uint64_t)value << dq_random_below(random, 8));
  case 4: return (int64_t)(0 - (uint64_t)value);
  default: return (int64_t)dq_random_below(random, 10);
  }
}

double fuzz_real(dq_random *random) {
  static const double reals[] = {0,       -0.0,  1,       -1,      INFINITY, -INFINITY, NAN,    FLT_MAX, -FLT_MAX,
                                 FLT_MIN, 1e-45, DBL_MAX, DBL_MIN, 65504,    65520,     0x1p31, 1e300};
  uint64_t at = dq_random_below(random, 2 * sizeof reals / sizeof *reals);
  return at < sizeof reals / sizeof *reals ? reals[at] : (double)dq_random_normal(random);
}

// A block of the input, of a length that is short more often than long.
static size_t block(dq_random *random, size_t size, size_t *at) {
  size_t most = (size_t)1 << dq_random_below(random, 12);
  *at = (size_t)dq_random_below(random, size);
  size_t length = 1 + (size_t)dq_random_below(random, most);
  return length < size - *at ? length : size - *at;
}

static void write_number(uint8_t *data, size_t size, dq_random *random) {
  size_t at = (size_t)dq_random_below(random, size), width = (size_t)1 << dq_random_below(random, 4);
  if (width > size - at) width = 1;
  uint64_t value = 0;
  int swapped = (int)dq_random_below(random, 2); // big endian
  for (size_t i = 0; i < width; i++) value |= (uint64_t)data[swapped ? at + width - 1 - i : at + i] << (8 * i);
  value = (uint64_t)fuzz_integer(random, (int64_t)value);
  for (size_t i = 0; i < width; i++) data[swapped ? at + width - 1 - i : at + i] = (uint8_t)(value >> (8 * i));
}

// Puts a block (of this input or the other one) at a place, moving the rest up or writing over it.
static size_t insert(uint8_t *data, size_t size, size_t capacity, const uint8_t *from, size_t length,
                     dq_random *random) {
  uint8_t copy[4096];
  size_t at = (size_t)dq_random_below(random, size);
  if (length > sizeof copy) length = sizeof copy;
  memcpy(copy, from, length);
  if (dq_random_below(random, 2)) {
    if (length > size - at) length = size - at;
  } else {
    if (length > capacity - size) length = capacity - size;
    memmove(data + at + length, data + at, size - at);
    size += length;
  }
  memcpy(data + at, copy, length);
  return size;
}

static size_t change(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                     dq_random *random) {
  size_t at, length = block(random, size, &at);
  switch (dq_random_below(random, 8)) {
  case 0:
  case 1: data[at] ^= (uint8_t)(1u << dq_random_below(random, 8)); return size;
  case 2: data[at] = (uint8_t)dq_random_next(random); return size;
  case 3:
  case 4: write_number(data, size, random); return size;
  case 5:
    if (length == size) length = size - 1;
    memmove(data + at, data + at + length, size - at - length);
    return size - length;
  case 6:
    if (other_size && dq_random_below(random, 2)) {
      length = block(random, other_size, &at);
      return insert(data, size, capacity, other + at, length, random);
    }
    return insert(data, size, capacity, data + at, length, random);
  default: return dq_random_below(random, 4) ? size : (at ? at : size);
  }
}

size_t fuzz_mutate_bytes(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                         dq_random *random) {
  if (!size) return 0;
  for (uint64_t left = 1 + dq_random_below(random, 4); left; left--)
    size = change(data, size, capacity, other, other_size, random);
  return size;
}
