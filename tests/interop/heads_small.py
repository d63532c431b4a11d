"""Small networks with the heads of other families, and answers of torchvision, transformers and insightface or of formulas of the papers.

The module is a part of heads.py, which says how files are laid out. Families without a package that runs here (RetinaFace,
NanoDet-Plus, CenterNet, YOLOv5 with objectness) are decoded by the formulas that their papers and projects publish, in float64.
"""
import importlib.machinery
import importlib.util
import math
import sys
import types

import cv2
import numpy as np
import onnxruntime
import torch
from torch import nn

import heads

NAMES = [f"kind {number}" for number in range(80)]
CAFFE_MEAN, CAFFE_DEVIATION = [103.53, 116.28, 123.675], [57.375, 57.12, 58.395]  # BGR, of NanoDet
PRIORS = {8: [16, 32], 16: [64, 128], 32: [256, 512]}  # of RetinaFace: pixels of the input, by stride


class Pyramid(nn.Module):
    """A stack of strided convolutions that hands out the levels with these strides, 48 channels each."""

    def __init__(self, strides, channels=48):
        super().__init__()
        self.strides, self.steps = strides, nn.ModuleList()
        before = 3
        for step in range(int(math.log2(max(strides)))):
            after = channels if step else 16
            self.steps.append(nn.Sequential(nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.SiLU()))
            before = after

    def forward(self, x):
        levels = []
        for step, layer in enumerate(self.steps):
            x = layer(x)
            if 2 ** (step + 1) in self.strides:
                levels.append(x)
        return levels


class Head(nn.Module):
    """A pyramid and, for each branch, a 1x1 convolution per level; shape() makes the outputs from the lists of maps."""

    def __init__(self, strides, branches, shape):
        super().__init__()
        self.pyramid, self.shape = Pyramid(strides), shape
        self.branches = nn.ModuleDict({name: nn.ModuleList(nn.Conv2d(48, count, 1) for _ in strides) for name, count in branches.items()})

    def forward(self, x):
        levels = self.pyramid(x)
        return self.shape({name: [layer(level) for layer, level in zip(layers, levels)] for name, layers in self.branches.items()})


def rows(maps, width):
    """Maps 1 x (A * width) x H x W as one tensor 1 x (H * W * A of all levels) x width."""
    return torch.cat([one.permute(0, 2, 3, 1).reshape(1, -1, width) for one in maps], 1)


def prepare(network, batch, scores, others, candidates=heads.CANDIDATES):
    """The branches get spread values: scores over the threshold in some places, others = {branch: (mean, deviation)}."""
    network.eval()
    heads.settle_norms(network.pyramid, batch)
    layers = list(network.branches[scores])
    levels = {layer: level.movedim(1, -1).flatten(1, 2).detach() for name in network.branches
              for layer, level in zip(network.branches[name], network.pyramid(batch))}
    heads.spread_scores(layers, levels, candidates, heads.SCORE)
    for name, (mean, deviation) in others.items():
        for layer in network.branches[name]:
            heads.rescale(layer, levels[layer], mean, deviation)


def export(network, given, path, outputs, **more):
    network.eval()
    torch.onnx.export(network, given, path, opset_version=17, dynamo=False, input_names=["images"], output_names=outputs, **more)


def run(path, given):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: given})


def bgr(picture, size, mean, deviation, centred=None):
    """The picture (BGR) less the mean, over the deviation, 1 x 3 x size x size; stretched, or in a letterbox where centred is told."""
    image = cv2.imread(picture)
    height, width = image.shape[:2]
    whole, scale, left, top = (cv2.resize(image, (size, size)), 1, 0, 0) if centred is None else heads.letterbox(picture, size, centred)
    values = (whole.astype(np.float32) - np.float32(mean)) / np.float32(deviation)
    return np.ascontiguousarray(values.transpose(2, 0, 1)[None]), (width, height, scale, left, top)


def imagenet(batch):
    """RGB in 0..1 less the means of ImageNet, over its deviations."""
    return (batch - torch.tensor([0.485, 0.456, 0.406])[:, None, None]) / torch.tensor([0.229, 0.224, 0.225])[:, None, None]


