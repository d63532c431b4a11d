#!/usr/bin/env python3
"""Steps of training (forward, backward, update) by dq-train, PyTorch, onnxruntime-training and darknet, in turns.

usage: train_speed.py BUILD MODEL:PRESET... [--batch N] [--steps N] [--threads N] [--rounds N] [--peers PEER,...]
                      [--onnxruntime PYTHON] [--darknet FILE] [--csv FILE]

All run in fresh processes. A round has one epoch of dq-train after an epoch that warms it up, with pictures read and
prepared; and the median of as many steps of a peer on one random batch after one step, of PyTorch in each of its two
layouts. The pictures are of noise, 32 x 32. Printed is the time of PyTorch's faster layout over that of dq-train; that of
onnxruntime-training, which has no momentum, over that of dq-train without momentum, and how far the losses of both are
apart when they take the same steps; and with --darknet FILE (the program of Debian's package) the time of darknet over
that of dq-train for networks that darknet_network() knows. --peers: only these of the three.
PyTorch is taken from python3-torch, the graph from python3-onnx of Debian. --onnxruntime PYTHON is one that imports
onnxruntime.training, with PyTorch, which that package imports but does not compute with here:
    apt install python3-torch python3-venv; python3 -m venv --system-site-packages DIR
    DIR/bin/pip install onnxruntime-training==1.19.2 onnx==1.16.2 'numpy<2'
Without it, or where the import fails, these rows are missing, and standard error says so.
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

PEERS = ["PyTorch", "onnxruntime-training", "darknet"]
INTEROP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "interop")
RATE, MOMENTUM = 0.00001, 0.9  # larger rates multiply the rounding errors of mobilenetv2 from step to step


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


def generate_artifacts(model, folder):
    """The graphs of a step and its update, for the weights and biases of products and batch normalizations.

    The file is given as it is: open batch normalizations become those of training in the graph of gradients."""
    import onnx
    from onnxruntime.training import artifacts

    graph = onnx.load(model).graph
    known = {t.name for t in graph.initializer}
    kinds = "Conv", "Gemm", "MatMul", "BatchNormalization"
    trained = {name: None for n in graph.node if n.op_type in kinds for name in n.input[1:3] if name in known}
    artifacts.generate_artifacts(onnx.load(model), requires_grad=list(trained), loss=artifacts.LossType.CrossEntropyLoss,
                                 optimizer=artifacts.OptimType.SGD, artifact_directory=folder)
    return [d.dim_value for d in next(i for i in graph.input if i.name not in known).type.tensor_type.shape.dim]


def onnxruntime_step(model, batch, steps, threads, folder):
    """As torch_step: seconds of a step and the losses of all. Leaves pictures.npy and labels.npy in the folder."""
    import numpy
    import onnxruntime
    from onnxruntime.training import api

    shape = generate_artifacts(model, folder)
    arrays = {"pictures": numpy.random.default_rng(0).random((batch, *shape[1:]), numpy.float32), "labels": numpy.arange(batch) % 10}
    for name, array in arrays.items():
        numpy.save(f"{folder}/{name}.npy", array)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    state = api.CheckpointState.load_checkpoint(f"{folder}/checkpoint")
    module = api.Module(f"{folder}/training_model.onnx", state, session_options=options)
    optimizer = api.Optimizer(f"{folder}/optimizer_model.onnx", module)
    optimizer.set_learning_rate(RATE)
    inputs = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in arrays.values()]
    times, losses = [], []
    for _ in range(steps + 1):
        start = time.perf_counter()
        losses.append(float(module(*inputs).numpy()))
        optimizer.step()
        module.lazy_reset_grad()
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": statistics.median(times[1:]), "losses": losses}))


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


def onnxruntime_python(options):
    """-E: what PYTHONPATH adds for PyTorch has another NumPy and ONNX than this package can be with."""
    return [options.onnxruntime, "-E"]


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        write_pictures(folder, options.batch * options.steps)

    def train(self, model, preset, data, epochs, momentum):
        """What dq-train tells of its epochs."""
        o = self.options
        command = [f"{o.build}/dq-train", model, "--data", data, "--val", data, "--val-limit", "1", "--preset", preset, "--batch",
                   str(o.batch), "--epochs", str(epochs), "--lr", str(RATE), "--schedule", "constant", "--optimizer", "sgd", "--momentum",
                   str(momentum), "--keep", "last", "--threads", str(o.threads), "-q", "-o", f"{self.folder}/out.onnx",
                   "--json", f"{self.folder}/facts.json"]
        status = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if status not in (0, 1):  # 1: the picture of --val became worse
            sys.exit(f"{command}: status {status}")
        with open(f"{self.folder}/facts.json", encoding="utf-8") as file:
            return json.load(file)["epochs"]

    def dq(self, model, preset, momentum=MOMENTUM):
        """Seconds of a step of the second epoch."""
        return self.options.batch / self.train(model, preset, f"{self.folder}/pictures.txt", 2, momentum)[1]["pictures_per_second"]

    def child(self, python, function, model, last):
        """What a function of this file prints in a process of its own."""
        o = self.options
        command = [*python, "-B", __file__, "--child", function, model, str(o.batch), str(o.steps), str(o.threads), last]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{command}: status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def torch(self, model):
        return min(self.child([sys.executable], "torch_step", model, layout) for layout in ("contiguous", "channels-last"))

    def onnxruntime(self, model):
        return self.child(onnxruntime_python(self.options), "onnxruntime_step", model, self.folder)

    def darknet(self, network):
        """Least seconds of a step: the first ones load pictures."""
        write_darknet(self.folder, network, self.options.batch, 2)
        done = subprocess.run([self.options.darknet, "classifier", "train", f"{self.folder}/data", f"{self.folder}/net.cfg"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
                              env={**os.environ, "OMP_NUM_THREADS": str(self.options.threads)})
        return min(map(float, re.findall(r"rate, ([0-9.]+) seconds", done.stdout)))

    def momentum_rows(self, what, model, preset):
        ours, ratios = [], {"PyTorch": []}
        for _ in range(self.options.rounds):
            ours.append(self.dq(model, preset))
            if "PyTorch" in self.options.peers:
                ratios["PyTorch"].append(self.torch(model) / ours[-1])
        network = self.options.darknet and darknet_network(name_of(model))
        if network and "darknet" in self.options.peers:
            ratios["darknet"] = [self.darknet(network) / statistics.median(ours)]
        yield row_of(f"{what}: a step of dq-train", [1000 * t for t in ours], "ms")
        for peer, least in ("PyTorch", 1.0), ("darknet", 4.0):
            if ratios.get(peer):
                yield row_of(f"{what}: time of {peer} over that of dq-train", ratios[peer], "ratio", least=least)

    def onnxruntime_rows(self, what, model, preset):
        ours, ratios = [], []
        for _ in range(self.options.rounds):
            ours.append(self.dq(model, preset, momentum=0))
            told = self.onnxruntime(model)
            ratios.append(told["seconds"] / ours[-1])
        yield row_of(f"{what}: a step of dq-train without momentum", [1000 * t for t in ours], "ms")
        yield row_of(f"{what}: time of onnxruntime-training over that of dq-train without momentum", ratios, "ratio", least=1.0)
        same = self.train(model, preset, f"npy:{self.folder}/pictures.npy,{self.folder}/labels.npy", len(told["losses"]), 0)
        apart = [1e6 * abs(epoch["loss"] - loss) / loss for epoch, loss in zip(same, told["losses"])]
        yield row_of(f"{what}: losses of dq-train and onnxruntime-training apart, {len(apart)} steps", [max(apart)], "millionths", most=100)

    def rows(self, model, preset):
        what = f"{name_of(model)}, batch {self.options.batch}, {self.options.threads} threads"
        if {"PyTorch", "darknet"} & set(self.options.peers):
            yield from self.momentum_rows(what, model, preset)
        if "onnxruntime-training" in self.options.peers:
            yield from self.onnxruntime_rows(what, model, preset)


def peers_of(options):
    """The peers that were asked for; onnxruntime-training only where it can be imported."""
    peers = options.peers.split(",")
    unknown = set(peers) - set(PEERS)
    if unknown:
        sys.exit(f"train_speed.py: --peers {options.peers}: no peer {', '.join(sorted(unknown))}; expected are {', '.join(PEERS)}")
    if "onnxruntime-training" in peers:
        done = subprocess.run([*onnxruntime_python(options), "-c", "from onnxruntime.training import api, artifacts"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            peers.remove("onnxruntime-training")
            print(f"train_speed.py: NOT MEASURED: onnxruntime-training. {options.onnxruntime} cannot import it "
                  f"({done.stderr.splitlines()[-1]}); --help says how to install it", file=sys.stderr)
    return peers


def main():
    if sys.argv[1:2] == ["--child"]:
        function, model, *numbers, last = sys.argv[2:]
        return {"torch_step": torch_step, "onnxruntime_step": onnxruntime_step}[function](model, *map(int, numbers), last)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+", metavar="MODEL:PRESET")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", default=",".join(PEERS), metavar="PEER,...")
    parser.add_argument("--onnxruntime", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--darknet", metavar="FILE")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    options.peers = peers_of(options)
    facts = [("title", "Steps of training beside PyTorch, onnxruntime-training and darknet"),
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
