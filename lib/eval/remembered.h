// The preprocessing that a model remembers.
#ifndef DQ_EVAL_REMEMBERED_H
#define DQ_EVAL_REMEMBERED_H

#include "datasets/datasets.h"
#include "lib/graph/graph.h"

// Takes the preprocessing that the model remembers where the options have neither a preset nor preprocessing, and says
// so in a note. The text belongs to the graph.
void dq_remembered_preset(dq_data_options *options, const dq_graph *graph, const dq_context *context);

#endif
