// The table of the sensitivity of layers.
#ifndef DQ_REPORT_REPORT_SENSITIVITY_H
#define DQ_REPORT_REPORT_SENSITIVITY_H

#include "lib/render/report.h"
#include "quant/search/sensitivity.h"

// Adds the table `sensitivity`, which begins with the layer of the lowest SQNR with weights and result in 8 bits. Its
// row of totals has the SQNR with all layers in 8 bits. `filter` NULL: all layers. Returns the table, which the caller
// may sort.
dq_table *dq_report_sensitivity(dq_report *report, const dq_sensitivity *found, const dq_report_filter *filter);

#endif
