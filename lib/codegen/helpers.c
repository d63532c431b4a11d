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
void dq_codegen_helpers(FILE *to, unsigned helpers) {
  static const unsigned exp_users = 1u << DQ_EMIT_EXP | 1u << DQ_EMIT_TANH;
  static const unsigned sigmoid_users = 1u << DQ_EMIT_SIGMOID | 1u << DQ_EMIT_SILU;
  if (helpers & 1u << DQ_EMIT_ROUND) fputs(round_text, to);
  if (helpers & 1u << DQ_EMIT_SCALE) fputs(scale_text, to);
  if (helpers & 1u << DQ_EMIT_UNIT) fputs(unit_text, to);
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
