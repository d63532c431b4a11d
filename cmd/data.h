// What commands share that read a model and look at data.
#ifndef DQ_CMD_DATA_H
#define DQ_CMD_DATA_H

#include "cmd/options.h"
#include "datasets/datasets.h"
#include "lib/schedule/infer.h"
#include "lib/graph/graph.h"

// What the options of a command say about pictures, for dq_data_open.
dq_data_options dq_data_options_of(const dq_data_arguments *arguments, int64_t seed);
// The name of --task; NULL: to be guessed.
const char *dq_task_of(const dq_data_arguments *arguments);

// Opens the pictures the options name. Free with dq_data_free.
dq_status dq_open_data(dq_data **data, const dq_data_arguments *arguments, int64_t seed, const dq_context *context,
                       dq_error *error);

// Takes the preprocessing that the model remembers where the user gave none.
void dq_recall_preset(dq_data_arguments *arguments, const dq_graph *graph, const dq_context *context);

// The shapes given with --shape, of inputs that the graph has (NULL: that is not looked at); arrays in the arena.
dq_status dq_read_shapes(const dq_option_list *texts, const dq_graph *graph, int64_t batch, dq_arena *arena,
                         dq_shape_request *request, dq_error *error);

// "Conv,Gemm" and repeated options as one list of names, in the arena.
dq_status dq_split_names(const dq_option_list *texts, dq_arena *arena, const char *const **names, int *count,
                         dq_error *error);

// Loads a file that was just written ("-", devices and pipes are not checked), so that no broken model is left behind
// unnoticed.
dq_status dq_verify_model(const char *path, const dq_context *context, dq_error *error);

#endif
