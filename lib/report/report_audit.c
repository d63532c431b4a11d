// The overflow audit as tables: shares per layer, verdicts and bounds, channels, what was left out.
#include "lib/report/report_audit.h"

#include "lib/base/sizes.h"

#include <inttypes.h>
#include <stdio.h>

static const dq_column share_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 14, 9},
    {"product", "Product", DQ_COLUMN_PERCENT, NULL, 2, 0, 4},
    {"product_low", "min", DQ_COLUMN_PERCENT, NULL, 2, 0, 4},
    {"product_high", "max", DQ_COLUMN_PERCENT, NULL, 2, 0, 4},
    {"product_raw", "Raw", DQ_COLUMN_PERCENT, NULL, 2, 0, 10},
    {"sum16", "Sum", DQ_COLUMN_PERCENT, NULL, 2, 0, 3},
    {"sum16_low", "min", DQ_COLUMN_PERCENT, NULL, 2, 0, 3},
    {"sum16_high", "max", DQ_COLUMN_PERCENT, NULL, 2, 0, 3},
    {"running16", "Running", DQ_COLUMN_PERCENT, NULL, 2, 0, 6},
    {"bias16", "With bias", DQ_COLUMN_PERCENT, NULL, 2, 0, 7},
    {"sum32", "int32", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"pair", "Pairs saturated", DQ_COLUMN_PERCENT, NULL, 4, 0, 1},
    {"pair_low", "min", DQ_COLUMN_PERCENT, NULL, 4, 0, 1},
    {"pair_high", "max", DQ_COLUMN_PERCENT, NULL, 4, 0, 1},
    {"clamped", "Clamped", DQ_COLUMN_PERCENT, NULL, 3, 0, 8},
    {"bits", "Observed bits", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"proven_bits", "proven", DQ_COLUMN_INT, NULL, 0, 0, 5},
};
static const dq_table_layout share_layout = {"overflow", "Overflow: products leave int8, sums and pairs int16",
                                             share_columns, DQ_COUNT(share_columns), false};

static const dq_column verdict_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"int16", "16-bit sums", DQ_COLUMN_TEXT, NULL, 0, 34, 3},
    {"int32", "32-bit sums", DQ_COLUMN_TEXT, NULL, 0, 34, 1},
    {"pairs", "Pair saturation", DQ_COLUMN_TEXT, NULL, 0, 34, 2},
    {"channels", "Channels", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"can16", "Can leave int16", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"can32", "Can leave int32", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"can_pair", "Unsafe pairs", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"can_pair_any_order", "any order", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"lowest", "Lowest", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"highest", "Highest", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"proven_lowest", "proven", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"proven_highest", "proven", DQ_COLUMN_INT, NULL, 0, 0, 6},
    {"depth", "Products per sum", DQ_COLUMN_INT, NULL, 0, 0, 7},
    {"block16", "in 16 bits", DQ_COLUMN_INT, NULL, 0, 0, 7},
};
static const dq_table_layout verdict_layout = {"overflow_verdicts", "Verdicts, channels that can, extreme sums",
                                               verdict_columns, DQ_COUNT(verdict_columns), false};

static const dq_column channel_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"channel", "Channel", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"product", "Product", DQ_COLUMN_PERCENT, NULL, 2, 0, 4},
    {"product_raw", "Raw", DQ_COLUMN_PERCENT, NULL, 2, 0, 10},
    {"sum16", "Sum", DQ_COLUMN_PERCENT, NULL, 2, 0, 3},
    {"running16", "Running", DQ_COLUMN_PERCENT, NULL, 2, 0, 6},
    {"bias16", "With bias", DQ_COLUMN_PERCENT, NULL, 2, 0, 7},
    {"sum32", "int32", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"pair", "Pairs saturated", DQ_COLUMN_PERCENT, NULL, 4, 0, 1},
    {"clamped", "Clamped", DQ_COLUMN_PERCENT, NULL, 3, 0, 8},
    {"bits", "Observed bits", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"proven_bits", "proven", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"int16", "16-bit sums", DQ_COLUMN_TEXT, NULL, 0, 34, 11},
    {"int32", "32-bit sums", DQ_COLUMN_TEXT, NULL, 0, 34, 9},
    {"pairs", "Pair saturation", DQ_COLUMN_TEXT, NULL, 0, 34, 9},
    {"pair_any_order", "any order", DQ_COLUMN_BOOL, NULL, 0, 0, 12},
    {"lowest", "Lowest", DQ_COLUMN_INT, NULL, 0, 0, 13},
    {"highest", "Highest", DQ_COLUMN_INT, NULL, 0, 0, 13},
    {"proven_lowest", "proven", DQ_COLUMN_INT, NULL, 0, 0, 13},
    {"proven_highest", "proven", DQ_COLUMN_INT, NULL, 0, 0, 13},
};
static const dq_table_layout channel_layout = {"overflow_channels", "Overflow per output channel", channel_columns,
                                               DQ_COUNT(channel_columns), false};

