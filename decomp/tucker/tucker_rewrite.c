// The Tucker-2 transform of a document graph: examine every convolution, decompose those that gain,
// several at a time, and put the factors in their place.
#include "decomp/tucker/decomp.h"

#include <string.h>

#include "decomp/tucker/tucker_clock.h"
#include "decomp/tucker/tucker_data.h"
#include "lib/base/sizes.h"
#include "lib/document/lower_opset.h"
#include "lib/document/origin.h"
#include "lib/schedule/check_nodes.h"
#include "lib/schedule/open_sizes.h"
#include "lib/text/nearest.h"

typedef struct work {
  dq_graph *graph;
  const dq_tucker_options *options;
  dq_arena *scratch;
  dq_tensor *tensors; // shapes of all values, or NULL
  dq_graph *original; // copy of what the responses are taken from; NULL without data
  dq_tucker_job *jobs;
  int count;
} work;

// ---- Putting the factors into the graph ----

static dq_value *add_weight(dq_graph *graph, const char *layer, const char *part, const dq_tensor *factor) {
  const char *name = dq_arena_printf(graph->arena, "%s/%s_weight", layer, part);
  dq_tensor *tensor = dq_tensor_new(graph->arena, DQ_F32, factor->rank, factor->dims);
  if (!name || !tensor) return NULL;
  memcpy(tensor->data, factor->data, dq_tensor_bytes(factor));
  return dq_graph_add_constant(graph, name, tensor);
}

// The core; of a transposed convolution with the input channels first.
static dq_value *add_core(dq_graph *graph, const dq_tucker_job *job) {
  dq_tensor *core = job->factors.core;
  if (job->transposed) core = dq_tucker_transposed(core, graph->arena);
  return core ? add_weight(graph, job->layer->name, "tucker_core", core) : NULL;
}

static bool has_same_factors(const dq_tucker_job *a, const dq_tucker_job *b) {
  return a->weight == b->weight && !strcmp(a->node->op_type, b->node->op_type) && a->layer->group == b->layer->group &&
         a->product.outputs_first == b->product.outputs_first && a->product.alpha == b->product.alpha &&
         a->layer->ranks.out == b->layer->ranks.out && a->layer->ranks.in == b->layer->ranks.in;
}

// Takes the initializers of an earlier layer with the same weight and ranks, if there is one. Factors that are fitted
// differ, as layers read different values.
static void share_factors(const work *w, dq_tucker_job *job) {
  for (const dq_tucker_job *other = w->jobs; !w->original && other < job; other++)
    if (other->core && !other->shares && has_same_factors(other, job)) {
      job->input = other->input, job->core = other->core, job->output = other->output;
      job->shares = true;
      return;
    }
}

// Initializers of the factors, unless they are shared.
static dq_status add_weights(work *w, dq_tucker_job *job, dq_error *error) {
  const char *name = job->layer->name;
  job->bias_value = job->bias_before = dq_node_input(job->node, 2);
  if (job->bias_fitted) job->bias_value = add_weight(w->graph, name, "tucker_bias", job->bias_fitted);
  if (job->bias_fitted && !job->bias_value) return dq_fail_memory(error, sizeof(dq_value));
  if (job->shares) return DQ_OK;
  const dq_tucker2 *factors = &job->factors;
  if (factors->input) job->input = add_weight(w->graph, name, "tucker_in", factors->input);
  job->core = add_core(w->graph, job);
  if (factors->output) job->output = add_weight(w->graph, name, "tucker_out", factors->output);
  if (!job->core || (factors->input && !job->input) || (factors->output && !job->output))
    return dq_fail_memory(error, dq_tensor_bytes(factors->core));
  return DQ_OK;
}

// One of the convolutions that stand for a layer.
typedef struct factor_conv {
  const char *op, *name; // the name behind that of the layer
  dq_value *weight, *bias;
  dq_value *output; // NULL: a new value
} factor_conv;

