// Two models compared layer by layer as tables.
#ifndef DQ_REPORT_REPORT_LAYERS_H
#define DQ_REPORT_REPORT_LAYERS_H

#include "lib/eval/layers.h"
#include "lib/render/report.h"

// Adds the tables comparison (layers the filter shows, by the reference's or the candidate's name;
// returned, for sorting) and outputs.
dq_table *dq_report_comparison(dq_report *report, const dq_layer_comparison *comparison,
                               const dq_report_filter *filter);

#endif
