// Figures of a report. They stand on the HTML page only, drawn as inline SVG; every number in them is in a
// table too.
//
//   static const dq_chart_layout layout = {"Bits", "What sums took", DQ_CHART_BARS, {"seen", "proven"}, ...};
//   dq_chart *chart = dq_report_chart(report, &layout);
//   dq_chart_add(chart, "conv1", 14, 18);
#ifndef DQ_REPORT_CHART_H
#define DQ_REPORT_CHART_H

#include "lib/render/report.h"

typedef enum dq_chart_kind {
  DQ_CHART_BARS,       // one line per entry: label, bar, value
  DQ_CHART_COLUMNS,    // one column per entry, side by side in order: along a network
  DQ_CHART_HISTOGRAMS, // one small picture per entry
} dq_chart_kind;

typedef struct dq_chart_layout { // const, outlives the report
  const char *title, *help;      // help: a sentence below the title
  dq_chart_kind kind;
  const char *series[2]; // what the two values of an entry are; [1] NULL: there is one only
  dq_column_type type;   // how values are written
  int decimals;
  const char *unit; // NULL: none
} dq_chart_layout;

typedef struct dq_chart dq_chart;

// Adds a chart; owned by the report. NULL in, NULL out, as with tables. A chart without entries is not shown.
dq_chart *dq_report_chart(dq_report *report, const dq_chart_layout *layout);

// One entry; NaN: no such value. Infinite values of either sign fill the scale.
void dq_chart_add(dq_chart *chart, const char *label, double first, double second);
void dq_chart_mark(dq_chart *chart, dq_mark mark); // colour of the entry added last

// A line across all bars or columns at this value.
void dq_chart_line(dq_chart *chart, double value, const char *label);

// A histogram: `heights` (copied) of `count` equal bins from `low` to `high`, and the range `from` to `to`
// chosen in it (NaN: none). `text` says the rest.
typedef struct dq_chart_histogram {
  const char *label, *text;
  const double *heights; // 0 to 1
  int count;
  double low, high, from, to;
} dq_chart_histogram;
void dq_chart_add_histogram(dq_chart *chart, const dq_chart_histogram *histogram);

#endif
