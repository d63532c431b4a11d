// The ONNX node test suite: folders with model.onnx and test_data_set_N/{input,output}_M.pb.
#ifndef DQ_EVAL_NODE_SUITE_H
#define DQ_EVAL_NODE_SUITE_H

#include "lib/base/context.h"

typedef enum dq_case_result { DQ_CASE_PASSED, DQ_CASE_FAILED, DQ_CASE_SKIPPED } dq_case_result;

typedef struct dq_suite_counts {
  int of[3]; // number of cases, by dq_case_result
} dq_suite_counts;

// Called once for every case. `reason` says why a case failed or was skipped; it is "" for a case that passed.
typedef void (*dq_case_report)(void *user, const char *name, dq_case_result result, const char *reason);

typedef struct dq_suite_options {
  const char *only;      // shell pattern on names of cases; NULL: all
  bool plain;            // runs without passes
  dq_case_report report; // NULL: cases are counted only
  void *user;            // first argument of `report`
} dq_suite_options;

// Runs every case below `folder` in the order of names. A case passes when all outputs have the expected type and shape
// and every element agrees within |a - b| <= 1e-3 |expected| + 1e-7, the bounds of the suite, integers and booleans
// exactly (results of quantization within one step). A case whose operator or type is not supported is skipped with the
// reason. Returns DQ_OK also when cases fail; DQ_BAD_INPUT: the folder has no case; DQ_SYSTEM: it cannot be read;
// DQ_CANCELLED.
dq_status dq_suite_run(const char *folder, const dq_suite_options *options, const dq_context *context,
                       dq_suite_counts *counts, dq_error *error);

#endif
