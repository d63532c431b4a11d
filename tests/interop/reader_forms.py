"""The forms of dq-int8 in other runtimes, each in a small network, as docs/FORMATS.md has them in its table.

usage: reader_forms.py BUILD  (TAP)

A form holds where ONNX Runtime with its default optimizations, OpenVINO and tract answer the file as ONNX Runtime does
without optimizations, to 30 dB: two steps of 8 bits more or less are noise of this size, a form that is read otherwise
has less than 20. A runtime that is not installed is skipped.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

import readers

BUILD, ALIKE = sys.argv[1], 30.0  # dB
QUICK = "--all-int8 --accumulator pairs --equalize off --bias-correction off --method minmax --task none -q".split()
number = 0


def result(name, problem, skip=""):
    global number
    number += 1
    print(f"{'not ok' if problem else 'ok'} {number} {name}" + (f" # SKIP {skip}" if skip else f" - {problem}" if problem else ""), flush=True)


def network(nodes, arrays, shape=(1, 3, 16, 16)):
    """From rows (operator, inputs with blanks between, output, attributes); `y` is the output."""
    constants = [onnx.numpy_helper.from_array(np.asarray(v, None if np.asarray(v).dtype == np.int64 else np.float32), n)
                 for n, v in arrays.items()]
    value = helper.make_tensor_value_info
    graph = helper.make_graph([helper.make_node(o, i.split(), [r], name=r, **a) for o, i, r, a in nodes], "form",
                              [value("x", TensorProto.FLOAT, shape)], [value("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def forms():
    """{name: (network, further words for dq-int8)}."""
    draw = np.random.default_rng(5).standard_normal
    first, last = ("Conv", "x w0 b0", "first", {}), ("Conv", "last wl", "y", {})
    base = {"w0": draw((4, 3, 1, 1)), "b0": draw(4), "wl": draw((5, 4, 1, 1))}
    width, uneven = np.float32([1, 0.05, 0.02, 0.01]), np.float32([1, 0.05, 0.02, 0.01, 1, 0.05, 0.02, 0.01])
    narrow = {**base, "w1": draw((4, 1, 3, 3)) * width[:, None, None, None], "b1": draw(4) * width, "wl": draw((5, 4, 1, 1)) / width[:, None, None]}
    depthwise = ("Conv", "relu w1 b1", "depthwise", {"group": 4, "pads": [1, 1, 1, 1]})
    relu, same = ("Relu", "first", "relu", {}), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    matrix = {"w0": draw((4, 3, 1, 1)), "b0": draw(4), "rows": np.int64([1, 16, 64]), "wm": draw((64, 8)) * uneven, "bm": draw(8) * uneven,
              "wl": draw((8, 5)) / uneven[:, None]}
    flat = ("Reshape", "relu rows", "rows_of", {})
    yield "a convolution with a scale for each channel", network([first, relu, depthwise, ("Relu", "depthwise", "last", {}), last], narrow), []
    yield "a convolution in float between pairs", network([first, relu, depthwise, ("Relu", "depthwise", "last", {}), last], narrow), \
        ["--exclude", "depthwise"]
    yield "a matrix product in float between pairs", network(
        [first, relu, flat, ("MatMul", "rows_of wm", "product", {}), ("Add", "product bm", "sum", {}), ("Relu", "sum", "last", {}),
         ("MatMul", "last wl", "y", {})], matrix), ["--exclude", "product", "--exclude", "sum"]
    yield "padding with a fill value", network(
        [first, relu, ("Pad", "relu pads fill", "last", {}), last], {**base, "pads": np.int64([0, 0, 1, 1, 0, 0, 1, 1]), "fill": 0.5}), []
    yield "parts of one value with paddings", network(
        [("Conv", "x w0 b0", "first", {}), ("Slice", "first from to axis", "low", {}), ("Slice", "first to end axis", "high", {}),
         ("Pad", "low front", "left", {}), ("Pad", "high back", "right", {}), ("Concat", "left right first", "last", {"axis": 1}), last],
        {**base, "from": np.int64([0]), "to": np.int64([9]), "end": np.int64([16]), "axis": np.int64([2]),
         "front": np.int64([0, 0, 7, 0, 0, 0, 0, 0]), "back": np.int64([0, 0, 0, 0, 0, 0, 9, 0]), "wl": draw((5, 12, 1, 1))}), []
    yield "an average that counts its padding", network([first, ("AveragePool", "first", "last", {**same, "count_include_pad": 1}), last], base), []
    yield "an average that does not", network([first, ("AveragePool", "first", "last", same), last], base), []
    yield "a residual sum", network([first, relu, ("Conv", "relu w1", "other", {}), ("Add", "other relu", "sum", {}), ("Relu", "sum", "last", {}), last],
                                    {**base, "w1": draw((4, 4, 1, 1))}), []
    yield "a Softmax between layers in 8 bits", network(
        [first, flat[:1] + ("first rows",) + flat[2:], ("Softmax", "rows_of", "weights", {"axis": -1}), ("MatMul", "weights wm", "last", {}),
         ("MatMul", "last wl", "y", {})], {k: v for k, v in matrix.items() if k != "bm"}), []
    yield "an Identity between layers in 8 bits", network([first, ("Identity", "first", "same", {}), ("Relu", "same", "last", {}), last], base), []
    yield "a gate", network([first, ("GlobalAveragePool", "first", "mean", {}), ("HardSigmoid", "mean", "gate", {}), ("Mul", "first gate", "last", {}), last],
                            base), []
    yield "one weight of two products", network(
        [first, relu, ("Conv", "first w1", "left", {}), ("Conv", "relu w1", "right", {}), ("Concat", "left right", "last", {"axis": 1}), last],
        {**base, "w1": draw((4, 4, 1, 1)), "wl": draw((5, 8, 1, 1))}), []


def answers(runtime, model, folder):
    """The outputs, or why there are none."""
    out = os.path.join(folder, runtime + ".npz")
    why = readers.run([sys.executable, "-W", "ignore", readers.__file__, "--answer", runtime, model, os.path.join(folder, "x.npz"), out], 100)
    if why:
        return why
    with np.load(out) as found:
        return [found[str(i)] for i in range(len(found.files))]


def check(name, model, words, folder):
    path, out = os.path.join(folder, "float.onnx"), os.path.join(folder, "int8.onnx")
    onnx.save(model, path)
    done = subprocess.run([os.path.join(BUILD, "dq-int8"), path, "--data", f"npy:{folder}/x.npy", *QUICK, *words, "-o", out],
                          capture_output=True, text=True)
    exact = answers("plain", out, folder) if done.returncode == 0 else readers.last_line(done.stderr)
    for runtime, package in (("ort", "onnxruntime"), ("openvino", "openvino"), ("tract", "tract")):
        title = f"{name} in {package}"
        if not importlib.util.find_spec(package):
            result(title, None, f"{package} is not installed")
            continue
        got = exact if isinstance(exact, str) else answers(runtime, out, folder)
        close = not isinstance(got, str) and readers.sqnr(got, exact)
        result(title, got if isinstance(got, str) else None if close >= ALIKE else f"{close:.1f} dB")


def main():
    with tempfile.TemporaryDirectory() as folder:
        x = np.random.default_rng(1).standard_normal((8, 3, 16, 16)).astype(np.float32)
        np.save(os.path.join(folder, "x.npy"), x)
        np.savez(os.path.join(folder, "x.npz"), x=x[:2, None])
        for name, model, words in forms():
            check(name, model, words, folder)
    print(f"1..{number}")


main()
