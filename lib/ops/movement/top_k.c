// TopK: the k greatest or smallest elements along an axis, sorted, the lower index first among
// equals.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/common/strided.h"
#include "lib/ops/emit/emit.h"

// `key` orders like the element whatever its type, and is greater for elements taken earlier.
typedef struct candidate {
  uint64_t key;
  int64_t index;
} candidate;

typedef struct top_k_job {
  const dq_tensor *input;
  dq_tensor *values, *indices; // NULL: left out
  int64_t size, inner, k;
  bool largest;
  candidate *heaps; // k per thread
} top_k_job;

static dq_status read_k(const dq_op *op, int64_t *k, bool *known) {
  int64_t ints[DQ_MAX_INTS];
  int count;
  *k = dq_node_int(op->node, "k", -1);
  *known = true;
  if (op->version >= 10) {
    if (!dq_op_input(op, 1)) return dq_op_fail(op, DQ_BAD_INPUT, "input 1 (K) is missing");
    *known = dq_op_readable(op, 1);
    if (!*known) return DQ_OK;
    DQ_TRY(dq_op_read_ints(op, 1, ints, &count));
    if (count != 1) return dq_op_fail(op, DQ_BAD_INPUT, "K has %d elements, expected 1", count);
    *k = ints[0];
  }
  if (*k < 0) return dq_op_fail(op, DQ_BAD_INPUT, "k is %" PRId64 ", expected 0 or more", *k);
  return DQ_OK;
}

static dq_status infer(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  int axis;
  int64_t k, dims[DQ_MAX_RANK];
  bool known;
  DQ_TRY(dq_op_axis_of_input(op, -1, &axis));
  DQ_TRY(read_k(op, &k, &known));
  if (!known) {
    DQ_TRY(dq_op_unknown(op, 0, input->type));
    return dq_op_unknown(op, 1, DQ_I64);
  }
  if (k > input->dims[axis])
    return dq_op_fail(op, DQ_BAD_INPUT, "k is %" PRId64 ", the axis has %" PRId64 " elements", k, input->dims[axis]);
  memcpy(dims, input->dims, sizeof dims);
  dims[axis] = k;
  DQ_TRY(dq_op_shape(op, 0, input->type, input->rank, dims));
  return dq_op_shape(op, 1, DQ_I64, input->rank, dims);
}

// Orders like the element; NaN is greater than everything, as in numpy.
static uint64_t key_of(const dq_tensor *tensor, int64_t i) {
  const uint64_t sign = UINT64_C(1) << 63;
  if (tensor->type == DQ_U64) return ((const uint64_t *)tensor->data)[i];
  if (!(DQ_BIT(tensor->type) & DQ_TYPES_FLOAT)) return (uint64_t)dq_tensor_get_i64(tensor, i) ^ sign;
  double value = dq_tensor_get(tensor, i) + 0.0; // +0 and -0 are equal
  uint64_t bits;
  if (value != value) return UINT64_MAX;
  memcpy(&bits, &value, sizeof bits);
  return bits & sign ? ~bits : bits | sign;
}

static bool before(const candidate *a, const candidate *b) {
  return a->key != b->key ? a->key > b->key : a->index < b->index;
}

// Restores the heap whose root is the candidate that goes last.
static void sift_down(candidate *heap, int64_t count) {
  for (int64_t at = 0;;) {
    int64_t last = at, left = 2 * at + 1;
    if (left < count && before(&heap[last], &heap[left])) last = left;
    if (left + 1 < count && before(&heap[last], &heap[left + 1])) last = left + 1;
    if (last == at) return;
    candidate swapped = heap[at];
    heap[at] = heap[last];
    heap[last] = swapped;
    at = last;
  }
}

static void sift_up(candidate *heap, int64_t at) {
  while (at > 0 && before(&heap[(at - 1) / 2], &heap[at])) {
    candidate swapped = heap[at];
    heap[at] = heap[(at - 1) / 2];
    heap[(at - 1) / 2] = swapped;
    at = (at - 1) / 2;
  }
}

static void top_k_row(void *argument, int64_t row, int thread) {
  const top_k_job *job = argument;
  candidate *heap = job->heaps + thread * job->k;
  int64_t outer = row / job->inner, inner = row % job->inner, count = 0;
  int64_t first = outer * job->size * job->inner + inner;
  for (int64_t i = 0; i < job->size; i++) {
    uint64_t key = key_of(job->input, first + i * job->inner);
    candidate next = {job->largest ? key : ~key, i};
    if (count < job->k) {
      heap[count] = next;
      sift_up(heap, count++);
    } else if (before(&next, &heap[0])) {
      heap[0] = next;
      sift_down(heap, count);
    }
  }
  size_t size = dq_dtype_size(job->input->type);
  while (count > 0) { // the root is the last of those left
    int64_t index = heap[0].index, to = (outer * job->k + count - 1) * job->inner + inner;
    heap[0] = heap[--count];
    sift_down(heap, count);
    if (job->values)
      memcpy((char *)job->values->data + (size_t)to * size,
             (const char *)job->input->data + (size_t)(first + index * job->inner) * size, size);
    if (job->indices) ((int64_t *)job->indices->data)[to] = index;
  }
}

