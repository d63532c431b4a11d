"""Known deviations of ONNX Runtime 1.32 from the text of ONNX, or forms that dq refuses, by name.

A row has a name and a test of (node, values by name, what differs). A node is tested only where it differs alone, on the
values of ONNX Runtime, so a row cannot hide what another operator does.
"""
import numpy as np


def attribute(node, name, otherwise=None):
    found = next((a for a in node.attribute if a.name == name), None)
    if found is None:
        return otherwise
    return {1: lambda: found.f, 2: lambda: found.i, 3: lambda: found.s.decode(), 6: lambda: list(found.floats),
            7: lambda: list(found.ints)}[found.type]()


def first(node, values):
    return values[node.input[0]]


def not_finite(node, values):
    return any(n and values[n].dtype.kind == "f" and not np.isfinite(values[n]).all() for n in node.input)


def one_of(*op_types):
    return lambda node, values, why: node.op_type in op_types


def odd_elements(*op_types):
    return lambda node, values, why: node.op_type in op_types and not_finite(node, values)


def beyond_integers(node, values, why):
    return node.op_type == "Cast" and first(node, values).dtype.kind == "f" and attribute(node, "to") not in (1, 9, 10, 11)


def nearly_constant(node, values, axes):
    x = first(node, values).astype(np.float64)
    with np.errstate(all="ignore"):
        return bool((x.std(axes) <= 1e-3 * np.abs(x).max(axes)).any()) if x.size else False


def constant_plane(node, values, why):
    x = first(node, values)
    return node.op_type == "InstanceNormalization" and nearly_constant(node, values, tuple(range(2, x.ndim)))


def constant_part(node, values, why):
    if node.op_type != "MeanVarianceNormalization":
        return False
    return nearly_constant(node, values, tuple(attribute(node, "axes", [0, 2, 3])))


def one_point(node, values, why):
    return node.op_type == "AffineGrid" and attribute(node, "align_corners", 0) == 1 and 1 in values[node.input[1]][2:]


def dilated_same(node, values, why):
    return node.op_type in POOLS and attribute(node, "auto_pad", "").startswith("SAME") and \
        any(d != 1 for d in attribute(node, "dilations", []))


def same_wide_stride(node, values, why):
    """Automatic padding would be negative where the stride passes the kernel; dq pads 0."""
    if node.op_type not in ("Conv", *POOLS):
        return False
    sizes = first(node, values).shape[2:]
    kernel = attribute(node, "kernel_shape") or list(values[node.input[1]].shape[2:])
    strides = attribute(node, "strides", [1] * len(sizes))
    return attribute(node, "auto_pad", "").startswith("SAME") and any(s > k for s, k in zip(strides, kernel))


def valid_ceil(node, values, why):
    return node.op_type in POOLS and attribute(node, "auto_pad") == "VALID" and attribute(node, "ceil_mode", 0) == 1


def corners_of_scales(node, values, why):
    """dq takes the length that a scale gives before it is rounded down, as the evaluator does."""
    return node.op_type == "Resize" and len(node.input) == 3 and attribute(node, "coordinate_transformation_mode") == "align_corners"


def same_size_copied(node, values, why):
    """ONNX Runtime copies the input where no size changes, although the scales move its elements."""
    if node.op_type not in ("Resize", "Upsample") or len(node.input) == 4:
        return False
    return first(node, values).shape == values[node.output[0]].shape


def huge(node, values, why):
    return any(n and values[n].dtype.kind == "f" and (np.abs(values[n].astype(np.float64)) > 1e18).any() for n in node.input)


def product_of_integers(node, values, why):
    """Products beyond int32 wrap around; ONNX Runtime takes another path."""
    return node.op_type == "ReduceProd" and first(node, values).dtype.kind == "i"


def small_sigmoid(node, values, why):
    """ONNX Runtime's is off by 1e-8 everywhere, and 0 below -18."""
    return node.op_type == "Sigmoid" and first(node, values).dtype == np.float32 and values[node.output[0]].max() < 0.1


def symmetric(node, values, why):
    return node.op_type == "Resize" and attribute(node, "coordinate_transformation_mode") == "half_pixel_symmetric" and \
        attribute(node, "mode") == "nearest"


def next_to_one(node, values, why):
    return node.op_type in ("ReduceLogSum", "ReduceLogSumExp") and bool((np.abs(values[node.output[0]]) < 1e-6).any())


def no_depth(node, values, why):
    """ONNX Runtime leaves the result as it finds the memory; it is 0."""
    return node.op_type == "MatMulInteger" and first(node, values).shape[-1] == 0


def empty_reduction(node, values, why):
    return node.op_type.startswith("Reduce") and 0 in first(node, values).shape


def double(op_type):
    return lambda node, values, why: node.op_type == op_type and first(node, values).dtype == np.float64


def refused(text, *op_types):
    return lambda node, values, why: node.op_type in op_types and why.startswith("status") and text in why


POOLS = ("AveragePool", "LpPool", "MaxPool")
KNOWN = [
    ("NaN or infinity in a maximum", odd_elements("MaxPool", "GlobalMaxPool", "ScatterElements", "ScatterND", "Hardmax", "ArgMax", "ArgMin", "TopK",
                                                  "Max", "Min", "ReduceMax", "ReduceMin")),
    ("infinity in Clip without a bound", odd_elements("Clip")),
    ("NaN in Unique", odd_elements("Unique")),
    ("NaN in Sign, LpNormalization or LogSoftmax", odd_elements("Sign", "LpNormalization", "LogSoftmax", "LRN")),
    ("Sigmoid of small results", small_sigmoid),
    ("half_pixel_symmetric in another order of rounding", symmetric),
    ("Gelu of float64 through float32", double("Gelu")),
    ("HardSwish of float64 through float32", double("HardSwish")),
    ("logarithm of a sum next to 1", next_to_one),
    ("NaN or infinity in windows", odd_elements("LRN", "RoiAlign", "GridSample", "Resize", "Upsample", "LpPool",
                                                "AveragePool", "ConvTranspose", "Conv")),
    ("NaN or infinity to integers", lambda *row: odd_elements("DynamicQuantizeLinear", "QuantizeLinear", "Cast")(*row)),
    ("float beyond the integer in Cast", beyond_integers),
    ("MeanVarianceNormalization of constants", constant_part),
    ("InstanceNormalization of constants", constant_plane),
    ("AffineGrid with align_corners of one point", one_point),
    ("reduction of nothing", empty_reduction),
    ("integer product over nothing", no_depth),
    ("automatic padding with dilations in a pool", dilated_same),
    ("auto_pad VALID with ceil_mode in a pool", valid_ceil),
    ("negative automatic padding", same_wide_stride),
    ("align_corners with a scale that makes no whole length", corners_of_scales),
    ("Resize that keeps the size copies", same_size_copied),
    ("overflow of float32 in between", huge),
    ("overflow of integers in ReduceProd", product_of_integers),
    ("Shrink of float64 through float32", double("Shrink")),
    ("refused: window larger than its padded input", refused("more than the", "Conv", *POOLS)),
    ("refused: a size of 0", refused("has size 0", "ConvTranspose", "Conv", *POOLS)),
    ("refused: no channels", refused("must be above 0", "Conv", "ConvTranspose")),
    ("refused: the largest of nothing", refused("nothing to choose", "ArgMax", "ArgMin")),
]
