#include "lib/eval/scores.h"

#include <math.h>

#include "lib/graph/saturation.h"

static const int64_t ENOUGH = 8; // answers, of which classes are expected to differ

void dq_score_look_add(dq_score_look *look, const dq_tensor *tensor, int64_t from, int64_t classes, int64_t step) {
  int64_t best = 0;
  double highest = dq_tensor_get(tensor, from), sum = 0;
  for (int64_t c = 1; c < classes; c++)
    if (dq_tensor_get(tensor, from + c * step) > highest) highest = dq_tensor_get(tensor, from + c * step), best = c;
  for (int64_t c = 0; c < classes; c++) sum += exp(dq_tensor_get(tensor, from + c * step) - highest);
  if (!isfinite(sum)) return;
  if (!look->answers) look->first = best;
  look->varies |= best != look->first;
  look->share += 1 / sum;
  look->answers++;
}

void dq_score_look_merge(dq_score_look *look, const dq_score_look *further) {
  if (!further->answers) return;
  if (!look->answers) look->first = further->first;
  look->varies = look->varies || further->varies || look->first != further->first;
  look->answers += further->answers;
  look->share += further->share;
}

bool dq_score_look_is_classes(const dq_score_look *look, int64_t classes) {
  const double least = 1 / (double)classes;
  return look->answers && (look->varies || look->answers < ENOUGH) &&
         look->share >= (least + (1 - least) / 4) * (double)look->answers;
}

bool dq_is_vector(const dq_tensor *tensor) {
  const int rank = tensor->rank;
  return rank >= 1 && dq_tensor_count(tensor) > 1 && (rank <= 2 || dq_tensor_product(tensor, 2, rank) == 1);
}

bool dq_is_softmax(const dq_value *value) {
  static const char *const functions[] = {"Softmax", "LogSoftmax", NULL};
  return dq_function_behind(value, functions) != NULL;
}
