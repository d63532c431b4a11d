// The cost model of tuning: the expected time of a step with a choice, from the measured times of other choices and
// other shapes. The logarithm of the time for each multiply-accumulate (for each element, where nothing is multiplied)
// is a Gaussian process over the logarithms of the sizes of the step and over its choice; the expectation is
// conditional on the nearest observations (kernel ridge regression; Rasmussen and Williams, Gaussian Processes for
// Machine Learning, 2006, algorithm 2.1). The same observations in the same order give the same bits.
#ifndef DQ_TUNE_COST_MODEL_H
#define DQ_TUNE_COST_MODEL_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/wisdom/wisdom.h"

enum { DQ_RUN_SIZES = 6, DQ_FAMILY_TEXT = 80 };

// What the text of a step (dq_plan_step_run) says about its sizes.
typedef struct dq_run_shape {
  char family[DQ_FAMILY_TEXT]; // operator, type of the first input, and the kernel, as "Conv float32 3x3 depthwise"
  int kind;                    // bytes of `family` that are operator and type: only these are compared
  bool depthwise;
  double sizes[DQ_RUN_SIZES]; // logarithms to base 2, in this order: outputs of a plane, of a row; channels of the
                              // output, of the input in a group; taps of the kernel; inputs for each output of a plane
  double work;                // multiply-accumulates or elements of the output, at least 1
} dq_run_shape;

// Fills *shape from `run`, a text of dq_plan_step_run. False: the text has another form.
bool dq_run_shape_read(dq_run_shape *shape, const char *run);

typedef struct dq_cost_model dq_cost_model;

// An empty model in the arena; NULL: there is no memory.
dq_cost_model *dq_cost_model_new(dq_arena *arena);
// Adds an observation: a step with the text `run` takes `seconds` > 0 with a choice that names the algorithm where the
// step has several. Texts of another form, and times that are not finite, are left out. DQ_SYSTEM: there is no memory.
dq_status dq_cost_model_add(dq_cost_model *model, const char *run, const dq_step_choice *choice, double seconds,
                            dq_error *error);
// Prepares expectations for steps of this text from the nearest observations of the same operator and type, in the time
// of sorting all and of factoring a matrix of at most 160 rows. Statuses as dq_factor_symmetric.
dq_status dq_cost_model_fit(dq_cost_model *model, const char *run, dq_error *error);
// The expected seconds of the step of dq_cost_model_fit with a choice; the same constant for all choices where no
// observation has its operator and type.
double dq_cost_model_seconds(const dq_cost_model *model, const dq_step_choice *choice);

#endif
