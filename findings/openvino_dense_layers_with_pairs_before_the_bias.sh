#!/usr/bin/env bash
# Three dense layers in 8 bits with a pair between product and bias: OpenVINO does not compile them for one thread
#
# Guessed: QuantizeLinear and DequantizeLinear may stand behind any operator, and the number of threads decides how fast
#   a model runs, not whether it does.
# Happens: with AVX-512 and one thread MatMul, a pair, Add and Relu, three times or more with a pair behind each Relu,
#   become one subgraph, for which OpenVINO has too few registers: compile_model ends with "Not enough gp registers in
#   the pool to perform manual assignment". For two threads the same model compiles, and so do two such layers, and any
#   number without the pair between MatMul and Add. One scale or one for each column, and a bias in float or in 8 bits,
#   make no difference.
# Versions: openvino 2026.4.0, onnx 1.23.2, opset 13, x86-64 with AVX-512. A processor with AVX2 alone compiled two
#   networks with such layers for one thread.
# Matters: quantizers that put a pair behind every operator write this for every exporter that has MatMul and Add in
#   place of Gemm, and the file fails where a server gives each request one thread, not where it was tried.
set -eu
if ! grep -qw avx512f /proc/cpuinfo; then
  echo "SKIP: this processor has no AVX-512"
  exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check onnx==1.23.2 openvino==2026.4.0
"$dir/venv/bin/python" -W ignore - "$dir/dense.onnx" <<'PY'
import sys
import numpy as np, onnx, openvino
from onnx import helper, numpy_helper, TensorProto as T

print("onnx", onnx.__version__, "openvino", openvino.__version__)
SIZE = 64


def write(path, layers, pair_before_bias):
    random = np.random.default_rng(1)
    nodes, constants = [], []

    def constant(name, values):
        constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def pair(value, scale, zero):
        parameters = [constant(value + "_s", np.float32(scale)), constant(value + "_z", np.uint8(zero))]
        nodes.append(helper.make_node("QuantizeLinear", [value, *parameters], [value + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [value + "_q", *parameters], [value + "_d"]))
        return value + "_d"

    value = pair("x", 0.05, 0)
    for i in range(layers):
        weight = [constant(f"w{i}", random.integers(-127, 128, (SIZE, SIZE)).astype(np.int8)),
                  constant(f"ws{i}", np.float32(0.01)), constant(f"wz{i}", np.int8(0))]
        nodes.append(helper.make_node("DequantizeLinear", weight, [f"wd{i}"]))
        nodes.append(helper.make_node("MatMul", [value, f"wd{i}"], [f"m{i}"]))
        product = pair(f"m{i}", 0.07, 128) if pair_before_bias else f"m{i}"
        bias = constant(f"b{i}", random.normal(size=SIZE).astype(np.float32))
        nodes.append(helper.make_node("Add", [product, bias], [f"a{i}"]))
        nodes.append(helper.make_node("Relu", [f"a{i}"], [f"r{i}"]))
        value = pair(f"r{i}", 0.05, 0) if i + 1 < layers else f"r{i}"
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "dense", [info("x", T.FLOAT, (1, SIZE))], [info(value, T.FLOAT, (1, SIZE))], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    onnx.save(made, path)


def compiles(path, threads):
    core = openvino.Core()
    try:
        core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads})
        return "compiles"
    except Exception as error:
        return "registers" if "Not enough gp registers" in str(error) else str(error)[-120:]


changed = False
for layers, before_bias, threads, expected in ((2, True, 1, "compiles"), (3, True, 1, "registers"), (6, True, 1, "registers"),
                                               (6, True, 2, "compiles"), (3, False, 1, "compiles"), (6, False, 1, "compiles")):
    write(sys.argv[1], layers, before_bias)
    found = compiles(sys.argv[1], threads)
    print(f"{layers} layers, {'a' if before_bias else 'no'} pair before the bias, {threads} threads: {found}")
    changed |= found != expected
if changed:
    sys.exit("CHANGED: OpenVINO compiles dense layers in 8 bits otherwise")
PY
