"""The operators of random graphs: OPERATORS has (first opset, function that adds a node or more to a Graph)."""
import numpy as np

from random_graphs import ANY, FLOATS, INTEGERS

F32 = (np.float32,)
HALF = (np.float32, np.float16)
I32 = (np.int32, np.int64)
WIDE = FLOATS + (np.int32, np.int64, np.uint32, np.uint64)
OPERATORS = []


def row(since, make, times=1):
    OPERATORS.extend([(since, make)] * times)


def operator(since=7, times=1):
    def register(make):
        row(since, make, times)
        return make
    return register


def ints(*values):
    return np.array(values, np.int64)


# ---- One value, or several of one shape ----

def unary(since, name, dtypes=None, **ranges):
    def make(g):
        attributes = {k: g.real(*r) for k, r in ranges.items() if g.chance(0.7)}
        g.add(name, [g.value(dtypes)], **attributes)
    row(since, make)


for each in "Ceil Exp Floor Log Reciprocal Sigmoid Softplus Softsign Sqrt Tanh Relu Sin Cos Tan Asin Acos Atan Selu".split():
    unary(7, each)
for each in "Abs Neg Sign Identity".split():
    unary(9 if each == "Sign" else 7, each, FLOATS + (np.int32, np.int64, np.int8))
for each in "Acosh Asinh Atanh Cosh Sinh Erf IsNaN".split():
    unary(9, each)
unary(11, "Round")
unary(14, "HardSwish")
unary(18, "Mish")
unary(7, "Elu", alpha=(-1, 2))
unary(12, "Celu", F32, alpha=(0.1, 2))
unary(7, "LeakyRelu", alpha=(-1, 2))
unary(7, "HardSigmoid", alpha=(0, 1), beta=(-1, 1))
unary(10, "ThresholdedRelu", alpha=(-1, 2))
unary(9, "Shrink", FLOATS, lambd=(0, 1), bias=(-1, 1))
unary(24, "Swish", alpha=(-2, 2))
unary(7, "Not", (np.bool_,))
unary(18, "BitwiseNot", INTEGERS)


@operator(20)
def gelu(g):
    g.add("Gelu", [g.value()], approximate=g.pick(None, "none", "tanh"))


@operator(10)
def is_inf(g):
    g.add("IsInf", [g.value(F32)], detect_negative=g.pick(None, 0, 1), detect_positive=g.pick(None, 0, 1))


def binary(since, name, dtypes, times=1):
    def make(g):
        a = g.value(dtypes)
        pair = [a, g.partner(a)]
        g.add(name, pair if g.chance(0.5) else pair[::-1])
    row(since, make, times)


for each in "Add Sub Mul".split():
    binary(7, each, WIDE, 2)
binary(7, "Div", FLOATS)
for each in "Greater Less".split():
    binary(9, each, WIDE)
binary(11, "Equal", ANY)
for each in "GreaterOrEqual LessOrEqual".split():
    binary(12, each, WIDE)
for each in "And Or Xor".split():
    binary(7, each, (np.bool_,))
for each in "BitwiseAnd BitwiseOr BitwiseXor".split():
    binary(18, each, INTEGERS)


@operator()
def power(g):
    a = g.value(HALF)
    g.add("Pow", [g.add("Abs", [a])[0] if g.chance(0.7) else a,
                  g.constant(np.asarray(g.pick(2, 3, 0.5, -1, 0, 1, 1.7), a.dtype)) if g.chance(0.7) else g.partner(a)])


@operator(10)
def mod(g):
    a = g.value(WIDE)
    b = g.constant(g.array(a.dtype, [1], 1, 5))
    g.add("Mod", [a, b], fmod=1 if a.dtype.kind == "f" or g.chance(0.3) else None)


@operator(11)
def bit_shift(g):
    a = g.value((np.uint8, np.uint32, np.uint64))
    g.add("BitShift", [a, g.constant(g.array(a.dtype, a.shape, 0, 7))], direction=g.pick("LEFT", "RIGHT"))


def variadic(name, dtypes, since=8):
    def make(g):
        a = g.value(dtypes)
        g.add(name, [a] + [g.partner(a) for _ in range(g.integer(0, 3))])
    row(since, make)


