// dq.h: conversion to float16.
#ifndef DQ_AMP_H
#define DQ_AMP_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// float16: nodes that gain much and lose little (Conv, Gemm, MatMul) and those between them.
typedef struct dq_model_amp_options {
  size_t size;
  int half_io;                              // inputs and outputs become float16 as well; default 0
  const char *const *allow, *const *follow; // operators that are, or adapt to, float16
  const char *const *deny;                  // operators that stay float32
  const char *const *deny_nodes;            // shell patterns on the names of nodes that stay so
  const char *const *shapes;                // of inputs the model leaves open, for cast_bytes and rounding
  int nearest;        // every weight the nearest float16, not the one of two that lets mean errors cancel; default 0
  const char *policy; // file with categories of operators and nodes; NULL (default): those of dq
  int unguarded;      // nodes that may leave float16 become float16 all the same; default 0
  double input_max;   // largest magnitude of the inputs, 1e-30...1e30, for the guard and the rounding; 0 (default): 255
  dq_dataset *check;  // run the model as it was on them, for dq_model_amp_range_at and the facts; NULL (default): none
} dq_model_amp_options;

typedef struct dq_model_amp_facts {
  size_t size;
  int nodes, half_nodes;   // all, and those in float16 now; 0 of them: nothing to do
  int casts;               // Cast nodes written
  int64_t cast_bytes;      // read and written by them in a run of batch 1; -1: a size is open
  int64_t weights;         // elements stored in float16
  int64_t lost_to_zero;    // of them, those too small, which are 0 now
  int guarded;             // nodes that the guard keeps in float32
  int64_t kept_weights;    // elements that are still stored in float32
  int64_t pictures;        // of `check`; 0: none
  int checked, overflowed; // values looked at on these, and those of them that leave float16
} dq_model_amp_facts;

typedef struct dq_model_amp_row {
  size_t size;
  const char *name, *op_type;
  int half;           // computed in float16
  const char *reason; // why, or why not
} dq_model_amp_row;

// What one value that exists in float16 now was in the model before, on the pictures of `check`.
typedef struct dq_model_amp_range {
  size_t size;
  const char *name, *op_type; // of the node that computes it; of inputs the name of the value and "input"
  double largest;             // finite magnitude
  int64_t elements;           // seen, on all pictures
  int64_t overflow;           // of them, those beyond float16 (65520 and more), NaN and infinity
  int64_t subnormal;          // of them, those in (0, 2^-14), where float16 has fewer digits
} dq_model_amp_range;

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size);
// `options` and `facts` may be NULL, here and below.
dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure);
int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row);
int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range);

#ifdef __cplusplus
}
#endif

#endif
