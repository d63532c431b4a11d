#include "tests/models/arrays.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "datasets/npy.h"
#include "lib/base/random.h"
#include "lib/onnx/onnx.h"

// Elements by their places, in the order of the array.
static int write_array(const char *path, int type, int rank, char *const *texts,
                       double (*element)(void *user, int64_t i), void *user) {
  int64_t dims[DQ_MAX_RANK];
  dq_error error = {0};
  dq_arena *arena = dq_arena_new(0);
  for (int i = 0; i < rank && i < DQ_MAX_RANK; i++) dims[i] = atoll(texts[i]);
  dq_tensor *tensor = arena && rank <= DQ_MAX_RANK ? dq_tensor_new(arena, type, rank, dims) : NULL;
  if (!tensor) return 5;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, element(user, i));
  dq_status status = dq_npy_write(path, tensor, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  dq_arena_free(arena);
  return (int)status;
}

static double normal(void *user, int64_t i) {
  (void)i;
  return (double)dq_random_normal(user);
}

int make_array(const char *path, int rank, char *const *texts) {
  dq_random random = {1};
  return write_array(path, DQ_F32, rank, texts, normal, &random);
}

static double whole(void *user, int64_t i) { return (double)((7 * i + i / 5) % *(int *)user); }

int make_whole_array(const char *path, int below, int rank, char *const *texts) {
  return write_array(path, DQ_I64, rank, texts, whole, &below);
}

int make_tensor(const char *from, const char *to) {
  dq_error error = {0};
  dq_tensor *tensor;
  dq_arena *arena = dq_arena_new(0);
  dq_status status = arena ? dq_npy_read(&tensor, from, arena, &error) : DQ_SYSTEM;
  if (status == DQ_OK) status = dq_onnx_write_tensor(to, "x", tensor, &error);
  if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
  dq_arena_free(arena);
  return (int)status;
}

// How far an array is from its reference: the largest difference and the largest element of the reference.
typedef struct {
  double difference, largest;
  int64_t not_finite; // elements of the array
} distance;

// What makes a comparison mean nothing, or NULL: another form, a reference that is not finite or all zero.
static const char *measure(const dq_tensor *array, const dq_tensor *reference, distance *out) {
  if (array->type != reference->type) return "the element types differ";
  if (!dq_tensor_same_shape(array, reference)) return "the shapes differ";
  for (int64_t i = 0; i < dq_tensor_count(array); i++) {
    double found = dq_tensor_get(array, i), expected = dq_tensor_get(reference, i);
    if (!isfinite(expected)) return "the reference is not finite";
    out->largest = fmax(out->largest, fabs(expected));
    if (isfinite(found)) out->difference = fmax(out->difference, fabs(found - expected));
    else out->not_finite++;
  }
  return out->largest > 0 ? NULL : "the reference has no element but zeros";
}

int compare_arrays(const char *left, const char *right, const char *text) {
  dq_error error = {0};
  distance found = {0};
  char *end;
  double share = strtod(text, &end);
  dq_arena *arena = dq_arena_new(0);
  dq_tensor *array, *reference;
  const char *problem = arena ? NULL : "out of memory";
  if (end == text || *end || !(share >= 0)) problem = "the share is not a number from 0";
  if (!problem &&
      (dq_npy_read(&array, left, arena, &error) != DQ_OK || dq_npy_read(&reference, right, arena, &error) != DQ_OK))
    problem = error.message;
  if (!problem) problem = measure(array, reference, &found);
  if (problem) fprintf(stderr, "%s and %s cannot be compared: %s\n", left, right, problem);
  else
    printf("largest difference %.9g, largest element %.9g, not finite %lld\n", found.difference, found.largest,
           (long long)found.not_finite);
  dq_arena_free(arena);
  return problem ? 2 : found.not_finite || found.difference > share * found.largest;
}
