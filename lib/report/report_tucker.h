// The table of a Tucker-2 decomposition.
#ifndef DQ_REPORT_REPORT_TUCKER_H
#define DQ_REPORT_REPORT_TUCKER_H

#include "decomp/tucker/tucker_times.h"
#include "lib/render/report.h"

// Adds the table `layers`, whose last row is the whole model, and notes with the totals. `on_data` adds the column of
// the response error, which only a decomposition on data has. `matrices` says that Gemm and MatMul were candidates too.
void dq_report_tucker(dq_report *facts, const dq_tucker_report *report, const dq_tucker_times *times, bool on_data,
                      bool matrices);

#endif
