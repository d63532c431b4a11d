// The cost model of tuning: the expected time of a step with a choice, from the measured times of other choices and
// other shapes. The work of a convolution is counted, and costs are fitted to the counts (count_fit.h). The logarithm
// of the ratio of the time to the counted time (to the multiply-accumulates or elements, where nothing is counted) is a
// Gaussian process over the logarithms of the sizes of the step and over its choice; the expectation is conditional on
// the nearest observations (kernel ridge regression; Rasmussen and Williams, Gaussian Processes for Machine Learning,
// 2006, algorithm 2.1). The same observations in the same order give the same bits.
#ifndef DQ_TUNE_COST_MODEL_H
#define DQ_TUNE_COST_MODEL_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/tune/count_fit.h"
#include "lib/wisdom/wisdom.h"

enum { DQ_RUN_SIZES = 6, DQ_FAMILY_TEXT = 80 };

// What the text of a step (dq_plan_step_run) says about its sizes.
typedef struct dq_run_shape {
  char family[DQ_FAMILY_TEXT]; // operator, type of the first input, and the kernel, as "Conv float32 3x3 depthwise"
  int type, kind;              // `family` has the type from here, and up to here operator and type
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
// step has several, and that has these counts. Texts of another form, and times that are not finite, are left out.
// DQ_SYSTEM: there is no memory.
dq_status dq_cost_model_add(dq_cost_model *model, const char *run, const dq_step_choice *choice,
                            const dq_counts *counts, double seconds, dq_error *error);
// Prepares expectations for steps of this text, in the time of sorting all observations and of factoring a matrix of at
// most 160 rows: with is_counted from the nearest observations of the same type with counts, else from those of the
// same operator and type without counts. Statuses as dq_factor_symmetric.
dq_status dq_cost_model_fit(dq_cost_model *model, const char *run, bool is_counted, dq_error *error);
// The expected seconds of the step of dq_cost_model_fit with a choice and its counts; without an observation of its
// kind they follow from dq_costs_usual, or are the same constant for all choices without counts.
double dq_cost_model_seconds(const dq_cost_model *model, const dq_step_choice *choice, const dq_counts *counts);

#endif
