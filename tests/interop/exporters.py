#!/usr/bin/env python3
"""One U-Net as torch.onnx and as tf2onnx write it, from the same weights, takes dq the same time. TAP.

usage: exporters.py BUILD [--tensorflow PYTHON] [--features 8] [--size 256] [--time-limit 20s] [--keep FOLDER]

The network is the U-Net for brain scans (Buda, Saha, Mazurowski, Computers in Biology and Medicine 109, 2019), with random
weights. PyTorch has N x C x H x W, TensorFlow N x H x W x C, for which tf2onnx writes a Transpose. The outputs are compared,
then the times on one thread of processes that take turns, as tests/bench/tuned.py has them, as usual and with what dq-tune
chooses for both files: the interval of the ratio must lie within 3 %, and is a failure where it lies outside; in between
more rounds follow, and then nothing is told. FOLDER of --keep has the files, and what it has is not made again. Needs
python3-torch and python3-onnx of Debian, and tensorflow-cpu and tf2onnx for PYTHON.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))
import multi
import tuned

NAMES = ["the outputs agree", "the times are within 3 %, as usual", "the times are within 3 %, after dq-tune"]
BOUND = 1.03
ROUNDS, MOST_ROUNDS, MILLISECONDS = 15, 120, 100
LEVELS = 4
FIGURES = [".scale", ".shift", ".mean", ".variance"]  # of a batch normalization
TENSORFLOW = "import sys; sys.path.insert(0, sys.argv[1]); import exporters; exporters.write_tensorflow(*sys.argv[2:])"


def skip(why):
    for number, name in enumerate(NAMES, 1):
        print(f"ok {number} one U-Net by two exporters: {name} # SKIP {why}")
    print(f"1..{len(NAMES)}")
    sys.exit(0)


try:
    import numpy as np
except ImportError as missing:
    skip(f"{missing} (apt install python3-torch python3-onnx)")


def make_weights(features):
    """Weights in the layout of PyTorch, random."""
    random = np.random.default_rng(1)
    weights = {}

    def convolution(name, out, into, size):
        weights[name] = random.normal(0, (2 / (into * size * size)) ** 0.5, (out, into, size, size)).astype("float32")

    def block(name, out, into):
        for part, channels in (("1", into), ("2", out)):
            convolution(name + part, out, channels, 3)
            for figure in FIGURES:
                weights[name + part + figure] = random.uniform(0.5, 1.5, out).astype("float32")

    for level in range(LEVELS + 1):
        block(f"down{level}.", features << level, features << (level - 1) if level else 3)
    for level in reversed(range(LEVELS)):
        convolution(f"up{level}", features << (level + 1), features << level, 2)
        block(f"join{level}.", features << level, features << (level + 1))
    convolution("last", 1, features, 1)
    return weights


def write_torch(weights, size, path):
    import torch
    import torch.nn.functional as F

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            for name, array in weights.items():
                self.register_buffer(name.replace(".", "_"), torch.from_numpy(array))

        def weight(self, name):
            return getattr(self, name.replace(".", "_"))

        def block(self, name, x):
            for part in "12":
                scale, shift, mean, variance = (self.weight(name + part + figure) for figure in FIGURES)
                x = F.conv2d(x, self.weight(name + part), padding=1)
                x = F.relu(F.batch_norm(x, mean, variance, scale, shift, False, 0, 1e-5))
            return x

        def forward(self, x):
            held = []
            for level in range(LEVELS):
                held.append(self.block(f"down{level}.", x))
                x = F.max_pool2d(held[-1], 2)
            x = self.block(f"down{LEVELS}.", x)
            for level in reversed(range(LEVELS)):
                x = F.conv_transpose2d(x, self.weight(f"up{level}"), stride=2)
                x = self.block(f"join{level}.", torch.cat([x, held[level]], 1))
            return torch.sigmoid(F.conv2d(x, self.weight("last")))

    torch.onnx.export(Net().eval(), torch.zeros(1, 3, size, size), path, opset_version=13, input_names=["x"], output_names=["y"])


def write_tensorflow(weights, size, path):
    import tensorflow as tf
    import tf2onnx

    size = int(size)
    with np.load(weights) as file:
        weights = dict(file)

    def turned(name):
        return tf.constant(weights[name].transpose(2, 3, 1, 0))

    def block(name, x):
        for part in "12":
            scale, shift, mean, variance = (weights[name + part + figure] for figure in FIGURES)
            x = tf.nn.conv2d(x, turned(name + part), 1, "SAME")
            x = tf.nn.relu(tf.compat.v1.nn.fused_batch_norm(x, scale, shift, mean, variance, 1e-5, is_training=False)[0])
        return x

    @tf.function(input_signature=[tf.TensorSpec((1, size, size, 3), name="x")])
    def net(x):
        held = []
        for level in range(LEVELS):
            held.append(block(f"down{level}.", x))
            x = tf.nn.max_pool2d(held[-1], 2, 2, "VALID")
        x = block(f"down{LEVELS}.", x)
        for level in reversed(range(LEVELS)):
            x = tf.nn.conv2d_transpose(x, turned(f"up{level}"), held[level].shape, 2, "VALID")
            x = block(f"join{level}.", tf.concat([x, held[level]], 3))
        return tf.identity(tf.sigmoid(tf.nn.conv2d(x, turned("last"), 1, "SAME")), name="y")

    tf2onnx.convert.from_function(net, input_signature=net.input_signature, opset=13, output_path=path)


def outputs_of(build, model, x, place):
    np.save(place + "/x.npy", x)
    folder = place + "/out"
    os.makedirs(folder)
    command = [f"{build}/dq-run", model, "--input", f"x={place}/x.npy", "--save-output", folder, "--threads", "1", "-q"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    (name,) = os.listdir(folder)
    y = np.load(f"{folder}/{name}")
    os.remove(f"{folder}/{name}")
    os.rmdir(folder)
    return y


def compare_outputs(options, torch_file, tensorflow_file, place):
    x = np.random.default_rng(2).standard_normal((1, 3, options.size, options.size)).astype("float32")
    y = outputs_of(options.build, torch_file, x, place)
    other = outputs_of(options.build, tensorflow_file, x.transpose(0, 2, 3, 1).copy(), place).transpose(0, 3, 1, 2)
    distance = float(np.abs(y - other).max())
    return distance <= 1e-5 and y.std() > 1e-3, f"largest difference {distance:.1e}"


def compare_times(options, files, *way):
    """Whether the interval of the time ratio lies within the bound. Where it reaches over an end of it more rounds follow,
    MOST_ROUNDS in all, and then nothing is told."""
    processes = [tuned.Bench(options.build, file, "1", MILLISECONDS) for file in files]
    ratios = []
    for turn in range(MOST_ROUNDS):
        times = {}
        for one in (0, 1) if turn % 2 else (1, 0):
            times[one] = processes[one].time(*way)
        ratios.append(times[1] / times[0])
        if len(ratios) % ROUNDS:
            continue
        low, high = multi.interval_of(ratios)
        text = f"tf2onnx over torch.onnx {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
        if 1 / BOUND <= low and high <= BOUND:
            return True, text
        if high < 1 / BOUND or low > BOUND:
            return False, text
    return True, "# SKIP the machine is too noisy to tell: " + text


def write_files(options, place):
    files = [place + "/torch.onnx", place + "/tensorflow.onnx"]
    if all(map(os.path.exists, files)):
        return files
    weights = make_weights(options.features)
    try:
        write_torch(weights, options.size, files[0])
    except ImportError as missing:
        skip(f"{missing} (apt install python3-torch python3-onnx)")
    np.savez(place + "/weights.npz", **weights)
    here = os.path.dirname(os.path.abspath(__file__))
    command = [options.tensorflow, "-B", "-c", TENSORFLOW, here, place + "/weights.npz", str(options.size), files[1]]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        skip(f"{options.tensorflow}: {error.strerror}")
    if "ModuleNotFoundError" in done.stderr:
        skip(f"{done.stderr.splitlines()[-1]} (pip install tensorflow-cpu tf2onnx==1.17.0)")
    if done.returncode:
        sys.exit(done.stderr)
    return files


def check(options, place):
    files, wisdom = write_files(options, place), place + "/wisdom"
    yield compare_outputs(options, *files, place)
    yield compare_times(options, files, "--no-wisdom")
    for file in files:
        command = [f"{options.build}/dq-tune", file, "--threads", "1", "--time-limit", options.time_limit, "-q"]
        subprocess.run([*command, "--wisdom", wisdom], stdout=subprocess.DEVNULL)
    if not os.path.exists(wisdom):
        return
    yield compare_times(options, files, "--wisdom", wisdom)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--tensorflow", metavar="PYTHON", default=sys.executable)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--time-limit", default="20s")
    parser.add_argument("--keep", metavar="FOLDER")
    options, failed = parser.parse_args(), False
    with tempfile.TemporaryDirectory() as place:
        place = options.keep or place
        os.makedirs(place, exist_ok=True)
        results = check(options, place)
        for number, name in enumerate(NAMES, 1):
            passed, text = next(results, (True, "# SKIP dq-tune measured nothing: the machine is too noisy, or too slow for --time-limit"))
            failed |= not passed
            print(f"{'ok' if passed else 'not ok'} {number} one U-Net by two exporters: {name} {text}", flush=True)
    print(f"1..{len(NAMES)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
