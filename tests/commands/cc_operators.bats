# dq-cc: the C of single operators gives the bits of dq-run, on all their attributes that have C.
load common

strict="-std=c99 -O2 -Wall -Wextra -Wpedantic -Wconversion -Werror"

# The network that standard input describes, each result of a node an output: its C gives the bits of dq-run.
same_bits() {
  cat >net.model
  sed -n 's/^\([a-z,]*\) = .*/\1/p' net.model | tr , '\n' | grep -v '^opset$' | sed 's/^/output /' >outputs
  cat outputs >>net.model
  make_models --describe net.model net.onnx
  gives 0 dq-cc net.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "pools" {
  same_bits <<'END'
opset = 18
input x 2 4 7 9
a = AveragePool x kernel_shape=3,2 strides=2,1 pads=1,0,1,1
b = AveragePool x kernel_shape=3,3 strides=2,2 pads=1,1,1,1 count_include_pad=1
c = AveragePool x kernel_shape=2,2 strides=2,2 ceil_mode=1 count_include_pad=1 pads=1,1,1,1
d = MaxPool x kernel_shape=3,2 strides=1,2 dilations=2,1 pads=1,0,0,1
e,ei = MaxPool x kernel_shape=2,3 strides=2,2 pads=0,1,1,1
f,fi = MaxPool x kernel_shape=2,3 storage_order=1
g = LpPool x kernel_shape=2,2 strides=2,2 p=1
h = LpPool x kernel_shape=2,3
i = LpPool x kernel_shape=3,3 strides=2,2 p=3 pads=1,1,1,1
j = GlobalAveragePool x
k = GlobalMaxPool x
w = Cast x to=11
wa = AveragePool w kernel_shape=3,3 pads=1,1,1,1
wb = MaxPool w kernel_shape=3,3 strides=2,2 pads=1,1,0,0
line = Reshape x i(2,4,63)
la = AveragePool line kernel_shape=3, strides=2,
lm = MaxPool line kernel_shape=4, strides=3, pads=1,2
cube = Reshape x i(2,4,7,3,3)
ca = AveragePool cube kernel_shape=3,2,2 strides=2,1,1 pads=1,0,0,0,1,1
cm = MaxPool cube kernel_shape=2,3,2 pads=1,1,0,0,1,1
cl = LpPool cube kernel_shape=2,3,2
END
}

@test "normalizations and softmax" {
  same_bits <<'END'
opset = 18
input x 2 4 5 3
input y 4 6
a = BatchNormalization x p(4) b(4) b(4) p(4)
b = InstanceNormalization x p(4) b(4)
c = GroupNormalization x p(2) b(2) num_groups=2
d,dm,di = LayerNormalization x p(5,3) b(5,3) axis=2
e = LayerNormalization x p(3) axis=-1
f = LayerNormalization x p(1) b(1) axis=1
g = MeanVarianceNormalization x
h = MeanVarianceNormalization x axes=1,
i = LpNormalization x axis=1
j = LpNormalization x axis=-1 p=1
k = LRN x size=3
l = LRN x size=2 beta=0.5 alpha=0.5 bias=2.0
m = Softmax x axis=1
n = LogSoftmax x axis=-1
o = Hardmax x axis=2
w = Cast x to=11
ws = Softmax w axis=2
END
}

@test "reductions" {
  same_bits <<'END'
opset = 18
input x 3 4 5 6
w = Cast x to=11
t = Mul x s(9)
n = Cast t to=7
m = Cast t to=6
ra = ReduceSum x i(1)
rb = ReduceMean x i(0,2) keepdims=0
rc = ReduceMax x i(3)
rd = ReduceMin x i(1,2)
re = ReduceProd x i(2)
rf = ReduceL1 x i(1)
rg = ReduceL2 x i(2,3)
p = Exp x
rh = ReduceLogSum p i(3)
ri = ReduceLogSumExp x i(1,3)
rj = ReduceSumSquare x
rk = ReduceMean w i(1,2)
rl = ReduceSum n i(2)
rm = ReduceMean n i(1)
rn = ReduceMax n i(3)
ro = ReduceMin m i(3)
rp = ReduceProd m i(1)
rq = ReduceL1 m i(2)
rr = ReduceSumSquare n i(1)
rs = ReduceLogSumExp w i(2)
aa = ArgMax x axis=1
ab = ArgMin x axis=2 keepdims=0 select_last_index=1
ac = ArgMax n axis=3 select_last_index=1

END
}

@test "products, and what moves or chooses elements" {
  same_bits <<'END'
opset = 20
input x 2 4 6 5
w = Cast x to=11
t = Mul x s(9)
n = Cast t to=7
u = Cast t to=2
ga = Gemm v p(4,5) p(4) transB=1 alpha=0.5 beta=2.0
v = Reshape x i(48,5)
gb = Gemm v v transA=1
mw = MatMul w z
z = Transpose w perm=0,1,3,2
mn = MatMul n nt
nt = Transpose n perm=0,1,3,2
xt = Transpose x perm=0,1,3,2
mx = MatMul x xt
pa = Pad x i(0,0,1,2,0,0,2,1) mode=reflect
pb = Pad x i(0,1,1,0,0,0,2,1) s(3)
pc = Pad x i(0,0,1,-1,0,0,0,2) mode=edge
pd = Pad x i(0,0,1,2,0,0,2,1) mode=wrap
sa = Resize x - f(1,1,2,2) mode=nearest
sb = Resize x - f(1,1,1.5,2) mode=linear
sc = Resize x - f(1,1,0.5,0.6) mode=linear coordinate_transformation_mode=align_corners
se = Resize x - - i(2,4,9,3) mode=nearest nearest_mode=ceil
ta,tb = TopK x i(2) axis=2
tc,td = TopK x i(3) largest=0
te,tf = TopK n i(2) axis=1
la = Tile x i(1,2,1,3)
oh = OneHot n i(12) f(-1,4) axis=1
da = DepthToSpace x blocksize=2
db = DepthToSpace x blocksize=2 mode=CRD
dc = SpaceToDepth x blocksize=1
ia,ib = Split x axis=2 num_outputs=2
na = ConvTranspose x w(4,3,3,2) b(3) strides=2,1 pads=1,0,0,1 output_padding=1,0
nb = ConvTranspose x w(4,2,2,3) group=2 dilations=1,2 auto_pad=SAME_UPPER strides=2,2
END
}

@test "elementwise" {
  same_bits <<'END'
opset = 20
input x 2 4 6 5
w = Cast x to=11
t = Mul x s(9)
n = Cast t to=7
u = Cast t to=2
oa = Mod x s(0.7) fmod=1
ob = Mod n i(4)
oc = Mod n i(-3) fmod=1
oe = Pow n i(3)
of = Div n i(2)
og = IsInf x detect_negative=0
oi = Gelu x
ca = Clip x s(-0.5) s(0.5)
cb = Clip x s(-0.5)
cc = Clip n i(-2) i(3)
fa = Cast u to=1
aa = LeakyRelu x alpha=0.3
ab = HardSigmoid x alpha=0.3 beta=0.4
ac = Elu x alpha=0.7
ad = Selu x
ae = ThresholdedRelu x alpha=0.3
ag = PRelu x p(4,1,1)
ah = Celu x alpha=0.5
ai = Shrink x bias=0.1 lambd=0.3
cu = CumSum x i(1)
cv = CumSum x i(2) exclusive=1 reverse=1
cw = CumSum n i(3) reverse=1
END
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
    gives 0 dq-int8 net.onnx --data npy:net.npy --activations $type -o net8.onnx
    gives 0 dq-cc net8.onnx -o net.c --verify --data npy:net.npy --compiler-flags "$strict"
    has "Elements that differ: 0"
    grep -qE "^Sums corrected: +[1-9]" <<<"$output"
  done
}

@test "pools and normalizations in float16, LeakyRelu behind a convolution in it, maxima of 0 and -0" {
  cat >pools.model <<'END'
input x 2 6 7 9
h = Cast x to=10
a = AveragePool h kernel_shape=3,2 pads=1,1,1,0 strides=2,1
b = AveragePool h kernel_shape=3,3 pads=1,1,1,1 count_include_pad=1
c = MaxPool h kernel_shape=3,3 pads=1,1,1,1 strides=2,2
d = MaxPool h kernel_shape=2,3 pads=0,0,1,2 ceil_mode=1 strides=3,2
e = GlobalAveragePool h
f = GlobalMaxPool h
g = GlobalLpPool h p=3
i = LpPool h kernel_shape=2,2 p=2
j = Softmax h axis=1
k = LogSoftmax h axis=3
l = Hardmax h axis=2
m = LRN h size=3
t = Mul x s(40)
u = Sin t
v = Mul u s(1.5)
w = Sub v s(0.5)
level = Ceil w
zero = Min s(0) level
n = MaxPool zero kernel_shape=3,3
zeros = Cast zero to=10
o = MaxPool zeros kernel_shape=5,5 pads=2,2,2,2
output a
output b
output c
output d
output e
output f
output g
output i
output j
output k
output l
output m
output n
output o
END
  make_models --describe pools.model pools.onnx
  gives 0 dq-cc pools.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
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
output e -1 4 8 8
output g -1 4 8 8
END
  make_models --describe wide.model wide.onnx
  gives 0 dq-cc wide.onnx -o net.c --verify --compiler-flags "$strict -mfpmath=387"
  has "Elements that differ: 0"
}

@test "products, convolutions and QuantizeLinear with computed scales and zero points" {
  cat >dynamic.model <<'END'
opset = 21
input x 2 4 7 9
input u 2 4 3 7 9
q,qs,qz = DynamicQuantizeLinear x
z = Cast s(3) to=3
w8 = QuantizeLinear w(6,4,3,3) s(0.01) z
c = ConvInteger q w8 qz z pads=1,0,1,1 strides=1,2
d = QLinearConv q qs qz w8 s(0.01) z s(0.3) qz
t = Transpose q perm=0,1,3,2
e = MatMulInteger q t qz qz
f = QLinearMatMul q qs qz t qs qz s(0.1) qz
g = QuantizeLinear x qs qz
h = DequantizeLinear g qs qz
k = QuantizeLinear x p(2,4,3,9) axis=2 block_size=3
l = DequantizeLinear k p(2,4,3,9) axis=2 block_size=3
m,ms,mz = DynamicQuantizeLinear u
n = ConvInteger m w9 mz z
w9 = QuantizeLinear w(5,4,2,3,2) s(0.01) z
output c
output d
output e
output f
output h
output l
output n
END
  make_models --describe dynamic.model dynamic.onnx
  gives 0 dq-cc dynamic.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "Resize by cubics, antialiased, of regions, along three axes, in float16 and float64" {
  cat >resize.model <<'END'
opset = 18
input x 2 3 7 9
input u 2 2 3 4 5
h = Cast x to=10
d = Cast x to=11
a = Resize x - f(1,1,1.3,0.7) mode=cubic
b = Resize x - f(1,1,0.6,0.4) mode=linear antialias=1
c = Resize x f(0,0,0.2,-0.3,1,1,0.8,1.2) f(1,1,2,1.5) mode=linear coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=1.7
e = Resize u - f(1,1,1.4,2.1,0.7) mode=linear
f = Resize h - f(1,1,1.5,2) mode=linear
g = Resize d - f(1,1,1.5,2) mode=cubic
i = Resize x - f(1,1,1.5,2) mode=linear
output a
output b
output c
output e
output f
output g
output i
END
  make_models --describe resize.model resize.onnx
  gives 0 dq-cc resize.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
}

@test "GridSample in all its modes, over two and three axes" {
  printf 'opset = 20\ninput x 2 3 7 9\ninput g 2 4 5 2\ninput u 2 2 3 4 5\ninput v 2 2 3 4 3\n' >grid.model
  i=0
  for mode in nearest linear cubic; do
    for padding in zeros border reflection; do
      for corners in 0 1; do
        i=$((i + 1))
        printf '%s\n' "y$i = GridSample x g mode=$mode padding_mode=$padding align_corners=$corners" "output y$i" >>grid.model
        if [[ $mode == cubic ]]; then continue; fi
        printf '%s\n' "z$i = GridSample u v mode=$mode padding_mode=$padding align_corners=$corners" "output z$i" >>grid.model
      done
    done
  done
  make_models --describe grid.model grid.onnx
  gives 0 dq-cc grid.onnx -o net.c --verify --compiler-flags "$strict"
  has "Elements that differ: 0"
  if ! command -v clang >/dev/null; then skip "clang is not installed"; fi
  CC=clang gives 0 dq-cc grid.onnx -o net.c --verify --compiler-flags "$strict"
}
