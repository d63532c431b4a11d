// Functions that steps share.
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"
#include "lib/codegen/function_text.h"

static const char round_text[] =
    "/* The nearest integer of x, ties to even, plus zero, within low and high; NaN gives low. */\n"
    "static int32_t dq_round(const float x, const int32_t zero, const int32_t low, const int32_t high) {\n"
    "  int32_t q;\n"
    "  float rest;\n"
    "  if (!(x > (float)(low - zero))) {\n"
    "    return low;\n"
    "  }\n"
    "  if (x >= (float)(high - zero)) {\n"
    "    return high;\n"
    "  }\n"
    "  q = (int32_t)x;\n"
    "  rest = x - (float)q;\n"
    "  if (rest > 0.5f || (rest == 0.5f && q % 2 != 0)) {\n"
    "    q++;\n"
    "  }\n"
    "  if (rest < -0.5f || (rest == -0.5f && q % 2 != 0)) {\n"
    "    q--;\n"
    "  }\n"
    "  return q + zero;\n"
    "}\n\n";

// 3 2^22: float32 numbers of this size are integers.
static const char near_text[] =
    "/* The nearest integer of x, ties to even, plus zero, within low and high; NaN gives low. */\n"
    "static inline int32_t dq_near(const float x, const int32_t zero, const int32_t low, const int32_t high) {\n"
    "#if defined(__ARM_FP) && __ARM_FP & 4 /* one instruction, which gives 0 for NaN and the nearest end for others "
    "*/\n"
    "  if (zero == 0 && low == 0) {\n"
    "    int32_t q;\n"
    "    __asm__(\"vcvtr.s32.f32 %0, %1\" : \"=t\"(q) : \"t\"(x));\n"
    "    return q < low ? low : q > high ? high : q;\n"
    "  }\n"
    "#endif\n"
    "  {\n"
    "    const int32_t from = low - zero, to = high - zero;\n"
    "    const float least = (float)from, most = (float)to;\n"
    "    const float above = x > least ? x : least, inside = above < most ? above : most;\n"
    "    const float rounded = inside + 12582912.0f;\n"
    "    return (int32_t)(rounded - 12582912.0f) + zero;\n"
    "  }\n"
    "}\n\n";

static const char level_text[] =
    "/* x divided by a scale and rounded: first[i] are the bits of the least magnitude of level i + 1. The product "
    "gives\n"
    "   the level or one less. A NaN gives the least level. */\n"
    "static inline int32_t dq_level(const float x, const int32_t *first, const int32_t count, const int32_t top,\n"
    "                               const uint32_t factor, const uint32_t half, const int shift) {\n"
    "  const int32_t last = first[count - 1];\n"
    "  int32_t bits, magnitude, inside, level;\n"
    "  (void)memcpy((void *)&bits, (const void *)&x, sizeof bits);\n"
    "  magnitude = bits & 0x7fffffff;\n"
    "  inside = magnitude < first[0] ? first[0] : magnitude;\n"
    "  inside = inside < last ? inside : last - 1;\n"
    "  level = (inside & 0x7fffff) | 0x800000;\n"
    "  level = (int32_t)((((uint32_t)level >> (top - (inside >> 23))) * factor + half) >> shift);\n"
    "  level += inside >= first[level] ? 1 : 0;\n"
    "  level = magnitude < last ? level : count;\n"
    "  level = magnitude < first[0] ? 0 : level;\n"
    "  return bits < 0 || magnitude > 0x7f800000 ? -level : level;\n"
    "}\n\n";

static const char scale_text[] =
    "/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */\n"
    "static int32_t dq_scale(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,\n"
    "                        const int32_t low, const int32_t high) {\n"
    "  const int64_t q = (((int64_t)sum * factor + ((int64_t)1 << (shift - 1))) >> shift) + zero;\n"
    "  return q < low ? low : q > high ? high : (int32_t)q;\n"
    "}\n\n";

