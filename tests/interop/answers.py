#!/usr/bin/env python3
"""What dq-run answers, compared with what the packages of networks answer with their own code.

usage: answers.py BUILD FOLDER [--only A,B] [--data DIR] [--tensors DIR] [--pages DIR] [--shared DIR]
                  [--csv FILE] [--verbose]

Compares every network of tests/interop/answers/NETWORK.json (--data: another folder) that stands in FOLDER or in
../shared/models (--shared: another folder). Pictures are those of ../shared/data and the pages that tests/interop/answers_pages.py draws into
BUILD/answers (--pages). Each network is run with the thresholds of its package, and with those of dq where they differ;
with --tensors also on DIR/NETWORK/PICTURE.npz, whose members `in:INPUT` went into the network of the package. Objects are
found where dq-run has one of the same class with an intersection over union of at least 0.9. Needs numpy.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
PLACES = {"coco": "data/coco/images", "lgg": "data/lgg/images"}
COLUMNS = ["network", "run", "pictures", "objects", "found", "extra", "overlap", "score", "texts"]
FOUND, PAIRED = 0.9, 0.5  # intersection over union of an object that is found, and of a pair whose overlap is told


# ---- Geometry ----

def area(polygon):
    x, y = polygon.T
    return abs(numpy.dot(x, numpy.roll(y, -1)) - numpy.dot(y, numpy.roll(x, -1))) / 2


def clip(polygon, edges):
    """The part of a polygon inside of a convex one."""
    turn = numpy.sign(sum(numpy.cross(numpy.append(b - a, 0), numpy.append(c - b, 0))[2] for a, b, c in
                          zip(edges, numpy.roll(edges, -1, 0), numpy.roll(edges, -2, 0)))) or 1
    for a, b in zip(edges, numpy.roll(edges, -1, 0)):
        def side(p):
            return turn * ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]))
        kept = []
        for p, q in zip(polygon, numpy.roll(polygon, -1, 0) if len(polygon) else []):
            if side(p) >= 0:
                kept.append(p)
            if side(p) * side(q) < 0:
                kept.append(p + (q - p) * side(p) / (side(p) - side(q)))
        polygon = numpy.array(kept).reshape(-1, 2)
    return polygon


def overlap(a, b):
    """Intersection over union of two polygons."""
    if (a.max(0) < b.min(0)).any() or (b.max(0) < a.min(0)).any():
        return 0.0
    both = clip(a, b)
    shared = area(both) if len(both) > 2 else 0.0
    union = area(a) + area(b) - shared
    return shared / union if union > 0 else float(numpy.allclose(a, b, atol=0.01))


def polygon_of(numbers):
    """Corners of a box x1, y1, x2, y2 or of four corners."""
    n = numpy.asarray(numbers, float).ravel()
    return n.reshape(4, 2) if len(n) == 8 else n[[0, 1, 2, 1, 2, 3, 0, 3]].reshape(4, 2)


# ---- Answers of dq-run ----

class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder

    def network(self, name):
        for place in (self.options.FOLDER, os.path.join(self.options.shared, "models")):
            path = os.path.join(place, name + ".onnx")
            if os.path.exists(path):
                return path
        return None

    def picture(self, file):
        place, name = file.split("/", 1)
        return os.path.join(self.options.shared, PLACES[place], name) if place in PLACES else os.path.join(self.options.pages, name)

    def tensor(self, subject, file):
        """The file of the call that has the input of the network, of several calls for a picture the first."""
        name = os.path.splitext(file.split("/", 1)[1])[0]
        for end in ("", ".0", ".1"):
            path = f"{self.options.tensors}/{subject.get('tensors', subject['network'])}/{name}{end}.npz"
            if os.path.exists(path):
                with numpy.load(path) as tensors:
                    if "input" not in subject or "in:" + subject["input"] in tensors:
                        return path
        return None

    def answer(self, model, data, extra):
        """The answer of dq-run on one picture or array."""
        answers = os.path.join(self.folder, "answers.json")
        done = subprocess.run([os.path.join(self.options.BUILD, "dq-run"), model, "--data", data, "--json", answers, "-q",
                               *extra], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        with open(answers, encoding="utf-8") as file:
            return json.load(file)["pictures"][0]["model"]

    def on_picture(self, model, path, extra):
        listed = os.path.join(self.folder, "picture.txt")
        with open(listed, "w", encoding="utf-8") as file:
            file.write(os.path.abspath(path) + "\n")
        return self.answer(model, listed, extra)

    def on_tensor(self, model, path, extra):
        with numpy.load(path) as tensors:
            inputs = [tensors[k] for k in tensors if k.startswith("in:")]
        array = os.path.join(self.folder, "input.npy")
        numpy.save(array, inputs[0])
        return self.answer(model, "npy:" + array, extra)


def objects_of(answer, view=None, size=None):
    """(class or None, score, corners, text) of each object of an answer, moved from the input to the picture."""
    found = []
    for o in answer.get("objects", []):
        corners = polygon_of(o.get("corners", o["box"]))
        if view:
            corners = numpy.clip((corners - view[2:]) / view[:2], 0, size)
        found.append((o["class"], o["score"], corners, o.get("text")))
    return found


def expected_of(picture):
    """The same of the package: objects are [class, score, 4 or 8 numbers] with a text behind where there is one."""
    width, height = picture["size"]
    return [(o[0], o[1], numpy.clip(polygon_of(o[2]), 0, [width, height]), o[3] if len(o) > 3 else None)
            for o in picture["objects"]]


# ---- Comparison ----

class Sums:
    def __init__(self):
        self.pictures = self.objects = self.found = self.extra = self.texts = self.equal = 0
        self.overlaps, self.score = [], 0.0

    def pair(self, expected, found, about):
        """Pairs objects of one picture, highest scores first."""
        self.pictures += 1
        self.objects += len(expected)
        free = list(range(len(found)))
        for one in sorted(expected, key=lambda o: -(o[1] or 0)):
            rated = [(overlap(one[2], found[i][2]), -abs(found[i][1] - (one[1] or 0)), i) for i in free
                     if one[0] in (None, found[i][0])]
            best = max(rated, default=(0, 0, -1))
            if best[0] >= PAIRED:
                self.take(one, found[best[2]], best[0])
                free.remove(best[2])
            if about and best[0] < FOUND:
                print(f"    {about}: {one[0]} {one[1]} {one[2].round(1).tolist()} {one[3] or ''}: {best[0]:.3f}")
        self.extra += len(free)
        for i in free if about else []:
            print(f"    {about}: extra {found[i][0]} {found[i][1]:.4f} {found[i][2].round(1).tolist()} {found[i][3] or ''}")

    def take(self, one, other, share):
        self.found += share >= FOUND
        self.overlaps.append(share)
        if share >= FOUND and one[1] is not None:
            self.score = max(self.score, abs(one[1] - other[1]))
        if one[3] is not None and other[3] is not None:
            self.texts += 1
            self.equal += one[3] == other[3]

    def line(self, picture, answer, about):
        """A line of text."""
        text, score = picture["text"]
        mine = answer["objects"][0] if answer.get("objects") else {"text": "", "score": 0}
        self.pictures += 1
        self.texts += 1
        self.equal += mine.get("text") == text
        self.score = max(self.score, abs(score - mine["score"]))
        if about and mine.get("text") != text:
            print(f"    {about}: '{text}' {score}, dq-run '{mine.get('text')}' {mine['score']}")

    def shares(self, expected, found, about):
        """Numbers by class: percent of the points, or the likeliest class."""
        self.pictures += 1
        self.objects += len(expected)
        for label, value in expected.items():
            self.found += label in found
            self.score = max(self.score, abs(found.get(label, 0) - value))
        self.extra += len([k for k in found if k not in expected])
        if about and set(found) != set(expected):
            print(f"    {about}: {expected}, dq-run {found}")

    def row(self, network, run):
        mean = f"{numpy.mean(self.overlaps):.4f}" if self.overlaps else "-"
        texts = f"{self.equal} of {self.texts}" if self.texts else "-"
        return [network, run, self.pictures, self.objects, self.found, self.extra, mean, f"{self.score:.4f}", texts]


def compare(subject, picture, answer, sums, about, from_tensor):
    if "text" in picture:
        sums.line(picture, answer, about)
    elif "shares" in picture:
        sums.shares({int(k): v for k, v in picture["shares"].items()},
                    {s["class"]: s["percent"] for s in answer["shares"]}, about)
    elif "best" in picture:
        best = answer["classes"][0]
        sums.shares({picture["best"][0]: picture["best"][1]}, {best["class"]: best["score"]}, about)
    else:
        view = picture.get("view") if from_tensor else None
        sums.pair(expected_of(picture), objects_of(answer, view, picture["size"]), about)


def runs_of(subject, tensors):
    """(name, options, from tensors) of each run of a network."""
    own = subject.get("thresholds", [])
    kinds = [("package's thresholds" if own else "defaults", own)] + ([("defaults", [])] if own else [])
    runs = [(name, [*subject.get("prepared", []), *extra], False) for name, extra in kinds if "prepared" in subject]
    return runs + [(name + ", tensors", [*subject.get("decoding", []), *extra], True) for name, extra in kinds if tensors]


def run_network(bench, subject, model, title):
    rows = []
    for name, extra, tensors in runs_of(subject, bench.options.tensors):
        sums, missing = Sums(), []
        for picture in subject["pictures"]:
            path = bench.tensor(subject, picture["file"]) if tensors else bench.picture(picture["file"])
            if not path or not os.path.exists(path):
                missing.append(picture["file"])
                continue
            extra_here = extra if tensors else [*extra, *picture.get("options", [])]
            answer = (bench.on_tensor if tensors else bench.on_picture)(model, path, extra_here)
            about = f"{name}, {picture['file']}" if bench.options.verbose else None
            compare(subject, picture, answer, sums, about, tensors)
        if missing and not tensors:
            print(f"{title}: skipped, not there: {' '.join(missing)}")
        if sums.pictures:
            rows.append(sums.row(title, name))
            print("  ".join(str(cell) for cell in rows[-1]), flush=True)
    return rows


def replaced(subject, options):
    """Options with {FOLDER} as it is; None: a file of them is missing."""
    for part in ("prepared", "thresholds", "decoding"):
        texts = [t.replace("{FOLDER}", options.FOLDER).replace("{SHARED}", options.shared) for t in subject.get(part, [])]
        if any(t.startswith(options.FOLDER) and not os.path.exists(t) for t in texts):
            return None
        if part in subject:
            subject[part] = texts
    return subject


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("BUILD")
    parser.add_argument("FOLDER")
    for name, default in (("only", ""), ("data", os.path.join(HERE, "answers")), ("tensors", None), ("pages", None),
                          ("shared", "../shared"), ("csv", None)):
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.pages = options.pages or os.path.join(options.BUILD, "answers")
    rows = []
    print("  ".join(COLUMNS))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, folder)
        for file in sorted(f for f in os.listdir(options.data) if f.endswith(".json")):
            if options.only and file[:-5] not in options.only.split(","):
                continue
            with open(os.path.join(options.data, file), encoding="utf-8") as stream:
                subject = json.load(stream)
            model = bench.network(subject["network"])
            if not model or not replaced(subject, options):
                print(f"{file[:-5]}: skipped, there is no {subject['network']}.onnx or no file of its options")
                continue
            try:
                rows += run_network(bench, subject, model, file[:-5])
            except RuntimeError as failed:
                print(f"{file[:-5]}: {failed}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([COLUMNS, *rows])


if __name__ == "__main__":
    main()
