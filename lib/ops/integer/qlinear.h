// The operator form of quantization: operators that read and write 8-bit numbers, where the explicit
// form has DequantizeLinear, a float operator and QuantizeLinear. ONNX has two of them; the others are
// ONNX Runtime's, domain com.microsoft (its docs/ContribOperators.md).
#ifndef DQ_OPS_QLINEAR_H
#define DQ_OPS_QLINEAR_H

#include "lib/graph/graph.h"

typedef struct dq_qlinear {
  const char *name, *domain; // of the operator on 8-bit numbers
  const char *of;            // name of the float operator that it stands for
  int operand;               // position of the first operand; each is three inputs: numbers, scale, zero point
  int operands;              // number of operands; 0: all inputs from `operand` on
  int bias;   // position of the int32 bias, whose scale is the product of those of the operands; -1: none
  int result; // position of the scale of the result; its zero point is the next input
} dq_qlinear;

// The row of qlinear.def of an operator on 8-bit numbers (dq_qlinear_find), and of the operator that stands for a float
// operator of ai.onnx (dq_qlinear_of); static. NULL: there is none.
const dq_qlinear *dq_qlinear_find(const char *domain, const char *name);
const dq_qlinear *dq_qlinear_of(const char *float_operator);

// The number of operands of `node`, a node of the operator form->name.
int dq_qlinear_operands(const dq_qlinear *form, const dq_node *node);

#endif
