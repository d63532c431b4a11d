#include "lib/train/features.h"

static dq_status add_input(dq_training_graph *made, const char *name, const dq_tensor *shape, dq_value **input,
                           dq_error *error) {
  *input = dq_graph_fresh_value(made->graph, name);
  return *input && dq_graph_add_input(made->graph, *input, shape) ? DQ_OK : dq_fail_memory(error, 0);
}

// The sum over the pictures of weight * |value - target|^2.
static dq_value *squared_distance(dq_training_graph *made, dq_value *value, dq_value *const inputs[2], double factor) {
  dq_value *distance = dq_training_node(made, "Sub", 2, (dq_value *[]){value, inputs[0]}, NULL);
  dq_value *weighted = dq_training_node(made, "Mul", 2, (dq_value *[]){distance, inputs[1]}, NULL);
  dq_value *terms = dq_training_node(made, "Mul", 2, (dq_value *[]){distance, weighted}, NULL);
  return terms ? dq_training_sum(made, terms, factor) : NULL;
}

static dq_status compare(dq_training_graph *made, const char *name, const dq_tensor *tensors, double factor,
                         dq_value *inputs[2], dq_error *error) {
  dq_value *value = dq_graph_find(made->graph, name);
  if (!value || tensors[value->index].type != DQ_F32 || tensors[value->index].rank < 1)
    return dq_fail(error, DQ_BAD_INPUT, "the model has no value '%s' of float32 with pictures first", name);
  const dq_tensor *shape = &tensors[value->index];
  dq_tensor single = *shape;
  for (int d = 1; d < single.rank; d++) single.dims[d] = 1;
  DQ_TRY(add_input(made, "feature", shape, &inputs[0], error));
  DQ_TRY(add_input(made, "feature_weight", &single, &inputs[1], error));
  dq_value *distance = squared_distance(made, value, inputs, factor);
  made->loss = dq_training_node(made, "Add", 2, (dq_value *[]){made->loss, distance}, NULL);
  return made->loss ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_compare_features(dq_training_graph *made, dq_training *training, const dq_tensor *tensors,
                              const dq_training_options *options, dq_error *error) {
  const int count = options->feature_loss > 0 ? options->feature_count : 0;
  if (!count) return DQ_OK;
  training->features = DQ_NEW_ARRAY(made->arena, count, dq_feature);
  made->features = dq_arena_array(made->arena, (size_t)count, sizeof *made->features);
  if (!training->features || !made->features) return dq_fail_memory(error, 0);
  for (int i = 0; i < count; i++)
    DQ_TRY(compare(made, options->features[i], tensors,
                   options->feature_loss / (double)(count * dq_training_pictures(made)), made->features[i], error));
  training->feature_count = count;
  return DQ_OK;
}
