# dq-cc: constants, names and files of any kind, and files that belong together.
load common

setup() {
  own_folder
  dq-int8 "$models/small.onnx" --data "npy:$x" -o int8.onnx -q >/dev/null
}

strict="-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"

@test "constants of all types at the ends of their range, NaN, infinities and zeros of both signs" {
  cat >ends.model <<'END'
opset = 18
input x -1 8
d = Cast x to=11
w64 = Cast f(nan,inf,-inf,-0,0,1e-45,-3.4028235e38,1) to=11
w32 = Identity f(nan,inf,-inf,-0,0,1e-45,-3.4028235e38,1)
w16 = Cast f(nan,inf,-inf,-0,6e-8,65504,-65504,1) to=10
h = Cast x to=10
a = Div d w64
b = Div x w32
c = Div h w16
l = Cast x to=7
m = Add l i(-9223372036854775808,9223372036854774784,0,1,-1,2,3,4)
lo = Cast x to=6
i32 = Cast i(-2147483648,2147483647,0,1,-1,2,3,4) to=6
n = Add lo i32
u = Cast x to=13
u64 = Cast f(1.8446743e19,0,1,2,3,4,5,6) to=13
o = Max u u64
v = Cast x to=12
u32 = Cast f(4294967040,0,1,2,3,4,5,6) to=12
p = Max v u32
e = Elu d alpha=1.0e39
f = LeakyRelu x alpha=-0.0
g = HardSigmoid x alpha=1.0e39 beta=-1.0e39
q = Clip x s(-inf) s(nan)
r = Pad x i(0,1,0,2) s(nan)
s = Pad d i(0,1,0,2) minus
minus = Cast s(-inf) to=11
t = LRN pic size=1 bias=1.0e39
pic = Reshape d i(-1,2,2,2)
output a
output b
output c
output m
output n
output o
output p
output e
output f
output g
output q
output r
output s
output t
output w64
output u64
output u32
END
  make_models --describe ends.model ends.onnx
  for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then continue; fi
    CC=$compiler gives 0 dq-cc ends.onnx -o net.c --verify --compiler-flags "-std=c99 -O2 -Wall -Wextra -Wpedantic -Werror"
    has "Elements that differ: 0"
  done
}

@test "taps of a kernel that see padding alone leave no unused variable" {
  cat >padded.model <<'END'
input x 1 2 1 3
a = Conv x w(3,2,1,3) pads=0,1,0,1
b = Conv x w(3,2,3,5) b(3) pads=1,4,1,4 strides=1,5
c = Conv x w(2,1,1,1) group=2 pads=0,1,0,1 strides=1,4
d = Conv x w(3,2,1,11) pads=0,5,0,5 dilations=1,1
output a
output b
output c
output d
END
  make_models --describe padded.model padded.onnx
  gives 0 dq-cc padded.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "names of macros and of what headers of the C library declare, in C and C++" {
  names="linux unix MAXFLOAT NET_ARENA_BYTES errno EOF I stdin assert isnan y0 j1 template co_await near far"
  { for name in $names; do echo "input $name 1 4"; done
    echo "sum = Sum $names"
    for name in $names; do echo "out_$name = Mul sum $name"; done
    for name in $names; do echo "output out_$name 1 4"; done; } >names.model
  make_models --describe names.model names.onnx
  for standard in c99 gnu99 gnu17; do
    gives 0 dq-cc names.onnx -o net.c --verify --compiler-flags "-std=$standard -O1 -Wall -Wextra -Werror"
    has "Elements that differ: 0"
  done
  headers="stdio errno assert math complex signal unistd"
  { for header in $headers; do echo "#include <$header.h>"; done
    printf '#define arena 1\n#define near 2\n#define far 3\n#undef arena\n#include "net.h"\n'; } >after.c
  gives 0 gcc -std=gnu17 -Wall -Wextra -Werror -c after.c -o after.o
  if command -v g++ >/dev/null; then gives 0 g++ -x c++ -Wall -Wextra -Werror -c <(grep -v complex after.c) -I. -o after.o; fi
}

@test "--verify keeps its own files apart from those of any name" {
  mkdir one two
  for words in "--weights-file main.c" "--header main.c" "--header net.c" "--header inputs" "--weights-file net.c" \
    "--header one/same --weights-file two/same" "--header program.c" "--weights-file program"; do
    gives 0 dq-cc int8.onnx -o net.out $words --verify
    has "Elements that differ: 0"
  done
  mkdir "a'b \$(touch here)"
  TMPDIR="$PWD/a'b \$(touch here)" gives 0 dq-cc int8.onnx -o net.c --verify
  [ ! -e here ]
  gives 0 dq-cc int8.onnx -o net.c --verify --compiler-flags "$(printf -- '-DA%s ' {1..900}) -std=c99 -DLAST"
  gives 5 dq-cc int8.onnx -o net.c --verify --compiler-flags "$(printf -- '-DA%s ' {1..900}) -no-such-flag"
}

@test "header, source and weights of two runs are not mixed up" {
  for model in int8.onnx "$models/small.onnx"; do dq-cc $model -o $(basename $model .onnx).c --header net.h --weights-file net.bin -q; done
  run -1 gcc -std=c99 -c int8.c -o int8.o
  has "the header is of another run of dq-cc"
  cat >main.c <<'END'
#include "net.h"
#include <stdalign.h>
static float x[NET_X_ELEMENTS], y[NET_Y_ELEMENTS];
static alignas(16) char arena[NET_ARENA_BYTES + 1];
int main(void) { return net_run(x, y, arena); }
END
  dq-cc int8.onnx -o net.c --weights-file net.bin -q
  gcc -std=c11 net.c main.c -o right -lm
  ./right
  cp net.bin kept
  dq-cc "$models/small.onnx" -o other.c --weights-file net.bin -q
  gcc -std=c11 net.c main.c -o wrong -lm
  run -2 ./wrong
  head -c 64 kept >net.bin
  gcc -std=c11 net.c main.c -o short -lm
  run -2 ./short
}

@test "a closed terminal ends the compiler and leaves no folder" {
  local ignored
  ignored=$(sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status)
  if ((0x$ignored & 1)); then skip "SIGHUP is ignored here, as under nohup"; fi
  mkdir tmp
  printf '#!/bin/sh\necho $$ >"%s/started"\nsleep 60\n' "$PWD" >slow
  chmod +x slow
  for signal in HUP TERM; do
    rm -f started
    TMPDIR=$PWD/tmp CC=$PWD/slow dq-cc int8.onnx -o net.c --verify >log 2>&1 3>&- &
    for _ in {1..100}; do [ -s started ] && break; sleep 0.05; done
    kill -$signal $!
    status=0
    wait $! || status=$?
    [ "$status" -eq 130 ]
    rmdir tmp # nothing is in it
    mkdir tmp
    process=$(cat started)
    if [ -e "/proc/$process" ]; then grep -q "^State:.*Z" "/proc/$process/status"; fi
  done
}
