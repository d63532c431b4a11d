// The graph of a training: normalization by batches, weights as inputs, the loss, derivatives.
#include "lib/train/training_graph.h"

#include "lib/base/sizes.h"
#include "lib/ops/common/picture_sums.h"
#include "lib/ops/gradient/gradient.h"
#include "lib/schedule/check_nodes.h"
#include "lib/train/backward.h"
#include "lib/train/exact_products.h"
#include "lib/train/features.h"
#include "lib/train/half_weights.h"
#include "lib/train/late_sums.h"
#include "lib/train/quantizers.h"

// ---- Batch normalization by the statistics of the batch ----

static dq_status train_normalization(dq_training_graph *made, dq_training *training, dq_node *node, dq_error *error) {
  static const char *const old[] = {"momentum", "is_test", "spatial", "training_mode", "consumed_inputs"};
  char label[DQ_LABEL_TEXT];
  dq_statistics *to = &training->statistics[training->statistics_count];
  dq_value **outputs = DQ_NEW_ARRAY(made->graph->arena, 3, dq_value *);
  if (!outputs) return dq_fail_memory(error, 0);
  outputs[0] = node->outputs[0];
  to->layer = dq_arena_strdup(made->arena, dq_node_label(node, label, sizeof label));
  if (!to->layer) return dq_fail_memory(error, 0);
  to->momentum = (double)dq_node_float(node, "momentum", 0.9f);
  for (int k = 0; k < 2; k++) {
    const dq_value *stored = node->inputs[3 + k];
    const dq_tensor *tensor = stored->constant;
    to->names[k] = dq_graph_find(made->model, stored->name)->name;
    to->running[k] = dq_tensor_new(made->arena, DQ_F32, tensor->rank, tensor->dims);
    outputs[1 + k] = made->statistics[training->statistics_count][k] = dq_graph_fresh_value(made->graph, stored->name);
    if (!to->running[k] || !outputs[1 + k]) return dq_fail_memory(error, 0);
    for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(to->running[k], i, dq_tensor_get(tensor, i));
  }
  training->statistics_count++;
  for (int i = 0; i < DQ_COUNT(old); i++) dq_node_remove_attribute(node, old[i]);
  node->op_type = "BatchNormTrain";
  node->domain = "dq";
  node->input_count = 3;
  node->outputs = outputs;
  node->output_count = 3;
  return DQ_OK;
}

static bool is_trainable_normalization(const dq_node *node, const dq_training_options *options) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || row->bound != DQ_BOUND_BATCH_NORM || options->frozen_statistics || dq_is_frozen(node, options))
    return false;
  for (int i = 1; i < 5; i++)
    if (!dq_is_float_constant(dq_node_input(node, i))) return false;
  return dq_node_int(node, "spatial", 1) != 0;
}

static dq_status train_normalizations(dq_training_graph *made, dq_training *training,
                                      const dq_training_options *options, dq_error *error) {
  const int nodes = made->graph->node_count;
  training->statistics = DQ_NEW_ARRAY(made->arena, nodes, dq_statistics);
  made->statistics = dq_arena_array(made->arena, (size_t)nodes, sizeof *made->statistics);
  if (!training->statistics || !made->statistics) return dq_fail_memory(error, 0);
  for (int n = 0; n < nodes; n++)
    if (is_trainable_normalization(made->graph->nodes[n], options))
      DQ_TRY(train_normalization(made, training, made->graph->nodes[n], error));
  return DQ_OK;
}

// ---- Weights become inputs ----

// A constant that is a weight of the node. A single number that is added is none. In a quantized model factors and
// shifts by channel lie in front of quantizers that are made for them, and stay.
static bool is_weight(const dq_node *node, const dq_operator *row, int i, bool quantized) {
  const dq_value *value = node->inputs[i];
  const bool trained = i < (int)(8 * sizeof row->trained) && row->trained & 1u << i;
  if (!trained || !dq_is_float_constant(value) || (quantized && !row->product)) return false;
  return !(row->flags & DQ_OP_ADDS) || dq_tensor_count(value->constant) > 1;
}

