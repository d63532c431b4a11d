#include "quant/search/sensitivity.h"

#include <stdlib.h>
#include <string.h>

#include "lib/eval/scores.h"
#include "lib/graph/saturation.h"
#include "lib/measure/cost.h"
#include "lib/verdict/output_error.h"
#include "lib/verdict/sorted_rows.h"
#include "quant/int8/stages.h"
#include "quant/rewrite/function_numbers.h"
#include "quant/search/layer_error_runs.h"
#include "quant/search/rounded_constants.h"

// One row: the values it stands for, by index.
typedef struct site {
  int product; // the own output of a node with a constant in 8 bits; -1: it has none
  int result;  // what is quantized; -1: nothing
} site;

typedef struct sensitivity_study {
  dq_int8_conversion conversion; // of a folded copy of the graph; it ends with parameters
  dq_int8_job *job;              // of `conversion`
  dq_int8_report report;
  dq_sensitivity *result;
  site *sites;
  bool *taken;  // by value: it is the result of a row
  int *outputs; // places of the float ones among the graph's; in place of one that may saturate its argument
  int output_count;
  bool *sorted;            // by output: its rows are matched (dq_match_rows)
  dq_tensor **matched;     // by output: its rows in the order of `kept`
  dq_tensor **kept;        // outputs of the network as it is on the picture
  dq_output_error *errors; // by output, of the last run
  int64_t *labels;         // by picture; NULL: none
  bool is_softmax;         // the first output is shares of classes or their arguments
  dq_score_look look;      // at the vectors of the first output
  int64_t classes;         // their length; 0: it has none
  int64_t picture, done, total;
} sensitivity_study;

static dq_status no_memory(const sensitivity_study *study) { return dq_fail_memory(study->job->error, 0); }

// ---- What is seen ----

static bool is_right(const sensitivity_study *study, const dq_tensor *scores, int64_t picture) {
  int64_t best = 0, count = dq_tensor_count(scores);
  for (int64_t i = 0; i < count; i++) {
    double score = dq_tensor_get(scores, i);
    if (dq_is_no_score(score)) return false;
    if (score > dq_tensor_get(scores, best)) best = i;
  }
  return best == study->labels[picture];
}

static dq_status store_reference(sensitivity_study *study, int slot, const dq_tensor *tensor) {
  if (!study->kept[slot])
    study->kept[slot] = dq_tensor_new(study->job->arena, tensor->type, tensor->rank, tensor->dims);
  if (!study->kept[slot]) return no_memory(study);
  memcpy(study->kept[slot]->data, tensor->data, dq_tensor_bytes(tensor));
  if (slot) return DQ_OK;
  study->classes = dq_is_vector(tensor) ? dq_tensor_count(tensor) : 0;
  if (study->classes) dq_score_look_add(&study->look, tensor, 0, study->classes, 1);
  if (study->labels) study->result->right += is_right(study, tensor, study->picture);
  return DQ_OK;
}

// NULL: nothing is kept of the run.
static dq_sensitivity_effect *effect_of(const sensitivity_study *study, int row, dq_layer_error_kind kind) {
  if (kind == DQ_LAYER_ERROR_SEGMENT) return NULL;
  if (kind == DQ_LAYER_ERROR_ALL) return &study->result->all;
  dq_sensitivity_layer *layer = &study->result->layers[row];
  return kind == DQ_LAYER_ERROR_WEIGHTS  ? &layer->weights
         : kind == DQ_LAYER_ERROR_RESULT ? &layer->activations
                                         : &layer->both;
}

static dq_status compare(sensitivity_study *study, int slot, const dq_tensor *tensor, dq_sensitivity_effect *effect) {
  dq_comparison other = {0};
  DQ_TRY(dq_comparison_add(slot ? &other : &effect->outputs, study->kept[slot], tensor, -1, study->job->error));
  if (slot) { // adds to the noise, but has no say in agreement
    effect->outputs.signal += other.signal;
    effect->outputs.noise += other.noise;
    effect->outputs.values += other.values;
  } else if (study->labels) {
    effect->right += is_right(study, tensor, study->picture);
  }
  return DQ_OK;
}

