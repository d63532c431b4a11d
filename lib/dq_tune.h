// dq.h: measured choices.
#ifndef DQ_TUNE_H
#define DQ_TUNE_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Tuning: for each distinct shape of a step, other algorithms, sizes of blocks and one thread alone are measured in
// turns with the usual choice. A choice that is faster by the 95 % confidence interval is added to the file `wisdom` of
// the engine, and used by networks that are opened later. No bit of a result changes.

typedef struct dq_model_tune_options {
  size_t size;
  double time_limit; // seconds, above 0, which the measurement takes, about; default 60
  int64_t batch;     // size of the first dimension of inputs where the model leaves it open, 1 to 65536; default 1
  const char *const *shapes;
  int exhaustive; // 1: all candidates are measured, also of shapes that are known; 0: the most promising part; default
                  // 0
} dq_model_tune_options;

typedef struct dq_model_tune_facts {
  size_t size;
  int shapes, known, measured; // number of shapes of steps with a choice; known before; measured by this call
  int chosen;                  // shapes that have another choice than the usual one from now on
  int out_of_time;             // shapes are left, which the next call measures
  int kept;                    // 0: the file cannot be written; the choices hold for this engine only
  int64_t runs;                // of the network that were made
  // Median seconds of a run of the network as usual and with the choices, the median of the ratios of runs in turns,
  // and its 95 % confidence interval; all 0: no choice was faster by it.
  double before, after, ratio, ratio_low, ratio_high;
  // Candidates of the shapes that were not known: all, and those that this call measured.
  int candidates, candidates_measured;
} dq_model_tune_facts;

typedef struct dq_model_tune_row {
  size_t size;
  const char *node, *op_type; // of the first step of the shape; a node without a name has that of its first output
  const char *algorithm;      // of the choice; NULL: there is only one algorithm
  int steps;                  // of the shape
  int measured;               // 0: there was no time for it; what follows is then 0
  int used;                   // the steps have another choice than the usual one
  double before, after;       // median seconds of one step, as usual and by the choice
  double ratio, ratio_low, ratio_high;
} dq_model_tune_row;

void dq_model_tune_defaults(dq_model_tune_options *options, size_t size);
// Measures the model on random numbers, with the threads of the engine. The model does not change. Shapes that the
// wisdom of the engine has are not measured again. Rows (dq_model_tune_at, facts->shapes of them) hold until the next
// dq_model_tune or transform of the model. DQ_CODE_CONDITION: two equal runs cannot be timed to within 5 %, threads of
// the engine wait for processors that other programs have, or 48 runs take more than a second and than time_limit; no
// choice was written, and there are no rows. DQ_CODE_USAGE: an option is
// not valid, or the engine has no wisdom; else as dq_network_open.
dq_code dq_model_tune(dq_model *model, const dq_model_tune_options *options, dq_model_tune_facts *facts,
                      dq_failure *failure);
int dq_model_tune_at(const dq_model *model, int index, dq_model_tune_row *row);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
