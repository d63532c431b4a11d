"""Random float graphs of 1 to 10 nodes: opsets 7 to 27, ranks 0 to 5, sizes from 0, odd attributes, many types.

Graph knows type and shape of every value, so that each node is made to fit; the operators are the functions of
random_operators.py. A node that ONNX's own shape inference refuses is left out.
"""
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from random_common import Case, Choices

FLOATS = (np.float32, np.float16, np.float64)
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
ANY = FLOATS + INTEGERS + (np.bool_,)
SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
MOST_ELEMENTS = 3000
# The IR version of the release that brought an opset; files of ONNX Runtime 1.32 go up to 13.
IR = {8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 11,
      24: 12, 25: 13, 26: 13, 27: 13}


def tensor_type(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Value:
    def __init__(self, name, dtype, shape):
        self.name, self.dtype, self.shape = name, np.dtype(dtype), tuple(shape)

    rank = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape, dtype=np.int64)))


class Graph(Choices):
    def __init__(self, rng, opset):
        self.rng, self.opset = rng, opset
        self.nodes, self.constants, self.feeds, self.values, self.open, self.count = [], {}, {}, {}, {}, 0
        self.odd = self.chance(0.03)  # NaN and infinity among the elements
        self.plain = self.chance(0.8)  # float32 nearly everywhere

    # ---- Random choices ----

    def real(self, low, high):
        return float(np.float32(self.rng.uniform(low, high)))

    def some(self, sequence):
        sequence = list(sequence)
        return [sequence[i] for i in sorted(self.rng.permutation(len(sequence))[:self.integer(0, len(sequence))])]

    def axis(self, value, below=None):
        axis = self.integer(0, max(value.rank - 1, 0))
        return axis - value.rank if self.chance(0.3) and self.opset >= 11 and value.rank else axis

    def shape(self, rank):
        shape = [self.pick(*SIZES) for _ in range(rank)]
        while np.prod(shape, dtype=np.int64) > MOST_ELEMENTS:
            shape[self.integer(0, rank - 1)] = 1
        if rank and self.chance(0.02):
            shape[self.integer(0, rank - 1)] = 0
        return shape

    # ---- Values ----

    def array(self, dtype, shape, low=None, high=None):
        return np.asarray(self.elements(np.dtype(dtype), shape, low, high), dtype)

    def elements(self, dtype, shape, low, high):
        rng = self.rng
        if low is not None:
            return rng.uniform(low, high, shape) if dtype.kind == "f" else rng.integers(low, high + 1, shape)
        if dtype == np.bool_:
            return rng.random(shape) < 0.5
        if dtype.kind != "f":
            return rng.integers(0 if dtype.kind == "u" else -6, 7, shape)
        kind = self.integer(0, 9)
        array = np.asarray(rng.integers(-4, 5, shape) / 2.0 if kind == 0 else rng.standard_normal(shape) * (10 if kind == 1 else 1))
        if self.odd and array.size:
            array.flat[rng.integers(array.size)] = self.pick(np.nan, np.inf, -np.inf, -0.0)
        return array

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def constant(self, array, prefix="p"):
        """A parameter; its name begins with "w" where it is data that may be disturbed."""
        array = np.asarray(array)
        name = self.name(prefix)
        if self.chance(0.15):
            self.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name)))
        self.constants[name] = array
        return Value(name, array.dtype, array.shape)

    def weight(self, *shape, dtype=np.float32, low=None, high=None):
        return self.constant(self.array(dtype, shape, low, high), "w")

    def input(self, dtype, shape, low=None, high=None):
        name = self.name("x")
        self.feeds[name] = self.array(dtype, shape, low, high)
        self.values[name] = Value(name, dtype, shape)
        return self.values[name]

    def float_type(self):
        return np.float32 if self.plain or self.chance(0.6) else self.pick(np.float16, np.float64)

    def value(self, dtypes=None, low=0, high=5, shape=None):
        """A value of one of the types with a rank from low to high (or of this shape): one that there is, or a new one."""
        fits = [v for v in self.values.values() if (dtypes is None or v.dtype in map(np.dtype, dtypes)) and
                low <= v.rank <= high and (shape is None or v.shape == tuple(shape)) and (dtypes or v.dtype.kind == "f")]
        if fits and self.chance(0.85):
            return fits[max(self.integer(0, len(fits) - 1), self.integer(0, len(fits) - 1))]
        dtype = self.float_type() if dtypes is None or (np.float32 in dtypes and self.chance(0.7)) else self.pick(*dtypes)
        if dtypes is not None and dtype not in dtypes:
            dtype = self.pick(*dtypes)
        shape = self.shape(self.integer(low, high)) if shape is None else shape
        return self.weight(*shape, dtype=dtype) if self.chance(0.2) else self.input(dtype, shape)

    def partner(self, value, dtypes=None):
        """A value of the same type whose shape broadcasts with that of `value`."""
        shape = [1 if self.chance(0.3) else d for d in value.shape][self.integer(0, value.rank) if self.chance(0.3) else 0:]
        return self.value((value.dtype.type,), shape=shape)

    # ---- Nodes ----

    def infer(self, node):
        schema = onnx.defs.get_schema(node.op_type, self.opset, "")
        known = {v.name: v for v in self.values.values()}
        types = {}
        for name in filter(None, node.input):
            value = known.get(name) or Value(name, self.constants[name].dtype, self.constants[name].shape)
            types[name] = helper.make_tensor_type_proto(tensor_type(value.dtype), value.shape)
        data = {n: numpy_helper.from_array(self.constants[n], n) for n in node.input if n in self.constants}
        return shape_inference.infer_node_outputs(
            schema, node, types, data, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10)

    def add(self, op_type, inputs, outputs=1, **attributes):
        """The outputs, or None where the node is not valid. Inputs are values, arrays (parameters) or None."""
        inputs = [i if isinstance(i, Value) or i is None else self.constant(i) for i in inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        names = [self.name("y") for _ in range(outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        node = helper.make_node(op_type, [i.name if i else "" for i in inputs], names, name=names[0] + op_type, **attributes)
        try:
            types = self.infer(node)
        except Exception:
            return None
        results = []
        for name in names:
            tensor = types[name].tensor_type if name in types else None
            if tensor is None or not tensor.elem_type:
                return None
            dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim] if tensor.HasField("shape") else [-1]
            if np.prod([max(d, 1) for d in dims]) > 4 * MOST_ELEMENTS or min(dims, default=0) < -1:
                return None
            if any(d.HasField("dim_value") and d.dim_value < 0 for d in tensor.shape.dim):
                return None
            results.append(Value(name, helper.tensor_dtype_to_np_dtype(tensor.elem_type), dims))
        self.nodes.append(node)
        for value in results:
            if -1 in value.shape:
                self.open[value.name] = value  # its shape depends on elements: it is an output and nothing reads it
            else:
                self.values[value.name] = value
        return None if any(v.name in self.open for v in results) else results

    # ---- The model ----

    def case(self):
        read = {i for n in self.nodes for i in n.input}
        produced = [o for n in self.nodes if n.op_type != "Constant" for o in n.output]
        outputs = [o for o in produced if o not in read or self.chance(0.15)]
        feeds = {n: a for n, a in self.feeds.items() if n in read}
        behind = {o for n in self.nodes for o in n.output}
        initializers = [numpy_helper.from_array(a, n) for n, a in self.constants.items() if n in read and n not in behind]
        inputs = [helper.make_tensor_value_info(n, tensor_type(a.dtype), a.shape) for n, a in feeds.items()]
        if self.opset < 9:  # IR version 3 lists initializers as inputs
            inputs += [helper.make_tensor_value_info(i.name, i.data_type, i.dims) for i in initializers]
        infos = [self.info(o) for o in outputs]
        graph = helper.make_graph([n for n in self.nodes if set(n.output) & (read | set(outputs)) or n.op_type != "Constant"],
                                  "random", inputs, infos, initializers)
        return Case(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                      ir_version=max(IR.get(self.opset, 3), 3)), feeds)

    def info(self, name):
        value = self.values.get(name) or self.open[name]
        return helper.make_tensor_value_info(name, tensor_type(value.dtype), None if name in self.open else value.shape)


def make_case(rng, operators, low=7, high=27):
    """A case of 1 to 10 nodes of the operators: [(first opset, function of the graph)]."""
    opset = int(rng.integers(low, high + 1)) if rng.random() < 0.7 else int(rng.integers(max(low, 11), min(high, 21) + 1))
    while True:
        graph = Graph(rng, opset)
        wanted = graph.integer(1, 10)
        fitting = [make for since, make in operators if since <= opset]
        for _ in range(3 * wanted):
            if sum(n.op_type != "Constant" for n in graph.nodes) >= wanted:
                break
            graph.pick(*fitting)(graph)
        if any(n.op_type != "Constant" for n in graph.nodes):
            return graph.case()