static dq_status add_relative_noise(sensitivity_study *study, int slot, const dq_tensor *tensor, double *noise) {
  dq_output_error *errors = &study->errors[slot];
  const dq_tensor *exact = study->kept[slot];
  dq_output_error_clear(errors);
  DQ_TRY(dq_output_error_add(errors, exact, exact->data, tensor->data, study->job->arena, study->job->in->context,
                             study->job->error));
  *noise += dq_output_error_relative(errors);
  return DQ_OK;
}

// Sorted rows of an output in the order of the float network's.
static dq_status align(sensitivity_study *study, int slot, const dq_tensor **tensor) {
  const dq_tensor *given = *tensor;
  if (!study->sorted[slot]) return DQ_OK;
  dq_tensor **matched = &study->matched[slot];
  if (!*matched) *matched = dq_tensor_new(study->job->arena, given->type, given->rank, given->dims);
  if (!*matched) return no_memory(study);
  *tensor = *matched;
  return dq_match_rows((*matched)->data, given, study->kept[slot]->data, given->data, study->job->error);
}

static dq_status on_outputs(void *user, int row, dq_layer_error_kind kind, const dq_plan *plan, double *noise,
                            dq_error *error) {
  (void)error;
  sensitivity_study *study = user;
  dq_sensitivity_effect *effect = kind == DQ_LAYER_ERROR_EXACT ? NULL : effect_of(study, row, kind);
  for (int o = 0; o < study->output_count; o++) {
    const dq_tensor *tensor = dq_plan_output(plan, study->outputs[o]);
    if (kind == DQ_LAYER_ERROR_EXACT) {
      DQ_TRY(store_reference(study, o, tensor));
      continue;
    }
    DQ_TRY(align(study, o, &tensor));
    DQ_TRY(add_relative_noise(study, o, tensor, noise));
    if (effect) DQ_TRY(compare(study, o, tensor, effect));
  }
  if (effect) effect->relative_noise += *noise / (double)study->job->pictures.count;
  if (effect) dq_progress(study->job->in->context, "sensitivity", ++study->done, study->total);
  return DQ_OK;
}

// ---- Variants ----

// The constants of all rows in 8 bits.
static dq_status round_constants(sensitivity_study *study, dq_graph *copy) {
  for (int s = 0; s < study->result->count; s++)
    if (study->sites[s].product >= 0) DQ_TRY(dq_round_constant(study->job, copy, study->sites[s].product));
  return dq_graph_index(copy, true, study->job->error);
}

static const char *name_of(const sensitivity_study *study, int value) {
  return value < 0 ? NULL : study->job->graph->values[value]->name;
}

static dq_status run_pictures(sensitivity_study *study, const dq_graph *rounded,
                              const dq_sensitivity_options *options) {
  dq_int8_job *job = study->job;
  dq_layer_error_row *rows = DQ_NEW_ARRAY(job->arena, study->result->count, dq_layer_error_row);
  if (!rows) return no_memory(study);
  for (int s = 0; s < study->result->count; s++) {
    const site *at = &study->sites[s];
    rows[s] = (dq_layer_error_row){.product = name_of(study, at->product), .result = name_of(study, at->result)};
    if (at->result >= 0) rows[s].parameters = job->choices[job->choices[at->result].shares].parameters;
  }
  dq_layer_error_runs runs;
  const dq_layer_error_input input = {.exact = job->graph,
                                      .rounded = rounded,
                                      .data = job->pictures.data,
                                      .shapes = &job->in->options->shapes,
                                      .rows = rows,
                                      .count = study->result->count,
                                      .both = !options->ranking,
                                      .share = options->share};
  dq_status status = dq_layer_error_runs_open(&runs, &input, job->arena, job->in->context, job->error);
  study->total = job->pictures.count * (runs.variant_count + 1);
  for (int64_t p = 0; status == DQ_OK && p < job->pictures.count; p++) {
    study->picture = p;
    status = dq_layer_error_runs_on_picture(&runs, p, on_outputs, study, job->error);
  }
  dq_layer_error_runs_close(&runs);
  return status;
}

static dq_status try_all(sensitivity_study *study, const dq_sensitivity_options *options) {
  dq_graph *rounded = dq_graph_copy(study->job->graph);
  if (!rounded) return no_memory(study);
  dq_status status = round_constants(study, rounded);
  if (status == DQ_OK) status = run_pictures(study, rounded, options);
  dq_graph_free(rounded);
  for (int s = 0; !options->ranking && s < study->result->count; s++) {
    dq_sensitivity_layer *layer = &study->result->layers[s];
    if (study->sites[s].product < 0) layer->both = layer->activations;
    else if (study->sites[s].result < 0) layer->both = layer->weights;
  }
  return status;
}

