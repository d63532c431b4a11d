// Which values are quantized: by the quantization rule of each operator's row.
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/graph/patterns.h"
#include "quant/int8/stages.h"
#include "quant/rewrite/divisors.h"
#include "quant/rewrite/function_numbers.h"

dq_status dq_int8_open_tables(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  job->value_count = graph->value_count;
  job->choices = DQ_NEW_ARRAY(job->arena, graph->value_count, dq_value_choice);
  job->report->layers = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_int8_layer);
  if (!job->choices || !job->report->layers) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < graph->value_count; v++)
    job->choices[v] = (dq_value_choice){.shares = v, .slot = -1, .original = graph->values[v]->name};
  for (int n = 0; n < graph->node_count; n++) graph->nodes[n]->mark = 0;
  return dq_infer(graph, &job->in->options->shapes, DQ_INFER_TOLERANT, job->in->context, job->arena, &job->tensors,
                  job->error);
}

// What Pad fills with may be infinite, as in front of MaxPool: it belongs to no range, and the pair behind clamps it.
static bool is_fill(const dq_node *node, int i) { return i == 2 && dq_node_is(node, "Pad"); }

dq_status dq_int8_check_weights(const dq_graph *graph, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    for (int i = 0; node->mark && i < node->input_count; i++) {
      const dq_value *value = node->inputs[i];
      bool weight = value && value->constant && value->constant->data && value->constant->type == DQ_F32;
      if (weight && !is_fill(node, i)) DQ_TRY(dq_check_finite(value->constant, value->name, error));
    }
  }
  return DQ_OK;
}

static bool is_float(const dq_int8_job *job, const dq_value *value) {
  return value && job->tensors[value->index].type == DQ_F32;
}

bool dq_int8_is_weight(const dq_int8_job *job, const dq_node *node, int i) {
  const dq_value *value = dq_node_input(node, i);
  return i == 1 && is_float(job, value) && value->constant && value->constant->data;
}

dq_int8_layer *dq_int8_layer_of(const dq_int8_job *job, const char *output) {
  const dq_value *value = dq_graph_find(job->graph, output);
  const int layer = value && value->index < job->value_count ? job->choices[value->index].layer : 0;
  return layer ? &job->report->layers[layer - 1] : NULL;
}

static int root_of(const dq_int8_job *job, int value) {
  dq_value_choice *choices = job->choices;
  while (choices[value].shares != value) // paths are halved, so that long chains cost no more than short ones
    value = choices[value].shares = choices[choices[value].shares].shares;
  return value;
}

static void mark(dq_int8_job *job, const dq_value *value) {
  dq_value_choice *choice = &job->choices[value->index];
  choice->quantized = true;
  choice->constant = value->constant != NULL;
}

static void mark_shared(dq_int8_job *job, const dq_value *value, const dq_value *with) {
  mark(job, value);
  job->choices[value->index].shares = root_of(job, with->index);
}

static bool matches(const char *const *patterns, int count, const dq_node *node) {
  for (int i = 0; i < count; i++)
    if (dq_pattern_fits(patterns[i], node)) return true;
  return false;
}

static bool is_listed(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!fnmatch(names[i], name, 0)) return true;
  return false;
}

static bool is_excluded(const dq_int8_options *options, const dq_node *node) {
  return matches(options->exclude, options->exclude_count, node) ||
         (options->only_count && !matches(options->only, options->only_count, node)) ||
         (options->operator_count && !is_listed(options->operators, options->operator_count, node->op_type));
}

bool dq_int8_may_be_gemm(const void *user, const dq_node *layer, const dq_node *sum) {
  const dq_int8_options *options = user;
  dq_node gemm = *layer;
  gemm.op_type = "Gemm";
  if (is_excluded(options, layer) || is_excluded(options, &gemm)) return false;
  return !sum || !is_excluded(options, sum);
}

// Reasons of float16 and float32, the latter of a file and of a search, which leaves layers in float32.
static const char by_half[] = "float16 by --precision";
static const char *const by_float[] = {"float32 by --precision", "float32 by the search"};

