#include "lib/ops/picture_sums.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/shards.h"

bool dq_adds_over_processes(const dq_op *op) {
  return op->context && op->context->part && dq_node_int(op->node, "processes", 0);
}

// The shards of process `rank`, of a sum over `rows` rows on this one.
static void shards_of(const dq_picture_part *part, int process, int64_t rows, int64_t *first, int64_t *end) {
  const int64_t each = rows / part->count;
  int64_t picture, count;
  dq_shard_part(part->all, process, part->processes->count, &picture, &count);
  *first = picture * each / DQ_SHARD;
  *end = ((picture + count) * each + DQ_SHARD - 1) / DQ_SHARD;
}

int64_t dq_first_shard(const dq_op *op, int64_t rows) {
  int64_t first = 0, end;
  if (dq_adds_over_processes(op)) shards_of(op->context->part, op->context->part->processes->index, rows, &first, &end);
  return first;
}

int dq_process_blocks(const dq_op *op, int64_t rows) {
  const int64_t first = dq_first_shard(op, rows);
  return dq_shard_blocks(first, first + (rows + DQ_SHARD - 1) / DQ_SHARD, NULL);
}

double dq_batch_ratio(const dq_op *op) {
  const dq_picture_part *part = op->context ? op->context->part : NULL;
  return dq_adds_over_processes(op) ? (double)part->all / (double)part->count : 1;
}

// ---- Exchange ----

// A piece of the elements is cut into a slice for each process, which adds the blocks of all processes there; then all
// get all slices.
enum { PIECE = 1 << 16 };

typedef struct adder {
  const dq_processes *processes;
  size_t size;         // bytes of an element
  bool wide;           // float64
  int *blocks;         // [processes]
  int64_t *levels;     // [all blocks]: their shards, in the order of the processes
  int own, all;        // blocks
  size_t *sent, *kept; // [processes]: bytes
  char *from, *to;     // [own][piece] by slices; [all][slice]
} adder;

static int64_t slice_end(int64_t count, int process, int processes) { return count * (process + 1) / processes; }
static int64_t slice_begin(int64_t count, int process, int processes) { return count * process / processes; }

static void add_arrays(const adder *a, char *to, const char *from, int64_t count) {
  if (a->wide)
    for (int64_t i = 0; i < count; i++) ((double *)(void *)to)[i] += ((const double *)(const void *)from)[i];
  else
    for (int64_t i = 0; i < count; i++) ((float *)(void *)to)[i] += ((const float *)(const void *)from)[i];
}

// Adds the blocks in the tree of shards; the sum is in the first array.
static void add_blocks(const adder *a, int64_t count) {
  int64_t waiting[2 * DQ_SHARD_LEVELS];
  int depth = 0;
  const size_t bytes = (size_t)count * a->size;
  for (int b = 0; b < a->all; b++) {
    if (b != depth) memmove(a->to + (size_t)depth * bytes, a->to + (size_t)b * bytes, bytes);
    waiting[depth++] = a->levels[b];
    for (; depth > 1 && (waiting[depth - 1] == waiting[depth - 2] || b == a->all - 1); depth--) {
      add_arrays(a, a->to + (size_t)(depth - 2) * bytes, a->to + (size_t)(depth - 1) * bytes, count);
      waiting[depth - 2] += waiting[depth - 1];
    }
  }
}

// `count` elements from `at` on, of arrays of `stride` elements.
static void add_piece(const adder *a, const char *blocks, int64_t stride, int64_t at, int64_t count, char *sums) {
  const int processes = a->processes->count, process = a->processes->index;
  const int64_t mine = slice_end(count, process, processes) - slice_begin(count, process, processes);
  char *next = a->from;
  for (int r = 0; r < processes; r++) {
    const int64_t begin = slice_begin(count, r, processes);
    const size_t bytes = (size_t)(slice_end(count, r, processes) - begin) * a->size;
    for (int b = 0; b < a->own; b++, next += bytes)
      memcpy(next, blocks + (size_t)(b * stride + at + begin) * a->size, bytes);
    a->sent[r] = (size_t)a->own * bytes;
    a->kept[r] = (size_t)a->blocks[r] * (size_t)mine * a->size;
  }
  a->processes->exchange(a->processes->user, a->from, a->sent, a->to, a->kept);
  add_blocks(a, mine);
  for (int r = 0; r < processes; r++)
    a->kept[r] = (size_t)(slice_end(count, r, processes) - slice_begin(count, r, processes)) * a->size;
  a->processes->gather(a->processes->user, a->to, sums + (size_t)at * a->size, a->kept);
}

static bool open_adder(adder *a, const dq_picture_part *part, int64_t rows, int64_t piece) {
  const int processes = part->processes->count;
  a->blocks = calloc((size_t)processes, sizeof *a->blocks);
  a->levels = calloc((size_t)processes * DQ_SHARD_LEVELS, sizeof *a->levels);
  a->sent = calloc((size_t)processes, sizeof *a->sent);
  a->kept = calloc((size_t)processes, sizeof *a->kept);
  if (!a->blocks || !a->levels || !a->sent || !a->kept) return false;
  for (int r = 0; r < processes; r++) {
    int64_t first, end;
    shards_of(part, r, rows, &first, &end);
    a->blocks[r] = dq_shard_blocks(first, end, a->levels + a->all);
    a->all += a->blocks[r];
  }
  a->own = a->blocks[part->processes->index];
  a->from = malloc((size_t)(a->own * piece) * a->size);
  a->to = malloc((size_t)(a->all * (piece / processes + 1)) * a->size);
  return a->from && a->to;
}