def overlaps(box, others, plus=0.0):
    """Intersection over union of a box with others; plus is what a side counts more (1 in code that counts pixels)."""
    sides = lambda b: np.prod(b[..., 2:4] - b[..., :2] + plus, -1)
    inner = np.clip(np.minimum(box[2:4], others[:, 2:4]) - np.maximum(box[:2], others[:, :2]) + plus, 0, None).prod(-1)
    return inner / (sides(box) + sides(others) - inner)


def suppress(boxes, scores, most, plus=0.0):
    """The indices of the boxes that stay, best first: greedy, with at most this overlap."""
    order, kept = np.argsort(-scores, kind="stable"), []
    while len(order):
        kept.append(order[0])
        order = order[1:][overlaps(boxes[order[0]], boxes[order[1:]], plus) <= most]
    return np.array(kept, int)


def of_each_class(boxes, scores, least, most, limit):
    """Detections after suppression per class, where a box may have several classes: the best limit of (class, score, box)."""
    found = []
    for kind in range(scores.shape[1]):
        over = np.where(scores[:, kind] > least)[0]
        found += [(kind, scores[over[k], kind], boxes[over[k]]) for k in suppress(boxes[over], scores[over, kind], most)]
    return sorted(found, key=lambda one: -one[1])[:limit]


def listed(found):
    return [{"class": int(kind), "name": NAMES[int(kind)], "score": float(score), "box": box} for kind, score, box in found]


def centres(size, stride, offset):
    """The places of the cells of one level, row by row: (column + offset) * stride, the same of the row."""
    count = math.ceil(size / stride)
    column, row = np.meshgrid(np.arange(count), np.arange(count))
    return (np.stack([column, row], -1).reshape(-1, 2) + offset) * stride


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def answers(pictures, recorder, folder, name, decode):
    done = []
    for picture in pictures:
        size, found = decode(picture)
        recorder.save(f"{folder}/{name}.{heads.stem(picture)}.npz")
        done.append({"file": picture, "size": size, "detections": found})
    return done


def retinaface(name, folder, pictures, size, recorder):
    """Loc, class and landmark outputs in terms of priors, two on each cell of three levels (Deng et al., CVPR 2020)."""
    mean, variances = [104, 117, 123], (0.1, 0.2)
    path, batch = f"{folder}/{name}.onnx", torch.from_numpy(np.concatenate([bgr(p, size, mean, 1, False)[0] for p in pictures]))
    network = Head([8, 16, 32], {"loc": 8, "conf": 4, "landms": 20},
                   lambda maps: (rows(maps["loc"], 4), torch.softmax(rows(maps["conf"], 2), -1), rows(maps["landms"], 10)))
    with torch.no_grad():
        for layer in network.branches["conf"]:
            layer.weight[0::2] = 0  # the background's logit is 0, so that the probability is the sigmoid of the face's
        prepare(network, batch, "conf", {"loc": (0, 1.0), "landms": (0, 2.0)})
        for layer in network.branches["conf"]:
            layer.bias[0::2] = 0
    export(network, batch[:1], path, ["loc", "conf", "landms"])
    priors = np.concatenate([np.concatenate([np.repeat(centres(size, stride, 0.5), 2, 0),
                                             np.tile(np.array(sides)[:, None].repeat(2, 1), (math.ceil(size / stride) ** 2, 1))], 1)
                             for stride, sides in PRIORS.items()]) / size

    def decode(picture):
        given, (width, height, scale, _, _) = bgr(picture, size, mean, 1, False)
        loc, conf, landms = (output[0].astype(np.float64) for output in run(path, given))
        middle = priors[:, :2] + loc[:, :2] * variances[0] * priors[:, 2:]
        half = priors[:, 2:] * np.exp(loc[:, 2:] * variances[1]) / 2
        boxes = np.concatenate([middle - half, middle + half], 1) * size / scale
        points = (priors[:, None, :2] + landms.reshape(-1, 5, 2) * variances[0] * priors[:, None, 2:]) * size / scale
        over = np.where(conf[:, 1] > heads.SCORE)[0]
        kept = over[suppress(boxes[over], conf[over, 1], 0.4, 1.0)]
        return [width, height], [{"class": 0, "name": "face", "score": conf[k, 1], "box": boxes[k], "keypoints": points[k]} for k in kept]

    return {"score": heads.SCORE, "nms_iou": 0.4, "iou": "sides + 1", "variances": variances, "min_sizes": PRIORS, "mean_bgr": mean,
            "prepared": "letterbox at the top left, 114"}, answers(pictures, recorder, folder, name, decode)


