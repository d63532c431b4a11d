// The charts of the HTML page of a model: its cost, the width of its sums, the error of its layers, and its values with
// their ranges.
#ifndef DQ_REPORT_REPORT_CHARTS_H
#define DQ_REPORT_REPORT_CHARTS_H

#include "calib/chosen.h"
#include "lib/audit/audit.h"
#include "lib/measure/cost.h"
#include "lib/eval/layers.h"
#include "lib/render/chart.h"

// `filter` selects layers or values by name; NULL: all.

// Charts of the multiply-accumulates and of the bytes of weights in each precision.
void dq_chart_cost(dq_report *report, const dq_cost *cost);
// A chart of the SQNR of each compared layer, in the order of the network.
void dq_chart_comparison(dq_report *report, const dq_layer_comparison *comparison, const dq_report_filter *filter);
// Charts of the share of sums and of pairs outside int16, and of the observed and proven bits of each layer.
void dq_chart_audit(dq_report *report, const dq_audit_report *audit, const dq_report_filter *filter);
// Histograms of values with the range of each marked. Entry i of `calibration` must be the value chosen->values[i].
// DQ_SYSTEM: there is no memory.
dq_status dq_chart_ranges(dq_report *report, const dq_calibration *calibration, const dq_chosen *chosen,
                          const dq_report_filter *filter, dq_error *error);

#endif
