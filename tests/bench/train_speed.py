#!/usr/bin/env python3
"""Steps of training (forward, backward, update) by dq-train, PyTorch and darknet, each in fresh processes, in turns.

usage: train_speed.py BUILD MODEL:PRESET... [--batch N] [--steps N] [--threads N] [--rounds N] [--darknet FILE]
                      [--csv FILE]

A round has one epoch of dq-train after an epoch that warms it up, with pictures read and prepared; and the median of as
many steps of PyTorch on one random batch, in each of its two layouts, after one step. The pictures are of noise, 32 x 32.
Printed is the time of PyTorch's faster layout over that of dq-train, and with --darknet FILE (the program of Debian's
package) the time of darknet over that of dq-train for networks that darknet_network() knows.
PyTorch is taken from python3-torch, the graph from python3-onnx of Debian.
"""
import argparse
import datetime
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from multi import HEAD, machine_text, name_of, row_of, write_table

INTEROP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop")
RATE, MOMENTUM = 0.001, 0.9


def torch_step(model, batch, steps, threads, layout):
    """Runs in a process of its own: seconds of a step."""
    sys.path.append(INTEROP)
    import torch
    from torch_graph import Network

    torch.set_num_threads(threads)
    network = Network(model, torch.float32)
    shape = [d.dim_value for d in next(i for i in network.graph.input if i.name not in network.values).type.tensor_type.shape.dim]
    kind = {"contiguous": torch.contiguous_format, "channels-last": torch.channels_last}[layout]
    pictures, labels = torch.rand(batch, *shape[1:]).to(memory_format=kind), torch.zeros(batch, dtype=torch.long)
    optimizer = torch.optim.SGD(network.trained, lr=RATE, momentum=MOMENTUM)
    times = []
    for _ in range(steps + 1):
        start = time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network.scores(pictures).flatten(1), labels).backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    print(statistics.median(times[1:]))


def convolution(filters, size, stride, groups=1, activation="relu"):
    return f"[convolutional]\nfilters={filters}\nsize={size}\nstride={stride}\npad=1\ngroups={groups}\nactivation={activation}\n"


def resnet20():
    text = convolution(16, 3, 1)
    for filters, stride in [(16, 1)] * 3 + [(32, 2)] + [(32, 1)] * 2 + [(64, 2)] + [(64, 1)] * 2:
        text += convolution(filters, 3, stride) + convolution(filters, 3, 1, activation="linear") + "[shortcut]\nfrom=-3\nactivation=relu\n"
    return 32, 10, text.replace("[convolutional]\n", "[convolutional]\nbatch_normalize=1\n")


def mobilenetv2():
    text, channels = convolution(32, 3, 2), 32
    for expansion, filters, count, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for s in [stride] + [1] * (count - 1):
            inner = channels * expansion
            text += convolution(inner, 1, 1) if expansion > 1 else ""
            text += convolution(inner, 3, s, inner) + convolution(filters, 1, 1, activation="linear")
            text += "[shortcut]\nfrom=-4\nactivation=linear\n" if s == 1 and channels == filters else ""
            channels = filters
    return 224, 1000, text + convolution(1280, 1, 1)


def darknet_network(name):
    """Size of the pictures, classes and layers of the network as darknet describes them, or None."""
    return resnet20() if name.startswith("resnet20") else mobilenetv2() if name.startswith("mobilenetv2") else None


