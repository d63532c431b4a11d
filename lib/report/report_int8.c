// INT8 quantization as tables, in the words of the overflow audit (report_audit.c).
#include "lib/report/report_int8.h"

#include "lib/base/sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/report/report_audit.h"

static const dq_column layer_columns[] = {
    {"layer", "Layer", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 2},
    {"quantized", "int8", DQ_COLUMN_BOOL, NULL, 0, 0, 1},
    {"low", "Low", DQ_COLUMN_SIGNIFICANT, NULL, 5, 0, 6},
    {"high", "High", DQ_COLUMN_SIGNIFICANT, NULL, 5, 0, 6},
    {"scale", "Scale", DQ_COLUMN_SIGNIFICANT, NULL, 6, 0, 4},
    {"zero_point", "Zero", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"weight_scale_low", "Weight scale", DQ_COLUMN_SIGNIFICANT, NULL, 5, 0, 5},
    {"weight_scale_high", "to", DQ_COLUMN_SIGNIFICANT, NULL, 5, 0, 5},
    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 1, 0, 1},
    {"bits", "Observed bits", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"proven_bits", "proven", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"clamped", "Clamped", DQ_COLUMN_PERCENT, NULL, 3, 0, 8},
    {"pair", "Pairs saturated", DQ_COLUMN_PERCENT, NULL, 4, 0, 7},
    {"pairs", "Pair saturation", DQ_COLUMN_TEXT, NULL, 0, 34, 9},
    {"int32", "32-bit sums", DQ_COLUMN_TEXT, NULL, 0, 34, 9},
    {"block16", "Block", DQ_COLUMN_INT, NULL, 0, 0, 10},
    {"reason", "Stays in float", DQ_COLUMN_TEXT, NULL, 0, 60, -1},
};
static const dq_table_layout layer_layout = {"layers", NULL, layer_columns, DQ_COUNT(layer_columns), false};

static const dq_column model_columns[] = {
    {"operators", "Operators", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"quantized", "Quantized", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"activations", "Activations with scales", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"halves", "In float16", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"float_macs", "MACs in float", DQ_COLUMN_PERCENT, NULL, 2, 0, 0},
    {"float_weights", "Weights in float", DQ_COLUMN_PERCENT, NULL, 2, 0, 0},
    {"lowered", "Written on integers", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"pictures", "Pictures", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"histogram_bytes", "Histograms", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"method", "Ranges by", DQ_COLUMN_TEXT, NULL, 0, 24, 0},
    {"levels", "Input exact on the 8-bit grid", DQ_COLUMN_BOOL, NULL, 0, 0, 0},
    {"equalized", "Values equalized", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"equalize_gain", "Gain of equalizing", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"absorbed", "Values with biases absorbed", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"absorption_gain", "Gain of absorbing", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"bias_corrected", "Biases corrected", DQ_COLUMN_BOOL, NULL, 0, 0, 0},
    {"bias_correction_gain", "Gain of correcting", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"searched", "Ranges by search", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"range_search_gain", "Gain of searching", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"exact_sums", "Sums without rounding", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"exact_sums_gain", "Gain of exact sums", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"rounded", "Layers not rounded to nearest", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"rounding_gain", "Gain of rounding", DQ_COLUMN_SIGNIFICANT, "dB", 3, 0, 0},
    {"pairs_cost", "Loss by safe pairs", DQ_COLUMN_REAL, "dB", 2, 0, 0},
    {"audited", "Layers audited", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"pairs_safe", "Layers with safe pairs", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"int32_safe", "Layers safe in int32", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"int16_safe", "Layers safe in int16", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"pair", "Pairs saturated", DQ_COLUMN_PERCENT, NULL, 4, 0, 0},
    {"checked", "Checked on", DQ_COLUMN_INT, "pictures", 0, 0, 0},
};
static const dq_table_layout model_layout = {"model", NULL, model_columns, DQ_COUNT(model_columns), true};

// ---- A layer ----

// The row of a node that has no name is called by its label.
static bool is_called(const dq_node *node, const char *name) {
  char label[DQ_LABEL_TEXT];
  return !strcmp(node->name, name) || (!node->name[0] && !strcmp(dq_node_label(node, label, sizeof label), name));
}

static const dq_audit_layer *audit_of(const dq_quantization_check *check, const char *name) {
  for (int i = 0; i < check->audit.layer_count; i++)
    if (is_called(check->audit.layers[i].node, name)) return &check->audit.layers[i];
  return NULL;
}

