"""Random graphs of quantized numbers: dq's integer steps against ONNX Runtime without optimizations, integers compared.

usage: random_qdq.py BUILD [--seed S] [--count N] [--seconds T] [--keep FOLDER]; random_common.py has the rest. Both run
the graph of random_qdq_graphs.py; where outputs differ, all integers in it are compared, from its inputs on, and the
first that differ are explained by name, or the graph counts as different.
"""
import sys

import numpy as np
from onnx import TensorProto, helper

import random_common as common
from random_qdq_graphs import TYPES, make_case

CURVES = ("Celu", "Elu", "Selu")  # ONNX Runtime computes exp(x) - 1, which is 0 for x below the rounding of 1
POOLS = ("MaxPool", "GlobalMaxPool", "Resize")  # of NaN and infinity; linear Resize multiplies what lies beside by 0
FUNCTIONS = CURVES + ("Sigmoid", "Softmax", "Tanh", "Exp", "HardSigmoid", "Softplus", "Erf")

def ancestors(graph, names):
    """The values that these are computed from, and they themselves."""
    producers = {output: node for node in graph.nodes for output in node.output}
    found, names = set(), list(names)
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += producers[name].input if name in producers else []
    return found


def tapped(case, floats, shapes=()):
    """The case with all integer values as outputs, in the order of the graph, and with the floats in front of them. `shapes` of
    values are declared: what ONNX Runtime infers of ceil_mode is wrong."""
    graph = case.graph
    outputs, needed = {}, ancestors(graph, case.names())
    for levels, value, p in graph.quantized:
        if levels not in needed:  # ONNX Runtime may refuse nodes that nothing needs
            continue
        outputs[(levels, helper.np_dtype_to_tensor_dtype(np.dtype(p.dtype)))] = None
        if floats:
            outputs[(value, TensorProto.FLOAT)] = None
    kept = [o for o in outputs if o[0] not in case.feeds]
    model = helper.make_model(helper.make_graph([n for n in graph.nodes if needed & set(n.output)], "tapped", graph.inputs, [
        helper.make_tensor_value_info(name, kind, dict(shapes).get(name)) for name, kind in kept], graph.constants),
        opset_imports=case.model.opset_import, ir_version=case.model.ir_version)
    return common.Case(model, case.feeds)


def is_tie(got, expected, steps):
    """Whether integers differ by 1 where the number in front of the rounding lies between two, up to its own rounding."""
    off = got != expected
    apart = np.abs(got.astype(np.int64) - expected.astype(np.int64))[off]
    known = np.abs(steps[np.isfinite(steps)])
    slack = 4e-6 * (1 + min(known.max() if known.size else 0, 1 << 17))
    between = np.abs(np.abs(steps[off] - np.floor(steps[off])) - 0.5)
    return bool((apart == 1).all() and (between <= slack).all())


def functions_before(graph, name):
    """The operators between the value and the DequantizeLinear in front of it."""
    producers = {node.output[0]: node for node in graph.nodes}
    found, names = set(), [name]
    while names:
        node = producers.get(names.pop())
        if node is not None and node.op_type != "DequantizeLinear":
            found.add(node.op_type)
            names += node.input
    return found


def explanation(graph, got, expected, value, number, p):
    """The name of what makes integers differ; None: nothing that is known."""
    with np.errstate(all="ignore"):
        steps = number.astype(np.float64) / np.float64(p.scale)
        steps32 = number.astype(np.float32) / np.float32(p.scale)
    off = got != expected
    low, high = TYPES[p.dtype]
    if np.isnan(steps32[off]).all() and (got[off] == low).all():
        return "NaN, which ONNX Runtime quantizes to other numbers"
    if np.isinf(steps32[off]).all() and (got[off] == np.where(steps32[off] > 0, high, low)).all():
        return "infinity, which ONNX Runtime quantizes to other numbers"
    if graph.extreme and functions_before(graph, value) & set(CURVES) and np.abs(number[off]).max() < 1e-6:
        return "Celu, Elu and Selu of ONNX Runtime near 0"
    if graph.extreme and "Sigmoid" in functions_before(graph, value) and np.abs(number[off]).max() < 1e-37:
        return "Sigmoid of ONNX Runtime below the least number"
    # A Clip behind them hides in ONNX Runtime's number what is NaN in dq, which is quantized to the lowest number.
    odd = not np.isfinite(number[off] * 4).all() or (got[off] == low).all()
    if graph.extreme and functions_before(graph, value) & set(POOLS) and odd:
        return "pools and Resize of NaN, infinity and numbers near it"
    return "tie" if is_tie(got, expected, steps) else None


