// Requantization of sums by integers alone, proven to give the bits of its float32 definition.
#ifndef DQ_OPS_FIXED_POINT_H
#define DQ_OPS_FIXED_POINT_H

#include <stdbool.h>
#include <stdint.h>

// The definition (dq_requantization): q = clamp(round_half_even((float)sum * multiplier) + zero_point, low, high).
typedef struct dq_float_requantization {
  float multiplier;
  int32_t zero_point, low, high; // low <= high, within -128 to 255
} dq_float_requantization;

// The fixed-point form: q = clamp(((sum * multiplier + 2^(shift - 1)) >> shift) + zero_point, low, high), in 64 bits,
// where >> rounds down, and 1 more or less at the sums that are listed as exceptions: there float32 rounds a product to
// the other side of a tie. Where many products lie at ties, half of the steps may be exceptions.
enum { DQ_FIXED_EXCEPTIONS = 160, DQ_FIXED_MOST_SHIFT = 46 };
typedef struct dq_fixed_point {
  int32_t multiplier; // at least 0
  int shift;          // 1 to 46
  int exception_count;
  int32_t exceptions[DQ_FIXED_EXCEPTIONS];
  int8_t corrections[DQ_FIXED_EXCEPTIONS]; // 1 or -1
} dq_fixed_point;

// The result of the definition for one sum.
int32_t dq_requantize_float(const dq_float_requantization *definition, int64_t sum);

// Finds a fixed-point form that gives the result of the definition for every sum in [least, most], which must lie
// within int32, with the multiplier that has the fewest exceptions at its shift: the largest, but at most `most_shift`,
// at which multipliers stay below 2^31. Definition and form (before exceptions) grow with the sum, so equality for all
// sums follows from equality at the at most 256 sums at which the definition changes and below them: these are checked.
// False: every form has too many exceptions, or the multiplier is negative or not finite.
bool dq_fixed_point_find(dq_fixed_point *form, const dq_float_requantization *definition, int64_t least, int64_t most,
                         int most_shift);

// The result of the fixed-point form, exceptions included, for one sum.
int32_t dq_requantize_fixed(const dq_fixed_point *form, const dq_float_requantization *definition, int64_t sum);

#endif
