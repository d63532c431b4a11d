// The measured costs of units and conversions: seconds, relative noise at the outputs, bytes of weights.
#ifndef DQ_QUANT_MIX_COSTS_H
#define DQ_QUANT_MIX_COSTS_H

#include "lib/verdict/evaluator.h"
#include "quant/mix/mix_form.h"

// Means over the forms in which a unit, or a conversion, was measured.
typedef struct dq_mix_mean {
  double sum;
  int64_t count;
} dq_mix_mean;

typedef struct dq_mix_costs {
  const dq_mix_network *network;
  dq_mix_mean *unit_seconds;                             // [unit * DQ_PRECISIONS + precision]
  dq_mix_mean *value_seconds;                            // [(value * DQ_PRECISIONS + from) * DQ_PRECISIONS + to]
  dq_mix_mean per_element[DQ_PRECISIONS][DQ_PRECISIONS]; // seconds of conversions over their elements
  dq_mix_mean other_seconds;                             // of steps that belong to no unit
  double float32; // seconds of the network in float32 when the first times were measured; all seconds are by that clock
  double other_noise;  // of the form with all units in float32: what quantization rewrites in float
  double *unit_noise;  // [unit * DQ_PRECISIONS + precision]
  double *value_noise; // [value * DQ_PRECISIONS + to]: of rounding a value whose producer has other precision
  double *unit_alone, *value_alone; // both noises as they were measured alone, before any correction
} dq_mix_costs;

// Fills *costs for the network, without any measurement. The arena owns the arrays. DQ_SYSTEM: there is no memory.
dq_status dq_mix_costs_open(dq_mix_costs *costs, const dq_mix_network *network, dq_arena *arena, dq_error *error);

// Adds the times of the steps of a form that was run (dq_mix_form_run) in turns with the network in float32, which took
// `float32` seconds. Times are multiplied by costs->float32 / float32, so that changes of the clock of the processor
// since the first call do not count. `arena` is one whose budget the memory of the call counts against. DQ_SYSTEM:
// there is no memory.
dq_status dq_mix_costs_add_times(dq_mix_costs *costs, const dq_mix_form *form, double float32, const dq_arena *arena,
                                 dq_error *error);

// The time of a unit is its mean time when its inputs have its own precision. Where an input has another precision, the
// difference from that time is a part of the time of the conversion, which may therefore be below 0.

// Keeps the noises as they are as those of units and values alone, which corrections stay near.
void dq_mix_costs_keep_alone(dq_mix_costs *costs);

// Adjusts the noises so that the sum for a choice comes closer to what was measured: each term of the sum is multiplied
// by (measured / sum) to the power of `power`, above 0 and up to 1 (R. Gordon, R. Bender, G. T. Herman, Algebraic
// Reconstruction Techniques, J. Theor. Biol. 29, 1970: the multiplicative form with relaxation). Each term stays within
// 15 dB of its noise alone: a few sums of hundreds of terms do not determine them, and without a bound terms whose sums
// cannot all be right fall until they seem to make no noise. A noise that is not finite, or not above that in float32,
// changes nothing.
void dq_mix_costs_correct_noise(dq_mix_costs *costs, const uint8_t *choice, double measured, double power);

// The noise of a choice.
typedef struct dq_mix_observation {
  const uint8_t *choice; // [unit_count]
  double noise;
  double before; // as the costs predicted it before it was measured
} dq_mix_observation;
// Adjusts the noises by all observations one after another (dq_mix_costs_correct_noise), in 200 sweeps whose power
// falls from 1/2 to 1/42. Where no noises give all observed sums, the errors are divided among the observations.
void dq_mix_costs_fit_noise(dq_mix_costs *costs, const dq_mix_observation *observed, int count);

// The seconds of the conversion of value `value` from one precision to another: the mean of its measurements; without
// any, an estimate from its elements and the measured conversions between the same precisions.
double dq_mix_conversion_seconds(const dq_mix_costs *costs, int value, int from, int to);

// The sums of the costs for a choice. Seconds are scaled so that those of the network in float32 are costs->float32.
typedef struct dq_mix_prediction {
  double seconds, noise;
  double conversions; // of the seconds
  int64_t bytes;      // of the weights of units with layers
} dq_mix_prediction;
dq_mix_prediction dq_mix_predict(const dq_mix_costs *costs, const uint8_t *choice);

// The table for dq_mix_front_find: times in parts of 1/DQ_MIX_TIME_PARTS of those of all units in float32, noises in
// parts of 2^-30 of those in 8 bits. `conversions` false: conversions take no time; `bytes` false: no bytes. The arena
// owns the table.
enum { DQ_MIX_TIME_PARTS = 1 << 14 };
typedef struct dq_mix_table_options {
  bool conversions, bytes;
  bool no_float16; // no unit can have float16
} dq_mix_table_options;
dq_status dq_mix_costs_table(const dq_mix_costs *costs, const dq_mix_table_options *options, dq_arena *arena,
                             dq_mix_table *table, dq_error *error);

#endif
