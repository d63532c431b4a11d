#!/usr/bin/env python3
"""Points of dq-mix on pictures that its search has not seen, over random halves of the labelled pictures.

usage: mix_splits.py BUILD FOLDER --data NETWORK [--drops 0.3,...] [--splits 5] [--only K] [--limit N] [--single]
                     [--assets FOLDER] [--time-limit 4s] [--csv FILE]

NETWORK is a row of NETWORKS. Split k puts half of the labelled pictures, drawn by random.Random(k), into the search
(--eval), and judges the point found on the other half: the first figure of dq-report, of the point less that of float32,
in points. Of the differences the mean over the splits is printed, with the interval that holds it with 95 % by Student's
t, and the least and the largest. Times are those over float32 that dq-mix measured.

Ranges, times of layers and noises of layers alone are measured once, on the pictures for calibration and without labels; the
search of each split goes on with them (--resume). FOLDER keeps everything; what is there is not made again.
"""
import argparse
import datetime
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

import multi

# model, pictures for calibration, labelled pictures, those who label them, preset
NETWORKS = {
    "yolo_fastest_1.1_xl": ("yolo_fastest_1.1_xl", "coco_calib", "coco/images", "coco/labels", "darknet"),
    "yolo_fastest_1.1": ("yolo_fastest_1.1", "coco_calib", "coco/images", "coco/labels", "darknet"),
    "yolox_nano": ("yolox_nano", "coco_calib", "coco/images", "coco/labels", "yolox"),
    "espnetv2": ("espnetv2_voc_s2_384", "coco_calib", "coco/images", "cocoseg/masks", "imagenet-stretch"),
}
HEAD = ["network", "bound of the search (points)", "figure", "float32 (%)", "change on pictures of the search",
        "change on the others", "from", "to", "least", "largest", "time over float32", "layers in 8 bits (%)", "splits"]
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 10: 2.262}  # two-sided, 95 %, by the number of values