static const dq_column left_out_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 14, 1},
    {"reason", "Reason", DQ_COLUMN_TEXT, NULL, 0, 80, -1},
};
static const dq_table_layout left_out_layout = {"not_audited", "Not audited", left_out_columns,
                                                DQ_COUNT(left_out_columns), false};

// How a share's columns are called; NULL: no column for its extremes.
static const struct {
  dq_audit_metric metric;
  const char *average, *low, *high;
} share_names[] = {
    {DQ_AUDIT_PRODUCT, "product", "product_low", "product_high"},
    {DQ_AUDIT_PRODUCT_RAW, "product_raw", NULL, NULL},
    {DQ_AUDIT_SUM16, "sum16", "sum16_low", "sum16_high"},
    {DQ_AUDIT_RUNNING16, "running16", NULL, NULL},
    {DQ_AUDIT_BIAS16, "bias16", NULL, NULL},
    {DQ_AUDIT_PAIR, "pair", "pair_low", "pair_high"},
    {DQ_AUDIT_CLAMPED, "clamped", NULL, NULL},
};

static bool is_shown(const dq_report_audit_options *options, const dq_audit_layer *layer) {
  return !options->shown || options->shown(options->user, dq_node_name(layer->node));
}

static void put_shares(dq_table *table, const dq_audit_layer *layer) {
  dq_table_row(table);
  dq_table_put_text(table, "node", dq_node_name(layer->node));
  dq_table_put_text(table, "op", layer->node->op_type);
  for (int i = 0; i < DQ_COUNT(share_names); i++) {
    const dq_audit_share *share = &layer->shares[share_names[i].metric];
    if (!share->of) continue;
    dq_table_put_real(table, share_names[i].average, share->average);
    if (!share_names[i].low) continue;
    dq_table_put_real(table, share_names[i].low, share->lowest);
    dq_table_put_real(table, share_names[i].high, share->highest);
  }
  const dq_audit_share *wide = &layer->shares[DQ_AUDIT_RUNNING32];
  if (wide->count) dq_table_put_real(table, "sum32", wide->average);
  if (layer->shares[DQ_AUDIT_PAIR].count) dq_table_mark(table, "pair", DQ_MARK_BAD);
  if (layer->pictures) dq_table_put_int(table, "bits", dq_audit_bits(layer->lowest, layer->highest));
  dq_table_put_int(table, "proven_bits", dq_audit_bits(layer->worst.lowest, layer->worst.highest));
}

void dq_report_put_verdict(dq_table *table, const char *key, dq_audit_verdict verdict, int64_t overflowed,
                           int64_t pictures) {
  switch (verdict) {
  case DQ_AUDIT_CANNOT:
    dq_table_put_text(table, key, "cannot overflow");
    dq_table_mark(table, key, DQ_MARK_GOOD);
    return;
  case DQ_AUDIT_DID_NOT:
    if (pictures) dq_table_put_format(table, key, "can, but did not on %" PRId64, pictures);
    else dq_table_put_text(table, key, "can overflow");
    dq_table_mark(table, key, DQ_MARK_WARN);
    return;
  case DQ_AUDIT_OVERFLOWED:
    dq_table_put_format(table, key, "overflowed on %" PRId64 " of %" PRId64, overflowed, pictures);
    dq_table_mark(table, key, DQ_MARK_BAD);
  }
}

static void put_all_verdicts(dq_table *table, const dq_audit_layer *layer, int64_t channel) {
  int64_t overflowed;
  dq_audit_verdict verdict = dq_audit_verdict16(layer, channel, &overflowed);
  dq_report_put_verdict(table, "int16", verdict, overflowed, layer->pictures);
  verdict = dq_audit_verdict32(layer, channel, &overflowed);
  dq_report_put_verdict(table, "int32", verdict, overflowed, layer->pictures);
  verdict = dq_audit_verdict_pair(layer, channel, &overflowed);
  dq_report_put_verdict(table, "pairs", verdict, overflowed, layer->pictures);
}

