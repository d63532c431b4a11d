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
