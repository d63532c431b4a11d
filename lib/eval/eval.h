// The quality of the outputs of a model: accuracy, Dice and IoU, and mAP50 against labels, and the difference of the
// outputs of two models. These functions do not run a model; their callers pass the outputs of one picture after the
// other.
#ifndef DQ_EVAL_EVAL_H
#define DQ_EVAL_EVAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "datasets/datasets.h"
#include "lib/base/context.h"
#include "lib/base/tensor.h"
#include "lib/decode/decode.h"

// ---- Tasks: classify, segment, detect, none (tasks.def) ----

typedef struct dq_task dq_task;

typedef struct dq_task_options {
  const char *task;         // a row of tasks.def; NULL: chosen by the outputs and the labels
  dq_decode_options decode; // the outputs of the model, and how those of a detector are read
  dq_label_kind labels;
  int64_t classes;    // dq_data_classes
  bool classes_exact; // dq_data_classes_exact: the model must have exactly `classes` classes
} dq_task_options;

typedef struct dq_figure {
  const char *name; // "top-1"; static
  const char *key;  // "top1", for JSON and CSV; static
  double value;
  const char *unit; // "%" or "" (a count, or a Dice coefficient)
  int decimals;     // for people
} dq_figure;

enum { DQ_MAX_FIGURES = 16, DQ_RESULT_PARTS = 16 };

// The figures of a task. Conditions such as --max-drop look at the first one: larger is better, and the loss in
// percentage points is (value before - value after) * points.
typedef struct dq_result {
  const char *task;
  int64_t pictures;
  int64_t nonfinite; // number of these pictures with an element NaN or +infinity in an output
  int count;         // of figures; 0 for the task "none"
  double points;     // 1 when figures[0] is in percent, 100 when it is a coefficient
  dq_figure figures[DQ_MAX_FIGURES];
  // What figures[0] is without a part of the pictures, of which picture p belongs to part p mod DQ_RESULT_PARTS.
  bool has_parts; // else not known: of tasks that do not compute it, and of fewer pictures than parts
  double without[DQ_RESULT_PARTS];
  double low; // of agreement: the lower end of the 95 % interval of figures[0]; 0: not known
} dq_result;

// DQ_USAGE: the text is not the name of a task. NULL, for the task that the outputs and the labels suggest, is allowed.
dq_status dq_task_check(const char *task, dq_error *error);
// Chooses the task (and reports the choice in a message when options->task is NULL) and checks that the outputs and the
// labels fit it. The caller frees *task. DQ_USAGE: an unknown task or decoder; DQ_BAD_INPUT: the form of the outputs or
// of the labels, or the number of classes, does not fit; DQ_SYSTEM: there is no memory.
dq_status dq_task_open(dq_task **task, const dq_task_options *options, const dq_context *context, dq_error *error);
void dq_task_free(dq_task *task);              // NULL is allowed
const char *dq_task_name(const dq_task *task); // "classify", ...; static

// Adds one picture: entry `item` along dimension 0 of each of the output_count tensors, in the order of the model, of
// any computable type, and its label, for which the file that `info` names is read. For `detect` a picture without a
// label file is one without objects; other tasks fail. DQ_BAD_INPUT: the label is missing, broken or outside of the
// classes of the model; DQ_USAGE: the preprocessing does not suit the task; DQ_SYSTEM: the file cannot be read, or
// there is no memory.
dq_status dq_task_add(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                      dq_error *error);

// Sets the number of the first picture that this one of several processes adds; it is 0 without a call.
void dq_task_begin_at(dq_task *task, int64_t first);
// Adds, on all processes, the pictures of the others, as if all had been added here in the order of the processes. All
// call it, at most once. DQ_SYSTEM: there is no memory.
dq_status dq_task_share(dq_task *task, const dq_processes *processes, dq_error *error);

// The figures of the pictures added so far. More pictures may be added afterwards. DQ_SYSTEM: there is no memory.
dq_status dq_task_result(dq_task *task, dq_result *result, dq_error *error);

const char *dq_task_kind_name(int index); // names in the order of tasks.def; NULL after the last

// ---- Top-1 and top-5 ----

typedef struct dq_top {
  int64_t pictures;
  int64_t first, five; // pictures whose label is the class of the highest score, or among the five highest
} dq_top;

// Whether a number is no valid score: NaN or +infinity, which sums that overflow give. -infinity is a valid score;
// networks write it for classes that they exclude.
static inline bool dq_is_no_score(double score) { return !(score < INFINITY); }

// Adds the scores[classes] of one picture whose class is `label` (0 to classes - 1). Of equal scores the one with the
// smaller index is the higher. When any score is invalid (dq_is_no_score) the picture counts as wrong.
void dq_top_add(dq_top *top, const double *scores, int64_t classes, int64_t label);

// ---- Binary segmentation: Dice and IoU ----

