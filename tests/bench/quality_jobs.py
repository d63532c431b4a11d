"""What quality.py does in processes of their own: 8-bit files by other quantizers, and the judgement of files.

usage: quality_jobs.py JSON   an object with `job` (quantize or judge) and what the function of that name takes; the result
is a JSON object on the last line of standard output. A crash or a lack of memory ends the job, not the benchmark.
"""
import json
import math
import os
import sys
import time

import numpy

MOVES = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "QuantizeLinear", "DequantizeLinear")
METHODS = {"ort-minmax": "MinMax", "ort-percentile": "Percentile", "ort-entropy": "Entropy"}
AT_ONCE = 32  # pictures whose activations ONNX Runtime's histograms hold at once ...
AT_ONCE_LARGE, LARGE = 8, 1 << 20  # ... and fewer where an input has more numbers than this


def session(model):
    """A session with exact integer sums on every processor. Where ONNX Runtime refuses them, as nodes share a weight
    (findings/onnxruntime_exact_sums_refuse_shared_weights.sh), products are float32, of the same integers and scales."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
        if "replace the existing tensor" not in str(error):
            raise
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def input_name(model):
    return session(model).get_inputs()[0].name


# ---- Quantizers ----

def opset_of(graph):
    return max(o.version for o in graph.opset_import if o.domain in ("", "ai.onnx"))


def prepare(model, ready):
    """The model in opset 13 or higher, as ONNX Runtime's preprocessing leaves it; without that where it fails."""
    import onnx
    import onnx.version_converter
    from onnxruntime.quantization.shape_inference import quant_pre_process
    if os.path.exists(ready):
        return
    graph = onnx.load(model)
    if opset_of(graph) < 13:
        graph = onnx.version_converter.convert_version(graph, 13)
    onnx.save(graph, ready + ".new")
    try:
        quant_pre_process(ready + ".new", ready + ".new2", skip_symbolic_shape=True)
        os.replace(ready + ".new2", ready)
        os.remove(ready + ".new")
    except Exception as error:
        print(f"not preprocessed: {error}", file=sys.stderr)
        os.replace(ready + ".new", ready)