static dq_status train_weights(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                               dq_error *error) {
  const int most = made->graph->initializer_count;
  training->trained = DQ_NEW_ARRAY(made->arena, most, dq_trained);
  made->first = DQ_NEW_ARRAY(made->arena, most, const dq_tensor *);
  made->gradients = DQ_NEW_ARRAY(made->arena, most, dq_value *);
  if (!training->trained || !made->first || !made->gradients) return dq_fail_memory(error, 0);
  if (options->quantized) DQ_TRY(dq_train_quantizers(made, training, options, error));
  for (int n = 0; n < made->graph->node_count; n++) {
    const dq_node *node = made->graph->nodes[n];
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    for (int i = 0; row && !dq_is_frozen(node, options) && i < node->input_count; i++)
      if (is_weight(node, row, i, options->quantized))
        DQ_TRY(dq_train_value(made, training, node->inputs[i], node->inputs[i]->constant, node, error));
  }
  if (training->trained_count) return DQ_OK;
  dq_fail(error, DQ_BAD_INPUT, "the model has no weight of float32 or float16 that is trained");
  dq_error_hint(error, "models of dq-int8 are trained with --qat int8");
  return DQ_BAD_INPUT;
}

// ---- The loss ----

static dq_value *add(dq_training_graph *made, const char *op_type, int count, dq_value **inputs) {
  return dq_training_node(made, op_type, count, inputs, NULL);
}

static dq_value *cross_entropy(dq_training_graph *made, double temperature) {
  dq_value *softened = temperature == 1 ? made->scores : dq_training_multiply(made, made->scores, 1 / temperature);
  dq_value *logarithms = add(made, "LogSoftmax", 1, &softened);
  if (!logarithms) return NULL;
  dq_node *node = made->graph->nodes[made->graph->node_count - 1];
  if (!dq_node_set_int(made->graph, node, "axis", 1)) return NULL;
  dq_value *terms = add(made, "Mul", 2, (dq_value *[]){logarithms, made->targets});
  return dq_training_sum(made, terms, -temperature * temperature / (double)dq_training_pictures(made));
}

static dq_value *squared_error(dq_training_graph *made, const dq_tensor *scores) {
  dq_value *error = add(made, "Sub", 2, (dq_value *[]){made->scores, made->targets});
  dq_value *terms = add(made, "Mul", 2, (dq_value *[]){error, error});
  return dq_training_sum(made, terms,
                         1 / ((double)dq_training_pictures(made) * (double)dq_tensor_product(scores, 1, scores->rank)));
}

static dq_status check_scores(const dq_tensor *scores, const dq_training_options *options, dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  const bool classes = options->loss == DQ_LOSS_CROSS_ENTROPY;
  if (scores->type == DQ_F32 && scores->rank >= 1 && scores->dims[0] == options->batch &&
      (!classes || scores->rank == 2))
    return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "the output is %s of shape %s, expected float32 of %s for a batch of %lld",
                 dq_dtype_name(scores->type),
                 scores->rank < 0 ? "unknown size" : dq_tensor_shape_text(scores, text, sizeof text),
                 classes ? "pictures x classes" : "pictures first", (long long)options->batch);
}

// Neither Softmax nor LogSoftmax changes the logarithms of the shares that the loss computes.
static void leave_out_softmax(dq_training_graph *made) {
  const dq_node *last = made->scores->producer;
  const dq_operator *row = last ? dq_operator_find(last->domain, last->op_type) : NULL;
  if (!row || row->gradient != dq_gradient_softmax) return;
  const int64_t axis = dq_node_int(last, "axis", 1);
  if (axis == 1 || axis == -1) made->scores = last->inputs[0];
}

static dq_status add_loss(dq_training_graph *made, const dq_tensor *tensors, const dq_training_options *options,
                          dq_error *error) {
  const bool classes = options->loss == DQ_LOSS_CROSS_ENTROPY;
  if (classes) leave_out_softmax(made);
  const dq_tensor *scores = &tensors[made->scores->index];
  DQ_TRY(check_scores(scores, options, error));
  made->targets = dq_graph_fresh_value(made->graph, "targets");
  if (!made->targets || !dq_graph_add_input(made->graph, made->targets, scores)) return dq_fail_memory(error, 0);
  made->loss =
      classes ? cross_entropy(made, options->temperature > 0 ? options->temperature : 1) : squared_error(made, scores);
  return made->loss ? DQ_OK : dq_fail_memory(error, 0);
}

// ---- Everything ----

static dq_status infer(dq_training_graph *made, const dq_context *context, dq_tensor **tensors, dq_error *error) {
  DQ_TRY(dq_graph_index(made->graph, true, error));
  return dq_infer(made->graph, &made->shapes, DQ_INFER_ALL, context, made->arena, tensors, error);
}

static dq_status set_outputs(dq_training_graph *made, const dq_training *training, dq_error *error) {
  const int most = 2 + training->trained_count + 2 * training->statistics_count;
  dq_value **outputs = DQ_NEW_ARRAY(made->graph->arena, most, dq_value *);
  int count = 0;
  if (!outputs) return dq_fail_memory(error, 0);
  for (int i = 0; i < made->graph->output_count; i++) made->graph->outputs[i]->is_output = false;
  outputs[count++] = made->loss;
  outputs[count++] = made->scores;
  for (int i = 0; i < training->trained_count; i++) outputs[count++] = made->gradients[i];
  for (int i = 0; i < training->statistics_count; i++)
    for (int k = 0; k < 2; k++) outputs[count++] = made->statistics[i][k];
  for (int i = 0; i < count; i++) outputs[i]->is_output = true;
  made->graph->outputs = outputs;
  made->graph->output_count = count;
  return DQ_OK;
}