// ---- Rows ----

static bool is_own(const sensitivity_study *study, const dq_value *value) {
  const dq_value_choice *choice = &study->job->choices[value->index];
  return choice->quantized && choice->shares == value->index && !choice->constant;
}

// What stands behind an operator: its output, or that of the Relu or Clip which took its place; -1: nothing.
static int result_of(const sensitivity_study *study, const dq_value *output) {
  if (is_own(study, output)) return output->index;
  const dq_node *next = output->user_count == 1 ? output->users[0] : NULL;
  const dq_operator *row = next ? dq_operator_find(next->domain, next->op_type) : NULL;
  bool absorbed =
      row && row->quantization == DQ_QUANTIZE_ABSORB && study->job->choices[next->outputs[0]->index].quantized;
  return absorbed ? next->outputs[0]->index : -1;
}

static void add_row(sensitivity_study *study, const char *label, const char *op_type, int product, int result,
                    const dq_cost_node *cost) {
  dq_sensitivity_layer *layer = &study->result->layers[study->result->count];
  study->sites[study->result->count++] = (site){product, result};
  if (result >= 0) study->taken[result] = true;
  *layer = (dq_sensitivity_layer){.label = label,
                                  .op_type = op_type,
                                  .is_input = product < 0 && !study->job->graph->values[result]->producer,
                                  .has_weights = product >= 0,
                                  .macs = cost ? cost->macs : 0};
  if (product < 0) return;
  const dq_node *node = study->job->graph->values[product]->producer;
  layer->weight_bytes = (int64_t)dq_tensor_bytes(node->inputs[dq_constant_in_8_bits(study->job, node)]->constant);
}

static void find_rows(sensitivity_study *study, const dq_cost *cost) {
  const dq_graph *graph = study->job->graph;
  for (int i = 0; i < graph->input_count; i++)
    if (is_own(study, graph->inputs[i]))
      add_row(study, graph->inputs[i]->name, "Input", -1, graph->inputs[i]->index, NULL);
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    if (!node->mark || !row || row->quantization == DQ_QUANTIZE_SHARE) continue;
    const bool weights = dq_constant_in_8_bits(study->job, node) >= 0;
    int result = result_of(study, node->outputs[0]);
    if ((result >= 0 && study->taken[result]) || (result < 0 && !weights)) continue;
    add_row(study, dq_node_name(node), node->op_type, weights ? node->outputs[0]->index : -1, result, &cost->nodes[n]);
  }
}

// ---- What stands around results ----

// The value whose numbers a value has; -1: it has none.
static int numbers_of(const sensitivity_study *study, const dq_value *value) {
  return value && !value->constant ? study->job->choices[value->index].shares : -1;
}

// A marked node, and the function that it belongs to, whose parts are left in float together; count 0: none.
typedef struct marked_node {
  const dq_node *node;
  const dq_node *parts[DQ_FUNCTION_PARTS];
  int count;
} marked_node;

static void list_marked(const sensitivity_study *study, const dq_cost *cost, marked_node *marked) {
  const dq_graph *graph = study->job->graph;
  dq_sensitivity *result = study->result;
  for (int n = 0; n < graph->node_count; n++) {
    const dq_node *node = graph->nodes[n];
    if (!node->mark) continue;
    marked_node *to = &marked[result->node_count];
    to->node = node;
    to->count = dq_is_in_function(node) ? dq_function_parts(node, to->parts) : 0;
    result->nodes[result->node_count++] =
        (dq_sensitivity_node){dq_node_name(node), cost->nodes[n].macs, cost->nodes[n].parameter_bytes};
  }
}

// Pairs of a result and a marked node that stands around it: itself, or a part of its function, reads or writes it.
typedef struct pair {
  int result, node; // a value; an index into dq_sensitivity.nodes
} pair;

typedef struct pair_list {
  pair *pairs;
  int count, capacity;
  dq_arena *arena;
} pair_list;

