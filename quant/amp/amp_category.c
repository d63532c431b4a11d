// Colours of nodes: which must compute in float16, which must not, and which are free for amp_cut.c.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/graph/patterns.h"
#include "lib/text/find_row.h"
#include "quant/amp/amp_internal.h"

// Inputs that stay float32 whatever the precision of the node, from the operators' type rules.
static const struct {
  const char *op_type;
  int first, last;
} float_inputs[] = {
    {"Resize", 1, 2}, // roi (also of the input's type, but read as coordinates), scales
    {"Upsample", 1, 1},
};

bool dq_amp_is_float(const dq_amp_job *job, const dq_value *value) {
  return value && value->index < job->value_count && job->tensors[value->index].type == DQ_F32;
}

const dq_tensor *dq_amp_constant(const dq_amp_job *job, const dq_value *value) {
  if (!dq_amp_is_float(job, value)) return NULL;
  return dq_known_elements(value);
}

bool dq_amp_is_variable(const dq_amp_job *job, const dq_value *value) {
  return dq_amp_is_float(job, value) && !value->constant && !dq_amp_constant(job, value);
}

bool dq_amp_may_be_half(const dq_node *node) { return node->mark == DQ_AMP_HALF || node->mark == DQ_AMP_FREE; }

dq_status dq_amp_deny(dq_amp_job *job, dq_node *node, const char *reason) {
  if (!reason) return dq_fail_memory(job->error, 0);
  if (!dq_amp_may_be_half(node)) return DQ_OK;
  node->mark = DQ_AMP_FULL;
  job->report->nodes[node->index].reason = reason;
  job->report->nodes[node->index].guarded = true;
  job->report->guarded++;
  return DQ_OK;
}

bool dq_amp_reads_any(const dq_node *node) { return node->mark == DQ_AMP_NEUTRAL || dq_node_is(node, "Cast"); }

bool dq_amp_input_is_half(const dq_amp_job *job, const dq_node *node, int i) {
  if (!dq_amp_is_float(job, node->inputs[i])) return false;
  for (int r = 0; r < DQ_COUNT(float_inputs); r++)
    if (dq_node_is(node, float_inputs[r].op_type) && i >= float_inputs[r].first && i <= float_inputs[r].last)
      return false;
  return true;
}

static const char CHOSEN[] = "--allow"; // by the user, whatever the node reads

static bool is_listed(const char *const *names, int count, const char *name) {
  return dq_find_row(name, names, sizeof *names, count) >= 0;
}

static bool is_denied_by_name(const dq_amp_options *options, const dq_node *node) {
  for (int i = 0; i < options->deny_node_count; i++)
    if (dq_pattern_fits(options->deny_nodes[i], node)) return true;
  return false;
}

// Chooses by the list of nodes (options->only): ALLOW for those on it, FOLLOW for operators that follow, else DENY.
static void choose_from_list(const dq_amp_options *options, const dq_node *node, const dq_operator *row,
                             dq_amp_node *entry) {
  const char *label = dq_node_name(node);
  entry->category = is_listed(options->only, options->only_count, label) ? DQ_ALLOW
                    : row && row->category == DQ_FOLLOW                  ? DQ_FOLLOW
                                                                         : DQ_DENY;
  entry->reason = "not chosen";
  if (entry->category == DQ_ALLOW) entry->reason = CHOSEN;
}

static void choose_category(const dq_amp_job *job, const dq_node *node, dq_amp_node *entry) {
  const dq_amp_options *options = job->options;
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  entry->category = row ? row->category : DQ_DENY;
  entry->reason = row ? "the operator's colour" : "the operator is not known";
  if (options->only) {
    choose_from_list(options, node, row, entry);
    return;
  }
  const char *unlisted = !row ? entry->reason : "the policy does not list the operator";
  if (options->policy && options->policy->complete) entry->category = DQ_DENY, entry->reason = unlisted;
  const dq_policy_rule *rule = options->policy ? dq_policy_find(options->policy, node) : NULL;
  if (rule) entry->category = rule->category, entry->reason = rule->reason;
  if (is_listed(options->allow, options->allow_count, node->op_type))
    entry->category = DQ_ALLOW, entry->reason = CHOSEN;
  if (is_listed(options->follow, options->follow_count, node->op_type))
    entry->category = DQ_FOLLOW, entry->reason = "--follow";
  if (is_listed(options->deny, options->deny_count, node->op_type)) entry->category = DQ_DENY, entry->reason = "--deny";
  if (is_denied_by_name(options, node)) entry->category = DQ_DENY, entry->reason = "--deny-node";
  entry->unlisted = entry->reason == unlisted;
}

// Bounds at which an operator cuts (Clip) mean "no bound" beyond float16, and infinity says the same.
static bool may_overflow(const dq_node *node, int i) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->clamp && i > 0;
}