// The order of the data of four pixels.
static const char order_text[] =
    "/* Where compilers make vectors of loops, one pixel lies behind the other; else "
    "their elements lie in turn, so that\n"
    "   all data of a step have one pointer. */\n"
    "#if defined(__SSE2__) || defined(__ARM_NEON)\n"
    "#define DQ_VECTORS 1\n"
    "#define DQ_STEP 1\n"
    "#define DQ_NEXT(length) (length)\n"
    "#else\n"
    "#define DQ_VECTORS 0\n"
    "#define DQ_STEP 4\n"
    "#define DQ_NEXT(length) 1\n"
    "#endif\n"
    "#if defined(__AVX2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)\n"
    "#include <immintrin.h>\n"
    "#define DQ_PAIRS 1 /* pairs of products, which compilers do not find in bytes */\n"
    "#define DQ_BYTES(from) _mm_loadu_si128((const __m128i *)(const void *)(from))\n"
    "#define DQ_SIXTEEN_uint8_t(from) _mm256_cvtepu8_epi16(DQ_BYTES(from))\n"
    "#define DQ_SIXTEEN_int8_t(from) _mm256_cvtepi8_epi16(DQ_BYTES(from))\n"
    "#define DQ_SIXTEEN_int16_t(from) _mm256_loadu_si256((const __m256i *)(const void *)(from))\n"
    "#else\n"
    "#define DQ_PAIRS 0\n"
    "#endif\n\n";

// Sixteen products of each pixel at once. The arguments are the types of weights and data, the latter four times.
static const char pairs_of_products[] =
    "#if DQ_PAIRS\n"
    "  __m256i t0 = _mm256_setzero_si256(), t1 = t0, t2 = t0, t3 = t0;\n"
    "  __m128i t;\n"
    "  for (; i + 16 <= length; i += 16) {\n"
    "    const __m256i a = DQ_SIXTEEN_%s(w + i);\n"
    "    t0 = _mm256_add_epi32(t0, _mm256_madd_epi16(a, DQ_SIXTEEN_%s(x + i)));\n"
    "    t1 = _mm256_add_epi32(t1, _mm256_madd_epi16(a, DQ_SIXTEEN_%s(x1 + i)));\n"
    "    t2 = _mm256_add_epi32(t2, _mm256_madd_epi16(a, DQ_SIXTEEN_%s(x2 + i)));\n"
    "    t3 = _mm256_add_epi32(t3, _mm256_madd_epi16(a, DQ_SIXTEEN_%s(x3 + i)));\n"
    "  }\n"
    "  t0 = _mm256_hadd_epi32(_mm256_hadd_epi32(t0, t1), _mm256_hadd_epi32(t2, t3));\n"
    "  t = _mm_add_epi32(_mm256_castsi256_si128(t0), _mm256_extracti128_si256(t0, 1));\n"
    "  s0 += _mm_extract_epi32(t, 0);\n"
    "  s1 += _mm_extract_epi32(t, 1);\n"
    "  s2 += _mm_extract_epi32(t, 2);\n"
    "  s3 += _mm_extract_epi32(t, 3);\n"
    "#endif\n";

static const char products_head[] =
    "/* Addend plus products of weights and data, for four pixels. */\n"
    "static void %s(const %s *w, const %s *x, const int32_t length, const int32_t addend, int32_t *sums) {\n"
    "  int32_t s0 = addend, s1 = addend, s2 = addend, s3 = addend;\n"
    "#if DQ_VECTORS\n"
    "  const %s *x1 = x + length, *x2 = x1 + length, *x3 = x2 + length;\n"
    "  int32_t i = 0;\n";

static const char products_loops[] = "  for (; i < length; i++) {\n"
                                     "    s0 += (int32_t)w[i] * (int32_t)x[i];\n"
                                     "    s1 += (int32_t)w[i] * (int32_t)x1[i];\n"
                                     "    s2 += (int32_t)w[i] * (int32_t)x2[i];\n"
                                     "    s3 += (int32_t)w[i] * (int32_t)x3[i];\n"
                                     "  }\n"
                                     "#else\n"
                                     "  const %s *const end = x + 4 * length;\n"
                                     "  do {\n"
                                     "    int32_t a;\n";

// A weight, and the places of the data: eight registers are enough, and offsets are within the 31 bytes that a load of
// Armv6-M has for them.
static const char products_step[] = "    a = (int32_t)w[%d];\n"
                                    "    s0 += a * (int32_t)x[%d];\n"
                                    "    s1 += a * (int32_t)x[%d];\n"
                                    "    s2 += a * (int32_t)x[%d];\n"
                                    "    s3 += a * (int32_t)x[%d];\n";