static bool is_half(const char *reason) { return reason == by_half; }

// Why the user wants a node left in float; NULL: not so.
static const char *left_in_float(const dq_int8_job *job, const dq_node *node) {
  const dq_int8_options *options = job->in->options;
  const dq_layer_precision *given = dq_precision_find(&job->in->precisions, node);
  _Static_assert(DQ_PRECISIONS == 3, "a layer that is neither float16 nor float32 is in 8 bits");
  if (given && given->precision == DQ_PRECISION_FP16) return by_half;
  if (given && given->precision == DQ_PRECISION_FP32) return by_float[options->precision_found];
  return is_excluded(options, node) ? "excluded" : NULL;
}

// A Relu or Clip that belongs to a product which is left in float stays with it: quantizing between the
// two would cost and bring nothing.
static const char *left_with_product(const dq_int8_job *job, const dq_node *node) {
  const dq_value *input = node->inputs[0];
  const dq_node *producer = input->producer;
  bool product = dq_quantization_of(producer) == DQ_QUANTIZE_COMPUTE;
  return product && dq_is_private(input) && !dq_precision_find(&job->in->precisions, node)
             ? left_in_float(job, producer)
             : NULL;
}

// A function and what belongs to it are one table: where a part of it is left in float, rounding in between would cost
// and bring nothing.
static const char *left_with_function(const dq_int8_job *job, const dq_node *node) {
  const dq_node *parts[DQ_FUNCTION_PARTS];
  const char *wish = NULL;
  if (!dq_is_in_function(node) || dq_precision_find(&job->in->precisions, node)) return NULL;
  int count = dq_function_parts(node, parts);
  for (int i = 0; i < count && !wish; i++) wish = left_in_float(job, parts[i]);
  return wish;
}

static bool is_marked(const dq_int8_job *job, const dq_value *value) {
  return value && job->choices[value->index].quantized;
}

// Relu and Clip take the place of the value they follow: only their result is quantized, and what shared
// the value's parameters (parts of a Concat) takes those of the result. So does one function of another:
// the two are one table, or run in float together.
static bool can_absorb(const dq_int8_job *job, const dq_node *node) {
  const dq_value *input = node->inputs[0];
  const dq_node *producer = input->producer;
  return dq_is_private(input) && producer && producer->mark && is_marked(job, input) &&
         job->choices[input->index].shares == input->index;
}

static bool absorb(dq_int8_job *job, const dq_node *node) {
  const dq_value *input = node->inputs[0];
  if (!can_absorb(job, node)) return false;
  job->choices[input->index].quantized = false;
  job->choices[input->index].shares = node->outputs[0]->index;
  mark(job, node->outputs[0]);
  return true;
}

static bool joins(const dq_node *node) { return dq_node_flags(node) & DQ_OP_JOIN; }

// Whether the result of a node is only moved on its way to outputs of the graph: nothing computes with
// it, so that 8 bits would cost accuracy and bring nothing.
static bool only_gathers_outputs(const dq_node *node) {
  const dq_value *value = node->outputs[0];
  for (int u = 0; u < value->user_count; u++) {
    bool moves = dq_quantization_of(value->users[u]) == DQ_QUANTIZE_SHARE || joins(value->users[u]);
    if (!moves || !only_gathers_outputs(value->users[u])) return false;
  }
  return value->user_count > 0 || value->is_output;
}

// A part that nothing but the Concat reads is rounded once, to the numbers of the result.
static void share_parts(dq_int8_job *job, const dq_node *concat) {
  int result = concat->outputs[0]->index;
  for (int i = 0; i < concat->input_count; i++) {
    const dq_value *part = concat->inputs[i];
    dq_value_choice *choice = &job->choices[part->index];
    bool own = dq_is_private(part) && part->producer && part->producer->mark && choice->shares == part->index;
    if (own) choice->shares = result;
  }
}

