// Weights out of the ordinary as a table.
#ifndef DQ_REPORT_REPORT_WEIGHTS_H
#define DQ_REPORT_REPORT_WEIGHTS_H

#include "lib/measure/weights.h"
#include "lib/render/report.h"

// Adds the table odd_weights, when there is a row for it.
void dq_report_weights(dq_report *report, const dq_odd_weight *odd, int count);

#endif