static const char products_end[] = "    w += 4;\n"
                                   "    x += 16;\n"
                                   "  } while (x != end);\n"
                                   "#endif\n"
                                   "  sums[0] = s0;\n"
                                   "  sums[1] = s1;\n"
                                   "  sums[2] = s2;\n"
                                   "  sums[3] = s3;\n"
                                   "}\n\n";

// Bytes of a word: %s is "" or "signed_", %c the letter of the instruction.
static const char bytes_text[] = "/* Bytes 0 and 2 of a word as two numbers of 16 bits, and bytes 1 and 3. */\n"
                                 "static inline uint32_t dq_%seven(const uint32_t word) {\n"
                                 "  uint32_t pair;\n"
                                 "  __asm__ volatile(\"%cxtb16 %%0, %%1\" : \"=r\"(pair) : \"r\"(word));\n"
                                 "  return pair;\n"
                                 "}\n\n"
                                 "static inline uint32_t dq_%sodd(const uint32_t word) {\n"
                                 "  uint32_t pair;\n"
                                 "  __asm__ volatile(\"%cxtb16 %%0, %%1, ror #8\" : \"=r\"(pair) : \"r\"(word));\n"
                                 "  return pair;\n"
                                 "}\n\n";

static const char pairs_text[] =
    "typedef uint32_t __attribute__((may_alias, aligned(1))) dq_loose_word;\n"
    "typedef uint16_t __attribute__((may_alias, aligned(1))) dq_loose_half;\n\n"
    "/* A word, and a half of one, at any address. */\n"
    "static inline uint32_t dq_any_word(const void *from) { return *(const dq_loose_word *)from; }\n"
    "static inline uint32_t dq_any_half(const void *from) { return *(const dq_loose_half *)from; }\n\n"
    "static inline uint32_t dq_pair(const int32_t a, const int32_t b) { return ((uint32_t)a & 65535u) | (uint32_t)b << "
    "16; }\n\n"
    "/* The sum plus the products of both numbers; plus that of the lower number of a; plus that of its upper number. "
    "*/\n"
    "static inline int32_t dq_two(const int32_t sum, const uint32_t a, const uint32_t b) {\n"
    "  return __smlad((int16x2_t)a, (int16x2_t)b, sum);\n"
    "}\n\n"
    "static inline int32_t dq_bottom(const int32_t sum, const uint32_t a, const int32_t b) {\n"
    "  return __smlabb((int32_t)a, b, sum);\n"
    "}\n\n"
    "static inline int32_t dq_top(const int32_t sum, const uint32_t a, const int32_t b) {\n"
    "  return __smlatb((int32_t)a, b, sum);\n"
    "}\n\n";

