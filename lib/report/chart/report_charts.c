#include "lib/report/chart/report_charts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/render/text.h"

// ---- Cost ----

static const dq_chart_layout mac_layout = {"Multiply-accumulates by precision",
                                           "Of one picture, by what the two operands hold.",
                                           DQ_CHART_BARS,
                                           {"multiply-accumulates", NULL},
                                           DQ_COLUMN_COUNT,
                                           0,
                                           NULL};
static const dq_chart_layout byte_layout = {
    "Weights by precision",
    "As stored in the file, by what the operands of the node that owns them hold.",
    DQ_CHART_BARS,
    {"bytes", NULL},
    DQ_COLUMN_BYTES,
    0,
    NULL};

static int64_t amount(const dq_cost_node *node, bool bytes) { return bytes ? node->parameter_bytes : node->macs; }

static void add_by_precision(dq_chart *chart, const dq_cost *cost, bool bytes) {
  for (int i = 0; i < cost->node_count; i++) {
    const char *precision = cost->nodes[i].precision;
    int64_t sum = 0;
    bool first = true;
    for (int j = 0; j < cost->node_count; j++) {
      if (strcmp(cost->nodes[j].precision, precision) != 0) continue;
      first &= j >= i;
      sum += amount(&cost->nodes[j], bytes);
    }
    if (first && sum) dq_chart_add(chart, precision[0] ? precision : "other", (double)sum, NAN);
  }
}

void dq_chart_cost(dq_report *report, const dq_cost *cost) {
  add_by_precision(dq_report_chart(report, &mac_layout), cost, false);
  add_by_precision(dq_report_chart(report, &byte_layout), cost, true);
}

// ---- Comparison ----

static const dq_chart_layout sqnr_layout = {"Signal-to-noise ratio along the network",
                                            "Of each layer's result against the reference, in the order of the "
                                            "network; every layer carries the noise of those before.",
                                            DQ_CHART_COLUMNS,
                                            {"SQNR", NULL},
                                            DQ_COLUMN_REAL,
                                            1,
                                            "dB"};

void dq_chart_comparison(dq_report *report, const dq_layer_comparison *comparison, const dq_report_filter *filter) {
  dq_chart *chart = dq_report_chart(report, &sqnr_layout);
  for (int i = 0; i < comparison->layer_count; i++) {
    const dq_layer_pair *pair = &comparison->layers[i];
    if (!pair->comparison.values || !dq_report_shows(filter, dq_node_name(pair->reference->producer))) continue;
    dq_chart_add(chart, dq_node_name(pair->reference->producer), dq_comparison_sqnr(&pair->comparison), NAN);
    if (pair->comparison.nonfinite) dq_chart_mark(chart, DQ_MARK_BAD);
  }
}

// ---- Audit ----

static const dq_chart_layout overflow_layout = {
    "Overflow",
    "Whole sums that leave int16, and pairs of products that an unsigned-by-signed multiplication in 16 bits clips.",
    DQ_CHART_BARS,
    {"pairs clipped", "sums outside int16"},
    DQ_COLUMN_PERCENT,
    3,
    NULL};
static const dq_chart_layout bit_layout = {
    "Bits of the accumulator",
    "Width in two's complement that the sums seen took, and that weights and types prove to be enough.",
    DQ_CHART_BARS,
    {"seen", "proven"},
    DQ_COLUMN_REAL,
    0,
    NULL};

static double share_of(const dq_audit_layer *layer, dq_audit_metric metric) {
  return layer->shares[metric].of ? layer->shares[metric].average : NAN;
}

