// The tables of dq-cc.
#ifndef DQ_REPORT_CODEGEN_H
#define DQ_REPORT_CODEGEN_H

#include "lib/codegen/codegen.h"
#include "lib/codegen/verify.h"
#include "lib/render/report.h"

// Adds a table of the memory and the counts of the emitted network, with `steps` one of its steps, and one of the
// comparison with the executor (NULL: none).
void dq_report_codegen(dq_report *report, const dq_codegen *made, bool steps, const dq_codegen_comparison *comparison);

#endif