def unlike(case, outputs, expected, names=None):
    """Text on the first outputs that differ: integers, what DequantizeLinear makes of them, and other floats by more than
    a few roundings, of values of functions also where these are below the rounding of 1."""
    producers = {node.output[0]: node.op_type for node in case.graph.nodes}
    for got, wanted, name in zip(outputs, expected, names or case.names()):
        exact = producers.get(name) == "DequantizeLinear"
        text = common.first_difference([got], [wanted], [name], 0 if exact else 200)
        if text and not exact and functions_before(case.graph, name) & set(FUNCTIONS):
            text = None if np.allclose(got, wanted, rtol=0, atol=3e-7, equal_nan=True) else text
        if text:
            return text
    return None


def first_reason(case, dq, peer, setting):
    """("explained", name) or ("differ", text) of the first integers that differ."""
    mine = dq.run(tapped(case, False), [setting])[setting]
    shapes = dict(zip(tapped(case, False).names(), (list(o.shape) for o in mine.outputs)))
    shapes.update({value: shapes[levels] for levels, value, p in case.graph.quantized if levels in shapes})
    taps = tapped(case, True, shapes)
    done, theirs = peer.run(taps.bytes, case.feeds)
    if mine.status or not done:
        return "differ", f"{setting}: with all integers as outputs: {mine.message} {'' if done else theirs}"
    found = dict(zip(tapped(case, False).names(), mine.outputs))
    expected = {**case.feeds, **dict(zip(taps.names(), theirs))}
    for levels, value, p in (q for q in case.graph.quantized if q[0] in found):
        got, wanted = found[levels], expected[levels]
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return "differ", f"{setting}: {levels} is {got.dtype}{list(got.shape)} for {wanted.dtype}{list(wanted.shape)}"
        off = got != wanted
        if not off.any():
            continue
        name = explanation(case.graph, got, wanted, value, expected[value], p)
        if name:
            return "explained", name
        at = tuple(int(i[0]) for i in np.nonzero(off))
        return "differ", (f"{setting}: {levels}{list(at)} is {got[at]}, expected {wanted[at]} of "
                          f"{expected[value][at]} / {p.scale} + {p.zero}; {off.sum()} of {off.size}")
    return "differ", f"{setting}: differs where not all integers are outputs"


def is_pool_of_infinity(case, outputs, expected):
    """Whether all outputs that differ are floats of pools of a graph with extreme scales, NaN or infinite in one answer."""
    for got, wanted, name in zip(outputs, expected, case.names()):
        if not unlike(case, [got], [wanted], [name]):
            continue
        if not case.graph.extreme or not functions_before(case.graph, name) & set(POOLS):
            return False
        off = ~((got == wanted) | (np.isnan(got) & np.isnan(wanted)))
        if np.isfinite(got[off] * 4).all() and np.isfinite(wanted[off] * 4).all():
            return False
    return True


def compare(case, dq, peer, outputs, setting, answer):
    if answer.status:
        return "differ", f"{setting}: status {answer.status}: {answer.message}"
    text = unlike(case, answer.outputs, outputs)
    if not text:
        return "equal", ""
    if is_pool_of_infinity(case, answer.outputs, outputs):
        return "explained", "pools and Resize of NaN, infinity and numbers near it"
    kind, reason = first_reason(case, dq, peer, setting)
    return kind, f"{reason} ({text})" if kind == "differ" else reason


def same_bits(a, b):
    return a.status == b.status and all(x.tobytes() == y.tobytes() for x, y in zip(a.outputs, b.outputs))


def judge_with(dq, peers):
    def judge(case):
        answers = dq.run(case)
        if not same_bits(answers["1"], answers["2"]):
            return "differ", "1 and 2 threads differ"
        if answers["1"].status and answers["plain"].status:
            return "refused", "dq: " + answers["plain"].message.split(":")[-1].strip()
        reasons = []
        for peer in peers:
            done, outputs = peer.run(case.bytes, case.feeds)
            if done:
                break
            reasons.append(outputs)
        else:
            one, plain = answers["1"], answers["plain"]
            agree = one.status == plain.status and not unlike(case, one.outputs, plain.outputs)
            kind = "refused" if agree else "differ"
            return kind, "ONNX Runtime: " + reasons[0].split(":")[-1].strip()[:80]
        worst = ("equal", "")
        for setting in ("plain", "1"):
            kind, text = compare(case, dq, peer, outputs, setting, answers[setting])
            if kind == "differ":
                return kind, text
            worst = (kind, text) if kind != "equal" else worst
        return worst
    return judge


def main():
    options = common.arguments(__doc__.split("\n")[0])
    dq, peers = common.Dq(options.build), [common.Peer("onnxruntime"), common.Peer("evaluator")]
    try:
        return common.Campaign("random QDQ graphs", make_case, judge_with(dq, peers), options).run()
    finally:
        for process in (dq, *peers):
            process.close()


if __name__ == "__main__":
    sys.exit(main())
