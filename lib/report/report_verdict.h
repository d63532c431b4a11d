// The table of what a conversion lost at the outputs.
#ifndef DQ_REPORT_REPORT_VERDICT_H
#define DQ_REPORT_REPORT_VERDICT_H

#include "lib/render/report.h"
#include "lib/verdict/verdict.h"

// Adds the table `outputs`, with a row for each part of an output, and the sentence of dq_verdict_text as a note;
// neither when there is no verdict.
void dq_report_verdict(dq_report *report, const dq_verdict *verdict);
// Adds what dq_report_verdict adds, for a report with a table `outputs` of its own: here the table is called `parts`.
void dq_report_parts(dq_report *report, const dq_verdict *verdict);

#endif
