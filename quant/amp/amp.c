// Mixed precision from a float32 graph to one with float16 nodes.
#include "quant/amp/amp.h"

#include <string.h>

#include "lib/document/lower_opset.h"
#include "lib/document/origin.h"
#include "lib/document/repair_shapes.h"
#include "lib/graph/patterns.h"
#include "lib/ops/table/operator_names.h"
#include "lib/schedule/check_nodes.h"
#include "lib/schedule/open_sizes.h"
#include "quant/amp/amp_internal.h"

// Types of all values. A size that is not known does not matter here, unless the model fits its own alone; only
// the bytes of casts do not count then.
static dq_status find_types(dq_amp_job *job) {
  return dq_infer_assuming(job->graph, &job->options->shapes, &job->report->sizes_unknown, job->context, job->arena,
                           &job->tensors, job->error);
}

static dq_status category(dq_amp_job *job) {
  job->value_count = job->graph->value_count;
  for (int n = 0; n < job->graph->node_count; n++) job->graph->nodes[n]->mark = 0;
  DQ_TRY(find_types(job));
  return dq_amp_categorize(job);
}

static int64_t float_elements(const dq_value *value) {
  const dq_tensor *tensor = value ? value->constant : NULL;
  if (value && value->producer && dq_node_is(value->producer, "Constant"))
    tensor = dq_node_tensor(value->producer, "value");
  return tensor && tensor->type == DQ_F32 ? dq_tensor_count(tensor) : 0;
}

// Weights of a node that stay in float32; one that several read belongs to the first.
static int64_t kept_by(const dq_node *node) {
  int64_t kept = 0;
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && node->inputs[i]->users[0] == node) kept += float_elements(node->inputs[i]);
  return kept;
}

typedef struct keeper {
  const char *op_type;
  int64_t kept;
} keeper;

static dq_status count_kept(const dq_graph *graph, dq_amp_report *report, dq_arena *arena, dq_error *error) {
  keeper *keepers = DQ_NEW_ARRAY(arena, graph->node_count + 1, keeper); // by operator, of which there are few
  int count = 0;
  int64_t most = 0;
  if (!keepers) return dq_fail_memory(error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    int64_t kept = kept_by(graph->nodes[n]);
    int k = 0;
    if (!kept) continue;
    while (k < count && strcmp(keepers[k].op_type, graph->nodes[n]->op_type)) k++;
    if (k == count) keepers[count++].op_type = graph->nodes[n]->op_type;
    keepers[k].kept += kept;
    report->kept_weights += kept;
    if (keepers[k].kept > most) most = keepers[k].kept, report->keeper = keepers[k].op_type;
  }
  return DQ_OK;
}

static dq_status run_job(dq_amp_job *job) {
  const dq_graph *graph = job->graph;
  bool folded;
  DQ_TRY(category(job));
  DQ_TRY(dq_amp_fold(job, &folded));
  if (folded) DQ_TRY(category(job));
  job->half = DQ_NEW_ARRAY(job->arena, graph->value_count, bool);
  job->rounded = DQ_NEW_ARRAY(job->arena, graph->value_count, uint16_t *);
  if (!job->half || !job->rounded) return dq_fail_memory(job->error, (size_t)graph->value_count);
  DQ_TRY(dq_amp_guard(job));
  DQ_TRY(dq_amp_cut(job));
  job->report->nothing_to_do = !job->report->halves;
  if (job->report->nothing_to_do) return DQ_OK;
  DQ_TRY(dq_amp_round(job));
  return dq_amp_rewrite(job);
}

dq_status dq_amp_convert(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report,
                         const dq_context *context, dq_error *error) {
  *report = (dq_amp_report){0};
  DQ_TRY(dq_check_nodes(graph, context, error));
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_amp_job job = {
      .graph = graph, .options = options, .context = context, .error = error, .arena = arena, .report = report};
  dq_status status = run_job(&job);
  if (status == DQ_OK) status = count_kept(graph, report, arena, error);
  dq_arena_free(arena);
  return status;
}

// A policy is made for several models, perhaps with operators of their own: what is not known is no error.
static void warn_of_policy(const dq_policy *policy, const dq_graph *graph, const dq_context *context) {
  for (int i = 0; policy && i < policy->operator_count; i++) {
    const char *nearest, *name = policy->operators[i].name;
    if (dq_operator_is_known(name, DQ_MATCH_NAME, graph, &nearest)) continue;
    dq_message(context, DQ_WARNING, "%s: no operator is called '%.200s'%s%s%s", policy->path, name,
               nearest ? ", did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  }
}

static void warn_of_functions(const dq_graph *graph, const dq_context *context) {
  int calls = 0;
  for (int n = 0; n < graph->node_count; n++) calls += dq_graph_calls_function(graph, graph->nodes[n]);
  if (!calls) return;
  dq_message(
      context, DQ_WARNING,
      "functions of the model stay in float32, calls of them: %d; onnx.inliner.inline_local_functions puts their "
      "nodes in place of the calls",
      calls);
}

// Names that nothing has.
static dq_status check_names(const dq_amp_options *options, const dq_graph *graph, const dq_context *context,
                             dq_error *error) {
  DQ_TRY(dq_patterns_check("deny-node", options->deny_nodes, options->deny_node_count, &graph, 1, error));
  DQ_TRY(dq_operators_check("allow", options->allow, options->allow_count, DQ_MATCH_NAME, graph, error));
  DQ_TRY(dq_operators_check("follow", options->follow, options->follow_count, DQ_MATCH_NAME, graph, error));
  DQ_TRY(dq_operators_check("deny", options->deny, options->deny_count, DQ_MATCH_NAME, graph, error));
  warn_of_policy(options->policy, graph, context);
  return DQ_OK;
}

dq_status dq_amp_apply(dq_graph *graph, const dq_amp_options *options, dq_amp_report *report, const dq_context *context,
                       dq_error *error) {
  DQ_TRY(check_names(options, graph, context, error));
  warn_of_functions(graph, context);
  dq_origin *origin = dq_origin_begin(graph, "dq-amp"); // values keep their names and meaning
  if (!origin) return dq_fail_memory(error, 0);
  dq_status status = dq_amp_convert(graph, options, report, context, error);
  if (status == DQ_OK && !report->nothing_to_do) {
    DQ_TRY(dq_lower_opset(graph, context, error));
    DQ_TRY(dq_origin_finish(origin, graph, context, error));
    DQ_TRY(dq_repair_shapes(graph, context, error));
    return dq_origin_set_sizes(graph, &options->shapes, context, error);
  }
  dq_origin_discard(origin);
  return status;
}
