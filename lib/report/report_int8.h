// What INT8 quantization did to a model, layer by layer and in all.
#ifndef DQ_REPORT_REPORT_INT8_H
#define DQ_REPORT_REPORT_INT8_H

#include "lib/eval/quantization_check.h"
#include "lib/render/report.h"
#include "quant/int8/int8.h"

// Adds the tables layers (a row per operator that could be quantized, with what the check found: SQNR,
// widths, verdicts) and model. Text shows the audit of each layer where `overflow` is set; files always hold it.
void dq_report_int8(dq_report *report, const dq_int8_report *facts, const dq_quantization_check *check, bool overflow);

#endif
