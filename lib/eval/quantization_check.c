#include "lib/eval/quantization_check.h"

#include <inttypes.h>

static void warn_of_outputs(const dq_layer_comparison *found, const dq_context *context) {
  for (int o = 0; o < found->output_count; o++)
    if (found->outputs[o].comparison.nonfinite)
      dq_message(context, DQ_WARNING,
                 "output '%s': %" PRId64 " elements are NaN or infinite where the original's are not, on %" PRId64
                 " pictures",
                 found->outputs[o].reference->name, found->outputs[o].comparison.nonfinite, found->pictures);
}

dq_status dq_quantization_check_run(dq_quantization_check *check, const dq_graph *quantized, dq_arena *arena,
                                    const dq_context *context, dq_error *error) {
  const int64_t pictures = check->summary ? DQ_CHECKED_FOR_SUMMARY : DQ_CHECKED_PICTURES;
  if (check->data) {
    dq_layer_options options = {.shapes = check->shapes, .pictures = pictures};
    DQ_TRY(dq_compare_layers(&check->comparison, check->original, quantized, check->data, &options, context, arena,
                             error));
    check->compared = true;
    warn_of_outputs(&check->comparison, context);
  }
  dq_audit_options options = {.shapes = check->shapes, .pictures = pictures, .summary = check->summary};
  dq_status status = dq_audit_model(&check->audit, quantized, check->data, &options, context, arena, error);
  check->audited = status == DQ_OK;
  return status == DQ_UNSUPPORTED && !check->audit.audited ? DQ_OK : status;
}