def scrfd_class():
    """insightface's decoder, without the rest of the package, which needs more."""
    found = importlib.machinery.PathFinder.find_spec("insightface")
    root = found.submodule_search_locations[0]
    for module, place in (("insightface", root), ("insightface.model_zoo", root + "/model_zoo")):
        sys.modules[module] = types.ModuleType(module)
        sys.modules[module].__path__ = [place]
    return importlib.import_module("insightface.model_zoo.scrfd").SCRFD


def scrfd(name, folder, pictures, size, recorder):
    """Nine outputs: scores, distances and points for strides 8, 16, 32, two anchors on a cell, without batch (insightface 2.1)."""
    path, batch = f"{folder}/{name}.onnx", torch.from_numpy(np.concatenate([bgr(p, size, 127.5, 128, False)[0] for p in pictures]))
    flat = lambda one, width: one.permute(0, 2, 3, 1).reshape(-1, width)
    network = Head([8, 16, 32], {"score": 2, "bbox": 8, "kps": 20},
                   lambda maps: tuple([torch.sigmoid(flat(one, 1)) for one in maps["score"]] + [flat(one, 4) for one in maps["bbox"]]
                                      + [flat(one, 10) for one in maps["kps"]]))
    batch = batch.flip(1)  # insightface hands the network RGB
    prepare(network, batch, "score", {"bbox": (3.0, 1.0), "kps": (0, 2.0)})
    export(network, batch[:1], path, [f"{kind}_{stride}" for kind in ("score", "bbox", "kps") for stride in (8, 16, 32)])
    detector = scrfd_class()(path)
    detector.prepare(-1, det_thresh=heads.SCORE, nms_thresh=0.4)

    def decode(picture):
        image = cv2.imread(picture)
        boxes, points = detector.detect(image, input_size=(size, size))
        return [image.shape[1], image.shape[0]], [{"class": 0, "name": "face", "score": box[4], "box": box[:4], "keypoints": five}
                                                  for box, five in zip(boxes, points)]

    return {"score": heads.SCORE, "nms_iou": 0.4, "iou": "sides + 1"}, answers(pictures, recorder, folder, name, decode)


def nanodet(name, folder, pictures, size, recorder):
    """One output 1 x N x (classes + 4 * 8): probabilities and logits of distances, strides 8 to 64 (RangiLyu, NanoDet-Plus)."""
    path = f"{folder}/{name}.onnx"
    batch = torch.from_numpy(np.concatenate([bgr(p, size, CAFFE_MEAN, CAFFE_DEVIATION)[0] for p in pictures]))
    network = Head([8, 16, 32, 64], {"cls": 80, "reg": 32},
                   lambda maps: torch.cat([torch.sigmoid(rows(maps["cls"], 80)), rows(maps["reg"], 32)], 2))
    prepare(network, batch, "cls", {"reg": (0, 2.0)})
    export(network, batch[:1], path, ["output"])
    places = np.concatenate([np.concatenate([centres(size, s, 0), np.full((math.ceil(size / s) ** 2, 1), s)], 1) for s in (8, 16, 32, 64)])

    def decode(picture):
        given, (width, height, *_) = bgr(picture, size, CAFFE_MEAN, CAFFE_DEVIATION)
        output = run(path, given)[0][0].astype(np.float64)
        sides = (softmax(output[:, 80:].reshape(-1, 4, 8)) * np.arange(8)).sum(-1) * places[:, 2:]
        boxes = np.concatenate([places[:, :2] - sides[:, :2], places[:, :2] + sides[:, 2:]], 1).clip(0, size)
        boxes *= np.array([width, height] * 2) / size
        return [width, height], listed(of_each_class(boxes, output[:, :80], heads.SCORE, 0.6, 100))

    return {"score": heads.SCORE, "nms_iou": 0.6, "class_agnostic": False, "offset": 0, "most": 100, "mean_bgr": CAFFE_MEAN,
            "prepared": "stretched"}, answers(pictures, recorder, folder, name, decode)


