// Tables of the choice of precisions.
#ifndef DQ_REPORT_MIX_H
#define DQ_REPORT_MIX_H

#include "lib/render/report.h"
#include "quant/mix/mix.h"

// Adds the tables of the points, of the units of the answer and of the search, and a chart of the points. `layers`
// false: the units stand in files only.
void dq_report_mix(dq_report *report, const dq_mix_report *mix, bool layers);

#endif
