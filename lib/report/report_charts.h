// The figures of a model's page: what costs where, how much of narrow sums is used, what quantization lost
// along the network, and the values beside the ranges chosen for them.
#ifndef DQ_REPORT_REPORT_CHARTS_H
#define DQ_REPORT_REPORT_CHARTS_H

#include "calib/chosen.h"
#include "lib/audit/audit.h"
#include "lib/measure/cost.h"
#include "lib/eval/layers.h"
#include "lib/render/chart.h"

// Multiply-accumulates and bytes of weights by precision.
void dq_chart_cost(dq_report *report, const dq_cost *cost);
// Signal-to-noise ratio of each compared layer, in the order of the network.
void dq_chart_comparison(dq_report *report, const dq_layer_comparison *comparison, const dq_report_filter *filter);
// Sums outside int16 and pairs clipped, and the bits that sums took against those proven.
void dq_chart_audit(dq_report *report, const dq_audit_report *audit, const dq_report_filter *filter);
// Histograms of values with the range chosen for each; calibration->names are chosen->values.
dq_status dq_chart_ranges(dq_report *report, const dq_calibration *calibration, const dq_chosen *chosen,
                          const dq_report_filter *filter, dq_error *error);

#endif
