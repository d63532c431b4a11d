// dq.h: one precision for each layer.
#ifndef DQ_MIX_H
#define DQ_MIX_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// The choice of float32, float16 or int8 for each layer: the times of layers and of conversions between precisions are
// measured on this machine, and the noise that each layer makes at the outputs. Points of the front of time and noise
// are made and measured; the fastest within the bounds becomes the model.

typedef struct dq_model_mix_options {
  size_t size;
  double max_drop; // loss of the first figure in percentage points, 0 to 100; without labels the percentage of answers
                   // that are not those of the float model; default 0
  double max_time; // seconds of a run; 0 (default): no bound
  uint64_t max_size;         // bytes of all weights; 0 (default): no bound
  dq_dataset *eval;          // pictures to judge on; NULL (default): the dataset
  const char *task, *decode; // as in dq_model_accuracy_options
  int64_t batch;             // pictures that one run of a judgement takes, at most 65536; 0 (default): 1
  const char *const *shapes;
  int points;        // of the front that are measured in each of two rounds, 6 to 100; default 8
  double time_limit; // seconds, above 0, which the measurement of times takes, about; default 30
  // Precisions that are measured as points too: texts NAME=PATH of settings files as dq_model_int8_options.precision
  // takes them.
  const char *const *also;
  const char *cache; // path of a file that keeps what is measured, with a second file PATH.table; NULL (default): none
  int resume;        // go on with what the file `cache` knows; default 0
  const char *save_precision; // path of a file to write with the precision of every layer; NULL (default): none
  int cautious; // a point holds max_drop only where it and all with less noise lose or gain at most that; default 0
} dq_model_mix_options;

typedef struct dq_model_mix_facts {
  size_t size;
  int points, answer; // number of measured points (rows of dq_model_mix_at), and the one that the model became
  int held;           // whether the answer is within the bounds; else it is the point that loses least
  int resumed;        // everything came from `cache`
  int layers;         // layers whose precision was chosen
  double float32;     // seconds of a run in float32
  double time_error;  // largest error of the predicted times of the last round, as a share
  double noise_error; // largest error of the predicted noises, dB
  double control_low, control_high; // 95 % confidence interval of the time ratio of two equal plans
} dq_model_mix_facts;

// A measured point.
typedef struct dq_model_mix_row {
  size_t size;
  const char *name;                    // holds until the next transform of the model
  double seconds;                      // of a run
  double ratio, ratio_low, ratio_high; // of the time in float32, with its 95 % confidence interval
  double noise;                        // relative noise of the outputs, 10^(-SQNR / 10), on the pictures of trials
  double drop;                         // loss of the first figure in percentage points
  uint64_t bytes;                      // of all weights
  // Seconds as predicted before the point was measured; noise by the sum of the costs as all trials corrected them,
  // that of the point too. 0: it divides layers that run as one.
  double predicted_seconds, predicted_noise;
  int within; // all bounds
  int front;  // no measured point is faster, loses less noise and has fewer bytes at once
  // Noise on pictures that no cost and no correction saw, and as it was predicted before it was measured; 0: as above.
  double other_noise, noise_before;
} dq_model_mix_row;

void dq_model_mix_defaults(dq_model_mix_options *options, size_t size);
// Converts the model in place; dataset and eval belong to the same engine. dq_model_int8_at then describes its layers.
// DQ_CODE_CONDITION: no measured point is within the bounds (facts->held is 0), and the model is the one that loses
// least; or the machine is too noisy, and neither the model nor `facts` have changed. DQ_CODE_USAGE: an option is out
// of its range; DQ_CODE_BAD_INPUT: pictures or labels do not fit, or `cache` is of another model, other data or another
// machine; DQ_CODE_UNSUPPORTED: no layer can be quantized, or the model is quantized already; DQ_CODE_SYSTEM: a file
// cannot be read or written.
dq_code dq_model_mix(dq_model *model, dq_dataset *dataset, const dq_model_mix_options *options,
                     dq_model_mix_facts *facts, dq_failure *failure);
int dq_model_mix_at(const dq_model *model, int index, dq_model_mix_row *row);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
