// Tables of the comparison of two models layer by layer.
#ifndef DQ_REPORT_REPORT_LAYERS_H
#define DQ_REPORT_REPORT_LAYERS_H

#include "lib/eval/layers.h"
#include "lib/render/report.h"

// Adds the table `comparison`, with the layers whose name in the reference or in the candidate the filter (NULL: all)
// admits, and the table `outputs`. Returns the first one, which the caller may sort.
dq_table *dq_report_comparison(dq_report *report, const dq_layer_comparison *comparison,
                               const dq_report_filter *filter);

#endif
