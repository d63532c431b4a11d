// Predictors for outputs that a test writes by hand.
#ifndef TESTS_UNIT_PREDICTING_H
#define TESTS_UNIT_PREDICTING_H

#include <string.h>

#include "lib/predict/predict.h"

typedef struct reading {
  const char *decode, *task, *kpt_shape; // NULL: none
  const char *operator;                  // that computes the outputs; NULL: Relu
  double score, overlap;
  bool halved;
  int64_t top, height, width; // of the input
} reading;

static inline void tell(dq_graph *graph, const char *key, const char *value) {
  if (value) assert_int_equal(dq_graph_set_property(graph, key, value, NULL), DQ_OK);
}

static inline dq_status open_reading(dq_predictor **predictor, const reading *how, int count,
                                     const dq_tensor *const *outputs, const dq_context *context, dq_error *error) {
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x"), *before = dq_graph_add_value(graph, "before"), *made[8];
  dq_graph_add_node(graph, 0, "Relu", "relu", 1, &x, 1, &before);
  for (int i = 0; i < count; i++) {
    made[i] = dq_graph_add_value(graph, (const char *[]){"y", "z", "u", "v", "w", "a", "b", "c"}[i]);
    dq_graph_add_node(graph, i + 1, how->operator ? how->operator : "Relu", "", 1, &before, 1, &made[i]);
    made[i]->is_output = true;
  }
  x->is_input = true;
  graph->inputs = dq_arena_copy(graph->arena, &x, sizeof x), graph->input_count = 1;
  graph->outputs = dq_arena_copy(graph->arena, made, (size_t)count * sizeof *made), graph->output_count = count;
  tell(graph, "task", how->task);
  tell(graph, "kpt_shape", how->kpt_shape);
  if (how->task) tell(graph, "names", "{0: 'cat', 1: 'dog'}");
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  const dq_predict_options options = {.decode = how->decode,
                                      .score = how->score,
                                      .halved = how->halved,
                                      .overlap = how->overlap,
                                      .top = how->top,
                                      .graph = graph,
                                      .outputs = outputs,
                                      .input_height = how->height,
                                      .input_width = how->width};
  const dq_status status = dq_predictor_open(predictor, &options, context, error);
  dq_graph_free(graph);
  return status;
}

#endif
