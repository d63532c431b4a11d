# The images of docs/guide/images: machines without an operating system print the lines of dq-run.
load common
export assets=${DQ_ASSETS:-$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)/shared}

# Ends the test where the compiler or the emulator is not installed.
needs() {
  local program
  for program; do command -v "$program" >/dev/null || skip "$program is not installed"; done
}

# in_assets PATH...: ends the test where a file of ../shared is not there; large networks are no part of the repository.
in_assets() {
  local path
  for path; do [ -e "$assets/$path" ] || skip "$assets/$path is not there (set DQ_ASSETS)"; done
}

# image MACHINE [VARIABLE=VALUE...]: builds and runs it in the current folder
image() {
  gives 0 make -s -C "$root/docs/guide/images/$1" check DQ="$build" OUT="$PWD/out" "${@:2}"
  has "$1: the 5 lines of dq-run"
}

@test "numbers of an image are those of printf" {
  cat >test.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "image.h"

int main(void) {
  static const float chosen[] = {0.0f, -0.0f, 1.0f, 0.1f, 999999.5f, 999998.5f, 9.99999e-5f, 0.0001f, 1e-45f, 3.4e38f,
                                 1048576.5f, 262144.5f, 1.0f / 0.0f, -1.0f / 0.0f, 100000.0f, 1e6f, -5.75392008f};
  uint32_t state = 1;
  for (int i = 0; i < 200000; i++) {
    char found[NUMBER_TEXT + 1], expected[32];
    float value;
    state = state * 1664525u + 1013904223u;
    uint32_t bits = state ^ state >> 15;
    if (i % 2) bits = (bits & 0x87ffffffu) | 0x38000000u; // of common size
    if (i < (int)(sizeof chosen / sizeof *chosen)) value = chosen[i];
    else memcpy(&value, &bits, sizeof value);
    if (value != value) continue;
    int length = number_text(value, found);
    snprintf(expected, sizeof expected, "%.6g", (double)value);
    if (strcmp(found, expected) || length != (int)strlen(expected)) return printf("%s, expected %s\n", found, expected);
  }
  puts("the same");
  return 0;
}
END
  local images=$root/docs/guide/images
  gives 0 gcc -std=c11 -O1 -Wall -Wextra -Wconversion -Werror -fsanitize=address,undefined -fno-sanitize-recover=all \
    -idirafter "$images" -o test test.c "$images/number.c"
  gives 0 ./test
  [ "$output" = "the same" ]
}

@test "the image for a Cortex-M4" {
  needs arm-none-eabi-gcc qemu-system-arm
  image cortex-m4
}

@test "the image for a Cortex-A53" {
  needs aarch64-linux-gnu-gcc qemu-system-aarch64
  image cortex-a53
}

@test "an image whose answer differs fails its check" {
  needs aarch64-linux-gnu-gcc qemu-system-aarch64
  image cortex-a53
  sed -i '2s/.$/0/' out/expected.txt
  gives 2 make -s -C "$root/docs/guide/images/cortex-a53" check DQ="$build" OUT="$PWD/out"
  has "< "
  gives 2 make -s -C "$root/docs/guide/images/cortex-a53" check DQ="$build" OUT="$PWD/out" EMULATOR=false
}

@test "resnet8 of MLPerf Tiny on a Cortex-M4" {
  needs arm-none-eabi-gcc qemu-system-arm
  in_assets models/mlperftiny_resnet8_cifar10.onnx data/cifar10
  local data=$assets/data/cifar10
  dq-int8 "$assets/models/mlperftiny_resnet8_cifar10.onnx" --data "cifar10:$data/calib_200.bin" --preset cifar-raw --limit 20 -o int8.onnx -q >/dev/null
  image cortex-m4 MODEL="$PWD/int8.onnx" PICTURE="cifar10:$data/test_1000.bin"
}

@test "MobileNetV2 on a Cortex-A53" {
  needs aarch64-linux-gnu-gcc qemu-system-aarch64
  in_assets models/mobilenetv2_100_224_deq_ptq.onnx data/imagenet
  local data=$assets/data/imagenet
  dq-int8 "$assets/models/mobilenetv2_100_224_deq_ptq.onnx" --data "$data/calib100.txt" --preset tf --limit 4 --method minmax --equalize off \
    --bias-correction off --rounding nearest -o int8.onnx -q >/dev/null
  image cortex-a53 MODEL="$PWD/int8.onnx" PICTURE="$data/val1to100.txt"
}
