// The operands of a layer, shared by the files of this module.
#ifndef DQ_AUDIT_AUDIT_INTERNAL_H
#define DQ_AUDIT_AUDIT_INTERNAL_H

#include "lib/audit/audit.h"

typedef struct dq_audit_operands {
  bool convolution;      // else a matrix product
  const dq_value *x, *y; // quantized input and output; y NULL: the output is not quantized
  const dq_tensor *w;
  const void *weights; // OIHW, or [columns][depth]
  const int32_t *bias; // NULL: the layer has no int32 bias
  int y_type;
  int64_t y_zero;
  // Types and zero points, and the number of channels, groups and the kernel size in its shape. A matrix product is
  // described as a convolution with a 1x1 kernel.
  dq_conv_int8_parameters parameters;
} dq_audit_operands;

// Fills report->layers with all Conv, ConvTranspose, Gemm and MatMul nodes that have an 8-bit operand. (*operands)[i]
// belongs to layer i. Both arrays are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_audit_find(dq_audit_report *report, const dq_graph *graph, dq_audit_operands **operands, dq_arena *arena,
                        dq_error *error);

#endif
