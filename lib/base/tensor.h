// A tensor: element type, dimensions, and a pointer to elements in row-major (NCHW) order.
#ifndef DQ_BASE_TENSOR_H
#define DQ_BASE_TENSOR_H

#include "lib/base/arena.h"
#include "lib/base/dtype.h"
#include "lib/base/status.h"

enum { DQ_MAX_RANK = 8 };

typedef struct dq_tensor {
  int type;                  // dq_dtype; other ONNX ids are carried through
  int rank;                  // 0: scalar; -1: shape not known
  int64_t dims[DQ_MAX_RANK]; // all >= 0
  void *data;                // NULL: elements not known (shape inference) or none
} dq_tensor;

// Product of the dimensions; shapes in tensors have been checked, so it cannot overflow.
int64_t dq_tensor_count(const dq_tensor *tensor);
// Product of dims[from..to).
int64_t dq_tensor_product(const dq_tensor *tensor, int from, int to);
size_t dq_tensor_bytes(const dq_tensor *tensor); // 0 for types whose size is not known
bool dq_tensor_same_shape(const dq_tensor *a, const dq_tensor *b);

// Sets type and dims after checking them: rank at most DQ_MAX_RANK, no negative dimension, bytes fit.
dq_status dq_tensor_shape(dq_tensor *tensor, int type, int rank, const int64_t *dims, dq_error *error);

// A tensor with zeroed elements, owned by the arena; NULL when there is no memory.
dq_tensor *dq_tensor_new(dq_arena *arena, int type, int rank, const int64_t *dims);
dq_tensor *dq_tensor_scalar_f32(dq_arena *arena, float value);
dq_tensor *dq_tensor_scalar_i8(dq_arena *arena, int type, int value); // DQ_I8 or DQ_U8

// Element `index` as a number, for any computable type.
double dq_tensor_get(const dq_tensor *tensor, int64_t index);
int64_t dq_tensor_get_i64(const dq_tensor *tensor, int64_t index);
// Stores a number; integers saturate, floats round to nearest even.
void dq_tensor_set(dq_tensor *tensor, int64_t index, double value);

// Whether the channels of pictures come last in an input of that shape, N x H x W x C: dims[3] is 1
// or 3 and dims[1] is neither (negative: not known). Else they come first, N x C x H x W.
bool dq_channels_last(int rank, const int64_t *dims);

// "1x3x224x224" into `text` (for messages); returns text.
const char *dq_tensor_shape_text(const dq_tensor *tensor, char *text, size_t size);
enum { DQ_SHAPE_TEXT = 180 };

// The index of the first element that is NaN or infinite; -1: none is, or the elements are integers.
int64_t dq_tensor_first_not_finite(const dq_tensor *tensor);

#endif
