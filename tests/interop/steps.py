#!/usr/bin/env python3
"""Ten steps of stochastic gradient descent by dq-train and by PyTorch: the losses agree. TAP.

usage: steps.py BUILD [MODEL PRESET DATA]

Every step sees the same 64 pictures, from the same weights, with batch normalization by the batch and a momentum of 0.9.
Without MODEL it is ResNet-8 on the pictures of CIFAR-10 in $DQ_ASSETS. PyTorch computes in float32 and in float64; the
largest difference of a loss from dq's is held against 1e-4. Needs python3-torch and python3-onnx of Debian.
"""
import json
import os
import subprocess
import sys
import tempfile

BOUND, STEPS, PICTURES, RATE, MOMENTUM = 1e-4, 10, 64, 0.001, 0.9


def skip(why):
    print(f"ok 1 ten steps by dq-train and by PyTorch # SKIP {why}\n1..1")
    sys.exit(0)


try:
    import onnx
    import onnx.numpy_helper
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    skip(f"{missing} (apt install python3-torch python3-onnx)")


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
        if node.op_type == "Add": return x + inputs[1]
        if node.op_type == "GlobalAveragePool": return x.mean((2, 3), keepdim=True)
        if node.op_type == "AveragePool": return average(x, a)
        if node.op_type == "Flatten": return x.flatten(a.get("axis", 1))
        if node.op_type == "Reshape": return x.reshape(x.shape[0], -1)
        if node.op_type == "Transpose": return x.permute(a["perm"])
        if node.op_type == "Gemm":
            return F.linear(x, inputs[1] if a.get("transB", 0) else inputs[1].t(), *inputs[2:])
        if node.op_type == "MatMul": return x @ inputs[1]
        if node.op_type == "Softmax" and node.output[0] == self.graph.output[0].name: return x
        sys.exit(f"steps.py: operator {node.op_type} is not known")


def torch_losses(path, pictures, labels, kind):
    network = Network(path, kind)
    optimizer = torch.optim.SGD(network.trained, lr=RATE, momentum=MOMENTUM)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(network.scores(pictures.to(kind)), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def dq_losses(build, path, words, folder):
    command = [f"{build}/dq-train", path, *words, "--val", words[1], "--val-limit", "4", "--limit", str(PICTURES), "--batch", str(PICTURES),
               "--epochs", str(STEPS), "--schedule", "constant", "--optimizer", "sgd", "--lr", str(RATE), "--momentum", str(MOMENTUM),
               "--keep", "last", "-q", "-o", f"{folder}/out.onnx", "--json", f"{folder}/facts.json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode > 1:  # 1: the few pictures of --val became worse
        sys.exit(done.stderr)
    with open(f"{folder}/facts.json", encoding="utf-8") as file:
        return [epoch["loss"] for epoch in json.load(file)["epochs"]]


def read_cifar(path, preset):
    """Pictures as the presets `cifar` and `cifar-raw` have them, and their labels."""
    with open(path, "rb") as file:
        records = torch.frombuffer(bytearray(file.read(PICTURES * 3073)), dtype=torch.uint8).reshape(PICTURES, 3073)
    pictures = records[:, 1:].reshape(PICTURES, 3, 32, 32).to(torch.float32)
    if preset == "cifar":
        mean, deviation = (torch.tensor(v).reshape(1, 3, 1, 1) for v in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
        pictures = (pictures / 255 - mean) / deviation
    return pictures, records[:, 0].long()


def main():
    build, *words = sys.argv[1:]
    assets = os.environ.get("DQ_ASSETS", "../shared")
    model, preset, data = words or [f"{assets}/models/mlperftiny_resnet8_cifar10.onnx", "cifar-raw", f"{assets}/data/cifar10/test_1000.bin"]
    for path in (model, data):
        if not os.path.exists(path):
            skip(f"{path} is not there (set DQ_ASSETS)")
    pictures, labels = read_cifar(data, preset)
    with tempfile.TemporaryDirectory() as folder:
        ours = dq_losses(build, model, ["--data", f"cifar10:{data}", "--preset", preset], folder)
    for number, (name, kind) in enumerate([("float32", torch.float32), ("float64", torch.float64)], 1):
        theirs = torch_losses(model, pictures, labels, kind)
        for a, b in zip(ours, theirs):
            print(f"# dq {a:.7f}, PyTorch in {name} {b:.7f}")
        largest = max(abs(a - b) for a, b in zip(ours, theirs))
        verdict = "ok" if largest <= BOUND and len(ours) == STEPS else "not ok"
        print(f"{verdict} {number} ten steps by dq-train and by PyTorch in {name}: {largest:.2g}", flush=True)
    print("1..2")


main()