// A convolution on `input` before the original's position. Returns the value it produces, or NULL without memory.
static dq_value *add_conv(dq_graph *graph, const dq_tucker_job *job, const factor_conv *conv, dq_value *input,
                          dq_node **made) {
  dq_value *output = conv->output;
  const char *base = dq_arena_printf(graph->arena, "%s/%s", job->layer->name, conv->name);
  const char *name = base ? dq_graph_fresh_name(graph, base) : NULL;
  if (!name) return NULL;
  if (!output) {
    const char *value = dq_arena_printf(graph->arena, "%s_output", name);
    output = value ? dq_graph_fresh_value(graph, value) : NULL;
    if (!output) return NULL;
    output->type = DQ_F32;
  }
  dq_value *inputs[3] = {input, conv->weight, conv->bias};
  *made = dq_graph_add_node(graph, job->node->index, conv->op, name, conv->bias ? 3 : 2, inputs, 1, &output);
  return *made ? output : NULL;
}

static bool set_1x1(dq_graph *graph, dq_node *node, int64_t group) {
  return dq_node_set_ints(graph, node, "kernel_shape", (int64_t[]){1, 1}, 2) &&
         (group == 1 || dq_node_set_int(graph, node, "group", group));
}

static bool add_convs(work *w, dq_tucker_job *job) {
  dq_graph *graph = w->graph;
  dq_value *value = dq_node_input(job->node, 0), *bias = job->bias_value;
  dq_value *output = dq_node_output(job->node, 0);
  dq_node *node;
  if (job->input) {
    const factor_conv first = {.op = "Conv", .name = "tucker_in", .weight = job->input};
    value = add_conv(graph, job, &first, value, &node);
    if (!value || !set_1x1(graph, node, job->layer->group)) return false;
    job->layer->nodes[0] = node->name;
  }
  bool last = !job->output;
  const factor_conv core = {job->node->op_type, "tucker_core", job->core, last ? bias : NULL, last ? output : NULL};
  value = add_conv(graph, job, &core, value, &node);
  for (int i = 0; value && i < job->node->attribute_count; i++)
    if (!dq_node_copy_attribute(graph, node, &job->node->attributes[i])) return false;
  if (value) job->layer->nodes[1] = node->name;
  if (!value || last) return value != NULL;
  value = add_conv(graph, job, &(factor_conv){"Conv", "tucker_out", job->output, bias, output}, value, &node);
  if (value) job->layer->nodes[2] = node->name;
  return value && set_1x1(graph, node, job->layer->group);
}

static dq_status place(work *w, dq_tucker_job *job, dq_error *error) {
  share_factors(w, job);
  if (job->matrix) return dq_tucker_matrix_place(w->graph, job, error);
  DQ_TRY(add_weights(w, job, error));
  if (!add_convs(w, job)) return dq_fail_memory(error, sizeof(dq_node));
  const dq_value *weights[3] = {job->input, job->core, job->output};
  for (int i = 0; i < 3; i++) job->layer->factors[i] = weights[i] ? weights[i]->name : NULL;
  dq_graph_remove_node(w->graph, job->node);
  return DQ_OK;
}

static dq_status place_all(work *w, dq_tucker_report *report, dq_error *error) {
  for (int i = 0; i < w->count; i++) {
    if (w->jobs[i].layer->reason[0]) continue;
    DQ_TRY(place(w, &w->jobs[i], error));
    report->decomposed++;
  }
  if (!report->decomposed) return DQ_OK;
  return dq_graph_drop_constants(w->graph, error);
}

// ---- All layers ----

// Ranks of all layers, also of those that the clock has refused.
static dq_status budget_without_clock(work *w, const dq_tucker_report *report, const char *reason, dq_error *error) {
  dq_message(w->options->context, DQ_WARNING,
             "the bound is not reached with the layers that become faster (%s), so the others are decomposed too",
             reason);
  for (int i = 0; i < w->count; i++)
    if (w->jobs[i].refused) w->jobs[i].layer->reason[0] = '\0';
  DQ_TRY(dq_tucker_budget(w->jobs, w->count, w->options, report, error));
  return DQ_CONDITION;
}

