#include "quant/search/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "lib/measure/cost.h"
#include "quant/int8/stages.h"
#include "quant/search/sensitivity_walk.h"

// One row: the values it stands for, by index.
typedef struct site {
  int product; // the product's own output; -1: no weights
  int result;  // what is quantized; -1: nothing
} site;

typedef struct study {
  dq_int8_input in;
  dq_int8_job job; // with parameters, on a folded copy of the graph
  dq_int8_report report;
  dq_sensitivity *result;
  site *sites;
  int *outputs; // places of the float ones among the graph's
  int output_count;
  dq_tensor **kept; // outputs of the network as it is on the picture
  int64_t *labels;  // by picture; NULL: none
  int64_t picture, done, total;
} study;

static dq_status no_memory(const study *it) { return dq_fail_memory(it->job.error, 0); }

// ---- What is seen ----

static bool is_right(const study *it, const dq_tensor *scores, int64_t picture) {
  int64_t best = 0, count = dq_tensor_count(scores);
  for (int64_t i = 0; i < count; i++) {
    double score = dq_tensor_get(scores, i);
    if (dq_is_no_score(score)) return false;
    if (score > dq_tensor_get(scores, best)) best = i;
  }
  return best == it->labels[picture];
}

static bool is_scores(const dq_tensor *tensor) {
  return dq_tensor_count(tensor) > 1 && (tensor->rank <= 2 || dq_tensor_product(tensor, 2, tensor->rank) == 1);
}

static dq_status keep(study *it, int slot, const dq_tensor *tensor) {
  if (!it->kept[slot]) it->kept[slot] = dq_tensor_new(it->job.arena, tensor->type, tensor->rank, tensor->dims);
  if (!it->kept[slot]) return no_memory(it);
  memcpy(it->kept[slot]->data, tensor->data, dq_tensor_bytes(tensor));
  if (slot) return DQ_OK;
  it->result->scores = is_scores(tensor);
  if (it->labels) it->result->right += is_right(it, tensor, it->picture);
  return DQ_OK;
}

static dq_sensitivity_effect *effect_of(const study *it, int row, dq_walk_kind kind) {
  if (kind == DQ_WALK_ALL) return &it->result->all;
  dq_sensitivity_layer *layer = &it->result->layers[row];
  return kind == DQ_WALK_WEIGHTS ? &layer->weights : kind == DQ_WALK_RESULT ? &layer->activations : &layer->both;
}

static dq_status compare(study *it, int slot, const dq_tensor *tensor, dq_sensitivity_effect *effect) {
  dq_comparison other = {0};
  DQ_TRY(dq_comparison_add(slot ? &other : &effect->outputs, it->kept[slot], tensor, -1, it->job.error));
  if (slot) { // adds to the noise, but has no say in agreement
    effect->outputs.signal += other.signal;
    effect->outputs.noise += other.noise;
    effect->outputs.values += other.values;
  } else if (it->labels) {
    effect->right += is_right(it, tensor, it->picture);
  }
  return DQ_OK;
}

static dq_status see(void *user, int row, dq_walk_kind kind, const dq_plan *plan, dq_error *error) {
  (void)error;
  study *it = user;
  for (int o = 0; o < it->output_count; o++) {
    const dq_tensor *tensor = dq_plan_output(plan, it->outputs[o]);
    DQ_TRY(kind == DQ_WALK_EXACT ? keep(it, o, tensor) : compare(it, o, tensor, effect_of(it, row, kind)));
  }
  if (kind != DQ_WALK_EXACT) dq_progress(it->job.in->context, "sensitivity", ++it->done, it->total);
  return DQ_OK;
}

// ---- Variants ----

static dq_status quantize_weights(study *it, dq_graph *copy, int product) {
  dq_node *node = copy->values[product]->producer;
  const dq_value *weight = node->inputs[1];
  dq_quantized_weight quantized;
  DQ_TRY(dq_quantize_weight(weight->constant, dq_int8_weight_axis(&it->job, node), NULL, copy->arena, &quantized,
                            it->job.error));
  dq_tensor *back = dq_dequantize_weight(&quantized, copy->arena);
  dq_value *value = back ? dq_graph_add_constant(copy, weight->name, back) : NULL;
  if (!value) return no_memory(it);
  node->inputs[1] = value;
  return DQ_OK;
}

