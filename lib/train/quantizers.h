// The quantizers of a QDQ model in training. In the training graph every pair of QuantizeLinear and DequantizeLinear,
// and every DequantizeLinear of a constant, is a dq.FakeQuantize. Weights and biases are float32 there, and so are the
// scales, which are trained as well; zero points stay.
#ifndef DQ_TRAIN_QUANTIZERS_H
#define DQ_TRAIN_QUANTIZERS_H

#include "lib/train/safe_sums.h"
#include "lib/train/training_nodes.h"

// How a weight or a bias that is trained in float32 is stored in integers. All are names of initializers.
typedef struct dq_stored_grid {
  const char *scale;
  const char *zero_point; // NULL: 0
  const char *factors[2]; // of a bias: the scales of data and weight, whose product is its scale; NULL for a weight
  int axis;               // of the weight, along which there is a scale for each slice; not used with one scale
  dq_safe_sums safe;      // rules that the weight obeys after every step
} dq_stored_grid;

// Makes the quantizers, weights, biases and scales of a QDQ model trainable. The scale of a value is not trained where
// no trained weight lies in front of the value, as at the input of the model, or where a node with frozen weights reads
// the value. DQ_BAD_INPUT: the model has no quantized weight that is trained. DQ_UNSUPPORTED: a DequantizeLinear has
// another form than those that dq-int8 writes; the message names it.
dq_status dq_train_quantizers(dq_training_graph *made, dq_training *training, const dq_training_options *options,
                              dq_error *error);

// Writes the integers of a trained weight or bias (weight->grid is not NULL), and the scale of a bias, to the
// initializers of `model`, to which the trained scales were written before. DQ_SYSTEM: there is no memory.
dq_status dq_store_quantized(const dq_trained *weight, dq_graph *model, dq_error *error);

#endif