// The pairs of the comparison, with hashes of their names: models have tens of thousands of layers.
typedef struct named_pairs {
  const dq_layer_comparison *comparison;
  uint64_t *hashes; // NULL: there is no memory, and names are compared
} named_pairs;

static const dq_node *node_of(const dq_layer_pair *pair) {
  return pair->layer ? pair->layer : pair->reference->producer;
}

static uint64_t hash_of(const char *name) { return XXH3_64bits(name, strlen(name)); }

static named_pairs name_pairs(const dq_layer_comparison *comparison) {
  named_pairs pairs = {comparison, malloc((size_t)(comparison->layer_count + 1) * sizeof *pairs.hashes)};
  char label[DQ_LABEL_TEXT];
  for (int i = 0; pairs.hashes && i < comparison->layer_count; i++) {
    const dq_node *node = node_of(&comparison->layers[i]);
    pairs.hashes[i] = hash_of(node->name[0] ? node->name : dq_node_label(node, label, sizeof label));
  }
  return pairs;
}

// Writes the SQNR of the layer's result; that of a product is measured behind its activation.
static void put_distance(dq_table *table, const dq_int8_layer *layer, const named_pairs *pairs) {
  uint64_t hash = hash_of(layer->name);
  for (int i = 0; i < pairs->comparison->layer_count; i++) {
    if (pairs->hashes && pairs->hashes[i] != hash) continue;
    const dq_layer_pair *pair = &pairs->comparison->layers[i];
    if (!pair->comparison.values || !is_called(node_of(pair), layer->name)) continue;
    dq_table_put_real(table, "sqnr", dq_comparison_sqnr(&pair->comparison));
    if (pair->comparison.nonfinite) dq_table_mark(table, "sqnr", DQ_MARK_BAD);
  }
}

static void put_share(dq_table *table, const char *key, const dq_audit_share *share) {
  if (share->of) dq_table_put_real(table, key, share->average);
}

static void put_sums(dq_table *table, const dq_audit_layer *layer) {
  int64_t overflowed;
  if (!layer) return;
  if (layer->reason) {
    dq_table_put_format(table, "pairs", "not audited: %s", layer->reason);
    return;
  }
  if (layer->pictures) dq_table_put_int(table, "bits", dq_audit_bits(layer->lowest, layer->highest));
  dq_table_put_int(table, "proven_bits", dq_audit_bits(layer->worst.lowest, layer->worst.highest));
  put_share(table, "clamped", &layer->shares[DQ_AUDIT_CLAMPED]);
  put_share(table, "pair", &layer->shares[DQ_AUDIT_PAIR]);
  dq_audit_verdict verdict = dq_audit_verdict_pair(layer, -1, &overflowed);
  dq_report_put_verdict(table, "pairs", verdict, overflowed, layer->pictures);
  verdict = dq_audit_verdict32(layer, -1, &overflowed);
  dq_report_put_verdict(table, "int32", verdict, overflowed, layer->pictures);
}

static void put_layer(dq_table *table, const dq_int8_layer *layer, const dq_quantization_check *check,
                      const named_pairs *pairs) {
  dq_table_row(table);
  dq_table_put_text(table, "layer", layer->name);
  dq_table_put_text(table, "op", layer->op_type);
  dq_table_put_bool(table, "quantized", !layer->reason[0]);
  if (layer->reason[0]) {
    dq_table_put_text(table, "reason", layer->reason);
    return;
  }
  // A layer fused with the next one has no scale of its own.
  if (layer->parameters.scale > 0) {
    dq_table_put_real(table, "low", (double)layer->range.low);
    dq_table_put_real(table, "high", (double)layer->range.high);
    dq_table_put_real(table, "scale", (double)layer->parameters.scale);
    dq_table_put_int(table, "zero_point", layer->parameters.zero_point);
  }
  put_distance(table, layer, pairs);
  put_sums(table, audit_of(check, layer->name));
  if (layer->weight_scale_high <= 0) return;
  dq_table_put_real(table, "weight_scale_low", (double)layer->weight_scale_low);
  dq_table_put_real(table, "weight_scale_high", (double)layer->weight_scale_high);
  if (layer->int16_block) dq_table_put_int(table, "block16", layer->int16_block);
}

// ---- The model ----

