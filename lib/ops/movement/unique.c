// Unique: the different elements, or slices along an axis, with where they first occur, which of
// them each input is, and how often each occurs.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/common/strided.h"

// Slices are outer x inner elements, `size` of them along the axis.
typedef struct slices {
  const dq_tensor *input;
  int axis; // -1: every element is a slice
  int64_t size, outer, inner;
} slices;

typedef struct groups {
  int64_t count;
  int64_t *order;   // slices sorted by elements, then by position
  int64_t *inverse; // group of each slice, in the order of the output
  int64_t *first;   // first slice of each group, in the order of the output
  int64_t *counts;
} groups;

static dq_status read_slices(const dq_op *op, slices *s) {
  const dq_tensor *input = op->inputs[0];
  *s = (slices){input, -1, dq_tensor_count(input), 1, 1};
  if (!dq_node_attribute(op->node, "axis")) return DQ_OK;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 0), input->rank, &s->axis));
  s->size = input->dims[s->axis];
  s->outer = dq_tensor_product(input, 0, s->axis);
  s->inner = dq_tensor_product(input, s->axis + 1, input->rank);
  return DQ_OK;
}

// -1, 0, 1 as slice a comes before, with or after slice b; NaN comes last.
static int compare(const slices *s, int64_t a, int64_t b) {
  bool integer = !(DQ_BIT(s->input->type) & DQ_TYPES_FLOAT);
  for (int64_t o = 0; o < s->outer; o++)
    for (int64_t i = 0; i < s->inner; i++) {
      int64_t left = (o * s->size + a) * s->inner + i, right = (o * s->size + b) * s->inner + i;
      if (integer && s->input->type != DQ_U64) {
        int64_t x = dq_tensor_get_i64(s->input, left), y = dq_tensor_get_i64(s->input, right);
        if (x != y) return x < y ? -1 : 1;
      } else {
        double x = dq_tensor_get(s->input, left), y = dq_tensor_get(s->input, right);
        if (x != x || y != y) {
          if (x == x) return -1;
          if (y == y) return 1;
        } else if (x != y) {
          return x < y ? -1 : 1;
        }
      }
    }
  return 0;
}

static int by_slice(const void *left, const void *right, void *argument) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  int order = compare(argument, a, b);
  return order ? order : a < b ? -1 : a > b;
}

static void release(groups *g) {
  dq_budget_free(g->order);
  dq_budget_free(g->inverse);
  dq_budget_free(g->first);
  dq_budget_free(g->counts);
}

static int by_first(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return a < b ? -1 : a > b;
}

// Groups in sorted order, or in the order in which they first occur.
static void number_groups(const slices *s, groups *g, bool sorted) {
  for (int64_t i = 0; i < s->size; i++) {
    if (i == 0 || compare(s, g->order[i - 1], g->order[i])) g->first[g->count++] = g->order[i];
    g->inverse[g->order[i]] = g->first[g->count - 1]; // for now: its first slice
  }
  if (!sorted) qsort(g->first, (size_t)g->count, sizeof *g->first, by_first);
  for (int64_t i = 0; i < g->count; i++) g->order[g->first[i]] = i;
  for (int64_t i = 0; i < s->size; i++) {
    g->inverse[i] = g->order[g->inverse[i]];
    g->counts[g->inverse[i]]++;
  }
}

static int64_t *new_indices(const dq_op *op, size_t count) {
  return dq_context_alloc(op->context, count * sizeof(int64_t));
}

static dq_status find_groups(const dq_op *op, const slices *s, groups *g) {
  size_t count = (size_t)s->size + 1;
  *g = (groups){0, new_indices(op, count), new_indices(op, count), new_indices(op, count), new_indices(op, count)};
  if (!g->order || !g->inverse || !g->first || !g->counts) {
    release(g);
    return dq_fail_memory(op->error, 4 * count * sizeof *g->order);
  }
  for (int64_t i = 0; i < s->size; i++) g->order[i] = i;
  qsort_r(g->order, (size_t)s->size, sizeof *g->order, by_slice, (void *)(uintptr_t)s);
  number_groups(s, g, dq_node_int(op->node, "sorted", 1) != 0);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  slices s;
  groups g;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_slices(op, &s));
  if (!dq_op_readable(op, 0)) {
    for (int i = 0; i < 4; i++) DQ_TRY(dq_op_unknown(op, i, i ? DQ_I64 : input->type));
    return DQ_OK;
  }
  if (!dq_dtype_computable(input->type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "elements of type %s are not supported", dq_dtype_name(input->type));
  DQ_TRY(find_groups(op, &s, &g));
  int64_t count = g.count;
  release(&g);
  memcpy(dims, input->dims, sizeof dims);
  dims[s.axis < 0 ? 0 : s.axis] = count;
  DQ_TRY(dq_op_shape(op, 0, input->type, s.axis < 0 ? 1 : input->rank, dims));
  DQ_TRY(dq_op_shape(op, 1, DQ_I64, 1, &count));
  DQ_TRY(dq_op_shape(op, 2, DQ_I64, 1, &s.size));
  return dq_op_shape(op, 3, DQ_I64, 1, &count);
}

static void store(const dq_op *op, int i, const int64_t *values, int64_t count) {
  dq_tensor *output = dq_op_output(op, i);
  if (output && count) memcpy(output->data, values, (size_t)count * sizeof *values);
}

static dq_status run(dq_op *op) {
  slices s;
  groups g;
  DQ_TRY(read_slices(op, &s));
  DQ_TRY(find_groups(op, &s, &g));
  size_t bytes = (size_t)s.inner * dq_dtype_size(s.input->type);
  for (int64_t o = 0; bytes && op->outputs[0] && o < s.outer; o++)
    for (int64_t i = 0; i < g.count; i++)
      memcpy((char *)op->outputs[0]->data + (size_t)(o * g.count + i) * bytes,
             (const char *)s.input->data + (size_t)(o * s.size + g.first[i]) * bytes, bytes);
  store(op, 1, g.first, g.count);
  store(op, 2, g.inverse, s.size);
  store(op, 3, g.counts, g.count);
  release(&g);
  return DQ_OK;
}

const dq_operator dq_op_Unique = {
    .name = "Unique",
    .since = {11, 28},
    .inputs = {1, 1},
    .outputs = {1, 4},
    .types = DQ_TYPES_ALL,
    .attributes =
        (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false}, {"sorted", DQ_ATTRIBUTE_INT, false}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};
