// What Tucker-2 did to a model, layer by layer and in all.
#ifndef DQ_REPORT_REPORT_TUCKER_H
#define DQ_REPORT_REPORT_TUCKER_H

#include "decomp/tucker/tucker_times.h"
#include "lib/render/report.h"

// Adds the table layers, with the whole model as its last row, and notes of the totals. `on_data`: with
// the share of the answers that is missed; `matrices`: Gemm and MatMul were looked at too.
void dq_report_tucker(dq_report *facts, const dq_tucker_report *report, const dq_tucker_times *times, bool on_data,
                      bool matrices);

#endif
