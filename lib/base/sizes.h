// Checked arithmetic for sizes that come from files. dq_mul_* and dq_add_* return false when the result does not fit
// its type; what they stored is then of no use.
#ifndef DQ_BASE_SIZES_H
#define DQ_BASE_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool dq_mul_size(size_t a, size_t b, size_t *product) { return !__builtin_mul_overflow(a, b, product); }
static inline bool dq_add_size(size_t a, size_t b, size_t *sum) { return !__builtin_add_overflow(a, b, sum); }
static inline bool dq_mul_i64(int64_t a, int64_t b, int64_t *product) { return !__builtin_mul_overflow(a, b, product); }
static inline bool dq_add_i64(int64_t a, int64_t b, int64_t *sum) { return !__builtin_add_overflow(a, b, sum); }
// The sum of two numbers that are not negative, INT64_MAX where it does not fit.
static inline int64_t dq_add_clamped_i64(int64_t a, int64_t b) {
  int64_t sum;
  return dq_add_i64(a, b, &sum) ? sum : INT64_MAX;
}
static inline int64_t dq_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t dq_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
// The quotient rounded down; b is not 0.
static inline int64_t dq_floor_div_i64(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
// The least multiple of `multiple` (> 0) that is not below `value`; the caller makes sure that it fits.
static inline size_t dq_round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

// Elements of an array whose length the compiler knows.
#define DQ_COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

#endif
