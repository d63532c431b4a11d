// Matching the values of two models and comparing them picture by picture.
#include "lib/eval/layers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/session/runner.h"
#include "lib/document/origin.h"

// ---- Which values belong together ----

typedef struct matching {
  const dq_graph *reference, *candidate;
  dq_lineage *reference_lineage, *candidate_lineage;
  int reference_first, candidate_first; // steps to follow back to the common source; -1: none known
  bool by_names;
} matching;

// Where both lineages meet: the reference itself among the candidate's sources, the candidate among
// the reference's, or a source both had.
static bool find_common_source(matching *m) {
  uint64_t reference = dq_origin_hash(m->reference), candidate = dq_origin_hash(m->candidate);
  int reference_steps = dq_lineage_steps(m->reference_lineage);
  int candidate_steps = dq_lineage_steps(m->candidate_lineage);
  m->reference_first = reference_steps;
  m->candidate_first = candidate_steps;
  if (reference == candidate) return true;
  m->candidate_first = dq_lineage_find(m->candidate_lineage, reference);
  if (m->candidate_first >= 0) return true;
  m->candidate_first = candidate_steps;
  m->reference_first = dq_lineage_find(m->reference_lineage, candidate);
  if (m->reference_first >= 0) return true;
  for (int i = reference_steps - 1; i >= 0; i--) {
    m->reference_first = i;
    m->candidate_first = dq_lineage_find(m->candidate_lineage, dq_lineage_source(m->reference_lineage, i));
    if (m->candidate_first >= 0) return true;
  }
  m->reference_first = reference_steps; // so that every name resolves to itself
  m->candidate_first = candidate_steps;
  return false;
}

static bool has_operator(const dq_value *value, const char *op_type) {
  for (int i = 0; i < value->user_count; i++)
    if (!strcmp(value->users[i]->op_type, op_type)) return true;
  return false;
}

static bool reads_dequantized(const dq_node *node) {
  for (int i = 0; i < node->input_count; i++)
    if (node->inputs[i] && node->inputs[i]->producer && !strcmp(node->inputs[i]->producer->op_type, "DequantizeLinear"))
      return true;
  return false;
}

// Whether `value` lies between a DequantizeLinear and the QuantizeLinear that ends the same step.
static bool inside_integer_step(const dq_value *value) {
  enum { LONGEST_STEP = 4 };
  const dq_value *at = value;
  if (value->producer && !strcmp(value->producer->op_type, "DequantizeLinear")) return false;
  for (int i = 0; i < LONGEST_STEP && !has_operator(at, "QuantizeLinear"); i++) {
    if (at->user_count != 1 || !dq_node_output(at->users[0], 0)) return false;
    at = at->users[0]->outputs[0];
  }
  if (!has_operator(at, "QuantizeLinear")) return false;
  at = value;
  for (int i = 0; i < LONGEST_STEP && at && at->producer; i++) {
    if (reads_dequantized(at->producer)) return true;
    at = dq_node_input(at->producer, 0);
  }
  return false;
}

static bool can_be_tapped(const dq_value *value) {
  return value->producer && !value->constant && !dq_node_is(value->producer, "Constant");
}

// The candidate's value for each name of the common source: explicit entries win, then later ones.
// `best` is by value index of the reference, `listed` says which entries are explicit.
static void match_candidates(const matching *m, const dq_value **best, bool *listed) {
  const dq_graph *candidate = m->candidate;
  for (int n = 0; n < candidate->node_count; n++)
    for (int i = 0; i < candidate->nodes[n]->output_count; i++) {
      const dq_value *value = candidate->nodes[n]->outputs[i];
      if (!value || !can_be_tapped(value)) continue;
      bool mapped;
      const char *name = dq_lineage_resolve(m->candidate_lineage, m->candidate_first, value->name, &mapped);
      const dq_value *source = name ? dq_graph_find(m->reference, name) : NULL;
      if (!source || (!mapped && (listed[source->index] || inside_integer_step(value))) || inside_integer_step(source))
        continue;
      best[source->index] = value;
      listed[source->index] = mapped;
    }
}

