# dq-cc: C that compiles without a warning, gives the bits of dq-run, and says what it needs.
load common
load pictures

setup() {
  own_folder
  dq-int8 "$models/small.onnx" --data "npy:$x" -o int8.onnx -q >/dev/null
}

strict="-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"

@test "what --verify writes includes its own header, under any name" {
  for words in "-o other.c" "-o other.c --header own.h"; do
    rm -f ./*.h other.*
    gives 0 dq-cc "$models/small.onnx" $words --verify
    cc -std=c99 -c other.c -o other.o
  done
}

@test "the C of float and 8-bit networks gives the bits of dq-run" {
  for model in small shared two_inputs strange_names odd_weights qoperator channels_last tiny; do
    gives 0 dq-cc "$models/$model.onnx" -o net.c --verify --compiler-flags "$strict"
    has "Elements that differ: 0"
    gives 0 dq-cc "$models/$model.onnx" -o net.c --verify --compiler-flags "-std=c99 -O0"
    has "Elements that differ: 0"
  done
  for level in 0 1 3 s; do
    gives 0 dq-cc int8.onnx -o net.c --verify --data "npy:$x" --compiler-flags "-std=c99 -O$level"
    has "Pictures compared:    6"
    has "Elements that differ: 0"
    has "of these in float:    0"
  done
}

@test "float16 gives the bits of dq-run, its constants stored as bits" {
  cat >half.model <<'END'
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
b = Sigmoid a
c = Conv b w(5,4,1,1)
output c -1 5 8 8
END
  make_models --describe half.model float.onnx
  gives 0 dq-amp float.onnx -o half.onnx
  gives 0 dq-cc half.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
  grep -q "^static const uint16_t" net.c
}

@test "as C++, with nothing of the C library but memcpy and memset" {
  gives 0 dq-cc int8.onnx -o net.c
  gives 0 gcc -std=c99 -O2 -c net.c -o net.o
  gives 0 nm -u net.o
  run -1 grep -vE '^ +U (memcpy|memset)$|^$' <<<"$output"
  if ! command -v g++ >/dev/null; then skip "g++ is not installed"; fi
  gives 0 g++ -x c++ $(sed 's/-std=c99//' <<<"$strict") -c net.c -o net.o
}

@test "clang" {
  if ! command -v clang >/dev/null; then skip "clang is not installed"; fi
  export CC=clang
  gives 0 dq-cc int8.onnx -o net.c --verify --compiler-flags "$strict"
  gives 0 dq-cc "$models/small.onnx" -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "sanitizers find nothing in what the C does" {
  for model in int8.onnx "$models/small.onnx"; do
    gives 0 dq-cc "$model" -o net.c --verify \
      --compiler-flags "-std=c99 -O1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    has "Elements that differ: 0"
  done
}

@test "the SIMD instructions of Armv7E-M give the same bits, where they can be run" {
  gives 0 dq-cc int8.onnx -o net.c --target dsp
  if ! installed arm-linux-gnueabihf-gcc qemu-arm; then skip "no compiler or emulator for Arm is installed"; fi
  export CC="arm-linux-gnueabihf-gcc -mcpu=cortex-a7 -mfpu=neon-vfpv4"
  for level in 0 2 3 s; do
    gives 0 dq-cc int8.onnx -o net.c --target dsp --verify --compiler-flags "-std=c99 -O$level" \
      --run "qemu-arm -L /usr/arm-linux-gnueabihf"
    has "Elements that differ: 0"
  done
}

@test "loops for few registers and products of 32 bits, as on Armv6-M, give the same bits" {
  for model in int8.onnx "$models/odd_weights.onnx" "$models/qoperator.onnx"; do
    gives 0 dq-cc "$model" -o net.c --verify --compiler-flags "$strict -U__SSE2__ -U__ARM_NEON -D__thumb__"
    has "Elements that differ: 0"
  done
}

@test "channels, pixels and kernels that do not fill blocks, in both types of activations" {
  cat >shapes.model <<'END'
input x -1 6 9 7
a = Conv x w(10,3,3,3) b(10) group=2 pads=1,1,1,1
b = Relu a
c = Conv b w(10,1,3,3) b(10) group=10 strides=2,2 pads=1,0,1,1
d = Conv c w(18,10,1,1) b(18)
e = Conv d w(18,1,3,3) group=18 pads=2,1,0,2
f = Relu e
g = Conv f w(7,18,1,1) b(7)
h = Conv g w(6,7,3,2) b(6) dilations=1,2 pads=1,1,1,1
i = Conv h w(12,1,3,3) group=6 strides=1,2 pads=1,1,1,1
j = Conv i w(14,6,2,2) group=2
output j
END
  make_models --describe shapes.model shapes.onnx
  make_models --array shapes.npy 8 6 9 7
  for type in u8 s8; do
    gives 0 dq-int8 shapes.onnx --data npy:shapes.npy --activations $type --all-int8 -o shapes8.onnx
    for flags in "" $(grep -qs avx2 /proc/cpuinfo && echo -mavx2) "-U__SSE2__ -U__ARM_NEON -D__thumb__"; do # two at least
      gives 0 dq-cc shapes8.onnx -o net.c --verify --data npy:shapes.npy \
        --compiler-flags "$strict -fsanitize=address,undefined -fno-sanitize-recover=all $flags"
      has "Elements that differ: 0"
    done
    if ! installed arm-linux-gnueabihf-gcc qemu-arm; then continue; fi
    CC="arm-linux-gnueabihf-gcc -mcpu=cortex-a7 -mfpu=neon-vfpv4" gives 0 dq-cc shapes8.onnx -o net.c --target dsp \
      --verify --data npy:shapes.npy --run "qemu-arm -L /usr/arm-linux-gnueabihf"
    has "Elements that differ: 0"
  done
}

@test "large arrays of 8 bits are words of 64, whose bytes are the elements on every machine" {
  cat >large.model <<'END'
input x -1 64 3 3
a = Conv x w(67,64,1,1)
b = Conv a w(61,67,1,1)
output b
END
  make_models --describe large.model large.onnx
  make_models --array large.npy 4 64 3 3
  # As they are, and as a constant that is an output.
  cat >whole.model <<'END'
input x 1 64
z = Cast s(3.0) to=3
v = QuantizeLinear w(67,65) s(0.01) z
y = Gemm x w(64,8)
output y 1 8
output v 67 65
END
  make_models --describe whole.model whole.onnx
  gives 0 dq-int8 large.onnx --data npy:large.npy --all-int8 -o large8.onnx
  compare() {
    gives 0 dq-cc large8.onnx -o net.c --verify --data npy:large.npy --compiler-flags "$strict" "$@"
    has "Elements that differ: 0"
    grep -q '^static const uint64_t net_1_c0\[536\]' net.c # 67 * 64 elements, 8 a word
    run -1 grep -q '^static const int8_t net_[0-9]*_c[0-9]\[[0-9]\{4\}' net.c
    gives 0 dq-cc whole.onnx -o net.c --verify --compiler-flags "$strict" "$@"
    has "Elements that differ: 0"
    grep -q '^static const uint64_t net_[0-9]*_c0\[548\]' net.c # 67 * 65 elements, 32 a line of whole words
  }
  compare
  if command -v g++ >/dev/null; then gives 0 g++ -x c++ $(sed 's/-std=c99//' <<<"$strict") -c net.c -o net.o; fi
  if ! installed s390x-linux-gnu-gcc qemu-s390x; then skip "no compiler or emulator for s390x is installed"; fi
  CC=s390x-linux-gnu-gcc compare --run "qemu-s390x -L /usr/s390x-linux-gnu"
}

@test "QuantizeLinear around all its ties, of infinities, NaN, zeros and the least numbers" {
  command -v python3 >/dev/null || skip "no python3 to write the numbers with"
  cat >quantize.model <<'END'
input x -1 4096
z = Cast s(3.0) to=3
q = QuantizeLinear x s(0.0235) z
y = DequantizeLinear q s(0.0235) z
u = QuantizeLinear x s(0.00392156886)
v = DequantizeLinear u s(0.00392156886)
output y -1 4096
output v -1 4096
END
  make_models --describe quantize.model quantize.onnx
  python3 - <<'END'
import struct
def bits(value): return struct.unpack('<I', struct.pack('<f', value))[0]
values = [0x7fc00000, 0xffc00000, 0x7f800000, 0xff800000, 0x80000000, 0, 1, 0x80000001, 0x7f7fffff]
for scale in (0.0235, 0.00392156886):
    for level in range(-258, 259):
        tie = bits((level + 0.5) * scale)
        values += [tie - 1, tie, tie + 1]
values += [0] * (8192 - len(values))
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4096), }".ljust(117) + '\n'
with open('near.npy', 'wb') as to:
    to.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<8192I', *values))
END
  gives 0 dq-cc quantize.onnx -o net.c --verify --data npy:near.npy --compiler-flags "$strict"
  has "Elements that differ: 0"
  grep -q "dq_level" net.c
  if ! installed arm-linux-gnueabihf-gcc qemu-arm; then skip "no compiler or emulator for Arm is installed"; fi
  export CC="arm-linux-gnueabihf-gcc -mcpu=cortex-a7 -mfpu=neon-vfpv4"
  gives 0 dq-cc quantize.onnx -o net.c --target dsp --verify --data npy:near.npy \
    --run "qemu-arm -L /usr/arm-linux-gnueabihf"
  has "Elements that differ: 0"
  grep -q "dq_near" net.c
}

@test "sums, differences and products of all pairs of bytes, exact, corrected and in float" {
  command -v python3 >/dev/null || skip "no python3 to write the numbers with"
  for type in uint8 int8; do
    python3 - $type <<'END'
import struct, sys
first = -128 if sys.argv[1] == 'int8' else 0
head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 256), }".ljust(117) + '\n'
with open('all.npy', 'wb') as to:
    to.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode())
    to.write(struct.pack('<256f', *range(first, first + 256)))
END
    while read -r operator forms a b y; do
      zero=$([ $type = int8 ] && echo 3 || echo 2) # the number of the type in ONNX
      cat >pairs.model <<END
input x 1 256
o = Cast s(0.0) to=$zero
z = Cast s(7.0) to=$zero
v = QuantizeLinear x s(1.0) o
w = Reshape v i(256,1)
c = DequantizeLinear v s($a) z
d = DequantizeLinear w s($b) z
e = $operator c d
q = QuantizeLinear e s($y) z
output q 256 256
END
      make_models --describe pairs.model pairs.onnx
      gives 0 dq-cc pairs.onnx -o net.c --verify --data npy:all.npy --compiler-flags "$strict"
      has "Elements compared:    65536"
      has "Elements that differ: 0"
      if [ $type = int8 ]; then continue; fi # other zero points have other forms
      if [ $forms = float ]; then
        has "of these in float:    1"
        continue
      fi
      has "of these in float:    0"
      count=$(sed -nE 's/^Sums corrected: +//p' <<<"$output")
      if [ $forms = exact ]; then [ "$count" -eq 0 ]; else [ "$count" -gt 0 ]; fi
    done <<'END'
Add exact 0.0182931 0.0503809 0.0234412
Add corrected 0.02565 0.01443 0.07898
Add corrected 0.02662 0.08543 0.09234
Add float 0.0078125 0.00390625 0.01
Sub exact 0.0235294 0.0117131 0.0310773
Sub corrected 0.03166 0.04030 0.07776
Sub corrected 0.06958 0.03704 0.08160
Sub float 0.0078125 0.00390625 0.01
Mul exact 0.0314159 0.0271828 0.0161803
Mul corrected 0.0078125 0.00390625 0.01
END
  done
}

@test "bits that differ are status 1, and C that cannot be compiled or run is 5" {
  CC=true gives 5 dq-cc int8.onnx -o net.c --verify
  has "the program of the emitted C did not run: the command ended with exit status 127 (command not found)"
  gives 5 dq-cc int8.onnx -o net.c --verify --run false
  has "the program of the emitted C did not run: the command ended with exit status 1"
  CC=false gives 5 dq-cc int8.onnx -o net.c --verify
  has "the emitted C could not be compiled by 'false -std=c99 -O2'"
  gives 5 dq-cc int8.onnx -o net.c --verify --run no-such-emulator
  has "the program of the emitted C did not run"
  cat >wrong <<'END'
#!/bin/sh
"$@" && printf '\001\002\003' | dd of="$3" bs=1 seek=4 conv=notrunc status=none
END
  chmod +x wrong
  gives 1 dq-cc int8.onnx -o net.c --verify --run "$PWD/wrong"
  has "elements differ from dq-run, first in output 'y' of sample 0"
  has "Elements that differ: 1"
}

@test "the file that --run gets has the numbers of the inputs and nothing else" {
  gives 0 dq-cc int8.onnx -o net.c --verify --run "$root/docs/guide/images/keep-input $PWD/samples"
  elements=$(sed -nE 's/^#define NET_X_ELEMENTS ([0-9]+)/\1/p' net.h)
  [ "$(wc -c <samples)" -eq $((8 * 4 * elements)) ] # eight samples of float32
}

@test "what a caller needs is what the header says" {
  gives 0 dq-cc int8.onnx -o folder.c --name tiny --json -
  grep -qF '"title": "C of int8.onnx"' <<<"$output"
  grep -q '"arena_bytes"' <<<"$output"
  arena=$(sed -nE 's/.*"arena_bytes": ([0-9]+).*/\1/p' <<<"$output" | head -1)
  grep -qx "#define TINY_ARENA_BYTES $arena" folder.h
  grep -q "^int tiny_run(const float \*in_x, float \*out_y, void \*arena);" folder.h
  gives 0 gcc -std=c99 -O2 -c folder.c -o folder.o
  constants=$(sed -nE 's/#define TINY_CONSTANT_BYTES ([0-9]+)/\1/p' folder.h)
  rodata=$(size -A folder.o | awk '/^\.rodata/ { n += $2 } END { print n }')
  data=$(size -A folder.o | awk '/^\.(data|bss)/ { n += $2 } END { print n + 0 }')
  [ "$data" -eq 0 ]
  gives 0 dq-cc "$models/qoperator.onnx" -o ports.c -q # x and y are scaled by 0.5 with the zero point 3
  for line in X_TYPE.float X_SCALE.0.5f X_ZERO_POINT.3 Y_TYPE.float Y_SCALE.0.5f Y_ZERO_POINT.3; do
    grep -qx "#define NET_$line" ports.h
  done
  gives 0 dq-cc "$models/small.onnx" -o ports.c -q
  grep -qx "#define NET_X_TYPE float" ports.h
  run -1 grep -E "SCALE|ZERO_POINT" ports.h
  ((rodata >= constants && rodata <= constants + 64 * 32))
  cp folder.c first.c
  gives 0 dq-cc int8.onnx -o folder.c --name tiny -q --threads 2 --cpu-mask c
  cmp first.c folder.c
}

