#!/usr/bin/env python3
"""dq-mix beside other choices of precisions, a row for each network of tests/bench/mix_networks.csv.

usage: mix.py BUILD FOLDER [--networks FILE] [--assets FOLDER] [--only NAME,...] [--time-limit 20s] [--csv FILE]

dq-int8 --max-drop makes a choice by multiply-accumulates; dq-mix searches with one thread; then this choice and that of the
three slowest layers in 8 bits are measured beside its points (--also), and what dq-int8 --precision makes of the answer is
compared byte by byte. FOLDER keeps everything; what is there is not made again, and a search that was ended goes on. Cells are the time over that of float32,
with the loss in points; * stands where the loss is above the bound. The last columns are the time of the found point over
that of the fastest of the other choices that hold the bound, float32 among them (1 where it is one of them), and the time
of the point that is found for the noise of the answer where conversions between precisions seem to take no time, over
that of the answer.
"""
import argparse
import csv
import datetime
import json
import os
import subprocess
import sys
import time

import multi

HEAD = ["network", "bound (points)", "float32 (ms)", "all float16", "all int8", "max-drop", "three slowest in int8",
        "without conversions", "found", "points on the front", "error of times (%)", "error of noise (dB)", "search (s)",
        "same bytes", "found over best other", "without conversions over found"]
GIVEN = {"max-drop", "slowest", "blind"}  # points that are no answers of dq-mix itself


def run(log, *command):
    start = time.time()
    with open(log, "w", encoding="utf-8") as file:
        status = subprocess.run(command, stdout=file, stderr=file, check=False).returncode
    return status, time.time() - start


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# A unit has the name of its product; layers behind it in the file are its own, up to the next unit.
def slowest(report, precision, count=3):
    rows = [row for row in report["layers"] if row["fp32_ms"] is not None]
    rows.sort(key=lambda row: -row["fp32_ms"])
    names, units, unit, layers = [row["layer"] for row in rows[:count]], {row["layer"] for row in rows}, None, {}
    for layer in precision["layers"]:
        unit = layer if layer in units else unit
        layers[layer] = "int8" if unit in names else "fp32"
    return {"schema": "dq-precision", "version": 1, "layers": layers}


def measure(options, network):
    at, drop = f"{options.folder}/{network['name']}", network["drop"]
    data = [network["model"], "--data", network["data"], *(["--preset", network["preset"]] if network["preset"] else [])]
    judged = data + [*(["--eval", network["eval"]] if network["eval"] else []), "--max-drop", drop]
    tool = lambda verb: f"{options.build}/{verb}"
    if not os.path.exists(at + ".json"):
        greedy = ["--save-precision", at + ".max-drop.json", "-o", at + ".max-drop.onnx", "-q"]
        if not os.path.exists(at + ".max-drop.json"):
            run(at + ".max-drop.txt", tool("dq-int8"), *judged, *greedy)
        mix = [tool("dq-mix"), *judged, "--threads", "1", "--time-limit", options.time_limit, "--save-precision", at + ".p.json"]
        mix += ["-o", at + ".mix.onnx", "--resume"]
        if not os.path.exists(at + ".first.json"):
            status, seconds = run(at + ".first.txt", *mix, "--json", at + ".first.json")
            if not os.path.exists(at + ".first.json"):
                return print(f"{network['name']}: status {status}, see {at}.first.txt", file=sys.stderr)
            with open(at + ".seconds", "w", encoding="utf-8") as file:
                file.write(f"{seconds:.0f}\n")
        with open(at + ".slow.json", "w", encoding="utf-8") as file:
            json.dump(slowest(load(at + ".first.json"), load(at + ".p.json")), file)
        also = ["--also", f"max-drop={at}.max-drop.json", "--also", f"slowest={at}.slow.json"]
        run(at + ".txt", *mix, "--json", at + ".json", *also)
    if not os.path.exists(at + ".again.onnx"):
        run(at + ".again.txt", tool("dq-int8"), *data, "--precision", at + ".p.json", "-o", at + ".again.onnx", "-q")
    return row(at, network["name"], drop)


def best(points, bound):
    """The fastest of those that hold the bound, or of all where none does."""
    return min(points, key=lambda p: (p["drop"] > bound + 1e-9, p["ms"]), default=None)


def cell(point, bound):
    return "" if point is None else f"{point['ratio']:.3f} ({point['drop']:.2f}{'*' if point['drop'] > bound + 1e-9 else ''})"


def row(at, name, drop):
    report, bound = load(at + ".json"), float(drop)
    points, facts = report["points"], report["search"]
    named = lambda word: best([p for p in points if word in p["point"].split(", ")], bound)
    found = best([p for p in points if not GIVEN.issuperset(p["point"].split(", "))], bound)
    others = [named(word) for word in ("fp16_all", "int8_all", "max-drop", "slowest", "fp32_all", "blind")]
    blind = others[-1]
    rival = best([p for p in others[:-1] if p and p["drop"] <= bound + 1e-9], bound)
    with open(at + ".mix.onnx", "rb") as one, open(at + ".again.onnx", "rb") as other:
        same = one.read() == other.read()
    with open(at + ".seconds", encoding="utf-8") as file:
        seconds = file.read().strip()
    float32 = min(p["ms"] / p["ratio"] for p in points)
    cells = [cell(point, bound) for point in others[:4] + [blind, found]]
    front = sum(p["front"] for p in points)
    ratios = ["" if not (found and other) else f"{one['ms'] / two['ms']:.3f}"
              for other, one, two in ((rival, found, rival), (blind, blind, found))]
    return [name, drop, f"{float32:.3f}", *cells, front, f"{facts['time_error']:.1f}", f"{facts['noise_error']:.2f}", seconds,
            "yes" if same else "no", *ratios]


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--networks", default=here + "/mix_networks.csv")
    parser.add_argument("--assets", default="../shared")
    parser.add_argument("--only", default="")
    parser.add_argument("--time-limit", default="20s")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    facts = [("title", "dq-mix beside other choices of precisions, one thread"),
             ("command", f"`make bench-mix`; `--time-limit {options.time_limit}`"), ("machine", multi.machine_text()),
             ("measured", str(datetime.date.today())),
             ("source", "`tests/bench/mix.py`; cells are the time over that of float32, in brackets the loss in points of the "
              "first figure, * where it is above the bound")]
    with open(options.networks, encoding="utf-8") as file:
        networks = list(csv.DictReader(line.replace("{assets}", options.assets) for line in file if not line.startswith("#")))
    rows, wanted = [], set(options.only.split(",")) - {""}
    for network in networks:
        made = measure(options, network) if not wanted or network["name"] in wanted else None
        if made:
            rows.append(made)
            print(*made, sep=" | ", flush=True)
    found, blind = ([float(row[i]) for row in rows if row[i]] for i in (-2, -1))
    print(f"{len(found)} networks: at most 1.02 times the best other choice on {sum(r <= 1.02 for r in found)}, below 0.98 on "
          f"{sum(r < 0.98 for r in found)}; without conversions slower by 2 % on {sum(r > 1.02 for r in blind)} of {len(blind)}")
    if options.csv:
        multi.write_table(options.csv, facts, [HEAD] + rows)


if __name__ == "__main__":
    main()
