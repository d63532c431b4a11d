// The table of unusual weights.
#ifndef DQ_REPORT_REPORT_WEIGHTS_H
#define DQ_REPORT_REPORT_WEIGHTS_H

#include "lib/measure/weights.h"
#include "lib/render/report.h"

// Adds the table `odd_weights` with a row for each of the `count` weights; nothing when count is 0.
void dq_report_weights(dq_report *report, const dq_odd_weight *odd, int count);

#endif
