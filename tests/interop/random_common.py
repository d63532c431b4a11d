"""What the generators of random graphs share: dq and ONNX Runtime in processes of their own, comparison, and counts.

A generator makes Case objects and passes them to Campaign.run. Each case is one seed, so that
`random_NAME.py BUILD --seed S --count 1` repeats case S alone and writes its model to the folder of --keep.
"""
import argparse, collections, multiprocessing, os, select, struct, subprocess, sys, time

import numpy as np, onnx
from onnx import helper, numpy_helper

SETTINGS = ("1", "2", "plain")  # of dq: 1 thread, 2 threads, no passes
TIMEOUT = 60  # seconds for one request to a process
Answer = collections.namedtuple("Answer", "status message outputs")  # of dq; status is that of the commands


class Choices:
    """Random choices by self.rng, a generator of numpy."""

    def chance(self, share):
        return bool(self.rng.random() < share)

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))


class Case:
    """A model with arrays for all its inputs, in the order of the model."""

    def __init__(self, model, feeds):
        self.model, self.feeds = model, feeds  # ModelProto; {name: array}
        self.bytes = model.SerializeToString()

    def names(self):
        return [o.name for o in self.model.graph.output]


class Died(Exception):
    """A process ended or did not answer; the text says which."""


class Dq:
    """The program tests/interop/serve of the build: runs and converts models."""

    def __init__(self, build):
        self.path, self.process = os.path.join(build, "tests", "interop", "serve"), None

    def _read(self, size):
        parts = b""
        while len(parts) < size:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Died(f"dq did not answer within {TIMEOUT} s")
            part = os.read(self.process.stdout.fileno(), size - len(parts))
            if not part:
                raise Died(f"dq ended with status {self.process.wait()}")
            parts += part
        return parts

    def _number(self, form):
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _array(self):
        kind, rank = self._number("<i"), self._number("<i")
        dims = struct.unpack(f"<{rank}q", self._read(8 * rank))
        data = self._read(self._number("<Q"))
        return np.frombuffer(data, helper.tensor_dtype_to_np_dtype(kind)).reshape(dims)

    def _answer(self):
        status = self._number("<i")
        message = self._read(self._number("<I")).decode(errors="replace")
        return Answer(status, message, [self._array() for _ in range(self._number("<I"))])

    def ask(self, lines, model, arrays=()):
        """Answers to the lines (see serve.c) for the bytes of a model and the arrays of its inputs."""
        if self.process is None:
            self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        text = "\n".join(lines).encode()
        arrays = [np.ascontiguousarray(a).tobytes() for a in arrays]
        request = struct.pack("<I", len(text)) + text + struct.pack("<Q", len(model)) + model
        request += struct.pack("<I", len(arrays)) + b"".join(struct.pack("<Q", len(a)) + a for a in arrays)
        self.deadline = time.monotonic() + TIMEOUT
        try:
            self.process.stdin.write(request)
            self.process.stdin.flush()
            return [self._answer() for _ in lines]
        except (Died, BrokenPipeError) as error:
            self.close()
            raise Died(str(error)) from None

    def run(self, case, settings=SETTINGS):
        """{setting: Answer}"""
        answers = self.ask([f"run {s}" for s in settings], case.bytes, case.feeds.values())
        return dict(zip(settings, answers))

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


def _run_onnxruntime(model, feeds):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact integer sums on every processor
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def _run_evaluator(model, feeds):
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(onnx.load_from_string(model)).run(None, feeds)


def _serve_peer(pipe, function):
    np.seterr(all="ignore")
    while True:
        try:
            pipe.send((True, [np.asarray(a) for a in function(*pipe.recv())]))
        except EOFError:
            return
        except Exception as error:  # whatever the runtime says is an answer
            pipe.send((False, str(error)))


