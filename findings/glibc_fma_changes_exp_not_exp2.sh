#!/usr/bin/env bash
# One program on one processor: whether glibc sees FMA changes bits of exp, log, pow and sin, never of exp2 and of floats
#
# Guessed: exp and exp2 come from one author and one algorithm, as do pow and powf; either all of them round alike with
#   and without fused multiply-adds, or none.
# Happens: glibc picks its functions when a program starts. With FMA hidden by a tunable, exp, log, log2, log10, log1p,
#   expm1, pow, sin, cos, tan, atan and tanh of double differ in the last bit for 17 (log) to 719 (pow) of a million
#   arguments; exp2, cbrt, hypot and all of expf, exp2f, logf, log2f, powf, sinf and cosf keep every bit, though the float
#   functions are picked in the same way.
# Versions: libc6 of the system, printed below; seen with 2.36-9+deb12u14 (Debian 12) and 2.41-12+deb13u5 (Debian 13).
# Matters: "the same binary on the same release" is not enough for the same bytes: a virtual machine that hides FMA, or
#   an old processor, writes other doubles, but only through some of the functions, so that a test with exp2 or expf
#   does not see it.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! dpkg -s gcc libc6-dev >"$dir/packages" 2>&1; then
  apt-get update -qq >"$dir/packages" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >"$dir/packages" 2>&1
fi
dpkg-query -W -f '${Package} ${Version}\n' libc6 gcc
grep -qw fma /proc/cpuinfo || { echo "this processor has no FMA to hide"; exit 1; }
cd "$dir"
cat >results.c <<'C'
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
enum { COUNT = 1000000 };
static double pow24(double x) { return pow(x, 2.4); }
static double hypot3(double x) { return hypot(x, 3); }
static double atan_(double x) { return atan(x); }
static double of_expf(double x) { return expf((float)x); }
static double of_exp2f(double x) { return exp2f((float)x); }
static double of_logf(double x) { return logf((float)x); }
static double of_log2f(double x) { return log2f((float)x); }
static double of_powf(double x) { return powf((float)x, 2.4f); }
static double of_sinf(double x) { return sinf((float)x); }
static double of_cosf(double x) { return cosf((float)x); }
static double (*const functions[])(double) = {exp, log, log2, log10, log1p, expm1, pow24, sin, cos, tan, atan_, tanh,
  exp2, cbrt, hypot3, of_expf, of_exp2f, of_logf, of_log2f, of_powf, of_sinf, of_cosf};
static double results[COUNT];
int main(void) {
  for (unsigned f = 0; f < sizeof functions / sizeof *functions; f++) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < COUNT; i++) { /* magnitudes 2^-16 to 2^8 */
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      uint64_t bits = (state & 0xfffffffffffff) | (1007 + (state >> 52) % 24) << 52;
      double x;
      memcpy(&x, &bits, 8);
      results[i] = functions[f](x);
    }
    fwrite(results, 8, COUNT, stdout);
  }
  return fflush(stdout);
}
C
cat >compare.c <<'C'
#include <stdio.h>
#include <string.h>
enum { COUNT = 1000000 };
static double a[COUNT], b[COUNT];
int main(int argc, char **argv) {
  static const char *const names[] = {"exp", "log", "log2", "log10", "log1p", "expm1", "pow", "sin", "cos", "tan", "atan",
    "tanh", "exp2", "cbrt", "hypot", "expf", "exp2f", "logf", "log2f", "powf", "sinf", "cosf"};
  FILE *with = fopen(argv[1], "rb"), *without = fopen(argv[argc - 1], "rb");
  int as_stated = 1;
  for (int f = 0; f < 22; f++) {
    if (fread(a, 8, COUNT, with) != COUNT || fread(b, 8, COUNT, without) != COUNT) return 1;
    int differ = 0;
    for (int i = 0; i < COUNT; i++) differ += memcmp(a + i, b + i, 8) != 0;
    printf("%-6s %7d of %d differ\n", names[f], differ, COUNT);
    as_stated &= f < 12 ? differ > 0 : !differ;
  }
  puts(as_stated ? "as stated" : "CHANGED");
  return !as_stated;
}
C
gcc -O2 -fno-builtin results.c -o results -lm
gcc -O2 compare.c -o compare
./results >with
GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4 ./results >without
./compare with without
