// A tensor: element type, dimensions, and a pointer to elements in row-major (NCHW) order.
#ifndef DQ_BASE_TENSOR_H
#define DQ_BASE_TENSOR_H

#include "lib/base/arena.h"
#include "lib/base/dtype.h"
#include "lib/base/status.h"

enum { DQ_MAX_RANK = 8 };

typedef struct dq_tensor {
  int type;                  // dq_dtype; other ONNX numbers are carried through
  int rank;                  // 0: scalar; -1: shape not known
  int64_t dims[DQ_MAX_RANK]; // all >= 0
  void *data;                // NULL: there are no elements, or they are not known (shape inference)
} dq_tensor;

// The number of elements: the product of the dimensions, which cannot overflow because dq_tensor_shape checked it. 1
// for a scalar. The rank must not be -1 (unknown).
int64_t dq_tensor_count(const dq_tensor *tensor);
// The product of dims[from] to dims[to - 1]; 1 when from == to.
int64_t dq_tensor_product(const dq_tensor *tensor, int from, int to);
size_t dq_tensor_bytes(const dq_tensor *tensor); // of all elements; 0 for types that are not computable
// Whether rank and dimensions are equal, whatever the types. Two shapes that are not known (rank -1) count as equal.
bool dq_tensor_same_shape(const dq_tensor *a, const dq_tensor *b);

// Sets type and dimensions, and leaves `data` as it is. DQ_UNSUPPORTED: the rank is above
// DQ_MAX_RANK; DQ_BAD_INPUT: a dimension is negative, or the number of elements is 2^56 or more.
dq_status dq_tensor_shape(dq_tensor *tensor, int type, int rank, const int64_t *dims, dq_error *error);

// A tensor with zeroed elements, owned by the arena; NULL when there is no memory.
dq_tensor *dq_tensor_new(dq_arena *arena, int type, int rank, const int64_t *dims);
// A scalar (rank 0) of float32, or of `type` DQ_I8 or DQ_U8, with this value; NULL when there is no memory.
dq_tensor *dq_tensor_scalar_f32(dq_arena *arena, float value);
dq_tensor *dq_tensor_scalar_i8(dq_arena *arena, int type, int value);

// Element `index` (0 <= index < dq_tensor_count) of a computable type, whose `data` is not NULL, as a number; bool
// gives 0 or 1. dq_tensor_get rounds integers beyond 2^53 to the nearest double. dq_tensor_get_i64 is exact for
// integers below 2^63; larger ones of uint64 wrap.
double dq_tensor_get(const dq_tensor *tensor, int64_t index);
int64_t dq_tensor_get_i64(const dq_tensor *tensor, int64_t index);
// Stores a number, rounded to the nearest one that the type can hold, ties to even. Integer types limit it to their
// range and store 0 for NaN.
void dq_tensor_set(dq_tensor *tensor, int64_t index, double value);

// Whether an input of this shape, dims[rank], has its channels in the last dimension (N x H x W x C): rank 4, dims[3]
// is 1 or 3 and dims[1] is neither. Else the channels come second (N x C x H x W), also for another rank. Dimensions
// that are not known are negative, and `rank` may be -1.
bool dq_channels_last(int rank, const int64_t *dims);

// Writes a shape such as "1x3x224x224" into `text` (DQ_SHAPE_TEXT bytes are always enough), and returns `text`.
const char *dq_tensor_shape_text(const dq_tensor *tensor, char *text, size_t size);
enum { DQ_SHAPE_TEXT = 180 };

// The index of the first element that is NaN or infinite; -1 when there is none, as in every integer tensor.
int64_t dq_tensor_first_not_finite(const dq_tensor *tensor);

#endif
