// The preset of networks that say nothing of their preprocessing, by the form of their outputs (form_presets.def).
#ifndef DQ_PREDICT_FORM_PRESET_H
#define DQ_PREDICT_FORM_PRESET_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// The preset of an indexed graph, and in *form the form of its outputs, both static; NULL: the form is not known, or
// networks of it take pictures in several ways. `decode` is that of dq_predict_options. Sizes that the input leaves
// open are assumed; the arena is for shapes.
const char *dq_form_preset(const dq_graph *graph, const char *decode, const char **form, const dq_context *context,
                           dq_arena *arena);

#endif
