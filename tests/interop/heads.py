#!/usr/bin/env python3
"""Networks with the output heads that people meet, with random weights, and the answers of the packages' own code. Prints what it made.

usage: heads.py FOLDER [--only NAME,NAME] [--pictures FILE FILE] [--size 320]

Every NAME.onnx has a NAME.json next to it: for each picture the list of what was found (class, name, score, box x1 y1 x2 y2 in
pixels of the picture, polygon, angle, keypoints, file of the mask) and the thresholds, and a NAME.PICTURE.npz with the tensors
that went into ONNX Runtime and came out. The last layer of each branch is scaled on the pictures, so that a few dozen candidates
lie above the threshold; the weights are otherwise those of a new network with a fixed seed. The answers are the same on each run
with the same versions on one machine; the files of Ultralytics have the date in them.

No part of make test: PyTorch is a large download. The versions that this was written for:
pip install torch==2.8.0 torchvision==0.23.0 ultralytics==8.4.190 transformers==5.24.0 onnx==1.23.2 onnxruntime==1.32.0 onnxslim==0.1.98
pip install --no-deps insightface==2.1
"""
import argparse
import json
import math
import os
import shutil
import sys
import tempfile

os.environ.setdefault("YOLO_CONFIG_DIR", tempfile.mkdtemp(prefix="heads"))
os.environ.setdefault("YOLO_OFFLINE", "true")

import cv2
import numpy as np
import onnxruntime
import torch
from PIL import Image, ImageDraw

SEED, CANDIDATES, SCORE = 7, 80, 0.25
# NAME: (file that describes the network, classes, arguments of the export that differ from the defaults). The task follows from the
# file. Few classes let the suppression, which is by class, take something away.
ULTRALYTICS = {
    "yolo11n": ("yolo11n.yaml", 80, {}),
    "yolo12n": ("yolo12n.yaml", 4, {}),
    "yolo26n": ("yolo26n.yaml", 4, {}),
    "yolov8n": ("yolov8n.yaml", 4, {}),
    "yolov10n": ("yolov10n.yaml", 4, {}),
    "yolov5nu": ("yolov5n.yaml", 4, {}),
    "yolo11n-seg": ("yolo11n-seg.yaml", 4, {}),
    "yolo11n-pose": ("yolo11n-pose.yaml", 1, {}),
    "yolo11n-obb": ("yolo11n-obb.yaml", 4, {}),
    "yolo26n-obb": ("yolo26n-obb.yaml", 4, {}),
    "yolov8n-nms": ("yolov8n.yaml", 4, {"nms": True}),
    "yolo11n-seg-nms": ("yolo11n-seg.yaml", 4, {"nms": True}),
    "yolo11n-pose-nms": ("yolo11n-pose.yaml", 1, {"nms": True}),
    "yolo11n-obb-nms": ("yolo11n-obb.yaml", 4, {"nms": True}),
    "yolo26n-end2end": ("yolo26n.yaml", 4, {"nms": False}),
    "yolov10n-end2end": ("yolov10n.yaml", 80, {"nms": False}),
    "yolo26n-seg-end2end": ("yolo26n-seg.yaml", 4, {"nms": False}),
    "yolo26n-pose-end2end": ("yolo26n-pose.yaml", 1, {"nms": False}),
    "yolo26n-obb-end2end": ("yolo26n-obb.yaml", 4, {"nms": False}),
    "yolo11n-dynamic": ("yolo11n.yaml", 4, {"dynamic": True}),
    "rtdetr-n": ("rtdetr-n.yaml", 80, {}),
}
RTDETR = {  # a small network with the decoder of rtdetr-l: its hidden size, layers and feed-forward are made small
    "backbone": [[-1, 1, "Conv", [16, 3, 2]], [-1, 1, "Conv", [32, 3, 2]], [-1, 1, "Conv", [64, 3, 2]], [-1, 1, "Conv", [64, 3, 2]],
                 [-1, 1, "Conv", [64, 3, 2]]],
    "head": [[[2, 3, 4], 1, "RTDETRDecoder", ["nc", 64, 300, 4, 4, 2, 128]]],
}