void dq_chart_audit(dq_report *report, const dq_audit_report *audit, const dq_report_filter *filter) {
  dq_chart *overflow = audit->pictures ? dq_report_chart(report, &overflow_layout) : NULL;
  dq_chart *bits = dq_report_chart(report, &bit_layout);
  dq_chart_line(bits, 16, "16 bits");
  for (int i = 0; i < audit->layer_count; i++) {
    const dq_audit_layer *layer = &audit->layers[i];
    if (layer->reason || !dq_report_shows(filter, dq_node_name(layer->node))) continue;
    double pairs = share_of(layer, DQ_AUDIT_PAIR);
    dq_chart_add(overflow, dq_node_name(layer->node), pairs, share_of(layer, DQ_AUDIT_SUM16));
    if (pairs > 0) dq_chart_mark(overflow, DQ_MARK_BAD);
    double seen = dq_audit_bits(layer->lowest, layer->highest);
    dq_chart_add(bits, dq_node_name(layer->node), layer->pictures ? seen : (double)NAN,
                 dq_audit_bits(layer->worst.lowest, layer->worst.highest));
  }
}

// ---- Ranges ----

enum { SHOWN_BINS = 64 };

static const dq_chart_layout range_layout = {"Values and the ranges chosen",
                                             "How often values occur, from the smallest to the largest seen, on a "
                                             "logarithmic scale; shaded: what 8 bits represent.",
                                             DQ_CHART_HISTOGRAMS,
                                             {"values", NULL},
                                             DQ_COLUMN_REAL,
                                             0,
                                             NULL};

// Counts of SHOWN_BINS equal bins from low to high, by the middles of the histogram's own.
static void bin(const dq_histogram *histogram, double low, double high, double *heights) {
  uint64_t memory[DQ_HISTOGRAM_BINS];
  const uint64_t *bins = dq_histogram_bins(histogram, memory);
  double width = ldexp(1, histogram->exponent), largest = 0;
  for (int i = 0; i < SHOWN_BINS; i++) heights[i] = 0;
  for (int i = 0; i < DQ_HISTOGRAM_BINS; i++) {
    if (!bins[i]) continue;
    double middle = (i - DQ_HISTOGRAM_BINS / 2 + 0.5) * width;
    int at = (int)floor((middle - low) / (high - low) * SHOWN_BINS);
    heights[at < 0 ? 0 : at >= SHOWN_BINS ? SHOWN_BINS - 1 : at] += (double)bins[i];
  }
  for (int i = 0; i < SHOWN_BINS; i++) largest = fmax(largest, heights[i]);
  for (int i = 0; i < SHOWN_BINS; i++) heights[i] = largest > 0 ? log1p(heights[i]) / log1p(largest) : 0;
}

static void add_range(dq_chart *chart, const char *name, const dq_histogram *histogram, dq_range_pair range) {
  double heights[SHOWN_BINS];
  char text[200], numbers[4][32];
  double low = fmin((double)histogram->minimum, (double)range.low),
         high = fmax((double)histogram->maximum, (double)range.high);
  if (!(high > low)) high = low + 1;
  bin(histogram, low, high, heights);
  snprintf(text, sizeof text, "%s to %s of %s to %s; %.4g %% outside",
           dq_format_significant((double)range.low, 4, numbers[0], sizeof *numbers),
           dq_format_significant((double)range.high, 4, numbers[1], sizeof *numbers),
           dq_format_significant((double)histogram->minimum, 4, numbers[2], sizeof *numbers),
           dq_format_significant((double)histogram->maximum, 4, numbers[3], sizeof *numbers),
           100 * dq_histogram_clipped(histogram, range));
  dq_chart_histogram entry = {name, text, heights, SHOWN_BINS, low, high, (double)range.low, (double)range.high};
  dq_chart_add_histogram(chart, &entry);
}

dq_status dq_chart_ranges(dq_report *report, const dq_calibration *calibration, const dq_chosen *chosen,
                          const dq_report_filter *filter, dq_error *error) {
  if (calibration->count != chosen->count)
    return dq_fail(error, DQ_BAD_INPUT, "%d ranges and %d histograms, expected equal numbers", chosen->count,
                   calibration->count);
  dq_chart *chart = dq_report_chart(report, &range_layout);
  for (int i = 0; i < chosen->count; i++)
    if (dq_report_shows(filter, chosen->values[i]))
      add_range(chart, chosen->values[i], &calibration->histograms[i], chosen->ranges[i]);
  return DQ_OK;
}
