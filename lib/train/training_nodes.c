// What the stages of making a training graph share.
#include "lib/train/training_nodes.h"

#include "lib/graph/patterns.h"
#include "lib/train/half_weights.h"

bool dq_is_frozen(const dq_node *node, const dq_training_options *options) {
  for (int i = 0; i < options->frozen_count; i++)
    if (dq_pattern_fits(options->frozen[i], node)) return true;
  return false;
}

dq_status dq_train_value(dq_training_graph *made, dq_training *training, dq_value *value, const dq_tensor *first,
                         const dq_node *reader, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  dq_trained *to = &training->trained[training->trained_count];
  to->name = dq_graph_find(made->model, value->name)->name;
  to->layer = dq_arena_strdup(made->arena, dq_node_label(reader, label, sizeof label));
  to->decays = first->rank >= 2;
  if (dq_is_stored_in_half(made->model, value->name)) {
    to->master = dq_tensor_new(made->arena, DQ_F32, first->rank, first->dims);
    if (!to->master) return dq_fail_memory(error, dq_tensor_bytes(first));
  }
  made->first[training->trained_count++] = first;
  dq_graph_remove_constant(made->graph, value);
  return to->layer && dq_graph_add_input(made->graph, value, first) ? DQ_OK : dq_fail_memory(error, 0);
}

dq_value *dq_training_node(dq_training_graph *made, const char *op_type, int count, dq_value *const *inputs,
                           dq_value *output) {
  dq_graph *graph = made->graph;
  const char *name = dq_graph_fresh_name(graph, "training");
  if (!output) output = dq_graph_fresh_value(graph, "training");
  for (int i = 0; i < count; i++)
    if (!inputs[i]) return NULL;
  if (!output || !name) return NULL;
  return dq_graph_add_node(graph, graph->node_count, op_type, name, count, inputs, 1, &output) ? output : NULL;
}

int64_t dq_training_pictures(const dq_training_graph *made) {
  return made->part ? made->part->all : made->shapes.batch;
}

dq_value *dq_training_multiply(dq_training_graph *made, dq_value *value, double factor) {
  dq_tensor *number = dq_tensor_scalar_f32(made->graph->arena, (float)factor);
  return number ? dq_training_node(made, "Mul", 2,
                                   (dq_value *[]){value, dq_graph_add_constant(made->graph, "loss", number)}, NULL)
                : NULL;
}

dq_value *dq_training_sum(dq_training_graph *made, dq_value *terms, double factor) {
  dq_value *sum = dq_training_node(made, "SumTo", 1, &terms, NULL);
  if (!sum) return NULL;
  dq_node *node = made->graph->nodes[made->graph->node_count - 1];
  node->domain = "dq";
  if (!dq_node_set_ints(made->graph, node, "shape", NULL, 0)) return NULL;
  return dq_training_multiply(made, sum, factor);
}
