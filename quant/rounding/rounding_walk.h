// Walks through the layers whose weights are rounded, in the float network and in the quantized one.
#ifndef DQ_QUANT_ROUNDING_WALK_H
#define DQ_QUANT_ROUNDING_WALK_H

#include "lib/session/runner.h"
#include "quant/rounding/rounding_layer.h"

typedef struct dq_rounding_walk_input {
  const dq_graph *exact, *quantized; // the float network; the quantized one, whose weights may change
  const dq_weight_type *weight_type; // of these weights
  const dq_rounding_layer *layers;   // [count]: of the quantized network
  int count;
  dq_data *data;
  int64_t pictures; // the first ones of the data take part, or as many of them as fit 512 MiB, at least 4
  const dq_shape_request *shapes;
} dq_rounding_walk_input;

typedef struct dq_rounding_walk {
  dq_runner runners[2]; // of the float network and of the quantized one; every node runs as the graph has it
  dq_graph *quantized;  // owned: the quantized network with weights in float32
  const dq_rounding_layer *layers;
  const dq_weight_type *weight_type;
  dq_tensor **weights; // by layer: its weight in `quantized`; NULL: as the graph has it
  dq_arena *arena;     // owned
  void **memory[2];    // [pictures]: what the plans of both are lent
  size_t bytes[2];     // of one picture
  int at[2];           // the next step of each
  int end[2];          // the first step whose shapes depend on elements, which a walk does not reach
  int64_t pictures;    // that the walk has, spread evenly over those of its input
} dq_rounding_walk;

// Opens a walk that begins at the inputs. The members of `input` and the context must outlive the walk, which the
// caller closes, also after a failure. Statuses as dq_runner_open and dq_runner_read.
dq_status dq_rounding_walk_open(dq_rounding_walk *walk, const dq_rounding_walk_input *input, const dq_context *context,
                                dq_error *error);
void dq_rounding_walk_close(dq_rounding_walk *walk);

// The step of the layer's product in the quantized network; layers are walked to in the order of these.
int dq_rounding_walk_step(const dq_rounding_walk *walk, const dq_rounding_layer *layer);
// Whether the walk can still stop in front of the layer with its result in the float network at hand: false for layers
// that it has passed, and behind values whose shapes depend on elements.
bool dq_rounding_walk_reaches(const dq_rounding_walk *walk, const dq_rounding_layer *layer);
// Walks on until the inputs of the layer are computed in the quantized network and its result in the float network, and
// adds both of each picture to the sums. dq_rounding_walk_reaches(walk, layer) holds before. Statuses as
// dq_plan_run_steps and dq_layer_sums_add.
dq_status dq_rounding_walk_sum(dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_layer_sums *sums,
                               const dq_context *context, dq_error *error);
// Makes the walk go on with the weights and the bias that the layer has now in the quantized network. Statuses as
// dq_plan_repack.
dq_status dq_rounding_walk_changed(dq_rounding_walk *walk, const dq_rounding_layer *layer, dq_error *error);

#endif
