// The pictures of a training: in another order in each epoch, changed at random, with the targets of the loss.
#ifndef DQ_TRAIN_LOOP_BATCHES_H
#define DQ_TRAIN_LOOP_BATCHES_H

#include "datasets/datasets.h"
#include "lib/train/loop/augment.h"

typedef struct dq_batches_options {
  dq_data *data;
  dq_augmentation augmentation;
  double label_smoothing;      // s: the target of the label is 1 - s + s / classes, of the others s / classes
  bool unlabelled;             // no targets are written; the caller computes them, as with a teacher
  const dq_picture_part *part; // of each batch, which is read; NULL: all of it
} dq_batches_options;

typedef struct dq_batches {
  dq_batches_options options;
  const dq_context *context;
  dq_tensor *input, *targets; // where a batch goes to
  dq_picture_layout layout;   // of a picture; only where pictures are changed
  int64_t batch, per_epoch;   // pictures in a batch, whole batches in an epoch; the pictures left over are others in
                              // each epoch
  int64_t first, count;       // pictures first to first + count - 1 of a batch are read
  int64_t epoch;              // whose order this is, from 0
  int64_t *order;             // [pictures]
  float *scratch;             // [threads][elements of a picture]
  dq_status *statuses;        // [count]: of reading
} dq_batches;

// Fills *batches, whatever it held. `input` and `targets` are those of a training and have its batch in dimension 0;
// `options` are copied. Arrays are in the arena: an int64 for each picture of the data, and for each thread of the
// context the elements of one picture. Data, tensors and context (NULL is allowed) must outlive the batches; nothing is
// to be closed. dq_batches_shuffle comes before the first read. DQ_BAD_INPUT: the data has fewer pictures than the
// batch, no class labels, or labels beyond the classes of the targets; the input is no batch of pictures although these
// are to be changed. Else statuses as dq_data_set_shape.
dq_status dq_batches_open(dq_batches *batches, const dq_batches_options *options, dq_tensor *input, dq_tensor *targets,
                          dq_arena *arena, const dq_context *context, dq_error *error);

// Sets the order of an epoch, 0 or more, which depends on its number and the seed of the context alone. Takes one pass
// over the indices of all pictures.
void dq_batches_shuffle(dq_batches *batches, int64_t epoch);

// Reads batch `index` (0 to batches->per_epoch - 1) of the epoch that dq_batches_shuffle set, or the part of it, into
// the input and, unless unlabelled, the targets, on all threads of the context. The result depends on epoch, index and
// seed alone. After a failure input and targets hold a part of the batch, and the call may be repeated. Statuses as
// dq_data_read; DQ_BAD_INPUT: a picture has no label of a class of the targets.
dq_status dq_batches_read(dq_batches *batches, int64_t index, dq_error *error);

#endif
