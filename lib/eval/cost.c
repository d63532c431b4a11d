// Static analysis of a model: inference at batch 1 and 2, then one row per node.
#include "lib/eval/cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/sizes.h"
#include "lib/passes/passes.h"

typedef struct analysis {
  dq_cost *cost;
  const dq_graph *graph;
  const dq_context *context;
  dq_arena *arena;
  dq_tensor *single,
      *twice;         // by value, at the requested batch and at twice that; twice may be NULL
  const char *symbol; // NULL: the batch is fixed
  bool *owned;        // by value: a node counted this constant already
} analysis;

enum { SHAPE_TEXT = 256, SYMBOL_LENGTH = 2 };

static int64_t add_clamped(int64_t a, int64_t b) {
  int64_t sum;
  return dq_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

// ---- The batch ----

// The first input whose first dimension is open says what the batch is called.
static const dq_value *open_batch(const dq_graph *graph) {
  for (int i = 0; i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    if (!input->constant && input->rank > 0 && input->dims[0].size < 0) return input;
  }
  return NULL;
}

// Shapes of all inputs that have the batch anywhere, at `batch`; the user's own come first.
static dq_status batch_request(const analysis *a, const dq_shape_request *given, int64_t batch,
                               const char *symbol, dq_shape_request *request, dq_error *error) {
  const dq_graph *graph = a->graph;
  int count = given ? given->input_count : 0;
  dq_input_shape *shapes = DQ_NEW_ARRAY(a->arena, count + graph->input_count + 1, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, sizeof *shapes);
  for (int i = 0; i < count; i++) shapes[i] = given->inputs[i];
  for (int i = 0; symbol && i < graph->input_count; i++) {
    const dq_value *input = graph->inputs[i];
    if (input->constant || input->rank < 1 || input->rank > DQ_MAX_RANK) continue;
    dq_input_shape shape = {.name = input->name, .rank = input->rank};
    bool known = true;
    for (int d = 0; d < input->rank; d++) {
      const dq_dimension *dim = &input->dims[d];
      bool is_batch = dim->size < 0 && dim->symbol && !strcmp(dim->symbol, symbol);
      shape.dims[d] = is_batch || (d == 0 && dim->size < 0) ? batch : dim->size;
      known &= shape.dims[d] >= 0;
    }
    if (known) shapes[count++] = shape;
  }
  *request = (dq_shape_request){.batch = batch, .inputs = shapes, .input_count = count};
  return DQ_OK;
}

static dq_status infer_shapes(analysis *a, const dq_shape_request *given, dq_error *error) {
  const dq_value *input = open_batch(a->graph);
  const char *symbol = input ? input->dims[0].symbol : NULL;
  int64_t batch = given && given->batch ? given->batch : 1;
  dq_shape_request request;
  DQ_TRY(batch_request(a, given, batch, symbol, &request, error));
  DQ_TRY(dq_infer(a->graph, &request, true, a->context, a->arena, &a->single, error));
  if (!input || (given && (given->batch || given->input_count))) return DQ_OK;
  a->symbol = symbol && strlen(symbol) <= SYMBOL_LENGTH ? symbol : "N";
  DQ_TRY(batch_request(a, given, 2 * batch, symbol, &request, error));
  // A model whose reshapes fix the batch fails here: what follows the failure keeps plain numbers.
  dq_error ignored = {0};
  dq_infer(a->graph, &request, true, a->context, a->arena, &a->twice, &ignored);
  return DQ_OK;
}

// ---- Texts ----

static const char *shape_text(const analysis *a, const dq_value *value) {
  char text[SHAPE_TEXT] = "";
  size_t at = 0;
  const dq_tensor *one = &a->single[value->index];
  const dq_tensor *two = a->twice ? &a->twice[value->index] : NULL;
  bool declared = one->rank < 0;
  int rank = declared ? value->rank : one->rank;
  if (rank < 0) return "?";
  if (!rank) return "scalar";
  for (int d = 0; d < rank && at < sizeof text; d++) {
    char *to = text + at;
    size_t room = sizeof text - at;
    const char *cross = d ? "x" : "";
    int64_t size = declared ? value->dims[d].size : one->dims[d];
    int length;
    if (size < 0)
      length =
          snprintf(to, room, "%s%.16s", cross, value->dims[d].symbol ? value->dims[d].symbol : "?");
    else if (!declared && a->symbol && two && two->rank == rank && two->dims[d] == 2 * size && size)
      length = size == 1 ? snprintf(to, room, "%s%s", cross, a->symbol)
                         : snprintf(to, room, "%s%" PRId64 "%s", cross, size, a->symbol);
    else length = snprintf(to, room, "%s%" PRId64, cross, size);
    at += (size_t)length;
  }
  return dq_arena_strdup(a->arena, text);
}

static int value_type(const analysis *a, const dq_value *value) {
  if (!value) return 0;
  int type = a->single[value->index].type;
  return type ? type : value->type;
}

static bool is_dequantize(const dq_node *node) {
  return node && !strcmp(node->op_type, "DequantizeLinear");
}

// The type whose values a value really holds: what a DequantizeLinear in front of it reads.
static int held_type(const analysis *a, const dq_value *value) {
  if (value && is_dequantize(value->producer)) value = dq_node_input(value->producer, 0);
  return value_type(a, value);
}

static bool is_eight_bit(int type) {
  return type == DQ_I8 || type == DQ_U8;
}

static const char *precision_name(int type) {
  switch (type) {
  case DQ_F32:
    return "fp32";
  case DQ_F16:
    return "fp16";
  case DQ_F64:
    return "fp64";
  case DQ_BF16:
    return "bf16";
  case DQ_I8:
  case DQ_U8:
    return "int8";
  case DQ_I16:
  case DQ_U16:
    return "int16";
  case DQ_I4:
  case DQ_U4:
    return "int4";
  default:
    return NULL;
  }
}

// ---- Constants ----

static bool is_float(int type) {
  return type == DQ_F32 || type == DQ_F16 || type == DQ_F64;
}

static bool is_weight(int type) {
  int bits = dq_dtype_bits(type);
  return is_float(type) || (type != DQ_BOOL && bits > 0 && bits <= 16) || type == DQ_I32;
}

// Elements of types whose size is not known (text) count as no bytes.
static int64_t stored_bytes(const dq_tensor *tensor) {
  int64_t bits;
  if (!dq_mul_i64(dq_tensor_count(tensor), dq_dtype_bits(tensor->type), &bits)) return INT64_MAX;
  return bits / 8 + (bits % 8 != 0);
}

// A node that only prepares a constant for another one: its constants belong to that node.
static const dq_node *served_by(const dq_node *node) {
  static const char *const servants[] = {"DequantizeLinear", "Cast", "Transpose", "Identity"};
  const dq_value *input = dq_node_input(node, 0), *output = dq_node_output(node, 0);
  bool servant = false;
  for (size_t i = 0; i < sizeof servants / sizeof *servants; i++)
    servant |= !strcmp(node->op_type, servants[i]);
  if (!servant || !input || !input->constant || !output || output->user_count < 1) return node;
  return output->users[0];
}

static void own_constants(analysis *a, const dq_node *node) {
  dq_cost_node *owner = &a->cost->nodes[served_by(node)->index];
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *value = node->inputs[i];
    if (!value || !value->constant || a->owned[value->index]) continue;
    a->owned[value->index] = true;
    if (is_weight(value->constant->type))
      owner->parameters = add_clamped(owner->parameters, dq_tensor_count(value->constant));
    owner->parameter_bytes = add_clamped(owner->parameter_bytes, stored_bytes(value->constant));
  }
}