dq_status dq_add_over_processes(const dq_op *op, int64_t rows, int type, const void *blocks, int64_t count,
                                void *sums) {
  const dq_picture_part *part = op->context->part;
  const int64_t piece = dq_min_i64(count, PIECE);
  adder a = {.processes = part->processes, .size = dq_dtype_size(type), .wide = type == DQ_F64};
  const bool open = open_adder(&a, part, rows, piece);
  for (int64_t at = 0; open && at < count; at += piece)
    add_piece(&a, blocks, count, at, dq_min_i64(piece, count - at), sums);
  free(a.blocks);
  free(a.levels);
  free(a.sent);
  free(a.kept);
  free(a.from);
  free(a.to);
  return open ? DQ_OK : dq_fail_memory(op->error, (size_t)piece * a.size);
}

// ---- Which nodes add ----

typedef struct marker {
  const dq_tensor *tensors;
  int64_t count; // pictures on this process
  bool *pictures;
} marker;

static const dq_tensor *tensor_of(const marker *m, const dq_value *value) { return &m->tensors[value->index]; }

static bool names_first_axis(const int64_t *axes, int count, int rank) {
  for (int i = 0; i < count; i++)
    if (axes[i] == 0 || axes[i] == -rank) return true;
  return false;
}

// The axes of a reduction are an attribute or, in newer opsets, an input; all, where there are none.
static bool reduces_pictures(const dq_node *node, int rank) {
  int count;
  const int64_t *axes = dq_node_ints(node, "axes", &count);
  const dq_value *input = dq_node_input(node, 1);
  if (!axes && input && input->constant && input->constant->type == DQ_I64)
    axes = input->constant->data, count = (int)dq_tensor_count(input->constant);
  return !axes || names_first_axis(axes, count, rank);
}

// Whether what the node gives for a picture depends on that picture alone, as far as its operands and axes tell.
static bool keeps_pictures(const marker *m, const dq_node *node, const dq_operator *row) {
  dq_product product;
  int count, rank = 0; // of what has pictures
  const bool is_product = dq_product_of(node, &product);
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *input = node->inputs[i];
    if (!input || !m->pictures[input->index]) continue;
    rank = tensor_of(m, input)->rank;
    if (!is_product) continue;
    if (product.kind != DQ_MATRIX_PRODUCT ? i > 0 : rank < 3 && (i > 0 || dq_node_int(node, "transA", 0))) return false;
  }
  const int64_t axis = dq_node_int(node, "axis", 1), *perm = dq_node_ints(node, "perm", &count);
  if (row->pictures == DQ_PICTURES_EACH) return true;
  if (row->pictures == DQ_PICTURES_REDUCED && reduces_pictures(node, rank)) return false;
  return !names_first_axis(&axis, 1, rank) && (!perm || perm[0] == 0);
}

static dq_status combined(const dq_node *node, dq_error *error) {
  dq_fail(error, DQ_UNSUPPORTED, "operator %s combines the pictures of a batch", node->op_type);
  dq_error_hint(error, "such a network is trained by one process");
  return dq_with_label(node, DQ_UNSUPPORTED, error);
}

// Whether output `i` is a sum over pictures.
static bool is_sum(const marker *m, const dq_node *node, const dq_operator *row, int i) {
  const dq_tensor *input = tensor_of(m, node->inputs[0]), *output = tensor_of(m, node->outputs[i]);
  if (row->pictures == DQ_PICTURES_SUMMED_TO) return output->rank < input->rank || output->dims[0] != input->dims[0];
  return row->pictures == DQ_PICTURES_SUMMED || (row->pictures == DQ_PICTURES_MEASURED && i > 0);
}

static dq_status mark_node(const marker *m, dq_graph *graph, dq_node *node, dq_error *error) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  bool reads = false, adds = false;
  for (int i = 0; i < node->input_count; i++) reads = reads || (node->inputs[i] && m->pictures[node->inputs[i]->index]);
  if (!reads || !row || (row->flags & DQ_OP_SHAPE_ONLY)) return DQ_OK;
  for (int i = 0; i < node->output_count; i++) {
    if (!node->outputs[i]) continue;
    const dq_tensor *output = tensor_of(m, node->outputs[i]);
    if (is_sum(m, node, row, i)) adds = true;
    else if (output->rank < 1 || output->dims[0] % m->count || !keeps_pictures(m, node, row))
      return combined(node, error);
    else m->pictures[node->outputs[i]->index] = true;
  }
  return !adds || dq_node_set_int(graph, node, "processes", 1) ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_mark_picture_sums(dq_graph *graph, const dq_tensor *tensors, int64_t count, bool *pictures,
                               dq_error *error) {
  const marker m = {tensors, count, pictures};
  for (int n = 0; n < graph->node_count; n++) DQ_TRY(mark_node(&m, graph, graph->nodes[n], error));
  return DQ_OK;
}