static void put_gain(dq_table *model, const char *key, bool taken, double gain) {
  if (taken && isfinite(gain)) dq_table_put_real(model, key, gain);
}

// Writes how often a step such as absorption was done and what it gained; nothing when it was not done.
static void put_recovery(dq_table *model, const char *key, int count, const char *gain_key, double gain) {
  if (count) dq_table_put_int(model, key, count);
  put_gain(model, gain_key, count > 0, gain);
}

// What the options left open, and what trials said of it.
static void put_decisions(dq_table *model, const dq_int8_report *facts) {
  dq_table_put_text(model, "method", facts->table.method);
  if (facts->table.levels.input) dq_table_put_bool(model, "levels", true);
  dq_table_put_int(model, "equalized", facts->equalized);
  put_gain(model, "equalize_gain", facts->equalized, facts->equalize_gain);
  put_recovery(model, "absorbed", facts->absorbed, "absorption_gain", facts->absorption_gain);
  dq_table_put_bool(model, "bias_corrected", facts->bias_corrected);
  put_gain(model, "bias_correction_gain", facts->bias_corrected, facts->bias_correction_gain);
  put_recovery(model, "searched", facts->searched, "range_search_gain", facts->range_search_gain);
  put_recovery(model, "exact_sums", facts->exact_sums, "exact_sums_gain", facts->exact_sums_gain);
  put_recovery(model, "rounded", facts->rounded, "rounding_gain", facts->rounding_gain);
  if (isfinite(facts->pairs_cost)) dq_table_put_real(model, "pairs_cost", facts->pairs_cost);
}

static void put_audit(dq_table *model, const dq_audit_report *audit) {
  int64_t pairs = 0, int32 = 0, int16 = 0, ignored;
  uint64_t clipped = 0, of = 0;
  for (int i = 0; i < audit->layer_count; i++) {
    const dq_audit_layer *layer = &audit->layers[i];
    if (layer->reason) continue;
    pairs += dq_audit_verdict_pair(layer, -1, &ignored) == DQ_AUDIT_CANNOT;
    int32 += dq_audit_verdict32(layer, -1, &ignored) == DQ_AUDIT_CANNOT;
    int16 += dq_audit_verdict16(layer, -1, &ignored) == DQ_AUDIT_CANNOT;
    clipped += layer->shares[DQ_AUDIT_PAIR].count;
    of += layer->shares[DQ_AUDIT_PAIR].of;
  }
  dq_table_put_int(model, "audited", audit->audited);
  dq_table_put_int(model, "pairs_safe", pairs);
  dq_table_put_int(model, "int32_safe", int32);
  dq_table_put_int(model, "int16_safe", int16);
  if (of) dq_table_put_real(model, "pair", 100.0 * (double)clipped / (double)of);
  if (audit->pictures) dq_table_put_int(model, "checked", audit->pictures);
}

void dq_report_int8(dq_report *report, const dq_int8_report *facts, const dq_quantization_check *check, bool overflow) {
  static const char *const audit_keys[] = {"bits", "proven_bits", "clamped", "pair", "pairs", "int32", "block16"};
  dq_table *layers = dq_report_table(report, &layer_layout);
  for (int i = 0; !overflow && i < DQ_COUNT(audit_keys); i++) dq_table_column_files_only(layers, audit_keys[i]);
  named_pairs pairs = name_pairs(&check->comparison);
  for (int i = 0; i < facts->count; i++) put_layer(layers, &facts->layers[i], check, &pairs);
  free(pairs.hashes);
  dq_table *model = dq_report_table(report, &model_layout);
  dq_table_row(model);
  dq_table_put_int(model, "operators", facts->count);
  dq_table_put_int(model, "quantized", facts->quantized);
  dq_table_put_int(model, "activations", facts->values);
  if (facts->halves) dq_table_put_int(model, "halves", facts->halves);
  if (facts->lowered) dq_table_put_int(model, "lowered", facts->lowered);
  if (!isnan(facts->float_macs)) dq_table_put_real(model, "float_macs", 100 * facts->float_macs);
  if (!isnan(facts->float_weights)) dq_table_put_real(model, "float_weights", 100 * facts->float_weights);
  dq_table_put_int(model, "pictures", facts->pictures);
  dq_table_put_int(model, "histogram_bytes", (int64_t)facts->calibration_bytes);
  if (facts->quantized) put_decisions(model, facts);
  if (check->audited) put_audit(model, &check->audit);
}
