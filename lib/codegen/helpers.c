// Functions that steps share.
#include <string.h>

#include "lib/codegen/codegen_internal.h"
#include "lib/codegen/function_text.h"

static const char round_text[] =
    "/* The nearest integer of x, ties to even, plus zero, within low and high; NaN gives low. */\n"
    "static int32_t dq_round(const float x, const int32_t zero, const int32_t low, const int32_t high) {\n"
    "  int32_t q;\n"
    "  float rest;\n"
    "  if (!(x > (float)(low - zero))) return low;\n"
    "  if (x >= (float)(high - zero)) return high;\n"
    "  q = (int32_t)x;\n"
    "  rest = x - (float)q;\n"
    "  if (rest > 0.5f || (rest == 0.5f && q % 2 != 0)) q++;\n"
    "  else if (rest < -0.5f || (rest == -0.5f && q % 2 != 0)) q--;\n"
    "  return q + zero;\n"
    "}\n\n";

static const char scale_text[] =
    "/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */\n"
    "static int32_t dq_scale(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,\n"
    "                        const int32_t low, const int32_t high) {\n"
    "  const int64_t q = (((int64_t)sum * factor + ((int64_t)1 << (shift - 1))) >> shift) + zero;\n"
    "  return q < low ? low : q > high ? high : (int32_t)q;\n"
    "}\n\n";

// Four sums at once, so that each number that is loaded is used twice.
static const char products_text[] =
    "static void %s(const %s *w, const %s *v, const int16_t *x, const int16_t *z, const int32_t depth,\n"
    "    int32_t *sums) {\n"
    "  int32_t wx = 0, wz = 0, vx = 0, vz = 0;\n"
    "  for (int32_t i = 0; i < depth; i++) {\n"
    "    wx += w[i] * x[i];\n"
    "    wz += w[i] * z[i];\n"
    "    vx += v[i] * x[i];\n"
    "    vz += v[i] * z[i];\n"
    "  }\n"
    "  sums[0] = wx;\n"
    "  sums[1] = wz;\n"
    "  sums[2] = vx;\n"
    "  sums[3] = vz;\n"
    "}\n\n";

// The same by instructions that multiply and add two numbers of 16 bits; the weights lie as widening takes them.
static const char dsp_text[] =
    "/* A word at any address: one load, where memcpy may be a call. */\n"
    "typedef uint32_t __attribute__((may_alias, aligned(1))) dq_any_word;\n\n"
    "static uint32_t dq_word(const void *from) { return *(const dq_any_word *)from; }\n\n"
    "/* Bytes 1 and 3 of a word as two numbers of 16 bits. */\n"
    "static int16x2_t dq_odd(const uint32_t word) {\n"
    "  int16x2_t pair;\n"
    "  __asm__(\"sxtb16 %0, %1, ror #8\" : \"=r\"(pair) : \"r\"(word));\n"
    "  return pair;\n"
    "}\n\n"
    "static void dq_products(const int8_t *w, const int8_t *v, const int16_t *x, const int16_t *z, const int32_t "
    "depth,\n"
    "    int32_t *sums) {\n"
    "  int32_t wx = 0, wz = 0, vx = 0, vz = 0;\n"
    "  for (int32_t i = 0; i < depth; i += 4) {\n"
    "    const uint32_t w4 = dq_word(w + i), v4 = dq_word(v + i);\n"
    "    const int16x2_t x0 = (int16x2_t)dq_word(x + i), x2 = (int16x2_t)dq_word(x + i + 2);\n"
    "    const int16x2_t z0 = (int16x2_t)dq_word(z + i), z2 = (int16x2_t)dq_word(z + i + 2);\n"
    "    const int16x2_t w0 = __sxtb16((int8x4_t)w4), w2 = dq_odd(w4);\n"
    "    const int16x2_t v0 = __sxtb16((int8x4_t)v4), v2 = dq_odd(v4);\n"
    "    wx = __smlad(w2, x2, __smlad(w0, x0, wx));\n"
    "    wz = __smlad(w2, z2, __smlad(w0, z0, wz));\n"
    "    vx = __smlad(v2, x2, __smlad(v0, x0, vx));\n"
    "    vz = __smlad(v2, z2, __smlad(v0, z0, vz));\n"
    "  }\n"
    "  sums[0] = wx;\n"
    "  sums[1] = wz;\n"
    "  sums[2] = vx;\n"
    "  sums[3] = vz;\n"
    "}\n\n";