// The elements of a Constant node, which some exporters use instead of initializers.
static void count_constant_node(analysis *a, dq_cost_node *row) {
  const dq_tensor *tensor =
      dq_node_is(row->node, "Constant") ? dq_node_tensor(row->node, "value") : NULL;
  if (!tensor) return;
  int64_t count = dq_tensor_count(tensor);
  if (is_weight(tensor->type)) row->parameters = add_clamped(row->parameters, count);
  row->parameter_bytes = add_clamped(row->parameter_bytes, stored_bytes(tensor));
  a->cost->parameters = add_clamped(a->cost->parameters, count);
  a->cost->parameter_bytes = add_clamped(a->cost->parameter_bytes, stored_bytes(tensor));
}

static void count_initializers(analysis *a) {
  dq_cost *cost = a->cost;
  for (int i = 0; i < a->graph->initializer_count; i++) {
    const dq_tensor *tensor = a->graph->initializers[i]->constant;
    int64_t count = dq_tensor_count(tensor);
    if (is_float(tensor->type)) cost->float_parameters = add_clamped(cost->float_parameters, count);
    cost->parameters = add_clamped(cost->parameters, count);
    cost->parameter_bytes = add_clamped(cost->parameter_bytes, stored_bytes(tensor));
  }
}

// ---- Rows ----

