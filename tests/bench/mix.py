"""dq-mix beside other choices of precisions, as CSV, a row for each network.

usage: mix.py DQ_FOLDER FOLDER TIME_LIMIT <LIST

A line of LIST is NAME MODEL CALIBRATION EVAL PRESET DROP. dq-int8 --max-drop DROP makes a choice by multiply-accumulates; dq-mix
searches with one thread; then this choice and that of the three slowest layers in 8 bits are measured beside its
points (--also), and what dq-int8 --precision makes of the answer is compared byte by byte. FOLDER keeps everything;
what is there is not made again. Cells are the time over that of float32, with the loss in points; * stands where the
loss is above the bound.
"""
import csv
import json
import os
import subprocess
import sys
import time


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


def measure(folder, place, limit, name, model, calibration, evaluation, preset, drop):
    at = place + "/" + name
    data = [model, "--data", calibration, "--preset", preset]
    judged = data + ["--eval", evaluation, "--max-drop", drop]
    if not os.path.exists(at + ".json"):
        run(at + ".max-drop.txt", folder + "/dq-int8", *judged, "--save-precision", at + ".max-drop.json", "-o", at + ".max-drop.onnx", "-q")
        mix = [folder + "/dq-mix", *judged, "--threads", "1", "--time-limit", limit, "--save-precision", at + ".p.json", "-o", at + ".mix.onnx"]
        status, seconds = run(at + ".first.txt", *mix, "--json", at + ".first.json")
        if not os.path.exists(at + ".first.json"):
            return print(f"{name}: status {status}", file=sys.stderr)
        with open(at + ".seconds", "w", encoding="utf-8") as file:
            file.write(f"{seconds:.0f}\n")
        with open(at + ".slow.json", "w", encoding="utf-8") as file:
            json.dump(slowest(load(at + ".first.json"), load(at + ".p.json")), file)
        also = ["--also", f"max-drop={at}.max-drop.json", "--also", f"slowest={at}.slow.json"]
        run(at + ".txt", *mix, "--json", at + ".json", "--resume", *also)
        run(at + ".again.txt", folder + "/dq-int8", *data, "--precision", at + ".p.json", "-o", at + ".again.onnx", "-q")
    return row(at, name, drop)


def cell(points, bound):
    best = min(points, key=lambda p: (p["drop"] > bound + 1e-9, p["ms"]), default=None)
    return "" if best is None else f"{best['ratio']:.3f} ({best['drop']:.2f}{'*' if best['drop'] > bound + 1e-9 else ''})"


def row(at, name, drop):
    report, bound = load(at + ".json"), float(drop)
    points, facts = report["points"], report["search"]
    named = lambda word: [p for p in points if word in p["point"].split(", ")]
    found = [p for p in points if p["point"].startswith("mix-")]
    with open(at + ".mix.onnx", "rb") as one, open(at + ".again.onnx", "rb") as other:
        same = one.read() == other.read()
    with open(at + ".seconds", encoding="utf-8") as file:
        seconds = file.read().strip()
    float32 = min(p["ms"] / p["ratio"] for p in points)
    cells = [cell(named(word), bound) for word in ("fp16_all", "int8_all", "max-drop", "slowest", "blind")]
    front = sum(p["front"] for p in points)
    return [name, drop, f"{float32:.3f}", *cells, cell(found, bound), front, f"{facts['time_error']:.1f}",
            f"{facts['noise_error']:.2f}", seconds, "yes" if same else "no"]


def main():
    folder, place, limit = sys.argv[1:4]
    os.makedirs(place, exist_ok=True)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["network", "bound (points)", "float32 (ms)", "all float16", "all int8", "max-drop", "three slowest in int8",
                  "without conversions", "found", "points on the front", "error of times (%)", "error of noise (dB)",
                  "search (s)", "same bytes"])
    for line in sys.stdin:
        words = line.split()
        made = measure(folder, place, limit, *words) if len(words) == 6 else None
        if made:
            out.writerow(made)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
