// The noise that each unit in each precision makes at the outputs.
#ifndef DQ_QUANT_MIX_NOISE_H
#define DQ_QUANT_MIX_NOISE_H

#include "quant/mix/mix_costs.h"

typedef struct dq_mix_noise_options {
  int64_t pictures;      // the first ones of the data
  double seconds_trials; // about how long the trials take; where single units would take longer, neighbouring units are
                         // measured together and their noise is divided equally
} dq_mix_noise_options;

// Measures costs->unit_noise and costs->value_noise as dq_mix_noise_of does. Statuses as dq_sensitivity_measure,
// dq_mix_make and dq_evaluate.
dq_status dq_mix_noise_measure(dq_mix_costs *costs, dq_mix_maker *maker, const dq_mix_noise_options *options,
                               const dq_context *context, dq_arena *arena, dq_error *error);

// The noise of a form over its signal, over all pictures of the evaluator: 10^(-SQNR / 10) of dq_score.decibels.
dq_status dq_mix_noise_of(dq_evaluator *evaluator, const dq_graph *form, double *noise, dq_arena *arena,
                          dq_error *error);

#endif
