// dq.h: running a model.
#ifndef DQ_NETWORK_H
#define DQ_NETWORK_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Running ----

typedef struct dq_network dq_network;

// An input or output; the numbers of `type` are ONNX's (1 float32, 2 uint8, 3 int8, 7 int64,
// 10 float16, ...). The layout is final.
typedef struct dq_array {
  const char *name, *type_name; // "x", "float32"
  int type;
  int rank; // 0...8
  int64_t dims[8];
  void *data;     // elements in row-major order; read only for outputs
  uint64_t bytes; // of all elements
} dq_array;

typedef struct dq_sample {
  size_t size;
  const char *name; // until the next dq_network_read on the network
  int64_t label;    // class, from 0; -1: none
} dq_sample;

typedef struct dq_network_options {
  size_t size;
  int64_t batch; // for an open first dimension; default 1
  int plain;     // every node as it stands, nothing folded or fused; default 0
  const char *const *shapes;
} dq_network_options;

void dq_network_defaults(dq_network_options *options, size_t size);
// The model stays as it is and must be freed and transformed after the network is closed.
dq_code dq_network_open(dq_network **network, dq_model *model, const dq_network_options *options, dq_failure *failure);
void dq_network_close(dq_network *network);

// 0, and nothing touched, when `index` is not one.
int dq_network_inputs(const dq_network *network);
int dq_network_input(dq_network *network, int index, dq_array *array);
int dq_network_outputs(const dq_network *network);
int dq_network_output(const dq_network *network, int index, dq_array *array);

// Sample `index` of the data into all inputs, at place `item` (0 for the first) of their batch. An input for pictures
// is N x C x H x W, or N x H x W x C when C is 1 or 3 and H is neither. Inputs without a common first dimension take
// one sample as a whole, at place 0. `sample` may be NULL. DQ_CODE_USAGE: data for an input that the model does not
// have, or not for all; DQ_CODE_BAD_INPUT: another number of inputs, another shape.
dq_code dq_network_read(dq_network *network, dq_dataset *dataset, int64_t index, int64_t item, dq_sample *sample,
                        dq_failure *failure);
// Inputs are filled before every run, which may overwrite them; outputs hold until the next.
dq_code dq_network_run(dq_network *network, dq_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