def centernet(name, folder, pictures, size, recorder):
    """Heat map (logits), sizes and offsets at a quarter of the input; peaks instead of suppression (Zhou et al., 2019)."""
    mean, deviation = np.array([0.408, 0.447, 0.470]) * 255, np.array([0.289, 0.274, 0.278]) * 255
    path, batch = f"{folder}/{name}.onnx", torch.from_numpy(np.concatenate([bgr(p, size, mean, deviation, True)[0] for p in pictures]))
    network = Head([4], {"hm": 80, "wh": 2, "reg": 2}, lambda maps: (maps["hm"][0], maps["wh"][0], maps["reg"][0]))
    prepare(network, batch, "hm", {"wh": (10, 2), "reg": (0.5, 0.1)})
    export(network, batch[:1], path, ["hm", "wh", "reg"])

    def decode(picture):
        given, (width, height, scale, left, top) = bgr(picture, size, mean, deviation, True)
        heat, sides, offsets = run(path, given)
        peaks = torch.from_numpy(heat).sigmoid()
        peaks = (peaks * (nn.functional.max_pool2d(peaks, 3, 1, 1) == peaks))[0].reshape(-1)
        scores, order = peaks.topk(100)
        kind, place = order.numpy() // heat[0, 0].size, order.numpy() % heat[0, 0].size
        row, column = place // heat.shape[3], place % heat.shape[3]
        middle = np.stack([column + offsets[0, 0, row, column], row + offsets[0, 1, row, column]], 1).astype(np.float64)
        half = np.stack([sides[0, 0, row, column], sides[0, 1, row, column]], 1).astype(np.float64) / 2
        boxes = (np.concatenate([middle - half, middle + half], 1) * 4 - np.array([left, top] * 2)) / scale
        return [width, height], listed([one for one in zip(kind, scores.numpy(), boxes) if one[1] > heads.SCORE])

    return {"score": heads.SCORE, "peaks": "3x3 maximum", "most": 100, "stride": 4, "mean_bgr": mean, "deviation_bgr": deviation,
            "prepared": "letterbox in the middle, 114"}, answers(pictures, recorder, folder, name, decode)


def yolov5(name, folder, pictures, size, recorder):
    """One output 1 x N x (5 + classes) with objectness, decoded to pixels inside the network (YOLOv5 7.0, three anchors on a cell)."""
    path, batch = f"{folder}/{name}.onnx", heads.read_batch(pictures, size)
    anchors = {8: [[10, 13], [16, 30], [33, 23]], 16: [[30, 61], [62, 45], [59, 119]], 32: [[116, 90], [156, 198], [373, 326]]}

    def shape(maps):
        parts = []
        for (stride, sides), xywh, scores in zip(anchors.items(), maps["box"], maps["score"]):
            count = xywh.shape[2]
            cells = torch.from_numpy(centres(count, 1, -0.5)).float().reshape(1, 1, count, count, 2)
            boxes = xywh.reshape(1, 3, 4, count, count).permute(0, 1, 3, 4, 2).sigmoid()
            middle, extent = (boxes[..., :2] * 2 + cells) * stride, (boxes[..., 2:] * 2) ** 2 * torch.tensor(sides).reshape(1, 3, 1, 1, 2)
            rest = scores.reshape(1, 3, 81, count, count).permute(0, 1, 3, 4, 2).sigmoid()
            parts.append(torch.cat([middle, extent, rest], 4).reshape(1, -1, 85))
        return torch.cat(parts, 1)

    network = Head(list(anchors), {"box": 12, "score": 243}, shape)
    prepare(network, batch, "score", {"box": (0, 1.0)})
    with torch.no_grad():
        for layer in network.branches["score"]:
            layer.bias[0::81] += 5  # objectness is high, so that the product is not far below the class
    export(network, batch[:1], path, ["output0"])

    def decode(picture):
        whole, scale, left, top = heads.letterbox(picture, size)
        image = cv2.imread(picture)
        given = np.ascontiguousarray(whole[..., ::-1].transpose(2, 0, 1)[None], np.float32) / 255
        output = run(path, given)[0][0].astype(np.float64)
        output = output[output[:, 4] > heads.SCORE]
        scores = output[:, 5:] * output[:, 4:5]
        best, kind = scores.max(1), scores.argmax(1)
        boxes = np.concatenate([output[:, :2] - output[:, 2:4] / 2, output[:, :2] + output[:, 2:4] / 2], 1)
        over = np.where(best > heads.SCORE)[0]
        kept = over[suppress(boxes[over] + kind[over, None] * 7680.0, best[over], 0.45)][:300]
        edges = np.array([image.shape[1], image.shape[0]] * 2)
        boxes = ((boxes - np.array([left, top] * 2)) / scale).clip(0, edges)
        return edges[:2], listed(zip(kind[kept], best[kept], boxes[kept]))

    return {"score": heads.SCORE, "nms_iou": 0.45, "class_agnostic": False, "most": 300}, answers(pictures, recorder, folder, name, decode)