class Recorder:
    """The sessions of ONNX Runtime of this process, which keep the last tensors in and out."""

    def __init__(self):
        self.inputs, self.outputs, plain = {}, {}, onnxruntime.InferenceSession.run

        def run(session, names, feed, *rest, **more):
            answer = plain(session, names, feed, *rest, **more)
            self.inputs = {name: np.array(value) for name, value in feed.items()}
            self.outputs = dict(zip(names or [output.name for output in session.get_outputs()], map(np.array, answer)))
            return answer

        onnxruntime.InferenceSession.run = run

    def save(self, path):
        np.savez_compressed(path, **{"in:" + name: value for name, value in self.inputs.items()},
                            **{"out:" + name: value for name, value in self.outputs.items()})


def plain(value):
    """The value without arrays and tensors, for JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, torch.Tensor)):
        return plain(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def write_answers(folder, name, parameters, pictures):
    versions = {module: sys.modules[module].__version__ for module in ("torch", "torchvision", "ultralytics", "transformers", "onnxruntime",
                                                                         "cv2", "numpy") if module in sys.modules}
    with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
        json.dump(plain({"network": name, "versions": versions, "parameters": parameters, "pictures": pictures}), file, indent=1)
    found = {os.path.basename(picture["file"]): len(picture["detections"]) for picture in pictures}
    print(f"{folder}/{name}.onnx {os.path.getsize(f'{folder}/{name}.onnx')} bytes, found {found}", flush=True)


def write_mask(folder, name, picture, index, mask):
    """The file of one mask: grey, 255 where the object is."""
    os.makedirs(folder + "/masks", exist_ok=True)
    path = f"masks/{name}.{stem(picture)}.{index}.png"
    Image.fromarray((np.asarray(mask) > 0).astype(np.uint8) * 255).save(f"{folder}/{path}")
    return path


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]


def draw_pictures(folder):
    """Two pictures, where none are given: shapes on a gradient, wide and tall."""
    paths = []
    for number, (width, height) in enumerate([(400, 260), (210, 330)]):
        random = np.random.default_rng(number)
        ramp = np.linspace(0, 200, width)[None, :, None] + np.linspace(0, 50, height)[:, None, None] * np.array([1, 0.5, 0.2])
        image = Image.fromarray(np.clip(ramp, 0, 255).astype(np.uint8))
        draw = ImageDraw.Draw(image)
        for _ in range(9):
            x, y, w, h = (int(v) for v in random.integers([0, 0, 20, 20], [width - 40, height - 40, 120, 120]))
            shape = draw.ellipse if random.random() < 0.5 else draw.rectangle
            shape([x, y, x + w, y + h], fill=tuple(random.integers(0, 256, 3).tolist()))
        paths.append(f"{folder}/drawn{number}.png")
        image.save(paths[-1])
    return paths


def letterbox(picture, size, centred=True):
    """The picture (BGR) scaled to fit size x size, with grey around it or to its right and below, and the scale."""
    image = cv2.imread(picture)
    height, width = image.shape[:2]
    scale = min(size / width, size / height)
    inner = cv2.resize(image, (round(width * scale), round(height * scale)), interpolation=cv2.INTER_LINEAR)
    left, top = (round((size - side) / 2 - 0.1) if centred else 0 for side in (inner.shape[1], inner.shape[0]))
    whole = np.full((size, size, 3), 114, np.uint8)
    whole[top:top + inner.shape[0], left:left + inner.shape[1]] = inner
    return whole, scale, left, top


def read_batch(pictures, size):
    """The pictures in letterboxes, RGB in 0..1, N x 3 x size x size: what Ultralytics makes of them."""
    rows = [letterbox(path, size)[0][..., ::-1] for path in pictures]
    return torch.from_numpy(np.stack(rows).astype(np.float32).transpose(0, 3, 1, 2) / 255)


def settle_norms(network, batch):
    """Batch normalizations take the statistics of the batch, so that a new network neither dies out nor blows up."""
    norms = [module for module in network.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = 1.0
        norm.train()
    with torch.no_grad():
        network(batch)
    for norm in norms:
        norm.eval()


def inputs_of(network, layers, batch):
    """What goes into each layer (1x1 convolutions or Linear) for the batch: pictures x positions x channels."""
    held = {}
    hooks = [layer.register_forward_pre_hook(lambda module, given: held.__setitem__(module, given[0].detach())) for layer in layers]
    with torch.no_grad():
        network(batch)
    for hook in hooks:
        hook.remove()
    return {layer: (value.movedim(1, -1) if value.dim() == 4 else value).reshape(len(batch), -1, layer.weight.shape[1])
            for layer, value in held.items()}


def even_out(layer, given):
    """The layer's weights lose the directions in which the pictures differ as a whole, so that no picture has all of the high scores."""
    means = given.mean(1)
    differences = torch.linalg.qr((means[1:] - means[:1]).T)[0]
    with torch.no_grad():
        weight = layer.weight.reshape(len(layer.weight), -1)
        layer.weight.copy_((weight - weight @ differences @ differences.T).reshape(layer.weight.shape))