class Peer:
    """ONNX Runtime without optimizations, or the reference evaluator of onnx, in a process that may die."""

    def __init__(self, kind):
        self.kind, self.process = kind, None

    def run(self, model, feeds):
        """(True, outputs) or (False, why not)."""
        if self.process is None:
            function = {"onnxruntime": _run_onnxruntime, "evaluator": _run_evaluator}[self.kind]
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.get_context("spawn").Process(target=_serve_peer, args=(other, function), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send((model, feeds))
            if self.pipe.poll(TIMEOUT):
                return self.pipe.recv()
        except (EOFError, ConnectionError):
            pass
        self.close()
        return False, f"{self.kind} died or did not answer"

    def close(self):
        if self.process:
            self.process.kill()
            self.process.join()
        self.process = None


def largest(array):
    finite = np.abs(array[np.isfinite(array)])
    return finite.max() if finite.size else 0


def distance(got, expected):
    """How far two arrays lie apart: inf for another type, shape, or place of NaN and infinity; for integers the largest
    difference; for floats that in units of the rounding (epsilon) of the largest element of the float type."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return np.inf
    if got.dtype.kind in "biu" or not got.size:
        return float((got.astype(np.float64) != expected.astype(np.float64)).sum() and
                     np.abs(got.astype(np.float64) - expected.astype(np.float64)).max() or (got != expected).any())
    g, e = got.astype(np.float64), expected.astype(np.float64)
    odd = ~(np.isfinite(g) & np.isfinite(e))
    if odd.any() and not np.array_equal(g[odd], e[odd], equal_nan=True):
        return np.inf
    off = np.abs(g[~odd] - e[~odd])
    info = np.finfo(got.dtype)
    return float(off.max() / (float(info.eps) * max(largest(e), float(info.tiny)))) if off.size else 0.0


def first_difference(got, expected, names, allowed):
    """Text on the first of two lists of arrays that lie further apart than `allowed` (see distance), else None."""
    if len(got) != len(expected):
        return f"{len(got)} outputs, expected {len(expected)}"
    for g, e, name in zip(got, expected, names):
        units = distance(g, e)
        if units > (allowed if g.dtype.kind == "f" else 0):
            return f"{name}: {g.dtype}{list(g.shape)} for {e.dtype}{list(e.shape)}, {units:.3g} apart"
    return None


class Campaign:
    """Runs cases by seed, counts what comes of them, and prints one line at the end.

    judge(case) returns (kind, text) with kind "equal", "explained" (text: name of the deviation), "refused" (text: by
    whom and why) or "differ".
    """

    def __init__(self, title, make, judge, options):
        self.title, self.make, self.judge, self.options = title, make, judge, options
        self.counts, self.names = collections.Counter(), collections.Counter()

    def one(self, seed):
        case = self.make(np.random.default_rng(seed))
        try:
            kind, text = self.judge(case)
        except Died as error:
            kind, text = "differ", str(error)
        self.counts[kind] += 1
        if kind in ("explained", "refused"):
            self.names[f"{kind}: {text}"] += 1
        if kind == "differ":
            print(f"seed {seed}: {text}", flush=True)
        if kind == "differ" or self.options.count == 1:
            self.keep(case, seed)

    def keep(self, case, seed):
        if not self.options.keep:
            return
        os.makedirs(self.options.keep, exist_ok=True)
        onnx.save(case.model, os.path.join(self.options.keep, f"{seed}.onnx"))
        np.savez(os.path.join(self.options.keep, f"{seed}.npz"), **case.feeds)

    def run(self):
        begin, seed = time.monotonic(), self.options.seed
        last = seed + self.options.count if self.options.count else None
        while seed != last and not (self.options.seconds and time.monotonic() - begin > self.options.seconds):
            self.one(seed)
            seed += 1
        graphs = sum(self.counts.values())
        compared = graphs - self.counts["refused"]
        for name, count in sorted(self.names.items(), key=lambda row: -row[1]):
            print(f"# {count} {name}")
        explained = ", ".join(f"{n[11:]}: {c}" for n, c in self.names.most_common() if n.startswith("explained: "))
        print(f"{self.title}: {graphs} graphs, {compared} compared, {self.counts['differ']} differ, "
              f"{self.counts['explained']} explained{f' ({explained})' if explained else ''}", flush=True)
        return 1 if self.counts["differ"] or not compared else 0


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build")
    parser.add_argument("--count", type=int, default=0, help="graphs; 0: no bound")
    parser.add_argument("--seed", type=int, default=1, help="of the first graph; each graph has the next one")
    parser.add_argument("--seconds", type=float, default=0, help="no graph begins later; 0: no bound")
    parser.add_argument("--keep", default="", help="folder for the graphs that differ")
    return parser.parse_args()
