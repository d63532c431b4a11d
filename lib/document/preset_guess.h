// The preprocessing that metadata of other programs tells.
#ifndef DQ_DOCUMENT_PRESET_GUESS_H
#define DQ_DOCUMENT_PRESET_GUESS_H

#include "lib/graph/graph.h"

// The preprocessing that properties of a model with one input of rank 4 tell (preset_guesses.def), as text for
// dq_data_options.preprocess: "yolo", or "yolo,longest=320,multiple=32" where height or width of the input are open and
// the properties `imgsz` and `stride` tell them. *property receives the key of the property that tells it, static.
// Every call makes a copy, which the arena of the graph owns. NULL: the properties are missing, broken or ambiguous, or
// there is no memory.
const char *dq_guess_preset(const dq_graph *graph, const char **property);

#endif