// Gives the budget that layers left alone by the clock do not use to the others. DQ_CONDITION: these cannot save
// enough; what was chosen stays, or with bound_first the clock does not count.
static dq_status budget_again(work *w, const dq_tucker_report *report, dq_error *error) {
  dq_error local = {0};
  dq_status status = dq_tucker_budget(w->jobs, w->count, w->options, report, &local);
  if (status == DQ_CONDITION && w->options->bound_first) return budget_without_clock(w, report, local.message, error);
  if (status == DQ_CONDITION) {
    dq_message(w->options->context, DQ_WARNING, "the bound is not reached with the layers that become faster: %s",
               local.message);
    return DQ_CONDITION;
  }
  if (status != DQ_OK && error) *error = local;
  return status;
}

// Leaves alone what does not become faster, and shares the bound out again until all that is left
// has been measured at its ranks.
static dq_status heed_clock(work *w, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_options *options = w->options;
  if (!options->never_slower || options->layers) return DQ_OK;
  for (int left = 1; left;) {
    for (int i = 0; i < w->count && !(options->macs_share > 0); i++)
      if (!w->jobs[i].layer->reason[0]) dq_tucker_leave_without_gain(&w->jobs[i], options);
    DQ_TRY(dq_tucker_clock_all(w->jobs, w->count, options, &left, error));
    if (!left || !(options->macs_share > 0)) break;
    dq_status status = budget_again(w, report, error);
    if (status == DQ_CONDITION) break;
    DQ_TRY(status);
  }
  return DQ_OK;
}

// Ranks of all layers whose spectra are known.
static dq_status choose_all(work *w, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_options *options = w->options;
  if (options->macs_share > 0 && !options->layers) {
    DQ_TRY(dq_tucker_budget(w->jobs, w->count, options, report, error));
  } else DQ_TRY(dq_tucker_run(w->jobs, w->count, dq_tucker_choose, options, "ranks", error));
  return heed_clock(w, report, error);
}

static dq_status all_steps(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  DQ_TRY(dq_tucker_analyse(job, options, error));
  DQ_TRY(dq_tucker_choose(job, options, error));
  return dq_tucker_factor(job, options, error);
}

// A layer at a time where layers do not depend on each other: less memory.
static dq_status decompose_all(work *w, const dq_tucker_report *report, dq_error *error) {
  const dq_tucker_options *options = w->options;
  if (!(options->macs_share > 0) && !options->never_slower)
    return dq_tucker_run(w->jobs, w->count, all_steps, options, "decomposing", error);
  DQ_TRY(dq_tucker_run(w->jobs, w->count, dq_tucker_analyse, options, "singular values", error));
  DQ_TRY(choose_all(w, report, error));
  return dq_tucker_run(w->jobs, w->count, dq_tucker_factor, options, "decomposing", error);
}

// Fits one layer and puts it into the graph, unless its fit leaves it alone.
static dq_status fit_and_place(work *w, dq_tucker_data *data, dq_tucker_job *job, dq_error *error) {
  DQ_TRY(dq_tucker_data_fit(data, job, error));
  if (job->layer->reason[0]) return DQ_OK;
  DQ_TRY(place(w, job, error));
  return dq_graph_index(w->graph, false, error);
}

static void warn_of_bound(const work *w, int left) {
  if (left && w->options->macs_share > 0)
    dq_message(w->options->context, DQ_WARNING,
               "the bound is not reached, as %d %s alone that could not be fitted (more pictures may help)", left,
               left == 1 ? "layer is left" : "layers are left");
}

// Decomposes on data: chooses ranks by the errors of the responses, then fits one layer after the other and puts it
// into the graph, so that the next one is fitted to what it will read.
static dq_status decompose_on_data(work *w, dq_tucker_report *report, dq_error *error) {
  const dq_tucker_options *options = w->options;
  dq_tucker_data data = {w->graph, w->original, options, w->jobs, w->count};
  DQ_TRY(dq_tucker_data_analyse(&data, report, error));
  DQ_TRY(choose_all(w, report, error));
  int left = 0;
  for (int i = 0; i < w->count; i++) {
    dq_tucker_job *job = &w->jobs[i];
    if (job->layer->reason[0]) continue;
    DQ_TRY(fit_and_place(w, &data, job, error));
    report->decomposed += !job->layer->reason[0];
    left += job->unfit;
  }
  warn_of_bound(w, left);
  if (!report->decomposed) return DQ_OK;
  DQ_TRY(dq_tucker_data_bias(&data, error));
  return dq_graph_drop_constants(w->graph, error);
}

