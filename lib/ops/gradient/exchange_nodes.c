// Sums over the pictures of all processes that are added while other nodes run. Nodes with the attribute "processes" of
// 2 leave the blocks of this process; dq.StartSums sends those of several nodes, and dq.FinishSums, the last one of
// these nodes, waits for what was sent and gives all sums (lib/train/late_sums.h makes them).
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/common/sum_exchange.h"
#include "lib/ops/table/operator.h"

static const dq_picture_part *part_of(const dq_op *op) { return op->context ? op->context->part : NULL; }

static dq_status no_processes(const dq_op *op) {
  return dq_op_fail(op, DQ_UNSUPPORTED, "only the processes of a training exchange sums");
}

// ---- StartSums(blocks, ...): the bytes that are sent, and those that arrive until FinishSums ----

// Attribute "rows": those that each node added.
static dq_status open_start(const dq_op *op, dq_picture_sum **sums, dq_sum_exchange *e) {
  int count;
  const int64_t *rows = dq_node_ints(op->node, "rows", &count);
  if (!part_of(op)) return no_processes(op);
  if (count != op->input_count)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'rows' has %d elements, expected %d", count, op->input_count);
  *sums = calloc((size_t)count, sizeof **sums);
  if (!*sums) return dq_fail_memory(op->error, (size_t)count * sizeof **sums);
  for (int i = 0; i < count; i++) {
    const dq_tensor *blocks = op->inputs[i];
    const int64_t numbers = dq_tensor_product(blocks, 1, blocks->rank);
    (*sums)[i] = (dq_picture_sum){rows[i], numbers, blocks->type, blocks->data, numbers};
  }
  *e = (dq_sum_exchange){.part = part_of(op), .sums = *sums, .count = count};
  return dq_sum_exchange_open(e) ? DQ_OK : dq_fail_memory(op->error, 0);
}

static dq_status infer_start(dq_op *op) {
  dq_sum_exchange e = {0};
  dq_picture_sum *sums = NULL;
  dq_status status = open_start(op, &sums, &e);
  if (status == DQ_OK) status = dq_op_shape(op, 0, DQ_U8, 1, (int64_t[]){(int64_t)dq_sum_exchange_sent(&e)});
  if (status == DQ_OK) status = dq_op_shape(op, 1, DQ_U8, 1, (int64_t[]){(int64_t)dq_sum_exchange_received(&e)});
  dq_sum_exchange_close(&e);
  free(sums);
  return status;
}

static dq_status run_start(dq_op *op) {
  dq_sum_exchange e = {0};
  dq_picture_sum *sums = NULL;
  dq_status status = open_start(op, &sums, &e);
  if (status == DQ_OK) {
    const dq_processes *processes = e.part->processes;
    dq_sum_exchange_pack(&e, op->outputs[0]->data);
    processes->start(processes->user, op->outputs[0]->data, e.sent, op->outputs[1]->data, e.received);
  }
  dq_sum_exchange_close(&e);
  free(sums);
  return status;
}

// ---- FinishSums(sent, received, ...): the sums, in the order in which they were sent ----

// Attributes: "counts": of the sums that each StartSums sent; by sum "rows", "types" of the blocks, "results": types of
// the sums; "shapes": rank and dimensions of each.
typedef struct finish {
  const int64_t *counts, *rows, *types, *results, *shapes;
  int exchanges, sums, shape_count;
} finish;

static dq_status read_finish(const dq_op *op, finish *f) {
  int rows, types, results;
  int64_t all = 0;
  f->counts = dq_node_ints(op->node, "counts", &f->exchanges);
  f->rows = dq_node_ints(op->node, "rows", &rows);
  f->types = dq_node_ints(op->node, "types", &types);
  f->results = dq_node_ints(op->node, "results", &results);
  f->shapes = dq_node_ints(op->node, "shapes", &f->shape_count);
  f->sums = op->output_count;
  for (int i = 0; i < f->exchanges; i++) all += f->counts[i];
  if (!part_of(op)) return no_processes(op);
  if (2 * f->exchanges != op->input_count || all != f->sums || rows != f->sums || types != f->sums ||
      results != f->sums)
    return dq_op_fail(op, DQ_BAD_INPUT, "attributes do not fit %d inputs and %d outputs", op->input_count, f->sums);
  return DQ_OK;
}

