// The tables of dq-cc.
#ifndef DQ_REPORT_CODEGEN_H
#define DQ_REPORT_CODEGEN_H

#include "lib/codegen/codegen.h"
#include "lib/codegen/verify.h"
#include "lib/render/report.h"

// Adds what the emitted network needs, its steps with `steps`, and how it compares with the executor (NULL: it was not
// compared).
void dq_report_codegen(dq_report *report, const dq_codegen *made, bool steps, const dq_codegen_comparison *comparison);

#endif