// Eight sums by instructions that multiply and add two numbers of 16 bits. All is volatile, which keeps the order:
// eight sums, two pointers and four numbers are just as many as there are registers. For the same reason the loop is
// not unrolled further.
static const char blocks_text[] =
    "typedef uint32_t __attribute__((may_alias)) dq_word;\n"
    "typedef uint64_t __attribute__((may_alias)) dq_two_words;\n\n"
    "/* The sum plus the products of both numbers. */\n"
    "static inline int32_t dq_add(int32_t sum, const uint32_t a, const uint32_t b) {\n"
    "  __asm__ volatile(\"smlad %0, %1, %2, %0\" : \"+r\"(sum) : \"r\"(a), \"r\"(b));\n"
    "  return sum;\n"
    "}\n\n"
    "/* The sums of four channels at two pixels. Each two words of weights are those of two elements. */\n"
    "static void dq_blocks(const int32_t *w, const int16_t *x, const int32_t length, const int32_t *addends,\n"
    "                      int32_t *sums) {\n"
    "  const volatile dq_word *from = (const dq_word *)w;\n"
    "  const volatile dq_two_words *at = (const dq_two_words *)(const void *)x, *const end = &at[length / 2];\n"
    "  int32_t s0 = addends[0], s2 = addends[1], s4 = addends[2], s6 = addends[3];\n"
    "  int32_t s1 = s0, s3 = s2, s5 = s4, s7 = s6;\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    "#pragma GCC unroll 1\n"
    "#endif\n"
    "  do {\n"
    "    for (int i = 0; i < 4; i++) {\n"
    "      const uint64_t both = at[i];\n"
    "      const uint32_t p = (uint32_t)both, q = (uint32_t)(both >> 32);\n"
    "      uint32_t b = from[2 * i], a = dq_signed_even(b);\n"
    "      b = dq_signed_odd(b);\n"
    "      s0 = dq_add(s0, a, p);\n"
    "      s1 = dq_add(s1, a, q);\n"
    "      s2 = dq_add(s2, b, p);\n"
    "      s3 = dq_add(s3, b, q);\n"
    "      b = from[2 * i + 1];\n"
    "      a = dq_signed_even(b);\n"
    "      b = dq_signed_odd(b);\n"
    "      s4 = dq_add(s4, a, p);\n"
    "      s5 = dq_add(s5, a, q);\n"
    "      s6 = dq_add(s6, b, p);\n"
    "      s7 = dq_add(s7, b, q);\n"
    "    }\n"
    "    from += 8;\n"
    "    at += 4;\n"
    "  } while (at != end);\n"
    "  sums[0] = s0;\n"
    "  sums[1] = s1;\n"
    "  sums[2] = s2;\n"
    "  sums[3] = s3;\n"
    "  sums[4] = s4;\n"
    "  sums[5] = s5;\n"
    "  sums[6] = s6;\n"
    "  sums[7] = s7;\n"
    "}\n\n";

// (product + 2^(32 + shift)) >> (33 + shift) needs the upper half of the product alone. The zero point is added in
// front of the shift.
static const char high_text[] =
    "/* The upper half of the product; b is not negative. Armv6-M has no product of 64 bits, so it comes from four of "
    "32\n"
    "   there. */\n"
    "static inline int32_t dq_upper(const int32_t a, const int32_t b) {\n"
    "#if defined(__thumb__) && !defined(__thumb2__)\n"
    "  const uint32_t a0 = (uint32_t)a & 65535u, b0 = (uint32_t)b & 65535u, b1 = (uint32_t)b >> 16;\n"
    "  const int32_t a1 = a >> 16;\n"
    "  const int32_t middle = a1 * (int32_t)b0 + (int32_t)(a0 * b0 >> 16);\n"
    "  return a1 * (int32_t)b1 + (middle >> 16) + (int32_t)((a0 * b1 + ((uint32_t)middle & 65535u)) >> 16);\n"
    "#else\n"
    "  return (int32_t)(((int64_t)a * b) >> 32);\n"
    "#endif\n"
    "}\n\n"
    "/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */\n"
    "static inline int32_t dq_high(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,\n"
    "                              const int32_t low, const int32_t high) {\n"
    "  const int32_t q = (dq_upper(sum, factor) + (2 * zero + 1) * ((int32_t)1 << shift)) >> (shift + 1);\n"
    "  return q < low ? low : q > high ? high : q;\n"
    "}\n\n";

static const char dsp_high_text[] =
    "/* Requantizes a sum. The factors were proven to give the result of float32 for every sum that can be. */\n"
    "static inline int32_t dq_high(const int32_t sum, const int32_t factor, const int shift, const int32_t zero,\n"
    "                              const int32_t low, const int32_t high) {\n"
    "  int32_t q;\n"
    "  __asm__(\"smmla %0, %1, %2, %3\" : \"=r\"(q) : \"r\"(sum), \"r\"(factor), \"r\"((2 * zero + 1) * ((int32_t)1 << "
    "shift)));\n"
    "  q >>= shift + 1;\n"
    "  return q < low ? low : q > high ? high : q;\n"
    "}\n\n";

static const char unit_text[] =
    "static float dq_unit(const float x) { return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x; }\n\n";

static const char power_text[] = "/* A power modulo 2^64; of negative exponents the integer part. */\n"
                                 "static int64_t dq_power(const int64_t base, const int64_t exponent) {\n"
                                 "  uint64_t result = 1, factor = (uint64_t)base;\n"
                                 "  if (exponent < 0) {\n"
                                 "    return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;\n"
                                 "  }\n"
                                 "  for (int64_t left = exponent; left != 0; left >>= 1) {\n"
                                 "    if (left & 1) {\n"
                                 "      result *= factor;\n"
                                 "    }\n"
                                 "    factor *= factor;\n"
                                 "  }\n"
                                 "  return (int64_t)result;\n"
                                 "}\n\n";

