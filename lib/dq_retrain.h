// dq.h: retraining of a converted model.
#ifndef DQ_RETRAIN_H
#define DQ_RETRAIN_H

#include "dq_tucker.h"

#ifdef __cplusplus
extern "C" {
#endif

// Retraining: a command of the user gets a converted model and writes a better one.
typedef struct dq_model_retrain_options {
  size_t size;
  const char *command;  // run by the shell
  const char *original; // path of the model before its conversion
  const char *data;     // what the command is told about pictures; NULL (default): nothing
  double time_limit;    // seconds after which the command is ended and has failed, 0 or more; 0 (default): none
  const char *const *shapes;
  // Of a decomposition: its layers are decomposed so many at a time, the first in the file `original`, the next in what
  // the command made of these, and so on; the command runs after each step. 0 (default): all at once.
  int every;
  const dq_model_tucker_options *tucker; // of every: the options of the decomposition; its ranks are the model's
} dq_model_retrain_options;

void dq_model_retrain_defaults(dq_model_retrain_options *options, size_t size);
// Runs the command on the file `path`, to which `model` was saved after its last transform, with the variables DQ_MODEL
// (a copy of the file), DQ_ORIGINAL, DQ_OUTPUT (what it must write), DQ_DATA and DQ_SPEC (JSON: what the transform
// did). What the command prints goes to standard error, and one command runs in a process at a time. What it wrote
// takes the place of the file when it loads, has the inputs, outputs, nodes and sizes of weights of the model, is
// finite and runs. `model` stays as it is: load the file to go on. DQ_CODE_CONDITION: the command failed, or its model
// is not taken, and the file is as it was (with `every`: as the step before left it, decomposed). DQ_CODE_USAGE: the
// model was not transformed, or `path` is "-".
dq_code dq_model_retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
