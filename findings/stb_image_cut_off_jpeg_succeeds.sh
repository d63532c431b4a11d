#!/usr/bin/env bash
# stb_image from 2.28 on returns a whole picture, and a reason of failure, for a JPEG of which half is missing
#
# Guessed: a release with "many error fixes" refuses more files than the one before, never fewer, and a function that
#   returns pixels has succeeded.
# Happens: 2.27 returns NULL wherever a baseline JPEG is cut off. 2.30 returns pixels for 95 % of the cuts, the missing
#   rows in one grey, with the same width and height. Mostly stbi_failure_reason is set then, though documented for
#   failures only; where the cut lies inside of a table it is not set either.
# Versions: libstb-dev 0.0~git20220908.8b5f1f3+ds-1 (Debian 12, stb_image 2.27) and 0.0~git20241109.5c20573+ds-1
#   (Debian 13, 2.30), both used here.
# Matters: downloads that were interrupted become pictures for training and calibration without any error; a program
#   that relied on NULL has to look for the marker of the end itself.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if ! dpkg -s gcc libc6-dev curl >"$dir/packages" 2>&1; then
  apt-get update -qq >"$dir/packages" 2>&1
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev curl >"$dir/packages" 2>&1
fi
cd "$dir"
cat >cut.c <<'C'
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image.h>
#include <stb/stb_image_write.h>
#include <stdio.h>
static unsigned char file[1 << 16];
static int size;
static void append(void *unused, void *data, int count) {
  (void)unused;
  memcpy(file + size, data, (size_t)count), size += count;
}
int main(void) {
  enum { SIDE = 64 };
  static unsigned char picture[SIDE * SIDE * 3];
  for (int i = 0; i < SIDE * SIDE * 3; i++) picture[i] = (unsigned char)(i * 7 + i / 191 * 13);
  stbi_write_jpg_to_func(append, NULL, SIDE, SIDE, 3, picture, 90);
  int whole = 0, cut = 0, silent = 0, width, height, channels;
  for (int length = 0; length <= size; length++) {
    stbi__g_failure_reason = NULL;
    stbi__context context;
    stbi__result_info info;
    stbi__start_mem(&context, file, length);
    unsigned char *pixels = stbi__jpeg_load(&context, &width, &height, &channels, 0, &info);
    if (pixels && length == size) whole = 1;
    if (pixels && length < size - 2) cut++, silent += !stbi_failure_reason();
    free(pixels);
  }
  printf("%d %d %d %d\n", size, whole, cut, silent);
  return 0;
}
C
for version in 20220908.8b5f1f3 20241109.5c20573; do
  curl -sfL -o stb.deb "http://deb.debian.org/debian/pool/main/libs/libstb/libstb-dev_0.0~git$version+ds-1_amd64.deb" ||
    { echo "libstb-dev $version is not at deb.debian.org any more"; exit 1; }
  dpkg-deb -x stb.deb "$version"
  gcc -O2 -w -I"$version/usr/include" cut.c -o "cut-$version" -lm
  echo "libstb-dev 0.0~git$version+ds-1: stb_image $(sed -n 's/.*stb_image - v\([0-9.]*\).*/\1/p' "$version/usr/include/stb/stb_image.h" | head -n 1)"
done
read -r size whole cut silent <<<"$(./cut-20220908.8b5f1f3)"
echo "2.27: $cut of $size cuts give pixels"
read -r size_new whole_new cut_new silent_new <<<"$(./cut-20241109.5c20573)"
echo "2.30: $cut_new of $size_new cuts give pixels, $silent_new of them without a reason of failure"
if [ "$whole$whole_new" = 11 ] && [ "$cut" = 0 ] && [ $((cut_new * 10)) -gt $((size_new * 5)) ] && [ "$silent_new" -gt 0 ]; then
  echo "as stated"
else
  echo CHANGED
  exit 1
fi