// Runtimes have matrix products of integers that write float, but no such convolutions.
static bool writes_float(const dq_node *node) {
  dq_product product;
  return dq_product_of(node, &product) && product.kind == DQ_MATRIX_PRODUCT && only_gathers_outputs(node);
}

static const char *select_compute(dq_int8_job *job, const dq_node *node) {
  const dq_value *weight = dq_node_input(node, 1);
  if (weight->constant && !dq_int8_is_weight(job, node, 1)) return "weight is not float32";
  dq_product product;
  if (!weight->constant && !(dq_product_of(node, &product) && product.computed_weight)) return "weight is not constant";
  mark(job, node->inputs[0]);
  if (!weight->constant) mark(job, weight);
  if (!writes_float(node) && !job->choices[node->outputs[0]->index].divides) mark(job, node->outputs[0]);
  return NULL;
}

static const char *select_combine(dq_int8_job *job, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !is_float(job, node->inputs[i])) return "an input is not float32";
  if (only_gathers_outputs(node)) return "only gathers outputs";
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i]) mark(job, node->inputs[i]);
  mark(job, node->outputs[0]);
  if (joins(node)) share_parts(job, node);
  return NULL;
}

// All that reads a value computes on 8 bits, perhaps after moving it.
static bool leads_to_quantized(const dq_int8_job *job, const dq_value *value) {
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *user = value->users[u];
    dq_quantization rule = dq_quantization_of(user);
    if (left_in_float(job, user) || rule == DQ_QUANTIZE_NOT || rule == DQ_QUANTIZE_ABSORB) return false;
    if (rule == DQ_QUANTIZE_SHARE && !leads_to_quantized(job, user->outputs[0])) return false;
    if (joins(user) && (only_gathers_outputs(user) || !leads_to_quantized(job, user->outputs[0]))) return false;
  }
  return value->user_count > 0 && !value->is_output;
}

// An input of the network that is moved first (slices, transposed, padded) is quantized before that.
static const char *select_share(dq_int8_job *job, const dq_node *node) {
  const dq_value *input = node->inputs[0];
  if (!is_marked(job, input) && !(input->is_input && leads_to_quantized(job, node->outputs[0]))) return "";
  mark(job, input);
  mark_shared(job, node->outputs[0], input);
  return NULL;
}

// Operands other than the first that a function has: slopes, means, variances.
static bool has_constants(const dq_int8_job *job, const dq_node *node) {
  for (int i = 1; i < node->input_count; i++)
    if (node->inputs[i] && !(is_float(job, node->inputs[i]) && node->inputs[i]->constant)) return false;
  return true;
}

// A result that is computed from constants and shapes alone costs nothing at run time.
static bool is_known(const dq_int8_job *job, const dq_node *node) {
  for (int i = 0; i < node->output_count; i++)
    if (node->outputs[i] && !job->tensors[node->outputs[i]->index].data) return false;
  return true;
}

// Nothing multiplies what is computed behind the last products: 8 bits would cost accuracy and save next to nothing. A
// Relu or Clip that narrows the range of a product belongs to the product.
static bool is_left_behind_products(const dq_int8_job *job, const dq_node *node, dq_quantization rule) {
  if (!job->choices[node->outputs[0]->index].behind_products || rule == DQ_QUANTIZE_COMPUTE ||
      rule == DQ_QUANTIZE_SHARE)
    return false;
  return rule != DQ_QUANTIZE_ABSORB || !can_absorb(job, node);
}

// What divides, and what only makes divisors: 8 bits would round them to 0, beside the epsilon that keeps them from it.
static bool is_divisor(const dq_int8_job *job, const dq_node *node, dq_quantization rule) {
  if (rule == DQ_QUANTIZE_COMPUTE || rule == DQ_QUANTIZE_SHARE) return false;
  return job->choices[node->outputs[0]->index].divides || dq_divides_by(node, node->inputs[0]);
}

