// The operands of dq-multi: a model with keys, such as "camera.onnx,fps=30,data=pictures/".
#ifndef DQ_CMD_MULTI_OPERANDS_H
#define DQ_CMD_MULTI_OPERANDS_H

#include "cmd/options/options.h"
#include "lib/base/arena.h"

enum { DQ_MULTI_PRIORITIES = 3 }; // low, normal, high

typedef struct dq_multi_operand {
  const char *name; // of the network; the path without folders and extension where the operand gives none
  const char *path; // of the model
  const char *data, *preset, *preprocess, *shape; // NULL: not given
  int64_t instances, limit;                       // limit 0: not given
  double rate, deadline; // requests in a second, 0: as fast as possible; seconds, 0: none was given
  int late;              // dq_late_rule; -1: not given
  int threads;           // dq_job_threads; -1: not given
  int decode;            // 0 at the start, 1 in each request; -1: not given
  int priority;          // 0 low, 1 normal, 2 high: below DQ_MULTI_PRIORITIES
} dq_multi_operand;

// Parses operands[count] into (*parsed)[count], in the arena. A key ends where a comma and another key follow, so that
// the values of data=, preprocess= and shape= may have commas. Of networks without name= and with one file name the
// later ones get '#' and their place among the operands, from 1. DQ_USAGE, with the operand and the key in the message:
// a key is unknown or given twice, a value has another form or is out of its range, two networks have one name, or the
// operand has no path.
dq_status dq_multi_operands_parse(dq_multi_operand **parsed, const char *const *operands, int count, dq_arena *arena,
                                  dq_error *error);

#endif
