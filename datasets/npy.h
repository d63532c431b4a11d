// Reads and writes .npy files of NumPy (format versions 1 to 3).
#ifndef DQ_DATASETS_NPY_H
#define DQ_DATASETS_NPY_H

#include <stdint.h>

#include "lib/base/tensor.h"

// Reads a file that is in memory. `tensor` receives type and shape, and its data point at the elements inside of
// `bytes`, where they need not be aligned to their size. Messages begin with `name`. DQ_BAD_INPUT: the bytes are not an
// .npy file or are cut off, or the elements are in Fortran order, big endian or not numbers.
dq_status dq_npy_parse(dq_tensor *tensor, const uint8_t *bytes, size_t size, const char *name, dq_error *error);

// Reads a file into a tensor of the arena. "-" is standard input. Statuses as for dq_npy_parse; DQ_SYSTEM: the file
// cannot be read, or there is no memory.
dq_status dq_npy_read(dq_tensor **tensor, const char *path, dq_arena *arena, dq_error *error);

// Writes a file of version 1.0, little endian, in C order, which appears under its name when it is complete. "-" is
// standard output. DQ_UNSUPPORTED: NumPy has no such element type; DQ_SYSTEM: the file cannot be written.
dq_status dq_npy_write(const char *path, const dq_tensor *tensor, dq_error *error);

#endif