def balance(classifier, given, spare, wanted, score):
    """The classifier's rows are spread, and the logit of "nothing" is set so that this many rows have a class over the score (softmax)."""
    heads.even_out(classifier, given)
    heads.rescale(classifier, given, 0.0, 2.5)
    with torch.no_grad():
        logits = classifier(given.flatten(0, 1))
        low, high = -20.0, 20.0
        for _ in range(40):
            middle = (low + high) / 2
            moved = logits.clone()
            moved[:, spare] += middle
            moved = moved.softmax(1)
            moved[:, spare] = 0
            low, high = (middle, high) if int((moved.amax(1) > score).sum()) > wanted * len(given) else (low, middle)
        classifier.bias[spare] += low


class Named(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        answer = self.network(images)
        return answer.logits, answer.pred_boxes


def detr(name, folder, pictures, size, recorder):
    """Logits with a class "no object" at the end, and boxes (middle and sides) as parts of the picture (transformers)."""
    import transformers as hf

    path = f"{folder}/{name}.onnx"
    batch = imagenet(torch.from_numpy(np.concatenate([bgr(p, size, 0, 255)[0] for p in pictures])).flip(1))
    body = hf.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], layer_type="basic",
                           out_features=["stage4"])
    network = hf.DetrForObjectDetection(hf.DetrConfig(
        use_timm_backbone=False, backbone=None, backbone_config=body, use_pretrained_backbone=False, num_labels=91, d_model=64,
        num_queries=100, encoder_layers=1, decoder_layers=2, encoder_ffn_dim=128, decoder_ffn_dim=128, encoder_attention_heads=4,
        decoder_attention_heads=4)).eval()
    with torch.no_grad():
        balance(network.class_labels_classifier, heads.inputs_of(network, [network.class_labels_classifier], batch)[
            network.class_labels_classifier], 91, 30, 0.5)
        last = [layer for layer in network.bbox_predictor.modules() if isinstance(layer, nn.Linear)][-1]
        given = heads.inputs_of(network, [last], batch)[last]
        heads.even_out(last, given)
        heads.rescale(last, given, torch.tensor([0.0, 0.0, -1.0, -1.0]), 1.0)
    export(Named(network), batch[:1], path, ["logits", "pred_boxes"])
    processor = hf.DetrImageProcessor() if hasattr(hf, "DetrImageProcessor") else hf.DetrImageProcessorFast()

    def decode(picture):
        height, width = cv2.imread(picture).shape[:2]
        outputs = run(path, batch[pictures.index(picture)][None].numpy())
        given = types.SimpleNamespace(logits=torch.from_numpy(outputs[0]), pred_boxes=torch.from_numpy(outputs[1]))
        found = processor.post_process_object_detection(given, threshold=0.5, target_sizes=[(height, width)])[0]
        return [width, height], [{"class": int(kind), "name": f"kind {int(kind)}", "score": score, "box": box}
                                 for kind, score, box in zip(found["labels"], found["scores"], found["boxes"])]

    return {"score": 0.5, "nms": None, "no_object": 91, "prepared": "stretched, RGB, means and deviations of ImageNet"}, \
        answers(pictures, recorder, folder, name, decode)


