// DepthToSpace and SpaceToDepth: blocks of channels to blocks of pixels and back, both
// transpositions of a tensor of six dimensions.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

static dq_status read_block(const dq_op *op, int64_t *block) {
  *block = dq_node_int(op->node, "blocksize", 0);
  if (*block < 1 || *block > INT16_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT, "blocksize is %" PRId64 ", expected 1 or more", *block);
  if (op->inputs[0]->rank != 4)
    return dq_op_fail(op, DQ_BAD_INPUT, "the input has %d dimensions, expected 4", op->inputs[0]->rank);
  return DQ_OK;
}

static dq_status read_mode(const dq_op *op, bool *columns_first) {
  const char *mode = dq_node_string(op->node, "mode", "DCR");
  *columns_first = !strcmp(mode, "CRD");
  if (*columns_first || !strcmp(mode, "DCR")) return DQ_OK;
  return dq_op_fail(op, DQ_BAD_INPUT, "mode is '%s', expected DCR or CRD", mode);
}

static dq_status infer_depth_to_space(dq_op *op) {
  const int64_t *d = op->inputs[0]->dims;
  int64_t b, dims[4];
  bool columns_first;
  DQ_TRY(read_block(op, &b));
  DQ_TRY(read_mode(op, &columns_first));
  if (d[1] % (b * b))
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 " channels are no multiple of the squared blocksize %" PRId64, d[1],
                      b * b);
  dims[0] = d[0];
  dims[1] = d[1] / (b * b);
  if (!dq_mul_i64(d[2], b, &dims[2]) || !dq_mul_i64(d[3], b, &dims[3]))
    return dq_op_fail(op, DQ_BAD_INPUT, "the dimensions overflow 64 bits");
  return dq_op_shape(op, 0, op->inputs[0]->type, 4, dims);
}

// The input in six dimensions, and the order in which the output has them.
typedef struct permutation {
  int64_t dims[6];
  int perm[6];
} permutation;

static permutation depth_to_space(const dq_op *op, int64_t b, bool columns_first) {
  const int64_t *d = op->inputs[0]->dims, channels = d[1] / (b * b);
  if (columns_first) return (permutation){{d[0], channels, b, b, d[2], d[3]}, {0, 1, 4, 2, 5, 3}};
  return (permutation){{d[0], b, b, channels, d[2], d[3]}, {0, 3, 4, 1, 5, 2}};
}

static permutation space_to_depth(const dq_op *op, int64_t b, bool columns_first) {
  const int64_t *d = op->inputs[0]->dims;
  permutation p = {{d[0], d[1], d[2] / b, b, d[3] / b, b}, {0, 3, 5, 1, 2, 4}};
  if (columns_first) p.perm[1] = 1, p.perm[2] = 3, p.perm[3] = 5;
  return p;
}

static dq_status permute(dq_op *op, permutation p) {
  dq_strided plan;
  dq_strided_permute(&plan, 6, p.dims, p.perm);
  dq_strided_copy(op, &plan, dq_dtype_size(op->inputs[0]->type), op->inputs[0]->data, op->outputs[0]->data);
  return DQ_OK;
}

// Rows of blocks of two laid side by side: what decoders double pictures with, so in loops that vectorise.
#define DEFINE_INTERLEAVE(name, type)                                                                                  \
  static void name(const void *even, const void *odd, void *output, int64_t count) {                                   \
    const type *restrict a = even, *restrict b = odd;                                                                  \
    type *restrict to = output;                                                                                        \
    for (int64_t i = 0; i < count; i++) to[2 * i] = a[i], to[2 * i + 1] = b[i];                                        \
  }
DEFINE_INTERLEAVE(interleave_8, uint8_t)
DEFINE_INTERLEAVE(interleave_32, uint32_t)

typedef struct doubling {
  const dq_op *op;
  bool columns_first;
} doubling;

