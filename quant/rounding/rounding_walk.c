// The float network and the quantized one from layer to layer. Every picture has memory of its own in which both
// networks stop in front of a layer, so that each value is computed once.
#include "quant/rounding/rounding_walk.h"

#include <stdint.h>
#include <string.h>

#include "lib/base/sizes.h"

enum { FLOAT, QUANTIZED };
enum { ALIGNMENT = 64 };
static const size_t MOST_BYTES = (size_t)512 << 20; // of the memory of all pictures
enum { FEWEST_PICTURES = 4 };                       // that take more than MOST_BYTES if they must

static dq_plan *plan_of(const dq_rounding_walk *walk, int network) { return walk->runners[network].session.plan; }

// ---- Memory ----

static void *aligned(void *memory) { return (void *)dq_round_up((uintptr_t)memory, ALIGNMENT); }

// Gives every picture `bytes`. What it had is copied; the older memory goes with the walk.
static dq_status grow(dq_rounding_walk *walk, int network, size_t bytes, dq_error *error) {
  size_t had = walk->bytes[network];
  if (bytes <= had) return DQ_OK;
  for (int64_t p = 0; p < walk->pictures; p++) {
    void *memory = dq_arena_alloc(walk->arena, bytes + ALIGNMENT);
    if (!memory) return dq_fail_memory(error, bytes);
    memory = aligned(memory);
    if (had) memcpy(memory, walk->memory[network][p], had);
    walk->memory[network][p] = memory;
  }
  walk->bytes[network] = bytes;
  return DQ_OK;
}

static int64_t pictures_that_fit(const dq_rounding_walk *walk, int64_t pictures) {
  size_t each = dq_plan_lent_bytes(plan_of(walk, FLOAT)) + dq_plan_lent_bytes(plan_of(walk, QUANTIZED)) + ALIGNMENT;
  int64_t most = (int64_t)(MOST_BYTES / each);
  if (most < FEWEST_PICTURES) most = FEWEST_PICTURES;
  return most < pictures ? most : pictures;
}

// ---- Weights ----

// What the elements of a weight are now, by its scale or those of its output channels.
static void dequantize(const dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_tensor *to) {
  const dq_node *from = dq_dequantized_input(layer->node, layer->product.at.weight, walk->weight_type->type);
  const int8_t *elements = from->inputs[0]->constant->data;
  const float *scales = from->inputs[1]->constant->data;
  bool one = dq_tensor_count(from->inputs[1]->constant) == 1;
  for (int64_t o = 0; o < layer->groups * layer->outputs; o++)
    for (int64_t i = 0; i < layer->inputs; i++) {
      int64_t at = dq_product_at(&layer->product, o, i / layer->product.taps, i % layer->product.taps);
      ((float *)to->data)[at] = scales[one ? 0 : o] * (float)elements[at];
    }
}

// Puts a constant of float32 in the place of the weight of a layer: a plan would dequantize a large one in every run.
static dq_status fold_weight(dq_rounding_walk *walk, int l, dq_error *error) {
  const dq_rounding_layer *layer = &walk->layers[l];
  const dq_value *result = dq_graph_find(walk->quantized, layer->node->outputs[0]->name);
  int input = layer->product.at.weight;
  if (!dq_dequantized_input(result->producer, input, walk->weight_type->type)) return DQ_OK;
  dq_node *from = result->producer->inputs[input]->producer;
  const dq_tensor *elements = from->inputs[0]->constant;
  dq_tensor *weight = dq_tensor_new(walk->quantized->arena, DQ_F32, elements->rank, elements->dims);
  if (!weight) return dq_fail_memory(error, 0);
  dequantize(walk, layer, weight);
  from->outputs[0]->producer = NULL;
  if (!dq_graph_set_constant(walk->quantized, from->outputs[0], weight)) return dq_fail_memory(error, 0);
  dq_graph_remove_node(walk->quantized, from);
  walk->weights[l] = weight;
  return DQ_OK;
}

static dq_status fold_weights(dq_rounding_walk *walk, const dq_graph *quantized, int count, dq_error *error) {
  walk->quantized = dq_graph_copy(quantized);
  walk->weights = DQ_NEW_ARRAY(walk->arena, count + 1, dq_tensor *);
  if (!walk->quantized || !walk->weights) return dq_fail_memory(error, 0);
  for (int l = 0; l < count; l++) DQ_TRY(fold_weight(walk, l, error));
  return dq_graph_index(walk->quantized, true, error);
}

// ---- Opening ----

// The first step whose shapes depend on elements: the memory of its values is not the picture's.
static int first_dynamic(const dq_plan *plan) {
  int s = 0;
  while (s < dq_plan_step_count(plan) && !dq_schedule_step_at(dq_plan_schedule(plan), s)->dynamic) s++;
  return s;
}