@test "constants in a file of their own" {
  for model in int8.onnx "$models/small.onnx"; do
    gives 0 dq-cc "$model" -o net.c --weights-file net.bin --verify --compiler-flags "$strict"
    has "Elements that differ: 0"
    run -1 grep -q "^static const" net.c
    gives 0 gcc -std=c99 -O2 -c net.c -o net.o
    gives 0 dq-cc "$model" -o arrays.c
    [ "$(wc -c <net.c)" -lt "$(wc -c <arrays.c)" ]
  done
  gives 2 dq-cc int8.onnx -o net.c --weights-file 'a"b'
  has "--weights-file is 'a\"b', and the C names it: expected a file name without quotes"
  cat >large.model <<'END'
input x 1 4000
y = Gemm x w(4000,2200)
output y 1 2200
END
  make_models --describe large.model large.onnx
  gives 4 dq-cc large.onnx -o net.c # the command line would do for a smaller network
  has "35200000 bytes of constants are too many for arrays in C"
  has "hint: --weights-file FILE puts them into a file of their own"
  gives 0 dq-cc large.onnx -o net.c --weights-file net.bin --verify
  has "Elements that differ: 0"
}

@test "names of inputs and outputs become names in C, and names that collide get a number" {
  cat >names.model <<'END'
input a-b 1 4
input a_b 1 4
input A_B 1 4
input while 1 4
input 9x 1 4
input größe 1 4
input int8_t 1 4
input INT8_MAX 1 4
input ARENA 1 4
input constant 1 4
input net_run 1 4
input dq_scale 1 4
input block 1 4
s = Add a-b a_b
t = Add while 9x
u = Add größe int8_t
v = Add INT8_MAX ARENA
w = Add constant net_run
x = Add dq_scale block
z = Sum s t u v w x A_B
auto = Relu z
p*/q/*r**/s = Relu auto
output auto 1 4
output p*/q/*r**/s 1 4
output z 1 4
END
  make_models --describe names.model names.onnx
  gives 0 dq-cc names.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
  grep -q '^/\* "a-b": float32 1x4 \*/$' net.h
  grep -q 'const float \*in_a_b, const float \*in_v0_a_b, const float \*in_v1_' net.h
  grep -q 'const float \*in_v_while, const float \*in_v_9x, const float \*in_gr____e,' net.h
  if command -v g++ >/dev/null; then gives 0 g++ -x c++ $(sed 's/-std=c99//' <<<"$strict") -c net.c -o net.o; fi
}