static const char saturated_text[] =
    "/* x without its fraction, as int64. */\n"
    "static int64_t dq_saturated(const double x) {\n"
    "  if (x != x) {\n"
    "    return 0;\n"
    "  }\n"
    "  return x >= 9223372036854775808.0 ? INT64_MAX : x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;\n"
    "}\n\n";

static const char modulo_text[] = "/* The remainder with the sign of the divisor. */\n"
                                  "static double dq_modulo(const double x, const double y) {\n"
                                  "  const double remainder = fmod(x, y);\n"
                                  "  if (remainder == 0.0) {\n"
                                  "    return copysign(0.0, y);\n"
                                  "  }\n"
                                  "  return (remainder < 0.0) != (y < 0.0) ? remainder + y : remainder;\n"
                                  "}\n\n";

static const char narrow_text[] =
    "/* x without its fraction, within bounds; NaN gives 0. */\n"
    "static int64_t dq_truncate(const double x, const int64_t low, const int64_t high) {\n"
    "  if (x != x) {\n"
    "    return 0;\n"
    "  }\n"
    "  return x >= (double)high ? high : x <= (double)low ? low : (int64_t)x;\n"
    "}\n\n";

static const char natural_text[] = "/* x without its fraction, from 0 to 2^64 - 1; NaN gives 0. */\n"
                                   "static uint64_t dq_natural(const double x) {\n"
                                   "  if (!(x > 0.0)) {\n"
                                   "    return 0;\n"
                                   "  }\n"
                                   "  return x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;\n"
                                   "}\n\n";

// binary16 of a double, rounded once: lib/ops/arithmetic/cast.c.
static const char odd_half_text[] =
    "/* A float64 as float16: rounded to float32 whose last bit is odd where it is not exact, then to float16. */\n"
    "static uint16_t dq_double_to_half(const double x) {\n"
    "  float nearest = (float)x;\n"
    "  uint32_t bits;\n"
    "  (void)memcpy((void *)&bits, (const void *)&nearest, sizeof bits);\n"
    "  if ((double)nearest != x && x == x) {\n"
    "    const double magnitude = x < 0.0 ? -x : x;\n"
    "    const double rounded = nearest < 0.0f ? -(double)nearest : (double)nearest;\n"
    "    if (rounded > magnitude) {\n"
    "      bits--;\n"
    "    }\n"
    "    bits |= 1u;\n"
    "    (void)memcpy((void *)&nearest, (const void *)&bits, sizeof bits);\n"
    "  }\n"
    "  return dq_float_to_half(nearest);\n"
    "}\n\n";

static const char reflected_text[] =
    "/* x thrown back at both ends of least and most until it lies between them. */\n"
    "static float dq_reflected(const float x, const float least, const float most) {\n"
    "  const float range = most - least, beyond = x < least ? least - x : x - most;\n"
    "  float times, rest;\n"
    "  if (x >= least && x <= most) {\n"
    "    return x;\n"
    "  }\n"
    "  if (!(range > 0.0f)) {\n"
    "    return least;\n"
    "  }\n"
    "  times = beyond / range;\n"
    "  times = floorf(times);\n"
    "  rest = times * range;\n"
    "  rest = beyond - rest;\n"
    "  rest = (x < least) == (fmodf(times, 2.0f) == 0.0f) ? least + rest : most - rest;\n"
    "  return rest;\n"
    "}\n\n";

static const char cubic_text[] =
    "/* Weights of the cubic convolution with coefficient -0.75 at distances 1 + t, t, 1 - t and 2 - t. */\n"
    "static void dq_cubic(const float t, float *weight) {\n"
    "  for (int i = 0; i < 2; i++) {\n"
    "    const float near = i ? 1.0f - t : t, far = near + 1.0f;\n"
    "    float w = -0.75f * far;\n"
    "    w += 3.75f, w *= far, w -= 6.0f, w *= far, w += 3.0f;\n"
    "    weight[3 * i] = w;\n"
    "    w = 1.25f * near;\n"
    "    w -= 2.25f, w *= near, w *= near, w += 1.0f;\n"
    "    weight[1 + i] = w;\n"
    "  }\n"
    "}\n\n";

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

