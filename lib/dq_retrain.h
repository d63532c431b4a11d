// dq.h: retraining of a converted model.
#ifndef DQ_RETRAIN_H
#define DQ_RETRAIN_H

#include "dq_tucker.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Retraining: a command of the user gets a converted model and writes a better one.
typedef struct dq_model_retrain_options {
  size_t size;
  // The shell runs it; must be given. Or "builtin[,epochs=10][,batch=32][,lr=0.0003][,temperature=1][,feature-loss=0]"
  // followed by changes of pictures as in dq_model_train_options.augment: the weights, of an 8-bit model its scales as
  // well, are trained on `pictures` with the outputs of the model `original` as targets. After dq_model_amp weights
  // stay float16 in every step, and without lr the rate is 1e-6.
  const char *command;
  const char *original; // path of the model before its conversion; must be given
  const char *data;     // text that the command gets as DQ_DATA, such as a path of pictures; NULL (default): none
  double time_limit;    // seconds after which the command is ended and has failed; 0 (default): none
  const char *const *shapes;
  // The number of layers of a step, after a decomposition. The first step decomposes these layers in the file
  // `original`, each later one in what the command made of the step before; the command runs after each step. 0
  // (default): all layers are one step.
  int every;
  const dq_model_tucker_options *tucker; // the options of the decomposition, for `every`; ranks are those of the model
  dq_dataset *pictures;                  // of "builtin", without labels
  dq_dataset *validation; // of "builtin": pictures to choose the best epoch by; NULL (default): `pictures`
} dq_model_retrain_options;

void dq_model_retrain_defaults(dq_model_retrain_options *options, size_t size);
// Runs the command on the file `path`, to which `model` was saved after its last transform, and waits for its end. The
// command has these environment variables: DQ_MODEL (path of a copy of the file), DQ_ORIGINAL, DQ_OUTPUT (path of the
// model that the command must write), DQ_DATA, and DQ_SPEC (path of a JSON file on what the transform did). Its output
// goes to standard error. One command runs in a process at a time. What the command wrote replaces the file `path` when
// it loads, has the inputs, outputs, nodes and sizes of weights of `model`, is finite and runs. `model` does not
// change: load the file to go on with it. DQ_CODE_CONDITION: the command failed, or its model was refused, or "builtin"
// made the model worse; the file is as it was (with `every`: as the step before left it, decomposed). DQ_CODE_USAGE:
// the model was not transformed, `path` is "-", or an option is missing or out of its range.
dq_code dq_model_retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
