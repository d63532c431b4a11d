#include "quant/search/agreement.h"

#include <math.h>

static dq_result figure_of(double percent, int64_t pictures) {
  dq_result result = {.task = "agreement", .pictures = pictures, .count = 1, .points = 1};
  result.figures[0] = (dq_figure){"agreement", "agreement", percent, "%", 4};
  return result;
}

dq_result dq_agreement_whole(int64_t pictures) { return figure_of(100, pictures); }

dq_status dq_agreement_run(dq_result *result, const dq_graph *quantized, const dq_evaluator_options *options,
                           const dq_context *context, dq_error *error) {
  dq_verdict verdict;
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_status status = dq_verdict_measure(&verdict, quantized, options, context, arena, error);
  double agreement = status == DQ_OK ? dq_verdict_agreement(&verdict) : NAN;
  verdict.data = DQ_VERDICT_OTHER_PICTURES; // for the lower end
  double low = status == DQ_OK ? dq_verdict_least_agreement(&verdict) : NAN;
  if (status == DQ_OK && isnan(agreement))
    status = dq_fail(error, DQ_UNSUPPORTED,
                     "no output stands for classes, sequences, points, a mask or known boxes that could be compared");
  dq_arena_free(arena);
  if (status == DQ_OK) *result = figure_of(agreement, options->pictures), result->low = fmax(low, 0);
  return status;
}
