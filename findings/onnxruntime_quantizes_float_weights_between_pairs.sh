#!/usr/bin/env bash
# Convolutions left in float between quantized ones: ONNX Runtime rounds their weights to 8 bits while it loads the model
#
# Guessed: a layer whose weight is a float32 initializer stays in float32; only what carries QuantizeLinear and
#   DequantizeLinear is computed in 8 bits, so that leaving a sensitive layer out protects it.
# Happens: where a DequantizeLinear writes the data of a Conv or Gemm and a QuantizeLinear reads its result, also behind a
#   Clip, the basic optimizations, on by default, write an int8 weight with one scale for the whole tensor in the place of
#   the float one. The layer then is an integer operator. Without optimizations it stays in float32, and so do all layers
#   with an operator such as Sigmoid in front of the QuantizeLinear.
# Versions: onnxruntime 1.32.0, onnx 1.23.2, opset 13, x86-64.
# Matters: mixed precision by leaving layers out of quantization does nothing there, without a word, and a depthwise weight
#   with channels of unlike widths loses more than it would have with scales per channel.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import sys
import numpy as np, onnx, onnxruntime as ort
from onnx import helper, numpy_helper, TensorProto as T

print("onnx", onnx.__version__, "onnxruntime", ort.__version__)
ort.set_default_logger_severity(4)
draw = np.random.default_rng(1)
weight = draw.standard_normal((4, 1, 3, 3)).astype(np.float32) * np.float32([[[[1]]], [[[0.03]]], [[[0.01]]], [[[0.004]]]])
x = draw.uniform(0, 6, (1, 4, 8, 8)).astype(np.float32)
parameters = {"xs": np.float32(6 / 255), "xz": np.uint8(0), "ys": np.float32(12 / 255), "yz": np.uint8(128), "w": weight,
              "low": np.float32(-6), "high": np.float32(6)}


def model(between):
    """A pair, a depthwise convolution with float weights, `between`, and a pair."""
    nodes = [helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
             helper.make_node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
             helper.make_node("Conv", ["d", "w"], ["c"], group=4, pads=[1, 1, 1, 1])]
    if between == "Clip":
        nodes.append(helper.make_node("Clip", ["c", "low", "high"], ["b"]))
    elif between:
        nodes.append(helper.make_node(between, ["c"], ["b"]))
    nodes += [helper.make_node("QuantizeLinear", ["b" if between else "c", "ys", "yz"], ["r"]),
              helper.make_node("DequantizeLinear", ["r", "ys", "yz"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "between", [info("x", T.FLOAT, x.shape)], [info("y", T.FLOAT, x.shape)],
                              [numpy_helper.from_array(np.asarray(v), n) for n, v in parameters.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    return made.SerializeToString()


def run(serialized, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = "optimized.onnx"
    options.add_session_config_entry("session.x64quantprecision", "1")
    answer = ort.InferenceSession(serialized, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    graph = onnx.load("optimized.onnx").graph
    return answer, {n.op_type for n in graph.node}, any(i.data_type in (T.INT8, T.UINT8) and len(i.dims) == 4
                                                               for i in graph.initializer)


levels = ort.GraphOptimizationLevel
changed = False
for between in ("", "Clip", "Sigmoid"):
    exact, kinds, rounded = run(model(between), levels.ORT_DISABLE_ALL)
    answer, default_kinds, default_rounded = run(model(between), levels.ORT_ENABLE_ALL)
    steps = np.abs(answer - exact)[0].max(axis=(1, 2)) / float(parameters["ys"])
    print(f"{between or 'nothing':8s} between: 8-bit weight without optimizations {rounded}, with the default ones "
          f"{default_rounded}; channels differ by {', '.join(f'{s:.0f}' for s in steps)} steps")
    expected = between != "Sigmoid"
    changed |= rounded or "Conv" not in kinds or default_rounded != expected or ("QLinearConv" in default_kinds) != expected
if changed:
    sys.exit("CHANGED: other layers keep their float weights")
PY