// The same when the reference itself has steps behind the common source: every value of the
// reference is followed back and looked up among the candidate's.
static void match_through_source(const matching *m, const dq_value **best) {
  for (int c = 0; c < m->candidate->value_count; c++) {
    const dq_value *value = m->candidate->values[c];
    if (!can_be_tapped(value)) continue;
    const char *name = dq_lineage_resolve(m->candidate_lineage, m->candidate_first, value->name, NULL);
    for (int r = 0; name && r < m->reference->value_count; r++) {
      const dq_value *other = m->reference->values[r];
      if (!can_be_tapped(other) || inside_integer_step(other) || inside_integer_step(value)) continue;
      const char *source = dq_lineage_resolve(m->reference_lineage, m->reference_first, other->name, NULL);
      if (source && !strcmp(source, name)) best[r] = value;
    }
  }
}

// The product whose result `value` is, behind steps that integer kernels compute along with it.
static const dq_node *product_of(const dq_value *value) {
  enum { LONGEST_STEP = 4 };
  for (int i = 0; i < LONGEST_STEP && value && value->producer; i++) {
    const dq_node *node = value->producer;
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    if (!row) return NULL;
    if (row->quantization == DQ_QUANTIZE_COMPUTE) return node;
    if (row->quantization != DQ_QUANTIZE_ABSORB && row->quantization != DQ_QUANTIZE_TABLE &&
        !dq_node_is(node, "BatchNormalization"))
      return NULL;
    value = dq_node_input(node, 0);
  }
  return NULL;
}

// Which channels of the pair belong together; *comparable: they can be matched at all.
static dq_status match_channels(const matching *m, dq_layer_pair *pair, bool *comparable, dq_arena *arena,
                                dq_error *error) {
  int64_t *reference, *candidate, references, candidates;
  DQ_TRY(dq_lineage_channels(m->reference_lineage, m->reference_first, pair->reference->name, &reference, &references,
                             arena, error));
  DQ_TRY(dq_lineage_channels(m->candidate_lineage, m->candidate_first, pair->candidate->name, &candidate, &candidates,
                             arena, error));
  *comparable = references >= 0 && candidates >= 0 && (references == candidates || !references || !candidates);
  int64_t count = dq_max_i64(references, candidates);
  if (!*comparable || !count) return DQ_OK;
  int64_t *channels = DQ_NEW_ARRAY(arena, count, int64_t);
  int64_t *back = DQ_NEW_ARRAY(arena, count, int64_t); // of the source: the reference's channel
  if (!channels || !back) return dq_fail_memory(error, (size_t)count * sizeof *channels);
  for (int64_t c = 0; c < count; c++) back[reference ? reference[c] : c] = c;
  for (int64_t c = 0; c < count; c++) channels[c] = back[candidate ? candidate[c] : c];
  pair->channels = channels;
  pair->channel_count = count;
  return DQ_OK;
}