def rtdetr(name, folder, pictures, size, recorder):
    """Logits without "no object", whose sigmoids count, and boxes as parts of the picture: the best pairs of query and class."""
    import transformers as hf

    path = f"{folder}/{name}.onnx"
    read = lambda picture: bgr(picture, size, 0, 255)[0][:, ::-1].copy()
    batch = torch.from_numpy(np.concatenate([read(picture) for picture in pictures]))
    network = Head([16], {"score": 80, "box": 4}, lambda maps: (rows(maps["score"], 80), rows(maps["box"], 4).sigmoid()))
    prepare(network, batch, "score", {"box": (torch.tensor([0.0, 0.0, -1.0, -1.0]), 1.0)})
    export(network, batch[:1], path, ["logits", "pred_boxes"])

    def decode(picture):
        height, width = cv2.imread(picture).shape[:2]
        outputs = run(path, read(picture))
        given = types.SimpleNamespace(logits=torch.from_numpy(outputs[0]), pred_boxes=torch.from_numpy(outputs[1]))
        found = hf.RTDetrImageProcessor().post_process_object_detection(given, threshold=heads.SCORE, target_sizes=[(height, width)])[0]
        return [width, height], listed(zip(found["labels"], found["scores"], found["boxes"]))

    return {"score": heads.SCORE, "nms": None, "most": "as many pairs as queries", "prepared": "stretched, RGB, 0..1"}, \
        answers(pictures, recorder, folder, name, decode)


def torchvision_answers(network, name, folder, pictures, recorder, outputs, score):
    """The file and answers of a detector of torchvision, which has its preparation and suppression inside and takes one RGB picture."""
    path = f"{folder}/{name}.onnx"
    read = lambda picture: np.ascontiguousarray(cv2.imread(picture)[..., ::-1].transpose(2, 0, 1), np.float32) / 255
    export(network, ([torch.from_numpy(read(pictures[0]))],), path, outputs,
           dynamic_axes={"images": {1: "height", 2: "width"}, **{output: {0: "found"} for output in outputs}})

    def decode(picture):
        image = read(picture)
        given = dict(zip(outputs, run(path, image)))
        found = []
        for index in np.where(given["scores"] > score)[0]:
            one = {"class": int(given["labels"][index]), "name": f"kind {int(given['labels'][index])}",
                   "score": given["scores"][index], "box": given["boxes"][index]}
            if "masks" in given:
                one["mask"] = heads.write_mask(folder, name, picture, index, given["masks"][index, 0] > 0.5)
            if "keypoints" in given:
                one.update(keypoints=given["keypoints"][index], keypoint_scores=given["keypoints_scores"][index])
            found.append(one)
        return [image.shape[2], image.shape[1]], found

    return {"score": score, "nms": "inside", "labels": "0 is the background"}, answers(pictures, recorder, folder, name, decode)


def lift_background(layers, logits, wanted, score):
    """The bias of class 0 is moved, so that in no picture fewer places than this have another class over the score (softmax)."""
    with torch.no_grad():
        given, low, high = logits(), -30.0, 30.0
        for _ in range(40):
            middle = (low + high) / 2
            moved = torch.cat([given[..., :1] + middle, given[..., 1:]], -1).softmax(-1)[..., 1:]
            low, high = (middle, high) if int((moved.amax(-1) > score).sum(-1).min()) > wanted else (low, middle)
        for layer in layers:
            layer.bias[0::given.shape[-1]] += low


