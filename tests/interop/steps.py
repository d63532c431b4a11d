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
    import torch
    import torch.nn.functional as F
    from torch_graph import Network
except ImportError as missing:
    skip(f"{missing} (apt install python3-torch python3-onnx)")


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