// The weights of all rows in 8 bits.
static dq_status quantize_all_weights(study *it, dq_graph *copy) {
  for (int s = 0; s < it->result->count; s++)
    if (it->sites[s].product >= 0) DQ_TRY(quantize_weights(it, copy, it->sites[s].product));
  return dq_graph_index(copy, true, it->job.error);
}

static const char *name_of(const study *it, int value) { return value < 0 ? NULL : it->job.graph->values[value]->name; }

static dq_status walk_pictures(study *it, const dq_graph *rounded, bool ranking) {
  dq_int8_job *job = &it->job;
  dq_walk_row *rows = DQ_NEW_ARRAY(job->arena, it->result->count, dq_walk_row);
  if (!rows) return no_memory(it);
  for (int s = 0; s < it->result->count; s++) {
    const site *at = &it->sites[s];
    rows[s] = (dq_walk_row){.product = name_of(it, at->product), .result = name_of(it, at->result)};
    if (at->result >= 0) rows[s].parameters = job->choices[job->choices[at->result].shares].parameters;
  }
  dq_walk walk;
  const dq_walk_input input = {.exact = job->graph,
                               .rounded = rounded,
                               .data = job->in->data,
                               .shapes = &job->in->options->shapes,
                               .rows = rows,
                               .count = it->result->count,
                               .both = !ranking};
  dq_status status = dq_walk_open(&walk, &input, job->arena, job->in->context, job->error);
  it->total = job->pictures * (walk.variant_count + 1);
  for (int64_t p = 0; status == DQ_OK && p < job->pictures; p++) {
    it->picture = p;
    status = dq_walk_picture(&walk, p, see, it, job->error);
  }
  dq_walk_close(&walk);
  return status;
}

static dq_status try_all(study *it, bool ranking) {
  dq_graph *rounded = dq_graph_copy(it->job.graph);
  if (!rounded) return no_memory(it);
  dq_status status = quantize_all_weights(it, rounded);
  if (status == DQ_OK) status = walk_pictures(it, rounded, ranking);
  dq_graph_free(rounded);
  for (int s = 0; !ranking && s < it->result->count; s++) {
    dq_sensitivity_layer *layer = &it->result->layers[s];
    if (it->sites[s].product < 0) layer->both = layer->activations;
    else if (it->sites[s].result < 0) layer->both = layer->weights;
  }
  return status;
}

// ---- Rows ----

static bool is_own(const study *it, const dq_value *value) {
  const dq_value_choice *choice = &it->job.choices[value->index];
  return choice->quantized && choice->shares == value->index && !choice->constant;
}

// What stands behind an operator: its output, or that of the Relu or Clip which took its place; -1: nothing.
static int result_of(const study *it, const dq_value *output) {
  if (is_own(it, output)) return output->index;
  const dq_node *next = output->user_count == 1 ? output->users[0] : NULL;
  const dq_operator *row = next ? dq_operator_find(next->domain, next->op_type) : NULL;
  bool absorbed = row && row->quantization == DQ_QUANTIZE_ABSORB && it->job.choices[next->outputs[0]->index].quantized;
  return absorbed ? next->outputs[0]->index : -1;
}

static bool is_taken(const study *it, int result) {
  for (int s = 0; s < it->result->count; s++)
    if (it->sites[s].result == result) return true;
  return false;
}

static void add_row(study *it, const char *label, const char *op_type, int product, int result,
                    const dq_cost_node *cost) {
  dq_sensitivity_layer *layer = &it->result->layers[it->result->count];
  it->sites[it->result->count++] = (site){product, result};
  *layer = (dq_sensitivity_layer){.label = label,
                                  .op_type = op_type,
                                  .is_input = product < 0 && !it->job.graph->values[result]->producer,
                                  .has_weights = product >= 0,
                                  .macs = cost ? cost->macs : 0};
  if (product < 0) return;
  const dq_value *weight = it->job.graph->values[product]->producer->inputs[1];
  layer->weight_bytes = (int64_t)dq_tensor_bytes(weight->constant);
}