static dq_tucker_job *find_job(work *w, const char *layer) {
  for (int i = 0; i < w->count; i++)
    if (!strcmp(w->jobs[i].layer->name, layer)) return &w->jobs[i];
  return NULL;
}

static dq_status fail_no_layer(const work *w, const char *layer, dq_error *error) {
  dq_nearest nearest = dq_nearest_begin(layer);
  for (int i = 0; i < w->count; i++) dq_nearest_offer(&nearest, w->jobs[i].layer->name);
  dq_fail(error, DQ_BAD_INPUT, "ranks are given for '%.200s', which is no convolution", layer);
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  return DQ_BAD_INPUT;
}

static dq_status assign_given_ranks(work *w, dq_error *error) {
  for (int i = 0; i < w->options->layer_count; i++) {
    const dq_layer_ranks *given = &w->options->layers[i];
    dq_tucker_job *job = find_job(w, given->layer);
    if (!job) return fail_no_layer(w, given->layer, error);
    if (job->given) return dq_fail(error, DQ_BAD_INPUT, "ranks are given twice for '%s'", given->layer);
    job->given = given;
  }
  for (int i = 0; w->options->layers && i < w->count; i++)
    if (!w->jobs[i].given && !w->jobs[i].layer->reason[0]) strcpy(w->jobs[i].layer->reason, "no ranks given");
  return DQ_OK;
}

static bool is_candidate(const work *w, const dq_node *node) {
  dq_product product;
  bool found = dq_product_of(node, &product) && !product.integer;
  return found && (product.kind != DQ_MATRIX_PRODUCT || (w->options->matrices && dq_tucker_is_matrix(node)));
}

static dq_status examine_all(work *w, dq_tucker_report *report, dq_error *error) {
  DQ_TRY(dq_tucker_infer(w->graph, w->options, w->scratch, &w->tensors, error));
  for (int n = 0; n < w->graph->node_count; n++) {
    if (!is_candidate(w, w->graph->nodes[n])) continue;
    dq_tucker_job *job = &w->jobs[w->count];
    job->node = w->graph->nodes[n];
    job->layer = &report->layers[w->count++];
    job->layer->name = dq_node_name(job->node);
    bool on_data = w->original != NULL, matrix = dq_tucker_is_matrix(job->node);
    DQ_TRY((matrix ? dq_tucker_matrix_examine : dq_tucker_examine)(job, w->tensors, on_data, w->scratch, error));
  }
  report->count = w->count;
  DQ_TRY(dq_tucker_model_cost(w->graph, w->options, w->tensors, report, error));
  return assign_given_ranks(w, error);
}

// The cost of the model that came out: only the layers have changed.
static void finish_report(const dq_graph *graph, dq_tucker_report *report) {
  report->model_after = report->model_before;
  report->model_after.parameters = dq_tucker_parameters(graph);
  for (int i = 0; report->macs_known && i < report->count; i++)
    report->model_after.macs += report->layers[i].after.macs - report->layers[i].before.macs;
}

static dq_status check_options(const dq_tucker_options *options, dq_error *error) {
  if (options->layers) return DQ_OK;
  if (options->macs_share == 0) return dq_rank_check(options->rule, options->parameter, options->multiple, error);
  if (!(options->macs_share > 0 && options->macs_share < 1))
    return dq_fail(error, DQ_USAGE, "share of multiply-accumulates is %g, expected between 0 and 1",
                   options->macs_share);
  return dq_rank_check(DQ_RANK_RATIO, 1, options->multiple, error);
}

