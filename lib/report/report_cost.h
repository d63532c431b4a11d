// What a model costs as tables.
#ifndef DQ_REPORT_REPORT_COST_H
#define DQ_REPORT_REPORT_COST_H

#include "lib/measure/cost.h"
#include "lib/render/report.h"

// Adds the tables interface (inputs and outputs) and, where more than the batch is open, sizes, and sentences on what
// the figures hold for. To be called first: they come before all others.
void dq_report_interface(dq_report *report, const dq_cost *cost);

// Adds the table layers: a row per node that the filter shows, and the model's totals. Returned for
// sorting.
dq_table *dq_report_cost(dq_report *report, const dq_cost *cost, const dq_report_filter *filter);

// Adds the table operators: how many nodes and multiply-accumulates each operator has.
void dq_report_operators(dq_report *report, const dq_cost *cost);

#endif
