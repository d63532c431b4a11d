#!/usr/bin/env bash
# One int8 weight, or its zero point, of two layers: ONNX Runtime does not load the model when exact sums are asked for
#
# Guessed: session.x64quantprecision changes how sums of 8-bit products are computed, and a model that loads without it
#   loads with it; initializers may be read by any number of nodes.
# Happens: on processors without VNNI the option turns int8 weights into uint8, for each DequantizeLinear by itself, and
#   puts the new tensor in the place of the initializer. Of two such nodes that read one weight, or one zero point, the
#   second finds it replaced: the session ends with "Attempt to replace the existing tensor". One DequantizeLinear that
#   both layers read fails as well. With a weight and a zero point for each node the model loads; scales may be shared.
# Versions: onnxruntime 1.32.0, onnx 1.23.2, opset 13, x86-64 without VNNI.
# Matters: detectors whose heads share weights, and quantizers that store a zero point of 0 once, give models that load or
#   not by an option that is meant for the processors on which 8-bit sums saturate otherwise.
set -eu
if grep -qE 'avx512_vnni|avx_vnni' /proc/cpuinfo; then
  echo "SKIP: this processor has VNNI, on which the option does nothing"
  exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0
"$dir/venv/bin/python" -W ignore - <<'PY'
import sys
import numpy as np, onnx, onnxruntime as ort
from onnx import helper, numpy_helper, TensorProto as T

print("onnx", onnx.__version__, "onnxruntime", ort.__version__)
ort.set_default_logger_severity(4)


def model(weights, zeros, nodes_of_weight):
    """Two products in a row; so many initializers and DequantizeLinear nodes for their weights."""
    pair = lambda name: [helper.make_node("QuantizeLinear", [name, "s", "z"], [name + "_q"]),
                         helper.make_node("DequantizeLinear", [name + "_q", "s", "z"], [name + "_d"])]
    nodes = pair("x")
    for i in range(nodes_of_weight):
        nodes.append(helper.make_node("DequantizeLinear", [f"w{min(i, weights - 1)}", "ws", f"wz{min(i, zeros - 1)}"], [f"wd{i}"]))
    nodes += [helper.make_node("MatMul", ["x_d", "wd0"], ["h"]), *pair("h"),
              helper.make_node("MatMul", ["h_d", f"wd{nodes_of_weight - 1}"], ["p"]), *pair("p"),
              helper.make_node("Relu", ["p_d"], ["y"])]
    numbers = np.random.default_rng(1).integers(-90, 90, (8, 8)).astype(np.int8)
    constants = {"s": np.float32(0.05), "z": np.uint8(128), "ws": np.float32(0.01), **{f"w{i}": numbers for i in range(weights)},
                 **{f"wz{i}": np.int8(0) for i in range(zeros)}}
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "shared", [info("x", T.FLOAT, (1, 8))], [info("y", T.FLOAT, (1, 8))],
                              [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made.SerializeToString()


def loads(serialized, exact):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1" if exact else "0")
    try:
        ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"])
        return "loads"
    except Exception as error:
        return "replaced" if "Attempt to replace the existing tensor" in str(error) else str(error)[:120]


changed = False
for title, made, expected in (("a weight and a zero point each", model(2, 2, 2), "loads"), ("one weight", model(1, 2, 2), "replaced"),
                              ("one zero point", model(2, 1, 2), "replaced"), ("one DequantizeLinear", model(1, 1, 1), "replaced")):
    usual, exact = loads(made, False), loads(made, True)
    print(f"{title:31s} usually: {usual}; with exact sums: {exact}")
    changed |= usual != "loads" or exact != expected
if changed:
    sys.exit("CHANGED: models with shared weights load otherwise")
PY