def write_darknet(folder, network, batch, steps):
    size, classes, layers = network
    head = f"[net]\nbatch={batch}\nsubdivisions=1\nheight={size}\nwidth={size}\nchannels=3\nmax_crop={size}\nlearning_rate={RATE}\n"
    head += f"momentum={MOMENTUM}\nmax_batches={steps + 1}\npolicy=constant\n"
    tail = convolution(classes, 1, 1, activation="linear") + "[avgpool]\n[softmax]\ngroups=1\n"
    pictures = "".join(f"{folder}/{p}.ppm\n" for p in range(batch))
    texts = {"net.cfg": head + layers + tail, "list": pictures, "labels": "".join(f"class{c}\n" for c in range(classes)),
             "data": f"classes={classes}\ntrain={folder}/list\nvalid={folder}/list\nlabels={folder}/labels\nbackup={folder}\ntop=1\n"}
    for name, text in texts.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def write_pictures(folder, count):
    """Pictures of noise, and a list with a class for each."""
    with open(f"{folder}/pictures.txt", "w", encoding="utf-8") as listed:
        for p in range(count):
            with open(f"{folder}/{p}.ppm", "wb") as file:
                file.write(b"P6 32 32 255\n" + random.Random(p).randbytes(3 * 32 * 32))
            listed.write(f"{folder}/{p}.ppm {p % 10}\n")


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        write_pictures(folder, options.batch * options.steps)

    def dq(self, model, preset):
        """Seconds of a step of the second epoch."""
        o, pictures = self.options, f"{self.folder}/pictures.txt"
        command = [f"{o.build}/dq-train", model, "--data", pictures, "--val", pictures, "--val-limit", "1", "--preset", preset, "--batch",
                   str(o.batch), "--epochs", "2", "--lr", str(RATE), "--optimizer", "sgd", "--momentum", str(MOMENTUM), "--keep", "last",
                   "--threads", str(o.threads), "-q", "-o", f"{self.folder}/out.onnx", "--json", f"{self.folder}/facts.json"]
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if status not in (0, 1):  # 1: the picture of --val became worse
            sys.exit(f"{command}: status {status}")
        with open(f"{self.folder}/facts.json", encoding="utf-8") as file:
            return o.batch / json.load(file)["epochs"][1]["pictures_per_second"]

    def torch(self, model, layout):
        o = self.options
        child = [sys.executable, "-B", __file__, "--child", model, str(o.batch), str(o.steps), str(o.threads), layout]
        return float(subprocess.run(child, stdout=subprocess.PIPE, check=True).stdout)

    def darknet(self, network):
        """Least seconds of a step: the first ones load pictures."""
        write_darknet(self.folder, network, self.options.batch, 2)
        done = subprocess.run([self.options.darknet, "classifier", "train", f"{self.folder}/data", f"{self.folder}/net.cfg"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                              env={**os.environ, "OMP_NUM_THREADS": str(self.options.threads)})
        return min(map(float, re.findall(r"rate, ([0-9.]+) seconds", done.stdout)))

    def rows(self, model, preset):
        name, ours, ratios = name_of(model), [], {"PyTorch": []}
        for _ in range(self.options.rounds):
            ours.append(self.dq(model, preset))
            ratios["PyTorch"].append(min(self.torch(model, layout) for layout in ("contiguous", "channels-last")) / ours[-1])
        network = self.options.darknet and darknet_network(name)
        if network:
            ratios["darknet"] = [self.darknet(network) / statistics.median(ours)]
        what = f"{name}, batch {self.options.batch}, {self.options.threads} threads"
        yield row_of(f"{what}: a step of dq-train", [1000 * t for t in ours], "ms")
        for peer, least in ("PyTorch", 1.0), ("darknet", 4.0):
            if peer in ratios:
                yield row_of(f"{what}: time of {peer} over that of dq-train", ratios[peer], "ratio", least=least)


def main():
    if sys.argv[1:2] == ["--child"]:
        model, *numbers, layout = sys.argv[2:]
        return torch_step(model, *map(int, numbers), layout)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+", metavar="MODEL:PRESET")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--darknet", metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    facts = [("title", "Steps of training beside PyTorch and darknet"),
             ("command", f"`make bench-train`; batch {options.batch}, {options.threads} threads, {options.rounds} rounds of {options.steps} steps"),
             ("machine", machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/train_speed.py`")]
    rows = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            for row in Bench(options, folder).rows(*model.rsplit(":", 1)):
                rows.append(row)
                print(*row, sep=" | ", flush=True)
    if options.csv:
        write_table(options.csv, facts, rows)
    return None


main()
