// Static analysis of a model: shapes, then one row per node.
#include "lib/measure/cost.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/sizes.h"
#include "lib/measure/symbolic.h"
#include "lib/session/session.h"

typedef struct analysis {
  dq_cost *cost;
  const dq_graph *graph;
  const dq_context *context;
  dq_arena *arena;
  dq_symbolic symbolic;
  dq_tensor *shapes; // by value: symbolic.at
  bool *owned;       // by value: a node counted this constant already
} analysis;

// ---- Shapes ----

static dq_status infer_shapes(analysis *a, const dq_shape_request *given, dq_error *error) {
  dq_cost *cost = a->cost;
  DQ_TRY(dq_sizes_assume(&cost->sizes, a->graph, given, a->context, a->arena, error));
  dq_status status = dq_symbolic_infer(&a->symbolic, a->graph, &cost->sizes, given, a->context, a->arena, error);
  a->shapes = a->symbolic.at;
  return status;
}

// ---- Types ----

static int value_type(const analysis *a, const dq_value *value) {
  if (!value) return 0;
  int type = a->shapes[value->index].type;
  return type ? type : value->type;
}

static bool is_dequantize(const dq_node *node) { return node && !strcmp(node->op_type, "DequantizeLinear"); }

// The type whose values a value really holds: what a DequantizeLinear in front of it reads.
static int held_type(const analysis *a, const dq_value *value) {
  if (value && is_dequantize(value->producer)) value = dq_node_input(value->producer, 0);
  return value_type(a, value);
}

static const char *precision_name(int type) {
  switch (type) {
  case DQ_F32: return "fp32";
  case DQ_F16: return "fp16";
  case DQ_F64: return "fp64";
  case DQ_BF16: return "bf16";
  case DQ_I8:
  case DQ_U8: return "int8";
  case DQ_I16:
  case DQ_U16: return "int16";
  case DQ_I4:
  case DQ_U4: return "int4";
  default: return NULL;
  }
}

// ---- Constants ----

static bool is_weight(int type) {
  int bits = dq_dtype_bits(type);
  return dq_dtype_is_float(type) || (type != DQ_BOOL && bits > 0 && bits <= 16) || type == DQ_I32;
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
  for (int i = 0; i < DQ_COUNT(servants); i++) servant |= !strcmp(node->op_type, servants[i]);
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
      owner->parameters = dq_add_clamped_i64(owner->parameters, dq_tensor_count(value->constant));
    owner->parameter_bytes = dq_add_clamped_i64(owner->parameter_bytes, stored_bytes(value->constant));
  }
}

// The elements of a Constant node, which some exporters use instead of initializers.
static void count_constant_node(analysis *a, dq_cost_node *row) {
  const dq_tensor *tensor = dq_node_is(row->node, "Constant") ? dq_node_tensor(row->node, "value") : NULL;
  if (!tensor) return;
  int64_t count = dq_tensor_count(tensor);
  if (is_weight(tensor->type)) row->parameters = dq_add_clamped_i64(row->parameters, count);
  row->parameter_bytes = dq_add_clamped_i64(row->parameter_bytes, stored_bytes(tensor));
  a->cost->parameters = dq_add_clamped_i64(a->cost->parameters, count);
  a->cost->parameter_bytes = dq_add_clamped_i64(a->cost->parameter_bytes, stored_bytes(tensor));
}

static void count_initializers(analysis *a) {
  dq_cost *cost = a->cost;
  for (int i = 0; i < a->graph->initializer_count; i++) {
    const dq_tensor *tensor = a->graph->initializers[i]->constant;
    int64_t count = dq_tensor_count(tensor);
    if (dq_dtype_is_float(tensor->type)) cost->float_parameters = dq_add_clamped_i64(cost->float_parameters, count);
    cost->parameters = dq_add_clamped_i64(cost->parameters, count);
    cost->parameter_bytes = dq_add_clamped_i64(cost->parameter_bytes, stored_bytes(tensor));
  }
}

// ---- Rows ----

// Which two inputs are multiplied, for operators that have multiply-accumulates.
static void multiplied(const dq_node *node, int *left, int *right) {
  dq_product product;
  bool found = dq_product_of(node, &product);
  *left = found ? product.at.data : 0;
  *right = found ? product.at.weight : 1;
}

