// The preprocessing that a model stores in its property `dq`.
#ifndef DQ_EVAL_STORED_PRESET_H
#define DQ_EVAL_STORED_PRESET_H

#include "datasets/datasets.h"
#include "lib/graph/graph.h"

// Sets options->preprocess to the preprocessing that the model stores, and reports this in a message, when the options
// have neither a preset nor preprocessing. Nothing happens for a model that stores none. The graph owns the text.
void dq_apply_stored_preset(dq_data_options *options, const dq_graph *graph, const dq_context *context);

#endif
