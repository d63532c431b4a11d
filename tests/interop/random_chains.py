"""Chains of one to three conversions of random float graphs: each file loads and has dq's own outputs in ONNX Runtime.

usage: random_chains.py BUILD [--count N] [--seed S] [--seconds T] [--keep FOLDER]
"""
import os, sys, tempfile

import numpy as np, onnx

from random_common import Campaign, Case, Dq, Peer, arguments, first_difference
from random_graphs import make_case
from random_judge import Judge, message_kind
from random_movers import OPERATORS

CHAINS = (("amp",), ("int8",), ("tucker",), ("tucker", "int8"), ("tucker", "amp"), ("int8", "amp"), ("tucker", "int8", "amp"))
WORDS = {"amp": ("", " half_io=1", " unguarded=1"), "int8": (" minmax=1", " minmax=1 all_int8=1", " per_tensor=1 minmax=1"),
         "tucker": (" ratio=0.5 force=1", " ratio=1 force=1 matrices=1", " energy=0.9")}
STATUSES = (0, 1, 4)


class Chains:
    def __init__(self, dq):
        self.dq, self.judge, self.peer, self.folder = dq, Judge(dq), Peer("onnxruntime"), tempfile.mkdtemp()

    def data(self, case):
        """A specification of four samples for the one float input with a first dimension of 1; None: there is none."""
        if len(case.feeds) != 1:
            return None
        name, array = next(iter(case.feeds.items()))
        if array.dtype != np.float32 or array.ndim < 2 or array.shape[0] != 1 or not array.size:
            return None
        path = os.path.join(self.folder, "data.npy")
        np.save(path, np.concatenate([array * s for s in np.float32([1, 0.5, -1, 0.8])]))
        return f"npy:{path}"

    def step(self, verb, words, model, data):
        out = os.path.join(self.folder, f"{verb}.onnx")
        if os.path.exists(out):
            os.remove(out)
        answer = self.dq.ask([f"{verb} {out}{words}{f' data={data}' if verb == 'int8' else ''}"], model)[0]
        if answer.status in (0, 1) and not os.path.exists(out):
            return answer._replace(status=-1, message="no file"), None
        return answer, open(out, "rb").read() if os.path.exists(out) else None

    def is_refused(self, case, message):
        """Whether status 3 is right: a weight is NaN or infinite, or dq does not run the graph itself."""
        if "expected finite" in message or message.lower().endswith((" infinite", "inf", "nan")):
            return True
        return self.dq.run(case, ("plain",))["plain"].status == 3

    def compare(self, case, model):
        """Why the outputs of a written file differ in dq and ONNX Runtime; None: they agree."""
        written = onnx.load_from_string(model)
        halves = {i.name for i in written.graph.input if i.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
        with np.errstate(all="ignore"):
            feeds = {n: a.astype(np.float16) if n in halves else a for n, a in case.feeds.items()}
        result = self.judge(Case(written, feeds))
        return result if result[0] == "differ" else None

    def __call__(self, case):
        random = np.random.default_rng(len(case.bytes))
        chain, data, model = CHAINS[random.integers(len(CHAINS))], self.data(case), case.bytes
        if not self.peer.run(model, case.feeds)[0]:
            return "refused", "ONNX Runtime: the graph itself"
        if data is None and "int8" in chain:
            chain = tuple(v for v in chain if v != "int8") or ("amp",)
        for k, verb in enumerate(chain):
            words = WORDS[verb][random.integers(len(WORDS[verb]))]
            answer, written = self.step(verb, words, model, data)
            place = " ".join(chain[:k + 1]) + words
            if answer.status == 3 and self.is_refused(case, answer.message):
                return "refused", f"{verb}: {message_kind(answer.message)}"
            if answer.status not in STATUSES:
                return "differ", f"{place}: status {answer.status}: {answer.message}"
            if answer.status == 4:
                return "refused", f"{verb}: {message_kind(answer.message)}"
            fine, why = self.peer.run(written, case.feeds) if " half_io" not in place else (True, "")
            if not fine and "Unexpected input data type" not in why:
                return "differ", f"{place}: ONNX Runtime: {why[:200]}"
            problem = self.compare(case, written)
            if problem:
                return "differ", f"{place}: {problem[1]}"
            model = written
        return "equal", ""


if __name__ == "__main__":
    options = arguments(__doc__.splitlines()[0])
    sys.exit(Campaign("chains of conversions", lambda rng: make_case(rng, OPERATORS), Chains(Dq(options.build)), options).run())
