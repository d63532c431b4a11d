// The answers that outputs of a network stand for, and how many of them a converted network gives too: classes,
// sequences of classes (texts), classes of points, masks. They need no labels. If D percent of the answers differ, the
// share of right answers can fall by D percentage points at most.
#ifndef DQ_VERDICT_ANSWERS_H
#define DQ_VERDICT_ANSWERS_H

#include "lib/base/tensor.h"
#include "lib/eval/scores.h"
#include "lib/graph/graph.h"

typedef enum dq_answer_kind {
  DQ_ANSWER_NONE,     // the output stands for no answers that can be compared
  DQ_ANSWER_CLASS,    // NxC: the class with the highest score, by row; Nx1 behind a Sigmoid: whether it is above 0.5
  DQ_ANSWER_SCORE,    // several numbers behind a Sigmoid: labels, frames, maps: the elements above 0.5
  DQ_ANSWER_SEQUENCE, // NxTxC, or TxC of one picture, behind a Softmax: the classes of the T steps, by row
  DQ_ANSWER_POINT,    // NxCxHxW..., or NxHxWxC behind a Softmax: the class with the highest score, by point
  DQ_ANSWER_MASK,     // Nx1xHxW... behind a Sigmoid: the elements above 0.5
  DQ_ANSWER_BOX,      // boxes with a class, of a detector (lib/verdict/detection_error.h)
} dq_answer_kind;

typedef struct dq_answers {
  dq_answer_kind kind;
  int axis;               // dimension of the classes; kinds with classes only
  int64_t answers, equal; // answers that were compared; those that are equal
  float threshold;        // of single scores and masks: 0.5, of arguments of a Sigmoid 0
  bool guessed;           // nothing says that the numbers are scores of classes
  bool picture;           // guessed, of a map with the channels of a picture that goes in: never such scores
} dq_answers;

// What answers are called, in the plural: "classes", of guessed ones "maxima"; "" for DQ_ANSWER_NONE. Static text.
const char *dq_answers_name(const dq_answers *answers);

// The answers, none yet, of an output of an indexed graph, whose shapes are `tensors` (dq_infer). `compared` is the
// value whose elements will be added as float32: the output, or the argument of the Softmax or Sigmoid that computes
// it. Numbers that no Softmax or Sigmoid computes are scores by guess: vectors, and maps that are the only output, as
// others may be raw heads of a detector.
dq_answers dq_answers_of(const dq_graph *graph, const dq_value *output, const dq_tensor *tensors,
                         const dq_value *compared);

// Looks at one output of the float network, elements of `shape` (dq_score_look_add), at 4096 of its answers at most.
// Where the look says that the numbers are scores of classes, answers are guessed no more. An output without elements,
// or without the dimension of the classes, has no answers.
void dq_answers_look(const dq_answers *answers, const dq_tensor *shape, const float *exact, dq_score_look *look);

// Adds one output of both networks, as float32 elements of `shape`: that of the kind (dq_answer_kind), with any number
// of pictures N. Of equal scores the first is the highest. Of sequences, equal steps in succession count once, and the
// class that is the most frequent
// one in `exact` (the blank of CTC) is left out: a sequence is equal when all the rest is. Of masks and
// scores the elements above the threshold in either network are the answers, and those above it in both are equal
// (intersection over union). Two answers
// differ also where an element that one of them is taken from is broken (dq_is_broken). Boxes are not added here.
// DQ_SYSTEM: there is no memory.
dq_status dq_answers_add(dq_answers *answers, const dq_tensor *shape, const float *exact, const float *other,
                         dq_error *error);

// Percent of the answers that are equal; 100 when there are none.
double dq_answers_agreement(const dq_answers *answers);

#endif