static void find_rows(study *it, const dq_cost *cost) {
  const dq_graph *graph = it->job.graph;
  for (int i = 0; i < graph->input_count; i++)
    if (is_own(it, graph->inputs[i])) add_row(it, graph->inputs[i]->name, "Input", -1, graph->inputs[i]->index, NULL);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    if (!node->mark || !row || row->quantization == DQ_QUANTIZE_SHARE) continue;
    bool weights = row->quantization == DQ_QUANTIZE_COMPUTE && dq_int8_is_weight(&it->job, node, 1);
    int result = result_of(it, node->outputs[0]);
    if ((result >= 0 && is_taken(it, result)) || (result < 0 && !weights)) continue;
    add_row(it, dq_layer_label(node), node->op_type, weights ? node->outputs[0]->index : -1, result, &cost->nodes[n]);
  }
}

// ---- What stands around results ----

// The value whose numbers a value has; -1: it has none.
static int numbers_of(const study *it, const dq_value *value) {
  return value && !value->constant ? it->job.choices[value->index].shares : -1;
}

static bool touches(const study *it, const dq_node *node, int result) {
  for (int i = 0; i < node->input_count; i++)
    if (numbers_of(it, node->inputs[i]) == result) return true;
  for (int o = 0; o < node->output_count; o++)
    if (numbers_of(it, node->outputs[o]) == result) return true;
  return false;
}

static dq_status find_around(study *it, const dq_cost *cost, dq_arena *arena) {
  const dq_graph *graph = it->job.graph;
  dq_sensitivity *result = it->result;
  const dq_node **marked = DQ_NEW_ARRAY(it->job.arena, graph->node_count, const dq_node *);
  result->nodes = DQ_NEW_ARRAY(arena, graph->node_count, dq_sensitivity_node);
  if (!marked || !result->nodes) return no_memory(it);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    if (!node->mark) continue;
    bool product = dq_operator_find(node->domain, node->op_type)->quantization == DQ_QUANTIZE_COMPUTE;
    marked[result->node_count] = node;
    result->nodes[result->node_count++] = (dq_sensitivity_node){dq_layer_label(node), cost->nodes[n].macs, product};
  }
  for (int s = 0; s < result->count; s++) {
    dq_sensitivity_layer *layer = &result->layers[s];
    int *around = DQ_NEW_ARRAY(arena, result->node_count, int);
    if (!around) return no_memory(it);
    layer->around = around, layer->product = -1;
    for (int n = 0; n < result->node_count; n++) {
      if (it->sites[s].result >= 0 && touches(it, marked[n], it->sites[s].result)) around[layer->around_count++] = n;
      if (it->sites[s].product >= 0 && marked[n]->outputs[0]->index == it->sites[s].product) layer->product = n;
    }
  }
  return DQ_OK;
}

// ---- All of it ----

static dq_status allocate(study *it) {
  dq_arena *arena = it->job.arena;
  const dq_graph *graph = it->job.graph;
  int rows = graph->node_count + graph->input_count;
  it->sites = DQ_NEW_ARRAY(arena, rows, site);
  it->outputs = DQ_NEW_ARRAY(arena, graph->output_count, int);
  it->kept = DQ_NEW_ARRAY(arena, graph->output_count, dq_tensor *);
  if (!it->sites || !it->outputs || !it->kept) return no_memory(it);
  for (int o = 0; o < graph->output_count; o++)
    if (graph->outputs[o]->producer && it->job.tensors[graph->outputs[o]->index].type == DQ_F32 &&
        it->job.tensors[graph->outputs[o]->index].rank >= 0)
      it->outputs[it->output_count++] = o;
  return DQ_OK;
}

