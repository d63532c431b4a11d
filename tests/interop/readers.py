#!/usr/bin/env python3
"""Whether other runtimes answer the 8-bit files of dq-int8 as dq means them.

usage: readers.py BUILD NETWORK.onnx|FOLDER... [--only NAMES] [--quick] [--again] [--csv FILE]

Each network is converted by dq-int8 with its defaults, on 8 drawn pictures or signals; with --quick all layers are in 8 bits,
without a search. Then dq, ONNX Runtime without and
with its default optimizations, OpenVINO (in float32) and tract answer 2 others, with the file as it was (float) and in 8 bits, each
in a process of its own, so that one that ends itself is a row of the table. The figures are SQNR in dB, of the worst
output:
  float   of the float file, against ONNX Runtime without optimizations
  8 bits  of the 8-bit file, against ONNX Runtime without optimizations
  kept    of the 8-bit file against the float file in ONNX Runtime without optimizations: what a user of that runtime keeps
A runtime deviates where it keeps 3 dB less than dq keeps, or cannot run the 8-bit file while it runs the float one. The script
ends with 1 where one deviates that readers_known.csv does not name, and names rows there that were not found any more.
BUILD/readers keeps the 8-bit files; what is there is not made again but with --again. readers.csv has what a network
needs: sizes that it leaves open, the range of its pictures, further words for dq-int8.
"""
import argparse
import atexit
import csv
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

RUNTIMES = ("dq", "plain", "ort", "openvino", "tract")  # plain: ONNX Runtime without optimizations, the reference
HERE = os.path.dirname(os.path.abspath(__file__))
CALIBRATION, COMPARED, DEVIATION = 8, 2, 3.0  # pictures, pictures, dB
ALWAYS = "--accumulator pairs".split()  # OpenVINO saturates other pairs of products on processors without VNNI
QUICK = "--all-int8 --limit 4 --method minmax --equalize off --bias-correction off --task none".split()
LIMIT = {"convert": 1800, "answer": 300}  # seconds
KINDS = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(int64)": np.int64, "tensor(int32)": np.int32}


# ---- One runtime, in a process of its own ----

def answer_plain(model, feeds, optimized=False):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact integer sums on every processor
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [session.run(None, f) for f in feeds]


def answer_ort(model, feeds):
    return answer_plain(model, feeds, True)


def answer_openvino(model, feeds):
    import openvino
    network = openvino.Core().read_model(model)
    network.reshape({name: list(array.shape) for name, array in feeds[0].items()})
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    request = openvino.Core().compile_model(network, "CPU", settings).create_infer_request()
    return [[np.array(v) for v in request.infer(f).values()] for f in feeds]


def answer_tract(model, feeds):
    import tract
    network = tract.onnx().load(without_shapes(model))
    kinds = {"float32": "f32", "float16": "f16", "int64": "i64", "int32": "i32"}
    names = [network.input_name(i) for i in range(network.input_count())]
    for i, name in enumerate(names):
        array = feeds[0][name]
        network.set_input_fact(i, ",".join([*map(str, array.shape), kinds[str(array.dtype)]]))
    runnable = network.into_model().into_runnable()
    return [[v.to_numpy() for v in runnable.run([f[n] for n in names])] for f in feeds]


def without_shapes(model):
    """A copy without the shapes of values, whose symbols tract does not unify with sizes. It lies in a file that goes."""
    import onnx
    copy = onnx.load(model)
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        value.type.tensor_type.ClearField("shape")
    for value in copy.graph.input:
        for k, d in enumerate(value.type.tensor_type.shape.dim):
            if not d.HasField("dim_value"):
                d.dim_param = f"{re.sub('[^A-Za-z]', '', value.name)}{k}"
    file = tempfile.NamedTemporaryFile(suffix=".onnx", delete=False)
    onnx.save(copy, file.name)
    atexit.register(os.unlink, file.name)
    return file.name


def feeds_of(path):
    stored = np.load(path)
    samples = len(next(iter(stored.values())))
    return [{name: stored[name][s] for name in stored.files} for s in range(samples)]


def answer(runtime, model, inputs, outputs):
    answers = globals()["answer_" + runtime](model, feeds_of(inputs))
    np.savez(outputs, **{str(i): np.stack([np.asarray(a[i], np.float64) for a in answers]) for i in range(len(answers[0]))})


# ---- Networks ----

