// Tables of the choice of precisions.
#include "lib/report/report_mix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/render/chart.h"

static const double MILLI = 1e3;

// ---- Points ----

static const dq_column point_columns[] = {
    {"point", "Point", DQ_COLUMN_TEXT, NULL, 0, 24, 0},
    {"answer", "Answer", DQ_COLUMN_BOOL, NULL, 0, 0, 1},
    {"ms", "Time", DQ_COLUMN_REAL, "ms", 4, 0, 1},
    {"ratio", "of float32", DQ_COLUMN_REAL, NULL, 3, 0, 2},
    {"ratio_low", "from", DQ_COLUMN_REAL, NULL, 3, 0, 4},
    {"ratio_high", "to", DQ_COLUMN_REAL, NULL, 3, 0, 4},
    {"predicted_ms", "Predicted", DQ_COLUMN_REAL, "ms", 4, 0, 3},
    {"conversions_ms", "Conversions", DQ_COLUMN_REAL, "ms", 4, 0, 6},
    {"noise_db", "Noise", DQ_COLUMN_REAL, "dB", 2, 0, 2},
    {"predicted_noise_db", "Predicted", DQ_COLUMN_REAL, "dB", 2, 0, 3},
    {"foreseen_db", "Before trial", DQ_COLUMN_REAL, "dB", 2, 0, 6},
    {"other_noise_db", "Other pictures", DQ_COLUMN_REAL, "dB", 2, 0, 3},
    {"drop", "Loss", DQ_COLUMN_REAL, "points", 3, 0, 1},
    {"figure", "Figure", DQ_COLUMN_REAL, NULL, 4, 0, 5},
    {"bytes", "Weights", DQ_COLUMN_BYTES, NULL, 0, 0, 2},
    {"int8", "int8", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"fp16", "fp16", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"fp32", "fp32", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"within", "Within", DQ_COLUMN_BOOL, NULL, 0, 0, 3},
    {"front", "Front", DQ_COLUMN_BOOL, NULL, 0, 0, 3},
    {"round", "Round", DQ_COLUMN_INT, NULL, 0, 0, 7},
};
static const dq_table_layout point_layout = {"points", "Points", point_columns, DQ_COUNT(point_columns), false};

static double decibels(double noise) { return noise > 0 ? 10 * log10(noise) : -INFINITY; }

static void put_units(dq_table *table, const dq_mix_network *network, const uint8_t *choice) {
  int counts[DQ_PRECISIONS] = {0};
  for (int u = 0; u < network->unit_count; u++)
    if (network->units[u].layer_count) counts[choice[u]]++;
  for (int p = 0; p < DQ_PRECISIONS; p++) dq_table_put_int(table, dq_precision_name((dq_precision)p), counts[p]);
}

static void put_prediction(dq_table *table, const dq_mix_prediction *predicted) {
  dq_table_put_real(table, "predicted_ms", predicted->seconds * MILLI);
  dq_table_put_real(table, "conversions_ms", predicted->conversions * MILLI);
  if (predicted->noise > 0) dq_table_put_real(table, "predicted_noise_db", decibels(predicted->noise));
}

static void put_point(dq_table *table, const dq_mix_report *mix, int at) {
  const dq_mix_point *point = &mix->points[at];
  dq_table_row(table);
  dq_table_put_text(table, "point", point->name);
  dq_table_put_bool(table, "answer", at == mix->answer);
  if (at == mix->answer) dq_table_mark(table, "point", mix->held ? DQ_MARK_GOOD : DQ_MARK_BAD);
  dq_table_put_real(table, "ms", point->seconds * MILLI);
  dq_table_put_real(table, "ratio", point->ratio.median);
  dq_table_put_real(table, "ratio_low", point->ratio.low);
  dq_table_put_real(table, "ratio_high", point->ratio.high);
  if (point->choice) put_prediction(table, &point->predicted);
  if (point->noise > 0) dq_table_put_real(table, "noise_db", decibels(point->noise));
  if (point->foreseen > 0) dq_table_put_real(table, "foreseen_db", decibels(point->foreseen));
  if (point->other_noise > 0) dq_table_put_real(table, "other_noise_db", decibels(point->other_noise));
  dq_table_put_real(table, "drop", point->drop);
  if (point->figures.count) dq_table_put_real(table, "figure", point->figures.figures[0].value);
  dq_table_put_int(table, "bytes", point->bytes);
  if (point->choice) put_units(table, &mix->network, point->choice);
  dq_table_put_bool(table, "within", point->within);
  dq_table_put_bool(table, "front", point->best);
  if (point->changed) dq_table_put_int(table, "round", point->changed);
}

// ---- Layers ----

static const dq_column unit_columns[] = {
    {"layer", "Layer", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 16, 5},
    {"precision", "Precision", DQ_COLUMN_TEXT, NULL, 0, 0, 1},
    {"share", "Share", DQ_COLUMN_PERCENT, NULL, 1, 0, 2},
    {"int8_ms", "int8", DQ_COLUMN_REAL, "ms", 4, 0, 2},
    {"fp16_ms", "fp16", DQ_COLUMN_REAL, "ms", 4, 0, 2},
    {"fp32_ms", "fp32", DQ_COLUMN_REAL, "ms", 4, 0, 2},
    {"int8_noise", "Noise in int8", DQ_COLUMN_SIGNIFICANT, NULL, 3, 0, 3},
    {"fp16_noise", "in fp16", DQ_COLUMN_SIGNIFICANT, NULL, 3, 0, 3},
    {"weights", "Weights", DQ_COLUMN_COUNT, NULL, 0, 0, 4},
};
static const dq_table_layout unit_layout = {"layers", "Layers of the answer", unit_columns, DQ_COUNT(unit_columns),
                                            false};