variadic("Max", WIDE)
variadic("Min", WIDE)
variadic("Sum", FLOATS)
variadic("Mean", FLOATS)


@operator()
def prelu(g):
    a = g.value(low=1)
    slope = g.pick(a.shape, (1,), a.shape[1:] and (a.shape[1],) + (1,) * (a.rank - 2), (1,) * a.rank)
    g.add("PRelu", [a, g.weight(*slope, dtype=a.dtype)])


@operator(9)
def where(g):
    a = g.value(ANY)
    g.add("Where", [g.value((np.bool_,), shape=g.partner(a).shape), a, g.partner(a)])


@operator(7, 2)
def clip(g):
    a = g.value(FLOATS if g.opset < 12 else WIDE)
    low = g.integer(-3, 1) if a.dtype.kind != "u" else 0
    bounds = [g.pick(low, low / 2 if a.dtype.kind == "f" else low, None), g.pick(low + g.integer(-1, 5), None)]
    if a.dtype.kind == "f" and g.chance(0.1):
        bounds[g.integer(0, 1)] = g.pick(-np.inf, np.inf)
    if g.opset < 11:
        g.add("Clip", [a], min=None if bounds[0] is None else float(bounds[0]), max=None if bounds[1] is None else float(bounds[1]))
    else:
        g.add("Clip", [a] + [None if b is None else np.asarray(b).astype(a.dtype) for b in bounds])


@operator()
def cast(g):
    a = g.value(FLOATS + (np.int32, np.int64, np.bool_, np.uint8, np.int8))
    to = g.pick(1, 10, 11, 6, 7, 9) if a.dtype.kind != "f" else g.pick(1, 10, 11, 6, 7, 9)
    if a.dtype.kind == "f" and to in (6, 7):
        a = (g.add("Floor", [a]) or [a])[0]
    g.add("Cast", [a], to=to)


@operator(15)
def cast_like(g):
    g.add("CastLike", [g.value(FLOATS), g.value(FLOATS)])


@operator()
def dropout(g):
    g.add("Dropout", [g.value()], outputs=1, ratio=g.real(0, 0.9) if g.opset < 12 and g.chance(0.5) else None)


# ---- Over axes ----

def reduce(name):
    def make(g):
        dtypes = FLOATS + (np.int32, np.int64) if name not in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2") else FLOATS
        a = g.value(dtypes)
        axes = [x - a.rank if g.opset >= 11 and g.chance(0.3) else x for x in g.some(range(a.rank))]
        since = 13 if name == "ReduceSum" else 18
        keep = g.pick(None, 0, 1)
        empty = g.pick(None, 0, 1) if g.opset >= since else None
        if g.opset < since:
            g.add(name, [a], axes=axes or None, keepdims=keep)
        else:
            g.add(name, [a, ints(*axes) if axes or g.chance(0.3) else None], keepdims=keep, noop_with_empty_axes=empty)
    row(7, make)


for each in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split():
    reduce("Reduce" + each)


def arg(name):
    def make(g):
        a = g.value(FLOATS + (np.int32,), low=1)
        g.add(name, [a], axis=g.axis(a) if g.chance(0.8) else None, keepdims=g.pick(None, 0, 1),
              select_last_index=g.pick(None, 0, 1) if g.opset >= 12 else None)
    row(7, make)


arg("ArgMax")
arg("ArgMin")


def soft(name, times=1):
    def make(g):
        a = g.value(low=1)
        g.add(name, [a], axis=g.axis(a) if g.chance(0.8) else None)
    row(7, make, times)


soft("Softmax", 2)
soft("LogSoftmax")
soft("Hardmax")


@operator(11)
def cum_sum(g):
    a = g.value(FLOATS + I32, low=1)
    g.add("CumSum", [a, np.asarray(g.axis(a), g.pick(np.int32, np.int64))], exclusive=g.pick(None, 0, 1), reverse=g.pick(None, 0, 1))


@operator()
def top_k(g):
    a = g.value(F32, low=1)
    axis = g.axis(a)
    k = g.integer(0 if g.chance(0.1) else min(1, a.shape[axis]), a.shape[axis])
    if g.opset < 10:
        g.add("TopK", [a], outputs=2, axis=axis, k=max(k, 1))
    else:
        g.add("TopK", [a, ints(k)], outputs=2, axis=axis, largest=g.pick(None, 0, 1) if g.opset >= 11 else None)