def ssdlite(name, folder, pictures, size, recorder):
    """SSDLite of torchvision: the export has the resize, the softmax, the decoding and NonMaxSuppression inside."""
    import torchvision

    network = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=21).eval()
    batch = heads.read_batch(pictures, 320) * 2 - 1
    heads.settle_norms(network.backbone, batch)
    levels = [level.detach() for level in network.backbone(batch).values()]
    for branch, (mean, deviation) in ((network.head.classification_head, (0, 2.0)), (network.head.regression_head, (0, 1.0))):
        for level, features in zip(branch.module_list, levels):
            heads.settle_norms(level[0], features)
            given = level[0](features).movedim(1, -1).flatten(1, 2).detach()
            heads.even_out(level[1], given)
            heads.rescale(level[1], given, mean, deviation)
    lift_background([level[1] for level in network.head.classification_head.module_list],
                    lambda: network.head.classification_head(levels), 40, heads.SCORE)
    return torchvision_answers(network, name, folder, pictures, recorder, ["boxes", "scores", "labels"], heads.SCORE)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.pyramid, self.out_channels = Pyramid([16]), 48

    def forward(self, x):
        return {"0": self.pyramid(x)[0]}


def rcnn(name, folder, pictures, size, recorder):
    """Mask R-CNN and Keypoint R-CNN of torchvision with a small backbone; masks come at the size of the picture."""
    from torchvision.models import detection
    from torchvision.ops import MultiScaleRoIAlign

    pool = lambda side: MultiScaleRoIAlign(["0"], side, 2)
    anchors = detection.anchor_utils.AnchorGenerator(((32, 64, 128),), ((0.5, 1, 2),))
    shared = {"min_size": size, "max_size": size, "rpn_anchor_generator": anchors, "box_roi_pool": pool(5),
              "box_head": detection.faster_rcnn.TwoMLPHead(48 * 25, 64), "rpn_post_nms_top_n_test": 100, "rpn_pre_nms_top_n_test": 200,
              "box_detections_per_img": 30}
    predictor = detection.faster_rcnn.FastRCNNPredictor(64, 5 if name == "maskrcnn" else 2)
    if name == "maskrcnn":
        network = detection.MaskRCNN(Backbone(), box_predictor=predictor, mask_roi_pool=pool(14),
                                     mask_head=detection.mask_rcnn.MaskRCNNHeads(48, (32, 32), 1),
                                     mask_predictor=detection.mask_rcnn.MaskRCNNPredictor(32, 32, 5), **shared).eval()
        outputs = ["boxes", "labels", "scores", "masks"]
    else:
        network = detection.KeypointRCNN(Backbone(), box_predictor=predictor, keypoint_roi_pool=pool(14),
                                         keypoint_head=detection.keypoint_rcnn.KeypointRCNNHeads(48, (32, 32)),
                                         keypoint_predictor=detection.keypoint_rcnn.KeypointRCNNPredictor(32, 17), **shared).eval()
        outputs = ["boxes", "labels", "scores", "keypoints", "keypoints_scores"]
    batch = imagenet(heads.read_batch(pictures, size))
    heads.settle_norms(network.backbone, batch)
    with torch.no_grad():
        plain = [torch.from_numpy(np.ascontiguousarray(cv2.imread(p)[..., ::-1].transpose(2, 0, 1), np.float32) / 255) for p in pictures]
        held = []
        hook = predictor.register_forward_pre_hook(lambda _, given: held.append(given[0].detach()))
        for one in plain:
            network([one])
        hook.remove()
        fewest = min(len(one) for one in held)
        given = torch.stack([one[:fewest] for one in held])
        heads.rescale(predictor.cls_score, given, 0.0, 1.5)
        heads.rescale(predictor.bbox_pred, given, 0.0, 1.0)
        if name == "maskrcnn":
            network.roi_heads.mask_predictor.mask_fcn_logits.weight.mul_(30)  # probabilities away from one half
    return torchvision_answers(network, name, folder, pictures, recorder, outputs, 0.5)


HEADS = {"ssdlite320": ssdlite, "maskrcnn": rcnn, "keypointrcnn": rcnn, "retinaface": retinaface, "scrfd": scrfd, "nanodet-plus": nanodet,
         "centernet": centernet, "yolov5": yolov5, "detr": detr,
         "rtdetr-pairs": rtdetr}