// Which two inputs are multiplied, for operators that have multiply-accumulates.
static void multiplied(const dq_node *node, int *left, int *right) {
  bool with_scales = !strcmp(node->op_type, "QLinearConv") ||
                     !strcmp(node->op_type, "QLinearMatMul") || !strcmp(node->op_type, "QGemm");
  *left = 0;
  *right = with_scales ? 3 : 1;
}

static const char *precision_text(const analysis *a, const dq_node *node, bool multiplies) {
  int left = 0, right = 1;
  if (multiplies) multiplied(node, &left, &right);
  const char *input = precision_name(held_type(a, dq_node_input(node, left)));
  const char *weight =
      multiplies ? precision_name(held_type(a, dq_node_input(node, right))) : input;
  if (!input) input = precision_name(value_type(a, dq_node_output(node, 0)));
  if (!input) return "";
  if (!weight || !strcmp(input, weight)) return input;
  return dq_arena_printf(a->arena, "%s, %s weights", input, weight);
}

static dq_status cost_of_node(analysis *a, const dq_node *node, dq_cost_node *row,
                              dq_error *error) {
  dq_op op;
  dq_error problem = {0};
  dq_status status = dq_op_bind(&op, a->graph, node, a->single, a->context, a->arena, &problem);
  if (status == DQ_UNSUPPORTED) {
    row->problem = dq_arena_strdup(a->arena, problem.message);
    return row->problem ? DQ_OK : dq_fail_memory(error, sizeof problem.message);
  }
  if (status != DQ_OK) {
    if (error) *error = problem;
    return status;
  }
  bool shapes = true;
  for (int i = 0; i < op.output_count; i++) shapes &= !op.outputs[i] || op.outputs[i]->rank >= 0;
  row->macs_known = !op.row->macs || shapes;
  if (!op.row->macs) return DQ_OK;
  if (shapes) row->macs = op.row->macs(&op);
  int left, right;
  multiplied(node, &left, &right);
  row->int8 = is_eight_bit(held_type(a, dq_node_input(node, left))) &&
              is_eight_bit(held_type(a, dq_node_input(node, right)));
  row->precision = precision_text(a, node, true);
  return DQ_OK;
}

static dq_status fill_row(analysis *a, int n, dq_error *error) {
  const dq_node *node = a->graph->nodes[n];
  dq_cost *cost = a->cost;
  dq_cost_node *row = &cost->nodes[n];
  const dq_value *output = dq_node_output(node, 0);
  row->node = node;
  row->label = node->name[0] || !output ? node->name : output->name;
  row->shape = output ? shape_text(a, output) : "";
  row->input_type = value_type(a, dq_node_input(node, 0));
  row->output_type = value_type(a, output);
  DQ_TRY(cost_of_node(a, node, row, error));
  if (!row->precision) row->precision = precision_text(a, node, false);
  if (!row->shape || !row->precision) return dq_fail_memory(error, SHAPE_TEXT);
  for (int i = 0; i < node->output_count; i++) {
    const dq_tensor *tensor = node->outputs[i] ? &a->single[node->outputs[i]->index] : NULL;
    if (tensor && tensor->rank >= 0 && strcmp(node->op_type, "Constant"))
      row->activation_bytes = add_clamped(row->activation_bytes, (int64_t)dq_tensor_bytes(tensor));
  }
  own_constants(a, node);
  count_constant_node(a, row);
  cost->macs = add_clamped(cost->macs, row->macs);
  if (row->int8) cost->int8_macs = add_clamped(cost->int8_macs, row->macs);
  cost->macs_complete &= row->macs_known;
  cost->activation_bytes = add_clamped(cost->activation_bytes, row->activation_bytes);
  cost->unsupported += row->problem != NULL;
  return DQ_OK;
}

