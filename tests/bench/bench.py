#!/usr/bin/env python3
"""dq against ONNX Runtime and OpenVINO: each in a process of its own, in turns, on the same models.

usage: bench.py BUILD [--threads 1,2] [--rounds N] [--runs N] [--peers ort,openvino,ort-exact] [--conv MODEL,...] MODEL...

A round is `runs` runs by every one after the other; the figure of a round is their median, the ratio of a
round is the faster peer's figure over dq's: above 1, dq is faster. Printed are medians over rounds, and the
geometric mean of the ratios. ort-exact is ONNX Runtime told not to saturate between 8-bit products; it has a
ratio of its own. A peer that does not run a model is left out there. --conv models are run by the algorithms for convolutions instead: speed-up over
mcmk on the same threads.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time


EXACT = "ort-exact"


def serve(kind, model, threads):
    """A peer: loads the model, then answers every line "N" with the median time of N runs in ms."""
    import numpy
    start = time.perf_counter()
    if kind.startswith("ort"):
        import onnxruntime
        start = time.perf_counter()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        if kind == EXACT:
            options.add_session_config_entry("session.x64quantprecision", "1")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        first = session.get_inputs()[0]
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in first.shape]
        x = numpy.random.default_rng(0).uniform(-1, 1, shape).astype(numpy.float32)
        run = lambda: session.run(None, {first.name: x})
    else:
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
        request = compiled.create_infer_request()
        x = numpy.random.default_rng(0).uniform(-1, 1, shape).astype(numpy.float32)
        run = lambda: request.infer({0: x})
    loaded = (time.perf_counter() - start) * 1e3
    run()
    print(loaded, flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times) * 1e3, flush=True)


class Peer:
    def __init__(self, kind, model, threads):
        self.process = subprocess.Popen([sys.executable, __file__, "--serve", kind, model, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.load = float(self.process.stdout.readline() or "nan")
        self.runs = not math.isnan(self.load)

    def measure(self, runs):
        print(runs, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dq_bench(build, model, threads, runs, *options):
    command = [os.path.join(build, "dq-bench"), model, "--threads", str(threads), "--runs", str(runs),
               "--warmup", "3", "-q", "--json", "-", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["models"]


def compare(args, model, threads):
    """Medians over rounds by name, times to load, and the ratios to the faster peer and to exact arithmetic."""
    started = {kind: Peer(kind, model, threads) for kind in args.peers}
    peers = {kind: peer for kind, peer in started.items() if peer.runs}
    times = {name: [] for name in ["dq", *args.peers]}
    loads = {kind: peer.load for kind, peer in started.items()}
    for _ in range(args.rounds):
        row = dq_bench(args.build, model, threads, args.runs)[0]
        loads["dq"] = row["load_ms"] + row["plan_ms"]
        times["dq"].append(row["median_ms"])
        for kind, peer in peers.items():
            times[kind].append(peer.measure(args.runs))
    for peer in started.values():
        peer.close()

    def ratio(kinds):
        rounds = [min(times[k][r] for k in kinds) / times["dq"][r] for r in range(args.rounds)] if kinds else []
        return statistics.median(rounds) if rounds else None
    return ({n: statistics.median(t) if t else math.nan for n, t in times.items()}, loads,
            ratio([k for k in peers if k != EXACT]), ratio([k for k in peers if k == EXACT]))


def mean_of(title, ratios):
    found = [r for r in ratios if r]
    if found:
        print(f"{title}: geometric mean {math.exp(statistics.mean(map(math.log, found))):.3f}, "
              f"least {min(found):.2f}\n")


def name_of(model):
    return os.path.splitext(os.path.basename(model))[0]


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peers", type=lambda s: [p for p in s.split(",") if p], default=["ort", "openvino"])
    parser.add_argument("--conv", type=lambda s: s.split(","), default=[])
    args = parser.parse_intermixed_args()  # models may stand behind options
    for threads in args.threads:
        ratios, exact = [], []
        if args.models:
            print(f"| model, {threads} threads | " + " | ".join(f"{n} ms" for n in ["dq", *args.peers]) +
                  " | ratio | to exact | load dq / peers, ms |\n" + "| --- " * (len(args.peers) + 5) + "|")
        for model in args.models:
            times, loads, *of_model = compare(args, model, threads)
            ratios.append(of_model[0])
            exact.append(of_model[1])
            print(f"| {name_of(model)} | " + " | ".join(f"{t:.3f}" for t in times.values()) +
                  "".join(f" | {r:.2f}" if r else " | -" for r in of_model) + " | " +
                  " / ".join(f"{loads[n]:.1f}" for n in times) + " |", flush=True)
        print()
        mean_of("ratio", ratios)
        mean_of("to exact", exact)
        algorithms = ["mcmk", "im2col", "im2row", "im2col-openblas", "im2row-openblas", "direct", "auto"]
        if args.conv:
            print(f"| convolutions, {threads} threads | " + " | ".join(algorithms) + " |\n" +
                  "| --- " * (len(algorithms) + 1) + "|")
        for model in args.conv:
            rows = dq_bench(args.build, model, threads, args.runs, "--conv", ",".join(algorithms))
            print(f"| {name_of(model)} | " +
                  " | ".join(f"{r['median_ms']:.2f} ms, x{rows[0]['median_ms'] / r['median_ms']:.2f}"
                             for r in rows) + " |", flush=True)


if __name__ == "__main__":
    main()