def halves(assets, pictures, labels, number, place):
    """Folders of the two halves, with links to pictures and labels; pictures without a label file are in neither."""
    named = {os.path.splitext(name)[0]: name for name in os.listdir(f"{assets}/data/{labels}")}
    images = sorted(name for name in os.listdir(f"{assets}/data/{pictures}") if os.path.splitext(name)[0] in named)
    drawn = set(random.Random(number).sample(images, len(images) // 2))
    for half, wanted in (("search", True), ("others", False)):
        for folder in ("images", os.path.basename(labels)):
            os.makedirs(f"{place}/{half}/{folder}", exist_ok=True)
        for image in (name for name in images if (name in drawn) == wanted):
            label = named[os.path.splitext(image)[0]]
            for kind, name in ((pictures, image), (labels, label)):
                link = f"{place}/{half}/{os.path.basename(kind)}/{name}"
                if not os.path.lexists(link):
                    os.symlink(os.path.abspath(f"{assets}/data/{kind}/{name}"), link)


def facts(command, made):
    """The facts that a command writes to the file `made`, which is made where it is missing."""
    if not os.path.exists(made):
        with open(made + ".log", "w", encoding="utf-8") as log:
            done = subprocess.run([*command, "--json", made], stdout=log, stderr=log, check=False).returncode
        if done not in (0, 1) or not os.path.exists(made):
            sys.exit(f"{command[0]}: status {done}, see {made}.log")
    with open(made, encoding="utf-8") as file:
        return json.load(file)


def figure(options, model, place, half, preset):
    made = f"{place}/{half}.{os.path.basename(model)}.json"
    told = facts([options.build + "/dq-report", model, "--data", f"{place}/{half}", "--preset", preset], made)
    return told["accuracy"][0]


def limit_of(options):
    return ["--limit", str(options.limit)] if options.limit else []


def measured_costs(options, model, calib, preset, cache):
    """The file of a search on the pictures for calibration, which is ended when the file has the costs of layers."""
    command = [options.build + "/dq-mix", model, "--data", f"{options.assets}/data/{calib}", "--preset", preset, "--threads", "1",
               "--max-drop", "100", "--time-limit", options.time_limit, "--cache", cache, "-o", cache + ".onnx", "-q",
               *limit_of(options)]
    if not os.path.exists(cache):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and not os.path.exists(cache):
                time.sleep(0.2)
            process.terminate()
    with open(cache, encoding="utf-8") as file:
        return json.load(file)


def search(options, model, calib, preset, place, drop):
    out, cache, base = f"{place}/{drop}.onnx", f"{place}/{drop}.cache", f"{options.folder}/{options.data}.costs"
    if not os.path.exists(cache):
        before = figure(options, model, place, "search", preset)
        costs = measured_costs(options, model, calib, preset, base) | {"points": [], "rounds": 0}
        costs["eval"] = f"{before['pictures']} {before['key']} {before['value']:.16g}"
        shutil.copy(base + ".table", cache + ".table")
        with open(cache, "w", encoding="utf-8") as file:
            json.dump(costs, file)
    command = [options.build + "/dq-mix", model, "--data", f"{options.assets}/data/{calib}", "--preset", preset, "--threads", "1",
               "--eval", place + "/search", "--max-drop", drop, "--time-limit", options.time_limit, "--cache", cache, "-o", out,
               "--save-precision", f"{place}/{drop}.precision.json", "--resume", "--points", "6",
               *([] if options.single else ["--cautious"]), *limit_of(options)]
    told = facts(command, f"{place}/{drop}.mix.json")
    with open(f"{place}/{drop}.precision.json", encoding="utf-8") as file:
        layers = list(json.load(file)["layers"].values())
    return out, next(p for p in told["points"] if p["answer"]), 100 * layers.count("int8") / len(layers)


def split(options, number, drop):
    name, calib, pictures, labels, preset = NETWORKS[options.data]
    place, model = f"{options.folder}/{options.data}.{number}", f"{options.assets}/models/{name}.onnx"
    halves(options.assets, pictures, labels, number, place)
    out, point, int8 = search(options, model, calib, preset, place, drop)
    given, found = (figure(options, file, place, "others", preset) for file in (model, out))
    made = {"figure": given["figure"], "float32": given["value"], "drop": -point["drop"], "change": found["value"] - given["value"],
            "ratio": point["ratio"], "int8": int8, "name": point["point"]}
    print(options.data, drop, number, made, file=sys.stderr, flush=True)
    return made


def row(options, drop):
    made = []
    for number in range(1, options.splits + 1):
        made.append(split(options, number, drop))
    of = lambda key: [one[key] for one in made]
    mean, half = statistics.mean(of("change")), STUDENT[len(made)] * statistics.stdev(of("change")) / math.sqrt(len(made))
    shown = [f"{value:+.2f}" for value in (statistics.mean(of("drop")), mean, mean - half, mean + half, min(of("change")), max(of("change")))]
    return [options.data, drop, made[0]["figure"], f"{statistics.mean(of('float32')):.2f}", *shown,
            f"{min(of('ratio')):.3f} to {max(of('ratio')):.3f}", f"{min(of('int8')):.0f} to {max(of('int8')):.0f}", len(made)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--data", required=True, choices=NETWORKS)
    parser.add_argument("--drops", default="0.3")
    parser.add_argument("--splits", type=int, default=5, choices=STUDENT)
    parser.add_argument("--only", type=int, metavar="K", help="make split K, without a table")
    parser.add_argument("--limit", type=int, default=0, help="pictures for calibration; 0: all")
    parser.add_argument("--single", action="store_true", help="the bound holds for each point alone, without --cautious")
    parser.add_argument("--assets", default="../shared")
    parser.add_argument("--time-limit", default="4s")
    parser.add_argument("--csv", metavar="FILE")
    options = parser.parse_args()
    told = [("title", "Points of dq-mix on pictures that the search has not seen"),
            ("command", f"`tests/bench/mix_splits.py BUILD FOLDER --data NETWORK --time-limit {options.time_limit}`"),
            ("machine", multi.machine_text()), ("measured", str(datetime.date.today())), ("source", "`tests/bench/mix_splits.py`")]
    drops = options.drops.split(",")
    if options.only:
        return [split(options, options.only, drop) for drop in drops] and None
    rows = [row(options, drop) for drop in drops]
    for cells in rows:
        print(*cells, sep=" | ")
    if options.csv:
        multi.write_table(options.csv, told, [HEAD] + rows)


if __name__ == "__main__":
    main()
