// QuantizeLinear of float32 in C by integers alone: the bits of a float32 grow with its magnitude, so a table of the
// bits at which each level begins decides; a product of 32 bits says where to look.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/kernels/reference/function.h"
#include "lib/ops/emit/emit.h"

// WORD: bits of a mantissa that the product leaves out. TOGETHER: elements of a round.
enum { MOST_LEVELS = 255, MANTISSA = 23, WORD = 8, TOGETHER = 16 };
static const uint32_t infinity_bits = 0x7f800000;

// first[i]: bits of the least magnitude whose level is i + 1, level = round(magnitude / scale).
typedef struct levels {
  int count;
  uint32_t *first;
  uint32_t factor, half;
  int shift, top; // top: the exponent of first[count - 1], plus WORD
} levels;

static void find_first(levels *l, float scale) {
  for (int i = 0; i < l->count; i++) {
    uint32_t below = 0, at = infinity_bits; // level(below) < i + 1 <= level(at)
    while (below + 1 < at) {
      uint32_t middle = below + (at - below) / 2;
      if (rintf(dq_bits_float(middle) / scale) >= (float)(i + 1)) at = middle;
      else below = middle;
    }
    l->first[i] = at;
  }
}

// The level of bits in [first[0], first[count - 1]), or one less.
static int64_t estimate(const levels *l, uint32_t bits) {
  uint32_t mantissa = (bits & 0x7fffff) | 0x800000;
  return ((mantissa >> (l->top - (int)(bits >> MANTISSA))) * l->factor + l->half) >> l->shift;
}

// Estimates grow with the magnitude, so they are right everywhere when they are at both ends of each level.
static bool estimates_hold(const levels *l) {
  for (int i = 0; i < l->count; i++) {
    int64_t at = i + 1 < l->count ? estimate(l, l->first[i]) : i, before = i ? estimate(l, l->first[i] - 1) : 0;
    if (at < i || at > i + 1 || before < i - 1 || before > i) return false;
  }
  return true;
}

static bool find_levels(dq_emission *to, float scale, int count, levels *l) {
  *l = (levels){.count = count, .first = DQ_NEW_ARRAY(to->arena, count, uint32_t)};
  if (!l->first || !isnormal(scale) || scale < 0 || count < 2 || count > MOST_LEVELS) return false;
  find_first(l, scale);
  int exponent = (int)(l->first[count - 1] >> MANTISSA), least = (int)(l->first[0] >> MANTISSA);
  if (least < 1 || exponent >= 255 || exponent - least + WORD > MANTISSA) return false;
  l->top = exponent + WORD;
  double unit = ldexp(1, l->top - 127 - MANTISSA) / (double)scale; // levels of a unit of the product's first operand
  l->shift = 15 - ilogb(unit);
  if (l->shift < 9 || l->shift > 30) return false;
  l->factor = (uint32_t)ldexp(unit, l->shift);
  l->half = (UINT32_C(1) << (l->shift - 1)) - (UINT32_C(1) << (l->shift - 9));
  return (double)(1 << (MANTISSA + 1 - WORD)) * l->factor + l->half < 0x1p32 && estimates_hold(l);
}

bool dq_emit_levels(dq_emission *to, int64_t count, float scale, int32_t zero, int32_t low, int32_t high) {
  levels l;
  if (!find_levels(to, scale, high - zero > zero - low ? high - zero : zero - low, &l)) return false;
  int first = dq_emit_constant(to, DQ_I32, l.first, l.count);
  dq_emit_need(to, DQ_EMIT_LEVEL);
  // Levels wait in an array of their own, since a compiler has to fear that bytes are written into the constants.
  const int64_t together = count % TOGETHER ? 1 : TOGETHER;
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i += %" PRId64 ") {", count, together);
  dq_emit(to, "int32_t levels[%" PRId64 "];", together);
  dq_emit(to, "for (int32_t j = 0; j < %" PRId64 "; j++) {", together);
  dq_emit(to, "levels[j] = %d + dq_level(x0[i + j], c%d, %d, %d, %uu, %uu, %d);", zero, first, l.count, l.top,
          (unsigned)l.factor, (unsigned)l.half, l.shift);
  dq_emit(to, "}");
  dq_emit(to, "for (int32_t j = 0; j < %" PRId64 "; j++) {", together);
  dq_emit(to, "y0[i + j] = (%s)(levels[j] < %d ? %d : levels[j] > %d ? %d : levels[j]);",
          dq_emit_type(to->op->outputs[0]->type), low, low, high, high);
  dq_emit(to, "}");
  dq_emit(to, "}");
  return true;
}
