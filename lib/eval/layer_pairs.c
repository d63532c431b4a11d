// Which values of two models belong together.
#include "lib/eval/layer_pairs.h"

#include <string.h>

#include "lib/base/sizes.h"
#include "lib/document/origin.h"

typedef struct matching {
  const dq_graph *reference, *candidate;
  dq_lineage *reference_lineage, *candidate_lineage;
  int reference_first, candidate_first; // steps to follow back to the common source; -1: none known
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

static dq_status match(matching *m, bool by_names, const dq_context *context, dq_arena *arena,
                       dq_layer_comparison *result, dq_error *error) {
  DQ_TRY(dq_lineage_open(&m->reference_lineage, m->reference, context, error));
  DQ_TRY(dq_lineage_open(&m->candidate_lineage, m->candidate, context, error));
  const dq_value **best = DQ_NEW_ARRAY(arena, m->reference->value_count + 1, const dq_value *);
  bool *listed = DQ_NEW_ARRAY(arena, m->reference->value_count + 1, bool);
  if (!best || !listed) return dq_fail_memory(error, (size_t)m->reference->value_count);
  bool related = find_common_source(m);
  result->by_names = !related && by_names;
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

dq_status dq_match_layers(dq_layer_comparison *result, const dq_graph *reference, const dq_graph *candidate,
                          bool by_names, const dq_context *context, dq_arena *arena, dq_error *error) {
  *result = (dq_layer_comparison){0};
  matching m = {.reference = reference, .candidate = candidate};
  const dq_status status = match(&m, by_names, context, arena, result, error);
  dq_lineage_free(m.reference_lineage);
  dq_lineage_free(m.candidate_lineage);
  return status;
}
