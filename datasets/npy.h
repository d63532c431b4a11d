// NumPy's .npy files (format versions 1 to 3) and tensors.
#ifndef DQ_DATASETS_NPY_H
#define DQ_DATASETS_NPY_H

#include <stdint.h>

#include "lib/base/tensor.h"

// Reads the header of a whole file in memory. `tensor` gets type and shape, and data pointing at
// the elements inside `bytes` (which may not be aligned to their size). DQ_BAD_INPUT: not an .npy
// file, truncated, Fortran order, big endian, a type that is no number; `name` stands in messages.
dq_status dq_npy_parse(dq_tensor *tensor, const uint8_t *bytes, size_t size, const char *name, dq_error *error);

// A whole file into a tensor of the arena. "-" reads standard input.
dq_status dq_npy_read(dq_tensor **tensor, const char *path, dq_arena *arena, dq_error *error);

// Writes version 1.0, little endian, C order; the file appears when complete. "-" is standard
// output. DQ_UNSUPPORTED: element types that NumPy does not have.
dq_status dq_npy_write(const char *path, const dq_tensor *tensor, dq_error *error);

#endif
