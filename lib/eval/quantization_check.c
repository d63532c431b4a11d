#include "lib/eval/quantization_check.h"

dq_status dq_quantization_check_run(dq_quantization_check *check, const dq_graph *quantized, dq_arena *arena,
                                    const dq_context *context, dq_error *error) {
  if (check->data) {
    dq_layer_options options = {.shapes = check->shapes, .pictures = check->pictures};
    DQ_TRY(dq_compare_layers(&check->comparison, check->original, quantized, check->data, &options, context, arena,
                             error));
    check->compared = true;
  }
  dq_audit_options options = {.shapes = check->shapes, .pictures = check->pictures};
  dq_status status = dq_audit_model(&check->audit, quantized, check->data, &options, context, arena, error);
  check->audited = status == DQ_OK;
  return status == DQ_UNSUPPORTED && !check->audit.audited ? DQ_OK : status;
}