def by_onnxruntime(method, ready, out, data, name):
    """A QDQ file, uint8 activations, int8 weights per channel; per tensor where that fails or does not load."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

    class Pictures(CalibrationDataReader):
        def __init__(self):
            self.set_range(0, len(data))

        def __len__(self):
            return len(data)

        def set_range(self, start_index, end_index):
            self.left = iter(range(start_index, end_index))

        def get_next(self):
            k = next(self.left, None)
            return None if k is None else {name: numpy.array(data[k:k + 1])}
    most = AT_ONCE_LARGE if data[0].size > LARGE else AT_ONCE
    at_once = max(n for n in range(1, most + 1) if len(data) % n == 0)
    for per_channel in (True, False):
        try:
            quantize_static(ready, out, Pictures(), quant_format=QuantFormat.QDQ, per_channel=per_channel,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                            calibrate_method=getattr(CalibrationMethod, METHODS[method]),
                            extra_options={"CalibStridedMinMax": at_once} if at_once < len(data) else {})
            session(out)
            return "" if per_channel else "per tensor"
        except Exception as error:
            if not per_channel:
                raise
            print(f"per channel: {error}", file=sys.stderr)
    return None


def by_nncf(preset, ready, out, data, name):
    import nncf
    import onnx
    made = nncf.quantize(onnx.load(ready), nncf.Dataset([{name: numpy.array(x[None])} for x in data]),
                         preset=nncf.QuantizationPreset[preset.upper()], subset_size=len(data))
    onnx.save(made, out)
    session(out)
    return ""


def quantize(peer, model, ready, out, data, count):
    """An 8-bit file of one quantizer from the first `count` arrays of `data`; `note` says what is special about it,
    `processor` how many seconds of processor time it took, without the preprocessing."""
    arrays = numpy.load(data, mmap_mode="r")[:count]
    prepare(model, ready)
    name = input_name(ready)
    part = out + ".new"
    begin = time.process_time()
    if peer in METHODS:
        note = by_onnxruntime(peer, ready, part, arrays, name)
    else:
        note = by_nncf(peer.removeprefix("nncf-"), ready, part, arrays, name)
    os.replace(part, out)
    return {"note": note, "processor": time.process_time() - begin}


# ---- Judgement ----

def taps(graph, tap):
    """For each float output the value that is compared: itself, or the input of the last Softmax or Sigmoid."""
    producer = {o: n for n in graph.graph.node for o in n.output}
    names = []
    for output in graph.graph.output:
        if output.type.tensor_type.elem_type not in (0, 1):
            continue
        names.append(output.name)
        value = output.name
        while tap == "logits" and value in producer and producer[value].op_type in MOVES:
            value = producer[value].input[0]
        if tap == "logits" and value in producer and producer[value].op_type in ("Softmax", "Sigmoid"):
            names[-1] = producer[value].input[0]
    return names


class Tapped:
    """A network whose outputs are the values that are compared, in each of the views `logits` and `outputs`."""

    def __init__(self, model, views):
        import onnx
        graph = onnx.load(model)
        self.names = {view: taps(graph, view) for view in views}
        del graph.graph.output[:]
        self.all = list(dict.fromkeys(name for names in self.names.values() for name in names))
        graph.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in self.all)
        self.session = session(graph.SerializeToString())

    def run(self, feed):
        values = dict(zip(self.all, (v.astype(numpy.float64) for v in self.session.run(self.all, feed))))
        return {view: [values[name] for name in names] for view, names in self.names.items()}


def span_of(text):
    first, last = text.split(":")
    return slice(int(first), int(last))


def classes_last(array, axis=None):
    """Channels on the last axis: those of planes are on axis 1, of other arrays on the last one already."""
    return numpy.moveaxis(array, (1 if array.ndim == 4 else -1) if axis is None else axis, -1)


def split(arrays, boxes):
    """Scores, and boxes where there are any, of the outputs of one picture, channels on the last axis (quality.csv)."""
    if not boxes:
        return [classes_last(a) for a in arrays], []
    kind, *words = boxes.split()
    if kind == "outputs":
        span = span_of(words[0])
        return [classes_last(a) for a in arrays[:span.start] + arrays[span.stop:]], [classes_last(a) for a in arrays[span]]
    arrays = [classes_last(a, int(words[0])) for a in arrays]
    if "of" in words:
        arrays = [a.reshape(*a.shape[:-1], -1, int(words[3])) for a in arrays]
    span = span_of(words[1])
    return [numpy.delete(a, span, -1) for a in arrays], [a[..., span] for a in arrays]


def parts_of(views, boxes):
    """The parts of the outputs of one picture by name; boxes are taken from the first view."""
    parts = {}
    for view, arrays in views.items():
        scores, of_boxes = split(arrays, boxes)
        parts["probabilities" if parts else "scores" if boxes else view] = scores
        if of_boxes:
            parts.setdefault("boxes", of_boxes)
    return parts


def answers(array, bound):
    """The class with the largest number; of one channel, which side of the bound between two classes."""
    return array.argmax(-1) if array.shape[-1] > 1 else array[..., 0] > bound


class Sums:
    """Squares of the float outputs and of the differences, and equal answers, of one part over all pictures."""

    def __init__(self, part):
        self.bound = 0.5 if part == "probabilities" else 0
        self.signal = self.noise = 0.0
        self.shares = []

    def add(self, ours, theirs):
        equal = number = 0
        for a, b in zip(ours, theirs):
            self.signal += float(numpy.square(a).sum())
            self.noise += float(numpy.square(a - b).sum())
            equal += int((answers(a, self.bound) == answers(b, self.bound)).sum())
            number += a[..., 0].size
        self.shares.append(equal / number)

    def figures(self):
        return {"sqnr": 10 * math.log10(self.signal / max(self.noise, 1e-30)) if self.signal > 0 else math.nan,
                "agreement": 100 * sum(self.shares) / len(self.shares)}


def alike(found, exact):
    """The same values in the shapes that the float network has; an error where their numbers differ."""
    return {view: [b.reshape(a.shape) for a, b in zip(exact[view], arrays, strict=True)] for view, arrays in found.items()}


def judge(model, files, data, tap, boxes):
    """SQNR and agreement of each part of the outputs, for each of `files` (name to path), over all arrays of `data`."""
    arrays, views = numpy.load(data, mmap_mode="r"), ("logits", "outputs") if tap == "both" else (tap,)
    reference = Tapped(model, views)
    name = reference.session.get_inputs()[0].name
    others, sums, errors = {}, {}, {}
    for key, path in files.items():
        try:
            others[key], sums[key] = Tapped(path, views), {}
        except Exception as error:
            errors[key] = str(error)
    for x in arrays:
        feed = {name: numpy.array(x[None])}
        exact = reference.run(feed)
        parts = parts_of(exact, boxes)
        for key in list(others):
            try:
                for part, values in parts_of(alike(others[key].run(feed), exact), boxes).items():
                    sums[key].setdefault(part, Sums(part)).add(parts[part], values)
            except Exception as error:
                errors[key] = str(error)
                del others[key]
    return {"pictures": len(arrays), "errors": errors,
            "figures": {key: {part: s.figures() for part, s in sums[key].items()} for key in others}}


if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    print(json.dumps({"quantize": quantize, "judge": judge}[job.pop("job")](**job)))