static bool constant_fits(const dq_tensor *tensor) {
  const float *elements = tensor->data;
  int64_t count = dq_tensor_count(tensor);
  for (int64_t i = 0; i < count; i++)
    if (fabsf(elements[i]) >= 65520 && isfinite(elements[i])) return false; // rounds to infinity
  return true;
}

static bool constants_fit(const dq_amp_job *job, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *constant = dq_amp_input_is_half(job, node, i) ? dq_amp_constant(job, node->inputs[i]) : NULL;
    if (constant && !may_overflow(node, i) && !constant_fits(constant)) return false;
  }
  return true;
}

// A node that only looks at shapes; EyeLike without a type of its own has that of its input.
static bool looks_at_shapes(const dq_amp_job *job, const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && (row->flags & DQ_OP_SHAPE_ONLY) &&
         (dq_node_attribute(node, "dtype") || !dq_amp_is_float(job, node->outputs[0]));
}

// A node that neither reads nor writes float32, or that only looks at shapes.
static bool is_neutral(const dq_amp_job *job, const dq_node *node) {
  if (looks_at_shapes(job, node)) return true;
  for (int i = 0; i < node->input_count; i++)
    if (dq_amp_is_float(job, node->inputs[i])) return false;
  for (int i = 0; i < node->output_count; i++)
    if (dq_amp_is_float(job, node->outputs[i])) return false;
  return true;
}

// Whether the type of an input is not known, as behind an operator that dq does not know; it may be float32.
static bool reads_unknown(const dq_amp_job *job, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && !job->tensors[node->inputs[i]->index].type) return true;
  return false;
}

// Part of an int8 product: runtimes compute it on the integers, which casts in between would prevent.
static bool is_quantized(const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && node->inputs[i]->producer && dq_node_is(node->inputs[i]->producer, "DequantizeLinear"))
      return true;
  return false;
}

// A conversion from a wide type, which may hold numbers that float16 does not.
static bool narrows(const dq_amp_job *job, const dq_node *node) {
  if (!dq_node_is(node, "Cast") || !node->input_count || !node->inputs[0]) return false;
  int from = job->tensors[node->inputs[0]->index].type;
  return from != DQ_F32 && from != DQ_F16 && dq_dtype_size(from) > 1;
}

// ONNX may have float16 for the operator in later versions only.
static bool is_before_half(const dq_amp_job *job, const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->half_since && dq_operator_version(row, dq_graph_opset(job->graph, "")) < row->half_since;
}

// A sum or the like of what is scattered to one place, of which ONNX Runtime 1.32 has none in float16.
static bool scatters_together(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return row && row->reduces_by && strcmp(dq_node_string(node, row->reduces_by, "none"), "none");
}

// Why a node cannot compute in float16 whatever its category; NULL when it can.
static const char *obstacle(const dq_amp_job *job, const dq_node *node, const dq_amp_node *entry) {
  if (is_quantized(node) && entry->reason != CHOSEN) return "its input is quantized";
  if (reads_unknown(job, node)) return "the type of an input is not known";
  if (narrows(job, node)) return "converts numbers that may be beyond 65504";
  if (is_before_half(job, node)) return "its version of ONNX has no float16";
  if (scatters_together(node)) return "runtimes have no float16 for its reduction";
  if (!constants_fit(job, node)) return "a constant is beyond 65504, the largest float16";
  return NULL;
}

static void categorize_node(dq_amp_job *job, dq_node *node, dq_amp_node *entry) {
  entry->name = node->name;
  entry->op_type = node->op_type;
  choose_category(job, node, entry);
  const char *against = entry->category == DQ_DENY ? NULL : obstacle(job, node, entry);
  if (against) entry->reason = against;
  node->mark = entry->category == DQ_DENY || against ? DQ_AMP_FULL
               : entry->category == DQ_ALLOW         ? DQ_AMP_HALF
                                                     : DQ_AMP_FREE;
  if (dq_node_has_body(node)) {
    node->mark = DQ_AMP_FULL;
    entry->unlisted = false;
    entry->reason = "its body is left alone";
  } else if (dq_node_is(node, "Constant") || is_neutral(job, node)) {
    node->mark = DQ_AMP_NEUTRAL;
    entry->reason = "no float32 to compute with";
  }
  entry->neutral = node->mark == DQ_AMP_NEUTRAL;
}

dq_status dq_amp_categorize(dq_amp_job *job) {
  dq_graph *graph = job->graph;
  job->report->nodes = DQ_NEW_ARRAY(graph->arena, graph->node_count, dq_amp_node);
  if (!job->report->nodes) return dq_fail_memory(job->error, 0);
  job->report->count = graph->node_count;
  for (int n = 0; n < graph->node_count; n++) categorize_node(job, graph->nodes[n], &job->report->nodes[n]);
  return DQ_OK;
}
