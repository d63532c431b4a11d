// Quality on labelled data as tables.
#ifndef DQ_REPORT_REPORT_ACCURACY_H
#define DQ_REPORT_REPORT_ACCURACY_H

#include "lib/eval/eval.h"
#include "lib/render/report.h"

// Adds the table accuracy: a row per figure of one model. Nothing without figures.
void dq_report_accuracy(dq_report *report, const dq_result *result);

// The same of a model and of what became of it, measured on the same pictures: figure, before, after,
// and after - before.
void dq_report_accuracy_change(dq_report *report, const dq_result *before, const dq_result *after);

// The same with what the model was between conversion and retraining: figure, before, converted,
// retrained, and retrained - before.
void dq_report_accuracy_retrained(dq_report *report, const dq_result *before, const dq_result *converted,
                                  const dq_result *after);

#endif