// (product + 2^(32 + shift)) >> (33 + shift) needs the upper half of the product alone.
static const char high_text[] =
    "/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */\n"
    "static int32_t dq_high(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,\n"
    "                       const int32_t low, const int32_t high) {\n"
    "  const int32_t upper = (int32_t)(((int64_t)sum * factor) >> 32);\n"
    "  const int32_t q = ((upper + ((int32_t)1 << shift)) >> (shift + 1)) + zero;\n"
    "  return q < low ? low : q > high ? high : q;\n"
    "}\n\n";

static const char unit_text[] =
    "static float dq_unit(const float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }\n\n";

// Copies the definition of a function, from the comment in front of it, out of lib/kernels/reference/function.h.
static void copy_function(FILE *to, const char *name) {
  char opening[64];
  snprintf(opening, sizeof opening, " %s(", name);
  const char *at = strstr(dq_function_text, opening), *end = at ? strstr(at, "\n}\n") : NULL;
  const char *line_end = at ? strchr(at, '\n') : NULL;
  if (!at || !line_end) return;
  if (line_end[-1] == '}') end = line_end - 2; // of one line
  while (at > dq_function_text && at[-1] != '\n') at--;
  fputs("static ", to);
  at += strlen("static inline ");
  fwrite(at, 1, (size_t)(end + 3 - at), to);
  fputc('\n', to);
}

// The functions that each helper consists of, callees first.
void dq_codegen_helpers(FILE *to, unsigned helpers, dq_emit_target target) {
  static const unsigned exp_users = 1u << DQ_EMIT_EXP | 1u << DQ_EMIT_TANH;
  static const unsigned sigmoid_users = 1u << DQ_EMIT_SIGMOID | 1u << DQ_EMIT_SILU;
  if (helpers & 1u << DQ_EMIT_ROUND) fputs(round_text, to);
  if (helpers & 1u << DQ_EMIT_PRODUCTS) {
    if (target == DQ_EMIT_DSP) fputs(dsp_text, to);
    else fprintf(to, products_text, "dq_products", "int8_t", "int8_t");
  }
  if (helpers & 1u << DQ_EMIT_WIDE_PRODUCTS) fprintf(to, products_text, "dq_wide_products", "int16_t", "int16_t");
  if (helpers & 1u << DQ_EMIT_HIGH) fputs(high_text, to);
  if (helpers & 1u << DQ_EMIT_SCALE) fputs(scale_text, to);
  if (helpers & 1u << DQ_EMIT_UNIT) fputs(unit_text, to);
  if (helpers & 1u << DQ_EMIT_HALF) {
    copy_function(to, "dq_half_to_float");
    copy_function(to, "dq_float_to_half");
  }
  if (!(helpers & (exp_users | sigmoid_users))) return;
  fputs("#define DQ_EXP_MAGIC 12582912.0f /* adding it leaves round(n) in the low bits of the mantissa */\n", to);
  copy_function(to, "dq_float_bits");
  copy_function(to, "dq_bits_float");
  copy_function(to, "dq_exp_parts");
  if (helpers & exp_users) copy_function(to, "dq_exp_one");
  if (helpers & sigmoid_users) copy_function(to, "dq_sigmoid_one");
  if (helpers & 1u << DQ_EMIT_SILU) copy_function(to, "dq_silu_one");
  if (helpers & 1u << DQ_EMIT_TANH) copy_function(to, "dq_tanh_one");
}
