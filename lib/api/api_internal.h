// What the handles of the public interface hold, and what its functions share. lib/dq.h documents
// the functions themselves.
#ifndef DQ_API_INTERNAL_H
#define DQ_API_INTERNAL_H

#include "datasets/datasets.h"
#include "decomp/search/tucker_task.h"
#include "lib/base/context.h"
#include "lib/codegen/codegen.h"
#include "lib/dq.h"
#include "lib/eval/layers.h"
#include "lib/graph/graph.h"
#include "lib/measure/cost.h"
#include "lib/session/session.h"
#include "lib/text/locale.h"
#include "lib/train/loop/trainer.h"
#include "lib/tune/tune.h"
#include "quant/amp/amp.h"
#include "quant/amp/amp_check.h"
#include "quant/int8/int8.h"
#include "quant/mix/mix.h"

struct dq_engine {
  dq_context context;       // its user is the engine
  dq_budget budget;         // of the context
  struct dq_wisdom *wisdom; // owned; NULL: none
  atomic_bool stop;
  void (*message)(void *user, dq_notice notice, const char *text);
  void (*progress)(void *user, const char *what, int64_t done, int64_t total);
  void *user;
};

struct dq_dataset {
  dq_engine *engine;
  dq_data *data;
};

typedef enum dq_transform {
  DQ_TRANSFORM_NONE,
  DQ_TRANSFORM_AMP,
  DQ_TRANSFORM_INT8,
  DQ_TRANSFORM_TUCKER,
  DQ_TRANSFORM_TRAIN
} dq_transform;

// Graphs of a transform that later ones read weights of, and reports name nodes of. A graph stands in front of the one
// that it is a copy of.
typedef struct dq_kept_graphs {
  dq_graph *graphs[2]; // owned; NULL: none
  struct dq_kept_graphs *next;
} dq_kept_graphs;

struct dq_model {
  dq_engine *engine;
  dq_graph *graph;
  dq_kept_graphs *kept; // owned; NULL: none
  int networks;         // open on it
  dq_transform last;
  union { // of the last transform
    dq_amp_report amp;
    dq_int8_report int8;
    dq_tucker_report tucker;
    dq_train_report trained;
  };
  dq_arena *training_arena; // of trained; NULL: none
  dq_arena *range_arena;    // of ranges; NULL: none
  dq_amp_range *ranges;     // of a float16 transform with `check`
  int range_count;
  dq_arena *cost_arena; // of cost; NULL: not computed
  dq_cost cost;
  dq_arena *comparison_arena; // of comparison; NULL: not computed
  dq_layer_comparison comparison;
  dq_arena *tune_arena; // of tuned; NULL: not tuned
  dq_tune_report tuned;
  dq_arena *mix_arena; // of mixed; NULL: its precisions were not chosen
  dq_mix_report mixed;
  dq_codegen source; // of the last dq_model_source
};

// One call of the program into the library, from DQ_ENTER to dq_api_leave. Between them the thread has the locale "C".
typedef struct dq_call {
  dq_error error;
  locale_t outer; // of a call around this one, which runs the callback that makes this call
} dq_call;

typedef struct dq_argument {
  const char *name;
  const void *value;
} dq_argument;

// Begins *call, a dq_call of the calling function, whose pointers that must not be NULL follow as {"name", name}.
// DQ_USAGE: one of them is NULL. dq_api_leave must follow in either case.
#define DQ_ENTER(call, ...) dq_api_enter(call, __func__, (const dq_argument[]){__VA_ARGS__, {0}})
// `needed` ends with a row without a name.
dq_status dq_api_enter(dq_call *call, const char *function, const dq_argument *needed);
// Ends the call: gives the thread its locale back, and converts the status to the code that a public function returns.
// When the status is a failure, *failure (may be NULL) receives it with message and hint of call->error.
dq_code dq_api_leave(const dq_call *call, dq_status status, dq_failure *failure);
// The two functions stand around a callback, which sees the locale that the program gave to the thread.
// dq_api_callback_end gets what dq_api_callback_begin returned.
locale_t dq_api_callback_begin(void);
void dq_api_callback_end(locale_t inner);

// Copies the caller's options (NULL: none) over the defaults that are already in `to`, a struct of `size` bytes. Fields
// that the caller's struct does not have keep their defaults. DQ_USAGE: the caller's size is not set, or a field that
// this library does not have is not 0.
dq_status dq_api_read_options(void *to, size_t size, const void *options, dq_error *error);
// DQ_USAGE: the size of the caller's struct of results is not set. `facts` may be NULL.
dq_status dq_api_check_facts(const void *facts, dq_error *error);
// Copies `size` bytes of results into the caller's struct `to` (NULL: nothing happens), as far as its size reaches; the
// rest of that struct becomes 0. Its field `size` stays.
void dq_api_copy_results(void *to, const void *facts, size_t size);

// Sets the caller's options (NULL: nothing happens), a struct of `given` bytes, to the defaults, a struct of `size`
// bytes.
void dq_api_set_defaults(void *options, size_t given, const void *defaults, size_t size);

// The number of names in a list that NULL ends. A list that is NULL itself has none.
int dq_api_count(const char *const *names);
// Parses texts of shapes (NULL: none) into *request, with `batch`; arrays are in the arena. DQ_USAGE: a text has
// another form, or is for an input that none of the graphs has.
dq_status dq_api_shapes(const char *const *texts, const dq_graph *const *graphs, int graph_count, int64_t batch,
                        dq_arena *arena, dq_shape_request *request, dq_error *error);

// Converts options of a network (NULL: the defaults) to those of a session, *settings, and stores their batch in
// *batch. *settings points into the arena. DQ_USAGE: an option is not valid, or a transform of the model failed.
dq_status dq_api_session(dq_session_options *settings, int64_t *batch, const dq_model *model,
                         const dq_network_options *options, dq_arena *arena, dq_error *error);
// Fills *array (may be NULL) with a tensor, an input or output with the name `name`; returns 1. A tensor whose shape is
// not known yet has no elements either.
int dq_api_array(const dq_tensor *tensor, const char *name, dq_array *array);

// dq_verdict_check of what a transform made of the model.
dq_status dq_api_check_verdict(const dq_verdict *verdict, const dq_verdict_bounds *bounds, dq_error *error);

// Frees everything that was computed about the model (cost, comparison, ranges, tuning, C), and forgets its last
// transform.
void dq_api_forget(dq_model *model);
// Frees the C that the model was written as.
void dq_api_forget_source(dq_model *model);

// Begins a transform: calls dq_api_forget. DQ_USAGE: the size of `facts` is not set, or a network is open on the model.
dq_status dq_api_begin(dq_model *model, const void *facts, dq_error *error);
// Ends a transform: where something changed, `answer` becomes the graph of the model. `base` is what the answer is a
// copy of; NULL: the graph of the model. The model owns both from here on, also where nothing changed, as the report on
// the transform names nodes of the answer. DQ_SYSTEM: there is no memory; both have then been freed, and the model is
// as it was.
dq_status dq_api_take(dq_model *model, dq_transform transform, dq_graph *base, dq_graph *answer, bool changed,
                      dq_error *error);

// Makes the public options of a decomposition (NULL: the defaults, which lack a rule) the request of a task, and their
// data sets its data. DQ_USAGE: the options are invalid or contradict each other.
dq_status dq_api_tucker(dq_tucker_task *task, const dq_model_tucker_options *options, dq_error *error);

#endif
