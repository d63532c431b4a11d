// Making a network ready for training, and its steps.
#include "lib/train/training.h"

#include <math.h>
#include <string.h>

#include "lib/kernels/reference/shards.h"
#include "lib/train/half_weights.h"
#include "lib/train/quantizers.h"
#include "lib/train/training_graph.h"

static dq_tensor *plan_tensor(const dq_training *training, const char *name) {
  return (dq_tensor *)(uintptr_t)dq_plan_value(training->session.plan, name); // inputs are written by the caller
}

// The tensors of the plan behind the names of the graph; weights get their first elements.
static void connect(dq_training *training, const dq_training_graph *made) {
  training->input = plan_tensor(training, made->input->name);
  training->targets = plan_tensor(training, made->targets->name);
  training->scores = plan_tensor(training, made->scores->name);
  training->loss = plan_tensor(training, made->loss->name);
  for (int i = 0; i < training->trained_count; i++) {
    dq_trained *weight = &training->trained[i];
    weight->elements = plan_tensor(training, weight->name);
    weight->gradient = plan_tensor(training, made->gradients[i]->name);
    if (weight->grid && weight->grid->safe.count) weight->scale = plan_tensor(training, weight->grid->scale);
    memcpy(weight->elements->data, made->first[i]->data, dq_tensor_bytes(weight->elements));
    if (weight->master) memcpy(weight->master->data, made->first[i]->data, dq_tensor_bytes(weight->elements));
  }
  for (int i = 0; i < training->feature_count; i++)
    training->features[i] = (dq_feature){.targets = plan_tensor(training, made->features[i][0]->name),
                                         .weights = plan_tensor(training, made->features[i][1]->name)};
  for (int i = 0; i < training->statistics_count; i++)
    for (int k = 0; k < 2; k++) training->statistics[i].batch[k] = plan_tensor(training, made->statistics[i][k]->name);
}

// What the optimizer updates.
static dq_tensor *updated(const dq_trained *weight) { return weight->master ? weight->master : weight->elements; }

static dq_status open_plan(dq_training *training, const dq_graph *model, const dq_training_options *options,
                           dq_error *error) {
  dq_training_graph made = {.graph = training->graph, .model = model, .arena = training->arena, .part = training->part};
  DQ_TRY(dq_training_graph_make(&made, training, options, training->context, error));
  dq_session_options session = {.shapes = made.shapes};
  DQ_TRY(dq_session_open(&training->session, training->graph, &session, training->context, error));
  connect(training, &made);
  return DQ_OK;
}

// The part of the batch that this process computes, and a context for it. A gradient by a single picture may have
// another form than that of a batch, so that none is left alone.
static dq_status divide_batch(dq_training *training, int64_t batch, dq_error *error) {
  const dq_processes *processes = training->context->processes;
  const int count = dq_process_count(processes);
  int64_t first, last;
  if (count == 1) return DQ_OK;
  dq_shard_part(batch, count - 1, count, &first, &last);
  if (last < 2) {
    dq_fail(error, DQ_USAGE, "a batch of %lld pictures is too small for %d processes", (long long)batch, count);
    dq_error_hint(error, "each process takes %d pictures or a multiple of them, the last one 2 at least", DQ_SHARD);
    return DQ_USAGE;
  }
  dq_context *own = DQ_NEW(training->arena, dq_context);
  dq_picture_part *part = DQ_NEW(training->arena, dq_picture_part);
  if (!own || !part) return dq_fail_memory(error, 0);
  *part = (dq_picture_part){.processes = processes, .all = batch};
  dq_shard_part(batch, processes->index, count, &part->first, &part->count);
  *own = *training->context;
  own->part = training->part = part;
  own->stop = NULL; // all processes run all steps, or none
  own->deadline = 0;
  training->context = own;
  return DQ_OK;
}

dq_status dq_training_open(dq_training *training, const dq_graph *model, const dq_training_options *options,
                           const dq_context *context, dq_error *error) {
  *training = (dq_training){.graph = dq_graph_copy(model), .arena = dq_context_arena(context), .context = context};
  if (!training->graph || !training->arena) return dq_fail_memory(error, 0);
  DQ_TRY(divide_batch(training, options->batch, error));
  dq_training_options own = *options;
  if (training->part) own.batch = training->part->count;
  return open_plan(training, model, &own, error);
}

void dq_training_close(dq_training *training) {
  dq_session_close(&training->session);
  dq_graph_free(training->graph);
  dq_arena_free(training->arena);
  *training = (dq_training){0};
}

// ---- Steps ----

// The layer nearest to the input whose gradient is not finite is where the numbers grew too large first.
static dq_status check_finite(const dq_training *training, dq_error *error) {
  const double loss = dq_tensor_get(training->loss, 0);
  for (int i = 0; i < training->trained_count; i++) {
    const dq_trained *weight = &training->trained[i];
    if (dq_tensor_first_not_finite(weight->gradient) < 0) continue;
    return dq_fail(error, DQ_CONDITION, "step %lld: the gradient of '%s' of %s is not finite (the loss is %g)",
                   (long long)training->step + 1, weight->name, weight->layer, loss);
  }
  for (int i = 0; i < 2 * training->statistics_count; i++) {
    const dq_statistics *statistics = &training->statistics[i / 2];
    if (dq_tensor_first_not_finite(statistics->batch[i % 2]) < 0) continue;
    return dq_fail(error, DQ_CONDITION,
                   "step %lld: the batch statistics for '%s' of %s are not finite (the loss is %g)",
                   (long long)training->step + 1, statistics->names[i % 2], statistics->layer, loss);
  }
  if (isfinite(loss)) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "step %lld: the loss is %g", (long long)training->step + 1, loss);
}