static bool add_pair(pair_list *list, int result, int node) {
  if (list->count == list->capacity) {
    int capacity = 2 * list->capacity + 1024;
    pair *pairs = DQ_NEW_ARRAY(list->arena, capacity, pair);
    if (!pairs) return false;
    if (list->count) memcpy(pairs, list->pairs, (size_t)list->count * sizeof *pairs);
    dq_arena_release(list->arena, list->pairs);
    list->pairs = pairs, list->capacity = capacity;
  }
  list->pairs[list->count++] = (pair){result, node};
  return true;
}

static bool add_touched(const sensitivity_study *study, pair_list *list, const dq_node *node, int marked) {
  bool added = true;
  for (int i = 0; i < node->input_count + node->output_count && added; i++) {
    const dq_value *value = i < node->input_count ? node->inputs[i] : node->outputs[i - node->input_count];
    int result = numbers_of(study, value);
    if (result >= 0 && study->taken[result]) added = add_pair(list, result, marked);
  }
  return added;
}

static int by_result(const void *a, const void *b) {
  const pair *left = a, *right = b;
  if (left->result != right->result) return left->result < right->result ? -1 : 1;
  return (left->node > right->node) - (left->node < right->node);
}

// The pairs of all marked nodes, by result, then by node.
static dq_status list_pairs(const sensitivity_study *study, const marked_node *marked, pair_list *list) {
  bool added = true;
  for (int n = 0; n < study->result->node_count && added; n++) {
    added = add_touched(study, list, marked[n].node, n);
    for (int i = 0; i < marked[n].count && added; i++) added = add_touched(study, list, marked[n].parts[i], n);
  }
  if (!added) return no_memory(study);
  if (list->count) qsort(list->pairs, (size_t)list->count, sizeof *list->pairs, by_result);
  return DQ_OK;
}