static double seconds_of(const dq_mix_mean *mean) { return mean->count ? mean->sum / (double)mean->count : NAN; }

static void put_unit(dq_table *table, const dq_mix_report *mix, int unit, const uint8_t *choice, double whole) {
  const dq_mix_unit *at = &mix->network.units[unit];
  const dq_mix_costs *costs = &mix->costs;
  dq_table_row(table);
  dq_table_put_text(table, "layer", at->name);
  dq_table_put_text(table, "op", at->op_type);
  dq_table_put_text(table, "precision", dq_precision_name((dq_precision)choice[unit]));
  for (int p = 0; p < DQ_PRECISIONS; p++) {
    char key[32];
    const char *name = dq_precision_name((dq_precision)p);
    double seconds = seconds_of(&costs->unit_seconds[unit * DQ_PRECISIONS + p]);
    double noise = costs->unit_noise[unit * DQ_PRECISIONS + p];
    snprintf(key, sizeof key, "%s_ms", name);
    if (seconds >= 0) dq_table_put_real(table, key, seconds * MILLI);
    if (p == choice[unit] && seconds >= 0) dq_table_put_real(table, "share", 100 * seconds / whole);
    snprintf(key, sizeof key, "%s_noise", name);
    if (noise > 0 && p != DQ_PRECISION_FP32) dq_table_put_real(table, key, noise);
  }
  dq_table_put_int(table, "weights", at->weights);
}

static void report_units(dq_report *report, const dq_mix_report *mix, bool layers) {
  const dq_mix_point *answer = &mix->points[mix->answer];
  dq_table *table = dq_report_table(report, &unit_layout);
  if (!layers) dq_table_files_only(table);
  else dq_table_not_csv(table);
  for (int u = 0; u < mix->network.unit_count && answer->choice; u++)
    if (mix->network.units[u].layer_count) put_unit(table, mix, u, answer->choice, answer->seconds);
}

// ---- The search ----

static const dq_column search_columns[] = {
    {"answer", "Answer", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"within", "Within the bounds", DQ_COLUMN_BOOL, NULL, 0, 0, 0},
    {"layers", "Units with a choice", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"widest", "Values open at a time", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"gap", "Share of time to the best sum at most", DQ_COLUMN_PERCENT, NULL, 3, 0, 0},
    {"tried", "Pictures of the noise", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"others", "Other pictures", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"time_error", "Largest error of predicted times", DQ_COLUMN_PERCENT, NULL, 1, 0, 0},
    {"noise_error", "Largest error of predicted noise", DQ_COLUMN_REAL, "dB", 2, 0, 0},
    {"control_low", "Equal plans, time ratio from", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"control_high", "Equal plans, time ratio to", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"resumed", "All from the file", DQ_COLUMN_BOOL, NULL, 0, 0, 0},
};
static const dq_table_layout search_layout = {"search", NULL, search_columns, DQ_COUNT(search_columns), true};

static void report_search(dq_report *report, const dq_mix_report *mix) {
  dq_table *table = dq_report_table(report, &search_layout);
  int layers = 0;
  for (int u = 0; u < mix->network.unit_count; u++) layers += mix->network.units[u].layer_count > 0;
  dq_table_row(table);
  dq_table_put_text(table, "answer", mix->points[mix->answer].name);
  dq_table_put_bool(table, "within", mix->held);
  dq_table_put_int(table, "layers", layers);
  if (!mix->resumed) dq_table_put_int(table, "widest", mix->widest);
  dq_table_put_real(table, "gap", 100 * mix->exact_gap);
  dq_table_put_int(table, "tried", mix->tried);
  dq_table_put_int(table, "others", mix->others);
  dq_table_put_real(table, "time_error", 100 * mix->largest_time_error);
  dq_table_put_real(table, "noise_error", mix->largest_noise_error);
  dq_table_put_real(table, "control_low", mix->control.low);
  dq_table_put_real(table, "control_high", mix->control.high);
  dq_table_put_bool(table, "resumed", mix->resumed);
}

static const dq_chart_layout chart_layout = {
    "Time and loss",
    "Of each measured point: time in ms, and loss of the first figure in percentage points",
    DQ_CHART_BARS,
    {"time", "loss"},
    DQ_COLUMN_REAL,
    4,
    NULL};

void dq_report_mix(dq_report *report, const dq_mix_report *mix, bool layers) {
  dq_table *table = dq_report_table(report, &point_layout);
  dq_chart *chart = dq_report_chart(report, &chart_layout);
  for (int p = 0; p < mix->count; p++) put_point(table, mix, p);
  dq_table_sort(table, "ms", true, NULL);
  for (int p = 0; p < mix->count; p++) {
    const dq_mix_point *point = &mix->points[p];
    dq_chart_add(chart, point->name, point->seconds * MILLI, point->drop);
    if (p == mix->answer) dq_chart_mark(chart, mix->held ? DQ_MARK_GOOD : DQ_MARK_BAD);
  }
  report_units(report, mix, layers);
  report_search(report, mix);
}
