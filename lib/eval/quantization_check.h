// Checks a quantized model layer by layer: the error of each layer against the float model, and the width of its sums.
#ifndef DQ_EVAL_QUANTIZATION_CHECK_H
#define DQ_EVAL_QUANTIZATION_CHECK_H

#include "lib/audit/audit.h"
#include "lib/eval/layers.h"

enum { DQ_CHECKED_PICTURES = 32, DQ_CHECKED_FOR_SUMMARY = 8 };

typedef struct dq_quantization_check {
  // Set by the caller.
  const dq_graph *original; // the float model
  dq_data *data;            // NULL: nothing runs, and the audit has proofs only
  dq_shape_request shapes;
  // The figures are for people only: the audit is a summary (dq_audit_options), and comparison and audit run
  // DQ_CHECKED_FOR_SUMMARY pictures from the start of the data, as both take long; else DQ_CHECKED_PICTURES pictures.
  bool summary;
  // Results.
  bool compared, audited; // whether `comparison` and `audit` are valid
  dq_layer_comparison comparison;
  dq_audit_report audit;
} dq_quantization_check;

// Compares `quantized` with the original by its origin (dq_compare_layers), and audits it (dq_audit_model). A model
// without layers on 8-bit numbers is not audited, which is no failure. Results point into both graphs and the arena.
// Statuses are those of these two functions.
dq_status dq_quantization_check_run(dq_quantization_check *check, const dq_graph *quantized, dq_arena *arena,
                                    const dq_context *context, dq_error *error);

#endif