// ---- Totals ----

static int by_type(const void *left, const void *right) {
  const dq_cost_operator *a = left, *b = right;
  int order = strcmp(a->op_type, b->op_type);
  return order ? order : strcmp(a->domain, b->domain);
}

static int by_count(const void *left, const void *right) {
  const dq_cost_operator *a = left, *b = right;
  return a->count != b->count ? (a->count < b->count ? 1 : -1) : by_type(a, b);
}

static dq_status count_operators(analysis *a, dq_error *error) {
  dq_cost *cost = a->cost;
  dq_cost_operator *all = DQ_NEW_ARRAY(a->arena, cost->node_count + 1, dq_cost_operator);
  if (!all) return dq_fail_memory(error, sizeof *all);
  for (int n = 0; n < cost->node_count; n++) {
    const dq_cost_node *row = &cost->nodes[n];
    all[n] = (dq_cost_operator){row->node->domain, row->node->op_type, 1, row->macs};
  }
  qsort(all, (size_t)cost->node_count, sizeof *all, by_type);
  int count = 0;
  for (int n = 0; n < cost->node_count; n++) {
    if (count && !by_type(&all[count - 1], &all[n])) {
      all[count - 1].count++;
      all[count - 1].macs = add_clamped(all[count - 1].macs, all[n].macs);
    } else {
      all[count++] = all[n];
    }
  }
  qsort(all, (size_t)count, sizeof *all, by_count);
  cost->operators = all;
  cost->operator_count = count;
  return DQ_OK;
}

// What running would need. A model that cannot be run has no such figure; the rows say why.
static dq_status find_live_memory(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                                  const dq_context *context, dq_error *error) {
  if (cost->unsupported) return DQ_OK;
  dq_session session;
  dq_session_options options = {.shapes = request ? *request : (dq_shape_request){0}};
  dq_error problem = {0};
  dq_status status = dq_session_open(&session, graph, &options, context, &problem);
  if (status == DQ_CANCELLED) {
    if (error) *error = problem;
    return status;
  }
  if (status != DQ_OK) {
    dq_message(context, DQ_WARNING, "live memory is not known: %s", problem.message);
    return DQ_OK;
  }
  dq_plan_memory memory = dq_plan_memory_of(session.plan);
  cost->live_bytes = (int64_t)memory.live;
  cost->planned_bytes = (int64_t)memory.block;
  dq_session_close(&session);
  return DQ_OK;
}

dq_status dq_cost_count(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                        const dq_context *context, dq_arena *arena, dq_error *error) {
  *cost = (dq_cost){.node_count = graph->node_count, .file_bytes = -1, .live_bytes = -1,
                    .planned_bytes = -1, .macs_complete = true};
  analysis a = {.cost = cost, .graph = graph, .context = context, .arena = arena};
  cost->nodes = DQ_NEW_ARRAY(arena, graph->node_count + 1, dq_cost_node);
  a.owned = DQ_NEW_ARRAY(arena, graph->value_count + 1, bool);
  if (!cost->nodes || !a.owned) return dq_fail_memory(error, (size_t)graph->node_count);
  DQ_TRY(infer_shapes(&a, request, error));
  cost->batch_symbol = a.symbol;
  cost->opset = dq_graph_opset(graph, "");
  struct stat status;
  if (graph->path[0] && strcmp(graph->path, "-") && !stat(graph->path, &status))
    cost->file_bytes = (int64_t)status.st_size;
  count_initializers(&a);
  for (int n = 0; n < graph->node_count; n++) DQ_TRY(fill_row(&a, n, error));
  return count_operators(&a, error);
}

dq_status dq_cost_analyse(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                          const dq_context *context, dq_arena *arena, dq_error *error) {
  DQ_TRY(dq_cost_count(cost, graph, request, context, arena, error));
  return find_live_memory(cost, graph, request, context, error);
}
