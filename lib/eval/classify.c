// Classification: the share of pictures whose label has the highest score, or is among the five
// highest.
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/decode/item.h"
#include "lib/eval/task_internal.h"

typedef struct classification {
  int64_t classes;
  dq_top parts[DQ_RESULT_PARTS]; // as in dq_result.without
} classification;

void dq_top_add(dq_top *top, const double *scores, int64_t classes, int64_t label) {
  int64_t before = 0; // classes ranked before the label
  bool answered = true;
  for (int64_t i = 0; i < classes; i++) {
    before += scores[i] > scores[label] || (i < label && scores[i] == scores[label]);
    answered = answered && !dq_is_no_score(scores[i]);
  }
  top->pictures++;
  top->first += answered && before == 0;
  top->five += answered && before < 5;
}

static dq_status open_classify(dq_task *task, const dq_task_options *options, dq_error *error) {
  const dq_tensor *output = &options->decode.outputs[0];
  int64_t classes = dq_item_count(output);
  char text[DQ_SHAPE_TEXT];
  if (output->rank < 1 || classes < 2)
    return dq_fail(error, DQ_BAD_INPUT, "classify: the output is %s, expected a row of scores",
                   dq_tensor_shape_text(output, text, sizeof text));
  if (options->classes > classes || (options->classes_exact && options->classes != classes))
    return dq_fail(error, DQ_BAD_INPUT, "the labels have %" PRId64 " classes, the model has %" PRId64 " outputs",
                   options->classes, classes);
  classification *state = task->state = calloc(1, sizeof *state);
  if (!state) return dq_fail_memory(error, sizeof *state);
  state->classes = classes;
  return DQ_OK;
}

static dq_status add_classify(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                              dq_error *error) {
  classification *state = task->state;
  double *scores;
  if (info->label < 0 || info->label >= state->classes)
    return dq_fail(error, DQ_BAD_INPUT,
                   "label %" PRId64 ", but the model has %" PRId64 " outputs; expected a label below that", info->label,
                   state->classes);
  DQ_TRY(dq_item_values(&scores, outputs[0], item, state->classes, error));
  dq_top_add(&state->parts[(task->first + task->pictures) % DQ_RESULT_PARTS], scores, state->classes, info->label);
  free(scores);
  return DQ_OK;
}

static dq_top sum_parts(const dq_top *parts) {
  dq_top sum = {0};
  for (int p = 0; p < DQ_RESULT_PARTS; p++)
    sum.pictures += parts[p].pictures, sum.first += parts[p].first, sum.five += parts[p].five;
  return sum;
}

static double percent_of(int64_t right, int64_t pictures) {
  return pictures ? 100.0 * (double)right / (double)pictures : 0;
}

static dq_status result_classify(dq_task *task, dq_result *result, dq_error *error) {
  const classification *state = task->state;
  const dq_top all = sum_parts(state->parts);
  (void)error;
  dq_result_add(result, "top-1", "top1", percent_of(all.first, all.pictures), "%", 2);
  if (state->classes > 5) dq_result_add(result, "top-5", "top5", percent_of(all.five, all.pictures), "%", 2);
  result->has_parts = all.pictures >= DQ_RESULT_PARTS;
  for (int p = 0; result->has_parts && p < DQ_RESULT_PARTS; p++)
    result->without[p] = percent_of(all.first - state->parts[p].first, all.pictures - state->parts[p].pictures);
  return DQ_OK;
}

static dq_status share_classify(dq_task *task, const dq_processes *processes, dq_error *error) {
  classification *state = task->state;
  int64_t counts[3 * DQ_RESULT_PARTS];
  for (int p = 0; p < DQ_RESULT_PARTS; p++) {
    const dq_top *part = &state->parts[p];
    counts[3 * p] = part->pictures, counts[3 * p + 1] = part->first, counts[3 * p + 2] = part->five;
  }
  DQ_TRY(dq_task_share_counts(processes, counts, DQ_COUNT(counts), error));
  for (int p = 0; p < DQ_RESULT_PARTS; p++)
    state->parts[p] = (dq_top){counts[3 * p], counts[3 * p + 1], counts[3 * p + 2]};
  return DQ_OK;
}

const dq_task_functions dq_task_classify = {
    .open = open_classify, .add = add_classify, .result = result_classify, .share = share_classify};
