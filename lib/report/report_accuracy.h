// Tables of the quality of a model on labelled data.
#ifndef DQ_REPORT_REPORT_ACCURACY_H
#define DQ_REPORT_REPORT_ACCURACY_H

#include "lib/eval/eval.h"
#include "lib/render/report.h"

// Adds the table `accuracy` with a row for each figure of one model. Adds nothing when there are no figures.
void dq_report_accuracy(dq_report *report, const dq_result *result);

// Adds the table `accuracy` for a model before and after a conversion, measured on the same pictures. Its columns are
// figure, before, after, and after - before.
void dq_report_accuracy_change(dq_report *report, const dq_result *before, const dq_result *after);

// Adds the table `accuracy`, as dq_report_accuracy_change does, for a model that was converted and then retrained
// (`after`). Its columns are figure, before, converted, retrained, and retrained - before.
void dq_report_accuracy_retrained(dq_report *report, const dq_result *before, const dq_result *converted,
                                  const dq_result *after);

#endif
