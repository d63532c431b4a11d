// The operator form of a quantized graph: QLinearConv, QLinearMatMul and the operators of com.microsoft
// (lib/ops/integer/qlinear.def) in the place of DequantizeLinear, float operator and QuantizeLinear.
#ifndef DQ_QUANT_QOPERATOR_H
#define DQ_QUANT_QOPERATOR_H

#include "lib/document/origin.h"
#include "lib/graph/graph.h"

// Rewrites a graph in QDQ form in place. It replaces every operator that has a form on 8-bit numbers and stands between
// DequantizeLinear and QuantizeLinear, where a Relu or Clip may follow it. Operators that only move elements then read
// the integers. A Relu or Clip whose bounds lie inside those of the type becomes a Clip of 8-bit numbers. All other
// operators stay in float between their conversions. The integers are those of the QDQ form.
// *lowered receives the number of operators that were replaced. The graph imports com.microsoft version 1 when that is
// used, and `origin` gets the new values. The graph must be indexed and of opset 13 or higher; it is indexed again.
// After a failure it can only be freed. DQ_SYSTEM: there is no memory.
dq_status dq_qoperator_lower(dq_graph *graph, dq_origin *origin, int *lowered, dq_error *error);

#endif
