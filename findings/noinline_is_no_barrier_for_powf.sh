#!/usr/bin/env bash
# A noinline function around powf, or optimize("no-builtin") on it, keeps neither gcc nor clang from turning powf(x, 2) into x * x
#
# Guessed: noinline hides the exponent from the call inside, and where it does not, GCC's attribute
#   optimize("no-builtin") switches the replacement off, so that a wrapper has the bits of the C library at every level.
# Happens: both compilers carry constants of the only callers into a static function that is not inlined (interprocedural
#   constant propagation), and then replace powf(x, 2.0f) by a product: 78 of 100,000 results are other bits at -O2 and
#   -Os, with clang at -O1 already. GCC takes the attribute without a word, and it changes nothing. What
#   keeps the library's bits is -fno-builtin for the whole file, or a call through a pointer that is volatile.
# Versions: Debian 12: gcc 12.2.0-14+deb12u1, clang 1:14.0.6-12, glibc 2.36-9+deb12u14.
# Matters: generated code, and tests that compare with a library bit by bit, pass at -O0 and -O1 and differ by one unit
#   in the last place in release builds, although the wrapper stands there "so that the compiler cannot see through".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! dpkg -s gcc clang-14 >"$dir/packages" 2>&1; then
  apt-get update -qq >"$dir/packages" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc clang-14 libc6-dev >"$dir/packages" 2>&1
fi
cat >"$dir/power.c" <<'C'
#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef ATTRIBUTE
__attribute__((optimize("no-builtin")))
#endif
__attribute__((noinline)) static float power(float x, float y) { return powf(x, y); }
static float (*const volatile library)(float, float) = powf;
int main(void) {
  int different = 0;
  for (int i = 0; i < 100000; i++) {
    float x = 1.0f + (float)i * 1.1e-5f, a = power(x, 2.0f), b = library(x, 2.0f);
    different += memcmp(&a, &b, sizeof a) != 0;
  }
  printf("%d\n", different);
  return 0;
}
C
# row EXPECTED COMPILER FLAGS...: the results that are not the library's
row() {
  local expected=$1 found
  shift
  "$@" -w "$dir/power.c" -o "$dir/power" -lm
  found=$("$dir/power")
  printf '%-40s %s of 100000 differ\n' "$*" "$found"
  case $expected in none) [ "$found" = 0 ] ;; *) [ "$found" -gt 0 ] ;; esac || { echo "CHANGED: expected $expected"; exit 1; }
}
gcc --version | head -n 1
clang-14 --version | head -n 1
row none gcc -O0
row none gcc -O1
row some gcc -O2
row some gcc -Os
row some gcc -O2 -DATTRIBUTE
row none gcc -O2 -fno-builtin
row none clang-14 -O0
row some clang-14 -O1
row some clang-14 -O2
row none clang-14 -O2 -fno-builtin
echo "as described"
