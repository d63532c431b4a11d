#include "lib/decode/text/ctc.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// The scores of one picture.
typedef struct scores {
  const dq_tensor *output;
  int64_t first; // element
  int64_t steps, classes;
  bool probabilities;
} scores;

static bool steps_first(const dq_tensor *output) {
  return output->rank == 3 && output->dims[1] == 1 && output->dims[0] > 1;
}

int64_t dq_ctc_classes(const dq_tensor *output) { return output->rank == 3 ? output->dims[2] : 0; }

static double score_at(const scores *s, int64_t step, int64_t class) {
  return dq_tensor_get(s->output, s->first + step * s->classes + class);
}

static bool are_probabilities(const scores *s) {
  for (int64_t i = 0; i < s->steps * s->classes; i++) {
    const double value = score_at(s, 0, i);
    if (isfinite(value) && (value < 0 || value > 1)) return false;
  }
  return true;
}

// The best class of a step, -1 where there is none, and its probability.
static int64_t best_class(const scores *s, int64_t step, double *probability) {
  int64_t best = -1;
  double highest = 0, sum = 0;
  for (int64_t k = 0; k < s->classes; k++) {
    const double value = score_at(s, step, k);
    if (isfinite(value) && (best < 0 || value > highest)) best = k, highest = value;
  }
  *probability = highest;
  if (s->probabilities || best < 0) return best;
  for (int64_t k = 0; k < s->classes; k++) {
    const double value = score_at(s, step, k);
    if (isfinite(value)) sum += exp(value - highest);
  }
  *probability = 1 / sum;
  return best;
}

static void collapse_scores(dq_ctc *ctc, scores *s, int64_t blank) {
  int64_t before = blank;
  double sum = 0;
  s->probabilities = are_probabilities(s);
  for (int64_t step = 0; step < s->steps; step++) {
    double probability;
    int64_t class = best_class(s, step, &probability);
    if (class < 0) class = blank;
    if (class != blank && class != before) {
      ctc->classes[ctc->count++] = class;
      sum += probability;
    }
    before = class;
  }
  ctc->score = ctc->count ? sum / (double)ctc->count : 0;
}

static dq_status collapse_classes(dq_ctc *ctc, const scores *s, int64_t blank, dq_error *error) {
  int64_t before = blank;
  for (int64_t step = 0; step < s->steps; step++) {
    const double value = score_at(s, step, 0);
    if (!(value >= 0 && value <= INT32_MAX) || value != floor(value))
      return dq_fail(error, DQ_BAD_INPUT, "step %" PRId64 " of a text is %g, which is no class", step, value);
    const int64_t class = (int64_t)value;
    if (class != blank && class != before) ctc->classes[ctc->count++] = class;
    before = class;
  }
  ctc->score = NAN;
  return DQ_OK;
}

dq_status dq_ctc_read(dq_ctc *ctc, const dq_tensor *output, int64_t item, int64_t blank, const dq_context *context,
                      dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  const bool turned = steps_first(output), scored = output->rank == 3;
  const int64_t items = turned || output->rank < 1 ? 1 : output->dims[0];
  *ctc = (dq_ctc){0};
  if ((output->rank != 2 && !scored) || !dq_dtype_computable(output->type) || !output->data || item < 0 ||
      item >= items || (scored && output->dims[2] < 1))
    return dq_fail(error, DQ_BAD_INPUT,
                   "an output %s of type %s has no text for picture %" PRId64
                   ", expected pictures x steps x classes, or pictures x steps",
                   dq_tensor_shape_text(output, text, sizeof text), dq_dtype_name(output->type), item);
  scores s = {output, 0, output->dims[turned ? 0 : 1], scored ? output->dims[2] : 1, false};
  s.first = item * s.steps * s.classes;
  ctc->classes = dq_context_alloc(context, (size_t)s.steps * sizeof *ctc->classes);
  if (!ctc->classes) return dq_fail_memory(error, (size_t)s.steps * sizeof *ctc->classes);
  dq_status status = DQ_OK;
  if (scored) collapse_scores(ctc, &s, blank);
  else status = collapse_classes(ctc, &s, blank, error);
  if (status != DQ_OK) dq_ctc_deinit(ctc);
  return status;
}

void dq_ctc_deinit(dq_ctc *ctc) {
  dq_budget_free(ctc->classes);
  *ctc = (dq_ctc){0};
}

dq_status dq_ctc_text(char **text, const dq_ctc *ctc, const dq_dictionary *dictionary, const dq_context *context,
                      dq_error *error) {
  size_t size = 1;
  for (int64_t i = 0; i < ctc->count; i++) {
    const char *entry = dq_dictionary_text(dictionary, ctc->classes[i]);
    if (!entry)
      return dq_fail(error, DQ_BAD_INPUT, "class %" PRId64 " of a text, and the dictionary has %" PRId64 " lines",
                     ctc->classes[i], dictionary->lines.count);
    size += strlen(entry); // the list of entries has fewer bytes than DQ_LONGEST_NAMES, and so has each
    if (size > (size_t)DQ_LONGEST_NAMES + 1)
      return dq_fail(error, DQ_BAD_INPUT, "a text of more than %d bytes", DQ_LONGEST_NAMES);
  }
  char *to = *text = dq_context_alloc(context, size);
  if (!to) return dq_fail_memory(error, size);
  for (int64_t i = 0; i < ctc->count; i++) {
    const char *entry = dq_dictionary_text(dictionary, ctc->classes[i]);
    const size_t length = strlen(entry);
    memcpy(to, entry, length);
    to += length;
  }
  return DQ_OK;
}
