#!/usr/bin/env python3
"""A retraining hook for dq-tucker: trains the factors so that the decomposed network answers as the
original does on your pictures (distillation, no labels). Needs PyTorch, numpy and onnx.

DQ_DATA is npy: and a .npy file of preprocessed inputs, N x C x H x W float32, or cifar10: and files of records.
From the environment: HOOK_SECONDS (training ends then; else after HOOK_STEPS), HOOK_RATE, HOOK_BATCH,
HOOK_THREADS, HOOK_AUGMENT=1 (mirrors and moves pictures), HOOK_BFLOAT16=1 (faster where the processor has it)."""
import json
import math
import os
import time

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


def cifar10(files):
    """Records of a label and 3 x 32 x 32 bytes, with ImageNet's mean and deviation (the preset `cifar`)."""
    records = np.concatenate([np.fromfile(file, np.uint8).reshape(-1, 3073) for file in files.split(",")])
    mean, deviation = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    return records[:, 1:].reshape(-1, 3, 32, 32), (1 / 255 / deviation).reshape(3, 1, 1), (mean / deviation).reshape(3, 1, 1)


def open_data(spec):
    """Pictures, and what to multiply them by and then to subtract."""
    kind, _, rest = spec.partition(":")
    if kind == "cifar10":
        return cifar10(rest)
    if kind == "npy":
        return np.load(rest, mmap_mode="r"), np.float32(1), np.float32(0)
    raise SystemExit(f"DQ_DATA is {spec!r}, this example knows npy: and cifar10:")


def augment(x):
    """Half of the pictures mirrored, all moved by up to an eighth of their size."""
    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(3), x)
    far = x.shape[3] // 8
    down, right = torch.randint(0, 2 * far + 1, (2,)).tolist()
    return F.pad(x, (far, far, far, far))[:, :, down:down + x.shape[2], right:right + x.shape[3]]


def train(original, teacher, model, student, trained):
    """Least squares between the answers of both; the rate falls to nothing along half a cosine."""
    pictures, scale, shift = open_data(os.environ["DQ_DATA"])
    seconds = float(os.environ.get("HOOK_SECONDS", "inf"))
    steps = int(os.environ.get("HOOK_STEPS", "100")) if math.isinf(seconds) else math.inf
    batch = int(os.environ.get("HOOK_BATCH", "32"))
    rate = float(os.environ.get("HOOK_RATE", "1e-3"))
    narrow = os.environ.get("HOOK_BFLOAT16") == "1"
    optimizer = torch.optim.Adam([student[name] for name in trained], lr=rate)
    start, step, done = time.monotonic(), 0, 0.0
    while done < 1:
        chosen = np.sort(torch.randint(len(pictures), (batch,)).numpy())
        x = torch.tensor(pictures[chosen].astype(np.float32) * scale - shift)
        x = (augment(x) if os.environ.get("HOOK_AUGMENT") == "1" else x).to(memory_format=torch.channels_last)
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            with torch.no_grad():
                wanted = run(original, teacher, x)
            loss = F.mse_loss(run(model, student, x).float(), wanted.float())
        for group in optimizer.param_groups:
            group["lr"] = rate * (1 + math.cos(math.pi * done)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        done = max(step / steps, (time.monotonic() - start) / seconds)
        if step % 20 == 1 or done >= 1:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ.get("HOOK_THREADS", "1")))
    original, teacher = load(os.environ["DQ_ORIGINAL"])
    model, student = load(os.environ["DQ_MODEL"])
    with open(os.environ["DQ_SPEC"]) as file:
        spec = json.load(file)
    if spec["schema"] != "dq-hook" or spec["version"] != 1:
        raise SystemExit("DQ_SPEC is of another version")
    # The factors and the biases beside them are trained: everything else keeps what it was trained to.
    ours = {node for layer in spec["layers"] for node in layer["nodes"]}
    trained = sorted({name for node in model.graph.node if node.name in ours for name in node.input[1:] if name in student})
    for name in trained:
        student[name].requires_grad_()
    train(original, teacher, model, student, trained)
    # The weights go back in their place: names, nodes and everything else stay.
    for tensor in model.graph.initializer:
        if tensor.name in trained:
            values = student[tensor.name].detach().numpy()
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    onnx.save(model, os.environ["DQ_OUTPUT"])


if __name__ == "__main__":
    main()
