// dq.h: conversion to float16.
#ifndef DQ_AMP_H
#define DQ_AMP_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Conversion to float16 of the nodes that gain much and lose little accuracy (Conv, Gemm, MatMul), and of those between
// them. Each operator has a category: ALLOW (float16), DENY (float32) or FOLLOW (whatever casts fewer bytes).
typedef struct dq_model_amp_options {
  size_t size;
  int half_io;                              // inputs and outputs of the model become float16 as well; default 0
  const char *const *allow, *const *follow; // operators whose category becomes ALLOW, or FOLLOW
  const char *const *deny;                  // operators whose category becomes DENY
  const char *const *deny_nodes;            // shell patterns on names of nodes that stay float32
  const char *const *shapes;                // for cast_bytes and the rounding of weights
  int nearest;        // round every weight to the nearest float16; default 0: balanced rounding, up or down so that the
                      // mean errors of an output channel cancel
  const char *policy; // path of a file with categories of operators and nodes; NULL (default): those of dq
  int unguarded;      // convert also nodes where a value may leave the range of float16; default 0
  double input_max;   // largest |x| of the inputs, 1e-30 to 1e30, for the guard and the rounding; 0 (default): for a
                      // model with one input what the preprocessing of `check`, without `check` that which the model
                      // records, makes of pictures; else 255
  dq_dataset *check;  // pictures on which the model as it was is run, to observe the values that become float16: see
                      // dq_model_amp_range_at; NULL (default): none
} dq_model_amp_options;

typedef struct dq_model_amp_facts {
  size_t size;
  int nodes, half_nodes;   // number of nodes (and of rows), and of those that are float16 now; half_nodes 0: unchanged
  int casts;               // Cast nodes that were written
  int64_t cast_bytes;      // bytes that these read and write in a run of batch 1; -1: a size is open
  int64_t weights;         // elements of weights stored in float16
  int64_t lost_to_zero;    // how many of these elements were too small for float16 and are 0 now
  int guarded;             // nodes that the guard keeps in float32
  int64_t kept_weights;    // elements of weights that are still stored in float32
  int64_t pictures;        // of `check`; 0: none
  int checked, overflowed; // values observed on these pictures (rows of dq_model_amp_range_at), and those of them with
                           // an element beyond float16
  // Lowest SQNR of a part of an output in dB, and lowest agreement of an output with the model before in percent, on at
  // most 64 pictures of `check`, without `check` on noise. INFINITY: no error; NAN: nothing was measured, as the model
  // did not change or cannot be run on noise, or no output stands for answers.
  double outputs_sqnr, outputs_agreement;
} dq_model_amp_facts;

// One node, in the order of the model before the conversion.
typedef struct dq_model_amp_row {
  size_t size;
  const char *name, *op_type;
  int half;           // 1: computed in float16; 0: in float32
  const char *reason; // why
} dq_model_amp_row;

// One value that is float16 now: its elements in the model as it was, on the pictures of `check`.
typedef struct dq_model_amp_range {
  size_t size;
  const char *name, *op_type; // of the node that computes the value; of an input its name and "input"
  double largest;             // largest finite |x|
  int64_t elements;           // number of elements, on all pictures
  int64_t overflow;           // elements beyond float16: |x| of 65520 and more, NaN and infinity
  int64_t subnormal;          // elements with |x| in (0, 2^-14), where float16 has fewer digits
} dq_model_amp_range;

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size);
// Converts the model in place. DQ_CODE_CONDITION: the model is converted and `facts` are filled, but a value is beyond
// float16 on the pictures of `check` (facts->overflowed), or an output has NaN or infinity where the model before has
// none, on these pictures or, without `check`, on noise. DQ_CODE_USAGE: an option is out of its range or names an
// unknown operator; DQ_CODE_BAD_INPUT: the policy or the pictures of `check` do not fit; DQ_CODE_UNSUPPORTED: the
// version of an operator is not supported, or dq cannot run a node on the pictures of `check`.
dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure);
int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row);
int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
