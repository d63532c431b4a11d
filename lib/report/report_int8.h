// Tables of an INT8 quantization.
#ifndef DQ_REPORT_REPORT_INT8_H
#define DQ_REPORT_REPORT_INT8_H

#include "lib/eval/quantization_check.h"
#include "lib/render/report.h"
#include "quant/int8/int8.h"

// Adds the table `layers`, with a row for each node of an operator that dq-int8 can quantize and the results of the
// check (SQNR, widths, verdicts), and the table `model`. With `overflow` text shows the columns of the overflow audit;
// the other formats always have them.
void dq_report_int8(dq_report *report, const dq_int8_report *facts, const dq_quantization_check *check, bool overflow);

#endif
