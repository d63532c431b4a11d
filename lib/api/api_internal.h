// What the handles of the public interface hold, and what its functions share. lib/dq.h documents
// the functions themselves.
#ifndef DQ_API_INTERNAL_H
#define DQ_API_INTERNAL_H

#include "datasets/datasets.h"
#include "decomp/tucker/decomp.h"
#include "lib/base/context.h"
#include "lib/dq.h"
#include "lib/measure/cost.h"
#include "lib/eval/layers.h"
#include "lib/graph/graph.h"
#include "quant/amp/amp.h"
#include "quant/amp/amp_check.h"
#include "quant/int8/int8.h"

struct dq_engine {
  dq_context context; // its user is the engine
  dq_budget budget;   // of the context
  atomic_bool stop;
  void (*message)(void *user, dq_notice notice, const char *text);
  void (*progress)(void *user, const char *what, int64_t done, int64_t total);
  void *user;
};

struct dq_dataset {
  dq_engine *engine;
  dq_data *data;
};

typedef enum dq_transform { DQ_TRANSFORM_NONE, DQ_TRANSFORM_AMP, DQ_TRANSFORM_INT8, DQ_TRANSFORM_TUCKER } dq_transform;

// A graph that a transform replaced by another one, which reads its weights.
typedef struct dq_replaced_graph {
  dq_graph *graph; // owned
  struct dq_replaced_graph *next;
} dq_replaced_graph;

struct dq_model {
  dq_engine *engine;
  dq_graph *graph;
  dq_replaced_graph *replaced; // owned; NULL: none
  int networks;                // open on it
  bool broken;                 // a transform failed half way
  dq_transform last;
  union { // of the last transform
    dq_amp_report amp;
    dq_int8_report int8;
    dq_tucker_report tucker;
  };
  dq_arena *range_arena; // of ranges; NULL: none
  dq_amp_range *ranges;  // of a float16 transform with `check`
  int range_count;
  dq_arena *cost_arena; // of cost; NULL: not computed
  dq_cost cost;
  dq_arena *comparison_arena; // of comparison; NULL: not computed
  dq_layer_comparison comparison;
};

// A public function's answer: the failure filled from what went wrong inside.
dq_code dq_api_finish(dq_status status, const dq_error *error, dq_failure *failure);

// The caller's options (NULL: none) over the defaults already in `to`, which has `size` bytes. Fields
// that the caller's struct does not have keep their defaults; fields that this library does not have
// must be 0. DQ_USAGE.
dq_status dq_api_take(void *to, size_t size, const void *options, dq_error *error);
// Whether the caller's struct of results (NULL is fine) says its size. DQ_USAGE.
dq_status dq_api_check_facts(const void *facts, dq_error *error);
// Copies results into as much as the caller's struct holds, the rest of which becomes 0.
void dq_api_give(void *to, const void *facts, size_t size);

// Sets the caller's options, of `given` bytes, to the defaults.
void dq_api_start(void *options, size_t given, const void *defaults, size_t size);

int dq_api_count(const char *const *names); // of a list ended by NULL, or NULL
// Texts of shapes into a request, of inputs that one of the graphs has; arrays in the arena. DQ_USAGE.
dq_status dq_api_shapes(const char *const *texts, const dq_graph *const *graphs, int graph_count, int64_t batch,
                        dq_arena *arena, dq_shape_request *request, dq_error *error);

// Checks a `batch` of options, and makes of it what the model takes. `data` may be NULL. Fails as dq_settle_batch, and
// with DQ_USAGE.
dq_status dq_api_batch(int64_t *batch, const dq_model *model, const dq_shape_request *shapes, dq_data *data,
                       dq_error *error);

// Whether the model can be used at all. DQ_USAGE.
dq_status dq_api_check_model(const dq_model *model, dq_error *error);
// Drops what was computed about the model.
void dq_api_forget(dq_model *model);

// Whether a transform may start: `facts` have a size, the model can be used, no network is open on it. What was
// computed about the model is dropped. DQ_USAGE.
dq_status dq_api_begin(dq_model *model, const void *facts, dq_error *error);
// After a transform that ended with `status`: marks the model as transformed, or as one that can only be freed.
dq_status dq_api_end(dq_model *model, dq_transform transform, dq_status status, dq_error *error);
// The answer of a search takes the place of the model's graph, whose weights it reads; it is freed with the model, or
// at once when there is no memory.
dq_status dq_api_replace(dq_model *model, dq_graph *answer, dq_error *error);

// The caller's options of a decomposition as those of the transform, which point into the arena and to `request`; what
// is left of the caller's in `given`. DQ_USAGE; errors of a file of ranks.
dq_status dq_api_tucker(const dq_model *model, const dq_model_tucker_options *options, dq_arena *arena,
                        dq_model_tucker_options *given, dq_tucker_options *settings, dq_shape_request *request,
                        dq_error *error);

#endif
