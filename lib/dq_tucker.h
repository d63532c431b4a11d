// dq.h: decomposition.
#ifndef DQ_TUCKER_H
#define DQ_TUCKER_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Tucker-2 decomposition: every convolution with a kernel larger than 1x1 becomes three cheaper ones. Exactly one of
// ratio, energy, macs, ranks, vbmf and max_drop must be given.
typedef struct dq_model_tucker_options {
  size_t size;
  double ratio;  // rank of each mode as a share of its full rank, above 0 and at most 1; 0 (default): not given
  double energy; // share of the squared singular values of each mode that its rank must keep, above 0 and at most 1;
                 // 0 (default): not given
  double macs;   // multiply-accumulates of the result as a share of those of the model, above 0 and below 1; 0
                 // (default): not given
  const char *ranks; // path of a settings file that names layers and ranks; NULL (default): not given
  int64_t multiple;  // ranks are rounded up to a multiple of this, 1 or more; default 1
  int plain;         // do not weight channels by the batch normalization behind the layer; default 0
  int force;         // decompose also layers that do not get cheaper; default 0
  const char *const *shapes;
  int vbmf;      // ranks by VBMF: keep the singular values above the noise that is estimated from the weight; default 0
  double weaken; // of vbmf: the share of the dropped singular values that is kept as well, 0 to 1; default 0
  int refine;    // repeat the decomposition at the chosen ranks (HOOI) until the factors get no better; default 0
  int matrices;  // decompose also Gemm and MatMul with constant matrices; default 0
  // Pictures to which the factors are fitted, without labels. A quarter of them, at most 64, is kept apart, and the
  // outputs are compared on those, unless `eval` has pictures for that. With plain nothing is fitted, and the outputs
  // are compared on all. NULL (default): the factors come from the weights alone.
  dq_dataset *data;
  int never_slower; // leave layers as they are unless a measurement on this machine shows that they become faster, so
                    // that the result may differ from run to run (save the ranks); not with force or ranks; default 0
  // The largest loss of accuracy in percentage points, 0 to 100: a bisection over `macs` finds the fewest
  // multiply-accumulates with which the loss on labelled pictures is not larger. Needs `data`. Below 0 (default): no
  // bound.
  double max_drop;
  // Labelled pictures for max_drop; without max_drop pictures, labelled or not, on which the outputs are compared. NULL
  // (default): max_drop takes the pictures of `data` that factors are fitted to.
  dq_dataset *eval;
  const char *task, *decode; // as in dq_model_accuracy_options, for max_drop
  double time_limit;         // seconds for the search of max_drop; then the best so far is taken, and the result may
                             // differ from run to run; 0 (default): none
  int64_t batch;             // pictures that one run takes, at most 65536; the result is the same; 0 (default): 1
  int64_t fit_limit;         // factors are fitted to the first so many pictures of `data`, and the outputs compared on
                             // others of them; 0 (default): no limit
} dq_model_tucker_options;

typedef struct dq_model_tucker_facts {
  size_t size;
  int convolutions, decomposed;    // layers that were considered (also the number of rows), and those decomposed
  int64_t macs_before, macs_after; // of the whole model; -1: not known
  int64_t parameters_before, parameters_after; // elements of weights of the whole model
  // Results of max_drop, else 0: the number of trials, whether the time limit ended the search, and the loss in
  // percentage points. Where no trial is within the bound, the model stays as it was; then convolutions, decomposed and
  // the parameters are 0, and the multiply-accumulates -1.
  int trials, stopped;
  double drop;
  // Lowest SQNR of a part of an output in dB, and lowest agreement of an output with the model before in percent, on at
  // most 64 pictures: those of `data` that were kept apart, else of `eval`, else of `data`, else on noise. INFINITY: no
  // error; NAN: nothing was measured, as the model did not change or cannot be run on noise, or no output stands for
  // answers.
  double outputs_sqnr, outputs_agreement;
} dq_model_tucker_facts;

// One layer that was considered, in the order of the model.
typedef struct dq_model_tucker_row {
  size_t size;
  const char *name;
  const char *reason;           // why the layer stays as it is; "": it was decomposed
  int64_t dims[4];              // of the weight: output channels, input channels of a group, kernel height and width;
                                // 0: not known
  int64_t rank_out, rank_in;    // ranks of one group
  double energy_out, energy_in; // shares (0 to 1) of the squared singular values that the ranks keep
  double error;                 // relative error of the weight in the Frobenius norm, 0 to 1
  int64_t macs_before, macs_after; // of the layer; -1: not known
  int64_t parameters_before, parameters_after;
  // Share (0 or more) of the variance of the layer's responses that factors miss on one half of the pictures when they
  // are fitted to the other half; a single vector is measured on itself. 0 without data.
  double response_error;
  double time_before, time_after; // seconds of the layer alone, with never_slower; 0: not measured
} dq_model_tucker_row;

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size);
// Decomposes the model in place. `options` must hold one of the six rules, so NULL is DQ_CODE_USAGE. dq_model_tucker_at
// then gives one row for each layer that was considered.
// DQ_CODE_CONDITION: no ranks reach `macs`, and the message says what can be reached; or the model is decomposed and
// `facts` are filled, but an output has NaN or infinity where the model before has none. DQ_CODE_USAGE: options are
// invalid, or a network is open on the model; DQ_CODE_BAD_INPUT: a weight holds NaN or infinity, a file of ranks does
// not fit the model, or pictures do not fit or lack labels; DQ_CODE_UNSUPPORTED: the version of an operator is not
// supported, or a node cannot run that `data` or never_slower makes run.
dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure);
int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row);
// Writes the ranks of the last decomposition to the file `path`, which the option `ranks` reads. DQ_CODE_USAGE: the
// last transform of the model was no decomposition; DQ_CODE_SYSTEM: the file cannot be written.
dq_code dq_model_tucker_save_ranks(const dq_model *model, const char *path, dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