static dq_status read_labels(study *it) {
  if (dq_data_labelled(it->job.in->data) != DQ_LABEL_CLASS) return DQ_OK;
  it->labels = DQ_NEW_ARRAY(it->job.arena, it->job.pictures, int64_t);
  if (!it->labels) return no_memory(it);
  for (int64_t i = 0; i < it->job.pictures; i++) {
    dq_sample_info info;
    DQ_TRY(dq_data_read(it->job.in->data, i, NULL, &info, it->job.error));
    it->labels[i] = info.label;
  }
  return DQ_OK;
}

// Parameters of the job's values: of the network as it is folded, or, with options->start, of what would be quantized.
static dq_status find_parameters(dq_int8_job *job) {
  bool any;
  if (!job->in->options->start) {
    DQ_TRY(dq_int8_fold(job));
    return dq_int8_find_parameters(job, false);
  }
  DQ_TRY(dq_int8_prepare(job, &any));
  if (any) DQ_TRY(dq_int8_choose(job));
  return dq_int8_find_parameters(job, true);
}

static dq_status run_study(study *it, bool ranking, dq_arena *arena) {
  dq_int8_job *job = &it->job;
  dq_cost cost;
  DQ_TRY(find_parameters(job));
  if (!it->report.quantized) return dq_fail(job->error, DQ_UNSUPPORTED, "no operator can be quantized");
  DQ_TRY(allocate(it));
  it->result->layers = DQ_NEW_ARRAY(arena, job->graph->node_count + job->graph->input_count, dq_sensitivity_layer);
  if (!it->result->layers) return no_memory(it);
  DQ_TRY(dq_cost_count(&cost, job->graph, job->in->options->shapes.input_count ? &job->in->options->shapes : NULL,
                       job->in->context, job->arena, job->error));
  find_rows(it, &cost);
  DQ_TRY(find_around(it, &cost, arena));
  DQ_TRY(read_labels(it));
  DQ_TRY(try_all(it, ranking));
  it->result->labelled = it->labels && it->result->scores;
  return DQ_OK;
}

// Labels of the rows in the arena of the caller: the copies they point into go.
static dq_status own_labels(dq_sensitivity *result, dq_arena *arena, dq_error *error) {
  for (int i = 0; i < result->count; i++) {
    dq_sensitivity_layer *layer = &result->layers[i];
    layer->label = dq_arena_strdup(arena, layer->label);
    layer->op_type = dq_arena_strdup(arena, layer->op_type);
    if (!layer->label || !layer->op_type) return dq_fail_memory(error, 0);
  }
  for (int n = 0; n < result->node_count; n++)
    if (!(result->nodes[n].label = dq_arena_strdup(arena, result->nodes[n].label))) return dq_fail_memory(error, 0);
  return DQ_OK;
}

dq_status dq_sensitivity_measure(dq_sensitivity *result, const dq_graph *graph, dq_data *data,
                                 const dq_sensitivity_options *options, const dq_context *context, dq_arena *arena,
                                 dq_error *error) {
  if (dq_int8_is_quantized(graph)) return dq_fail(error, DQ_UNSUPPORTED, "the model is quantized already");
  study it = {.result = result};
  int64_t pictures = dq_data_count(data);
  if (options->pictures && options->pictures < pictures) pictures = options->pictures;
  *result = (dq_sensitivity){.pictures = pictures};
  it.in = dq_int8_input_of(options->int8, data, context);
  it.job = (dq_int8_job){.in = &it.in,
                         .graph = dq_graph_copy(graph),
                         .error = error,
                         .arena = dq_context_arena(context),
                         .report = &it.report,
                         .pictures = pictures,
                         .setting = {.method = options->int8->method}};
  if (it.job.graph) it.job.origin = dq_origin_begin(it.job.graph, "sensitivity");
  dq_status status = it.job.origin && it.job.arena ? run_study(&it, options->ranking, arena) : no_memory(&it);
  if (status == DQ_OK) status = own_labels(result, arena, error);
  dq_origin_discard(it.job.origin);
  dq_arena_free(it.job.arena);
  dq_graph_free(it.job.graph);
  return status;
}