static int first_of(const pair_list *list, int result) {
  int low = 0, high = list->count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (list->pairs[middle].result < result) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Each node once.
static dq_status fill_around(dq_sensitivity_layer *layer, const pair_list *list, int result, dq_arena *arena,
                             dq_error *error) {
  int first = first_of(list, result), end = first;
  while (end < list->count && list->pairs[end].result == result) end++;
  int *around = DQ_NEW_ARRAY(arena, end - first, int);
  if (!around) return dq_fail_memory(error, 0);
  for (int i = first; i < end; i++)
    if (i == first || list->pairs[i].node != list->pairs[i - 1].node)
      around[layer->around_count++] = list->pairs[i].node;
  layer->around = around;
  return DQ_OK;
}

static dq_status find_around(sensitivity_study *study, const dq_cost *cost, dq_arena *arena) {
  const dq_graph *graph = study->job->graph;
  dq_sensitivity *result = study->result;
  marked_node *marked = DQ_NEW_ARRAY(study->job->arena, graph->node_count, marked_node);
  int *made_by = DQ_NEW_ARRAY(study->job->arena, graph->value_count, int); // behind the place of the marked node
  pair_list list = {.arena = study->job->arena};
  result->nodes = DQ_NEW_ARRAY(arena, graph->node_count, dq_sensitivity_node);
  if (!marked || !made_by || !result->nodes) return no_memory(study);
  list_marked(study, cost, marked);
  for (int n = 0; n < result->node_count; n++) made_by[marked[n].node->outputs[0]->index] = n + 1;
  DQ_TRY(list_pairs(study, marked, &list));
  for (int s = 0; s < result->count; s++) {
    const site *at = &study->sites[s];
    result->layers[s].product = at->product < 0 ? -1 : made_by[at->product] - 1;
    DQ_TRY(fill_around(&result->layers[s], &list, at->result, arena, study->job->error));
  }
  return DQ_OK;
}

// ---- All of it ----

static void list_outputs(sensitivity_study *study) {
  dq_graph *graph = study->job->graph;
  for (int o = 0; o < graph->output_count; o++) {
    const dq_tensor *tensor = &study->job->tensors[graph->outputs[o]->index];
    if (!graph->outputs[o]->producer || tensor->type != DQ_F32 || tensor->rank < 0) continue;
    if (!study->output_count) study->is_softmax = dq_is_softmax(graph->outputs[o]);
    study->sorted[study->output_count] = dq_has_sorted_rows(graph->outputs[o], tensor);
    study->outputs[study->output_count++] = o;
  }
  dq_show_arguments(graph, dq_saturating_functions);
}

static dq_status allocate(sensitivity_study *study) {
  dq_arena *arena = study->job->arena;
  const dq_graph *graph = study->job->graph;
  int rows = graph->node_count + graph->input_count;
  study->sites = DQ_NEW_ARRAY(arena, rows, site);
  study->taken = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  study->outputs = DQ_NEW_ARRAY(arena, graph->output_count, int);
  study->sorted = DQ_NEW_ARRAY(arena, graph->output_count, bool);
  study->matched = DQ_NEW_ARRAY(arena, graph->output_count, dq_tensor *);
  study->kept = DQ_NEW_ARRAY(arena, graph->output_count, dq_tensor *);
  study->errors = DQ_NEW_ARRAY(arena, graph->output_count, dq_output_error);
  if (!study->sites || !study->taken || !study->outputs || !study->sorted || !study->matched || !study->kept ||
      !study->errors)
    return no_memory(study);
  list_outputs(study);
  return DQ_OK;
}

static dq_status read_labels(sensitivity_study *study) {
  if (dq_data_labelled(study->job->pictures.data) != DQ_LABEL_CLASS) return DQ_OK;
  study->labels = DQ_NEW_ARRAY(study->job->arena, study->job->pictures.count, int64_t);
  if (!study->labels) return no_memory(study);
  for (int64_t i = 0; i < study->job->pictures.count; i++) {
    dq_sample_info info;
    DQ_TRY(dq_data_read(study->job->pictures.data, i, NULL, &info, study->job->error));
    study->labels[i] = info.label;
  }
  return DQ_OK;
}

// Parameters of the job's values: of the network as it is folded, or, with options->start, of what would be quantized.
static dq_status find_parameters(dq_int8_conversion *conversion) {
  dq_int8_job *job = &conversion->job;
  bool any;
  if (!job->in->options->start) {
    DQ_TRY(dq_int8_fold(job));
    return dq_int8_find_parameters(job, false);
  }
  DQ_TRY(dq_int8_prepare(conversion, &any));
  if (any) DQ_TRY(dq_int8_choose(conversion));
  return dq_int8_find_parameters(job, true);
}

static dq_status run_study(sensitivity_study *study, const dq_sensitivity_options *options, dq_arena *arena) {
  dq_int8_job *job = study->job;
  dq_cost cost;
  DQ_TRY(find_parameters(&study->conversion));
  if (!study->report.quantized) return dq_fail(job->error, DQ_UNSUPPORTED, "no operator can be quantized");
  DQ_TRY(allocate(study));
  study->result->layers = DQ_NEW_ARRAY(arena, job->graph->node_count + job->graph->input_count, dq_sensitivity_layer);
  if (!study->result->layers) return no_memory(study);
  DQ_TRY(dq_cost_count(&cost, job->graph, job->in->options->shapes.input_count ? &job->in->options->shapes : NULL,
                       job->in->context, job->arena, job->error));
  find_rows(study, &cost);
  DQ_TRY(find_around(study, &cost, arena));
  DQ_TRY(read_labels(study));
  DQ_TRY(try_all(study, options));
  study->result->scores =
      study->classes && (study->is_softmax || study->labels || dq_score_look_is_classes(&study->look, study->classes));
  study->result->labelled = study->labels && study->result->scores;
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
  sensitivity_study study = {.result = result};
  int64_t pictures = dq_data_count(data);
  if (options->pictures && options->pictures < pictures) pictures = options->pictures;
  *result = (dq_sensitivity){.pictures = pictures};
  dq_graph *copy = dq_graph_copy(graph);
  if (!copy) return dq_fail_memory(error, 0);
  study.job = &study.conversion.job;
  dq_status status = dq_int8_conversion_open(&study.conversion, copy, "sensitivity", options->int8, context, error);
  study.job->report = &study.report;
  study.job->pictures.data = data, study.job->pictures.count = pictures;
  study.job->setting.method = options->int8->method;
  if (status == DQ_OK) status = run_study(&study, options, arena);
  if (status == DQ_OK) status = own_labels(result, arena, error);
  dq_origin_discard(study.job->origin);
  dq_int8_conversion_close(&study.conversion);
  dq_graph_free(copy);
  return status;
}