static dq_status collect_pairs(const matching *m, const dq_value *const *best, dq_arena *arena,
                               dq_layer_comparison *result, dq_error *error) {
  const dq_graph *reference = m->reference;
  result->layers = DQ_NEW_ARRAY(arena, reference->value_count + 1, dq_layer_pair);
  result->outputs = DQ_NEW_ARRAY(arena, reference->output_count + 1, dq_layer_pair);
  if (!result->layers || !result->outputs) return dq_fail_memory(error, sizeof *result->layers);
  for (int n = 0; n < reference->node_count; n++)
    for (int i = 0; i < reference->nodes[n]->output_count; i++) {
      const dq_value *value = reference->nodes[n]->outputs[i];
      if (!value || !best[value->index] || !can_be_tapped(value)) continue;
      dq_layer_pair *pair = &result->layers[result->layer_count];
      bool comparable;
      *pair = (dq_layer_pair){.reference = value, .candidate = best[value->index], .layer = product_of(value)};
      DQ_TRY(match_channels(m, pair, &comparable, arena, error));
      result->layer_count += comparable;
    }
  if (reference->output_count != m->candidate->output_count)
    return dq_fail(error, DQ_BAD_INPUT, "%s has %d outputs, %s has %d; expected equal numbers", m->candidate->path,
                   m->candidate->output_count, reference->path, reference->output_count);
  for (int i = 0; i < reference->output_count; i++)
    result->outputs[result->output_count++] =
        (dq_layer_pair){.reference = reference->outputs[i], .candidate = m->candidate->outputs[i]};
  return DQ_OK;
}

static dq_status match(matching *m, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                       dq_layer_comparison *result, dq_error *error) {
  DQ_TRY(dq_lineage_open(&m->reference_lineage, m->reference, context, error));
  DQ_TRY(dq_lineage_open(&m->candidate_lineage, m->candidate, context, error));
  const dq_value **best = DQ_NEW_ARRAY(arena, m->reference->value_count + 1, const dq_value *);
  bool *listed = DQ_NEW_ARRAY(arena, m->reference->value_count + 1, bool);
  if (!best || !listed) return dq_fail_memory(error, (size_t)m->reference->value_count);
  bool related = find_common_source(m);
  result->by_names = !related && options->by_names;
  if (result->by_names)
    dq_message(context, DQ_WARNING, "%s does not say that it comes from %s: layers are matched by name",
               m->candidate->path, m->reference->path);
  else if (!related)
    dq_message(context, DQ_WARNING, "%s does not say that it comes from %s: only outputs are compared",
               m->candidate->path, m->reference->path);
  if (related || result->by_names) {
    if (m->reference_first == dq_lineage_steps(m->reference_lineage)) match_candidates(m, best, listed);
    else match_through_source(m, best);
  }
  return collect_pairs(m, best, arena, result, error);
}

// ---- Running both ----

// The candidate runs, and the reference follows it as far as is needed to compare what the candidate
// delivers, so that only few values are kept at any time.

// A value of the reference as floats until the candidate's is compared with it.
typedef struct kept_value {
  float *values;
  int64_t count;
} kept_value;

typedef struct compare_job {
  dq_layer_comparison *result;
  dq_runner reference, candidate;
  kept_value *kept;     // by layer: what the reference said of this picture
  int step;             // of the reference's plan, the next
  int *reference_layer; // by value index of the session's copy: layer or -1
  int *candidate_layer;
  int *next_layer; // by layer: the next one with the same value of the candidate, or -1
  dq_data *data;

  const dq_context *context;
} compare_job;

static dq_status store(compare_job *job, kept_value *kept, int64_t count, dq_error *error) {
  size_t bytes = (size_t)count * sizeof *kept->values;
  DQ_TRY(dq_check_memory(job->context, bytes, "the reference's values of one picture", error));
  kept->values = dq_context_alloc(job->context, bytes);
  if (!kept->values) return dq_fail_memory(error, bytes);
  kept->count = count;
  return DQ_OK;
}

static void forget(kept_value *kept) {
  dq_budget_free(kept->values);
  *kept = (kept_value){0};
}

static bool is_float(int type) { return type == DQ_F32 || type == DQ_F16 || type == DQ_F64; }

static dq_status store_reference(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  compare_job *job = user;
  int layer = job->reference_layer[value->index];
  if (layer < 0 || !is_float(tensor->type)) return DQ_OK;
  kept_value *kept = &job->kept[layer];
  DQ_TRY(store(job, kept, dq_tensor_count(tensor), error));
  if (tensor->type == DQ_F32) memcpy(kept->values, tensor->data, dq_tensor_bytes(tensor));
  else
    for (int64_t i = 0; i < kept->count; i++) kept->values[i] = (float)dq_tensor_get(tensor, i);
  return DQ_OK;
}