static dq_status infer_finish(dq_op *op) {
  finish f;
  DQ_TRY(read_finish(op, &f));
  int at = 0;
  for (int i = 0; i < f.sums; i++) {
    const int rank = at < f.shape_count ? (int)f.shapes[at] : -1;
    if (rank < 0 || rank > DQ_MAX_RANK || at + 1 + rank > f.shape_count)
      return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'shapes' has no shape of output %d", i);
    DQ_TRY(dq_op_shape(op, i, (int)f.results[i], rank, f.shapes + at + 1));
    at += 1 + rank;
  }
  return DQ_OK;
}

// All sums at once, for sizes and slices.
static dq_status open_all(const dq_op *op, const finish *f, dq_picture_sum **sums, dq_sum_exchange *e) {
  *sums = calloc((size_t)f->sums + 1, sizeof **sums);
  if (!*sums) return dq_fail_memory(op->error, (size_t)f->sums * sizeof **sums);
  for (int i = 0; i < f->sums; i++)
    (*sums)[i] =
        (dq_picture_sum){.rows = f->rows[i], .count = dq_tensor_count(op->outputs[i]), .type = (int)f->types[i]};
  *e = (dq_sum_exchange){.part = part_of(op), .sums = *sums, .count = f->sums};
  return dq_sum_exchange_open(e) ? DQ_OK : dq_fail_memory(op->error, 0);
}

static int64_t slice_of(const dq_op *op, const dq_sum_exchange *e, int sum, int process, int64_t *begin) {
  int64_t end;
  dq_sum_slice(e, sum, process, begin, &end);
  return (end - *begin) * (int64_t)dq_dtype_size(op->outputs[sum]->type);
}

// The slices of a process, in the types of the outputs.
static size_t slices_bytes(const dq_op *op, const dq_sum_exchange *e, int process) {
  int64_t bytes = 0, begin;
  for (int i = 0; i < e->count; i++) bytes += slice_of(op, e, i, process, &begin);
  return (size_t)bytes;
}

// Workspace of the addition, the slices of this process, and those of all, which are the sums.
typedef struct finish_memory {
  size_t work, own, all;
} finish_memory;

static finish_memory memory_of(const dq_op *op, const dq_sum_exchange *e) {
  finish_memory m = {.work = dq_round_up(e->workspace, 64),
                     .own = dq_round_up(slices_bytes(op, e, e->part->processes->index), 64)};
  for (int r = 0; r < e->part->processes->count; r++) m.all += slices_bytes(op, e, r);
  return m;
}

static dq_status prepare_finish(dq_op *op, dq_arena *arena) {
  finish f;
  dq_sum_exchange e = {0};
  dq_picture_sum *sums = NULL;
  (void)arena;
  DQ_TRY(read_finish(op, &f));
  dq_status status = open_all(op, &f, &sums, &e);
  if (status == DQ_OK) {
    const finish_memory m = memory_of(op, &e);
    op->scratch_bytes = m.work + m.own + m.all;
  }
  dq_sum_exchange_close(&e);
  free(sums);
  return status;
}

// Where the next slice goes, rounded to the type of the output.
typedef struct slice_writer {
  const dq_op *op;
  const dq_sum_exchange *exchange; // of the sums from `first` on
  int first;
  char *next;
} slice_writer;