static void print_products(FILE *to, uint64_t helpers) {
  static const struct {
    dq_emit_helper helper;
    const char *name, *weight, *data;
  } rows[] = {{DQ_EMIT_PRODUCTS, "dq_products", "int8_t", "uint8_t"},
              {DQ_EMIT_SIGNED_PRODUCTS, "dq_signed_products", "int8_t", "int8_t"},
              {DQ_EMIT_WIDE_PRODUCTS, "dq_wide_products", "int16_t", "uint8_t"},
              {DQ_EMIT_WIDE_SIGNED_PRODUCTS, "dq_wide_signed_products", "int16_t", "int8_t"}};
  bool any = false;
  for (int i = 0; i < DQ_COUNT(rows); i++) {
    if (!(helpers & UINT64_C(1) << rows[i].helper)) continue;
    if (!any) fputs(order_text, to);
    any = true;
    const char *data = rows[i].data;
    fprintf(to, products_head, rows[i].name, rows[i].weight, data, data);
    fprintf(to, pairs_of_products, rows[i].weight, data, data, data, data);
    fprintf(to, products_loops, data);
    for (int k = 0; k < 4; k++) fprintf(to, products_step, k, 4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3);
    fputs(products_end, to);
  }
}

// The functions of function.h and function_wide.h and the helpers that need them, callees first.
#define EXP_USERS (DQ_EMIT_BIT(EXP) | DQ_EMIT_BIT(TANH) | DQ_EMIT_BIT(ERF) | DQ_EMIT_BIT(SOFTPLUS))
#define SIGMOID_USERS (DQ_EMIT_BIT(SIGMOID) | DQ_EMIT_BIT(SILU))
#define PARTS_USERS (EXP_USERS | SIGMOID_USERS)
#define REST_USERS (PARTS_USERS | DQ_EMIT_BIT(EXPM1))
#define POWER_USERS (DQ_EMIT_BIT(SINH) | DQ_EMIT_BIT(COSH))
#define LOG_USERS (DQ_EMIT_BIT(ASINH) | DQ_EMIT_BIT(ACOSH) | DQ_EMIT_BIT(ATANH))
#define ARC_USERS (DQ_EMIT_BIT(ASIN) | DQ_EMIT_BIT(ACOS) | DQ_EMIT_BIT(ATAN))
#define WIDE_USERS (POWER_USERS | LOG_USERS | ARC_USERS | DQ_EMIT_BIT(TAN))
#define SIGN_USERS (WIDE_USERS & ~(DQ_EMIT_BIT(TAN) | DQ_EMIT_BIT(COSH) | DQ_EMIT_BIT(ACOS) | DQ_EMIT_BIT(ACOSH)))
#define NAN_USERS (DQ_EMIT_BIT(TAN) | DQ_EMIT_BIT(ASIN) | DQ_EMIT_BIT(ACOS) | DQ_EMIT_BIT(ACOSH) | DQ_EMIT_BIT(ATANH))
#define BITS_USERS (REST_USERS | SIGN_USERS | NAN_USERS)
static const struct {
  const char *name;
  uint64_t users;
} own_functions[] = {{"dq_float_bits", REST_USERS | SIGN_USERS | DQ_EMIT_BIT(TAN)},
                     {"dq_bits_float", BITS_USERS},
                     {"dq_exp_rest", REST_USERS},
                     {"dq_exp_parts", PARTS_USERS},
                     {"dq_exp_one", EXP_USERS},
                     {"dq_sigmoid_one", SIGMOID_USERS},
                     {"dq_silu_one", DQ_EMIT_BIT(SILU)},
                     {"dq_tanh_one", DQ_EMIT_BIT(TANH)},
                     {"dq_expm1_one", DQ_EMIT_BIT(EXPM1)},
                     {"dq_softplus_one", DQ_EMIT_BIT(SOFTPLUS)},
                     {"dq_erf_one", DQ_EMIT_BIT(ERF)},
                     {"dq_series", WIDE_USERS},
                     {"dq_wide_exp", POWER_USERS},
                     {"dq_wide_log", LOG_USERS},
                     {"dq_wide_log1p", LOG_USERS},
                     {"dq_wide_atan", ARC_USERS},
                     {"dq_signed_like", SIGN_USERS},
                     {"dq_nan", NAN_USERS},
                     {"dq_atan_one", DQ_EMIT_BIT(ATAN)},
                     {"dq_asin_one", DQ_EMIT_BIT(ASIN)},
                     {"dq_acos_one", DQ_EMIT_BIT(ACOS)},
                     {"dq_sinh_one", DQ_EMIT_BIT(SINH)},
                     {"dq_cosh_one", DQ_EMIT_BIT(COSH)},
                     {"dq_asinh_one", DQ_EMIT_BIT(ASINH)},
                     {"dq_acosh_one", DQ_EMIT_BIT(ACOSH)},
                     {"dq_atanh_one", DQ_EMIT_BIT(ATANH)},
                     {"dq_wide_rest", DQ_EMIT_BIT(TAN)},
                     {"dq_tan_one", DQ_EMIT_BIT(TAN)}};

