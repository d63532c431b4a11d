"""Models that dq reads and writes, judged by ONNX Runtime. usage: interop.py BUILD ASSETS  (TAP)"""
import csv, glob, os, subprocess, sys, tempfile
import judges_check, numpy as np, onnx, onnxruntime as ort
from onnx import TensorProto, helper

BUILD, ASSETS = sys.argv[1], sys.argv[2]
number = 0


def result(name, problem, skip=""):
    global number
    number += 1
    if skip:
        print(f"ok {number} {name} # SKIP {skip}")
    else:
        print(f"{'not ok' if problem else 'ok'} {number} {name}" + (f" - {problem}" if problem else ""))
    sys.stdout.flush()


def dq(*words):
    r = subprocess.run([os.path.join(BUILD, words[0]), *map(str, words[1:])], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit {r.returncode}: {r.stderr.strip()[-300:]}")
    return r.stdout


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact integer sums on every processor
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def file_name(name):
    return "".join(c if c.isascii() and (c.isalnum() or c in ".-_") else "_" for c in name)


def run_dq(path, feeds, *words):
    with tempfile.TemporaryDirectory() as folder:
        inputs = []
        for name, array in feeds.items():
            np.save(os.path.join(folder, file_name(name) + ".npy"), array)
            inputs += ["--input", f"{name}={folder}/{file_name(name)}.npy"]
        dq("dq-run", path, *inputs, "--save-output", folder, "-q", *words)
        names = [o.name for o in onnx.load(path, load_external_data=False).graph.output]
        return [np.load(os.path.join(folder, file_name(n) + ".npy")) for n in names]


def noise(model):
    random = np.random.default_rng(0)
    return {i.name: random.standard_normal([d if isinstance(d, int) and d > 0 else 1 for d in i.shape]).astype(np.float32)
            for i in model.get_inputs()}


def differ(got, expected, bound):
    """Why two lists of outputs differ by more than `bound` of the expected range; None when they do not."""
    if len(got) != len(expected) or not expected:
        return f"{len(got)} outputs, expected {len(expected)}"
    for g, e in zip(got, expected):
        if g.shape != e.shape:
            return f"shape {g.shape}, expected {e.shape}"
        g, e = g.astype(np.float64), e.astype(np.float64)
        span = max(e.max() - e.min(), 1e-30)
        if not np.abs(g - e).max() <= bound * span:
            return f"differs by {np.abs(g - e).max() / span:.2e} of the range"
    return None


def guarded(name, function, *arguments):
    try:
        result(name, function(*arguments))
    except Exception as error:  # a failure of any kind is a failed test, with its message
        result(name, str(error).replace("\n", " "))


def runs_alike(path):
    model = session(path)
    feeds = noise(model)
    return differ(run_dq(path, feeds), model.run(None, feeds), 1e-4)


def saved_alike(path, folder):
    """Load and save: every field equal, ONNX Runtime gives the same bits."""
    copy = os.path.join(folder, "copy.onnx")
    dq("make_models", "--copy", path, copy)
    if onnx.load(path) != onnx.load(copy):
        return "a field differs"
    a, b = session(path), session(copy)
    feeds = noise(a)
    for x, y in zip(a.run(None, feeds), b.run(None, feeds)):
        if x.tobytes() != y.tobytes():
            return "outputs differ"
    return None


def half_alike(path, folder):
    out = os.path.join(folder, "half.onnx")
    dq("dq-amp", path, "-o", out, "-q")
    onnx.checker.check_model(out)
    a, b = session(path), session(out)
    feeds = noise(a)
    reference = a.run(None, feeds)
    # 0.00025 at most in ONNX Runtime and 0.0011 here, where every value is rounded to float16
    return differ(b.run(None, feeds), reference, 0.001) or differ(run_dq(out, feeds), reference, 0.003)


def tucker_alike(path, folder):
    out = os.path.join(folder, "tucker.onnx")
    dq("dq-tucker", path, "-o", out, "--ratio", "1", "--force", "-q")
    a, b = session(path), session(out)
    feeds = noise(a)
    return differ(b.run(None, feeds), a.run(None, feeds), 1e-4)


def unknown_kept(path, folder):
    """What dq does not run still fits together in what it writes: a body reads a value that became float16."""
    a = session(path)
    feeds = noise(a)
    reference = a.run(None, feeds)
    for words, bound in ((["dq-amp"], 0.01), (["dq-amp", "--half-io"], 0.01), (["dq-tucker", "--ratio", "1", "--force"], 1e-4)):
        out = os.path.join(folder, "kept.onnx")
        dq(words[0], path, "-o", out, "-q", *words[1:])
        b = session(out)
        halves = {i.name: feeds[i.name].astype(np.float16 if i.type == "tensor(float16)" else np.float32)
                  for i in b.get_inputs()}
        problem = differ(b.run(None, halves), reference, bound)
        if problem:
            return f"{' '.join(words)}: {problem}"
    return None


# ---- Quantized operators, one by one ----

def units(graph):
    """Every QuantizeLinear with the float nodes behind it, back to DequantizeLinear outputs."""
    producer = {o: n for n in graph.node for o in n.output}
    constants = {i.name for i in graph.initializer}
    for quantize in graph.node:
        if quantize.op_type != "QuantizeLinear":
            continue
        nodes, sources, todo, seen = [quantize], [], [quantize.input[0]], set()
        while todo:
            name = todo.pop()
            node = producer.get(name)
            if name in seen or name in constants or not name:
                continue
            seen.add(name)
            if node is None:  # the float input of the model
                sources = None
                break
            nodes.append(node)
            if node.op_type == "DequantizeLinear":
                if node.input[0] not in constants:
                    sources.append(node.input[0])
            else:
                todo += node.input
        if sources:
            yield quantize, nodes, sorted(set(sources))


def compare_units(path, feeds, folder):
    model = onnx.load(path)
    types = {n.output[0]: next(i for i in model.graph.initializer if i.name == n.input[2]).data_type
             for n in model.graph.node if n.op_type == "QuantizeLinear"}
    full = onnx.ModelProto()
    full.CopyFrom(model)
    del full.graph.output[:]
    full.graph.output.extend(helper.make_tensor_value_info(n, t, None) for n, t in types.items())
    values = dict(zip(types, session(full.SerializeToString()).run(None, feeds)))
    order = {n.name: k for k, n in enumerate(model.graph.node)}
    total = equal = largest = count = 0
    for quantize, nodes, sources in units(model.graph):
        nodes = sorted(nodes, key=lambda n: order[n.name])
        used = {i for n in nodes for i in n.input}
        graph = helper.make_graph(
            nodes, "unit",
            [helper.make_tensor_value_info(s, types[s], values[s].shape) for s in sources],
            [helper.make_tensor_value_info(quantize.output[0], types[quantize.output[0]], None)],
            [i for i in model.graph.initializer if i.name in used])
        unit = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        file = os.path.join(folder, "unit.onnx")
        onnx.save(unit, file)
        inputs = {s: values[s] for s in sources}
        expected = session(file).run(None, inputs)[0].astype(np.int64)
        got = run_dq(file, inputs)[0].astype(np.int64)
        if got.shape != expected.shape:
            return f"{quantize.name}: shape {got.shape}, expected {expected.shape}"
        off = np.abs(got - expected)
        total += off.size
        equal += int((off == 0).sum())
        count += 1
        if off.max() > largest:
            largest, worst = int(off.max()), quantize.name
    print(f"# {os.path.basename(path)}: {count} quantized operators, {100 * equal / max(total, 1):.4f} % of the integers "
          f"equal, largest difference {largest}")
    if not count:
        return "no quantized operator found"
    if largest > 1:
        return f"{worst}: differs by {largest}"
    return None if equal >= 0.999 * total else f"only {100 * equal / total:.3f} % equal"


def int8_alike(path, data, preset, folder, *training):
    out = os.path.join(folder, "int8.onnx")
    dq("dq-int8", path, "--data", data, *(["--preset", preset] if preset else []), "--limit", "8", "--all-int8", "-o", out, "-q")
    if training:
        dq("dq-train", out, "--qat", "int8", "--data", data, "--val", data, "--keep", "last", *training, "-o", out, "-q")
    return compare_units(out, noise(session(out)), folder)


def float_products(path):
    """Products that ONNX Runtime, optimising as it does by default, leaves in float."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.optimized_model_filepath = path + ".optimized"
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(options.optimized_model_filepath).graph.node
    return [n.name or n.op_type for n in nodes if n.op_type in ("Conv", "FusedConv", "Gemm", "FusedGemm", "MatMul", "FusedMatMul")]


def all_integer(path, data, preset, folder, *words):
    out = os.path.join(folder, "integer.onnx")
    dq("dq-int8", path, "--data", data, *(["--preset", preset] if preset else []), "--limit", "4", "--method", "minmax",
       "--equalize", "off", "--bias-correction", "off", "--all-int8", "-o", out, "-q", *words)
    left = float_products(out)
    return f"left in float: {', '.join(left)}" if left else None


def left_when_asked(path, data, preset, folder):
    """What --exclude names stays in float, so the count above can fail."""
    problem = all_integer(path, data, preset, folder, "--exclude", "*")
    return None if problem else "nothing is left in float with --exclude '*'"


def many_operators(folder):
    """A network with an operator of every form that runs on 8 bits, as a float model."""
    random = np.random.default_rng(4)
    constants, nodes = [], []

    def constant(name, array):
        constants.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(name, *shape):
        return constant(name, (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def add(op, inputs, name, **attributes):
        nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    x = add("Conv", ["x", weight("w0", 8, 3, 3, 3), weight("b0", 8)], "conv", pads=[1, 1, 1, 1])
    silu = add("Mul", [x, add("Sigmoid", [x], "sigmoid")], "silu")
    hard = add("HardSwish", [add("Conv", [silu, weight("w1", 8, 8, 1, 1)], "conv1")], "hard")
    slope = add("PRelu", [add("Conv", [silu, weight("w2", 8, 1, 3, 3), weight("b2", 8)], "depthwise", group=8, pads=[1, 1, 1, 1]),
                          constant("slope", random.random((8, 1, 1)).astype(np.float32))], "prelu")
    both = add("Add", [hard, slope], "sum")
    less = add("Sub", [hard, slope], "difference")
    gate = add("HardSigmoid", [add("Conv", [add("GlobalAveragePool", [both], "squeeze"), weight("w3", 8, 8, 1, 1)], "excite")], "gate")
    gated = add("Mul", [both, gate], "gated")
    joined = add("Concat", [gated, add("LeakyRelu", [less], "leaky", alpha=0.1)], "joined", axis=1)
    down = add("AveragePool", [joined], "average", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    most = add("MaxPool", [joined], "maximum", kernel_shape=[2, 2], strides=[2, 2])
    up = add("ConvTranspose", [add("Concat", [down, most], "pools", axis=1), weight("w4", 32, 8, 2, 2), weight("b4", 8)],
             "transposed", strides=[2, 2])
    near = add("Resize", [most, "", constant("scales", np.float32([1, 1, 2, 2]))], "nearest", mode="nearest",
               coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    rows = add("Reshape", [add("Relu", [up], "relu"), constant("rows", np.int64([1, 8, 64]))], "rows_of")
    columns = add("Transpose", [add("Reshape", [near, constant("shape", np.int64([1, 16, 64]))], "flat")], "columns_of", perm=[0, 2, 1])
    product = add("MatMul", [rows, columns], "product")
    y = add("MatMul", [product, weight("w5", 16, 5)], "scores")
    graph = helper.make_graph(nodes, "many", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], constants)
    path = os.path.join(folder, "many.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)
    return path


def flat_attention(folder):
    """Rows of like weights, 1 / 64 each: ONNX Runtime's integer Softmax overflows where its scale is too fine."""
    random = np.random.default_rng(6)
    constants = [onnx.numpy_helper.from_array(v, n) for n, v in
                 (("w", (random.standard_normal((8, 3, 1, 1)) / 100).astype(np.float32)), ("rows", np.int64([1, 8, 64])))]
    nodes = [helper.make_node(o, i, [r], name=r, **a) for o, i, r, a in
             (("Conv", ["x", "w"], "values", {}), ("Reshape", ["values", "rows"], "rows_of", {}),
              ("Transpose", ["rows_of"], "places", {"perm": [0, 2, 1]}), ("MatMul", ["places", "rows_of"], "scores", {}),
              ("Softmax", ["scores"], "weights", {"axis": -1}), ("MatMul", ["weights", "places"], "y", {}))]
    graph = helper.make_graph(nodes, "attention", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    path = os.path.join(folder, "attention.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8), path)
    return path


def quantized_near(path, data, folder):
    out = os.path.join(folder, "near.onnx")
    dq("dq-int8", path, "--data", data, "-o", out, "-q")
    float_model, model = session(path), session(out)
    feeds = noise(float_model)
    reference = float_model.run(None, feeds)
    return differ(model.run(None, feeds), reference, 0.1) or differ(run_dq(out, feeds), reference, 0.1)


def forms_alike(path, data, preset, folder):
    """The explicit form and the operator form give the same bits, in ONNX Runtime and in dq."""
    files = {form: os.path.join(folder, form + ".onnx") for form in ("qdq", "qoperator")}
    for form, out in files.items():
        dq("dq-int8", path, "--data", data, *(["--preset", preset] if preset else []), "--limit", "8", "--format", form,
           "--task", "none", "--all-int8", "-o", out, "-q")
        onnx.checker.check_model(out)
    feeds = noise(session(files["qdq"]))
    for run in (lambda f: session(f).run(None, feeds), lambda f: run_dq(f, feeds)):
        for a, b in zip(run(files["qdq"]), run(files["qoperator"])):
            if a.tobytes() != b.tobytes():
                return f"outputs differ by {np.abs(a.astype(float) - b).max()}"
    kinds = {n.op_type for n in onnx.load(files["qoperator"]).graph.node}
    return None if "QLinearConv" in kinds and "Conv" not in kinds else f"operators are {sorted(kinds)}"


def half_rounds(folder):
    """Our executor rounds every float16 value: operators one after the other against numpy in float64, rounded."""
    random = np.random.default_rng(2)
    x = random.standard_normal((2, 4, 12, 12)).astype(np.float16)
    w = random.standard_normal((5, 4, 3, 3)).astype(np.float16)
    c = random.standard_normal((1, 5, 1, 1)).astype(np.float16)
    slope = random.standard_normal((5, 1, 1)).astype(np.float16)
    norm = [(random.uniform(0.5, 1.5, 5)).astype(np.float16) for _ in range(4)]
    half = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT16, shape)
    constant = onnx.numpy_helper.from_array
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "c"], ["b"]),
         helper.make_node("Sigmoid", ["b"], ["y"]), helper.make_node("PRelu", ["b", "slope"], ["p"]),
         helper.make_node("BatchNormalization", ["p", "n0", "n1", "n2", "n3"], ["n"]),
         helper.make_node("MaxPool", ["n"], ["m"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])],
        "half", [half("x", x.shape)], [half(v, None) for v in "abypnm"],
        [constant(w, "w"), constant(c, "c"), constant(slope, "slope")] + [constant(v, f"n{i}") for i, v in enumerate(norm)])
    path = os.path.join(folder, "rounds.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), axis=(2, 3))
    a = np.einsum("nihwkl,oikl->nohw", windows, w.astype(np.float64)).astype(np.float16)
    got_a, got_b, got_y, got_p, got_n, got_m = run_dq(path, {"x": x})
    b = (got_a.astype(np.float64) + c).astype(np.float16)
    y = (1 / (1 + np.exp(-got_b.astype(np.float64)))).astype(np.float16)
    p = np.where(got_b < 0, got_b.astype(np.float64) * slope, got_b).astype(np.float16)
    scale, shift, mean, variance = (v.astype(np.float64).reshape(5, 1, 1) for v in norm)
    n = ((got_p - mean) * scale / np.sqrt(variance + 1e-5) + shift).astype(np.float16)
    padded = np.pad(got_n.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    m = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))
    for name, got, expected in (("Conv", got_a, a), ("Add", got_b, b), ("Sigmoid", got_y, y), ("PRelu", got_p, p),
                                ("BatchNormalization", got_n, n), ("MaxPool", got_m, m.astype(np.float16))):
        steps = np.abs(got.view(np.int16).astype(int) - expected.view(np.int16).astype(int))
        if got.dtype != np.float16 or steps.max() > 1 or (steps > 0).mean() > 0.01:
            return f"{name}: {(steps > 0).mean():.2%} of the values differ, by up to {steps.max()} float16 steps"
    return None


