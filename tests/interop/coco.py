#!/usr/bin/env python3
"""The figures of dq on boxes are those of pycocotools. TAP.

usage: coco.py BUILD            random objects and detections, and a detector on a file of COCO, against pycocotools
       coco.py --write FILE     writes the cases that tests/unit/test_coco_measure.c reads

Needs numpy and pycocotools (`make test-coco` installs them from PyPI into BUILD/coco-venv).
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
except ImportError as missing:
    print(f"ok 1 figures of pycocotools # SKIP {missing} (pip install pycocotools)\n1..1")
    sys.exit(0)

KEYS = ["map50_95", "coco_ap50", "coco_ap75", "ap_small", "ap_medium", "ap_large", "ar1", "ar10", "ar100", "ar_small",
        "ar_medium", "ar_large"]
BOUND = 1e-6  # percent


def random_box(random, scale):
    size = numpy.exp(random.uniform(1.5, 5.5, 2)) * scale
    return [*(random.uniform(0, 400, 2)).round(2).tolist(), *size.round(2).tolist()]


def random_case(seed, pictures, classes, ties):
    """Truth and detections of some pictures, ids with gaps, from 1 on: crowds, ties, pictures without anything, more than a
    hundred detections, equal boxes, areas on the bounds."""
    random = numpy.random.default_rng(seed)
    categories = sorted(random.choice(numpy.arange(1, 4 * classes), classes, replace=False).tolist())
    truth, found = [], []
    for picture in range(pictures):
        if random.random() < 0.1:
            continue
        here = []
        for _ in range(random.poisson(4)):
            box = random_box(random, 1) if not here or random.random() > 0.1 else list(here[-1]["bbox"])
            area = random.choice([box[2] * box[3], box[2] * box[3] * 0.6, 1024.0, 9216.0], p=[0.5, 0.4, 0.05, 0.05])
            here.append({"id": len(truth) + len(here) + 1, "image_id": picture * 3 + 1,
                         "category_id": int(random.choice(categories[:-1])), "bbox": box, "area": float(area),
                         "iscrowd": int(random.random() < 0.1)})
        truth += here
        for _ in range(random.poisson(9) + (130 if random.random() < 0.02 else 0)):
            category = int(random.choice(categories))
            box = random_box(random, 1)
            if here and random.random() < 0.7:
                like = here[random.integers(len(here))]
                category = like["category_id"] if random.random() < 0.9 else category
                box = (numpy.array(like["bbox"]) + random.normal(0, random.choice([0, 1, 6]), 4)).round(2)
                box = [*box[:2].tolist(), *numpy.maximum(box[2:], 0).tolist()]
            score = random.random()
            found.append({"image_id": picture * 3 + 1, "category_id": category, "bbox": box,
                          "score": round(score, 1) if random.random() < ties else score})
    return {"images": [{"id": p * 3 + 1} for p in range(pictures)], "annotations": truth,
            "categories": [{"id": c, "name": f"c{c}"} for c in categories]}, found


def judge(case, found):
    """The twelve figures of pycocotools, 0 to 1 or -1."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = json.loads(json.dumps(case))
        truth.createIndex()
        judged = COCOeval(truth, truth.loadRes([dict(f) for f in found]), "bbox")
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return judged.stats.tolist()


def case_lines(name, case, found):
    numbers = {c["id"]: n for n, c in enumerate(case["categories"])}
    pictures = {p["id"]: n for n, p in enumerate(case["images"])}
    yield f"case {name}"
    for kind, rows in (("truth", case["annotations"]), ("found", found)):
        for row in rows:
            more = [row["area"], row["iscrowd"]] if kind == "truth" else [row["score"]]
            yield " ".join([kind, str(numbers[row["category_id"]]), str(pictures[row["image_id"]]),
                            *(repr(v) for v in row["bbox"] + more)])
    yield "figures " + " ".join(repr(v) for v in judge(case, found))


def random_lines(seeds, *sizes):
    for seed in seeds:
        yield from case_lines(f"seed-{seed}", *random_case(seed, *sizes))


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def random_cases(build, folder):
    """Twelve sets of 200 pictures, half of them with many equal scores."""
    path = f"{folder}/cases.txt"
    with open(path, "w", encoding="ascii") as file:
        for seeds, ties in ((range(100, 106), 0.2), (range(106, 112), 1)):
            file.writelines(line + "\n" for line in random_lines(seeds, 200, 6, ties))
    code, text = run(f"{build}/tests/unit/test_coco_measure", path)
    return None if code == 0 else text


# ---- A detector ----

YOLOX = """input x -1 3 64 64
a = Conv x w(7,3,8,8) strides=8,8
b = Conv x w(7,3,16,16) strides=16,16
c = Conv x w(7,3,32,32) strides=32,32
d = Reshape a i(-1,7,64)
e = Reshape b i(-1,7,16)
f = Reshape c i(-1,7,4)
g = Concat d e f axis=2
h,j = Split g i(4,3) axis=1
k = Sigmoid j
m = Concat h k axis=1
y = Transpose m perm=0,2,1
output y -1 84 7
"""
LEAST_SCORE = 0.005