static void print_functions(FILE *to, uint64_t helpers) {
  if (helpers & REST_USERS)
    fputs("#define DQ_EXP_MAGIC 12582912.0f /* adding it leaves round(n) in the low bits of the mantissa */\n", to);
  for (int i = 0; i < DQ_COUNT(own_functions); i++)
    if (helpers & own_functions[i].users) copy_function(to, own_functions[i].name);
}

// The functions that each helper consists of, callees first.
void dq_codegen_helpers(FILE *to, uint64_t helpers, dq_emit_target target) {
  if (helpers & DQ_EMIT_BIT(ROUND)) fputs(round_text, to);
  if (helpers & DQ_EMIT_BIT(NEAR)) fputs(near_text, to);
  if (helpers & DQ_EMIT_BIT(LEVEL)) fputs(level_text, to);
  if (helpers & (DQ_EMIT_BIT(PAIRS))) fprintf(to, bytes_text, "", 'u', "", 'u');
  if (helpers & (DQ_EMIT_BIT(SIGNED_PAIRS) | DQ_EMIT_BIT(BLOCKS)))
    fprintf(to, bytes_text, "signed_", 's', "signed_", 's');
  if (helpers & (DQ_EMIT_BIT(PAIRS) | DQ_EMIT_BIT(SIGNED_PAIRS))) fputs(pairs_text, to);
  if (helpers & DQ_EMIT_BIT(BLOCKS)) fputs(blocks_text, to);
  print_products(to, helpers);
  if (helpers & DQ_EMIT_BIT(HIGH)) fputs(target == DQ_EMIT_DSP ? dsp_high_text : high_text, to);
  if (helpers & DQ_EMIT_BIT(SCALE)) fputs(scale_text, to);
  if (helpers & DQ_EMIT_BIT(UNIT)) fputs(unit_text, to);
  if (helpers & (DQ_EMIT_BIT(HALF) | DQ_EMIT_BIT(FROM_HALF))) copy_function(to, "dq_half_to_float");
  if (helpers & (DQ_EMIT_BIT(HALF) | DQ_EMIT_BIT(TO_HALF))) copy_function(to, "dq_float_to_half");
  if (helpers & DQ_EMIT_BIT(HALF_ABOVE)) copy_function(to, "dq_half_above");
  if (helpers & DQ_EMIT_BIT(ODD_HALF)) fputs(odd_half_text, to);
  if (helpers & DQ_EMIT_BIT(NARROW)) fputs(narrow_text, to);
  if (helpers & DQ_EMIT_BIT(NARROW_64)) fputs(natural_text, to);
  if (helpers & DQ_EMIT_BIT(POWER)) fputs(power_text, to);
  if (helpers & DQ_EMIT_BIT(SATURATED)) fputs(saturated_text, to);
  if (helpers & DQ_EMIT_BIT(MODULO)) fputs(modulo_text, to);
  if (helpers & DQ_EMIT_BIT(REFLECTED)) fputs(reflected_text, to);
  if (helpers & DQ_EMIT_BIT(CUBIC)) fputs(cubic_text, to);
  print_functions(to, helpers);
}
