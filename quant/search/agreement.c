#include "quant/search/agreement.h"

#include <math.h>

#include "lib/session/pair.h"

// The answer at one position; channels are `step` apart. -1: all are NaN.
static int64_t answer_of(const float *at, int64_t channels, int64_t step) {
  int64_t best = -1;
  if (channels == 1) return isnan(*at) ? -1 : *at > 0.5F;
  for (int64_t c = 0; c < channels; c++)
    if (!isnan(at[c * step]) && (best < 0 || at[c * step] > at[best * step])) best = c;
  return best;
}

static bool is_equal(const float *exact, const float *other, int64_t channels, int64_t step) {
  for (int64_t c = 0; c < channels; c++)
    if (dq_is_broken((double)exact[c * step], (double)other[c * step])) return false;
  int64_t answer = answer_of(exact, channels, step);
  return answer >= 0 && answer == answer_of(other, channels, step);
}

dq_status dq_agreement_add(dq_agreement *agreement, const dq_tensor *exact, const dq_tensor *other, dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  bool answers = exact->type == DQ_F32 && other->type == DQ_F32 && (exact->rank == 2 || exact->rank > 3) &&
                 dq_tensor_same_shape(exact, other);
  if (!answers)
    return dq_fail(error, DQ_UNSUPPORTED, "the first output is %s, expected float32 scores NxC or NxCxHxW",
                   dq_tensor_shape_text(exact, text, sizeof text));
  int64_t channels = exact->dims[1], step = dq_tensor_product(exact, 2, exact->rank);
  const float *a = exact->data, *b = other->data;
  for (int64_t n = 0; n < exact->dims[0]; n++, a += channels * step, b += channels * step)
    for (int64_t p = 0; p < step; p++) {
      agreement->answers++;
      agreement->equal += is_equal(a + p, b + p, channels, step);
    }
  return DQ_OK;
}

static dq_result figure_of(double percent, int64_t pictures) {
  dq_result result = {.task = "agreement", .pictures = pictures, .count = 1, .points = 1};
  result.figures[0] = (dq_figure){"agreement", "agreement", percent, "%", 4};
  return result;
}

dq_result dq_agreement_whole(int64_t pictures) { return figure_of(100, pictures); }

dq_status dq_agreement_run(dq_result *result, const dq_graph *exact, const dq_graph *other, dq_data *data,
                           int64_t pictures, const dq_shape_request *shapes, const dq_context *context,
                           dq_error *error) {
  const dq_graph *const graphs[] = {exact, other};
  const char *const ends[] = {NULL, NULL};
  dq_network_pair pair;
  dq_agreement agreement = {0};
  dq_status status = dq_network_pair_open(&pair, graphs, ends, data, shapes, context, error);
  for (int64_t p = 0; status == DQ_OK && p < pictures; p++) {
    status = dq_network_pair_run(&pair, p, error);
    if (status == DQ_OK)
      status = dq_agreement_add(&agreement, dq_plan_output(dq_network_pair_plan(&pair, 0), 0),
                                dq_plan_output(dq_network_pair_plan(&pair, 1), 0), error);
    dq_progress(context, "agreement", p + 1, pictures);
  }
  dq_network_pair_close(&pair);
  if (status != DQ_OK) return status;
  *result = figure_of(100.0 * (double)agreement.equal / (double)(agreement.answers ? agreement.answers : 1), pictures);
  return DQ_OK;
}
