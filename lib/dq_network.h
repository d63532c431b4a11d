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
  int fast; // convolutions of floats by the fastest algorithm, also Winograd's filtering (as dq-bench, and dq-run on
            // data); their last bits then depend on the processor; default 0
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
// The same with elements in the program's memory, without copies: inputs[i] has those of input i (of
// dq_network_inputs), which do not change, and outputs[i] receives those of output i (of dq_network_outputs), with
// types and sizes as dq_network_input and dq_network_output tell, in memory that lies apart. Elements are copied only
// where an output shares memory inside of the network: with an input, with a part of another value, or with another
// output. An element of either list that is NULL stands for the memory of dq_network_input or dq_network_output, and
// so does a list that is NULL. An output that went elsewhere is not in the memory of dq_network_output. DQ_CODE_USAGE:
// outputs[i] is not NULL and the shape of the output depends on elements.
dq_code dq_network_run_on(dq_network *network, const void *const *inputs, void *const *outputs, dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