static void move_statistics(const dq_statistics *statistics) {
  for (int k = 0; k < 2; k++) {
    float *running = statistics->running[k]->data;
    const float *batch = statistics->batch[k]->data, share = (float)(1 - statistics->momentum);
    for (int64_t c = 0; c < dq_tensor_count(statistics->running[k]); c++) running[c] += share * (batch[c] - running[c]);
  }
}

static void bound_scale(const dq_trained *scale) {
  float *elements = scale->elements->data;
  for (int64_t i = 0; i < dq_tensor_count(scale->elements); i++)
    elements[i] = fmaxf(elements[i], 0.001f * scale->units[i]);
}

dq_status dq_training_step(dq_training *training, dq_optimizer *optimizer, double rate, double *loss, dq_error *error) {
  DQ_TRY(dq_plan_run(training->session.plan, error));
  DQ_TRY(check_finite(training, error));
  *loss = dq_tensor_get(training->loss, 0);
  training->step++;
  for (int i = 0; i < training->trained_count; i++) {
    const dq_trained *weight = &training->trained[i];
    const dq_update update = {.weights = updated(weight)->data,
                              .gradient = weight->gradient->data,
                              .elements = dq_tensor_count(weight->elements),
                              .units = weight->units,
                              .decays = weight->decays,
                              .rate = rate,
                              .step = training->step};
    dq_optimizer_update(optimizer, i, &update, training->context->pool);
    if (weight->is_scale) bound_scale(weight);
    if (weight->master) dq_round_master(weight, training->context);
  }
  for (int i = 0; i < training->trained_count; i++) { // scales have moved as well
    const dq_trained *weight = &training->trained[i];
    if (weight->scale) dq_enforce_safe_sums(&weight->grid->safe, weight->elements, weight->scale, weight->grid->axis);
  }
  for (int i = 0; i < training->statistics_count; i++) move_statistics(&training->statistics[i]);
  return DQ_OK;
}

dq_status dq_training_optimizer(const dq_training *training, dq_optimizer *optimizer, dq_error *error) {
  int64_t *sizes = DQ_NEW_ARRAY(training->arena, training->trained_count, int64_t);
  if (!sizes) return dq_fail_memory(error, 0);
  for (int i = 0; i < training->trained_count; i++) sizes[i] = dq_tensor_count(training->trained[i].elements);
  return dq_optimizer_open(optimizer, training->trained_count, sizes, training->arena, error);
}

// ---- State ----

// Calls for every weight and statistic: its elements, which lie `at` elements behind the beginning of the state.
static int64_t each_tensor(const dq_training *training, void (*copy)(dq_tensor *tensor, float *state), float *state) {
  int64_t at = 0;
  for (int i = 0; i < training->trained_count + 2 * training->statistics_count; i++) {
    const int s = i - training->trained_count;
    dq_tensor *tensor = s < 0 ? updated(&training->trained[i]) : training->statistics[s / 2].running[s % 2];
    if (copy) copy(tensor, state + at);
    at += dq_tensor_count(tensor);
  }
  return at;
}

static void save_tensor(dq_tensor *tensor, float *state) { memcpy(state, tensor->data, dq_tensor_bytes(tensor)); }

static void restore_tensor(dq_tensor *tensor, float *state) { memcpy(tensor->data, state, dq_tensor_bytes(tensor)); }

int64_t dq_training_elements(const dq_training *training) { return each_tensor(training, NULL, NULL); }

void dq_training_save(const dq_training *training, float *state) { each_tensor(training, save_tensor, state); }

void dq_training_restore(dq_training *training, const float *state) {
  each_tensor(training, restore_tensor, (float *)(uintptr_t)state); // only read
  for (int i = 0; i < training->trained_count; i++)
    if (training->trained[i].master) dq_round_master(&training->trained[i], training->context);
}

// ---- Storing ----

static dq_status store(dq_graph *model, const char *name, const dq_tensor *from, dq_error *error) {
  dq_value *value = dq_graph_find(model, name);
  if (!value || !value->constant || !dq_tensor_same_shape(value->constant, from))
    return dq_fail(error, DQ_BAD_INPUT, "the model has no initializer '%s' of the shape that was trained", name);
  dq_tensor *to = dq_tensor_new(model->arena, value->constant->type, from->rank, from->dims); // float32 or float16
  if (!to || !dq_graph_set_constant(model, value, to)) return dq_fail_memory(error, dq_tensor_bytes(from));
  for (int64_t i = 0; i < dq_tensor_count(from); i++) dq_tensor_set(to, i, dq_tensor_get(from, i));
  return DQ_OK;
}

dq_status dq_training_store(const dq_training *training, dq_graph *model, dq_error *error) {
  for (int i = 0; i < training->trained_count; i++)
    if (!training->trained[i].grid)
      DQ_TRY(store(model, training->trained[i].name, training->trained[i].elements, error));
  for (int i = 0; i < training->trained_count; i++) // their scales are stored
    if (training->trained[i].grid) DQ_TRY(dq_store_quantized(&training->trained[i], model, error));
  for (int i = 0; i < training->statistics_count; i++)
    for (int k = 0; k < 2; k++)
      DQ_TRY(store(model, training->statistics[i].names[k], training->statistics[i].running[k], error));
  return DQ_OK;
}
