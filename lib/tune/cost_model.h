// The cost model of tuning: the time that a step takes by a choice, expected from what was measured of other choices
// and other shapes. Logarithms of times for each multiply-accumulate (each element, where nothing is multiplied) are
// taken as a Gaussian process over the sizes of the step, as logarithms, and over its choice; the expectation is that
// given the nearest observations (kernel ridge regression; Rasmussen and Williams, Gaussian Processes for Machine
// Learning, 2006, algorithm 2.1). The same observations in the same order give the same bits.
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

// False: the text is that of no step.
bool dq_run_shape_read(dq_run_shape *shape, const char *run);

typedef struct dq_cost_model dq_cost_model;

// An empty model in the arena; NULL: there is no memory.
dq_cost_model *dq_cost_model_new(dq_arena *arena);
// Adds what was measured: a step of this text takes `seconds` > 0 with a choice that names the algorithm wherever there
// is one. Texts of no step, and times that are not finite, are left out. DQ_SYSTEM: there is no memory.
dq_status dq_cost_model_add(dq_cost_model *model, const char *run, const dq_step_choice *choice, double seconds,
                            dq_error *error);
// Prepares expectations for steps of this text from the nearest observations of the same operator and type, in the time
// of sorting all and of factoring a matrix of at most 160 rows. Statuses as dq_factor_symmetric.
dq_status dq_cost_model_fit(dq_cost_model *model, const char *run, dq_error *error);
// The seconds expected with a choice; without any observation of the kind, a constant.
double dq_cost_model_seconds(const dq_cost_model *model, const dq_step_choice *choice);

#endif
