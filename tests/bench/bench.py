#!/usr/bin/env python3
"""dq against ONNX Runtime and OpenVINO: in turns, each measurement in a fresh process, on the same models.

usage: bench.py BUILD [--threads 1,2] [--rounds N] [--runs N] [--peers KIND,...] [--own DIR] [--conv MODEL,...] MODEL...
       bench.py --quantize MODEL OUT

Every figure of a round is the median of `runs` runs behind three warm-up runs, in a process that was started for
it; printed are medians over rounds, and the geometric mean of the ratios. A ratio is the faster peer's time over
dq's in the same round: above 1, dq is faster. Times of dq are of the network alone (dq-bench); peers are called
from Python, with inputs and outputs bound once (their wheels have no C headers), so the time of a call on a network
of one Identity is printed beside them: it is in each of their times.

KIND: ort, openvino: on the file that dq runs. ort-own, openvino-own: on the file of the same name in DIR, which
ONNX Runtime's quantizer made (--quantize: static, QDQ, one scale per output channel, ranges of random numbers:
they do not change the time). ort-exact: ONNX Runtime told not to saturate between 8-bit products. Each group has a
ratio of its own. A peer that does not run a model is left out there. --conv models are run by the algorithms for
convolutions instead: speed-up over mcmk on the same threads.

--csv FILE keeps what is printed, with the date, the machine and the versions of the peers, for `make benchmarks`.
"""
import argparse
import csv
import datetime
import importlib.metadata
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time


EXACT = "ort-exact"
OWN = "-own"
WARM_UP = 3


def shape_of(dims):
    return [d if isinstance(d, int) and d > 0 else 1 for d in dims]


def random_input(shape):
    import numpy
    return numpy.random.default_rng(0).uniform(-1, 1, shape).astype(numpy.float32)


