// Functions of the C library whose last bits are the library's own.
//
// Compilers replace calls of these where they know an argument: powf(x, 2.0f) becomes x * x, powf(x, 0.5f) a square
// root, and a call of numbers alone its result, exactly rounded. All of these have other bits than the function. Bodies
// therefore call them by pointers whose values compilers must not assume to know. Functions that IEEE 754 defines to
// the last bit (fma, sqrt, floor, fmod, ...) are called by name: what a compiler puts in their place has the same bits.
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"

static const struct {
  const char *name; // for double; that for float has an f behind it
  int arguments;
} functions[] = {{"acos", 1}, {"acosh", 1}, {"asin", 1},   {"asinh", 1}, {"atan", 1},   {"atanh", 1}, {"cbrt", 1},
                 {"cos", 1},  {"cosh", 1},  {"erf", 1},    {"erfc", 1},  {"exp", 1},    {"exp2", 1},  {"expm1", 1},
                 {"log", 1},  {"log10", 1}, {"log1p", 1},  {"log2", 1},  {"lgamma", 1}, {"sin", 1},   {"sinh", 1},
                 {"tan", 1},  {"tanh", 1},  {"tgamma", 1}, {"atan2", 2}, {"hypot", 2},  {"pow", 2}};
enum { FUNCTIONS = DQ_COUNT(functions) };
_Static_assert(2 * FUNCTIONS <= 64, "the functions for float and double are a set of 64 bits");

static bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// The bit of the function of a word: 2 f for double, 2 f + 1 for float; -1: there is none.
static int function_of(const char *word, size_t length) {
  for (int f = 0; f < FUNCTIONS; f++) {
    const size_t own = strlen(functions[f].name);
    if (length < own || length > own + 1 || strncmp(word, functions[f].name, own) != 0) continue;
    if (length == own) return 2 * f;
    if (word[own] == 'f') return 2 * f + 1;
  }
  return -1;
}

void dq_codegen_body(FILE *to, const char *body, uint64_t *library) {
  for (const char *c = body; *c;) {
    size_t length = 0;
    while (is_word(c[length])) length++;
    const int function = c[length] == '(' ? function_of(c, length) : -1;
    if (function >= 0) {
      *library |= UINT64_C(1) << function;
      fputs("dq_c_", to);
    }
    if (!length) length = 1;
    fwrite(c, 1, length, to);
    c += length;
  }
}

void dq_codegen_library(FILE *to, uint64_t library) {
  if (!library) return;
  fputs("/* Functions whose last bits are the C library's own. A compiler that knew which function is called would put "
        "others in\n   its place, such as a product for a square, which have other bits. */\n",
        to);
  for (int f = 0; f < 2 * FUNCTIONS; f++) {
    if (!(library >> f & 1)) continue;
    const char *type = f & 1 ? "float" : "double", *name = functions[f / 2].name, *end = f & 1 ? "f" : "";
    fprintf(to, "static %s (*const volatile dq_c_%s%s)(%s%s%s) = %s%s;\n", type, name, end, type,
            functions[f / 2].arguments > 1 ? ", " : "", functions[f / 2].arguments > 1 ? type : "", name, end);
  }
  fputc('\n', to);
}
