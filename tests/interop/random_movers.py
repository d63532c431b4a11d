"""Operators of random graphs that move or make elements, or resize images: rows of random_operators.OPERATORS."""
import numpy as np

from random_graphs import ANY, FLOATS
from random_operators import F32, I32, OPERATORS, ints, operator

# ---- What moves elements ----

@operator(7, 2)
def transpose(g):
    a = g.value(ANY)
    g.add("Transpose", [a], perm=[int(p) for p in g.rng.permutation(a.rank)] if a.rank and g.chance(0.8) else None)


@operator(7, 2)
def reshape(g):
    a = g.value(ANY)
    factors, left = [], a.size
    for n in (2, 3, 4, 5, 7):
        if left and left % n == 0 and g.chance(0.5) and len(factors) < 4:
            factors.append(n)
            left //= n
    shape = [int(d) for d in g.rng.permutation(factors + [left])] if g.chance(0.9) or a.size != 1 else []
    if shape and a.size and g.chance(0.4):
        shape[g.integer(0, len(shape) - 1)] = -1
    g.add("Reshape", [a, ints(*shape)])


@operator()
def flatten(g):
    a = g.value(FLOATS if g.opset < 9 else ANY)
    g.add("Flatten", [a], axis=g.integer(-a.rank if g.opset >= 11 else 0, a.rank))


def with_axes(g, name, a, axes):
    if g.opset < 13:
        g.add(name, [a], axes=axes)
    else:
        g.add(name, [a, None if axes is None else ints(*axes)])


@operator()
def squeeze(g):
    a = g.value(ANY)
    ones = [i for i, d in enumerate(a.shape) if d == 1]
    with_axes(g, "Squeeze", a, g.some(ones) or None)


@operator()
def unsqueeze(g):
    a = g.value(ANY, 0, 3)
    rank = a.rank + g.integer(1, 2)
    axes = [int(x) for x in g.rng.permutation(rank)[:rank - a.rank]]
    with_axes(g, "Unsqueeze", a, sorted(axes) if g.opset < 13 else axes)


@operator(7, 2)
def concat(g):
    a = g.value(ANY, 1)
    axis = g.axis(a)
    others = []
    for _ in range(g.integer(0, 3)):
        shape = list(a.shape)
        shape[axis] = g.pick(shape[axis], 1, 2)
        others.append(g.value((a.dtype.type,), shape=shape))
    parts = [a] + others
    g.add("Concat", [parts[i] for i in g.rng.permutation(len(parts))], axis=axis)


@operator(7, 2)
def split(g):
    a = g.value(ANY, 1)
    axis = g.axis(a)
    size, parts = a.shape[axis], g.integer(1, 3)
    cuts = sorted(g.integer(0, size) for _ in range(parts - 1))
    sizes = [int(d) for d in np.diff([0] + cuts + [size])]
    if g.chance(0.3) and (size % parts == 0 or g.opset >= 18):
        g.add("Split", [a], outputs=parts, axis=axis, num_outputs=parts if g.opset >= 18 else None)
    elif g.opset < 13:
        g.add("Split", [a], outputs=parts, axis=axis, split=sizes)
    else:
        g.add("Split", [a, ints(*sizes)], outputs=parts, axis=axis)


@operator(7, 2)
def slices(g):
    a = g.value(FLOATS if g.opset < 10 else ANY, 1)
    axes = g.some(range(a.rank)) or [0]
    steps = [g.pick(1, 1, 2, -1, -2) if g.opset >= 10 else 1 for _ in axes]
    size = [a.shape[x] for x in axes]
    starts = [g.pick(0, g.integer(-s - 2, s + 1), -1 if t < 0 else 0) for s, t in zip(size, steps)]
    ends = [g.pick(g.integer(-s - 2, s + 2), 2**31 - 1 if t > 0 else -2**31) for s, t in zip(size, steps)]
    if g.opset < 10:
        g.add("Slice", [a], axes=axes, starts=starts, ends=ends)
    else:
        dtype = g.pick(np.int32, np.int64)
        words = [np.array(w, dtype) for w in (starts, ends, axes)]
        g.add("Slice", [a, *words, np.array(steps, dtype) if any(s != 1 for s in steps) or g.chance(0.3) else None])


@operator(8)
def expand(g):
    a = g.value(ANY, 0, 4)
    shape = [g.pick(1, d) if d != 1 else g.pick(1, 2, 3) for d in a.shape]
    g.add("Expand", [a, ints(*([g.pick(1, 2)] * g.integer(0, 1) + shape))])


@operator()
def tile(g):
    a = g.value(FLOATS + I32)
    g.add("Tile", [a, ints(*[g.pick(1, 1, 2, 3, 0 if g.chance(0.1) else 1) for _ in a.shape])])


