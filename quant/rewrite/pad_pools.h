// Averages that count their padding, written as Pad and averages of what it makes. Runtimes round the padding of an
// AveragePool on 8 bits in ways of their own: OpenVINO 2026.4 pads with the number 0 whatever the zero point is. A Pad
// in front is run alike by ONNX Runtime 1.32, OpenVINO and tract 0.23.9 (SQNR to dq above 130 dB on a pool of 3x3).
// With ceil_mode OpenVINO divides windows at the end by other numbers, in float as well.
#ifndef DQ_QUANT_PAD_POOLS_H
#define DQ_QUANT_PAD_POOLS_H

#include "lib/document/origin.h"

// Puts a Pad of zeros in front of every AveragePool of an indexed graph that has count_include_pad and padding of its
// own (attribute pads), which the AveragePool then has no more: the same sums, divided by the same numbers. From opset
// 11 on; with auto_pad nothing changes. New values are added to `origin`. The graph is indexed again. Statuses as
// dq_graph_index; DQ_SYSTEM: there is no memory.
dq_status dq_pad_pools(dq_graph *graph, dq_origin *origin, dq_error *error);

#endif
