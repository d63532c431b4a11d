#!/usr/bin/env python3
"""A retraining hook for dq-tucker: trains the factors so that the decomposed network answers as the
original does on your pictures (distillation, no labels). Needs PyTorch, numpy and onnx.

DQ_DATA is npy: and a .npy file of preprocessed inputs, N x C x H x W float32 (or uint8 with HOOK_SCALE and
HOOK_SHIFT). HOOK_STEPS, HOOK_RATE and HOOK_BATCH set the training."""
import json
import os

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def conv(a, x, w, b=None):
    if a.get("auto_pad", b"NOTSET") != b"NOTSET":
        raise SystemExit("auto_pad is more than this example knows")
    top, left, bottom, right = a.get("pads", [0, 0, 0, 0])
    x = F.pad(x, (left, right, top, bottom))
    return F.conv2d(x, w, b, a.get("strides", [1, 1]), 0, a.get("dilations", [1, 1]), a.get("group", 1))


def gemm(a, x, w, b=None):
    x, w = (x.t() if a.get("transA") else x), (w.t() if a.get("transB") else w)
    y = a.get("alpha", 1.0) * x @ w
    return y if b is None else y + a.get("beta", 1.0) * b


def cut(a, x, starts, ends, axes=None, steps=None):
    axes = range(len(starts)) if axes is None else axes.tolist()
    steps = [1] * len(starts) if steps is None else steps.tolist()
    place = [slice(None)] * x.dim()
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps):
        place[axis] = slice(start, min(end, x.shape[axis]), step)
    return x[tuple(place)]


def pad(a, x, pads, value=None):
    sides, n = pads.tolist(), x.dim()
    flat = [side for axis in reversed(range(n)) for side in (sides[axis], sides[axis + n])]
    return F.pad(x, flat, value=0.0 if value is None else float(value))


# One line per operator; add what your network needs.
OPERATORS = {
    "Conv": conv,
    "Gemm": gemm,
    "Relu": lambda a, x: F.relu(x),
    "Add": lambda a, x, y: x + y,
    "BatchNormalization": lambda a, x, g, b, m, v: F.batch_norm(x, m, v, g, b, eps=a.get("epsilon", 1e-5)),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "ReduceMean": lambda a, x: x.mean(a["axes"], keepdim=bool(a.get("keepdims", 1))),
    "Flatten": lambda a, x: x.flatten(a.get("axis", 1)),
    "Reshape": lambda a, x, s: x.reshape([x.shape[0], -1]),
    "Slice": cut,
    "Pad": pad,
    "Identity": lambda a, x: x,
}


def load(path):
    model = onnx.load(path)
    weights = {t.name: torch.tensor(numpy_helper.to_array(t).copy()) for t in model.graph.initializer}
    return model, weights


def run(model, weights, x):
    graph = model.graph
    values = dict(weights)
    values[next(i.name for i in graph.input if i.name not in weights)] = x
    for node in graph.node:
        if node.op_type not in OPERATORS:
            raise SystemExit(f"operator {node.op_type} is more than this example knows")
        inputs = [values[name] if name else None for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](attributes(node), *inputs)
    return values[graph.output[0].name]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("HOOK_THREADS", "1")))
    steps = int(os.environ.get("HOOK_STEPS", "100"))
    batch = int(os.environ.get("HOOK_BATCH", "32"))
    pictures = np.load(os.environ["DQ_DATA"].removeprefix("npy:"), mmap_mode="r")
    original, teacher = load(os.environ["DQ_ORIGINAL"])
    model, student = load(os.environ["DQ_MODEL"])
    with open(os.environ["DQ_SPEC"]) as file:
        spec = json.load(file)
    if spec["schema"] != "dq-hook" or spec["version"] != 1:
        raise SystemExit("DQ_SPEC is of another version")
    # Only the factors are trained: everything else keeps what it was trained to.
    trained = sorted({name for layer in spec["layers"] for name in layer["factors"]})
    for name in trained:
        student[name].requires_grad_()
    optimizer = torch.optim.Adam([student[n] for n in trained], lr=float(os.environ.get("HOOK_RATE", "1e-3")))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    scale, shift = float(os.environ.get("HOOK_SCALE", "1")), float(os.environ.get("HOOK_SHIFT", "0"))
    for step in range(steps):
        chosen = np.sort(torch.randint(len(pictures), (batch,)).numpy())
        x = torch.tensor(pictures[chosen].astype(np.float32) * scale + shift)
        with torch.no_grad():
            wanted = run(original, teacher, x)
        loss = F.mse_loss(run(model, student, x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)
    # The weights go back in their place: names, nodes and everything else stay.
    for tensor in model.graph.initializer:
        if tensor.name in trained:
            values = student[tensor.name].detach().numpy()
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(model, os.environ["DQ_OUTPUT"])


if __name__ == "__main__":
    main()