static const char *precision_text(const analysis *a, const dq_node *node, bool multiplies) {
  int left = 0, right = 1;
  if (multiplies) multiplied(node, &left, &right);
  const char *input = precision_name(held_type(a, dq_node_input(node, left)));
  const char *weight = multiplies ? precision_name(held_type(a, dq_node_input(node, right))) : input;
  if (!input) input = precision_name(value_type(a, dq_node_output(node, 0)));
  if (!input) return "";
  if (!weight || !strcmp(input, weight)) return input;
  return dq_arena_printf(a->arena, "%s, %s weights", input, weight);
}

// Whether all shapes of a node are known, and not only declared against each other.
static bool are_known(dq_op *op, dq_arena *arena) {
  dq_error ignored = {0};
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->rank < 0) return false;
  dq_tensor *again = DQ_NEW_ARRAY(arena, op->output_count, dq_tensor);
  for (int i = 0; again && i < op->output_count; i++) {
    if (!op->outputs[i]) continue;
    if (op->outputs[i]->rank < 0) return false;
    again[i] = *op->outputs[i];
    op->outputs[i] = &again[i];
  }
  dq_error *error = op->error;
  op->error = &ignored;
  bool known = again && dq_op_infer(op) == DQ_OK;
  op->error = error;
  return known;
}

static dq_status cost_of_node(analysis *a, const dq_node *node, dq_cost_node *row, dq_error *error) {
  dq_op op;
  dq_error problem = {0};
  dq_status status = dq_op_bind(&op, a->graph, node, a->shapes, a->context, a->arena, &problem);
  if (status == DQ_UNSUPPORTED) {
    row->problem = dq_arena_strdup(a->arena, problem.message);
    return row->problem ? DQ_OK : dq_fail_memory(error, sizeof problem.message);
  }
  if (status != DQ_OK) {
    if (error) *error = problem;
    return status;
  }
  row->macs_known = !op.row->macs;
  if (!op.row->macs) return DQ_OK;
  if ((row->macs_known = are_known(&op, a->arena))) row->macs = op.row->macs(&op);
  int left, right;
  multiplied(node, &left, &right);
  row->int8 = dq_dtype_is_8_bit(held_type(a, dq_node_input(node, left))) &&
              dq_dtype_is_8_bit(held_type(a, dq_node_input(node, right)));
  row->precision = precision_text(a, node, true);
  return DQ_OK;
}

static dq_status fill_row(analysis *a, int n, dq_error *error) {
  const dq_node *node = a->graph->nodes[n];
  dq_cost *cost = a->cost;
  dq_cost_node *row = &cost->nodes[n];
  const dq_value *output = dq_node_output(node, 0);
  row->node = node;
  row->label = dq_node_name(node);
  row->shape = output ? dq_symbolic_shape(&a->symbolic, output, a->arena) : "";
  row->input_type = value_type(a, dq_node_input(node, 0));
  row->output_type = value_type(a, output);
  DQ_TRY(cost_of_node(a, node, row, error));
  if (!row->precision) row->precision = precision_text(a, node, false);
  bool described = dq_cost_window_of(&row->window, node, a->shapes, a->arena);
  if (!row->shape || !row->precision || !described) return dq_fail_memory(error, sizeof *row);
  for (int i = 0; i < node->output_count; i++) {
    const dq_tensor *tensor = node->outputs[i] ? &a->shapes[node->outputs[i]->index] : NULL;
    row->incomplete |= tensor && tensor->rank < 0;
    if (tensor && tensor->rank >= 0 && strcmp(node->op_type, "Constant"))
      row->activation_bytes = dq_add_clamped_i64(row->activation_bytes, (int64_t)dq_tensor_bytes(tensor));
  }
  own_constants(a, node);
  count_constant_node(a, row);
  cost->macs = dq_add_clamped_i64(cost->macs, row->macs);
  if (row->int8) cost->int8_macs = dq_add_clamped_i64(cost->int8_macs, row->macs);
  cost->macs_complete &= row->macs_known;
  cost->activation_bytes = dq_add_clamped_i64(cost->activation_bytes, row->activation_bytes);
  cost->unsupported += row->problem != NULL;
  cost->bodies |= dq_node_has_body(node);
  row->incomplete |= !row->macs_known || dq_node_has_body(node);
  cost->incomplete += row->incomplete;
  return DQ_OK;
}

