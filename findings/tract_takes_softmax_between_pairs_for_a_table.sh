#!/usr/bin/env bash
# Softmax between quantization pairs: tract answers with values of another function
#
# Guessed: DequantizeLinear, Softmax, QuantizeLinear is what every quantizer writes inside of an attention block, and a
#   runtime computes it as the three operators say.
# Happens: tract replaces the three by a table of 256 entries, which it fills by running them on the 256 values of the
#   8-bit type along the first axis, as if Softmax were a function of single elements. No error, no warning. LogSoftmax as
#   well. A PRelu of slope 1 behind the Softmax, which changes nothing, gives the right answers.
# Versions: tract 0.23.9 (package of PyPI), onnx 1.23.2 with its reference evaluator, opset 19, x86-64.
# Matters: an 8-bit transformer, or a detector whose boxes come of a Softmax, is useless there while it loads and runs.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 tract==0.23.9
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import sys
import numpy as np, onnx, tract
from onnx import helper, numpy_helper, TensorProto as T
from onnx.reference import ReferenceEvaluator

print("onnx", onnx.__version__, "tract", tract.version())
x = (4 * np.random.default_rng(1).standard_normal((1, 8, 16))).astype(np.float32)
parameters = {"xs": np.float32(32 / 255), "xz": np.uint8(128), "ys": np.float32(1 / 255), "yz": np.uint8(0),
              "one": np.ones(1, np.float32)}


def answers(function, behind):
    """SQNR of tract to the reference evaluator, in dB; 200: equal."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
             helper.make_node(function, ["d"], ["s"])]
    if behind:
        nodes.append(helper.make_node("PRelu", ["s", "one"], ["p"]))
    nodes += [helper.make_node("QuantizeLinear", ["p" if behind else "s", "ys", "yz"], ["r"]),
              helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "between", [info("x", T.FLOAT, x.shape)], [info("y", T.FLOAT, x.shape)],
                              [numpy_helper.from_array(np.asarray(v), n) for n, v in parameters.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    exact = ReferenceEvaluator(model).run(None, {"x": x})[0].astype(np.float64)
    got = tract.onnx().load("m.onnx").into_model().into_runnable().run([x])[0].to_numpy()
    noise = ((got - exact) ** 2).sum()
    return 10 * np.log10((exact ** 2).sum() / noise) if noise else 200


found = {(f, b): answers(f, b) for f in ("Softmax", "Sigmoid") for b in (False, True)}
for (function, behind), sqnr in found.items():
    print(f"{function:8s} {'and PRelu of slope 1' if behind else 'alone':20s} between pairs: "
          f"{'equal to the reference' if sqnr == 200 else f'{sqnr:.1f} dB'}")
good = all(s > 30 for (f, b), s in found.items() if (f, b) != ("Softmax", False))
if not good or found["Softmax", False] > 20:
    sys.exit("CHANGED: tract answers otherwise")
PY
