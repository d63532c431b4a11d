"""Judges the outputs of dq on a float graph by ONNX Runtime, and by the reference evaluator where they differ.

A difference is explained by one of three things only:
- a node whose operator alone, on ONNX Runtime's own values, differs in a way that KNOWN names;
- ONNX Runtime answers otherwise, and as dq does, when it is asked for the values in between as well;
- rounding that the graph amplifies, which is tried: the same graph with every float value disturbed by some units of its
  rounding moves the outputs of ONNX Runtime or of dq as far, or every node gives in ONNX Runtime, on dq's own values,
  what it gives in dq.
"""
import re

import numpy as np, onnx
from onnx import helper, numpy_helper

from random_common import Case, Peer, distance, first_difference, largest
from random_known import KNOWN, no_depth

# Units of rounding of the largest element that an operator may differ by; the sum of a graph's nodes is allowed.
UNITS = {"Conv": 30, "ConvTranspose": 30, "Gemm": 30, "MatMul": 30, "Einsum": 30, "LayerNormalization": 60,
         "InstanceNormalization": 60, "GroupNormalization": 60, "BatchNormalization": 60, "LRN": 800, "GridSample": 60,
         "MeanVarianceNormalization": 60, "LpNormalization": 30, "RoiAlign": 60, "AffineGrid": 30, "Resize": 60,
         "Upsample": 60, "LpPool": 60, "GlobalLpPool": 60, "Pow": 30, "ReduceProd": 60, "Gelu": 60}
SUMS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "Einsum", "Add", "Sub", "Sum", "Mean", "BatchNormalization", "HardSigmoid",
        "LogSoftmax", "CumSum", "LayerNormalization", "GroupNormalization", "AveragePool", "GlobalAveragePool")
DISTURBED = 16  # units by which values are disturbed
FACTOR = 8      # an output may move by so many times what the disturbance moves it by


def units(node):
    return 0 if node.op_type == "Constant" else UNITS.get(node.op_type, 30 if node.op_type.startswith("Reduce") else 12)


def allowed(model):
    return sum(units(n) for n in model.graph.node)


def cancelled(node, values):
    """How many times larger the terms of a sum are than the sum: its rounding is that of the terms."""
    if node.op_type not in SUMS and not node.op_type.startswith("Reduce"):
        return 1
    terms = [largest(values[n]) for n in node.input if n and values[n].dtype.kind == "f"]
    return max(1, float(max(terms, default=0)) / max(float(largest(values[node.output[0]])), 1e-30))


def message_kind(text):
    """What a runtime says, without names and numbers."""
    text = re.sub(r"'[^']*'|\b[xyw]\d+\w*", "*", text.split("\n")[0])
    return re.sub(r"-?\d+(\.\d+)?", "#", text)[:110]


