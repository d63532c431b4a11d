// Arrays for tests of the commands.
#ifndef DQ_TESTS_MODELS_ARRAYS_H
#define DQ_TESTS_MODELS_ARRAYS_H

// make_models --array FILE.npy DIM...: float32 numbers of a normal distribution. 0: written, else a dq_status.
int make_array(const char *path, int rank, char *const *texts);
// make_models --whole FILE.npy BELOW DIM...: int64 numbers from 0 to below BELOW.
int make_whole_array(const char *path, int below, int rank, char *const *texts);
// make_models --tensor FROM.npy TO.pb: the array as a TensorProto.
int make_tensor(const char *from, const char *to);

// make_models --compare ARRAY.npy REFERENCE.npy SHARE: 0 when no element is further from the reference than SHARE
// of its largest one; 1 when one is, or is not finite; 2 when the two cannot be compared.
int compare_arrays(const char *left, const char *right, const char *text);

#endif