// The values between the three convolutions stand for nothing in the original.
static dq_status record_origin(const work *w, dq_origin *origin, dq_error *error) {
  for (int i = 0; i < w->count; i++) {
    const dq_tucker_job *job = &w->jobs[i];
    for (int n = 0; job->core && !job->shares && n < w->graph->node_count; n++) {
      const dq_node *node = w->graph->nodes[n];
      const dq_value *weight = dq_node_input(node, 1);
      bool followed = job->output || (job->bias_fitted && job->product.at.bias == DQ_NO_INPUT);
      bool inner = weight && (weight == job->input || (weight == job->core && followed));
      if (inner) DQ_TRY(dq_origin_add(origin, node->outputs[0]->name, NULL, error));
    }
  }
  return DQ_OK;
}

static dq_status apply(work *w, dq_tucker_report *report, dq_error *error) {
  size_t candidates = 0;
  if (w->options->data) {
    DQ_TRY(dq_tucker_data_fold(w->graph, error));
    w->original = dq_graph_copy(w->graph);
    if (!w->original) return dq_fail_memory(error, sizeof(dq_graph *));
  }
  for (int n = 0; n < w->graph->node_count; n++) candidates += is_candidate(w, w->graph->nodes[n]);
  w->jobs = DQ_NEW_ARRAY(w->scratch, candidates, dq_tucker_job);
  report->layers = DQ_NEW_ARRAY(w->graph->arena, candidates, dq_tucker_layer);
  if (!w->jobs || !report->layers) return dq_fail_memory(error, candidates * sizeof *w->jobs);
  DQ_TRY(examine_all(w, report, error));
  dq_status status = dq_tucker_check_reach(w->jobs, w->count, w->options, report, error);
  if (status == DQ_USAGE && error) dq_sizes_hint(w->graph, w->options->shapes, w->options->context, error);
  DQ_TRY(status);
  if (w->options->data) DQ_TRY(decompose_on_data(w, report, error));
  else {
    DQ_TRY(decompose_all(w, report, error));
    DQ_TRY(place_all(w, report, error));
  }
  finish_report(w->graph, report);
  return DQ_OK;
}

// How pictures were made the input; constants per patient belong to the data, not to the model.
static dq_status remember_preset(dq_graph *graph, const dq_tucker_options *options, dq_error *error) {
  const char *preprocess = dq_data_preprocess_text(options->data);
  if (!preprocess[0] || strstr(preprocess, "norm=")) return DQ_OK;
  return dq_origin_set_preset(graph, preprocess, options->context, error);
}

dq_status dq_tucker_apply(dq_graph *graph, const dq_tucker_options *options, dq_tucker_report *report,
                          dq_error *error) {
  memset(report, 0, sizeof *report);
  DQ_TRY(check_options(options, error));
  DQ_TRY((options->macs_share > 0 ? dq_check_all_run : dq_check_nodes)(graph, options->context, error));
  work w = {.graph = graph, .options = options, .scratch = dq_context_arena(options->context)};
  if (!w.scratch) return dq_fail_memory(error, sizeof(dq_tucker_job));
  dq_origin *origin = dq_origin_begin(graph, "dq-tucker");
  dq_status status = origin ? apply(&w, report, error) : dq_fail_memory(error, sizeof(work));
  if (status == DQ_OK && report->decomposed) status = record_origin(&w, origin, error);
  if (status == DQ_OK && report->decomposed) status = dq_lower_opset(graph, options->context, error);
  if (status == DQ_OK && report->decomposed) status = dq_origin_finish(origin, graph, options->context, error);
  else dq_origin_discard(origin);
  if (status == DQ_OK && report->decomposed)
    status = dq_origin_set_sizes(graph, options->shapes, options->context, error);
  if (status == DQ_OK && report->decomposed && options->data) status = remember_preset(graph, options, error);
  for (int i = 0; i < w.count; i++) {
    dq_arena_free(w.jobs[i].spectra);
    dq_arena_free(w.jobs[i].arena);
    dq_arena_free(w.jobs[i].sums);
    dq_arena_free(w.jobs[i].trial);
  }
  dq_graph_free(w.original);
  dq_arena_free(w.scratch);
  return status;
}