def guard_holds(folder):
    """One layer passes 65504: the guard keeps it in float32 without data, and the outputs. Without the guard our
    float16, with either kind of sums, has the infinities that numpy has."""
    random = np.random.default_rng(4)
    x = random.uniform(0, 200, (1, 4, 8, 8)).astype(np.float32)
    a, b, c = (random.uniform(0, 1, (4, 4, 1, 1)) for _ in range(3))
    a, b, c = a.astype(np.float32), (b * 100).astype(np.float32), (c / 1000).astype(np.float32)
    b[3] /= 1000  # a channel that fits
    value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "a"], ["first"], "first"), helper.make_node("Relu", ["first"], ["r"], "relu"),
         helper.make_node("Conv", ["r", "b"], ["big"], "big"), helper.make_node("Conv", ["big", "c"], ["small"], "small"),
         helper.make_node("Conv", ["r", "a"], ["side"], "side"), helper.make_node("Add", ["small", "side"], ["y"], "add")],
        "guard", [value("x", x.shape)], [value("big", None), value("y", None)],
        [onnx.numpy_helper.from_array(w, n) for n, w in (("a", a), ("b", b), ("c", c))])
    path, out = os.path.join(folder, "exceeds.onnx"), os.path.join(folder, "guarded.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), path)
    reference = session(path).run(None, {"x": x})
    dq("dq-amp", path, "-o", out, "-q")
    kept = {i.name: i.data_type for i in onnx.load(out).graph.initializer}
    if [kept.get(n) for n in "abc"] != [TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.FLOAT]:
        return f"types of the weights are {kept}"
    for sums in ("fp32", "fp16"):
        problem = differ(run_dq(out, {"x": x}, "--accumulate", sums), reference, 0.01)
        if problem:
            return f"guarded, {sums} sums: {problem}"
    dq("dq-amp", path, "-o", out, "-q", "--guard", "off", "--rounding", "nearest")
    half = lambda v: np.clip(v, -1e6, 1e6).astype(np.float16)
    product = lambda w, v: half(np.einsum("oi,nihw->nohw", half(w)[..., 0, 0].astype(np.float64), v.astype(np.float64)))
    with np.errstate(over="ignore"):
        r = product(a, half(x))
        big = product(b, r)
    for sums in ("fp32", "fp16"):
        got_big, got_y = run_dq(out, {"x": x}, "--accumulate", sums)
        if not np.isinf(big).any() or (np.isinf(got_big) != np.isinf(big)).any():
            return f"unguarded, {sums} sums: {np.isinf(got_big).sum()} infinities, numpy has {np.isinf(big).sum()}"
        if (np.isinf(got_y) != np.isinf(big).any(axis=1, keepdims=True)).any():
            return f"unguarded, {sums} sums: {np.isinf(got_y).sum()} infinities at the end"
        fit = np.isfinite(got_big)
        if (np.abs(got_big[fit] - big[fit].astype(np.float64)) > 0.01 * np.abs(big[fit].astype(np.float64))).any():
            return f"unguarded, {sums} sums: finite values differ"
    return None


def quality_measured(folder):
    """The benchmark of quality in its smallest form: each figure is there, and dq is not far behind ONNX Runtime."""
    names, table = ["resnet8_cifar10", "mnist_cntk"], os.path.join(folder, "quality.csv")
    made = subprocess.run([sys.executable, "-B", "tests/bench/quality.py", BUILD, "--assets", ASSETS, "--only", ",".join(names),
                           "--peers", "ort-minmax,ort-percentile", "--out", os.path.join(folder, "quality"),
                           "--csv", table], capture_output=True, text=True)
    if made.returncode:
        return f"exit {made.returncode}: {made.stderr.strip()[-300:]}"
    with open(table, newline="") as file:
        rows = {row["network"]: row for row in csv.DictReader(line for line in file if not line.startswith("#"))}
    for name in names:
        row = rows.get(name, {})
        if not all(row.get(column) for column in ("dq", "ORT min-max", "ORT percentile", "advantage")):
            return f"{name}: a figure is missing: {row}: {made.stderr.strip()[-300:]}"
        if float(row["advantage"]) < -1:
            return f"{name}: {row['advantage']} dB against the better of ONNX Runtime's files"
    return None


def own_networks(folder):
    """The trained network of this repository and deep ones with random weights, which are there on every machine."""
    networks = [("datasets/shapes.onnx", None)]
    for name, divisor in (("resnet50", 16), ("efficientnetv2_s", 8)):
        path = os.path.join(folder, f"{name}_{divisor}.onnx")
        dq("make_networks", name, divisor, path)
        networks.append((path, "imagenet"))
    for path, preset in networks:
        name, data = os.path.basename(path), "synth:shapes"
        guarded(f"{name} runs alike", runs_alike, path)
        guarded(f"{name} is saved alike", saved_alike, path, folder)
        guarded(f"{name} in float16", half_alike, path, folder)
        guarded(f"{name} decomposed at full rank", tucker_alike, path, folder)
        guarded(f"{name} quantized, operator by operator", int8_alike, path, data, preset, folder)
        guarded(f"{name} leaves no product in float", all_integer, path, data, preset, folder)
        guarded(f"{name} in both quantized forms", forms_alike, path, data, preset, folder)
    guarded("shapes.onnx trained in 8 bits", int8_alike, networks[0][0], "synth:shapes", None, folder, "--epochs", "1", "--lr", "1e-4")


def main():
    folder = tempfile.mkdtemp()
    guarded("judges of answers give what was worked by hand", judges_check.problem)
    small, calibration = os.path.join(BUILD, "models", "small.onnx"), os.path.join(folder, "calibration.npy")
    np.save(calibration, np.random.default_rng(1).standard_normal((8, 3, 8, 8)).astype(np.float32))
    for path in (small, os.path.join(BUILD, "models", "shared.onnx")):
        name = os.path.basename(path)
        guarded(f"{name} runs alike", runs_alike, path)
        guarded(f"{name} is saved alike", saved_alike, path, folder)
        guarded(f"{name} in float16", half_alike, path, folder)
        guarded(f"{name} decomposed at full rank", tucker_alike, path, folder)
    for name in ("function", "if", "loop", "scan", "no_inputs", "initializer_output", "no_nodes"):
        path = os.path.join(BUILD, "models", name + ".onnx")
        guarded(f"{name}.onnx is saved alike", saved_alike, path, folder)
        guarded(f"{name}.onnx converted and decomposed around what is not run", unknown_kept, path, folder)
    guarded("small.onnx quantized, operator by operator", int8_alike, small, f"npy:{calibration}", None, folder)
    last = os.path.join(BUILD, "models", "channels_last.onnx")
    guarded("channels_last.onnx runs alike", runs_alike, last)
    guarded("channels_last.onnx quantized, operator by operator", int8_alike, last, "synth:shapes,size=8", "imagenet", folder)
    many = many_operators(folder)
    guarded("many operators run alike", runs_alike, many)
    guarded("many operators quantized, operator by operator", int8_alike, many, f"npy:{calibration}", None, folder)
    guarded("many operators leave no product in float", all_integer, many, f"npy:{calibration}", None, folder)
    guarded("many operators left in float when asked", left_when_asked, small, f"npy:{calibration}", None, folder)
    guarded("small.onnx in both quantized forms", forms_alike, small, f"npy:{calibration}", None, folder)
    attention = flat_attention(folder)
    guarded("attention over like places quantized, operator by operator", int8_alike, attention, f"npy:{calibration}", None, folder)
    guarded("attention over like places near the float model", quantized_near, attention, f"npy:{calibration}", folder)
    own_networks(folder)
    guarded("float16 values are rounded after every operator", half_rounds, folder)
    guarded("a layer beyond 65504 is guarded, and infinite without", guard_holds, folder)
    models = sorted(glob.glob(os.path.join(ASSETS, "models", "*.onnx")))
    if not models:
        result("large networks", None, skip=f"{ASSETS}/models is not there (set DQ_ASSETS)")
    else:
        guarded("quality of small networks against ONNX Runtime's quantizer", quality_measured, folder)
    for path in models:
        name = os.path.basename(path)
        guarded(f"{name} runs alike", runs_alike, path)
        guarded(f"{name} is saved alike", saved_alike, path, folder)
    lists = {"squeezenet1.1": "imagenet-caffe", "mobilenetv1_025_224": "tf", "efficientnet_lite0": "lite",
             "tiny_darknet": "raw01"}
    for name, preset in lists.items():
        path = os.path.join(ASSETS, "models", name + ".onnx")
        if os.path.exists(path):
            guarded(f"{name} quantized, operator by operator", int8_alike, path,
                    os.path.join(ASSETS, "data/imagenet/calib100.txt"), preset, folder)
            guarded(f"{name} leaves no product in float", all_integer, path,
                    os.path.join(ASSETS, "data/imagenet/calib100.txt"), preset, folder)
    for name, preset in (("yolox_nano", "yolox"), ("espnetv2_voc_s2_384", "imagenet-stretch")):
        path = os.path.join(ASSETS, "models", name + ".onnx")
        if os.path.exists(path):
            guarded(f"{name} leaves no product in float", all_integer, path, os.path.join(ASSETS, "data/coco_calib"), preset, folder)
    for name, data, preset in (("mlperftiny_resnet8_cifar10", "cifar10:{}/cifar10/calib_200.bin", "cifar-raw"),
                               ("yolo_fastest_1.1", "{}/coco_calib", "darknet")):
        path = os.path.join(ASSETS, "models", name + ".onnx")
        if os.path.exists(path):
            guarded(f"{name} in both quantized forms", forms_alike, path, data.format(os.path.join(ASSETS, "data")),
                    preset, folder)
    print(f"1..{number}")


main()
