// The tables of dq-amp.
#ifndef DQ_REPORT_REPORT_AMP_H
#define DQ_REPORT_REPORT_AMP_H

#include "lib/render/report.h"
#include "quant/amp/amp_check.h"

typedef struct dq_report_amp_options {
  bool nodes;         // a table of all nodes
  bool guarded;       // the guard was on, so that its counts are shown
  bool half_products; // the processor has float16 arithmetic
  // The ranges that dq_amp_check found on `pictures` pictures; NULL: no table of values.
  const dq_amp_range *ranges;
  int range_count;
  int64_t pictures;
} dq_report_amp_options;

// Adds the tables `nodes`, `unlisted`, `check` and `model` and their notes, as far as there is something to show.
void dq_report_amp(dq_report *report, const dq_amp_report *facts, const dq_report_amp_options *options);

#endif
