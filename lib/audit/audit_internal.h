// Shared by the files of the model's overflow audit: the operands of a layer.
#ifndef DQ_EVAL_AUDIT_INTERNAL_H
#define DQ_EVAL_AUDIT_INTERNAL_H

#include "lib/audit/audit.h"

typedef struct dq_audit_operands {
  bool convolution;      // else a matrix product
  const dq_value *x, *y; // quantized; y NULL: the output is not
  const dq_tensor *w;
  const void *weights; // OIHW, or [columns][depth]
  const int32_t *bias; // NULL: none in int32
  int y_type;
  int64_t y_zero;
  // Types, zero points, and of the shape channels, groups and kernel; a matrix product as a 1x1
  // convolution.
  dq_conv_int8_parameters parameters;
} dq_audit_operands;

// One layer per Conv, ConvTranspose, Gemm or MatMul with an 8-bit operand; operands[i] belongs to
// layers[i]. Both in the arena.
dq_status dq_audit_find(dq_audit_report *report, const dq_graph *graph, dq_audit_operands **operands, dq_arena *arena,
                        dq_error *error);

#endif
