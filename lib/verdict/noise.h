// Random numbers as the data of a network, for verdicts without pictures.
#ifndef DQ_VERDICT_NOISE_H
#define DQ_VERDICT_NOISE_H

#include "datasets/datasets.h"
#include "lib/graph/graph.h"

// Opens eight samples of normal noise for all inputs of a graph without an initializer: of deviation 1, as networks
// with normalized input expect. Where inputs are known to stay within -largest to largest, numbers beyond are set to
// these, and the deviation is at most largest / 4; 0: nothing is known. The same seed gives the same numbers. The
// caller frees the data with dq_data_free; the context must outlive them. DQ_SYSTEM: there is no memory.
dq_status dq_noise_open(dq_data **data, const dq_graph *graph, uint64_t seed, double largest, const dq_context *context,
                        dq_error *error);

#endif
