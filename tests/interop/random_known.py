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


def nearly_constant(x, axes):
    """A variance from sums of x and of x * x loses (largest / deviation)^2 units of rounding."""
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        return bool((x.std(axes) <= 0.1 * np.abs(x).max(axes)).any()) if x.size else False


def constant_plane(node, values, why):
    x = first(node, values)
    if node.op_type == "GroupNormalization":
        x = x.reshape(x.shape[0], attribute(node, "num_groups"), -1)
    return node.op_type in ("InstanceNormalization", "GroupNormalization") and nearly_constant(x, tuple(range(2, x.ndim)))


def constant_part(node, values, why):
    if node.op_type != "MeanVarianceNormalization":
        return False
    return nearly_constant(first(node, values), tuple(attribute(node, "axes", [0, 2, 3])))


def tiny_squares(node, values, why):
    """The squares of some elements are not normal numbers, or 0."""
    if node.op_type not in ("MeanVarianceNormalization", "LpNormalization"):
        return False
    x = np.abs(first(node, values))
    return bool(((x > 0) & (x < np.sqrt(np.finfo(x.dtype).tiny))).any())


def small_exponent(node, values, why):
    """exp(x) - 1, computed so, cancels near 0."""
    x = np.abs(first(node, values).astype(np.float64))
    return node.op_type in ("Celu", "Elu", "Selu") and bool(((x > 0) & (x < 0.1)).any())


def carried_sum(node, values, why):
    """The sum of squares is carried from channel to channel, and keeps the rounding of the largest."""
    if node.op_type != "LRN":
        return False
    square = np.square(np.abs(first(node, values).astype(np.float64)).max(initial=0))
    return attribute(node, "alpha", 1e-4) / attribute(node, "size") * square > 100 * attribute(node, "bias", 1.0)


def product_in_between(node, values, why):
    """A product of some elements passes the largest float, or the smallest, that of all does not."""
    x = np.abs(first(node, values).astype(np.float64))
    with np.errstate(all="ignore"):
        logs = np.log2(x[(x > 0) & np.isfinite(x)])
    return node.op_type == "ReduceProd" and max(logs[logs > 0].sum(), -logs[logs < 0].sum()) > 126


def kept_wide(node, values, why):
    """Between operators without a kernel for float16, values stay float32. The judge tells: ONNX Runtime itself gives what
    dq gives when the node is alone with the values of the graph."""
    return why.startswith("alone as dq: ") and any(n and values[n].dtype == np.float16 for n in (*node.input, *node.output))


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
    return node.op_type in ("ReduceProd", "ReduceSumSquare", "ReduceL2") and first(node, values).dtype.kind == "i"


def small_sigmoid(node, values, why):
    """ONNX Runtime's is off by 1e-8 everywhere, and 0 below -18."""
    return node.op_type in ("Sigmoid", "Swish") and first(node, values).dtype == np.float32 and values[node.output[0]].max() < 0.1


def symmetric(node, values, why):
    return node.op_type == "Resize" and attribute(node, "coordinate_transformation_mode") == "half_pixel_symmetric" and \
        attribute(node, "mode") == "nearest"


def cancelled_sum(node, values, why):
    """The logarithm of a sum that is small beside the sum of the absolute values."""
    if node.op_type != "ReduceLogSum":
        return False
    x, y = first(node, values), values[node.output[0]].astype(np.float64)
    axes = attribute(node, "axes", [int(a) for n in node.input[1:] if n for a in values[n]]) or range(x.ndim)
    with np.errstate(all="ignore"):
        total = np.abs(x.astype(np.float64)).sum(axis=tuple(axes))
        return total.size == y.size and bool((np.exp(y.ravel()) < 1e-2 * total.ravel()).any())


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
    ("logarithm of a sum that cancels", cancelled_sum),
    ("NaN or infinity in windows", odd_elements("LRN", "RoiAlign", "GridSample", "Resize", "Upsample", "LpPool",
                                                "AveragePool", "ConvTranspose", "Conv")),
    ("NaN or infinity to integers", lambda *row: odd_elements("DynamicQuantizeLinear", "QuantizeLinear", "Cast")(*row)),
    ("float beyond the integer in Cast", beyond_integers),
    ("MeanVarianceNormalization of constants", constant_part),
    ("InstanceNormalization or GroupNormalization of constants", constant_plane),
    ("squares below the smallest float", tiny_squares),
    ("exponential less 1 near 0", small_exponent),
    ("LRN carries its sum from channel to channel", carried_sum),
    ("overflow of a product in between", product_in_between),
    ("float16 kept as float32 between operators", kept_wide),
    ("AffineGrid with align_corners of one point", one_point),
    ("reduction of nothing", empty_reduction),
    ("integer product over nothing", no_depth),
    ("automatic padding with dilations in a pool", dilated_same),
    ("auto_pad VALID with ceil_mode in a pool", valid_ceil),
    ("negative automatic padding", same_wide_stride),
    ("align_corners with a scale that makes no whole length", corners_of_scales),
    ("Resize that keeps the size copies", same_size_copied),
    ("overflow of float32 in between", huge),
    ("overflow of integers in a reduction", product_of_integers),
    ("Shrink of float64 through float32", double("Shrink")),
    ("refused: window larger than its padded input", refused("more than the", "Conv", *POOLS)),
    ("refused: a size of 0", refused("has size 0", "ConvTranspose", "Conv", *POOLS)),
    ("refused: no channels", refused("must be above 0", "Conv", "ConvTranspose")),
    ("refused: a condition longer than its axis", refused("the condition is no vector", "Compress")),
    ("refused: the largest of nothing", refused("nothing to choose", "ArgMax", "ArgMin")),
]
