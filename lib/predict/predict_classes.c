// Classes of the whole picture: the largest elements of every output that is a vector.
#include <stdlib.h>

#include "lib/base/order.h"
#include "lib/decode/item.h"
#include "lib/eval/scores.h"
#include "lib/predict/predictor.h"

enum { MOST_CLASSES = 100000 };

static bool is_scores(const dq_tensor *output) {
  return dq_dtype_computable(output->type) && dq_is_vector(output) && dq_item_count(output) <= MOST_CLASSES;
}

static bool fits_classes(const dq_predict_options *options) {
  for (int i = 0; i < options->graph->output_count; i++)
    if (is_scores(options->outputs[i])) return true;
  return false;
}

static dq_status add_vector(dq_predictor *predictor, const dq_tensor *output, int64_t item, int index,
                            dq_error *error) {
  const int64_t count = dq_item_count(output);
  double *values;
  DQ_TRY(dq_item_values(&values, output, item, count, error));
  dq_ranked *sorted = malloc((size_t)count * sizeof *sorted);
  dq_status status = sorted ? DQ_OK : dq_fail_memory(error, (size_t)count * sizeof *sorted);
  for (int64_t i = 0; sorted && i < count; i++) sorted[i] = (dq_ranked){values[i], i};
  if (sorted) qsort(sorted, (size_t)count, sizeof *sorted, dq_compare_ranked);
  for (int64_t k = 0; k < predictor->top && k < count && status == DQ_OK; k++) {
    dq_prediction *object = dq_add_prediction(predictor, error);
    if (!object) status = DQ_SYSTEM;
    else object->label = sorted[k].index, object->score = sorted[k].value, object->output = index;
  }
  free(sorted);
  free(values);
  return status;
}

static dq_status predict_classes(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                                 dq_predictions *predictions, dq_error *error) {
  (void)predictions;
  for (int i = 0; i < predictor->output_count; i++)
    if (is_scores(outputs[i])) DQ_TRY(add_vector(predictor, outputs[i], item, i, error));
  return DQ_OK;
}

static bool fits_all(const dq_predict_options *options) {
  (void)options;
  return true;
}

static dq_status predict_none(dq_predictor *predictor, const dq_tensor *const *outputs, int64_t item,
                              dq_predictions *predictions, dq_error *error) {
  (void)predictor, (void)outputs, (void)item, (void)predictions, (void)error;
  return DQ_OK;
}

const dq_predictor_functions dq_predictor_classes = {.name = "classify",
                                                     .kind = DQ_PREDICT_CLASSES,
                                                     .expected = "a vector of 2 numbers or more for each picture",
                                                     .fits = fits_classes,
                                                     .predict = predict_classes};
const dq_predictor_functions dq_predictor_none = {
    .name = "none", .kind = DQ_PREDICT_NONE, .expected = "anything", .fits = fits_all, .predict = predict_none};