@operator(7, 2)
def pad(g):
    a = g.value(FLOATS if g.opset < 13 else FLOATS + I32, 1)
    mode = g.pick(None, "constant", "reflect", "edge", "wrap" if g.opset >= 19 else "constant")
    pads = [g.integer(-1 if g.chance(0.1) else 0, max(0, min(2, s - 1))) for s in a.shape * 2]
    value = g.pick(None, 0.0, 1.5, -2.0, -np.inf, -3.4028235e38) if a.dtype == np.float32 else g.pick(None, 0, 1)
    if g.opset < 11:
        g.add("Pad", [a], pads=pads, mode=mode, value=None if value is None else float(value))
    elif g.opset >= 18 and g.chance(0.2):
        axes = g.some(range(a.rank)) or [0]
        g.add("Pad", [a, ints(*[pads[x] for x in axes * 2]), None, ints(*axes)], mode=mode)
    else:
        g.add("Pad", [a, ints(*pads), None if value is None else np.asarray(value, a.dtype)], mode=mode)


@operator(7, 2)
def gather(g):
    a = g.value(ANY, 1)
    axis = g.axis(a)
    size = a.shape[axis]
    if size:
        low = -size if g.opset >= 11 else 0
        g.add("Gather", [a, g.constant(g.array(g.pick(*I32), g.shape(g.integer(0, 2)), low, size - 1))], axis=axis)


@operator(11)
def gather_elements(g):
    a = g.value(ANY, 1, 4)
    axis = g.axis(a)
    if a.size:
        shape = [g.integer(1, d) for d in a.shape]
        g.add("GatherElements", [a, g.constant(g.array(g.pick(*I32), shape, -a.shape[axis], a.shape[axis] - 1))], axis=axis)


def tuples(g, a, depth, shape):
    return np.stack([g.array(np.int64, shape, -d, d - 1) for d in a.shape[:depth]], -1)


@operator(11)
def gather_nd(g):
    a = g.value(ANY, 1, 4)
    if a.size:
        g.add("GatherND", [a, g.constant(tuples(g, a, g.integer(1, a.rank), g.shape(g.integer(0, 2))))])


@operator(11)
def scatter_nd(g):
    a = g.value(F32, 1, 4)
    if a.size:
        depth, count = g.integer(1, a.rank), g.integer(1, 3)
        places = g.rng.permutation(int(np.prod(a.shape[:depth])))[:count]
        index = np.stack(np.unravel_index(places, a.shape[:depth]), -1).astype(np.int64)
        g.add("ScatterND", [a, index, g.weight(len(places), *a.shape[depth:])],
              reduction=g.pick(None, "none", "add", "mul", *(["max", "min"] * (g.opset >= 18))) if g.opset >= 16 else None)


@operator(11)
def scatter_elements(g):
    a = g.value(F32, 1, 4)
    axis = g.axis(a)
    if a.size:
        shape = [g.integer(1, d) for d in a.shape]
        shape[axis] = 1
        index = g.array(np.int64, shape, -a.shape[axis], a.shape[axis] - 1)
        g.add("ScatterElements", [a, index, g.weight(*shape)], axis=axis,
              reduction=g.pick(None, "none", "add", "mul", *(["max", "min"] * (g.opset >= 18))) if g.opset >= 16 else None)


@operator(11)
def depth_to_space(g):
    x = g.value(F32, 4, 4)
    block = g.pick(1, 2)
    if x.shape[1] % (block * block) == 0:
        g.add("DepthToSpace", [x], blocksize=block, mode=g.pick(None, "DCR", "CRD"))


@operator()
def space_to_depth(g):
    x = g.value(F32, 4, 4)
    block = g.pick(1, 2)
    if x.shape[2] % block == x.shape[3] % block == 0:
        g.add("SpaceToDepth", [x], blocksize=block)


@operator(14)
def trilu(g):
    g.add("Trilu", [g.value(FLOATS + I32, 2, 4), np.asarray(g.integer(-3, 3), np.int64) if g.chance(0.6) else None], upper=g.pick(None, 0, 1))


@operator(10)
def reverse_sequence(g):
    a = g.value(F32, 2, 4)
    batch = g.pick(0, 1)
    if a.size:
        lengths = g.array(np.int64, [a.shape[batch]], 1, a.shape[1 - batch])
        g.add("ReverseSequence", [a, lengths], batch_axis=batch, time_axis=1 - batch)


@operator(18)
def center_crop_pad(g):
    a = g.value(F32, 1, 4)
    axes = g.some(range(a.rank)) or [0]
    g.add("CenterCropPad", [a, ints(*[g.integer(1, 8) for _ in axes])], axes=axes)


@operator(18)
def col2im(g):
    channels, kernel, size = g.integer(1, 3), (2, 2), (g.integer(2, 5), g.integer(2, 5))
    blocks = (size[0] - 1) * (size[1] - 1)
    g.add("Col2Im", [g.value(F32, shape=(1, channels * 4, blocks)), ints(*size), ints(*kernel)])


# ---- What makes values ----

@operator()
def shape_of(g):
    a = g.value(ANY)
    if g.chance(0.3):
        g.add("Size", [a])
    else:
        g.add("Shape", [a], start=g.integer(-2, 2) if g.opset >= 15 and g.chance(0.3) else None)


