#!/usr/bin/env python3
"""Trains the small classifier of datasets/shapes.onnx on the generated pictures `synth:shapes`.

usage: train-shapes.py [-o shapes.onnx] [--pictures N] [--epochs N] [--seed N]

Needs PyTorch (Debian: python3-torch), NumPy and a C compiler: the pictures come from this
repository's own generator, datasets/synth.c, compiled here as a shared library, so they are the
same bytes that `--data synth:shapes` gives. Run it from the repository's root.
"""
import argparse
import ctypes
import io
import os
import subprocess
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

SIZE, CHANNELS, CLASSES, NOISE = 32, 3, 8, 50  # the defaults of synth:shapes
TRAIN, TEST = 0, 2  # dq_split_kind


class Synth(ctypes.Structure):  # dq_synth
    _fields_ = [("seed", ctypes.c_uint64), ("split", ctypes.c_int), ("size", ctypes.c_int),
                ("channels", ctypes.c_int), ("noise", ctypes.c_int)]


def generator(folder):
    path = os.path.join(folder, "synth.so")
    subprocess.check_call(["cc", "-O2", "-std=c17", "-ffp-contract=off", "-shared", "-fPIC", "-I.",
                           "-o", path, "datasets/synth.c", "-lm"])
    picture = ctypes.CDLL(path).dq_synth_picture
    picture.argtypes = [ctypes.POINTER(Synth), ctypes.c_int64, ctypes.c_void_p]
    return picture


def pictures(picture, split, count):
    """uint8 pictures as the model sees them, N x C x H x W, and their labels (seed 0)."""
    synth = Synth(0, split, SIZE, CHANNELS, NOISE)
    pixels = np.empty((count, SIZE, SIZE, CHANNELS), np.uint8)
    labels = [picture(ctypes.byref(synth), i, pixels[i].ctypes.data) for i in range(count)]
    return (torch.from_numpy(np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))),
            torch.tensor(labels, dtype=torch.long))


class Block(nn.Module):
    """Convolution, batch normalization and, if wanted, Relu."""

    def __init__(self, inputs, outputs, kernel, stride=1, groups=1, relu=True):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups,
                              bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU() if relu else nn.Identity()

    def forward(self, x):
        return self.relu(self.norm(self.conv(x)))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = Block(channels, channels, 3)
        self.second = Block(channels, channels, 3, relu=False)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(x + self.second(self.first(x)))


class Shapes(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = Block(CHANNELS, 16, 3, stride=2)
        self.down = Block(16, 32, 3, stride=2)
        self.residual = Residual(32)
        self.depthwise = Block(32, 32, 3, groups=32)
        self.pointwise = Block(32, 64, 1)
        self.last = Block(64, 32, 3, stride=2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classes = nn.Linear(32, CLASSES)

    def forward(self, x):
        x = self.residual(self.down(self.stem(x)))
        x = self.last(self.pointwise(self.depthwise(x)))
        return self.classes(torch.flatten(self.pool(x), 1))


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum(int((model(x.float() / 255).argmax(1) == y).sum())
                    for x, y in zip(images.split(256), labels.split(256)))
    return 100.0 * right / len(labels)


def train(model, images, labels, epochs):
    batch = 64
    steps = epochs * (len(labels) // batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-8, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    for epoch in range(epochs):
        model.train()
        total, start = 0.0, time.time()
        order = torch.randperm(len(labels))[:len(labels) // batch * batch]
        for index in order.split(batch):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images[index].float() / 255), labels[index])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print("epoch %d: loss %.4f, %.0f s" % (epoch + 1, total * batch / len(order),
                                               time.time() - start), flush=True)


def export(model, path):
    """The model takes bytes 0...255 as floats: 1/255 goes into the stem's weights, padding is 0."""
    model.eval()
    with torch.no_grad():
        model.stem.conv.weight /= 255
    file = io.BytesIO()
    # PRESERVE: the batch normalizations stay nodes of their own, for the commands to fold.
    torch.onnx.export(model, torch.zeros(1, CHANNELS, SIZE, SIZE), file, opset_version=13,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["image"], output_names=["scores"],
                      dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}})
    with open(path, "wb") as output:
        output.write(file.getvalue())
    print("%s: %d bytes" % (path, len(file.getvalue())))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", default="shapes.onnx")
    parser.add_argument("--pictures", type=int, default=4000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the sums of several threads depend on their number
    torch.manual_seed(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        picture = generator(folder)
        images, labels = pictures(picture, TRAIN, options.pictures)
        test_images, test_labels = pictures(picture, TEST, 2000)
    model = Shapes()
    train(model, images, labels, options.epochs)
    print("accuracy: train %.2f %%, test %.2f %%" % (
        accuracy(model, images[:2000], labels[:2000]), accuracy(model, test_images, test_labels)))
    export(model, options.output)


if __name__ == "__main__":
    main()
