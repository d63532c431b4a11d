// What each layer alone costs as a table.
#ifndef DQ_REPORT_REPORT_SENSITIVITY_H
#define DQ_REPORT_REPORT_SENSITIVITY_H

#include "lib/render/report.h"
#include "quant/search/sensitivity.h"

// Adds the table sensitivity, the most sensitive layer (lowest SQNR with weights and result in 8 bits)
// first, with all layers together as the row of totals. Returned, for sorting.
dq_table *dq_report_sensitivity(dq_report *report, const dq_sensitivity *found, const dq_report_filter *filter);

#endif