@operator()
def lp_normalization(g):
    a = g.value((np.float32, np.float64), low=1)
    g.add("LpNormalization", [a], axis=g.axis(a), p=g.pick(1, 2))


# ---- Products, windows and normalization ----

def window(g, size, dims, transposed=False):
    """Attributes of a window over `size` (spatial sizes)."""
    kernel = [g.integer(1, min(4, max(s, 1))) for s in size]
    attributes = {"kernel_shape": kernel}
    if g.chance(0.6):
        attributes["strides"] = [g.integer(1, 3) for _ in size]
    if g.chance(0.3):
        attributes["dilations"] = [g.integer(1, 2) for _ in size]
    kind = g.integer(0, 9)
    if kind < 5:
        attributes["pads"] = [g.integer(0, k - 1) for k in kernel * 2]
    elif kind < 8:
        attributes["auto_pad"] = g.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    return attributes


@operator(7, 5)
def conv(g):
    dims = g.pick(2, 2, 2, 1, 3)
    x = g.value(F32, dims + 2, dims + 2)
    group = g.pick(*[n for n in (1, 1, 2, 3, 4, x.shape[1]) if n and x.shape[1] % n == 0]) if x.shape[1] else 1
    attributes = window(g, x.shape[2:], dims)
    out = group * g.integer(1, 4)
    weight = g.weight(out, x.shape[1] // group, *attributes["kernel_shape"])
    if g.chance(0.3):
        del attributes["kernel_shape"]
    y = g.add("Conv", [x, weight, g.weight(out) if g.chance(0.6) else None], group=group if group > 1 else None, **attributes)
    if y and g.chance(0.5):  # what dq fuses with it
        behind(g, y[0])


def behind(g, y):
    kind = g.integer(0, 6)
    if kind == 0:
        g.add("Relu", [y])
    elif kind == 1:
        batch_normalization(g, y)
    elif kind == 2:
        g.add(g.pick("Add", "Mul"), [y, g.weight(*[y.shape[1]] + [1] * (y.rank - 2))])
    elif kind == 3:
        g.add("Add", [y, g.input(y.dtype, y.shape)])
    elif kind == 4 and g.opset >= 11:
        g.add("Clip", [y, np.float32(0), np.float32(6)])
    elif kind == 5:
        s = g.add("Sigmoid", [y])
        if s:
            g.add("Mul", [y, s[0]])
    else:
        g.add("LeakyRelu", [y], alpha=g.real(0, 1))


@operator(7, 2)
def conv_transpose(g):
    dims = g.pick(2, 2, 1, 3)
    x = g.value(F32, dims + 2, dims + 2)
    group = g.pick(*[n for n in (1, 1, 2, x.shape[1]) if n and x.shape[1] % n == 0]) if x.shape[1] else 1
    attributes = window(g, x.shape[2:], dims)
    attributes["kernel_shape"] = [g.integer(1, 4) for _ in range(dims)]
    if "pads" in attributes:
        attributes["pads"] = [g.integer(0, k - 1) for k in attributes["kernel_shape"] * 2]
    if "strides" in attributes and g.chance(0.3):
        attributes["output_padding"] = [g.integer(0, s - 1) for s in attributes["strides"]]
    out = g.integer(1, 4)
    weight = g.weight(x.shape[1], out, *attributes["kernel_shape"])
    g.add("ConvTranspose", [x, weight, g.weight(group * out) if g.chance(0.6) else None], group=group, **attributes)


def pool(name, times=2):
    def make(g):
        dims = g.pick(2, 2, 2, 1, 3)
        x = g.value(F32, dims + 2, dims + 2)
        attributes = window(g, x.shape[2:], dims)
        dilated = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[name]
        if g.opset < dilated:
            attributes.pop("dilations", None)
        if g.opset >= (18 if name == "LpPool" else 10):
            attributes["ceil_mode"] = g.pick(None, None, 0, 1)
        if name == "AveragePool":
            attributes["count_include_pad"] = g.pick(None, 0, 1)
        if name == "LpPool":
            attributes["p"] = g.pick(None, 1, 2, 3)
        g.add(name, [x], outputs=2 if name == "MaxPool" and g.opset >= 8 and g.chance(0.15) else 1, **attributes)
    row(7, make, times)


pool("MaxPool")
pool("AveragePool")
pool("LpPool", 1)


@operator()
def global_pool(g):
    name = g.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
    g.add(name, [g.value(F32, 3, 5)], p=g.pick(None, 1, 2, 3) if name == "GlobalLpPool" else None)


@operator(7, 2)
def gemm(g):
    a = g.value(FLOATS, 2, 2)
    flip_a, flip_b, columns = g.pick(0, 1), g.pick(0, 1), g.integer(1, 6)
    rows, depth = a.shape[::-1] if flip_a else a.shape
    b = g.weight(*((columns, depth) if flip_b else (depth, columns)), dtype=a.dtype)
    c = g.weight(*g.pick((columns,), (rows, columns), (1, columns), (rows, 1), (1,), ()), dtype=a.dtype) if g.opset < 11 or g.chance(0.7) else None
    g.add("Gemm", [a, b, c], transA=g.pick(None, flip_a) if not flip_a else 1, transB=flip_b or None,
          alpha=g.pick(None, 0.5, -2.0), beta=g.pick(None, 0.25, 0.0))


@operator(7, 2)
def matmul(g):
    a = g.value(FLOATS, 1, 4)
    depth = a.shape[-1]
    shape = g.pick((depth,), (depth, g.integer(1, 6)), a.shape[:-2] + (depth, g.integer(1, 6)), (1, depth, 3))
    g.add("MatMul", [a, g.weight(*shape, dtype=a.dtype) if g.chance(0.7) else g.value((a.dtype.type,), shape=shape)])


def batch_normalization(g, x):
    channels = x.shape[1] if x.rank > 1 else 1
    w = lambda low, high: g.weight(channels, dtype=x.dtype, low=low, high=high)
    g.add("BatchNormalization", [x, w(-2, 2), w(-1, 1), w(-1, 1), w(0.1, 2)], epsilon=g.pick(None, 1e-3, 0.1))


@operator(9)
def batch_norm(g):
    batch_normalization(g, g.value(FLOATS if g.chance(0.3) else F32, 2, 5))


@operator()
def instance_normalization(g):
    x = g.value(F32, 3, 5)
    g.add("InstanceNormalization", [x, g.weight(x.shape[1]), g.weight(x.shape[1])], epsilon=g.pick(None, 1e-3))


@operator(17)
def layer_normalization(g):
    x = g.value(F32, 1, 5)
    axis = g.axis(x) if g.chance(0.8) else -1
    shape = x.shape[axis:]
    g.add("LayerNormalization", [x, g.weight(*shape), g.weight(*shape) if g.chance(0.5) else None], axis=axis, epsilon=g.pick(None, 1e-3))


@operator(21)
def group_normalization(g):
    x = g.value(F32, 3, 5)
    groups = g.pick(*[n for n in (1, 2, 3, 4, x.shape[1]) if n and x.shape[1] % n == 0] or [1])
    g.add("GroupNormalization", [x, g.weight(x.shape[1]), g.weight(x.shape[1])], num_groups=groups, epsilon=g.pick(None, 1e-3))


@operator()
def lrn(g):
    g.add("LRN", [g.value(F32, 4, 4)], size=g.pick(1, 3, 5), alpha=g.real(0, 1), beta=g.real(0.3, 1), bias=g.real(0.5, 2))


@operator(9)
def mean_variance(g):
    x = g.value(F32, 1, 5)
    g.add("MeanVarianceNormalization", [x], axes=g.some(range(x.rank)) or (None if x.rank == 4 else [0]))


@operator(12)
def einsum(g):
    form, shapes = g.pick(("ij,jk->ik", ((2, 3), (3, 4))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))), ("ij->ji", ((3, 4),)),
                          ("ij,ij->", ((3, 4), (3, 4))), ("...ij->...i", ((2, 3, 4),)), ("ii->i", ((3, 3),)), ("i,j->ij", ((3,), (4,))))
    g.add("Einsum", [g.value(F32, shape=s) for s in shapes], equation=form)
