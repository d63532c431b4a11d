// Random changes of pictures, so that a training sees each of them in many forms.
#ifndef DQ_TRAIN_LOOP_AUGMENT_H
#define DQ_TRAIN_LOOP_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/random.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

// The changes of a picture, in the order in which they are made; 0: the change is not made.
typedef struct dq_augmentation {
  double colour;  // S: x becomes m + f (x - m) + s d with the mean m and the standard deviation d of the picture, and
                  // f uniform in 1 - S to 1 + S, s in -S to S
  int64_t crop;   // N: the picture gets N zeros on each side, and a window of its size is taken at a random place
  bool flip;      // left and right are exchanged in half of the cases
  int64_t cutout; // N: N x N pixels around a random pixel become 0, as far as they are inside
} dq_augmentation;

// Reads a text such as "flip,crop=4,cutout=8,colour=0.2" (`colour` also as `color`). DQ_USAGE: it has another form, or
// a number is out of its range: crop and cutout 1 to 65536, colour above 0 and at most 1.
dq_status dq_augmentation_parse(dq_augmentation *augmentation, const char *text, dq_error *error);

// The sides of a picture and the distances between its elements.
typedef struct dq_picture_layout {
  int64_t channels, height, width;
  int64_t channel_step, row_step, column_step;
} dq_picture_layout;

// The layout of one picture of an input N x C x H x W or N x H x W x C. False: the input is no batch of pictures.
bool dq_picture_layout_of(const dq_tensor *input, dq_picture_layout *layout);

// Changes `picture`, whose elements lie as `layout` says, in place. `scratch` has as many elements as the picture.
// Numbers drawn from *random decide on the changes; the same state of *random gives the same picture.
void dq_augment(const dq_augmentation *augmentation, const dq_picture_layout *layout, dq_random *random, float *picture,
                float *scratch);

#endif