// Channel by channel, where they have moved.
static void compare_channels(dq_layer_pair *pair, const float *kept, const dq_tensor *tensor) {
  int64_t count = pair->channel_count;
  if (tensor->rank < 2 || tensor->dims[1] != count) return;
  const float *at = tensor->data;
  int64_t inner = dq_tensor_product(tensor, 2, tensor->rank);
  for (int64_t n = 0; n < tensor->dims[0]; n++, kept += count * inner)
    for (int64_t c = 0; c < count; c++, at += inner)
      dq_comparison_add_values(&pair->comparison, kept + pair->channels[c] * inner, at, inner);
}

static void compare_values(dq_layer_pair *pair, const kept_value *kept, const dq_tensor *tensor) {
  if (kept->count != dq_tensor_count(tensor)) return;
  if (tensor->type == DQ_F32 && pair->channels) compare_channels(pair, kept->values, tensor);
  else if (tensor->type == DQ_F32) dq_comparison_add_values(&pair->comparison, kept->values, tensor->data, kept->count);
  for (int64_t i = 0; tensor->type != DQ_F32 && !pair->channels && i < kept->count; i++) {
    float other = (float)dq_tensor_get(tensor, i);
    dq_comparison_add_values(&pair->comparison, &kept->values[i], &other, 1);
  }
}

// Runs the reference until it has delivered a layer's value, or to its end.
static dq_status follow(compare_job *job, const kept_value *awaited, dq_error *error) {
  dq_plan *plan = job->reference.session.plan;
  for (; job->step < dq_plan_step_count(plan) && !(awaited && awaited->values); job->step++)
    DQ_TRY(dq_plan_run_steps(plan, job->step, job->step + 1, error));
  return DQ_OK;
}

static dq_status compare_candidate(void *user, const dq_value *value, const dq_tensor *tensor, dq_error *error) {
  compare_job *job = user;
  if (!is_float(tensor->type)) return DQ_OK;
  // Several values of the reference may stand behind one of the candidate's.
  for (int l = job->candidate_layer[value->index]; l >= 0; l = job->next_layer[l]) {
    DQ_TRY(follow(job, &job->kept[l], error));
    compare_values(&job->result->layers[l], &job->kept[l], tensor);
    forget(&job->kept[l]);
  }
  return DQ_OK;
}

