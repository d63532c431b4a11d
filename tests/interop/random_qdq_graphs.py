"""Random graphs of quantized numbers, for random_qdq.py.

A graph has 1 to 6 blocks: an operator, or a function of several, between DequantizeLinear and QuantizeLinear. Types
are uint8, int8, uint16, int16; weights are quantized by tensor or by channel; zero points are anywhere or left out,
types then come from output_dtype or the input; biases have the scale of their sums, another one, or are floats. One
graph in twelve has scales from 0 to infinity, negative ones and NaN.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import random_common as common

TYPES = {np.uint8: (0, 255), np.int8: (-128, 127), np.uint16: (0, 65535), np.int16: (-32768, 32767)}
OPSETS = (13, 14, 15, 17, 18, 19, 20, 21, 21, 22, 23)
IR = {13: 7, 14: 7, 15: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11}
EXTREME = (0.0, -0.0, -0.02, 1e-45, 1e-38, 1e-30, 1e30, 1e38, np.inf, np.nan)
UNARY = ("Abs", "Neg", "Floor", "Ceil", "Round", "Sigmoid", "Tanh", "Exp", "Softplus", "Softsign", "Erf", "Elu", "Celu",
         "Selu", "HardSigmoid", "HardSwish", "ThresholdedRelu", "Identity", "Relu", "LeakyRelu")


def window_count(size, kernel, stride, before, after, up):
    """Windows along an axis; with `up` (ceil_mode) also a last one that begins inside and ends outside."""
    room = size + before + after - kernel
    count = (-(-room // stride) if up else room // stride) + 1
    return count - 1 if up and (count - 1) * stride >= size + before else count


class Value:
    """A float value; `levels` is the integer value that it is dequantized from, with its parameters."""

    def __init__(self, name, shape, levels=None):
        self.name, self.shape, self.levels = name, tuple(shape), levels


class Parameters:
    def __init__(self, dtype, scale, zero, explicit):
        self.dtype, self.scale, self.zero, self.explicit = dtype, scale, zero, explicit


class Graph(common.Choices):
    def __init__(self, rng):
        self.rng, self.opset = rng, OPSETS[rng.integers(len(OPSETS))]
        self.extreme = self.chance(1 / 12)
        self.nodes, self.constants, self.inputs, self.feeds, self.count = [], [], [], {}, 0
        self.values, self.outputs, self.quantized = [], [], []  # outputs: (name, type); quantized: (levels, float, scale)

    # ---- Random choices ----

    def floats(self, shape, low, high):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    # ---- Graph ----

    def fresh(self, base):
        self.count += 1
        return f"{base}{self.count}"

    def constant(self, array):
        name = self.fresh("c")
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op, inputs, **attributes):
        name = self.fresh(op.lower())
        self.nodes.append(helper.make_node(op, inputs, [name], name=name + "_", **attributes))
        return name

    def input(self, dtype, shape):
        name = self.fresh("x")
        low, high = TYPES.get(dtype, (0, 0))
        self.feeds[name] = (self.rng.normal(0, 2, shape).astype(np.float32) if dtype == np.float32
                            else self.rng.integers(low, high + 1, shape).astype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    # ---- Quantization ----

    def scale(self, low=-7, high=-3):
        if self.extreme and self.chance(0.3):
            return np.float32(self.pick(*EXTREME))
        power = self.rng.uniform(low, high)
        return np.float32(2.0 ** (round(power) if self.chance(0.3) else power))

    def parameters(self):
        wide = self.opset >= 21 and self.chance(0.15)
        dtype = self.pick(np.uint16, np.int16) if wide else self.pick(np.uint8, np.int8)
        low, high = TYPES[dtype]
        explicit = self.chance(0.7) or (dtype != np.uint8 and self.opset < 21)
        kind = self.integer(0, 5)
        zero = 0 if not explicit or kind < 2 else low if kind == 2 else high if kind == 3 else self.integer(low, high)
        return Parameters(dtype, self.scale() / np.float32(64 if wide else 1), zero, explicit)

    def scalar(self, value, dtype):
        return self.constant(np.array([value] if self.chance(0.2) else value, dtype))

    def linear(self, op, name, p):
        inputs = [name, self.scalar(p.scale, np.float32)]
        attributes = {}
        states = p.explicit or (p.zero == 0 and op == "DequantizeLinear" and self.chance(0.2))
        if states:
            inputs.append(self.scalar(p.zero, p.dtype))
        if op == "QuantizeLinear" and self.opset >= 21 and (not states or self.chance(0.1)):
            if p.dtype != np.uint8 or self.chance(0.5):
                attributes["output_dtype"] = helper.np_dtype_to_tensor_dtype(np.dtype(p.dtype))
        if op == "DequantizeLinear" and self.opset >= 23 and self.chance(0.1):
            attributes["output_dtype"] = TensorProto.FLOAT
        return self.node(op, inputs, **attributes)

    def dequantize(self, levels, p, shape):
        value = Value(self.linear("DequantizeLinear", levels, p), shape, (levels, p))
        self.values.append(value)
        return value

    def quantize(self, value, p=None):
        p = p or self.parameters()
        levels = self.linear("QuantizeLinear", value.name, p)
        self.quantized.append((levels, value.name, p))
        return levels, p

    def first(self, shape):
        p = self.parameters()
        if self.chance(0.4):
            return self.dequantize(self.input(p.dtype, shape), p, shape)
        return self.dequantize(*self.quantize(Value(self.input(np.float32, shape), shape), p), shape)

    def operand(self, rank=None):
        """A quantized value, one that was made before or a new input."""
        fitting = [v for v in self.values if rank is None or len(v.shape) == rank]
        if fitting and self.chance(0.9):
            return fitting[-1] if self.chance(0.7) else self.pick(*fitting)
        if rank is None and self.chance(0.1):
            return self.first(())
        if rank in (None, 4):
            return self.first((self.integer(1, 2), self.integer(1, 7), self.integer(1, 8), self.integer(1, 8)))
        return self.first(tuple(self.integer(1, 9) for _ in range(rank)))

    def weight(self, shape, axis, x):
        """A quantized constant of (name of the float value, scales by channel of `axis`)."""
        wide = self.opset >= 21 and self.chance(0.03)
        dtype = np.int16 if wide else self.pick(np.int8, np.int8, np.int8, np.uint8)
        low, high = TYPES[dtype]
        by_channel = axis is not None and self.chance(0.6)
        count = shape[axis] if by_channel else 1
        scales = np.array([self.scale(-9, -6) for _ in range(count)], np.float32)
        kind = self.integer(0, 5)
        zeros = None if kind < 2 else np.zeros(count) if kind < 4 else self.rng.integers(low, high + 1, count)
        levels = self.rng.integers(low, high + 1, shape).astype(dtype)
        if by_channel:
            parts, attributes = [self.constant(scales)], {"axis": axis - len(shape) if self.chance(0.2) else axis}
            if zeros is not None:
                parts.append(self.constant(zeros.astype(dtype)))
        else:
            parts, attributes = [self.scalar(scales[0], np.float32)], {}
            if zeros is not None:
                parts.append(self.scalar(int(zeros[0]), dtype))
        return self.node("DequantizeLinear", [self.constant(levels), *parts], **attributes), scales

    def bias(self, channels, x, scales):
        kind = self.integer(0, 9)
        if kind < 2:
            return []
        if kind == 2:
            return [self.constant(self.floats(channels, -1, 1))]
        with np.errstate(all="ignore"):
            product = (np.float32(x.levels[1].scale if x.levels else 0.01) * scales).astype(np.float32)
            if kind == 3:
                product = product * np.float32(self.rng.uniform(0.5, 2))  # of no sum
            if self.extreme and self.chance(0.2):
                product[self.integer(0, len(product) - 1)] = self.pick(*EXTREME)
        levels = self.rng.integers(-3000, 3001, channels).astype(np.int32)
        if self.chance(0.1):
            levels[self.integer(0, channels - 1)] = self.pick(2147483647, -2147483648, 2000000000, 20000000)
        attributes = {"axis": 0}
        if len(product) != channels:
            product = product[0] if self.chance(0.7) else np.full(channels, product[0], np.float32)
        parts = [self.constant(np.asarray(product, np.float32))]
        if self.chance(0.3):
            parts.append(self.constant(np.zeros(np.shape(product), np.int32)))
        return [self.node("DequantizeLinear", [self.constant(levels), *parts], **attributes)]

    # ---- Blocks: each gives a float value ----

    def conv(self):
        x = self.operand(4)
        n, c, h, w = x.shape
        group = self.pick(1, 1, 1, c)
        out = group * self.integer(1, 3) if group > 1 else self.integer(1, 9)
        kernel = [self.integer(1, min(3, h)), self.integer(1, min(3, w))]
        pads = [self.integer(0, 1) for _ in range(4)]
        strides = [self.integer(1, 2), self.integer(1, 2)]
        weight, scales = self.weight((out, c // group, *kernel), 0, x)
        y = self.node("Conv", [x.name, weight, *self.bias(out, x, scales)], group=group, pads=pads, strides=strides)
        size = [(s + pads[i] + pads[i + 2] - kernel[i]) // strides[i] + 1 for i, s in enumerate((h, w))]
        return Value(y, (n, out, *size))

    def conv_transpose(self):
        x = self.operand(4)
        n, c, h, w = x.shape
        group = self.pick(1, 1, 1, c)
        out = self.integer(1, 4)
        kernel, strides = [self.integer(1, 3), self.integer(1, 3)], self.pick([1, 1], [2, 2], [2, 1], [3, 3])
        pads = [self.integer(0, min(1, (kernel[i % 2] - 1) // 2)) for i in range(4)]
        weight, scales = self.weight((c, out, *kernel), 1 if group == 1 else None, x)
        y = self.node("ConvTranspose", [x.name, weight, *self.bias(group * out, x, scales)], group=group, pads=pads,
                      strides=strides)
        size = [(s - 1) * strides[i] + kernel[i] - pads[i] - pads[i + 2] for i, s in enumerate((h, w))]
        return Value(y, (n, group * out, *size)) if min(size) > 0 else None

    def gemm(self):
        x = self.operand(2)
        rows, depth = x.shape
        out, transposed = self.integer(1, 9), self.pick(0, 1)
        weight, scales = self.weight((out, depth) if transposed else (depth, out), 0 if transposed else 1, x)
        attributes = {"transB": transposed} if transposed else {}
        if self.chance(0.1):
            attributes["alpha"] = self.pick(1.0, 0.5, 2.0)
        if self.chance(0.1):
            attributes["beta"] = self.pick(1.0, 0.5)
        return Value(self.node("Gemm", [x.name, weight, *self.bias(out, x, scales)], **attributes), (rows, out))

    def matmul(self):
        x = self.operand(self.pick(2, 3, 4))
        out = self.integer(1, 9)
        if self.chance(0.3):
            y = self.first((*x.shape[:-2], x.shape[-1], out))
            return Value(self.node("MatMul", [x.name, y.name]), (*x.shape[:-1], out))
        weight, scales = self.weight((x.shape[-1], out), 1, x)
        y = self.node("MatMul", [x.name, weight])
        bias = self.bias(out, x, scales) if self.chance(0.4) else []
        return Value(self.node("Add", [y, *bias]) if bias else y, (*x.shape[:-1], out))

    def broadcast(self, shape):
        """A shape that broadcasts with `shape`, most of them from the right."""
        rank = self.integer(0, len(shape))
        return [shape[len(shape) - rank + i] if self.chance(0.3) else 1 for i in range(rank)]

    def pair(self):
        x = self.operand()
        op = self.pick("Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min")
        kind = self.integer(0, 3)
        if kind == 0:
            shape = self.broadcast(x.shape)
            other = self.constant(self.floats(shape, 0.1, 2) * (1 if op == "Div" else self.pick(1, -1)))
        elif kind == 1 and op != "Div":
            shape = self.broadcast(x.shape)
            other = self.weight(shape, None, x)[0]
        else:
            shape = x.shape if self.chance(0.7) else self.broadcast(x.shape)
            same = [v for v in self.values if v.shape == tuple(shape)]
            other = (self.pick(*same) if same and self.chance(0.6) else self.first(tuple(shape))).name
        names = [x.name, other] if self.chance(0.7) else [other, x.name]
        return Value(self.node(op, names), np.broadcast_shapes(x.shape, tuple(shape)))

    def unary(self):
        x = self.operand()
        op = self.pick(*UNARY)
        attributes = {"alpha": self.pick(0.1, 0.01, 0.5, -0.3)} if op == "LeakyRelu" and self.chance(0.8) else {}
        if op == "HardSwish" and self.opset < 14:
            op = "Relu"
        return Value(self.node(op, [x.name], **attributes), x.shape)

    def prelu(self):
        x = self.operand()
        shape = self.broadcast(x.shape)
        slopes = self.constant(self.floats(shape, -0.5, 1)) if self.chance(0.8) else self.weight(shape, None, x)[0]
        return Value(self.node("PRelu", [x.name, slopes]), x.shape)

    def clip(self):
        x = self.operand()
        bounds = sorted(self.floats(2, -3, 3))
        names = [self.constant(np.float32(b)) if self.chance(0.9) else "" for b in bounds]
        return Value(self.node("Clip", [x.name, *names]), x.shape)

    def gate(self):
        x = self.operand()
        gate = self.node(self.pick("Sigmoid", "HardSigmoid", "Tanh", "Relu"), [x.name])
        if self.chance(0.3):
            gate = self.dequantize(*self.quantize(Value(gate, x.shape)), x.shape).name
        return Value(self.node("Mul", [x.name, gate]), x.shape)

    def power(self):
        x = self.operand()
        if self.chance(0.5):
            return Value(self.node("Pow", [x.name, self.constant(np.float32(self.pick(2, 2, 1, 0, 3)))]), x.shape)
        return Value(self.node("Sqrt", [self.node("Abs", [x.name])]), x.shape)

    def normalization(self):
        x = self.operand(4)
        c = x.shape[1]
        names = [self.constant(self.floats(c, low, 2)) for low in (0.1, -1, -1, 0.1)]
        return Value(self.node("BatchNormalization", [x.name, *names]), x.shape)

    def window_pool(self):
        x = self.operand(4)
        n, c, h, w = x.shape
        kernel = [self.integer(1, min(3, h)), self.integer(1, min(3, w))]
        pads = [self.integer(0, kernel[i % 2] - 1) for i in range(4)] if self.chance(0.5) else [0] * 4
        strides = [self.integer(1, 2), self.integer(1, 2)]
        op, up = self.pick("MaxPool", "AveragePool"), self.chance(0.25)
        attributes = {"count_include_pad": 1} if op == "AveragePool" and self.chance(0.4) else {}
        if up:
            attributes["ceil_mode"] = 1
        y = self.node(op, [x.name], kernel_shape=kernel, pads=pads, strides=strides, **attributes)
        return Value(y, (n, c, *(window_count(s, kernel[i], strides[i], pads[i], pads[i + 2], up) for i, s in enumerate((h, w)))))

    def global_pool(self):
        x = self.operand(4)
        return Value(self.node(self.pick("GlobalAveragePool", "GlobalMaxPool"), [x.name]), (*x.shape[:2], 1, 1))

    def concat(self):
        x = self.operand()
        if not x.shape:
            return None
        axis = self.integer(0, len(x.shape) - 1)
        others = [v for v in self.values if len(v.shape) == len(x.shape)
                  and all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)) if i != axis)]
        parts = [x] + [self.pick(*others) for _ in range(self.integer(0, 2))]
        parts = [self.pick(*parts) for _ in parts] if self.chance(0.2) else parts
        shape = list(x.shape)
        shape[axis] = sum(p.shape[axis] for p in parts)
        return Value(self.node("Concat", [p.name for p in parts], axis=axis), shape)

    def resize(self):
        x = self.operand(4)
        factors = [1.0, 1.0, float(self.integer(1, 2)), float(self.integer(1, 3))]
        mode = self.pick("nearest", "nearest", "linear")
        attributes = {"coordinate_transformation_mode": self.pick("asymmetric", "half_pixel")}
        if mode == "nearest":
            attributes["nearest_mode"] = self.pick("floor", "round_prefer_floor")
        y = self.node("Resize", [x.name, "", self.constant(np.array(factors, np.float32))], mode=mode, **attributes)
        return Value(y, [int(s * f) for s, f in zip(x.shape, factors)])

    def softmax(self):
        x = self.operand()
        if not x.shape:
            return None
        return Value(self.node("Softmax", [x.name], axis=self.integer(-1, len(x.shape) - 1)), x.shape)

    def transpose(self):
        x = self.operand()
        order = [int(i) for i in self.rng.permutation(len(x.shape))]
        return Value(self.node("Transpose", [x.name], perm=order), [x.shape[i] for i in order]) if order else None

    def reshape(self):
        x = self.operand()
        count = int(np.prod(x.shape))
        shape = self.pick((count,), (1, count), (x.shape[0] if x.shape else 1, -1), (1, 1, -1))
        y = self.node("Reshape", [x.name, self.constant(np.array(shape, np.int64))])
        known = int(np.prod([s for s in shape if s > 0]))
        return Value(y, [count // known if s < 0 else s for s in shape])

    def slices(self):
        x = self.operand()
        if not x.shape:
            return None
        axis = self.integer(0, len(x.shape) - 1)
        begin, step = self.integer(0, x.shape[axis] - 1), self.integer(1, 2)
        names = [self.constant(np.array([v], np.int64)) for v in (begin, 1 << 30, axis, step)]
        shape = list(x.shape)
        shape[axis] = -(-(shape[axis] - begin) // step)
        return Value(self.node("Slice", [x.name, *names]), shape)

    def pad(self):
        x = self.operand()
        if not x.shape:
            return None
        before, after = ([self.integer(0, 1) for _ in x.shape] for _ in range(2))
        fill = []
        if self.chance(0.5):
            levels = x.levels[1]
            low, high = TYPES[levels.dtype]
            with np.errstate(all="ignore"):
                exact = np.float32(self.integer(low, high) - levels.zero) * levels.scale
            fill = [self.constant(np.float32(exact if self.chance(0.7) else self.rng.normal()))]
        y = self.node("Pad", [x.name, self.constant(np.array(before + after, np.int64)), *fill])
        return Value(y, [a + s + b for a, s, b in zip(before, x.shape, after)])

    def split(self):
        x = self.operand()
        if not x.shape or min(x.shape) < 1:
            return None
        axis = self.integer(0, len(x.shape) - 1)
        if x.shape[axis] < 2:
            return None
        first = self.integer(1, x.shape[axis] - 1)
        sizes = [first, x.shape[axis] - first]
        names = [self.fresh("part"), self.fresh("part")]
        self.nodes.append(helper.make_node("Split", [x.name, self.constant(np.array(sizes, np.int64))], names, axis=axis))
        shapes = [[size if i == axis else s for i, s in enumerate(x.shape)] for size in sizes]
        self.values.append(self.dequantize(*self.quantize(Value(names[1], shapes[1])), shapes[1]))
        return Value(names[0], shapes[0])

    def squeeze(self):
        x = self.operand()
        axes = [i for i, s in enumerate(x.shape) if s == 1]
        if axes and self.chance(0.5):
            return Value(self.node("Squeeze", [x.name, self.constant(np.array(axes[:1], np.int64))]),
                         [s for i, s in enumerate(x.shape) if i != axes[0]])
        y = self.node("Unsqueeze", [x.name, self.constant(np.array([0], np.int64))])
        return Value(y, (1, *x.shape)) if len(x.shape) < 6 else None

    def space(self):
        x = self.operand(4)
        n, c, h, w = x.shape
        if c % 4 == 0:
            return Value(self.node("DepthToSpace", [x.name], blocksize=2, mode=self.pick("DCR", "CRD")), (n, c // 4, 2 * h, 2 * w))
        return Value(self.node("SpaceToDepth", [x.name], blocksize=2), (n, 4 * c, h // 2, w // 2)) if h % 2 + w % 2 == 0 else None

    def mean(self):
        x = self.operand(4)
        if self.opset >= 18:
            return Value(self.node("ReduceMean", [x.name, self.constant(np.array([2, 3], np.int64))]), (*x.shape[:2], 1, 1))
        return Value(self.node("ReduceMean", [x.name], axes=[2, 3]), (*x.shape[:2], 1, 1))

    def block(self):
        blocks = (self.conv, self.conv, self.conv, self.conv_transpose, self.gemm, self.matmul, self.pair, self.pair,
                  self.pair, self.unary, self.unary, self.prelu, self.clip, self.gate, self.power, self.normalization,
                  self.window_pool, self.window_pool, self.global_pool, self.concat, self.concat, self.resize,
                  self.softmax, self.transpose, self.reshape, self.slices, self.pad, self.mean, self.split,
                  self.squeeze, self.space)
        value = None
        while value is None:
            value = self.pick(*blocks)()
        if self.chance(0.25):
            bounds = [self.constant(np.float32(b)) for b in sorted(self.floats(2, -2, 4))]
            end = self.pick(("Relu", []), ("Clip", bounds), ("LeakyRelu", []), ("Sigmoid", []))
            value = Value(self.node(end[0], [value.name, *end[1]]), value.shape)
        same = [v.levels[1] for v in self.values if v.levels]
        return value, self.pick(*same) if same and self.chance(0.2) else self.parameters()

    def build(self):
        for _ in range(self.integer(1, 6)):
            value, p = self.block()
            if self.chance(0.05):
                self.outputs.append((value.name, TensorProto.FLOAT, value.shape))
                continue
            levels, p = self.quantize(value, p)
            self.dequantize(levels, p, value.shape)
            if self.chance(0.25):
                self.outputs.append((levels, helper.np_dtype_to_tensor_dtype(np.dtype(p.dtype)), value.shape))
        if self.values and (not self.outputs or self.chance(0.5)):
            last = self.values[-1]
            self.outputs.append((last.name, TensorProto.FLOAT, last.shape))

    def case(self):
        return make(self.nodes, self.inputs, dict.fromkeys(self.outputs), self.constants, self.opset, self.feeds, self)


def make(nodes, inputs, outputs, constants, opset, feeds, graph):
    infos = [helper.make_tensor_value_info(name, kind, [int(s) for s in shape]) for name, kind, shape in outputs]
    model = helper.make_model(helper.make_graph(nodes, "random", inputs, infos, constants),
                              opset_imports=[helper.make_opsetid("", opset)], ir_version=IR[opset])
    case = common.Case(model, feeds)
    case.graph = graph
    return case


def make_case(rng):
    graph = Graph(rng)
    graph.build()
    return graph.case()
