// How close the outputs of quantized forms of a network come to those in float, on pictures that no range was taken
// from.
#ifndef DQ_QUANT_EVALUATOR_H
#define DQ_QUANT_EVALUATOR_H

#include "quant/error/detection_error.h"
#include "quant/error/output_error.h"
#include "quant/int8/job.h"

enum { DQ_EVALUATED_PICTURES = 24 }; // at most, the last ones of the job

typedef struct dq_score {
  double decibels; // SQNR of the outputs, or of a detector's answers
  double *noise;   // by picture: of a detector's answers, or shares of the squares of outputs
} dq_score;

typedef struct dq_evaluator {
  const dq_int8_job *job;
  dq_observation what;    // outputs, over the pictures that are evaluated
  dq_tensor *shapes;      // of the outputs
  float **exact;          // float outputs, [picture * outputs + output]
  float **others;         // of the picture that is compared, by output
  int64_t *pictures_done; // by output
  dq_output_error *outputs;
  bool detects; // answers of a detector are compared, not outputs
  dq_detection_error detection;
  double *signal;  // of the answers, by picture
  dq_score *score; // of the form that runs
} dq_evaluator;

// Runs the job's graph, in float, and keeps its outputs. The tables are in the job's arena; `job` and its graph outlive
// the evaluator. Safe to close when it fails.
dq_status dq_evaluator_open(dq_evaluator *evaluator, const dq_int8_job *job);
void dq_evaluator_close(dq_evaluator *evaluator); // safe on a zeroed struct

// Scores a quantized form of the graph. `score->noise` holds evaluator->what.pictures numbers.
dq_status dq_evaluate(dq_evaluator *evaluator, const dq_graph *quantized, dq_score *score);

// Decibels that `score` is better than `best`: of outputs as a whole, of a detector's answers the mean over pictures.
double dq_score_gain(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);
// The same as a mean over pictures of any network: of one picture as of another, where the noise of a few makes most of
// the whole.
double dq_score_gain_by_picture(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);

#endif