// No dq_picture_loop: all pictures are read first, each in memory of its own, then run together layer by layer.
static dq_status read_picture(dq_rounding_walk *walk, int64_t picture, int64_t pictures, dq_error *error) {
  for (int i = 0; i < 2; i++) dq_plan_lend(plan_of(walk, i), walk->memory[i][picture]);
  DQ_TRY(dq_runner_read(&walk->runners[FLOAT], picture * pictures / walk->pictures, 1, NULL, error));
  return dq_runner_share(&walk->runners[QUANTIZED], &walk->runners[FLOAT], error);
}

dq_status dq_rounding_walk_open(dq_rounding_walk *walk, const dq_rounding_walk_input *input, const dq_context *context,
                                dq_error *error) {
  *walk = (dq_rounding_walk){
      .arena = dq_context_arena(context), .layers = input->layers, .weight_type = input->weight_type};
  if (!walk->arena) return dq_fail_memory(error, 0);
  DQ_TRY(fold_weights(walk, input->quantized, input->count, error));
  const dq_graph *const graphs[] = {input->exact, walk->quantized};
  const dq_runner_options options = {.session = {.shapes = *input->shapes, .plain = true, .lent = true}};
  for (int i = 0; i < 2; i++)
    DQ_TRY(dq_runner_open(&walk->runners[i], graphs[i], input->data, &options, context, error));
  walk->pictures = pictures_that_fit(walk, input->pictures);
  for (int i = 0; i < 2; i++) {
    walk->end[i] = first_dynamic(plan_of(walk, i));
    walk->memory[i] = DQ_NEW_ARRAY(walk->arena, walk->pictures, void *);
    if (!walk->memory[i]) return dq_fail_memory(error, 0);
    DQ_TRY(grow(walk, i, dq_plan_lent_bytes(plan_of(walk, i)), error));
  }
  for (int64_t p = 0; p < walk->pictures; p++) DQ_TRY(read_picture(walk, p, input->pictures, error));
  return DQ_OK;
}

void dq_rounding_walk_close(dq_rounding_walk *walk) {
  for (int i = 0; i < 2; i++) dq_runner_close(&walk->runners[i]);
  dq_graph_free(walk->quantized);
  dq_arena_free(walk->arena);
  *walk = (dq_rounding_walk){0};
}

// ---- Walking ----

int dq_rounding_walk_step(const dq_rounding_walk *walk, const dq_rounding_layer *layer) {
  return dq_plan_step_of(plan_of(walk, QUANTIZED), layer->node->outputs[0]->name);
}

static bool is_read_from(const dq_plan *plan, int from, const char *value) {
  for (int s = from; s < dq_plan_step_count(plan); s++) {
    const dq_node *node = dq_plan_step(plan, s, NULL);
    for (int i = 0; i < node->input_count; i++)
      if (node->inputs[i] && !strcmp(node->inputs[i]->name, value)) return true;
  }
  return false;
}

bool dq_rounding_walk_reaches(const dq_rounding_walk *walk, const dq_rounding_layer *layer) {
  int sums = dq_plan_step_of(plan_of(walk, FLOAT), layer->output), product = dq_rounding_walk_step(walk, layer);
  if (sums < 0 || sums >= walk->end[FLOAT] || product < walk->at[QUANTIZED] || product >= walk->end[QUANTIZED])
    return false;
  return sums >= walk->at[FLOAT] || is_read_from(plan_of(walk, FLOAT), walk->at[FLOAT], layer->output);
}

dq_status dq_rounding_walk_sum(dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_layer_sums *sums,
                               const dq_context *context, dq_error *error) {
  const dq_plan *plans[] = {plan_of(walk, FLOAT), plan_of(walk, QUANTIZED)};
  int to[] = {dq_plan_step_of(plans[FLOAT], layer->output) + 1, dq_rounding_walk_step(walk, layer)};
  if (to[FLOAT] < walk->at[FLOAT]) to[FLOAT] = walk->at[FLOAT];
  for (int64_t p = 0; p < walk->pictures; p++) {
    for (int i = 0; i < 2; i++) {
      dq_plan_lend(plan_of(walk, i), walk->memory[i][p]);
      DQ_TRY(dq_plan_run_steps(plan_of(walk, i), walk->at[i], to[i], error));
    }
    const dq_tensor *input = dq_plan_value(plans[QUANTIZED], layer->node->inputs[layer->product.at.data]->name);
    DQ_TRY(dq_layer_sums_add(sums, layer, input, dq_plan_value(plans[FLOAT], layer->output), p, context, error));
  }
  for (int i = 0; i < 2; i++) walk->at[i] = to[i];
  return DQ_OK;
}

dq_status dq_rounding_walk_changed(dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_error *error) {
  dq_tensor *weight = walk->weights[layer - walk->layers];
  if (weight) dequantize(walk, layer, weight);
  DQ_TRY(dq_plan_repack(plan_of(walk, QUANTIZED), error));
  return grow(walk, QUANTIZED, dq_plan_lent_bytes(plan_of(walk, QUANTIZED)), error);
}