def ort_session(model, threads, exact=False):
    """A session with a pool of so many threads; 0: of as many as there are processors, None: with the pool of the process."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    if threads is None:
        options.use_per_session_threads = False
    else:
        options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_ort(model, threads, exact):
    """A call that runs the model, inputs and outputs bound once, and the time to load."""
    import onnxruntime
    start = time.perf_counter()
    session = ort_session(model, threads, exact)
    loaded = time.perf_counter() - start
    first = session.get_inputs()[0]
    x = random_input(shape_of(first.shape))
    binding = session.io_binding()
    binding.bind_ortvalue_input(first.name, onnxruntime.OrtValue.ortvalue_from_numpy(x))
    names = [output.name for output in session.get_outputs()]
    for name, y in zip(names, session.run(names, {first.name: x})):
        binding.bind_ortvalue_output(name, onnxruntime.OrtValue.ortvalue_from_numpy(y))
    return lambda: session.run_with_iobinding(binding), loaded


def open_openvino(model, threads):
    import openvino
    start = time.perf_counter()
    core = openvino.Core()
    graph = core.read_model(model)
    first = graph.inputs[0]
    shape = [d.get_length() if d.is_static else 1 for d in first.partial_shape]
    graph.reshape({first: shape})
    compiled = core.compile_model(graph, "CPU", {"INFERENCE_NUM_THREADS": threads,
                                                 "PERFORMANCE_HINT": "LATENCY",
                                                 "INFERENCE_PRECISION_HINT": "f32"})
    loaded = time.perf_counter() - start
    request = compiled.create_infer_request()
    request.set_input_tensor(0, openvino.Tensor(random_input(shape)))

    def run():
        request.start_async()
        request.wait()
    return run, loaded


def serve(kind, model, threads, runs):
    """A peer: prints the time to load and the median time of `runs` runs in ms."""
    if kind.startswith("ort"):
        run, loaded = open_ort(model, threads, kind == EXACT)
    else:
        run, loaded = open_openvino(model, threads)
    for _ in range(WARM_UP):
        run()
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    print(loaded * 1e3, statistics.median(times) * 1e3)


def measure(kind, model, threads, runs, own):
    """Load and median in ms in a process of its own; None where the peer does not run the model."""
    if kind.endswith(OWN):
        model = os.path.join(own, os.path.basename(model))
    made = subprocess.run([sys.executable, __file__, "--serve", kind, model, str(threads), str(runs)],
                          capture_output=True, text=True)
    return [float(word) for word in made.stdout.split()] if made.returncode == 0 else None


def identity_model(folder):
    import onnx
    from onnx import TensorProto, helper
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", values[:1], values[1:])
    path = os.path.join(folder, "identity.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def quantize(model, out):
    """ONNX Runtime's own file of a float model."""
    import onnx
    from onnx import version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    with tempfile.TemporaryDirectory() as folder:
        ready = os.path.join(folder, "ready.onnx")
        graph = onnx.load(model)
        if max(o.version for o in graph.opset_import if o.domain in ("", "ai.onnx")) < 13:
            graph = version_converter.convert_version(graph, 13)
        onnx.save(graph, ready)
        quant_pre_process(ready, ready, skip_symbolic_shape=True)
        first = ort_session(ready, 1).get_inputs()[0]

        class Pictures(CalibrationDataReader):
            left = [{first.name: random_input(shape_of(first.shape))}]

            def get_next(self):
                return self.left.pop() if self.left else None
        quantize_static(ready, out, Pictures(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def dq_bench(build, model, threads, runs, *options):
    """The rows of dq-bench. Peers are not tuned, and every process has one place in memory: so it is with dq."""
    command = [os.path.join(build, "dq-bench"), model, "--threads", str(threads), "--runs", str(runs), "--no-wisdom",
               "--warmup", str(WARM_UP), "--blocks", "1", "-q", "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["models"]


def groups_of(peers):
    """Title and kinds of each group of peers that has a ratio."""
    own = [k for k in peers if k.endswith(OWN)]
    groups = [("ratio", [k for k in peers if k not in own and k != EXACT]), ("to own files", own),
              ("to exact", [k for k in peers if k == EXACT])]
    return [group for group in groups if group[1]]


def compare(args, model, threads):
    """Medians over rounds by name, times to load, and the ratio to the fastest of each group."""
    times = {name: [] for name in ["dq", *args.peers]}
    loads = {name: math.nan for name in times}
    for _ in range(args.rounds):
        row = dq_bench(args.build, model, threads, args.runs)[0]
        loads["dq"] = row["load_ms"] + row["plan_ms"]
        times["dq"].append(row["median_ms"])
        for kind in args.peers:
            found = measure(kind, model, threads, args.runs, args.own)
            if found:
                loads[kind] = found[0]
                times[kind].append(found[1])

    def ratio(kinds):
        run = [times[k] for k in kinds if len(times[k]) == args.rounds]
        return statistics.median(min(of_round) / dq for dq, *of_round in zip(times["dq"], *run)) if run else None
    return ({n: statistics.median(t) if t else math.nan for n, t in times.items()}, loads,
            [ratio(kinds) for _, kinds in groups_of(args.peers)])


def print_calls(args, threads):
    """What a call from Python takes, as the median of ten times as many runs: a call is short. Returned is the text for
    the CSV file."""
    told = []
    with tempfile.TemporaryDirectory() as folder:
        model = identity_model(folder)
        for kind in {k.split("-")[0]: None for k in args.peers}:
            found = measure(kind, model, threads, 10 * args.runs, None)
            print(f"A call of {kind} from Python on an Identity: " +
                  (f"{found[1]:.4f} ms, which its times hold\n" if found else "not measured\n"))
            told += [f"{kind} {found[1]:.4f} ms"] if found else []
    return ", ".join(told)


def mean_of(title, ratios):
    found = [r for r in ratios if r]
    if not found:
        return ""
    text = f"geometric mean {math.exp(statistics.mean(map(math.log, found))):.3f}, least {min(found):.2f}"
    print(f"{title}: {text}\n")
    return text


def name_of(model):
    return os.path.splitext(os.path.basename(model))[0]


def machine():
    """The processor and how many of its cores this process may use."""
    with open("/proc/cpuinfo") as info:
        names = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return f"{names[0] if names else 'not known'}, {len(os.sched_getaffinity(0))} processors"


def versions(peers):
    packages = {k.split("-")[0].replace("ort", "onnxruntime"): None for k in peers}
    return ", ".join(f"{p} {importlib.metadata.version(p)}" for p in packages)


class Kept:
    """The rows of a CSV file in the form that tests/bench/benchmarks reads, written when all are there."""

    def __init__(self, path, title, peers):
        self.path, self.rows = path, []
        self.facts = {"title": title, "command": f"`make {title.split(':')[0]}`", "machine": machine(),
                      "measured": datetime.date.today().isoformat(),
                      "source": "tests/bench/bench.py" + (f", {versions(peers)}" if peers else "")}

    def add(self, *cells):
        self.rows.append(cells)

    def note(self, text):
        self.facts["source"] += "; " + text

    def write(self):
        if not self.path:
            return
        with open(self.path + ".new", "w", newline="") as file:
            file.writelines(f"# {key}: {text}\n" for key, text in self.facts.items())
            csv.writer(file, lineterminator="\n").writerows(self.rows)
        os.replace(self.path + ".new", self.path)


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    if sys.argv[1:2] == ["--quantize"]:
        return quantize(sys.argv[2], sys.argv[3])
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peers", type=lambda s: [p for p in s.split(",") if p], default=["ort", "openvino"])
    parser.add_argument("--own", default="", help="folder of the files that -own peers run")
    parser.add_argument("--conv", type=lambda s: s.split(","), default=[])
    parser.add_argument("--csv", default="", help="file that keeps the figures")
    parser.add_argument("--title", default="bench", help="title of that file, which begins with the target of make")
    args = parser.parse_intermixed_args()  # models may stand behind options
    titles = [title for title, _ in groups_of(args.peers)]
    algorithms = ["mcmk", "im2col", "im2row", "im2col-openblas", "im2row-openblas", "direct", "auto"]
    kept = Kept(args.csv, args.title, args.peers if args.models else [])
    kept.add("network", "threads", *([f"{a}, ms" for a in algorithms] if args.conv else
                                     [*(f"{n}, ms" for n in ["dq", *args.peers]), *titles]))
    for threads in args.threads:
        ratios = {title: [] for title in titles}
        if args.models:
            if args.peers:
                kept.note(f"a call from Python on an Identity, {threads} threads: {print_calls(args, threads)}")
            print(f"| model, {threads} threads | " + " | ".join(f"{n} ms" for n in ["dq", *args.peers]) + " | " +
                  " | ".join([*titles, "load dq / peers, ms"]) + " |\n" +
                  "| --- " * (len(args.peers) + len(titles) + 3) + "|")
        for model in args.models:
            times, loads, of_model = compare(args, model, threads)
            for title, found in zip(titles, of_model):
                ratios[title].append(found)
            print(f"| {name_of(model)} | " + " | ".join(f"{t:.3f}" for t in times.values()) +
                  "".join(f" | {r:.2f}" if r else " | -" for r in of_model) + " | " +
                  " / ".join(f"{loads[n]:.1f}" for n in times) + " |", flush=True)
            kept.add(name_of(model), threads, *("" if math.isnan(t) else f"{t:.3f}" for t in times.values()),
                     *(f"{r:.2f}" if r else "" for r in of_model))
        print()
        means = [mean_of(title, ratios[title]) for title in titles]
        if args.models and titles:
            kept.add("all", threads, *[""] * (1 + len(args.peers)), *means)
        if args.conv:
            print(f"| convolutions, {threads} threads | " + " | ".join(algorithms) + " |\n" +
                  "| --- " * (len(algorithms) + 1) + "|")
        for model in args.conv:
            rows = dq_bench(args.build, model, threads, args.runs, "--conv", ",".join(algorithms))
            print(f"| {name_of(model)} | " +
                  " | ".join(f"{r['median_ms']:.2f} ms, x{rows[0]['median_ms'] / r['median_ms']:.2f}"
                             for r in rows) + " |", flush=True)
            kept.add(name_of(model), threads, *(f"{r['median_ms']:.2f}" for r in rows))
    kept.write()


if __name__ == "__main__":
    main()
