// Tables of tuning.
#ifndef DQ_REPORT_TUNE_H
#define DQ_REPORT_TUNE_H

#include "lib/render/report.h"
#include "lib/tune/tune.h"

// Adds the table of the shapes and the record of the network. `threads` is the number of threads of the runs.
void dq_report_tune(dq_report *report, const dq_tune_report *tuned, int threads);

#endif