def rescale(layer, given, mean, deviation):
    """The layer's weights are scaled and moved, so that each channel has this mean and deviation over the pictures."""
    with torch.no_grad():
        weight = layer.weight.reshape(len(layer.weight), -1)
        rows = (given @ weight.T).flatten(0, 1)
        factor = deviation / rows.std(0).clamp_min(1e-6)
        layer.weight.copy_((weight * factor[:, None]).reshape(layer.weight.shape))
        layer.bias = torch.nn.Parameter(mean - rows.mean(0) * factor)


def spread_scores(layers, given, candidates, score):
    """The layers of class scores are scaled, so that in each picture at least this many positions have a class over the score."""
    best = []
    for layer in layers:
        even_out(layer, given[layer])
        rescale(layer, given[layer], 0.0, 1.0)
        best.append((given[layer] @ layer.weight.detach().reshape(len(layer.weight), -1).T + layer.bias.detach()).amax(2))
    best = torch.cat(best, 1).sort(1, descending=True).values
    at = best[:, min(candidates, best.shape[1] - 1)].min().item()
    with torch.no_grad():
        for layer in layers:
            layer.bias.add_(math.log(score / (1 - score)) - at)


def branches(head, names):
    """The last layers of the branches of a head, a list over the levels for each name that the head has."""
    last = lambda branch: [layer for layer in branch.modules() if isinstance(layer, (torch.nn.Conv2d, torch.nn.Linear))][-1]
    return [last(branch) for name in names for branch in (getattr(head, name, None) or [])]


def prepare_ultralytics(network, batch):
    """A new network of Ultralytics, whose scores, boxes and other numbers are spread over the picture."""
    network.eval()
    settle_norms(network, batch)
    head = network.model[-1]
    detr = type(head).__name__ == "RTDETRDecoder"
    for suffix in ("", "one2one_"):
        scores = branches(head, ["dec_score_head"] if detr else [suffix + "cv3"])
        boxes = [] if detr else branches(head, [suffix + "cv2"])
        points = getattr(head, suffix + "cv4_kpts", None) is not None
        others = [] if detr else branches(head, [suffix + ("cv4_kpts" if points else "cv4")])
        given = inputs_of(network, scores + boxes + others, batch)
        scores, boxes, others = ([layer for layer in layers if layer in given] for layers in (scores, boxes, others))
        if scores:
            spread_scores(scores[-1:] if detr else scores, given, CANDIDATES, SCORE)
        for layer in boxes:
            rescale(layer, given[layer], *((4.0, 0.8) if len(layer.weight) == 4 else (0.0, 2.0)))
        for layer in others:
            rescale(layer, given[layer], 0.0, 1.0)


def named(network):
    """Names of classes as a file has them where the user gave names; their order in the file is not always that of the numbers."""
    names = {0: "person"} if len(network.names) == 1 else {number: f"kind {number}" for number in network.names}
    network.names = names


