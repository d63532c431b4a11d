// Whether numbers are scores of classes where no Softmax says so: a classifier without one at its end gives one class
// clearly the most, and not the same one always, while measurements, positions and features do not.
#ifndef DQ_EVAL_SCORES_H
#define DQ_EVAL_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/tensor.h"
#include "lib/graph/graph.h"

// What is known of answers, each a choice among the same number of classes. Zeroed: none was looked at.
typedef struct dq_score_look {
  int64_t answers, first; // answers that were looked at; the class with the highest number in the first of them
  double share;           // sum over the answers of the Softmax of the highest number
  bool varies;            // the class with the highest number is not the same in all
} dq_score_look;

// Looks at one answer: `classes` (2 or more) numbers of a tensor of any computable type, the first at `from`, `step`
// elements apart. One with NaN or +infinity is left out.
void dq_score_look_add(dq_score_look *look, const dq_tensor *tensor, int64_t from, int64_t classes, int64_t step);

// Adds what was looked at in further answers among the same classes.
void dq_score_look_merge(dq_score_look *look, const dq_score_look *further);

// Whether these are scores of classes: the mean share of the highest number is at least 1 / K + (1 - 1 / K) / 4 of K
// classes, and, of 8 answers or more, its class varies. False without answers.
bool dq_score_look_is_classes(const dq_score_look *look, int64_t classes);

// Whether a tensor is one vector of two numbers or more for each picture (dimension 0), as scores of classes are.
bool dq_is_vector(const dq_tensor *tensor);
// Whether the network says that a value is shares of classes or the argument of such: a Softmax or LogSoftmax computes
// it, through nodes that only move or convert elements.
bool dq_is_softmax(const dq_value *value);

#endif
