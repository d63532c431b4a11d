#include "lib/ops/common/picture_sums.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/reference/shards.h"
#include "lib/ops/common/sum_exchange.h"

bool dq_adds_over_processes(const dq_op *op) {
  return op->context && op->context->part && dq_node_int(op->node, "processes", 0);
}

bool dq_leaves_blocks(const dq_op *op) {
  return dq_adds_over_processes(op) && dq_node_int(op->node, "processes", 0) == DQ_BLOCKS_OF_PROCESSES;
}

int64_t dq_first_shard(const dq_op *op, int64_t rows) {
  const dq_picture_part *part = op->context ? op->context->part : NULL;
  int64_t first = 0, end;
  if (dq_adds_over_processes(op)) dq_shards_of_process(part, part->processes->index, rows, &first, &end);
  return first;
}

int dq_process_blocks(const dq_op *op, int64_t rows) {
  const int64_t first = dq_first_shard(op, rows);
  return dq_shard_blocks(first, first + (rows + DQ_SHARD - 1) / DQ_SHARD, NULL);
}

dq_status dq_blocks_shape(dq_op *op, int64_t rows, int type, int rank, const int64_t *dims) {
  int64_t with[DQ_MAX_RANK] = {dq_process_blocks(op, rows)};
  if (!dq_leaves_blocks(op)) return dq_op_shape(op, 0, op->inputs[0]->type, rank, dims);
  if (rank == DQ_MAX_RANK) return dq_op_fail(op, DQ_UNSUPPORTED, "the sum has %d dimensions", rank);
  for (int i = 0; i < rank; i++) with[1 + i] = dims[i];
  return dq_op_shape(op, 0, type, rank + 1, with);
}

double dq_batch_ratio(const dq_op *op) {
  const dq_picture_part *part = op->context ? op->context->part : NULL;
  return dq_adds_over_processes(op) ? (double)part->all / (double)part->count : 1;
}

// ---- Exchange ----

// Sums of up to WHOLE bytes are added by every process, which takes one exchange in place of two. Of larger ones a
// piece of the numbers is exchanged at a time.
enum { WHOLE = 1 << 16, PIECE = 1 << 16 };

typedef struct target {
  const dq_sum_exchange *exchange;
  char *sums;
} target;

static void store(void *user, int sum, const char *numbers) {
  const target *to = user;
  int64_t begin, end;
  dq_sum_slice(to->exchange, sum, to->exchange->part->processes->index, &begin, &end);
  memcpy(to->sums, numbers, (size_t)(end - begin) * dq_dtype_size(to->exchange->sums[sum].type));
}

// The bytes of the slices of all processes.
static void set_slices(const dq_sum_exchange *e, size_t *bytes) {
  for (int r = 0; r < e->part->processes->count; r++) {
    int64_t begin, end;
    dq_sum_slice(e, 0, r, &begin, &end);
    bytes[r] = (size_t)(end - begin) * dq_dtype_size(e->sums[0].type);
  }
}

// `memory` has room for what is sent, what is received, and the workspace.
static void run_exchange(dq_sum_exchange *e, char *sums, char *memory) {
  const dq_processes *processes = e->part->processes;
  char *received = memory + dq_round_up(dq_sum_exchange_sent(e), 8);
  char *work = received + dq_round_up(dq_sum_exchange_received(e), 8);
  target to = {e, e->whole ? sums : memory};
  dq_sum_exchange_pack(e, memory);
  if (e->whole) processes->gather(processes->user, memory, received, e->received);
  else processes->exchange(processes->user, memory, e->sent, received, e->received);
  dq_sum_exchange_add(e, received, work, store, &to);
  if (e->whole) return;
  set_slices(e, e->received);
  processes->gather(processes->user, memory, sums, e->received);
}

static dq_status add_piece(const dq_op *op, const dq_picture_sum *piece, bool whole, char *sums) {
  dq_sum_exchange e = {.part = op->context->part, .whole = whole, .sums = piece, .count = 1};
  char *memory = NULL;
  size_t bytes = 0;
  if (dq_sum_exchange_open(&e)) {
    bytes = dq_sum_exchange_sent(&e) + dq_sum_exchange_received(&e) + e.workspace + 16;
    memory = malloc(bytes);
  }
  if (memory) run_exchange(&e, sums, memory);
  free(memory);
  dq_sum_exchange_close(&e);
  return memory ? DQ_OK : dq_fail_memory(op->error, bytes);
}

dq_status dq_add_over_processes(const dq_op *op, int64_t rows, int type, const void *blocks, int64_t count,
                                void *sums) {
  const size_t size = dq_dtype_size(type);
  const bool whole = (size_t)count * size * (size_t)op->context->part->processes->count <= WHOLE;
  for (int64_t at = 0; at < count; at += PIECE) {
    const dq_picture_sum piece = {.rows = rows,
                                  .count = dq_min_i64(PIECE, count - at),
                                  .type = type,
                                  .blocks = (const char *)blocks + (size_t)at * size,
                                  .stride = count};
    DQ_TRY(add_piece(op, &piece, whole, (char *)sums + (size_t)at * size));
  }
  return DQ_OK;
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
  return !adds || dq_node_set_int(graph, node, "processes", DQ_SUMS_OF_PROCESSES) ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_mark_picture_sums(dq_graph *graph, const dq_tensor *tensors, int64_t count, bool *pictures,
                               dq_error *error) {
  const marker m = {tensors, count, pictures};
  for (int n = 0; n < graph->node_count; n++) DQ_TRY(mark_node(&m, graph, graph->nodes[n], error));
  return DQ_OK;
}
