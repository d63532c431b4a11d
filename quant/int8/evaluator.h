// The output error of quantized forms of a network, which trials compare. It is measured on the last pictures of a job,
// which no range was taken from, against the outputs of the float network. In place of an output that a Softmax
// computes its argument is compared: probabilities of nearly certain classes show no error until an answer changes.
#ifndef DQ_QUANT_EVALUATOR_H
#define DQ_QUANT_EVALUATOR_H

#include "quant/error/detection_error.h"
#include "quant/error/output_error.h"
#include "quant/int8/job.h"

enum { DQ_EVALUATED_PICTURES = 24 }; // the largest number of pictures that an evaluator runs

// How many of `pictures` (1 or more) a trial is judged on, which are the last ones: half of them, rounded up, and at
// most DQ_EVALUATED_PICTURES.
int64_t dq_evaluated_pictures(int64_t pictures);
// How many a trial takes ranges from, which are the first ones: those that it is not judged on, and at most `most`. A
// single picture serves for both.
int64_t dq_trial_pictures(int64_t pictures, int64_t most);

typedef struct dq_score {
  double decibels; // SQNR in dB over all pictures: of the outputs, or of the predictions of a detector; INFINITY: equal
  double *noise;   // by picture, owned by the caller: the noise of the predictions, or the sum over the outputs of
                   // noise / sum of squares of the float output
} dq_score;

typedef struct dq_evaluator {
  const dq_int8_job *job;
  dq_observation what;  // the graph that runs, the names of what is compared in it, and the pictures (first, pictures)
  const char **names;   // what.names, set for each form that runs
  const char **sources; // by output: the name of the output of the network
  bool *before_softmax; // by output: the argument of the Softmax that computes the output is compared
  dq_tensor *shapes;    // by output: type and shape
  float **exact;        // float outputs, [picture * what.count + output]
  float **others;       // by output: the output of the quantized form on the current picture
  int64_t *pictures_done;   // by output
  dq_output_error *outputs; // by output
  bool detects;             // the predictions of a detector are compared, not its outputs
  dq_detection_error detection;
  double *signal;  // by picture: the sum of squares of the predictions in float
  dq_score *score; // result of the form that runs
} dq_evaluator;

// Runs the graph of the job, in float, on its last pictures and stores the outputs, which takes
// DQ_EVALUATED_PICTURES times the bytes of the outputs. Tables are in the arena of the job; `job` and its graph must
// outlive the evaluator. The caller closes the evaluator, also after a failure. Statuses as dq_infer and dq_observe;
// the message goes to job->error.
dq_status dq_evaluator_open(dq_evaluator *evaluator, const dq_int8_job *job);
void dq_evaluator_close(dq_evaluator *evaluator); // allowed on a zeroed struct

// Runs `quantized`, a form of the graph with outputs of the same names and shapes, on the same pictures and fills
// *score. The caller provides score->noise with evaluator->what.pictures elements. Statuses as dq_observe.
dq_status dq_evaluate(dq_evaluator *evaluator, const dq_graph *quantized, dq_score *score);

// The gain of `score` over `best` in dB; above 0: `score` is better. Of outputs the difference of both SQNRs, of
// predictions of a detector the mean over the pictures.
double dq_score_gain(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);
// The gain in dB as a mean over the pictures for every network, so that a few pictures with large noise do not decide.
double dq_score_gain_by_picture(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);

#endif
