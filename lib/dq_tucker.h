// dq.h: decomposition.
#ifndef DQ_TUCKER_H
#define DQ_TUCKER_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Tucker-2: every convolution with a kernel larger than 1x1 becomes three cheaper ones. Exactly one
// of ratio, energy, macs, ranks, vbmf and max_drop is given.
typedef struct dq_model_tucker_options {
  size_t size;
  double ratio;      // share of each mode's rank to keep, above 0 and at most 1; 0: not given
  double energy;     // share of each mode's squared singular values, likewise
  double macs;       // share of the model's multiply-accumulates to keep, above 0 and below 1
  const char *ranks; // settings file that names layers and ranks
  int64_t multiple;  // ranks are rounded up to a multiple of this; default 1
  int plain;         // do not weigh channels by the batch normalization behind; default 0
  int force;         // decompose even what does not get cheaper; default 0
  const char *const *shapes;
  int vbmf;         // keep the singular values above the noise that the weights show; default 0
  double weaken;    // of vbmf: this share of what it drops is kept as well, 0...1; default 0
  int refine;       // iterate until the factors at the ranks chosen get no better; default 0
  int matrices;     // decompose Gemm and MatMul with constant matrices too; default 0
  dq_dataset *data; // pictures to which the factors are fitted, labels are not needed; not read with plain;
                    // NULL (default): the weights alone are looked at
  int never_slower; // leave layers alone that are not measured to become faster on this machine, so that the result
                    // may differ from run to run (save the ranks); not with force or ranks; default 0
  // As few multiply-accumulates as keep the accuracy within this many percentage points of the model's, 0...100, on
  // labelled pictures, by bisection over `macs`. `data` must be given, too. Below 0 (default): no bound.
  double max_drop;
  dq_dataset *eval;          // labelled pictures for max_drop; NULL (default): `data`
  const char *task, *decode; // as in dq_model_accuracy_options, for max_drop
  double time_limit;         // seconds for max_drop, 0 (default): none; the best so far is taken, and the result may
                             // differ from run to run
  int64_t batch;             // pictures run at once, at most 65536; the result is the same; 0 (default): 1
} dq_model_tucker_options;

typedef struct dq_model_tucker_facts {
  size_t size;
  int convolutions, decomposed;
  int64_t macs_before, macs_after; // of the whole model; -1: not known
  int64_t parameters_before, parameters_after;
  // With max_drop, else 0: trials made, whether the time limit ended the search, and the percentage points lost. Where
  // no trial holds the bound, the model stays as it was and the counts above are 0, the others -1 and 0.
  int trials, stopped;
  double drop;
} dq_model_tucker_facts;

typedef struct dq_model_tucker_row {
  size_t size;
  const char *name;
  const char *reason;              // why it was left alone; "": decomposed
  int64_t dims[4];                 // of the weight: o, i of a group, kernel height, width; 0: not known
  int64_t rank_out, rank_in;       // of a group
  double energy_out, energy_in;    // shares of the squared singular values kept
  double error;                    // relative Frobenius error of the weight
  int64_t macs_before, macs_after; // -1: not known
  int64_t parameters_before, parameters_after;
  double response_error;          // with data: share of the variance of the layer's responses that is missed; else 0
  double time_before, time_after; // seconds of the layer alone, with never_slower; 0: not measured
} dq_model_tucker_row;

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size);
// Decomposes the model in place. `options` must hold one of the six rules, so NULL is DQ_CODE_USAGE. `facts` may be
// NULL; it is written on success only. dq_model_tucker_at then gives one row for each layer that was looked at.
// DQ_CODE_USAGE: options are invalid, or a network is open on the model; DQ_CODE_BAD_INPUT: a weight holds NaN or
// infinity, a file of ranks does not fit the model, or pictures do not fit or lack labels; DQ_CODE_UNSUPPORTED: the
// version of an operator is not supported, or a node cannot run that `data` or never_slower makes run.
dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure);
int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row);
// Writes the ranks of the last decomposition, for `ranks`. DQ_CODE_USAGE: there was none.
dq_code dq_model_tucker_save_ranks(const dq_model *model, const char *path, dq_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