// One output channel.
static void double_channel(void *argument, int64_t channel, int thread) {
  const doubling *job = argument;
  const int64_t *d = job->op->inputs[0]->dims;
  size_t size = dq_dtype_size(job->op->inputs[0]->type), row = (size_t)d[3] * size, plane = (size_t)d[2] * row;
  int64_t channels = d[1] / 4, step = job->columns_first ? 1 : channels; // from one phase to the next
  int64_t first = channel / channels * d[1] + channel % channels * (job->columns_first ? 4 : 1);
  const char *from = (const char *)job->op->inputs[0]->data + (size_t)first * plane;
  char *to = (char *)job->op->outputs[0]->data + (size_t)channel * 4 * plane;
  (void)thread;
  for (int64_t y = 0; y < 2 * d[2]; y++, to += 2 * row) {
    const char *even = from + (size_t)(y % 2 * 2 * step) * plane + (size_t)(y / 2) * row;
    (size == 1 ? interleave_8 : interleave_32)(even, even + (size_t)step * plane, to, d[3]);
  }
}

static dq_status run_depth_to_space(dq_op *op) {
  const int64_t *d = op->inputs[0]->dims;
  int64_t b;
  bool columns_first;
  DQ_TRY(read_block(op, &b));
  DQ_TRY(read_mode(op, &columns_first));
  int64_t channels = d[1] / (b * b);
  size_t size = dq_dtype_size(op->inputs[0]->type);
  if (b == 2 && (size == 1 || size == 4)) {
    doubling job = {op, columns_first};
    dq_op_parallel(op, d[0] * channels, 4 * d[2] * d[3], double_channel, &job);
    return DQ_OK;
  }
  return permute(op, depth_to_space(op, b, columns_first));
}

static dq_status infer_space_to_depth(dq_op *op) {
  const int64_t *d = op->inputs[0]->dims;
  int64_t b, channels;
  DQ_TRY(read_block(op, &b));
  if (d[2] % b || d[3] % b)
    return dq_op_fail(op, DQ_BAD_INPUT, "%" PRId64 "x%" PRId64 " is no multiple of the blocksize %" PRId64, d[2], d[3],
                      b);
  if (!dq_mul_i64(d[1], b * b, &channels)) return dq_op_fail(op, DQ_BAD_INPUT, "the dimensions overflow 64 bits");
  return dq_op_shape(op, 0, op->inputs[0]->type, 4, (const int64_t[]){d[0], channels, d[2] / b, d[3] / b});
}

static dq_status run_space_to_depth(dq_op *op) {
  int64_t b;
  bool columns_first;
  DQ_TRY(read_block(op, &b));
  DQ_TRY(read_mode(op, &columns_first));
  return permute(op, space_to_depth(op, b, columns_first));
}

static dq_status gradient(const dq_gradient *gradient, permutation (*forward)(const dq_op *, int64_t, bool)) {
  int64_t b;
  bool columns_first;
  DQ_TRY(read_block(gradient->op, &b));
  DQ_TRY(read_mode(gradient->op, &columns_first));
  const permutation p = forward(gradient->op, b, columns_first);
  return dq_gradient_set(gradient, 0, dq_gradient_unpermuted(gradient, 6, p.dims, p.perm));
}

static dq_status gradient_depth_to_space(const dq_gradient *to) { return gradient(to, depth_to_space); }
static dq_status gradient_space_to_depth(const dq_gradient *to) { return gradient(to, space_to_depth); }

static const dq_attribute_rule depth_attributes[] = {{"blocksize", DQ_ATTRIBUTE_INT, true},
                                                     {"mode", DQ_ATTRIBUTE_STRING, false}, // SpaceToDepth: from 28 on
                                                     {0}};

const dq_operator dq_op_DepthToSpace = {
    .name = "DepthToSpace",
    .since = {1, 11, 13, 28},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = depth_attributes,
    .infer = infer_depth_to_space,
    .run = run_depth_to_space,
    .gradient = gradient_depth_to_space,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};

const dq_operator dq_op_SpaceToDepth = {
    .name = "SpaceToDepth",
    .since = {1, 13, 28},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = depth_attributes,
    .infer = infer_space_to_depth,
    .run = run_space_to_depth,
    .gradient = gradient_space_to_depth,
    .emit = dq_emit_move,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_SHARE,
    .flags = DQ_OP_MOVES_8_BIT | DQ_OP_MOVES_CHANNELS,
    .bound = DQ_BOUND_MOVE,
};
