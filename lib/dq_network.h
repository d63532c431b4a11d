// dq.h: running a model.
#ifndef DQ_NETWORK_H
#define DQ_NETWORK_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// ---- Running ----

typedef struct dq_network dq_network;

// An input or output of a network. The numbers of `type` are those of ONNX (1 float32, 2 uint8, 3 int8, 7 int64,
// 10 float16, ...). Later versions do not change the layout.
typedef struct dq_array {
  const char *name, *type_name; // "x", "float32"
  int type;
  int rank;        // number of dimensions, 0 to 8; -1: not known yet
  int64_t dims[8]; // the first `rank` of them, outermost first; an input of pictures is usually N, C, H, W
  void *data;      // elements in row-major order, owned by the network; of outputs they are read only
  uint64_t bytes;  // size of all elements
} dq_array;

typedef struct dq_sample {
  size_t size;
  const char *name; // of the picture; holds until the next dq_network_read on the network
  int64_t label;    // class, from 0; -1: the picture has none
} dq_sample;

typedef struct dq_network_options {
  size_t size;
  int64_t batch; // size of the first dimension of inputs where the model leaves it open, 1 to 65536; default 1
  int plain;     // run every node as the model has it, without folding or fusing; default 0
  const char *const *shapes;
} dq_network_options;

void dq_network_defaults(dq_network_options *options, size_t size);
// Makes the model ready to run: infers shapes, chooses kernels, packs weights and allocates the memory of all values.
// The model does not change; close the network before the model is transformed or freed. DQ_CODE_USAGE: an option is
// not valid; DQ_CODE_BAD_INPUT: shapes do not fit, or a size is open; DQ_CODE_UNSUPPORTED: dq cannot run a node.
dq_code dq_network_open(dq_network **network, dq_model *model, const dq_network_options *options, dq_failure *failure);
void dq_network_close(dq_network *network);

int dq_network_inputs(const dq_network *network);  // number of inputs
int dq_network_outputs(const dq_network *network); // number of outputs
// Both fill *array (NULL: nothing is written) with what the network has as input or output `index`, from 0, and
// return 1. They return 0 and leave *array unchanged when there is none. `name` holds until the network is closed; so
// do `data` and the shape, except of an output whose shape depends on elements (NonZero): these are known after a run
// that succeeded, and hold until the next run. Before the first such run `rank` is -1, `data` NULL and `bytes` 0.
int dq_network_input(dq_network *network, int index, dq_array *array);
int dq_network_output(const dq_network *network, int index, dq_array *array);

// Reads sample `index` of the dataset into place `item` of the batch of all inputs; both count from 0. An input for
// pictures is N x C x H x W, or N x H x W x C when C is 1 or 3 and H is neither. Inputs without a common first
// dimension take one sample as a whole, at place 0. *sample receives the name and label; NULL: nothing is reported.
// DQ_CODE_USAGE: `index` or `item` is out of its range, or the data name an input that the model does not have, or not
// all inputs; DQ_CODE_BAD_INPUT: the data have another number of inputs or another shape, or a file cannot be decoded.
dq_code dq_network_read(dq_network *network, dq_dataset *dataset, int64_t index, int64_t item, dq_sample *sample,
                        dq_failure *failure);
// Computes the outputs from the inputs. A run may overwrite the inputs, so fill all of them before every run. Outputs
// hold until the next run.
dq_code dq_network_run(dq_network *network, dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
