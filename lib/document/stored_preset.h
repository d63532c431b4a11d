// The preprocessing that a model stores in its property `dq`, or that its metadata tells.
#ifndef DQ_DOCUMENT_STORED_PRESET_H
#define DQ_DOCUMENT_STORED_PRESET_H

#include "datasets/datasets.h"
#include "lib/graph/graph.h"

// Sets options->preprocess to the preprocessing that the model stores, or else to the one that dq_guess_preset finds,
// and reports this in a message, when the options have neither a preset nor preprocessing. Nothing happens for a model
// that has neither. The graph owns the text.
void dq_apply_stored_preset(dq_data_options *options, const dq_graph *graph, const dq_context *context);

// How far the input of a model with one input reaches that takes pictures: the largest |x| that the preprocessing makes
// of them. `data` are such pictures; NULL: the preprocessing is that of the texts, else that which the model stores
// or dq_guess_preset finds.
// *reach is 0 where this is not known: of several inputs, arrays, constants of patients, and without any preprocessing.
// DQ_USAGE: an unknown preset or field; DQ_SYSTEM: there is no memory.
dq_status dq_input_reach(double *reach, const dq_graph *graph, const dq_data *data, const char *preset,
                         const char *preprocess, const dq_context *context, dq_error *error);

#endif