// Opens a session with all layers' values tapped.
static dq_status open_side(compare_job *job, dq_runner *runner, const dq_graph *graph, bool candidate,
                           const dq_layer_options *options, dq_arena *arena, dq_error *error) {
  int count = job->result->layer_count;
  const char **taps = DQ_NEW_ARRAY(arena, count + 1, const char *);
  if (!taps) return dq_fail_memory(error, (size_t)count * sizeof *taps);
  for (int i = 0; i < count; i++) {
    const dq_layer_pair *pair = &job->result->layers[i];
    taps[i] = candidate ? pair->candidate->name : pair->reference->name;
  }
  dq_runner_options runner_options = {.session = {.shapes = options->shapes, .taps = taps, .tap_count = count},
                                      .batch = 1};
  dq_status status = dq_runner_open(runner, graph, job->data, &runner_options, job->context, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s", graph->path);
  const dq_graph *copy = runner->session.copy;
  int *layers = DQ_NEW_ARRAY(arena, copy->value_count + 1, int), *next = DQ_NEW_ARRAY(arena, count + 1, int);
  if (!layers || !next) return dq_fail_memory(error, (size_t)copy->value_count * sizeof *layers);
  for (int i = 0; i < copy->value_count; i++) layers[i] = -1;
  for (int i = count - 1; i >= 0; i--) {
    const dq_value *value = dq_graph_find(copy, taps[i]);
    if (!value) continue;
    next[i] = layers[value->index];
    layers[value->index] = i;
  }
  if (candidate) job->next_layer = next;
  *(candidate ? &job->candidate_layer : &job->reference_layer) = layers;
  dq_plan_set_tap(runner->session.plan, candidate ? compare_candidate : store_reference, job);
  return DQ_OK;
}

static dq_status compare_outputs(compare_job *job, dq_error *error) {
  for (int i = 0; i < job->result->output_count; i++) {
    dq_comparison *comparison = &job->result->outputs[i].comparison;
    if (!dq_plan_output_fixed(job->reference.session.plan, i)) continue; // other elements, not the same ones
    const dq_tensor *reference = dq_plan_output(job->reference.session.plan, i);
    const dq_tensor *candidate = dq_plan_output(job->candidate.session.plan, i);
    dq_status status = dq_comparison_add(comparison, reference, candidate, -1, error);
    if (status != DQ_OK)
      return dq_error_prefix(error, status, "%s", dq_plan_output_name(job->candidate.session.plan, i));
    if (i == 0)
      job->result->scores = reference->rank >= 1 && dq_tensor_count(reference) > 1 &&
                            (reference->rank <= 2 || dq_tensor_product(reference, 2, reference->rank) == 1);
  }
  return DQ_OK;
}

static dq_status run_pictures(compare_job *job, int64_t most, dq_error *error) {
  int64_t count = dq_data_count(job->data);
  if (most) count = dq_min_i64(count, most);
  for (int64_t i = 0; i < count; i++) {
    DQ_TRY(dq_check_stop(job->context, error));
    DQ_TRY(dq_runner_read(&job->reference, i, 1, NULL, error));
    DQ_TRY(dq_runner_share(&job->candidate, &job->reference, error));
    job->step = 0;
    DQ_TRY(dq_runner_run(&job->candidate, error));
    DQ_TRY(follow(job, NULL, error));
    for (int l = 0; l < job->result->layer_count; l++) forget(&job->kept[l]); // the candidate had no such
    DQ_TRY(compare_outputs(job, error));
    dq_progress(job->context, "comparing", i + 1, count);
  }
  job->result->pictures = count;
  return DQ_OK;
}

static dq_status run_job(compare_job *job, const dq_graph *reference, const dq_graph *candidate,
                         const dq_layer_options *options, dq_arena *arena, dq_error *error) {
  job->kept = DQ_NEW_ARRAY(arena, job->result->layer_count + 1, kept_value);
  if (!job->kept) return dq_fail_memory(error, sizeof *job->kept);
  DQ_TRY(open_side(job, &job->reference, reference, false, options, arena, error));
  DQ_TRY(open_side(job, &job->candidate, candidate, true, options, arena, error));
  if (job->reference.batch != 1 || job->candidate.batch != 1)
    return dq_fail(error, DQ_UNSUPPORTED, "models with a fixed batch above 1 cannot be compared");
  dq_status status = dq_runner_check_share(&job->candidate, &job->reference, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "%s and %s", candidate->path, reference->path);
  return run_pictures(job, options->pictures, error);
}

dq_status dq_compare_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                            dq_data *data, const dq_layer_options *options, const dq_context *context, dq_arena *arena,
                            dq_error *error) {
  *result = (dq_layer_comparison){0};
  matching m = {.reference = reference, .candidate = candidate};
  dq_status status = match(&m, options, context, arena, result, error);
  dq_lineage_free(m.reference_lineage);
  dq_lineage_free(m.candidate_lineage);
  DQ_TRY(status);
  compare_job job = {.result = result, .data = data, .context = context};
  status = run_job(&job, reference, candidate, options, arena, error);
  dq_runner_close(&job.reference);
  dq_runner_close(&job.candidate);
  for (int i = 0; job.kept && i < result->layer_count; i++) forget(&job.kept[i]);
  return status;
}