class Judge:
    def __init__(self, dq):
        self.dq, self.peer, self.evaluator = dq, Peer("onnxruntime"), Peer("evaluator")

    def __call__(self, case):
        answers = self.dq.run(case)
        problem = self.among_settings(answers)
        if problem:
            return "differ", problem
        by, (fine, expected) = "ONNX Runtime", self.peer.run(case.bytes, case.feeds)
        if not fine:
            reason = expected
            by, (fine, expected) = "evaluator", self.evaluator.run(case.bytes, case.feeds)
        answer = answers["1"]
        if answer.status == 4:
            return "refused", f"dq: {message_kind(answer.message)}"
        if not fine:
            return "refused", f"ONNX Runtime: {message_kind(reason)}"
        if by == "evaluator":  # it stands alone here and has errors of its own
            return self.by_evaluator(case, answer, expected, reason)
        if answer.status:
            return self.explain(case, f"status {answer.status}: {answer.message}", None)
        return self.compare(case, answers, expected)

    def by_evaluator(self, case, answer, expected, reason):
        same = not answer.status and not first_difference(answer.outputs, expected, case.names(), 10 * allowed(case.model))
        return ("equal", "") if same else ("refused", f"ONNX Runtime: {message_kind(reason)}")

    def among_settings(self, answers):
        one, two, plain = (answers[s] for s in ("1", "2", "plain"))
        if one.status != two.status or one.status in (1, 2, 5):
            return f"statuses {one.status} and {two.status} with 1 and 2 threads: {one.message or two.message}"
        if not all(a.tobytes() == b.tobytes() for a, b in zip(one.outputs, two.outputs)):
            return "1 and 2 threads give other bits"
        if one.status != plain.status:
            return f"status {one.status} fused, {plain.status} plain: {one.message or plain.message}"
        return None

    def compare(self, case, answers, expected):
        texts = {s: first_difference(answers[s].outputs, expected, case.names(), allowed(case.model)) for s in ("1", "plain")}
        text = texts["1"] or texts["plain"]
        if not text:
            return "equal", ""
        which = " and ".join(s for s in texts if texts[s])
        return self.explain(case, f"{which}: {text}", [answers[s].outputs for s in texts if texts[s]], expected)

    def explain(self, case, text, candidates, expected=None):
        found, named = self.nodes_that_differ(case), set()
        for node, arrays, why in found:
            name = next((n for n, fits in KNOWN if fits(node, arrays, why)), None)
            if not name:
                fine, second = self.evaluator.run(self.alone(case, node, arrays).bytes, self.alone(case, node, arrays).feeds)
                return "differ", f"{text}; {node.op_type} ({node.name}) alone: {why}; evaluator: {self.opinion(case, node, arrays, fine, second)}"
            named.add(name)
        if named:
            return "explained", sorted(named)[0]
        if candidates and all(self.is_another_answer(case, outputs) for outputs in candidates):
            return "explained", "another answer of ONNX Runtime where values in between are outputs"
        if candidates and all(self.is_amplified(case, outputs, expected) or self.agrees_by_node(case, outputs) for outputs in candidates):
            return "explained", "amplified rounding"
        return "differ", text

    def opinion(self, case, node, arrays, fine, second):
        if not fine:
            return f"none ({message_kind(str(second))})"
        single = self.alone(case, node, arrays)
        answer = self.dq.run(single, ("plain",))["plain"]
        return "as dq" if not answer.status and not first_difference(answer.outputs, second, single.names(), 10 * units(node)) else "not as dq"

    # ---- One node at a time ----

    def with_all_outputs(self, case):
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        known = {o.name for o in model.graph.output}
        for node in model.graph.node:
            model.graph.output.extend(onnx.ValueInfoProto(name=o) for o in node.output if o not in known)
        return Case(model, case.feeds)

    def all_values(self, case, outputs):
        values = {i.name: numpy_helper.to_array(i) for i in case.model.graph.initializer}
        values.update(case.feeds)
        values.update(zip((o.name for o in case.model.graph.output), outputs))
        return values

    def values(self, case):
        """All values of ONNX Runtime's run."""
        every = self.with_all_outputs(case)
        fine, outputs = self.peer.run(every.bytes, case.feeds)
        return self.all_values(every, outputs if fine else ())

    def values_of_dq(self, case):
        """All values of dq's plain run, None where it has none."""
        every = self.with_all_outputs(case)
        answer = self.dq.run(every, ("plain",))["plain"]
        return None if answer.status else self.all_values(every, answer.outputs)

    def alone(self, case, node, arrays):
        fixed = {i.name for i in case.model.graph.initializer} | {o for n in case.model.graph.node if n.op_type == "Constant" for o in n.output}
        names = list(dict.fromkeys(filter(None, node.input)))
        info = lambda n: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(arrays[n].dtype), arrays[n].shape)
        free = [n for n in names if n not in fixed]
        constants = [numpy_helper.from_array(arrays[n], n) for n in names if n in fixed]
        inputs = free + (names and case.model.ir_version < 4 and [n for n in names if n in fixed] or [])
        graph = helper.make_graph([node], "alone", [info(n) for n in inputs],
                                  [o for o in (self.output(case, node, k, arrays) for k in range(len(node.output)))], constants)
        return Case(helper.make_model(graph, opset_imports=case.model.opset_import, ir_version=case.model.ir_version), {n: arrays[n] for n in free})

    def output(self, case, node, k, arrays):
        name = node.output[k]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(arrays[name].dtype), None)

    def nodes_that_differ(self, case):
        """(node, values, what differs) of each node that differs alone on ONNX Runtime's values. Behind a value that
        has another shape in dq nodes may be refused; these are left out."""
        values, found, reshaped = self.values(case), [], set()
        for node in case.model.graph.node:
            if node.op_type == "Constant" or any(n not in values for n in (*filter(None, node.input), *node.output)):
                continue
            single = self.alone(case, node, values)
            answer = self.dq.run(single, ("plain",))["plain"]
            follows = reshaped.intersection(node.input)
            if follows or (not answer.status and any(g.shape != values[o].shape for g, o in zip(answer.outputs, node.output))):
                reshaped.update(node.output)
            why = self.difference(case, node, values, answer, single)
            if why and not (follows and answer.status):
                found.append((node, values, why))
        return found

    def difference(self, case, node, values, answer, single):
        """What differs at a node alone, None where nothing does; "alone as dq: " in front where ONNX Runtime's answer for
        the node alone is not that in the graph, but dq's."""
        if answer.status:
            return f"status {answer.status}: {answer.message}"
        bound = units(node) * cancelled(node, values)
        why = first_difference(answer.outputs, [values[o] for o in node.output], node.output, bound)
        if not why:  # by chance, where ONNX Runtime's answer is another each time
            return "another each time" if no_depth(node, values, why) else None
        fine, again = self.peer.run(single.bytes, single.feeds)
        as_dq = fine and not first_difference(answer.outputs, again, node.output, bound)
        return ("alone as dq: " if as_dq else "") + why

    # ---- The whole graph ----

    def is_another_answer(self, case, outputs):
        values = self.values(case)
        return all(n in values for n in case.names()) and \
            not first_difference(outputs, [values[n] for n in case.names()], case.names(), allowed(case.model))

    def agrees_by_node(self, case, outputs):
        values = self.values_of_dq(case)
        if not values or first_difference(outputs, [values[n] for n in case.names()], case.names(), allowed(case.model)):
            return False
        for node in case.model.graph.node:
            if node.op_type == "Constant":
                continue
            single = self.alone(case, node, values)
            fine, expected = self.peer.run(single.bytes, single.feeds)
            if not fine or first_difference([values[o] for o in node.output], expected, node.output, units(node) * cancelled(node, values)):
                return False
        return True

    def disturbed(self, case, random, absolute):
        """The model with a factor near 1 behind every float value, and its feeds; `absolute`: by units of the largest
        element of each value, in place of those of each element."""
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        values, nodes = self.values(case), []
        factors = lambda a: self.factors(a, random, absolute)
        noise = lambda a: np.asarray(a * factors(a), a.dtype)
        for initializer in model.graph.initializer:
            array = numpy_helper.to_array(initializer)
            if initializer.name[0] == "w" and array.dtype.kind == "f":
                initializer.CopyFrom(numpy_helper.from_array(noise(array), initializer.name))
        for node in model.graph.node:
            nodes.append(node)
            for k, name in enumerate(node.output):
                array = values.get(name)
                if node.op_type in ("Constant", "Unique") or array is None or array.dtype.kind != "f":
                    continue  # how many elements Unique has depends on the disturbance in front of it
                node.output[k], factor = name + "_before", numpy_helper.from_array(factors(array), name + "_factor")
                nodes.append(helper.make_node("Mul", [node.output[k], factor.name], [name]))
                model.graph.initializer.append(factor)
                if model.ir_version < 4:
                    model.graph.input.append(helper.make_tensor_value_info(factor.name, factor.data_type, factor.dims))
        del model.graph.node[:]
        model.graph.node.extend(nodes)
        return model.SerializeToString(), {n: noise(a) if a.dtype.kind == "f" else a for n, a in case.feeds.items()}

    def factors(self, array, random, absolute):
        size = np.abs(array.astype(np.float64)) if absolute else np.ones(array.shape)
        steps = np.divide(largest(array) if absolute else 1, size, out=np.zeros(array.shape), where=np.isfinite(size) & (size > 0))
        steps = np.minimum(steps * DISTURBED * np.finfo(array.dtype).eps, 1)
        return np.asarray(1 + random.uniform(-1, 1, array.shape) * steps, array.dtype)

    def is_amplified(self, case, outputs, expected):
        random, least = np.random.default_rng(0), allowed(case.model)
        moved = [0.0] * len(expected)
        own = self.dq.run(case, ("plain",))["plain"].outputs
        for k in range(6):
            model, feeds = self.disturbed(case, random, k % 2)
            fine, others = self.peer.run(model, feeds)  # not fine where shapes that it infers are wrong
            answer = self.dq.run(Case(onnx.load_from_string(model), feeds), ("plain",))["plain"]
            if not fine and answer.status:
                return False
            runs = [(others, expected)] * fine + [(answer.outputs, own)] * (not answer.status)
            moved = [max(m, *(distance(o[i], e[i]) for o, e in runs)) for i, m in enumerate(moved)]
        return all(distance(g, e) <= max(FACTOR * m, least if g.dtype.kind == "f" else 0) for g, e, m in zip(outputs, expected, moved))
