#!/usr/bin/env python3
"""dq-bench on a model beside itself, which it cannot tell apart, and beside one that takes 3 % more time, which it can.

usage: itself.py BUILD [--times N] [--threads 1,2] [--runs N] [--csv FILE] MODEL...

For each model and number of threads dq-bench compares N times the model with itself, and a slower one with the model, in
turns, each in a process and with a seed of its own, without wisdom. The slower model has one or two convolutions or matrix
products twice, those whose share of the time (--per-layer) comes next to 3 % from above; what they give is one more output,
so that no pass drops it. Printed are how many of the N comparisons with itself are decided, by more and by less, how often
the slower model is called slower and faster, and the median of its time ratios.

Ends with 1 where more than 5 % of all comparisons with itself are decided, more than 10 % of those of one row, or where a
slower model is called slower in fewer than 80 %. On a machine without other programs 100 times four networks on one thread
and two take some 8 minutes.
"""
import argparse
import csv
import datetime
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import bench

HEAD = ["network", "threads", "times", "itself: faster", "itself: slower", "3 % more: slower", "3 % more: faster", "time ratio"]
SLOWER = 3.0  # %
MOST_OF_ALL, MOST_OF_ROW, LEAST_RIGHT = 0.05, 0.10, 0.80


# ---- A model with steps that run twice ----

def read_varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def fields(data):
    """Number and bytes of each field of a protobuf message, with its head, and the contents of those with a length."""
    at = 0
    while at < len(data):
        start = at
        key, at = read_varint(data, at)
        content = None
        if key & 7 == 2:
            length, at = read_varint(data, at)
            content = data[at:at + length]
            at += length
        elif key & 7 == 0:
            _, at = read_varint(data, at)
        else:
            at += {1: 8, 5: 4}[key & 7]
        yield key >> 3, data[start:at], content


def with_length(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


INPUT, OUTPUT, NAME, GRAPH, NODE, GRAPH_OUTPUT = 1, 2, 3, 7, 1, 12  # numbers of fields of onnx.proto


def twin(node, suffix):
    """A node with another name and other outputs, and its outputs."""
    made, outputs = b"", []
    for number, data, content in fields(node):
        if number in (OUTPUT, NAME):
            data = with_length(number, content + suffix)
            outputs += [content + suffix] if number == OUTPUT else []
        made += data
    return made, outputs


def twice(model, names):
    """The bytes of a model in which the nodes of these names, or whose first outputs have them, run twice."""
    def graph_twice(graph):
        made, outputs = b"", []
        for number, data, content in fields(graph):
            made += data
            own = [c for n, _, c in fields(content) if n in (OUTPUT, NAME)] if number == NODE else []
            if set(own) & names:
                node, more = twin(content, b"_again")
                made += with_length(NODE, node)
                outputs += more
        return made + b"".join(with_length(GRAPH_OUTPUT, with_length(1, name)) for name in outputs)
    return b"".join(with_length(GRAPH, graph_twice(content)) if number == GRAPH else data
                    for number, data, content in fields(model))


def slower_model(options, model, place):
    """The path of the slower model."""
    steps = [s for s in told_by(options, model, "1", "--per-layer")["layers"] if s["macs"]]
    sets = [c for count in (1, 2) for c in itertools.combinations(steps, count) if sum(s["share"] for s in c) >= SLOWER]
    if not sets:
        sys.exit(f"{model}: no convolution or matrix product takes {SLOWER} % of the time")
    chosen = min(sets, key=lambda c: sum(s["share"] for s in c))
    path = os.path.join(place, f"{len(os.listdir(place))}_{os.path.basename(model)}")
    with open(model, "rb") as old, open(path, "wb") as new:
        new.write(twice(old.read(), {s["node"].encode() for s in chosen}))
    return path


# ---- Comparisons ----

def told_by(options, model, threads, *more):
    command = [f"{options.build}/dq-bench", model, "--threads", threads, "--runs", str(options.runs), "--no-wisdom", "-q",
               "--json", "-", *more]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def row_of(options, model, slower, threads):
    verdicts = {model: [], slower: []}
    ratios = []
    for seed in range(options.times):
        for other in (model, slower):
            row = told_by(options, other, threads, "--vs", model, "--seed", str(seed))["models"][1]
            verdicts[other].append(row["verdict"].split()[0])
            ratios += [row["ratio"]] if other == slower else []
    counts = [verdicts[m].count(word) for m, word in ((model, "faster"), (model, "slower"), (slower, "slower"), (slower, "faster"))]
    return [bench.name_of(model), threads, options.times, *counts, f"{statistics.median(ratios):.3f}"]


def failures(rows, times):
    if sum(r[3] + r[4] for r in rows) > MOST_OF_ALL * times * len(rows):
        yield f"more than {MOST_OF_ALL:.0%} of the comparisons of models with themselves are decided"
    for row in rows:
        where = f"{row[0]}, {row[1]} threads"
        if row[3] + row[4] > MOST_OF_ROW * times:
            yield f"{where}: more than {MOST_OF_ROW:.0%} of the comparisons with itself are decided"
        if row[5] < LEAST_RIGHT * times:
            yield f"{where}: the slower model is called slower in less than {LEAST_RIGHT:.0%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--runs", type=int, default=50, help="--runs of dq-bench")
    parser.add_argument("--csv", help="file that keeps the figures")
    options = parser.parse_intermixed_args()
    facts = {"title": "bench-itself: dq-bench on a model beside itself and beside one that takes 3 % more time",
             "command": "`make bench-itself`", "machine": f"{bench.machine()}; load average at the start {os.getloadavg()[0]:.1f}",
             "measured": datetime.date.today().isoformat(), "source": "tests/bench/itself.py"}
    rows = []
    print(" | ".join(HEAD))
    with tempfile.TemporaryDirectory() as place:
        for model in options.models:
            slower = slower_model(options, model, place)
            for threads in options.threads.split(","):
                rows.append(row_of(options, model, slower, threads))
                print(*rows[-1], sep=" | ", flush=True)
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            file.writelines(f"# {key}: {text}\n" for key, text in facts.items())
            csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    decided = sum(r[3] + r[4] for r in rows)
    print(f"{decided} of {options.times * len(rows)} comparisons of a model with itself are decided")
    found = list(failures(rows, options.times))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