def export_ultralytics(name, folder, batch, size):
    from ultralytics import RTDETR as Detr
    from ultralytics import YOLO
    from ultralytics.nn.tasks import yaml_model_load
    import yaml

    description, classes, options = ULTRALYTICS[name]
    torch.manual_seed(SEED)
    with tempfile.TemporaryDirectory() as place:
        layers = RTDETR if description.startswith("rtdetr") else yaml_model_load(description)
        with open(f"{place}/{description}", "w", encoding="utf-8") as file:  # its name tells the size of the network
            yaml.safe_dump({**{key: value for key, value in layers.items() if key not in ("yaml_file", "scale")}, "nc": classes}, file)
        model = (Detr if layers is RTDETR else YOLO)(f"{place}/{description}")
        prepare_ultralytics(model.model, batch)
        named(model.model)
        model.ckpt_path = model.model.pt_path = f"{place}/{name}.pt"
        made = model.export(format="onnx", imgsz=size, verbose=False, **options)
        shutil.move(made, f"{folder}/{name}.onnx")
        return model.task


def one_detection(result, index, folder, name, picture):
    """What Ultralytics' Results has of one object."""
    boxes = result.obb if result.obb is not None else result.boxes
    number = int(boxes.cls[index])
    found = {"class": number, "name": result.names[number], "score": float(boxes.conf[index]), "box": boxes.xyxy[index]}
    if result.obb is not None:
        found.update(polygon=boxes.xyxyxyxy[index], xywhr=boxes.xywhr[index])
    if result.keypoints is not None:
        found["keypoints"] = result.keypoints.data[index]
    if result.masks is not None:
        found["mask"] = write_mask(folder, name, picture, index, result.masks.data[index])
    return found


def answer_ultralytics(name, folder, task, pictures, size, recorder):
    """Ultralytics' own preparation, ONNX Runtime and Ultralytics' own decoding."""
    from ultralytics import RTDETR as Detr
    from ultralytics import YOLO

    path = f"{folder}/{name}.onnx"
    model = Detr(path) if name.startswith("rtdetr") else YOLO(path, task=task)
    rows = []
    for picture in pictures:
        row = {"file": picture}
        for key, native in (("detections", True), ("detections_at_input", False)):
            if key == "detections_at_input" and task != "segment":
                continue
            result = model.predict(picture, imgsz=size, conf=SCORE, retina_masks=native, rect=False, verbose=False, save=False)[0]
            tag = name if native else name + ".input"
            count = len(result.obb if result.obb is not None else result.boxes)
            row[key] = [one_detection(result, index, folder, tag, picture) for index in range(count)]
        row["size"] = [result.orig_shape[1], result.orig_shape[0]]
        recorder.save(f"{folder}/{name}.{stem(picture)}.npz")
        rows.append(row)
    return {"task": task, "score": SCORE, "nms_iou": 0.7, "class_agnostic": False, "most": 300, "imgsz": size}, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="")
    parser.add_argument("--pictures", nargs="+")
    parser.add_argument("--size", type=int, default=320)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    pictures = options.pictures or draw_pictures(options.folder)
    only = set(options.only.split(",")) - {""}
    recorder, batch = Recorder(), read_batch(pictures, options.size)
    import heads_small

    unknown = only - set(ULTRALYTICS) - set(heads_small.HEADS)
    if unknown:
        sys.exit(f"heads.py: no such head: {', '.join(sorted(unknown))}")
    for name in ULTRALYTICS:
        if not only or name in only:
            task = export_ultralytics(name, options.folder, batch, options.size)
            write_answers(options.folder, name, *answer_ultralytics(name, options.folder, task, pictures, options.size, recorder))
    for name, make in heads_small.HEADS.items():
        if not only or name in only:
            torch.manual_seed(SEED)
            write_answers(options.folder, name, *make(name, options.folder, pictures, options.size, recorder))


if __name__ == "__main__":
    main()