static void put_bounds(dq_table *table, bool seen, int64_t lowest, int64_t highest, const dq_audit_proof *proof) {
  if (seen) dq_table_put_int(table, "lowest", lowest);
  if (seen) dq_table_put_int(table, "highest", highest);
  dq_table_put_int(table, "proven_lowest", proof->lowest);
  dq_table_put_int(table, "proven_highest", proof->highest);
}

static void put_layer_verdicts(dq_table *table, const dq_audit_layer *layer) {
  dq_table_row(table);
  dq_table_put_text(table, "node", dq_node_name(layer->node));
  put_all_verdicts(table, layer, -1);
  dq_table_put_int(table, "channels", layer->channels);
  dq_table_put_int(table, "can16", layer->can16);
  dq_table_put_int(table, "block16", layer->block16);
  if (layer->can32) dq_table_put_int(table, "can32", layer->can32);
  dq_table_put_int(table, "can_pair", layer->can_pair);
  dq_table_put_int(table, "can_pair_any_order", layer->can_pair_any_order);
  put_bounds(table, layer->pictures > 0, layer->lowest, layer->highest, &layer->worst);
  dq_table_put_int(table, "depth", layer->depth);
}

static void put_percent(dq_table *table, const char *key, uint64_t count, uint64_t of) {
  if (of) dq_table_put_real(table, key, 100.0 * (double)count / (double)of);
}

static void put_channel(dq_table *table, const dq_audit_layer *layer, int64_t channel) {
  const dq_audit_proof *proof = &layer->proofs[channel];
  uint64_t sums = layer->outputs, depth = (uint64_t)layer->depth;
  dq_table_row(table);
  dq_table_put_text(table, "node", dq_node_name(layer->node));
  dq_table_put_int(table, "channel", channel);
  put_all_verdicts(table, layer, channel);
  dq_table_put_bool(table, "pair_any_order", proof->pair_any_order);
  dq_table_put_int(table, "proven_bits", dq_audit_bits(proof->lowest, proof->highest));
  const dq_audit_channel *seen = layer->seen ? &layer->seen[channel] : NULL;
  put_bounds(table, sums > 0, sums ? seen->counts.lowest : 0, sums ? seen->counts.highest : 0, proof);
  if (!sums) return;
  const dq_audit_counts *counts = &seen->counts;
  put_percent(table, "product", counts->product, sums * depth);
  if (layer->shares[DQ_AUDIT_PRODUCT_RAW].of) put_percent(table, "product_raw", counts->product_raw, sums * depth);
  put_percent(table, "sum16", counts->sum16, sums);
  put_percent(table, "running16", counts->running16, sums);
  put_percent(table, "bias16", counts->bias16, sums);
  if (counts->running32) put_percent(table, "sum32", counts->running32, sums);
  put_percent(table, "pair", counts->pair, sums * ((depth + 1) / 2));
  if (layer->shares[DQ_AUDIT_CLAMPED].of) put_percent(table, "clamped", seen->clamped, sums);
  dq_table_put_int(table, "bits", dq_audit_bits(counts->lowest, counts->highest));
}

dq_table *dq_report_audit(dq_report *report, const dq_audit_report *audit, const dq_report_audit_options *options) {
  dq_table *shares = dq_report_table(report, &share_layout);
  dq_table *verdicts = dq_report_table(report, &verdict_layout);
  dq_table *channels = options->channels ? dq_report_table(report, &channel_layout) : NULL;
  dq_table *left_out = audit->audited < audit->layer_count ? dq_report_table(report, &left_out_layout) : NULL;
  for (int i = 0; i < audit->layer_count; i++) {
    const dq_audit_layer *layer = &audit->layers[i];
    if (!is_shown(options, layer)) continue;
    if (layer->reason) {
      dq_table_row(left_out);
      dq_table_put_text(left_out, "node", dq_node_name(layer->node));
      dq_table_put_text(left_out, "op", layer->node->op_type);
      dq_table_put_text(left_out, "reason", layer->reason);
      continue;
    }
    put_shares(shares, layer);
    put_layer_verdicts(verdicts, layer);
    for (int64_t c = 0; channels && c < layer->channels; c++) put_channel(channels, layer, c);
  }
  if (audit->pictures) dq_report_add_note(report, "shares are averages over %" PRId64 " pictures", audit->pictures);
  return shares;
}
