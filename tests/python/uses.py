"""What type checkers see of the module."""
import numpy

import dq

pictures = numpy.zeros((4, 3, 8, 8), dtype=numpy.float32)
model = dq.load("model.onnx", threads=1, progress=lambda what, done, total: print(what, done / total))
facts = model.int8(pictures, percentile=99.9, sums="pairs", exclude=["head"], limit=3)
model.tucker([{"x": pictures[0]}], macs=0.75)
with model.network(batch=2) as network:
    answers = network.run({"x": pictures[:2]})
    print(network.outputs[0].shape, answers["y"].sum(), facts["quantized"])
try:
    model.amp(check="pictures/", preset="imagenet")
except dq.ConditionError as error:
    print(error.status, error.hint, error.facts)