def rows(name):
    with open(os.path.join(HERE, name), newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def interface(path):
    """Names, shapes and types of the inputs, names of the outputs."""
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [(i.name, i.shape, KINDS[i.type]) for i in session.get_inputs()], [o.name for o in session.get_outputs()]


def sizes(shape, given):
    """Sizes of one sample: those that the file leaves open come from `given`, 1 in their place where there are none."""
    fixed = [d if isinstance(d, int) and d > 0 else 0 for d in shape]
    for i, size in enumerate(given[len(given) - len(fixed):] if given else []):
        fixed[i] = fixed[i] or size
    return [d or 1 for d in fixed]


def drawn(random, shape):
    """A sample of mean 0 and variance 1: large structures and small ones along each long axis, as in pictures and sounds."""
    sample = np.zeros(shape)
    for cell in (1, 4, 16, 64):
        coarse = [max(1, -(-d // cell)) if d > 16 else d for d in shape]
        layer = random.standard_normal(coarse)
        for axis, size in enumerate(shape):
            if layer.shape[axis] != size:
                layer = np.take(layer, np.arange(size) // cell, axis)
        sample += layer * cell ** 0.5
    return (sample - sample.mean()) / max(sample.std(), 1e-9)


def samples(random, inputs, row, count):
    """{name: count x shape}. Ranges LOW:HIGH cut three standard deviations on both sides."""
    given = [int(d) for d in row.get("sizes", "").split("x") if d]
    made = {}
    for name, shape, kind in inputs:
        array = np.stack([drawn(random, sizes(shape, given)) for _ in range(count)])
        if row.get("range"):
            low, high = map(float, row["range"].split(":"))
            array = low + (high - low) * (np.clip(array, -3, 3) + 3) / 6
        made[name] = array.astype(kind)
    return made


# ---- Measuring ----

def last_line(text):
    """What a failed process says: the line of an exception of Python, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Fail|NotImplemented)\b", line)]
    return (raised or lines or ["no message"])[-1][:160]


def run(words, limit):
    """None, or why the process failed."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"takes more than {limit} s"
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    return last_line(done.stderr) if done.returncode else None


def sqnr(candidate, reference):
    """The SQNR of the worst output in dB; 200: no difference."""
    worst = 200.0
    for got, expected in zip(candidate, reference):
        if got.shape != expected.shape or not np.isfinite(got).all():
            return -200.0
        noise, signal = ((got - expected) ** 2).sum(), (expected ** 2).sum()
        if noise:
            worst = min(worst, 10 * np.log10(signal / noise) if signal else -200.0)
    return worst


class Folder:
    """What is kept of one network, and how it is answered."""

    def __init__(self, asked, network, row):
        self.build, self.network, self.row, self.again = asked.build, network, row, asked.again
        self.quick = QUICK if asked.quick else []
        self.name = os.path.splitext(os.path.basename(network))[0]
        self.base = os.path.join(asked.build, "readers-quick" if asked.quick else "readers", self.name)
        os.makedirs(os.path.dirname(self.base), exist_ok=True)
        self.inputs, self.outputs = interface(network)

    def prepare(self):
        """Draws the data and converts. None, or why dq-int8 failed."""
        random = np.random.default_rng(7)
        calibration = samples(random, self.inputs, self.row, CALIBRATION)
        compared = samples(random, self.inputs, self.row, COMPARED)
        np.savez(self.base + ".npz", **compared)
        words, self.converted = [], self.base + ".int8.onnx"
        for i, (name, array) in enumerate(calibration.items()):
            np.save(f"{self.base}.{i}.npy", (array[:, 0] if array.shape[1] == 1 else array).astype(np.float32))
            words += ["--data", f"{name}=npy:{self.base}.{i}.npy" if len(calibration) > 1 else f"npy:{self.base}.{i}.npy"]
        if os.path.exists(self.converted) and not self.again:
            return None
        done = subprocess.run([os.path.join(self.build, "dq-int8"), self.network, *words, *ALWAYS, *self.quick, *self.row.get("words", "").split(),
                               "-o", self.converted, "-q"], capture_output=True, text=True, timeout=LIMIT["convert"])
        return None if os.path.exists(self.converted) else f"exit {done.returncode}: {last_line(done.stderr)}"

    def answers(self, runtime, model):
        """The outputs, or a text: why there are none."""
        stored = f"{self.base}.{runtime}.npz"
        if os.path.exists(stored):
            os.unlink(stored)
        if runtime == "dq":
            return self.dq_answers(model)
        why = run([sys.executable, "-W", "ignore", os.path.abspath(__file__), "--answer", runtime, model, self.base + ".npz", stored],
                  LIMIT["answer"])
        if why:
            return why
        found = np.load(stored)
        return [found[str(i)] for i in range(len(found.files))]

    def dq_answers(self, model):
        answers = []
        for feeds in feeds_of(self.base + ".npz"):
            words = []
            for i, (name, array) in enumerate(feeds.items()):
                np.save(f"{self.base}.in{i}.npy", array)
                words += ["--input", f"{name}={self.base}.in{i}.npy"]
            why = run([os.path.join(self.build, "dq-run"), model, *words, "--save-output", self.base + ".out", "-q"], LIMIT["answer"])
            if why:
                return why
            answers.append([np.load(os.path.join(self.base + ".out", file_name(n) + ".npy")).astype(np.float64) for n in self.outputs])
        return [np.stack(output) for output in zip(*answers)]


def file_name(name):
    return "".join(c if c.isascii() and (c.isalnum() or c in ".-_") else "_" for c in name)


def measure(folder):
    """{runtime: {"float", "8 bits", "kept": dB or why there is none}}."""
    exact = {form: folder.answers("plain", model) for form, model in (("float", folder.network), ("8 bits", folder.converted))}
    found = {}
    for runtime in RUNTIMES:
        row = found[runtime] = {}
        for form, model in (("float", folder.network), ("8 bits", folder.converted)):
            got = exact[form] if runtime == "plain" else folder.answers(runtime, model)
            known = not isinstance(got, str) and not isinstance(exact[form], str)
            row[form] = sqnr(got, exact[form]) if known else got if isinstance(got, str) else "no reference"
            if form == "8 bits":
                row["kept"] = sqnr(got, exact["float"]) if known and not isinstance(exact["float"], str) else row[form]
    return found


def deviates(found, runtime):
    """Why, or None."""
    row, most = found[runtime], max((r["kept"] for r in found.values() if not isinstance(r["kept"], str)), default=None)
    own = found["dq"]["kept"]
    if isinstance(row["float"], str):
        return None
    if isinstance(row["kept"], str):
        return row["kept"]
    own = most if isinstance(own, str) else own
    return f"keeps {row['kept']:.1f} dB, dq {own:.1f}" if row["kept"] < own - DEVIATION else None


def shown(figure):
    return figure if isinstance(figure, str) else "equal" if figure == 200 else "wrong" if figure == -200 else f"{figure:.1f}"


def version(package):
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{package} is missing"


def table_of(name, found):
    return [[name, runtime, *(shown(row[f]) for f in ("float", "8 bits", "kept"))] for runtime, row in found.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--only", help="names of networks, with commas between")
    parser.add_argument("--quick", action="store_true", help="all layers in 8 bits, without a search")
    parser.add_argument("--again", action="store_true", help="converts also what BUILD/readers has")
    parser.add_argument("--csv", help="writes the table to this file too")
    asked = parser.parse_args()
    files = []
    for given in asked.networks:
        files += [os.path.join(given, f) for f in os.listdir(given) if f.endswith(".onnx")] if os.path.isdir(given) else [given]
    needs = {row["network"]: row for row in rows("readers.csv")}
    known = {(row["network"], row["runtime"]): row["reason"] for row in rows("readers_known.csv")}
    print(", ".join(version(p) for p in ("onnxruntime", "openvino", "tract")))
    faults, table, gone = [], [], []
    for path in sorted(files, key=os.path.getsize):
        name = os.path.splitext(os.path.basename(path))[0]
        row = needs.get(name, {})
        if asked.only and name not in asked.only.split(",") or row.get("words") == "skip":
            continue
        folder = Folder(asked, path, row)
        why = folder.prepare()
        if why:
            faults.append(f"{name}: dq-int8: {why}")
            print(faults[-1], flush=True)
            continue
        found = measure(folder)
        table += table_of(name, found)
        for line in table[-len(found):]:
            print("{:24s} {:9s} {:>8s} {:>8s} {:>8s}".format(*line), flush=True)
        for runtime in RUNTIMES:
            reason, expected = deviates(found, runtime), known.get((name, runtime))
            if reason and expected:
                print(f"  known: {runtime}: {reason} ({expected})")
            elif reason:
                faults.append(f"{name}: {runtime}: {reason}")
            elif expected:
                gone.append(f"{name}: {runtime} does not deviate any more: {expected}")
    if asked.csv:
        with open(asked.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([["network", "runtime", "float", "8 bits", "kept"], *table])
    for line in gone + faults:
        print(line)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    if sys.argv[1] == "--answer":
        answer(*sys.argv[2:])
    else:
        main()