static void write_slice(void *user, int sum, const char *numbers) {
  slice_writer *w = user;
  const dq_tensor *output = w->op->outputs[w->first + sum];
  int64_t begin, end;
  dq_sum_slice(w->exchange, sum, w->exchange->part->processes->index, &begin, &end);
  const int64_t count = end - begin;
  const bool rounds = w->exchange->sums[sum].type == DQ_F64 && output->type == DQ_F32;
  const size_t bytes = (size_t)count * dq_dtype_size(output->type);
  if (!rounds) memcpy(w->next, numbers, bytes);
  for (int64_t i = 0; rounds && i < count; i++) {
    const float number = (float)((const double *)(const void *)numbers)[i];
    memcpy(w->next + (size_t)i * sizeof number, &number, sizeof number);
  }
  w->next += bytes;
}

static bool finish_exchange(const dq_op *op, const dq_picture_sum *sums, int exchange, int count, char *work,
                            slice_writer *writer) {
  dq_sum_exchange e = {.part = part_of(op), .sums = sums, .count = count};
  const bool open = dq_sum_exchange_open(&e);
  writer->exchange = &e;
  if (open) dq_sum_exchange_add(&e, op->inputs[2 * exchange + 1]->data, work, write_slice, writer);
  dq_sum_exchange_close(&e);
  return open;
}

// The slices of a process lie behind those of the one before.
static void spread_slices(const dq_op *op, const dq_sum_exchange *all, const char *from) {
  for (int r = 0; r < all->part->processes->count; r++)
    for (int i = 0; i < all->count; i++) {
      int64_t begin;
      const int64_t bytes = slice_of(op, all, i, r, &begin);
      memcpy((char *)op->outputs[i]->data + (size_t)begin * dq_dtype_size(op->outputs[i]->type), from, (size_t)bytes);
      from += bytes;
    }
}

static bool add_all(const dq_op *op, const finish *f, const dq_sum_exchange *all) {
  const dq_processes *processes = all->part->processes;
  const finish_memory m = memory_of(op, all);
  char *work = op->scratch, *own = work + m.work, *sums = own + m.own;
  slice_writer writer = {.op = op, .next = own};
  bool added = true;
  for (int i = 0; i < f->exchanges; writer.first += (int)f->counts[i++]) {
    processes->finish(processes->user);
    added = finish_exchange(op, all->sums + writer.first, i, (int)f->counts[i], work, &writer) && added;
  }
  for (int r = 0; r < processes->count; r++) all->sent[r] = slices_bytes(op, all, r);
  processes->gather(processes->user, own, sums, all->sent);
  spread_slices(op, all, sums);
  return added;
}

static dq_status run_finish(dq_op *op) {
  finish f;
  dq_sum_exchange e = {0};
  dq_picture_sum *sums = NULL;
  DQ_TRY(read_finish(op, &f));
  dq_status status = open_all(op, &f, &sums, &e);
  if (status == DQ_OK && !add_all(op, &f, &e)) status = dq_fail_memory(op->error, 0);
  dq_sum_exchange_close(&e);
  free(sums);
  return status;
}

static const dq_attribute_rule start_attributes[] = {{"rows", DQ_ATTRIBUTE_INTS, true}, {0}};
static const dq_attribute_rule finish_attributes[] = {
    {"counts", DQ_ATTRIBUTE_INTS, true},  {"rows", DQ_ATTRIBUTE_INTS, true},   {"types", DQ_ATTRIBUTE_INTS, true},
    {"results", DQ_ATTRIBUTE_INTS, true}, {"shapes", DQ_ATTRIBUTE_INTS, true}, {0}};

const dq_operator dq_op_StartSums = {
    .name = "StartSums",
    .domain = "dq",
    .since = {1},
    .inputs = {1, DQ_ANY_NUMBER},
    .outputs = {2, 2},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),
    .attributes = start_attributes,
    .infer = infer_start,
    .run = run_start,
};

const dq_operator dq_op_FinishSums = {
    .name = "FinishSums",
    .domain = "dq",
    .since = {1},
    .inputs = {2, DQ_ANY_NUMBER},
    .outputs = {1, DQ_ANY_NUMBER},
    .types = DQ_BIT(DQ_U8),
    .attributes = finish_attributes,
    .infer = infer_finish,
    .prepare = prepare_finish,
    .run = run_finish,
};
