// The output error of forms of a network, such as quantized ones, against the outputs of the float network on the same
// pictures. Trials compare it, and verdicts report it. In place of an output that a Softmax or Sigmoid computes its
// argument is compared: probabilities of nearly certain classes show no error until an answer changes.
#ifndef DQ_VERDICT_EVALUATOR_H
#define DQ_VERDICT_EVALUATOR_H

#include "lib/session/observe.h"
#include "lib/verdict/answers.h"
#include "lib/verdict/detection_error.h"
#include "lib/verdict/picture_errors.h"

typedef struct dq_evaluator_options {
  const dq_graph *graph;          // the float network
  const dq_shape_request *shapes; // of inputs that the model leaves open
  dq_data *data;
  int64_t first, pictures; // judged on the pictures first to first + pictures - 1
  int64_t all_pictures;    // with those of every dq_evaluator_move; 0: `pictures`
  const char *decode;      // how the outputs of a detector are decoded (dq_task_options); NULL: as the model says
  int64_t batch;           // pictures that one run takes; 0: 1
  // A form of the network that may lack a Softmax or Sigmoid at an output, which is then compared as it is; NULL: all
  // forms have the same.
  const dq_graph *other;
  // Whether the data of the matrix product that computes an output of few numbers are compared beside it: the error of
  // a few numbers is mostly chance, that of the hundreds of numbers from which they are summed is less so.
  bool features;
  const dq_listener *also; // of dq_evaluator_open: gets values of `graph` in the same runs; NULL: none does
  bool noise;              // `data` is noise
  double noise_largest;    // of dq_verdict_conclude without data: `largest` of dq_noise_open
} dq_evaluator_options;

typedef struct dq_score {
  // SQNR in dB over all pictures; INFINITY: equal. Of a detector that of the mean of `noise`, else of the outputs.
  double decibels;
  // The noise by picture, owned by the caller: the sum over the outputs of noise / sum of squares of the float output.
  // Of a detector: the sum over the parts of its outputs of noise / mean signal of the part on all pictures, in which
  // all candidates count, plus the noise of the predictions over the mean signal of the predictions on all pictures. A
  // picture without objects has scores that are nearly 0: over these alone its noise would count most.
  double *noise;
  // The same of the outputs alone, with options.features, for forms whose features have another order; plain_noise is
  // owned by the caller and may be NULL.
  double plain_decibels, *plain_noise;
} dq_score;

// One output of the network.
typedef struct dq_evaluated_output {
  const char *name;      // of the output
  int position;          // among the outputs of the graph
  const char *function;  // that computes the output, whose argument is compared in its place; NULL: none
  bool features;         // the data of the product that computes what is compared, in its place
  dq_tensor shape;       // of what is compared: float32
  bool sorted;           // rows are compared with those most like them (dq_match_rows)
  float *matched;        // sorted: the rows of the other form on the current picture
  dq_output_error last;  // of the current picture
  float *other;          // of the other form on the current picture; detectors only
  dq_output_error exact; // signals of the float outputs over all pictures that are stored; likewise
  int64_t pictures_done; // of the run
  // Sums over the pictures of the last dq_evaluate.
  dq_output_error error;
  dq_answers answers;
} dq_evaluated_output;

typedef struct dq_evaluator {
  dq_evaluator_options options; // first, pictures: of those whose float outputs are stored now
  int64_t capacity;             // pictures that there is a place for
  const dq_context *context;
  dq_arena *arena;
  dq_observation what;          // the graph that runs, the names of what is compared in it, and the pictures
  const char **names;           // what.names, set for each form that runs
  dq_evaluated_output *outputs; // [what.count]
  float **exact;                // float outputs, [picture * what.count + output]
  bool detects;                 // the predictions of a detector are compared too
  dq_detection_error detection;
  double *signal;           // by picture: the sum of squares of the predictions in float (dq_detection_error_compare)
  double *moved;            // by picture: the noise of the predictions of the form that runs
  dq_score *score;          // result of the form that runs
  dq_picture_errors errors; // since the last dq_evaluate
  int64_t done;             // pictures of `errors` that ran before those that are stored now
} dq_evaluator;

// Runs options->graph on its pictures and stores the float32 outputs, which takes `pictures` times their bytes. The
// arena owns the tables; graph, data, context and arena must outlive the evaluator. The caller closes the evaluator,
// also after a failure. Statuses as dq_infer and dq_observe.
dq_status dq_evaluator_open(dq_evaluator *evaluator, const dq_evaluator_options *options, const dq_context *context,
                            dq_arena *arena, dq_error *error);
// Frees float outputs; what the evaluator counted stays. Allowed on a zeroed struct, and more than once.
void dq_evaluator_close(dq_evaluator *evaluator);

// Runs `other`, a form of the graph, on the same pictures and fills *score and the sums of the outputs. Its outputs are
// in the same order, of float32, float16 or float64, and of the same size. The caller provides score->noise with
// options.pictures elements. DQ_UNSUPPORTED: an output is missing, or has lost its Softmax or Sigmoid; DQ_BAD_INPUT: an
// output has another size; else statuses as dq_observe.
dq_status dq_evaluate(dq_evaluator *evaluator, const dq_graph *other, dq_score *score, dq_error *error);

// Stores the float outputs on the pictures first to first + count - 1 in place of the others; count is at most that of
// dq_evaluator_open. Then dq_evaluate_more runs `other` on them and adds to the sums of the outputs. Statuses as
// dq_observe.
dq_status dq_evaluator_move(dq_evaluator *evaluator, int64_t first, int64_t count, dq_error *error);
dq_status dq_evaluate_more(dq_evaluator *evaluator, const dq_graph *other, dq_score *score, dq_error *error);

// The figure of a trial (dq_score.decibels) with these errors and noises of pictures, as dq_evaluate gives them,
// without the picture `left_out`. *decibels is for comparisons on the same pictures. The arena is for sums. DQ_SYSTEM:
// there is no memory.
dq_status dq_evaluator_decibels(const dq_evaluator *evaluator, const dq_picture_errors *errors, const double *noise,
                                int64_t left_out, double *decibels, dq_arena *arena, dq_error *error);

// The gain of `score` over `best` in dB; above 0: `score` is better. Of outputs the difference of both SQNRs, of
// predictions of a detector the mean over the pictures.
double dq_score_gain(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);
// The gain in dB as a mean over the pictures for every network, so that a few pictures with large noise do not decide.
double dq_score_gain_by_picture(const dq_evaluator *evaluator, const dq_score *best, const dq_score *score);

#endif
