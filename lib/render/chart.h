// Charts of a report. Only the HTML page shows them, as inline SVG; a table of the report holds every number in them.
//
// Every function accepts NULL for the report or the chart and does nothing then. Strings are copied unless they stand
// in the layout; failures are reported when the report is written.
//
//   static const dq_chart_layout layout = {"Bits", "What sums took", DQ_CHART_BARS, {"seen", "proven"}, ...};
//   dq_chart *chart = dq_report_chart(report, &layout);
//   dq_chart_add(chart, "conv1", 14, 18);
#ifndef DQ_RENDER_CHART_H
#define DQ_RENDER_CHART_H

#include "lib/render/report.h"

typedef enum dq_chart_kind {
  DQ_CHART_BARS,       // one line for each entry: label, bar, value
  DQ_CHART_COLUMNS,    // one vertical bar for each entry, side by side, as for the layers of a network
  DQ_CHART_HISTOGRAMS, // one small histogram for each entry
  DQ_CHART_TRACKS,     // one line for each entry (dq_chart_add_track), on which spans of time lie
} dq_chart_kind;

typedef struct dq_chart_layout { // must outlive the report
  const char *title, *help;      // help: a sentence below the title
  dq_chart_kind kind;
  const char *series[2]; // names of the two values of an entry; [1] NULL: an entry has one value
  dq_column_type type;   // the format of values
  int decimals;
  const char *unit; // NULL: none
} dq_chart_layout;

typedef struct dq_chart dq_chart;

// Adds a chart, which the report owns. A chart without entries is not shown.
dq_chart *dq_report_chart(dq_report *report, const dq_chart_layout *layout);

// Adds an entry with one or two values. NaN leaves a value out; an infinite value of either sign fills the scale.
void dq_chart_add(dq_chart *chart, const char *label, double first, double second);
void dq_chart_mark(dq_chart *chart, dq_mark mark); // sets the colour of the entry that was added last

// Draws a labelled line across all bars or columns at this value. A chart has one line at most.
void dq_chart_line(dq_chart *chart, double value, const char *label);

// A histogram of `count` bins of equal width from `low` to `high`, with the quantization range [from, to] marked.
typedef struct dq_chart_histogram {
  const char *label, *text; // text: a sentence below the histogram
  const double *heights;    // of the bins, 0 to 1; copied
  int count;
  double low, high;
  double from, to; // NaN: no range is marked
} dq_chart_histogram;
void dq_chart_add_histogram(dq_chart *chart, const dq_chart_histogram *histogram);

// These functions are for DQ_CHART_TRACKS. dq_chart_add_series adds the name of a series; the series get colours by
// turns. dq_chart_add_track adds a line. dq_chart_add_span adds a span to the line that was added last, from `from` to
// `to` (>= from >= 0) in the unit of the layout; `series` counts from 0, `text` is what a viewer shows of the span. The
// picture is an SVG with its words, which can be copied out of the page.
void dq_chart_add_series(dq_chart *chart, const char *name);
void dq_chart_add_track(dq_chart *chart, const char *label);
void dq_chart_add_span(dq_chart *chart, int series, double from, double to, const char *text);

#endif