@test "several inputs and outputs, none, and inputs in float16" {
  for model in two_inputs sides gained words; do
    gives 0 dq-cc "$models/$model.onnx" -o net.c --verify --compiler-flags "$strict"
    has "Elements that differ: 0"
  done
  gives 0 dq-cc "$models/no_inputs.onnx" -o net.c --verify
  has "Elements that differ: 0"
  grep -q "^int net_run(float \*out_[a-z]*, void \*arena);" net.h
  gives 0 gcc $strict -c net.c -o net.o
  cat >half.model <<'END'
input x 1 3 4 4
a = Cast x to=10
b = Sigmoid a
c = Add b a
y = Cast c to=1
output y 1 3 4 4
output c 1 3 4 4
END
  make_models --describe half.model half.onnx
  gives 0 dq-cc half.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
  grep -q "uint16_t \*out_c," net.h
}

@test "a dimension of 0 gives C that computes nothing" {
  cat >empty.model <<'END'
input x 2 0 4
y = Relu x
z = ReduceSum x i(1) keepdims=0
output y 2 0 4
output z 2 4
END
  printf 'v = Mod x s(2) fmod=1\nu = InstanceNormalization t none none\nt = Transpose x perm=0,1,2\nnone = Slice f(1) i(1) i(1)\noutput u\n' >>empty.model
  sed -i 's/^t = .*/t = Reshape x i(2,0,4) allowzero=1/; 1i opset = 14' empty.model
  make_models --describe empty.model empty.onnx
  gives 0 dq-cc empty.onnx -o net.c
  grep -qx "#define NET_X_ELEMENTS 0" net.h
  gives 0 gcc $strict -c net.c -o net.o
  gives 0 dq-cc empty.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements compared:    64"
  has "Elements that differ: 0"
}

@test "every tenth case of the ONNX node suite has the C that docs/NODE_CASES.md says" {
  suite=${DQ_ASSETS:-$BATS_TEST_DIRNAME/../../../shared}/onnx-node
  if [ ! -d "$suite" ]; then skip "$suite is not there"; fi
  gives 0 "$BATS_TEST_DIRNAME/../conformance/emitted" "$(dirname "$models")" "$suite" --check 10
  has "55 passed, 0 failed"
}
