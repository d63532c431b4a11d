// The operator form of quantization: operators that read and write 8-bit numbers, where the explicit
// form has DequantizeLinear, a float operator and QuantizeLinear. ONNX has two of them; the others are
// ONNX Runtime's, domain com.microsoft (its docs/ContribOperators.md).
#ifndef DQ_OPS_QLINEAR_H
#define DQ_OPS_QLINEAR_H

#include "lib/graph/graph.h"

typedef struct dq_qlinear {
  const char *name, *domain;
  const char *of;        // the float operator
  int operand, operands; // input that begins the first (numbers, scale, zero point); 0: all that follow
  int bias;              // int32 in steps of the product of the operands' scales; -1: none
  int result;            // input that is the result's scale; its zero point follows
} dq_qlinear;

// The row of qlinear.def of that operator, or of that float operator; NULL: none.
const dq_qlinear *dq_qlinear_find(const char *domain, const char *name);
const dq_qlinear *dq_qlinear_of(const char *float_operator);

// How many operands a node of that operator has.
int dq_qlinear_operands(const dq_qlinear *form, const dq_node *node);

#endif