// Weights that the loss does not depend on, such as those of another output, are left as they are.
static void drop_unreached(dq_training_graph *made, dq_training *training) {
  int kept = 0;
  for (int i = 0; i < training->trained_count; i++) {
    if (!made->gradients[i]) continue;
    training->trained[kept] = training->trained[i];
    made->first[kept] = made->first[i];
    made->gradients[kept++] = made->gradients[i];
  }
  training->trained_count = kept;
}

// What is added over the pictures is added over all processes.
static dq_status mark_sums(dq_training_graph *made, const dq_training *training, const dq_context *context,
                           dq_error *error) {
  dq_tensor *tensors;
  DQ_TRY(infer(made, context, &tensors, error));
  bool *pictures = DQ_NEW_ARRAY(made->arena, made->graph->value_count, bool);
  if (!pictures) return dq_fail_memory(error, 0);
  pictures[made->input->index] = pictures[made->targets->index] = true;
  for (int i = 0; i < training->feature_count; i++)
    for (int k = 0; k < 2; k++) pictures[made->features[i][k]->index] = true;
  DQ_TRY(dq_mark_picture_sums(made->graph, tensors, made->part->count, pictures, error));
  return dq_add_sums_late(made, tensors, pictures, context, error);
}

static dq_status derive(dq_training_graph *made, dq_training *training, const dq_context *context, dq_error *error) {
  dq_tensor *tensors;
  dq_value **by = DQ_NEW_ARRAY(made->arena, training->trained_count, dq_value *);
  if (!by) return dq_fail_memory(error, 0);
  for (int i = 0; i < training->trained_count; i++) by[i] = dq_graph_find(made->graph, training->trained[i].name);
  DQ_TRY(infer(made, context, &tensors, error));
  const dq_derivatives derivatives = {
      .loss = made->loss, .by = by, .gradients = made->gradients, .count = training->trained_count};
  DQ_TRY(dq_backward(made->graph, tensors, &derivatives, context, error));
  DQ_TRY(dq_exact_products(made, tensors, error));
  drop_unreached(made, training);
  DQ_TRY(set_outputs(made, training, error));
  return made->part ? mark_sums(made, training, context, error) : dq_graph_index(made->graph, true, error);
}

dq_status dq_open_batch(dq_graph *graph, dq_value *input, dq_error *error) {
  if (input->rank < 1) return DQ_OK;
  dq_dimension *dims = DQ_NEW_ARRAY(graph->arena, input->rank, dq_dimension);
  if (!dims) return dq_fail_memory(error, 0);
  for (int i = 0; i < input->rank; i++) dims[i] = input->dims[i];
  if (dims[0].size > 0) dims[0] = (dq_dimension){.size = -1};
  input->dims = dims;
  return DQ_OK;
}

// The one input that pictures go to.
static dq_status find_input(dq_training_graph *made, dq_error *error) {
  for (int i = 0; i < made->graph->input_count; i++) {
    dq_value *input = made->graph->inputs[i];
    if (input->constant) continue;
    if (made->input) return dq_fail(error, DQ_UNSUPPORTED, "training of models with several inputs is not supported");
    made->input = input;
  }
  if (!made->input || !made->graph->output_count)
    return dq_fail(error, DQ_BAD_INPUT, "the model has no input or no output");
  made->scores = made->graph->outputs[0];
  return dq_open_batch(made->graph, made->input, error);
}

dq_status dq_training_graph_make(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                                 const dq_context *context, dq_error *error) {
  dq_tensor *tensors;
  made->shapes = options->shapes;
  made->shapes.batch = options->batch;
  DQ_TRY(dq_graph_index(made->graph, true, error));
  DQ_TRY(dq_check_nodes(made->graph, context, error));
  DQ_TRY(find_input(made, error));
  if (!options->quantized) DQ_TRY(dq_widen_halves(made, context, error));
  if (!options->quantized) DQ_TRY(train_normalizations(made, training, options, error));
  DQ_TRY(train_weights(made, training, options, error));
  DQ_TRY(infer(made, context, &tensors, error));
  DQ_TRY(add_loss(made, tensors, options, error));
  DQ_TRY(dq_compare_features(made, training, tensors, options, error));
  return derive(made, training, context, error);
}
