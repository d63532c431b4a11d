// Texts of recognizers trained by connectionist temporal classification (Graves et al., "Connectionist Temporal
// Classification", ICML 2006), by the best class of each step.
#ifndef DQ_DECODE_TEXT_CTC_H
#define DQ_DECODE_TEXT_CTC_H

#include "lib/base/tensor.h"
#include "lib/decode/text/dictionary.h"

typedef struct dq_ctc {
  int64_t *classes; // [count], owned: without blanks and repetitions
  int64_t count;
  // The mean probability of the steps that stand in `classes`, each the first of its repetitions; 0: there is none;
  // NaN: the network gives classes alone.
  double score;
} dq_ctc;

// The classes that an output has scores for; 0 when it is not NxTxC or Tx1xC (as of NxT, whose numbers are the classes
// themselves).
int64_t dq_ctc_classes(const dq_tensor *output);

// Reads picture `item` of an output NxTxC (T steps, C classes), Tx1xC with T above 1 (one picture), or NxT, whose
// numbers are the classes themselves. Scores of a picture that all lie from 0 to 1 are probabilities, others become
// ones by a softmax over each step. The class of a step is the one of the highest score, of equal ones the first; a
// score that is not finite is none, and a step without scores a blank. The caller calls dq_ctc_deinit after success.
// DQ_BAD_INPUT: the output has another form, no such picture, or numbers that are no classes; DQ_SYSTEM: there is no
// memory.
dq_status dq_ctc_read(dq_ctc *ctc, const dq_tensor *output, int64_t item, int64_t blank, const dq_context *context,
                      dq_error *error);
void dq_ctc_deinit(dq_ctc *ctc); // a zeroed struct is allowed

// The text of the classes, UTF-8, which the caller frees with dq_budget_free. DQ_BAD_INPUT: the dictionary does not
// have a class, or the text is longer than DQ_LONGEST_NAMES.
dq_status dq_ctc_text(char **text, const dq_ctc *ctc, const dq_dictionary *dictionary, const dq_context *context,
                      dq_error *error);

#endif
