// Functions that commands share which read a model and data.
#ifndef DQ_CMD_DATA_H
#define DQ_CMD_DATA_H

#include "cmd/options/options.h"
#include "datasets/datasets.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// The options of dq_data_open for the values of a command's options; texts are not copied.
dq_data_options dq_data_options_of(const dq_data_arguments *arguments, int64_t seed);
// The value of --task, static; NULL: the outputs and the labels decide.
const char *dq_task_of(const dq_data_arguments *arguments);

// Opens the data that the options name; the caller frees *data by dq_data_free. Statuses as dq_data_open.
dq_status dq_open_data(dq_data **data, const dq_data_arguments *arguments, int64_t seed, const dq_context *context,
                       dq_error *error);

// Sets arguments->preprocess to the preprocessing that the model records when neither --preset nor --preprocess was
// given. The graph owns the text.
void dq_recall_preset(dq_data_arguments *arguments, const dq_graph *graph, const dq_context *context);

// Reads the values of --shape into *request, with `batch`; arrays are in the arena. DQ_USAGE: a text has another form,
// or the graph has no such input (graph NULL: this is not checked).
dq_status dq_read_shapes(const dq_option_list *texts, const dq_graph *graph, int64_t batch, dq_arena *arena,
                         dq_shape_request *request, dq_error *error);

// Splits texts such as "Conv,Gemm" of all items into one list (*names)[*count], in the arena. DQ_SYSTEM: no memory.
dq_status dq_split_names(const dq_option_list *texts, dq_arena *arena, const char *const **names, int *count,
                         dq_error *error);

// Loads a file that was just written, to make sure that it is a valid model; "-", devices and pipes are not checked.
// Statuses as dq_onnx_load.
dq_status dq_verify_model(const char *path, const dq_context *context, dq_error *error);

#endif
