// The noise that each unit in each precision makes at the outputs.
#ifndef DQ_QUANT_MIX_NOISE_H
#define DQ_QUANT_MIX_NOISE_H

#include "quant/mix/mix_costs.h"

// Which of `pictures` are those of trials, and which are others that no trial sees, tried + others of them together, at
// most all: one from each of as many equal parts of the list, at a place that moves from part to part, so that neither
// a list that is sorted by class nor one in which classes alternate gives either of them one class. They take turns in
// the order of Thue and Morse: of each two neighbours one is tried, of each four the outer two or the inner two. Those
// of trials come first in order[tried + others]; `others` is `tried` or one more.
void dq_mix_turns(int64_t *order, int64_t pictures, int64_t tried, int64_t others);

typedef struct dq_mix_noise_options {
  dq_data *data;         // all of its pictures
  double seconds_trials; // of the calling thread that the trials of a precision take, about; where single units would
                         // take longer, neighbouring units are measured together and their noise is divided equally
} dq_mix_noise_options;

// Measures costs->unit_noise and costs->value_noise as dq_mix_noise_of does. Statuses as dq_sensitivity_measure,
// dq_mix_make and dq_evaluate.
dq_status dq_mix_noise_measure(dq_mix_costs *costs, dq_mix_maker *maker, const dq_mix_noise_options *options,
                               const dq_context *context, dq_arena *arena, dq_error *error);

// The noise of a form over its signal, over all pictures of the evaluator: 10^(-SQNR / 10) of dq_score.decibels.
dq_status dq_mix_noise_of(dq_evaluator *evaluator, const dq_graph *form, double *noise, dq_arena *arena,
                          dq_error *error);

// Likewise of the form that `maker` makes of the network with the precisions of a choice, which is freed again.
// Statuses as dq_mix_make and dq_evaluate.
dq_status dq_mix_noise_of_choice(dq_evaluator *evaluator, dq_mix_maker *maker, const dq_mix_network *network,
                                 const uint8_t *choice, double *noise, dq_error *error);

#endif