def write_pictures(folder, random, count):
    for i in range(count):
        with open(f"{folder}/{i}.ppm", "wb") as file:
            file.write(b"P6\n64 64\n255\n" + random.integers(0, 255, 64 * 64 * 3, dtype=numpy.uint8).tobytes())


def detections_of(folder, count):
    import judges
    for i in range(count):
        boxes, scores = judges.yolox([numpy.load(f"{folder}/out/{i:06}_y.npy").astype(float)], (64, 64))
        boxes = numpy.clip(boxes / 64, 0, 1) * 64
        for category, score, box in judges.detections(boxes, scores, LEAST_SCORE):
            yield {"image_id": i + 1, "category_id": category * 5 + 2, "score": score,
                   "bbox": [*box[:2].tolist(), *(box[2:] - box[:2]).tolist()]}


def truth_beside(found, random, count):
    rows = []
    for f in found:
        if random.random() < 0.15:
            box = numpy.array(f["bbox"]) + random.normal(0, 1, 4)
            box[2:] = numpy.maximum(box[2:], 1)
            rows.append({"id": len(rows) + 1, "image_id": f["image_id"], "category_id": f["category_id"],
                         "bbox": box.tolist(), "area": float(box[2] * box[3]), "iscrowd": int(random.random() < 0.1)})
    random.shuffle(rows)
    return {"images": [{"id": i + 1, "file_name": f"{i}.ppm", "width": 64, "height": 64} for i in range(count)],
            "categories": [{"id": 7, "name": "b"}, {"id": 2, "name": "a"}], "annotations": rows}


def detector(build, folder):
    """200 pictures through a network: dq-report on the file of COCO has the figures of pycocotools on its boxes."""
    random, count = numpy.random.default_rng(1), 200
    write_pictures(folder, random, count)
    with open(f"{folder}/yolox.model", "w", encoding="ascii") as file:
        file.write(YOLOX)
    words = ["--data", f"coco:{folder}/truth.json", "--preset", "yolox", "--preprocess", "scale=1/255", "-q"]
    code, text = run(f"{build}/make_models", "--describe", f"{folder}/yolox.model", f"{folder}/yolox.onnx")
    if code:
        return text
    case = {"images": [{"id": i + 1, "file_name": f"{i}.ppm"} for i in range(count)], "categories": [], "annotations": []}
    for _ in range(2):  # first for the detections alone
        with open(f"{folder}/truth.json", "w", encoding="ascii") as file:
            json.dump(case, file)
        if not case["annotations"]:
            code, text = run(f"{build}/dq-run", f"{folder}/yolox.onnx", *words, "--save-output", f"{folder}/out")
            if code:
                return text
            found = list(detections_of(folder, count))
            case = truth_beside(found, random, count)
    code, text = run(f"{build}/dq-report", f"{folder}/yolox.onnx", *words, "--decode", "yolox", "--json", f"{folder}/out.json")
    if code:
        return text
    with open(f"{folder}/out.json", encoding="utf-8") as file:
        facts = file.read()
    return compare(json.loads(facts), judge(case, found))


def figures_in(facts):
    """Rows with a key and a value, wherever they stand."""
    if isinstance(facts, dict):
        if facts.get("key") in KEYS:
            yield facts["key"], facts["value"]
        for value in facts.values():
            yield from figures_in(value)
    elif isinstance(facts, list):
        for value in facts:
            yield from figures_in(value)


def compare(facts, wanted):
    got = dict(figures_in(facts))
    for key, value in zip(KEYS, wanted):
        if (value < 0) != (key not in got):
            return f"{key}: {got.get(key)}, pycocotools {value}"
        if value >= 0 and abs(got[key] - 100 * value) > BOUND:
            return f"{key}: {got[key]!r}, pycocotools {100 * value!r}"
    return None if wanted[0] > 0.01 else f"little was found: {wanted}"


def main():
    if sys.argv[1] == "--write":
        with open(sys.argv[2], "w", encoding="ascii") as file:
            file.write("# Objects and detections with the figures of pycocotools 2.0.11; tests/interop/coco.py --write has made them.\n")
            file.write("# truth CLASS PICTURE LEFT TOP WIDTH HEIGHT AREA CROWD; found CLASS PICTURE LEFT TOP WIDTH HEIGHT SCORE\n")
            file.writelines(line + "\n" for line in random_lines((1, 2), 12, 3, 0.5))
        return 0
    failed = 0
    for number, check in enumerate((random_cases, detector), 1):
        with tempfile.TemporaryDirectory() as folder:
            problem = check(os.path.abspath(sys.argv[1]), folder)
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} {check.__doc__.splitlines()[0]}")
        for line in (problem or "").splitlines():
            print(f"# {line}")
    print("1..2")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