typedef struct dq_dice {
  int64_t intersection, sum;  // over all pictures, in pixels: |P & M| and |P| + |M| of the prediction P and the mask M
  double slices;              // sum of the Dice coefficients of the pictures whose mask is not empty
  int64_t slice_count;        // number of these pictures
  int64_t empty, empty_clean; // pictures with an empty mask; those of them with an empty prediction
} dq_dice;

// Adds one picture. `found` and `mask` have a 0 or a 1 for each pixel.
void dq_dice_add(dq_dice *dice, const uint8_t *found, const uint8_t *mask, int64_t pixels);
double dq_dice_pooled(const dq_dice *dice); // 2 |P & M| / (|P| + |M|) over all pictures; 1 when all are empty
double dq_dice_slices(const dq_dice *dice); // mean Dice coefficient of the pictures whose mask is not empty
double dq_iou_pooled(const dq_dice *dice);  // |P & M| / |P or M| over all pictures; 1 when all are empty

// ---- Segmentation in classes ----
// `confusion` is a matrix of pixel counts, confusion[label * (classes + 1) + found], with classes * (classes + 1)
// elements. Its last column counts pixels without a prediction.

// Adds one picture. A pixel whose mask is `classes` or more is ignored. A prediction of `classes` or more is no
// prediction, which counts as wrong.
void dq_confusion_add(int64_t *confusion, int64_t classes, const uint8_t *found, const uint8_t *mask, int64_t pixels);
// Intersection over union of one class, 0 to 1; 0 for a class that occurs nowhere.
double dq_confusion_iou(const int64_t *confusion, int64_t classes, int64_t label);
// The mean intersection over union of the classes that occur in the masks.
double dq_confusion_mean_iou(const int64_t *confusion, int64_t classes);
// The share of the pixels, ignored ones left out, whose prediction is right: 0 to 1.
double dq_confusion_accuracy(const int64_t *confusion, int64_t classes);

// ---- Detection ----

// Average precision: the area under the precision-recall curve at all points, with the precision at each recall
// replaced by the largest precision at that or a higher recall (M. Everingham et al., The PASCAL Visual Object Classes
// Challenge: A Retrospective, IJCV 2015). hits[i] is 1 when detection i, in the order of descending scores, is a true
// positive; `positives` is the number of labelled boxes.
double dq_average_precision(const uint8_t *hits, int64_t count, int64_t positives);

// ---- One model's outputs against another's ----

// The noise of one element, wherever two networks are compared: the squared difference from the reference; infinite
// where the element is NaN or infinite and the reference is finite; 0 where the reference is NaN or infinite.
static inline double dq_squared_error(double reference, double other) {
  double difference = reference - other;
  if (isfinite(difference)) return difference * difference;
  return isfinite(reference) ? INFINITY : 0;
}
// The signal of one element: the square of the reference, 0 where the reference is NaN or infinite.
static inline double dq_squared_signal(double reference) { return isfinite(reference) ? reference * reference : 0; }
// Whether an element is broken: it is NaN or infinite and the reference is finite.
static inline bool dq_is_broken(double reference, double other) { return isfinite(reference) && !isfinite(other); }

// Adds dq_squared_signal and dq_squared_error of `count` elements, with the threads and the kernels of the context
// (NULL: in the caller, in plain C), which do not change the bits of the sums.
void dq_add_squares(const float *reference, const float *other, int64_t count, const dq_context *context,
                    double *signal, double *noise);

typedef struct dq_comparison {
  double signal, noise;  // sums of dq_squared_signal and dq_squared_error
  double product, other; // sums of reference * other and of other squared, over elements finite on both sides
  double largest;        // largest absolute difference; infinite when an element is broken
  int64_t values;        // elements that are finite in the reference
  int64_t nonfinite;     // number of broken elements among them
  int64_t left_out;      // elements that are NaN or infinite in the reference
  int64_t pictures;      // calls of dq_comparison_add
  int64_t agree;         // pictures without broken elements whose largest element has the same index in both
} dq_comparison;

// Adds entry `item` along dimension 0 of both tensors, or with item < 0 the whole tensors, as one picture. The tensors
// are of any computable types. DQ_BAD_INPUT: their numbers of elements differ.
dq_status dq_comparison_add(dq_comparison *comparison, const dq_tensor *reference, const dq_tensor *other, int64_t item,
                            dq_error *error);
// Adds elements without counting a picture.
void dq_comparison_add_values(dq_comparison *comparison, const float *reference, const float *other, int64_t count);
// Adds the sums and counts of further pictures or elements.
void dq_comparison_merge(dq_comparison *comparison, const dq_comparison *further);
// The SQNR in dB; INFINITY when no element differs, -INFINITY when an element is broken.
double dq_comparison_sqnr(const dq_comparison *comparison);
// The cosine of the angle between both, -1 to 1; NaN when an element is broken or no element was added.
double dq_comparison_cosine(const dq_comparison *comparison);
// The share of the pictures counted by dq_comparison_add that agree: 100 * agree / pictures, 0 to 100 %; 100 without
// pictures.
double dq_comparison_agreement(const dq_comparison *comparison);

#endif
