// Sites of equalization in a graph, shared by measuring and applying.
#ifndef DQ_QUANT_EQUALIZE_INTERNAL_H
#define DQ_QUANT_EQUALIZE_INTERNAL_H

#include "lib/exec/infer.h"
#include "quant/equalize.h"

typedef struct dq_site {
  int64_t channels;
  dq_value **values;  // that are scaled
  dq_node **writers;  // Conv; a SiLU's convolution too
  dq_node **sigmoids; // of SiLUs
  dq_node **readers;  // Conv
  int value_count, writer_count, sigmoid_count, reader_count;
  bool depthwise; // all readers are
} dq_site;

// The site that holds `value`; false when there is none. `tensors` as from dq_infer; arrays in the
// arena.
bool dq_site_find(dq_site *site, const dq_graph *graph, const dq_tensor *tensors, dq_value *value,
                  dq_arena *arena);

#endif
