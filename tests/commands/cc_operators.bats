# dq-cc: the C of single operators gives the bits of dq-run, on all their attributes that have C.
load common

strict="-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"

# The C of tests/snapshots/NAME.model gives the bits of dq-run. What those are is recorded in attributes.txt beside it.
same_bits() {
  make_models --describe "$root/tests/snapshots/$1.model" net.onnx
  gives 0 dq-cc net.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "pools" { same_bits pools; }

@test "normalizations and softmax" { same_bits normalizations; }

@test "reductions" { same_bits reductions; }

@test "products, and what moves or chooses elements" { same_bits moved; }

@test "elementwise" { same_bits elementwise; }

@test "comparisons, bits, and all others" { same_bits rest; }

@test "convolutions of many geometries and what follows them, in 8 bits too" {
  same_bits convolutions
  make_models --array net.npy 5 6 9 11
  for type in u8 s8; do
    gives 0 dq-int8 net.onnx --data npy:net.npy --all-int8 --activations $type -o net8.onnx
    gives 0 dq-cc net8.onnx -o net.c --verify --data npy:net.npy --compiler-flags "$strict"
    has "Elements that differ: 0"
  done
}

@test "of 8 bits, between two activations too" {
  cat >net.model <<'END'
opset = 18
input x -1 4 8 6
a = Conv x w(6,4,3,3) b(6) pads=1,1,1,1
b = Relu a
c = AveragePool b kernel_shape=3,2 strides=2,1
d = MaxPool b kernel_shape=3,2 strides=2,1 
e = Add c d
f = Transpose e perm=0,1,3,2
g = MatMul e f
h = Softmax g axis=-1
i = MatMul h e
j = GlobalAveragePool i
k = Flatten j axis=1
l = Gemm k w(7,6) b(7) transB=1
m = Resize b - f(1,1,2,2) mode=nearest
n = Conv m w(3,6,1,1) b(3)
o = Sigmoid n
p = Mul o n
q = Concat p p axis=1
r = Pad q i(0,0,1,0,0,0,0,2)
s = Conv r w(2,6,2,2)
t = ConvTranspose b w(6,2,2,2) strides=2,2
output l
output s
output t
END
  make_models --describe net.model net.onnx
  make_models --array net.npy 5 4 8 6
  for type in u8 s8; do
    gives 0 dq-int8 net.onnx --data npy:net.npy --activations $type --method minmax --equalize off --bias-correction off -o net8.onnx
    gives 0 dq-cc net8.onnx -o net.c --verify --data npy:net.npy --compiler-flags "$strict"
    has "Elements that differ: 0"
    grep -qE "^Sums corrected: +[1-9]" <<<"$output"
  done
}

@test "pools and normalizations in float16, LeakyRelu behind a convolution in it, maxima of 0 and -0" {
  same_bits halves
  cat >leaky.model <<'END'
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
b = LeakyRelu a alpha=0.1
c = Conv b w(5,4,1,1)
output c -1 5 8 8
END
  make_models --describe leaky.model float.onnx
  gives 0 dq-amp float.onnx -o leaky.onnx
  gives 0 dq-cc leaky.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "machines that compute in types wider than float give the same bits" {
  if [[ $(uname -m) != x86_64 ]]; then skip "the C compiler has no option for such a unit"; fi
  cat >wide.model <<'END'
input x -1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
b = Tanh a
d = HardSigmoid b alpha=0.3 beta=0.4
e = Softsign d
f = LeakyRelu a alpha=0.1
g = Sigmoid f
h = Erf a
i = Mish h
j = Elu i alpha=0.7
k = Gelu a
l = Tan a
m = Asin g
n = Acos g
o = Atan a
p = Sinh a
q = Cosh a
r = Asinh a
s = Acosh q
t = Atanh g
output e -1 4 8 8
output j -1 4 8 8
output k -1 4 8 8
output l -1 4 8 8
output m -1 4 8 8
output n -1 4 8 8
output o -1 4 8 8
output p -1 4 8 8
output r -1 4 8 8
output s -1 4 8 8
output t -1 4 8 8
END
  sed -i '1i opset = 20' wide.model
  make_models --describe wide.model wide.onnx
  gives 0 dq-cc wide.onnx -o net.c --verify --compiler-flags "$strict -mfpmath=387"
  has "Elements that differ: 0"
}

@test "products, convolutions and QuantizeLinear with computed scales and zero points" {
  same_bits computed
}

@test "Resize by cubics, antialiased, of regions, along three axes, in float16 and float64" {
  same_bits resized
}

@test "GridSample in all its modes, over two and three axes" {
  same_bits sampled
  if ! command -v clang >/dev/null; then skip "clang is not installed"; fi
  CC=clang gives 0 dq-cc net.onnx -o net.c --verify --compiler-flags "$strict"
}

@test "functions of the C library whose calls compilers replace give the bits of dq-run at all levels" {
  cat >library.model <<'END'
opset = 20
input x -1 4 16 16
a = Abs x
d = Cast x to=11
da = Abs d
two = Pow x s(2)
twos = Pow x f(2,1,0.5,-1,3,2,2,0.25,-2,1,2,0,-0.5,4,5,2)
cube = Pow x s(3)
inverse = Pow x s(-1)
itself = Pow x s(1)
root = Pow a s(0.5)
third = Pow a s(0.33333334)
two64 = Pow d s(2)
three64 = Pow d i(3)
mixed64 = Pow da f(-1,0.5,1,2,0.5,0.5,2,2,-1,-1,1,1,0,2,2,3)
whole = Pow x i(2)
h = Cast x to=10
s16 = Cast s(2) to=10
square16 = Pow h s16
exp2 = Pow s(2) x
exp10 = Pow s(10) x
power = Pow a x
r = Round x
edges = Pow f(0,-0,inf,-inf,nan,1,-1,4,-4,0.5,1e-40,-1e-40,3e38,-3e38,1e30,7) r
n = Cast r to=7
integers = Pow n s(2)
ls = LRN x size=3 beta=0.5 alpha=0.1
lt = LRN x size=3 beta=0.75
lu = LRN x size=3 beta=2.0
lone = LRN x size=3 beta=1.0
pool = LpPool x kernel_shape=3,3 p=2
pool3 = LpPool x kernel_shape=2,3 p=3
pool64 = LpPool d kernel_shape=3,3 p=2
all2 = GlobalLpPool x p=2
all3 = GlobalLpPool d p=3
e = Exp d
l = Log da
ra = ReduceLogSumExp x i(2)
rb = ReduceLogSum a i(3)
sm = LogSoftmax d axis=2
sp = Softplus x
mi = Mish x
ge = Gelu d
gt = Gelu x approximate=tanh
el = Elu x alpha=0.7
er = Erf x
sa = Sin x
sb = Cos x
sc = Sin d
ta = Tan x
th = Tanh d
sh = Sinh x
ch = Cosh x
as = Asinh x
at = Atan x
lo = Log a
output two
output twos
output cube
output inverse
output itself
output root
output third
output two64
output three64
output mixed64
output whole
output square16
output exp2
output exp10
output power
output edges
output integers
output ls
output lt
output lu
output lone
output pool
output pool3
output pool64
output all2
output all3
output e
output l
output ra
output rb
output sm
output sp
output mi
output ge
output gt
output el
output er
output sa
output sb
output sc
output ta
output th
output sh
output ch
output as
output at
output lo
END
  make_models --describe library.model library.onnx
  for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then continue; fi
    for flags in -O0 -O1 "-O2 -Wall -Wextra -Wpedantic -Werror" "-O3 -march=native" -Os "-O2 -std=gnu17 -march=native"; do
      CC=$compiler gives 0 dq-cc library.onnx -o net.c --verify --compiler-flags "-std=c99 $flags"
      has "Elements that differ: 0"
    done
  done
  grep -qF "= x * x;" net.c
}

@test "products of quantized values that all lie at one end of the integers" {
  for zeros in "0 255 0" "0 0 255" "255 255 255" "255 0 0"; do
    read -r a b y <<<"$zeros"
    cat >ends.model <<END
input x 1 64
w = Reshape x i(64,1)
za = Cast s($a) to=2
zb = Cast s($b) to=2
zy = Cast s($y) to=2
u = QuantizeLinear x s(0.02) za
v = QuantizeLinear w s(0.02) zb
c = DequantizeLinear u s(0.0085) za
d = DequantizeLinear v s(0.037) zb
e = Mul c d
q = QuantizeLinear e s(0.0078) zy
output q
END
    make_models --describe ends.model ends.onnx
    gives 0 dq-cc ends.onnx -o net.c --verify --compiler-flags "$strict"
    has "Elements that differ: 0"
  done
}

@test "bounds of Clip that cross, behind a convolution" {
  cat >crossed.model <<END
opset = 9
input x 1 3 8 8
a = Conv x w(4,3,3,3) b(4) pads=1,1,1,1
b = Clip a min=0.5 max=-0.25
output b
END
  make_models --describe crossed.model crossed.onnx
  gives 0 dq-cc crossed.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "each function of one value declares what it calls" {
  for operator in Elu Selu Celu Softplus Erf Gelu Mish Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Exp Sigmoid Tanh Log Sqrt; do
    printf 'opset = 20\ninput x 1 64\ny = %s x\noutput y\n' "$operator" >alone.model
    make_models --describe alone.model alone.onnx
    gives 0 dq-cc alone.onnx -o net.c
    gives 0 gcc $strict -c net.c -o net.o
  done
}
