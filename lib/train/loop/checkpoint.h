// Files that hold a training between two steps: a text that says which training it is, then numbers as they lie in
// memory, then a hash of everything before.
#ifndef DQ_TRAIN_LOOP_CHECKPOINT_H
#define DQ_TRAIN_LOOP_CHECKPOINT_H

#include <stdbool.h>

#include "lib/base/context.h"

typedef struct dq_checkpoint_part {
  void *data;
  size_t bytes;
} dq_checkpoint_part;

typedef struct dq_checkpoint {
  const char *path;
  const char *settings;            // lines `name=value`, which say which training it is
  const dq_checkpoint_part *parts; // [count]
  int count;
} dq_checkpoint;

// Writes the file, which appears under its name when it is complete. DQ_SYSTEM: it cannot be written; the file that had
// the name before stays.
dq_status dq_checkpoint_save(const dq_checkpoint *checkpoint, dq_error *error);

// Fills checkpoint->parts[.].data from the file, with the path, settings and sizes of parts that it was saved with. A
// failure changes nothing. DQ_BAD_INPUT: the file is no checkpoint, is truncated or broken, or has other settings; the
// message then has the first setting that differs. DQ_SYSTEM: it cannot be read.
dq_status dq_checkpoint_load(const dq_checkpoint *checkpoint, dq_error *error);

#endif
