#!/usr/bin/env bash
# AveragePool with auto_pad SAME_UPPER and dilations: three sizes of one result
# Guessed: SAME_UPPER gives ceil(size / stride) elements, as the operator's text says and as onnx's own shape inference
#   declares; the padding is that of the dilated kernel.
# Happens: ONNX Runtime returns fewer elements: 7 elements, kernel 3, dilation 2, stride 1 have 5, where shape inference
#   says 7; its padding is that of the kernel without dilation. The reference evaluator of onnx has the same 5 and two
#   zeros behind them, whatever the input is. With 5 elements, kernel 2 and stride 3 they are 1, and 1 and a zero.
# Versions: onnx 1.23.2, onnxruntime 1.32.0, numpy 2.4.6, x86-64.
# Matters: sizes of later layers are inferred from the model, so a network that pools so fails or answers wrongly only
#   where a later node minds.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" -W ignore - <<'PY'
import sys, numpy as np, onnx, onnxruntime as ort
from onnx import helper, shape_inference, TensorProto as T
from onnx.reference import ReferenceEvaluator
ort.set_default_logger_severity(4)

def sizes(length, kernel, stride):
    node = helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[kernel], dilations=[2], strides=[stride],
                            auto_pad="SAME_UPPER", count_include_pad=1)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", T.FLOAT, [1, 1, length])],
                              [helper.make_tensor_value_info("y", T.FLOAT, [None] * 3)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    x = np.arange(1, length + 1, dtype=np.float32).reshape(1, 1, length)
    inferred = shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim[2].dim_value
    runtime = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    evaluator = ReferenceEvaluator(model).run(None, {"x": x})[0]
    print(f"length {length}, kernel {kernel}, dilation 2, stride {stride}: ceil(length / stride) {-(-length // stride)}, inferred",
          inferred, "ONNX Runtime", runtime.ravel().tolist(), "evaluator", evaluator.ravel().tolist())
    return inferred, runtime.size, evaluator.size

happens = sizes(7, 3, 1) == (7, 5, 7) and sizes(5, 2, 3) == (2, 1, 2)
print("as stated" if happens else "CHANGED")
sys.exit(not happens)
PY