static dq_status run(dq_op *op) {
  const dq_tensor *input = op->inputs[0];
  top_k_job job = {.input = input, .values = dq_op_output(op, 0), .indices = dq_op_output(op, 1)};
  int axis;
  bool known;
  DQ_TRY(dq_op_axis_of_input(op, -1, &axis));
  DQ_TRY(read_k(op, &job.k, &known));
  job.size = input->dims[axis];
  job.inner = dq_tensor_product(input, axis + 1, input->rank);
  job.largest = dq_node_int(op->node, "largest", 1) != 0;
  int64_t rows = dq_tensor_product(input, 0, axis) * job.inner;
  if (rows == 0 || job.k == 0) return DQ_OK;
  size_t threads = (size_t)dq_pool_threads(op->context ? op->context->pool : NULL);
  job.heaps = dq_context_alloc(op->context, threads * (size_t)job.k * sizeof *job.heaps);
  if (!job.heaps) return dq_fail_memory(op->error, threads * (size_t)job.k * sizeof *job.heaps);
  dq_op_parallel(op, rows, job.size, top_k_row, &job);
  dq_budget_free(job.heaps);
  return DQ_OK;
}

// The next element in the order of the result, k times, without memory for candidates. NaN is above all numbers.
static dq_status emit(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_tensor *input = op->inputs[0];
  const bool largest = dq_node_int(op->node, "largest", 1) != 0, real = DQ_BIT(input->type) & DQ_TYPES_FLOAT;
  const char *type = dq_emit_type(input->type);
  int axis;
  int64_t k;
  bool known;
  DQ_TRY(dq_op_axis_of_input(op, -1, &axis));
  DQ_TRY(read_k(op, &k, &known));
  if (!known || input->type == DQ_F16) return dq_op_fail(op, DQ_UNSUPPORTED, "its k is computed, or its type float16");
  char before[120], after[120], better[120];
  const char *sign = largest ? ">" : "<";
  snprintf(before, sizeof before, real ? "last %s x || (%s != %s && %s == %s)" : "last %s x", sign,
           largest ? "last" : "x", largest ? "last" : "x", largest ? "x" : "last", largest ? "x" : "last");
  snprintf(after, sizeof after, real ? "x %s last || (%s != %s && %s == %s)" : "x %s last", sign,
           largest ? "x" : "last", largest ? "x" : "last", largest ? "last" : "x", largest ? "last" : "x");
  snprintf(better, sizeof better, real ? "x %s next || (%s != %s && %s == %s)" : "x %s next", sign,
           largest ? "x" : "next", largest ? "x" : "next", largest ? "next" : "x", largest ? "next" : "x");
  const int64_t inner = dq_tensor_product(input, axis + 1, input->rank), size = input->dims[axis];
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", dq_tensor_product(input, 0, axis));
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", inner);
  dq_emit(to, "int32_t taken = -1;");
  dq_emit(to, "%s last = 0;", type);
  dq_emit(to, "for (int32_t k = 0; k < %" PRId64 "; k++) {", k);
  dq_emit(to, "int32_t best = -1;");
  dq_emit(to, "%s next = 0;", type);
  dq_emit(to, "for (int32_t e = 0; e < %" PRId64 "; e++) {", size);
  dq_emit(to, "const %s x = x0[(n * %" PRId64 " + e) * %" PRId64 " + i];", type, size, inner);
  dq_emit(to, "const int follows = taken < 0 || (%s) || (!(%s) && e > taken);", before, after);
  dq_emit(to, "if (follows && (best < 0 || %s)) {", better);
  dq_emit(to, "best = e;");
  dq_emit(to, "next = x;");
  dq_emit_close(to, 2);
  dq_emit(to, "taken = best;");
  dq_emit(to, "last = next;");
  if (dq_op_output(op, 0)) dq_emit(to, "y0[(n * %" PRId64 " + k) * %" PRId64 " + i] = next;", k, inner);
  if (dq_op_output(op, 1)) dq_emit(to, "y1[(n * %" PRId64 " + k) * %" PRId64 " + i] = best;", k, inner);
  dq_emit_close(to, 3);
  return DQ_OK;
}

const dq_operator dq_op_TopK = {
    .name = "TopK",
    .since = {1, 10, 11, 24},
    .inputs = {1, 2},
    .outputs = {2, 2},
    .types = DQ_TYPES_NUMBER,
    .attributes = (const dq_attribute_rule[]){{"axis", DQ_ATTRIBUTE_INT, false},
                                              {"k", DQ_ATTRIBUTE_INT, false},
                                              {"largest", DQ_ATTRIBUTE_INT, false},
                                              {"sorted", DQ_ATTRIBUTE_INT, false},
                                              {0}},
    .infer = infer,
    .run = run,
    .emit = emit,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
