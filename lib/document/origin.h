// The origin of a model. Each transform appends a step to the property `dq` of the model, which maps values of the
// result to the values of the source that they stand for. Comparisons find the source of a value through these maps.
//
//   {"schema": "dq-model", "version": 1, "preset": "imagenet", "shapes": {"x": [null, 3, 224, 224]},
//    "steps": [{"tool": "dq-int8", "from": "0123456789abcdef", "values": {"y_dq": "y", "t":
//    null}}]}
//
// "from" is dq_origin_hash of the graph before the step. A value maps to the name of a value of the source, or to null
// when no value there can be compared with it. Values that are not listed have the name and the meaning that they had
// in the source.
#ifndef DQ_DOCUMENT_ORIGIN_H
#define DQ_DOCUMENT_ORIGIN_H

#include "lib/schedule/infer.h"

// A hash (XXH64) of nodes, attributes, initializers, inputs and outputs. Properties, declared types of values and the
// path do not count. A graph has the same hash after it was saved and loaded. Reads all weights.
uint64_t dq_origin_hash(const dq_graph *graph);

// ---- For transforms ----

typedef struct dq_origin dq_origin; // a step that a transform is recording

// Begins a step. It must be called before the transform changes the graph, because it hashes the graph. `tool` is the
// name of the command. NULL when there is no memory.
dq_origin *dq_origin_begin(const dq_graph *graph, const char *tool);
// Records that `value` of the result stands for `original` of the source; NULL: for no comparable value. Names are
// copied. A later record for the same value replaces an earlier one. DQ_BAD_INPUT: a name is not UTF-8; DQ_SYSTEM:
// there is no memory.
dq_status dq_origin_add(dq_origin *origin, const char *value, const char *original, dq_error *error);
// Takes the record for `value` back, if there is one: the result has no such value any more.
void dq_origin_forget(dq_origin *origin, const char *value);
// Records that the channels (axis 1) of `value` have changed their order: channel c stands for channel order[c] of the
// original value. `order` is a permutation of 0 to count - 1. Statuses as for dq_origin_add.
dq_status dq_origin_add_channels(dq_origin *origin, const char *value, const int64_t *order, int64_t count,
                                 dq_error *error);
// Appends the step to the property `dq` of the graph, and frees the step, also after a failure. A property that is not
// a valid "dq-model" is replaced, with a warning. DQ_SYSTEM: there is no memory.
dq_status dq_origin_finish(dq_origin *origin, dq_graph *graph, const dq_context *context, dq_error *error);
void dq_origin_discard(dq_origin *origin); // frees a step that will not be finished; NULL is allowed

// The preprocessing that the model stores, as text for dq_data_options.preset or .preprocess. Every call makes a copy,
// which the arena of the graph owns. NULL: the model stores none, the property `dq` is broken (which is reported as a
// warning), or there is no memory.
const char *dq_origin_preset(const dq_graph *graph, const dq_context *context);
// Stores a preprocessing in the model. DQ_SYSTEM: there is no memory.
dq_status dq_origin_set_preset(dq_graph *graph, const char *preset, const dq_context *context, dq_error *error);

// Copies the sizes that the model stores for open dimensions of its inputs, except the first dimension, to
// dq_value.usual. Sizes that do not fit the inputs are ignored with a warning.
void dq_origin_recall_sizes(dq_graph *graph, const dq_context *context);
// Stores sizes for the open dimensions of the inputs: those of `given` (NULL: none), else those in dq_value.usual. The
// property stays as it is when there are no sizes. DQ_BAD_INPUT: the name of an input is not UTF-8; DQ_SYSTEM: there is
// no memory.
dq_status dq_origin_set_sizes(dq_graph *graph, const dq_shape_request *given, const dq_context *context,
                              dq_error *error);

// dq_onnx_load followed by dq_origin_recall_sizes; statuses of dq_onnx_load.
dq_status dq_model_open(dq_graph **graph, const char *path, const dq_context *context, dq_error *error);

// ---- For comparisons ----

typedef struct dq_lineage dq_lineage; // the steps of a model, checked

// Reads the steps of a model. A model without the property `dq`, or with a broken one, which is ignored with a warning,
// has no steps. The caller frees *lineage. DQ_SYSTEM: there is no memory.
dq_status dq_lineage_open(dq_lineage **lineage, const dq_graph *graph, const dq_context *context, dq_error *error);
void dq_lineage_free(dq_lineage *lineage);                        // NULL is allowed
int dq_lineage_steps(const dq_lineage *lineage);                  // number of steps; step 0 is the first
const char *dq_lineage_tool(const dq_lineage *lineage, int step); // name of the command; owned by the lineage
// dq_origin_hash of the graph that a step started from.
uint64_t dq_lineage_source(const dq_lineage *lineage, int step);
// The last step that started from the graph with this hash; -1: none did.
int dq_lineage_find(const dq_lineage *lineage, uint64_t hash);
// The name that `value` of the model had in the graph in front of step `first`, through the maps of that step and all
// later ones. NULL: no value there is comparable. *mapped (`mapped` may be NULL) says whether any of the steps lists
// the value. A value that no step lists keeps its name, which that graph need not have. The result is `value` itself or
// owned by the lineage.
const char *dq_lineage_resolve(const dq_lineage *lineage, int first, const char *value, bool *mapped);

// The order that the channels of `value` had in front of step `first`: channel c stands for channel (*order)[c] of the
// value that dq_lineage_resolve gives. *count is the number of channels, 0 when the order did not change, and -1 when
// two steps contradict each other. *order is in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_lineage_channels(const dq_lineage *lineage, int first, const char *value, int64_t **order, int64_t *count,
                              dq_arena *arena, dq_error *error);

#endif
