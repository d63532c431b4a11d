"""An ONNX graph in PyTorch, to train it there: a judge of dq-train's losses and of its speed."""
import sys

import onnx
import onnx.numpy_helper
import torch
import torch.nn.functional as F


def attributes_of(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def padded(x, pads):
    """What ONNX and PyTorch pad alike is left to the operator, the rest is added here."""
    top, left, bottom, right = pads
    return (x, (top, left)) if (top, left) == (bottom, right) else (F.pad(x, (left, right, top, bottom)), (0, 0))


def convolution(x, weights, a):
    x, padding = padded(x, a.get("pads", [0, 0, 0, 0]))
    return F.conv2d(x, *weights, stride=a.get("strides", [1, 1]), padding=padding, groups=a.get("group", 1))


def average(x, a):
    x, padding = padded(x, a.get("pads", [0, 0, 0, 0]))
    return F.avg_pool2d(x, a["kernel_shape"], a.get("strides", [1, 1]), padding, count_include_pad=bool(a.get("count_include_pad", 0)))


def zero_padded(x, pads):
    """The inverse order of axes, begin and end side by side, is what PyTorch takes."""
    rank = x.dim()
    return F.pad(x, [pads[axis + end] for axis in reversed(range(rank)) for end in (0, rank)])


def sliced(x, starts, ends, axes, steps):
    places = [slice(None)] * x.dim()
    for start, end, axis, step in zip(starts, ends, axes, steps):
        places[axis] = slice(start, end, step)
    return x[tuple(places)]


class Network:
    """An ONNX graph in PyTorch, whose floating initializers are parameters, but for running statistics."""

    def __init__(self, path, kind):
        self.graph = onnx.load(path).graph
        arrays = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in self.graph.initializer}
        statistics = {name for n in self.graph.node if n.op_type == "BatchNormalization" for name in n.input[3:]}
        self.values = {n: t.to(kind) if t.is_floating_point() else t for n, t in arrays.items()}
        self.trained = [t.requires_grad_() for n, t in self.values.items() if t.is_floating_point() and n not in statistics]

    def scores(self, x):
        """The graph up to its scores; a Softmax at the end is left out."""
        name = next(i.name for i in self.graph.input if i.name not in self.values)
        values = {**self.values, name: x}
        for node in self.graph.node:
            inputs = [values[i] for i in node.input if i]
            values[node.output[0]] = self.run(node, inputs)
        return values[self.graph.output[0].name]

    def run(self, node, inputs):
        a, x = attributes_of(node), inputs[0]
        if node.op_type == "Conv": return convolution(x, inputs[1:], a)
        if node.op_type == "BatchNormalization":
            return F.batch_norm(x, None, None, inputs[1], inputs[2], training=True, eps=a.get("epsilon", 1e-5))
        if node.op_type == "Relu": return F.relu(x)
        if node.op_type == "Clip": return torch.clamp(x, float(inputs[1]), float(inputs[2]))
        if node.op_type == "Add": return x + inputs[1]
        if node.op_type == "Pad": return zero_padded(x, inputs[1].tolist())
        if node.op_type == "Slice": return sliced(x, *(i.tolist() for i in inputs[1:]))
        if node.op_type == "GlobalAveragePool": return x.mean((2, 3), keepdim=True)
        if node.op_type == "AveragePool": return average(x, a)
        if node.op_type == "Flatten": return x.flatten(a.get("axis", 1))
        if node.op_type == "Reshape": return x.reshape(x.shape[0], -1)
        if node.op_type == "Transpose": return x.permute(a["perm"])
        if node.op_type == "Gemm":
            return F.linear(x, inputs[1] if a.get("transB", 0) else inputs[1].t(), *inputs[2:])
        if node.op_type == "MatMul": return x @ inputs[1]
        if node.op_type == "Softmax" and node.output[0] == self.graph.output[0].name: return x
        sys.exit(f"torch_graph.py: operator {node.op_type} is not known")
