// How good a model's outputs are: accuracy, Dice and IoU, mAP50 against labels, and how far one
// model's outputs are from another's. Nothing here runs a model: a runner hands in the outputs of
// one picture after the other.
#ifndef DQ_EVAL_EVAL_H
#define DQ_EVAL_EVAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "datasets/datasets.h"
#include "lib/base/context.h"
#include "lib/base/tensor.h"

// ---- Tasks: classify, segment, detect, none (tasks.def) ----

typedef struct dq_task dq_task;

typedef struct dq_task_options {
  const char *task;         // a row of tasks.def; NULL: guessed from outputs and labels
  const char *decode;       // detect: "yolo", "yolo:classes=80,anchors=10x14:23x27/81x82:...[,scale=1.05]"
                            // (heads in output order, '/' between heads) or "yolox"; NULL: the model's
  const char *model_decode; // the model's metadata property `decode` (JSON); NULL: it has none
  int output_count;
  const dq_tensor *outputs; // shapes only, the pictures along dimension 0
  const char *const *output_names;
  int64_t input_height, input_width; // of the model
  dq_label_kind labels;
  int64_t classes;    // dq_data_classes
  bool classes_exact; // dq_data_classes_exact: the model must have as many
} dq_task_options;

typedef struct dq_figure {
  const char *name; // "top-1"; static
  const char *key;  // "top1", for JSON and CSV; static
  double value;
  const char *unit; // "%" or "" (a count, or a Dice coefficient)
  int decimals;     // for people
} dq_figure;

enum { DQ_MAX_FIGURES = 8 };

// The first figure is the one a condition such as --max-drop means; larger is better, and
// percentage points are (value_before - value_after) * points.
typedef struct dq_result {
  const char *task;
  int64_t pictures;
  int64_t nonfinite; // pictures of them with an output that is NaN or +infinite somewhere
  int count;         // 0 for "none"
  double points;     // 1 when figures[0] is in percent, 100 when it is a coefficient
  dq_figure figures[DQ_MAX_FIGURES];
} dq_result;

// Decides on the task (said in a note when it was guessed) and checks that outputs and labels fit.
// DQ_USAGE: unknown task or decoder; DQ_BAD_INPUT: outputs or labels of another form, or another
// number of classes.
dq_status dq_task_open(dq_task **task, const dq_task_options *options, const dq_context *context, dq_error *error);
void dq_task_free(dq_task *task); // NULL is fine
const char *dq_task_name(const dq_task *task);

// Takes the outputs of one picture: entry `item` along dimension 0 of each of the output_count
// tensors, in the model's order, of any number type. Reads the label file that `info` names.
// Pictures without a label count as having no objects (detect) or fail.
dq_status dq_task_add(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                      dq_error *error);

// The figures of all pictures so far; may be called again and again.
dq_status dq_task_result(dq_task *task, dq_result *result, dq_error *error);

const char *dq_task_kind_name(int index); // rows of tasks.def; NULL past the end

// ---- Top-1 and top-5 ----

typedef struct dq_top {
  int64_t pictures, first, five;
} dq_top;

// Whether nothing follows from a score: NaN or +infinity, what sums that overflow leave behind. -infinity is a
// score, as networks that mask classes write it.
static inline bool dq_is_no_score(double score) { return !(score < INFINITY); }

// Scores of one picture. Of equal scores the one with the smaller index comes first. When one of them is no score
// the picture is answered wrong.
void dq_top_add(dq_top *top, const double *scores, int64_t classes, int64_t label);

// ---- Binary segmentation: Dice and IoU ----

typedef struct dq_dice {
  int64_t intersection, sum; // pixels over all pictures: |P & M| and |P| + |M|
  double slices;             // sum of Dice over pictures whose mask is not empty
  int64_t slice_count;
  int64_t empty, empty_clean; // pictures with an empty mask; those where nothing was found
} dq_dice;

// Two maps of 0 and 1.
void dq_dice_add(dq_dice *dice, const uint8_t *found, const uint8_t *mask, int64_t pixels);
double dq_dice_pooled(const dq_dice *dice); // 2 |P & M| / (|P| + |M|); 1 when both are empty
double dq_dice_slices(const dq_dice *dice);
double dq_iou_pooled(const dq_dice *dice);

// ---- Segmentation in classes: confusion[label * (classes + 1) + found], pixels ----

// Mask values of `classes` and more are ignored; found values of `classes` and more are no answer, which is wrong.
void dq_confusion_add(int64_t *confusion, int64_t classes, const uint8_t *found, const uint8_t *mask, int64_t pixels);
double dq_confusion_iou(const int64_t *confusion, int64_t classes, int64_t label);
// Mean over the classes that the masks contain.
double dq_confusion_mean_iou(const int64_t *confusion, int64_t classes);
double dq_confusion_accuracy(const int64_t *confusion, int64_t classes);

// ---- Detection ----

typedef struct dq_box {
  double x1, y1, x2, y2;
} dq_box;

double dq_box_iou(const dq_box *a, const dq_box *b);

// Greedy non-maximum suppression: indices of the boxes kept, by falling score (stable), into `keep`
// (room for count); a box goes when its overlap with a kept one is above `threshold`. Returns how
// many are kept, or -1 without memory.
int64_t dq_nms(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t *keep);

// Area under the precision-recall curve with all points, precision made monotone from the right.
// hits[i] says whether detection i, by falling score, is a true positive; `positives` boxes exist.
double dq_average_precision(const uint8_t *hits, int64_t count, int64_t positives);

// ---- One model's outputs against another's ----

// What counts as noise, wherever one network is compared with another: the squared difference of an element from the
// reference's; infinite where the element is NaN or infinite and the reference is not; 0 where the reference itself is
// neither number nor bound, so that nothing can come close to it.
static inline double dq_squared_error(double reference, double other) {
  double difference = reference - other;
  if (isfinite(difference)) return difference * difference;
  return isfinite(reference) ? INFINITY : 0;
}
// What counts as signal beside it.
static inline double dq_squared_signal(double reference) { return isfinite(reference) ? reference * reference : 0; }
// Whether an element is NaN or infinite though the reference is not: no error is larger.
static inline bool dq_is_broken(double reference, double other) { return isfinite(reference) && !isfinite(other); }

typedef struct dq_comparison {
  double signal, noise;    // sums of dq_squared_signal and dq_squared_error
  double product, other;   // sums of reference * other and of other squared, over elements finite on both sides
  double largest;          // largest absolute difference; infinite when an element is broken
  int64_t values;          // elements that are finite in the reference
  int64_t nonfinite;       // of them, those that are NaN or infinite in the other
  int64_t left_out;        // elements that are NaN or infinite in the reference
  int64_t pictures, agree; // whose largest value has the same place in both and of which no element is broken
} dq_comparison;

// Entry `item` along dimension 0 of both (item < 0: whole tensors). DQ_BAD_INPUT: other shapes.
dq_status dq_comparison_add(dq_comparison *comparison, const dq_tensor *reference, const dq_tensor *other, int64_t item,
                            dq_error *error);
void dq_comparison_add_values(dq_comparison *comparison, const float *reference, const float *other, int64_t count);
double
dq_comparison_sqnr(const dq_comparison *comparison); // dB; INFINITY: nothing differs; -INFINITY: an element is broken
double dq_comparison_cosine(const dq_comparison *comparison);    // NaN when an element is broken
double dq_comparison_agreement(const dq_comparison *comparison); // percent of pictures

#endif