// Why the node stays in float where it stands; NULL: not so, or a file of precisions has it in 8 bits.
static const char *left_at_place(const dq_int8_job *job, const dq_node *node, dq_quantization rule) {
  const dq_layer_precision *given = dq_precision_find(&job->in->precisions, node);
  if (given && given->precision == DQ_PRECISION_INT8) return NULL;
  if (is_left_behind_products(job, node, rule)) return "behind the last product";
  return is_divisor(job, node, rule) ? "divides" : NULL;
}

// NULL when the node is quantized, else the reason why not; "" when there is nothing to say.
static const char *select_node(dq_int8_job *job, const dq_node *node, dq_quantization rule) {
  if (rule == DQ_QUANTIZE_NOT || (dq_node_output(node, 0) && job->choices[node->outputs[0]->index].before_levels))
    return "";
  if (!node->input_count || !is_float(job, dq_node_input(node, 0)) || !dq_node_output(node, 0)) return "";
  if (is_known(job, node)) return "";
  const char *wish = left_in_float(job, node);
  if (!wish && rule == DQ_QUANTIZE_ABSORB) wish = left_with_product(job, node);
  if (!wish) wish = left_with_function(job, node);
  if (wish) return wish;
  const char *place = left_at_place(job, node, rule);
  if (place) return place;
  if (dq_is_in_function(node)) rule = DQ_QUANTIZE_TABLE;
  switch (rule) {
  case DQ_QUANTIZE_COMPUTE: return select_compute(job, node);
  case DQ_QUANTIZE_COMBINE: return select_combine(job, node);
  case DQ_QUANTIZE_SHARE: return select_share(job, node);
  case DQ_QUANTIZE_TABLE:
    if (!has_constants(job, node)) return "an operand is not constant";
    if (node->output_count > 1 || dq_node_int(node, "training_mode", 0)) return "training";
    if (dq_is_in_function(node->inputs[0]->producer) && absorb(job, node)) return NULL;
    break;
  case DQ_QUANTIZE_ABSORB:
    if (absorb(job, node)) return NULL;
    break;
  default: break;
  }
  mark(job, node->inputs[0]);
  mark(job, node->outputs[0]);
  return NULL;
}

static dq_status report_node(dq_int8_job *job, const dq_node *node, const char *reason) {
  if (reason && !reason[0]) return DQ_OK;
  char label[DQ_LABEL_TEXT];
  dq_int8_layer *layer = &job->report->layers[job->report->count++];
  layer->name =
      node->name[0] ? node->name : dq_arena_strdup(job->graph->arena, dq_node_label(node, label, sizeof label));
  layer->op_type = node->op_type;
  layer->label = dq_node_name(node);
  layer->precision = !reason ? DQ_PRECISION_INT8 : is_half(reason) ? DQ_PRECISION_FP16 : DQ_PRECISION_FP32;
  layer->output = node->outputs[0]->name;
  job->choices[node->outputs[0]->index].layer = job->report->count;
  if (!layer->name) return dq_fail_memory(job->error, sizeof label);
  snprintf(layer->reason, sizeof layer->reason, "%s", reason ? reason : "");
  job->report->quantized += !reason;
  if (is_half(reason)) job->halves[job->half_count++] = layer->label;
  return DQ_OK;
}

dq_status dq_int8_select(dq_int8_job *job) {
  dq_graph *graph = job->graph;
  dq_node **order = DQ_NEW_ARRAY(job->arena, graph->node_count, dq_node *);
  job->halves = DQ_NEW_ARRAY(job->arena, graph->node_count, const char *);
  job->half_count = 0;
  if (!order || !job->halves) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_graph_order(graph, order, job->error));
  for (int n = 0; n < graph->node_count; n++) {
    const dq_operator *row = dq_operator_find(order[n]->domain, order[n]->op_type);
    const char *reason = row ? select_node(job, order[n], row->quantization) : "";
    order[n]->mark = !reason;
    DQ_TRY(report_node(job, order[n], reason));
  }
  for (int v = 0; v < job->value_count; v++) job->choices[v].shares = root_of(job, v);
  return DQ_OK;
}
