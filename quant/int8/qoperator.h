// The operator form of a quantized graph, a lowering when saving: QLinearConv, QLinearMatMul and the
// operators of com.microsoft (lib/ops/qlinear.def) in the place of DequantizeLinear, float operator and
// QuantizeLinear.
#ifndef DQ_QUANT_QOPERATOR_H
#define DQ_QUANT_QOPERATOR_H

#include "lib/graph/graph.h"
#include "lib/document/origin.h"

// Lowers what dq-int8 inserted: every operator that has a form on 8-bit numbers and stands between
// DequantizeLinear and QuantizeLinear, perhaps with a Relu or Clip behind it; operators that only move
// elements are put on the numbers themselves. A Relu or Clip whose bounds lie inside the type's becomes a
// Clip of 8-bit numbers. Everything else stays in float between its conversions. The integers are those
// of the explicit form. Imports com.microsoft version 1 when it is used; `origin` learns the new values.
// The graph must be indexed, of opset 13 or higher, and is indexed again.
dq_status dq_qoperator_lower(dq_graph *graph, dq_origin *origin, int *lowered, dq_error *error);

#endif
