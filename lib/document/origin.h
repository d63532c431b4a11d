// Where a model came from: transforms append a step to the model property `dq`, which says for the
// values they touched which value of their source each one stands for. Comparisons resolve names
// through it.
//
//   {"schema": "dq-model", "version": 1, "preset": "imagenet", "shapes": {"x": [null, 3, 224, 224]},
//    "steps": [{"tool": "dq-int8", "from": "0123456789abcdef", "values": {"y_dq": "y", "t":
//    null}}]}
//
// "from" is dq_origin_hash of the graph before the step. A value maps to a name of the source, or
// to null when nothing there can be compared with it; values not listed kept their name and
// meaning.
#ifndef DQ_PASSES_ORIGIN_H
#define DQ_PASSES_ORIGIN_H

#include "lib/schedule/infer.h"

// Hash (XXH64) of nodes, attributes, initializers, inputs and outputs; properties, declared types
// of values and the path do not count. The same for a graph and what loading its saved file gives.
uint64_t dq_origin_hash(const dq_graph *graph);

// ---- For transforms ----

typedef struct dq_origin dq_origin; // a step in the making

// Before the graph is changed. `tool` is the command's name. NULL when there is no memory.
dq_origin *dq_origin_begin(const dq_graph *graph, const char *tool);
// `value` of the result stands for `original` of the source, NULL: for nothing comparable. Adding a
// value again replaces what was said.
dq_status dq_origin_add(dq_origin *origin, const char *value, const char *original, dq_error *error);
// Channels (axis 1) of `value` have moved: channel c stands for channel order[c] of what the value
// stands for. `order` holds 0..count-1, each once.
dq_status dq_origin_add_channels(dq_origin *origin, const char *value, const int64_t *order, int64_t count,
                                 dq_error *error);
// Appends the step to the graph's property and frees it, also on failure. What a property there
// says is kept when it is a dq-model, else warned about and replaced.
dq_status dq_origin_finish(dq_origin *origin, dq_graph *graph, const dq_context *context, dq_error *error);
void dq_origin_discard(dq_origin *origin); // instead of finish; NULL is fine

// The preprocessing the model remembers, as dq_data's `preset` or `preprocess` takes it. Owned by
// the graph's arena; NULL: none.
const char *dq_origin_preset(const dq_graph *graph, const dq_context *context);
dq_status dq_origin_set_preset(dq_graph *graph, const char *preset, const dq_context *context, dq_error *error);

// Sizes that the model leaves open and remembers, put into dq_value.usual of its inputs, but for the first
// dimension. What does not fit the inputs is warned about and ignored.
void dq_origin_recall_sizes(dq_graph *graph, const dq_context *context);
// Writes the sizes that a request gives, else those recalled, of dimensions that are open; nothing when there are
// none. `given` may be NULL.
dq_status dq_origin_set_sizes(dq_graph *graph, const dq_shape_request *given, const dq_context *context,
                              dq_error *error);

// dq_onnx_load and dq_origin_recall_sizes.
dq_status dq_model_open(dq_graph **graph, const char *path, const dq_context *context, dq_error *error);

// ---- For comparisons ----

typedef struct dq_lineage dq_lineage; // the steps of a model, checked

// A model without the property, or with one that is broken (which is warned about and ignored), has
// no steps. DQ_SYSTEM only.
dq_status dq_lineage_open(dq_lineage **lineage, const dq_graph *graph, const dq_context *context, dq_error *error);
void dq_lineage_free(dq_lineage *lineage); // NULL is fine
int dq_lineage_steps(const dq_lineage *lineage);
const char *dq_lineage_tool(const dq_lineage *lineage, int step);
// Hash of the graph a step started from.
uint64_t dq_lineage_source(const dq_lineage *lineage, int step);
// The step whose source had this hash, the latest when several had; -1: none.
int dq_lineage_find(const dq_lineage *lineage, uint64_t hash);
// The name that `value` of the model had before step `first`, all later steps composed; NULL when
// it is not comparable. `*mapped` (may be NULL) says whether any step listed it. The name may not
// exist there: values without an entry resolve to themselves. Owned by the lineage or the caller.
const char *dq_lineage_resolve(const dq_lineage *lineage, int first, const char *value, bool *mapped);

// Where the channels of `value` were before step `first`: channel c stands for channel (*order)[c] of
// what the value resolves to. *count 0: none has moved; -1: steps disagree about their number. *order is
// in the arena.
dq_status dq_lineage_channels(const dq_lineage *lineage, int first, const char *value, int64_t **order, int64_t *count,
                              dq_arena *arena, dq_error *error);

#endif
