// Decoders of detectors that have boxes and scores of all cells in one output.
#ifndef DQ_EVAL_DECODE_SINGLE_H
#define DQ_EVAL_DECODE_SINGLE_H

#include "lib/eval/decode.h"

typedef struct dq_single_decoder {
  const char *name;     // of --decode
  const char *expected; // the shape of the output in CELLS, for messages
  int fields;           // of a candidate beside the scores of classes
  // Whether an output N x dims[0] x dims[1] has this form for `cells` cells; *classes, *candidates: what it holds then.
  bool (*fits)(const int64_t dims[2], int64_t cells, int64_t *classes, int64_t *candidates);
  // Decodes the elements of one picture (dq_decode).
  void (*decode)(const dq_decoder *decoder, const double *values, dq_box *boxes, double *scores);
} dq_single_decoder;

// Decoder `index`, from 0, in the order in which dq_single_decoder_of tries them; NULL after the last.
const dq_single_decoder *dq_single_decoder_at(int index);
// The decoder of that name; NULL: there is none.
const dq_single_decoder *dq_single_decoder_find(const char *name);
// The first decoder whose form the only output of the model has; NULL: none, or the model has several outputs.
const dq_single_decoder *dq_single_decoder_of(const dq_task_options *options);
// Sets the decoder's form and sizes. DQ_BAD_INPUT: the outputs do not have the form.
dq_status dq_single_decoder_init(dq_decoder *decoder, const dq_single_decoder *form, const dq_task_options *options,
                                 dq_error *error);

#endif
