// One picture of a batch in the outputs of a network.
#ifndef DQ_DECODE_ITEM_H
#define DQ_DECODE_ITEM_H

#include "lib/base/status.h"
#include "lib/base/tensor.h"

// The number of elements of one entry along dimension 0.
int64_t dq_item_count(const dq_tensor *tensor);

// Copies entry `item` along dimension 0 of a tensor of any computable type to doubles, which the caller frees with
// free(). DQ_BAD_INPUT: there is no such entry, or it does not have `expected` elements; DQ_SYSTEM: there is no memory.
dq_status dq_item_values(double **values, const dq_tensor *tensor, int64_t item, int64_t expected, dq_error *error);

#endif
