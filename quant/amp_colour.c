// Colours of nodes, and which of them compute in float16.
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "quant/amp_internal.h"

// Inputs that stay float32 whatever the precision of the node, from the operators' type rules.
static const struct {
  const char *op_type;
  int first, last;
} float_inputs[] = {
    {"Resize", 1, 2}, // roi (also of the input's type, but read as coordinates), scales
    {"Upsample", 1, 1},
};

static bool is_float(const dq_amp_job *job, const dq_value *value) {
  return value && value->index < job->value_count && job->tensors[value->index].type == DQ_F32;
}

bool dq_amp_input_is_half(const dq_amp_job *job, const dq_node *node, int i) {
  if (!is_float(job, node->inputs[i])) return false;
  for (size_t r = 0; r < sizeof float_inputs / sizeof *float_inputs; r++)
    if (dq_node_is(node, float_inputs[r].op_type) && i >= float_inputs[r].first && i <= float_inputs[r].last)
      return false;
  return true;
}

static const char CHOSEN[] = "--allow"; // by the user, whatever the node reads

static bool is_listed(const char *const *names, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

static bool is_denied_by_name(const dq_amp_options *options, const dq_node *node) {
  for (int i = 0; i < options->deny_node_count; i++)
    if (!fnmatch(options->deny_nodes[i], node->name, 0)) return true;
  return false;
}

// With a list of nodes: those on it, and what follows.
static void choose_from_list(const dq_amp_options *options, const dq_node *node, const dq_operator *row,
                             dq_amp_node *entry) {
  const char *label = node->name[0] || !node->outputs[0] ? node->name : node->outputs[0]->name;
  entry->colour = is_listed(options->only, options->only_count, label) ? DQ_ALLOW
                  : row && row->colour == DQ_FOLLOW                    ? DQ_FOLLOW
                                                                       : DQ_DENY;
  entry->reason = "not chosen";
  if (entry->colour == DQ_ALLOW) entry->reason = CHOSEN;
}

static void choose_colour(const dq_amp_job *job, const dq_node *node, dq_amp_node *entry) {
  const dq_amp_options *options = job->options;
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  entry->colour = row ? row->colour : DQ_DENY;
  entry->reason = row ? "the operator's colour" : "the operator is not known";
  if (options->only) {
    choose_from_list(options, node, row, entry);
    return;
  }
  if (is_listed(options->allow, options->allow_count, node->op_type))
    entry->colour = DQ_ALLOW, entry->reason = CHOSEN;
  if (is_listed(options->follow, options->follow_count, node->op_type))
    entry->colour = DQ_FOLLOW, entry->reason = "--follow";
  if (is_listed(options->deny, options->deny_count, node->op_type))
    entry->colour = DQ_DENY, entry->reason = "--deny";
  if (is_denied_by_name(options, node)) entry->colour = DQ_DENY, entry->reason = "--deny-node";
}

// Bounds of Clip beyond float16 mean "no bound", and infinity says the same.
static bool may_overflow(const dq_node *node) { return dq_node_is(node, "Clip"); }

static bool constant_fits(const dq_tensor *tensor) {
  const float *elements = tensor->data;
  int64_t count = dq_tensor_count(tensor);
  for (int64_t i = 0; i < count; i++)
    if (fabsf(elements[i]) >= 65520 && isfinite(elements[i])) return false; // rounds to infinity
  return true;
}

static const dq_tensor *constant_input(const dq_amp_job *job, const dq_node *node, int i) {
  const dq_value *value = node->inputs[i];
  if (!dq_amp_input_is_half(job, node, i) || !value->constant || !value->constant->data) return NULL;
  return value->constant;
}

static bool constants_fit(const dq_amp_job *job, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *constant = constant_input(job, node, i);
    if (constant && !may_overflow(node) && !constant_fits(constant)) return false;
  }
  return true;
}

// A node that neither reads nor writes float32, or that only looks at shapes.
static bool is_neutral(const dq_amp_job *job, const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (row && (row->flags & DQ_OP_SHAPE_ONLY)) return true;
  for (int i = 0; i < node->input_count; i++)
    if (is_float(job, node->inputs[i])) return false;
  for (int i = 0; i < node->output_count; i++)
    if (is_float(job, node->outputs[i])) return false;
  return true;
}

// Behind an operator that nobody knows types are not known either, and may be float32.
static bool reads_unknown(const dq_amp_job *job, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !job->tensors[node->inputs[i]->index].type) return true;
  return false;
}

// FOLLOW: float16 when every float input that is computed is float16 already, and there is one.
static bool follows_half(const dq_amp_job *job, const dq_node *node) {
  bool any = false;
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *input = node->inputs[i];
    if (!input || input->constant || !dq_amp_input_is_half(job, node, i)) continue;
    if (!job->half[input->index]) return false;
    any = true;
  }
  return any;
}

// Part of an int8 product: runtimes compute it on the integers, which casts in between would prevent.
static bool is_quantized(const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && node->inputs[i]->producer &&
        dq_node_is(node->inputs[i]->producer, "DequantizeLinear"))
      return true;
  return false;
}

static void colour_node(dq_amp_job *job, const dq_node *node, dq_amp_node *entry) {
  entry->name = node->name;
  entry->op_type = node->op_type;
  choose_colour(job, node, entry);
  entry->neutral = is_neutral(job, node);
  if (entry->neutral) {
    entry->reason = "no float32 to compute with";
    return;
  }
  entry->half = entry->colour == DQ_ALLOW || (entry->colour == DQ_FOLLOW && follows_half(job, node));
  if (entry->half && is_quantized(node) && entry->reason != CHOSEN) {
    entry->half = false;
    entry->reason = "its input is quantized";
  }
  if (entry->colour == DQ_FOLLOW) entry->reason = entry->half ? "its inputs are float16" : "an input is float32";
  if (entry->half && !constants_fit(job, node)) {
    entry->half = false;
    entry->reason = "a constant is beyond 65504, the largest float16";
  }
  if (entry->half && reads_unknown(job, node)) {
    entry->half = false;
    entry->reason = "the type of an input is not known";
  }
  for (int i = 0; entry->half && i < node->output_count; i++)
    if (is_float(job, node->outputs[i])) job->half[node->outputs[i]->index] = true;
}

dq_status dq_amp_colour(dq_amp_job *job) {
  dq_graph *graph = job->graph;
  dq_node **order = DQ_NEW_ARRAY(job->arena, graph->node_count, dq_node *);
  job->report->nodes = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_amp_node);
  if (!order || !job->report->nodes) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_graph_order(graph, order, job->error));
  job->report->count = graph->node_count;
  if (job->options->half_io)
    for (int i = 0; i < graph->input_count; i++)
      if (is_float(job, graph->inputs[i]) && !graph->inputs[i]->constant && !graph->inputs[i]->is_captured)
        job->half[graph->inputs[i]->index] = true;
  for (int n = 0; n < graph->node_count; n++) {
    dq_amp_node *entry = &job->report->nodes[order[n]->index];
    colour_node(job, order[n], entry);
    order[n]->mark = entry->neutral ? 2 : entry->half;
    job->report->halves += entry->half;
  }
  return DQ_OK;
}