@operator(9)
def eye_like(g):
    g.add("EyeLike", [g.value(F32, 2, 2)], k=g.integer(-2, 2))


@operator(9)
def non_zero(g):
    g.add("NonZero", [g.value(FLOATS[:1] + (np.bool_, np.int32))])


@operator(9)
def compress(g):
    a = g.value(F32, 1)
    axis = g.axis(a)
    g.add("Compress", [a, g.constant(g.array(np.bool_, [a.shape[axis]]))], axis=axis)


@operator(11)
def unique(g):
    g.add("Unique", [g.value(F32, 1, 3)], outputs=g.integer(1, 4), sorted=g.pick(None, 0, 1))


@operator(9)
def one_hot(g):
    g.add("OneHot", [g.value((np.int64,), 0, 3), np.asarray(g.integer(1, 5), np.int64), np.float32([g.real(-1, 0), g.real(1, 2)])], axis=g.pick(None, 0, -1))


# ---- Images ----

@operator(7, 2)
def resize(g):
    x = g.value(F32, 1, 4)
    if g.opset < 10:
        scales = [1.0 + (g.integer(0, 4) / 2 if i > x.rank - 3 else 0) for i in range(x.rank)]
        mode = g.pick("nearest", "linear") if x.rank in (2, 4) else "nearest"
        if g.opset < 9:
            g.add("Upsample", [x], scales=scales, mode=mode)
        else:
            g.add("Upsample", [x, np.float32(scales)], mode=mode)
        return
    mode = g.pick("nearest", "nearest", "linear", "cubic" if g.opset >= 11 and x.rank == 4 else "nearest")
    sizes = [g.integer(1, 12) if i > x.rank - 3 else d for i, d in enumerate(x.shape)]
    scales = np.float32([g.pick(0.5, 2.0, 1.5, 1 / 3, 1.0, 3.0, 0.7) if i > x.rank - 3 else 1 for i in range(x.rank)])
    if g.opset == 10:
        g.add("Resize", [x, scales], mode=mode)
        return
    attributes = {"mode": mode, "coordinate_transformation_mode": g.pick(
        None, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", *(["half_pixel_symmetric"] * (g.opset >= 19)))}
    if mode == "nearest":
        attributes["nearest_mode"] = g.pick(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = g.pick(None, -0.5)
        attributes["exclude_outside"] = g.pick(None, 0, 1)
    if mode != "nearest" and g.opset >= 18 and x.rank == 4:
        attributes["antialias"] = g.pick(None, 0, 1)
    roi = np.float32([]) if g.opset < 13 else None
    if g.chance(0.5):
        g.add("Resize", [x, roi, np.float32([]) if g.opset < 13 else None, ints(*sizes)], **attributes)
    else:
        g.add("Resize", [x, roi, scales], **attributes)


@operator(16)
def grid_sample(g):
    x = g.value(F32, 4, 4)
    modes = ("bilinear", "nearest", "bicubic") if g.opset < 20 else ("linear", "nearest", "cubic")
    grid = g.input(np.float32, [x.shape[0], g.integer(1, 5), g.integer(1, 5), 2], -1.3, 1.3)
    g.add("GridSample", [x, grid], mode=g.pick(*modes), padding_mode=g.pick(None, "zeros", "border", "reflection"), align_corners=g.pick(None, 0, 1))


@operator(20)
def affine_grid(g):
    n, c, h, w = (g.integer(1, 4) for _ in range(4))
    g.add("AffineGrid", [g.value(F32, shape=(n, 2, 3)), ints(n, c, h, w)], align_corners=g.pick(None, 0, 1))


@operator(10)
def roi_align(g):
    x = g.value(F32, 4, 4)
    if x.size:
        low = g.array(np.float32, (2, 2), 0, 3)
        rois = np.concatenate([low, low + g.array(np.float32, (2, 2), 0.5, 4)], 1)
        g.add("RoiAlign", [x, rois, g.constant(g.array(np.int64, [2], 0, x.shape[0] - 1))], output_height=g.integer(1, 3),
              output_width=g.integer(1, 3), sampling_ratio=g.pick(None, 1, 2), mode=g.pick(None, "avg", "max") if g.opset < 16 else None)


# ---- Integers ----

@operator(11)
def dynamic_quantize(g):
    g.add("DynamicQuantizeLinear", [g.value(F32, 1)], outputs=3)


@operator(10)
def quantize(g):
    x = g.value(F32)
    scale, zero = np.float32(g.real(0.01, 0.2)), g.pick(np.uint8(g.integer(0, 255)), np.int8(g.integer(-128, 127)))
    y = g.add("QuantizeLinear", [x, scale, zero])
    if y and g.chance(0.7):
        g.add("DequantizeLinear", [y[0], scale, zero])


@operator(10)
def integer_products(g):
    a = g.value((np.uint8,), 2, 3)
    g.add("MatMulInteger", [a, g.weight(a.shape[-1], 3, dtype=np.int8), np.uint8(g.integer(0, 9)) if g.chance(0.5) else None])
