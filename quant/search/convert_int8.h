// The INT8 transform with a verdict on what it made: where 8 bits everywhere ruin the outputs, layers stay in float.
#ifndef DQ_QUANT_CONVERT_INT8_H
#define DQ_QUANT_CONVERT_INT8_H

#include "quant/search/max_drop.h"

typedef struct dq_convert_options {
  const dq_int8_options *int8;
  dq_data *data;            // pictures for the calibration; NULL with int8->table
  dq_data *eval;            // pictures for the verdict, which nothing is fitted to; NULL: the verdict of the trials
  dq_verdict_bounds bounds; // what the verdict must reach
  bool all_int8;            // no layer stays in float for the verdict
  // The largest share, 0 to 1, of the multiply-accumulates and of the bytes of weights of all layers that stays in
  // float for the verdict.
  double max_float;
  bool max_float_given;         // else `bounds` may take more multiply-accumulates where that much is not enough
  const char *max_float_option; // what messages call it
  // The bound is on accuracy (dq_max_drop_apply); NULL: it is on the verdict. Its members int8 and data are not read.
  const dq_max_drop_options *max_drop;
  double time_limit; // of the search for layers, in seconds; 0: none
} dq_convert_options;

// Quantizes a copy of the graph, *answer, and judges it: report->verdict. The graph does not change and must outlive
// the copy, which the caller frees; *report holds as long as the copy.
//
// Where the verdict is ruinous or below the bounds, a warning reports it, and dq_max_drop_apply leaves as few layers in
// float as reach them, within max_float (found->trials is above 0). That is not done with all_int8, max_drop,
// int8->precision or int8->table, or when no trial was made. Layers in float are chosen by trials with ranges of some
// pictures, and the answer takes ranges from all of them.
//
// Where the verdict is neither, but a part is below 20 dB where 8 pictures or more judge trials, and there are no
// bounds, at most 4 nodes with at most 4 % of the multiply-accumulates and weights stay in float if the lowest SQNR
// rises by 3 dB for them; a note reports it. Where it is still below 20 dB, or fewer than 95 % of the sequences of an
// output are kept, at most max_float of both stays in float if it rises by 1 dB. all_int8 and the rest forbid that as
// well.
//
// The verdict is measured on `eval` where that is given, at most 64 pictures; else it is that of dq_int8_apply, or of
// the search for layers (quant/search/float_sides.h); of a single picture of `data` it is measured on that, and without
// data on noise from context->seed. A network that dq cannot run has none. Statuses as dq_int8_apply and
// dq_max_drop_apply; bounds that are not reached are no failure (dq_verdict_check).
dq_status dq_convert_int8(dq_graph **answer, const dq_graph *graph, dq_int8_report *report, dq_max_drop_report *found,
                          const dq_convert_options *options, const dq_context *context, dq_error *error);

// dq_verdict_check with the bounds of the options, and where these leave it to the conversion how much may be lost,
// DQ_CONDITION when a part of an output is below 20 dB, where 8 pictures or more judged trials, or 8 of `eval` judge.
dq_status dq_convert_int8_check(const dq_verdict *verdict, const dq_convert_options *options, const char *path,
                                dq_error *error);

// Compares `converted`, such as what a retraining hook made of the answer, with the graph: on `eval`, else on the
// pictures of `data` that judge trials, which count as fitted to, else on noise. options->int8, data and eval are read;
// the arena owns the result. Statuses as dq_verdict_conclude.
dq_status dq_convert_int8_judge(dq_verdict *verdict, const dq_graph *graph, const dq_graph *converted,
                                const dq_convert_options *options, const dq_context *context, dq_arena *arena,
                                dq_error *error);

#endif
