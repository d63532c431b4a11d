#!/usr/bin/env python3
"""One run of a network from Python, by the module of dq and by ONNX Runtime, beside the same run in C by libdq.

usage: calls.py BUILD MODEL... [--rounds 5] [--csv FILE]

The interpreter has numpy and onnxruntime. In each round a process of each kind takes its turn, on one thread, with an input
of zeros; the time of a process is the least mean of nine times 1000 runs. Printed are medians over the rounds, in
microseconds. Ends with 1 where Python takes more than 15 microseconds more than C.
"""
import argparse
import csv
import datetime
import os
import statistics
import subprocess
import sys
import time

import bench

HEAD = ["network", "C, us", "Python, us", "more, us", "ONNX Runtime in Python, us", "its time over dq's"]
MOST_MORE = 15.0


def least(call):
    """As calls.c measures."""
    means = []
    for _ in range(9):
        start = time.perf_counter()
        for _ in range(1000):
            call()
        means.append((time.perf_counter() - start) * 1000)
    return min(means)


def in_dq(model):
    import numpy
    import dq
    network = dq.load(model, threads=1).network()
    inputs = {port.name: numpy.zeros(port.shape, port.dtype) for port in network.inputs}
    print(f"{least(lambda: network.run(inputs)):.3f}")


def in_onnxruntime(model):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs = {port.name: numpy.zeros([d if isinstance(d, int) else 1 for d in port.shape], numpy.float32)
              for port in session.get_inputs()}
    print(f"{least(lambda: session.run(None, inputs)):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--csv")
    options = parser.parse_args()
    build = os.path.realpath(options.build)
    program = f"{build}/calls"
    subprocess.run(["cc", "-O2", "-Ilib", "-o", program, "tests/bench/calls.c", f"-L{build}", "-ldq", f"-Wl,-rpath,{build}"], check=True)
    environment = {**os.environ, "PYTHONPATH": f"{build}/python", "DQ_LIBRARY": f"{build}/libdq.so"}
    rows, worst = [], 0.0
    for model in options.models:
        kinds = [[program, model]] + [[sys.executable, "-B", os.path.abspath(__file__), kind, model] for kind in ("dq", "onnxruntime")]
        times = [[float(subprocess.run(kind, env=environment, check=True, capture_output=True, text=True).stdout) for kind in kinds]
                 for _ in range(options.rounds)]
        c, python, other = (statistics.median(column) for column in zip(*times))
        worst = max(worst, python - c)
        rows.append([os.path.basename(model).removesuffix(".onnx"), f"{c:.1f}", f"{python:.1f}", f"{python - c:.1f}", f"{other:.1f}", f"{other / python:.2f}"])
        print(" | ".join(rows[-1]))
    if options.csv:
        with open(options.csv, "w", encoding="utf-8", newline="") as file:
            file.write("# title: bench-calls: one run from Python beside one in C\n# command: `make bench-calls`\n"
                       f"# machine: {bench.machine()}\n# measured: {datetime.date.today()}\n# source: tests/bench/calls.py\n")
            csv.writer(file, lineterminator="\n").writerows([HEAD] + rows)
    return worst > MOST_MORE


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("dq", "onnxruntime"):
        {"dq": in_dq, "onnxruntime": in_onnxruntime}[sys.argv[1]](sys.argv[2])
    else:
        sys.exit(main())
