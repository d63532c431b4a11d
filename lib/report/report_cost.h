// Tables of the cost of a model.
#ifndef DQ_REPORT_REPORT_COST_H
#define DQ_REPORT_REPORT_COST_H

#include "lib/measure/cost.h"
#include "lib/render/report.h"

// Adds the table `interface` (inputs and outputs), the table `sizes` where more dimensions than the batch are open, and
// notes on the sizes that the figures hold for. Called before the other functions, because its tables stand first.
void dq_report_interface(dq_report *report, const dq_cost *cost);

// Adds the table `layers` with a row for each node that the filter (NULL: all) admits, and the totals of the model.
// Returns the table, which the caller may sort.
dq_table *dq_report_cost(dq_report *report, const dq_cost *cost, const dq_report_filter *filter);

// Adds the table `operators` with the number of nodes and of multiply-accumulates (an empty cell for 0) of each
// operator of `cost`, in its order. The report owns the table, whose texts are copied; failures as report.h says.
void dq_report_operators(dq_report *report, const dq_cost *cost);

#endif