// ---- Inputs, outputs and open sizes ----

static bool add_port(const analysis *a, const dq_value *value, bool output) {
  const char *shape = dq_symbolic_shape(&a->symbolic, value, a->arena);
  a->cost->ports[a->cost->port_count++] =
      (dq_cost_port){.name = value->name, .type = value_type(a, value), .shape = shape, .output = output};
  return shape != NULL;
}

static dq_status describe_ports(const analysis *a, dq_error *error) {
  const dq_graph *graph = a->graph;
  int64_t count = (int64_t)graph->input_count + graph->output_count;
  a->cost->ports = DQ_NEW_ARRAY(a->arena, count + 1, dq_cost_port);
  bool done = a->cost->ports != NULL;
  for (int i = 0; done && i < graph->input_count; i++)
    done = graph->inputs[i]->constant || add_port(a, graph->inputs[i], false);
  for (int i = 0; done && i < graph->output_count; i++) done = add_port(a, graph->outputs[i], true);
  return done ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof *a->cost->ports);
}

static dq_status describe_sizes(const analysis *a, const dq_shape_request *given, dq_error *error) {
  dq_cost *cost = a->cost;
  const char *text = "";
  for (int i = 0; text && i < cost->sizes.count; i++) {
    const dq_open_size *open = &cost->sizes.open[i];
    if (open->dimension)
      text = dq_arena_printf(a->arena, "%s%s%s=%" PRId64, text, *text ? "," : "", open->name, open->size);
  }
  cost->sizes_text = text;
  cost->sizes_option = dq_sizes_option(&cost->sizes, a->graph, given, a->arena);
  return cost->sizes_text && cost->sizes_option ? DQ_OK : dq_fail_memory(error, sizeof *cost);
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
      all[count - 1].macs = dq_add_clamped_i64(all[count - 1].macs, all[n].macs);
    } else {
      all[count++] = all[n];
    }
  }
  qsort(all, (size_t)count, sizeof *all, by_count);
  cost->operators = all;
  cost->operator_count = count;
  return DQ_OK;
}

// What running would need on any machine. A model that cannot be run has no such figure; the rows say why.
static dq_status find_live_memory(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                                  const dq_context *context, dq_error *error) {
  if (cost->unsupported || !cost->sizes.fit) return DQ_OK;
  dq_session session;
  dq_session_options options = {.shapes = request ? *request : (dq_shape_request){0}};
  dq_error problem = {0};
  dq_status status = dq_session_schedule(&session, graph, &options, context, &problem);
  if (status == DQ_CANCELLED) {
    if (error) *error = problem;
    return status;
  }
  if (status != DQ_OK) {
    dq_message(context, DQ_WARNING, "live memory is not known: %s", problem.message);
    return DQ_OK;
  }
  cost->live_bytes = (int64_t)dq_schedule_live_bytes(session.schedule);
  cost->planned_bytes = (int64_t)dq_schedule_bytes(session.schedule);
  dq_session_close(&session);
  return DQ_OK;
}

dq_status dq_cost_count(dq_cost *cost, const dq_graph *graph, const dq_shape_request *request,
                        const dq_context *context, dq_arena *arena, dq_error *error) {
  *cost = (dq_cost){
      .node_count = graph->node_count, .file_bytes = -1, .live_bytes = -1, .planned_bytes = -1, .macs_complete = true};
  analysis a = {.cost = cost, .graph = graph, .context = context, .arena = arena};
  cost->nodes = DQ_NEW_ARRAY(arena, graph->node_count + 1, dq_cost_node);
  a.owned = DQ_NEW_ARRAY(arena, graph->value_count + 1, bool);
  if (!cost->nodes || !a.owned) return dq_fail_memory(error, (size_t)graph->node_count);
  DQ_TRY(infer_shapes(&a, request, error));
  DQ_TRY(describe_ports(&a, error));
  DQ_TRY(describe_sizes(&a, request, error));
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
  dq_shape_request sized;
  DQ_TRY(dq_cost_count(cost, graph, request, context, arena, error));
  DQ_TRY(dq_sizes_request(&cost->sizes, graph, request, -1, arena, &sized, error));
  return find_live_memory(cost, graph, &sized, context, error);
}
