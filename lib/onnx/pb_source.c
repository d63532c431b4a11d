#include "lib/onnx/pb_source.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/onnx/onnx.h"

static const char set_prefix[] = "test_data_set_";

typedef struct pb_set {
  const char *name;    // "test_data_set_0/"; "" where the files lie in DIR itself
  dq_tensor **tensors; // by input
  bool whole;          // tensors without a common dimension 0 are one sample
  int64_t first;       // index of its first sample
} pb_set;

typedef struct pb_state {
  dq_arena *arena;
  pb_set *sets;
  int count, inputs;
  int64_t samples;
} pb_state;

// ---- Finding the files ----

// N of "test_data_set_N", -1 for other names.
static long set_number(const char *name) {
  size_t length = sizeof set_prefix - 1;
  if (strncmp(name, set_prefix, length)) return -1;
  const char *digits = name + length;
  size_t count = strspn(digits, "0123456789");
  return count >= 1 && count <= 9 && !digits[count] ? strtol(digits, NULL, 10) : -1;
}

static int is_set(const struct dirent *entry) { return set_number(entry->d_name) >= 0; }

static int by_number(const struct dirent **a, const struct dirent **b) {
  long left = set_number((*a)->d_name), right = set_number((*b)->d_name);
  return left != right ? (left > right) - (left < right) : strcmp((*a)->d_name, (*b)->d_name);
}

static bool exists(pb_state *source, const char *folder, const char *name) {
  const char *path = dq_arena_printf(source->arena, "%s/%s", folder, name);
  return path && !access(path, F_OK);
}

static dq_status name_sets(pb_state *source, const char *folder, dq_error *error) {
  struct dirent **entries;
  int count = scandir(folder, &entries, is_set, by_number);
  if (count < 0) return dq_fail_errno(error, folder);
  bool alone = count == 0 || exists(source, folder, "input_0.pb");
  source->count = alone ? 1 : count;
  source->sets = DQ_NEW_ARRAY(source->arena, source->count, pb_set);
  bool memory = source->sets != NULL;
  for (int i = 0; memory && i < source->count; i++) {
    source->sets[i].name = alone ? "" : dq_arena_printf(source->arena, "%s/", entries[i]->d_name);
    memory = source->sets[i].name != NULL;
  }
  for (int i = 0; i < count; i++) free(entries[i]);
  free(entries);
  return memory ? DQ_OK : dq_fail_memory(error, (size_t)source->count * sizeof *source->sets);
}

// ---- Reading them ----

static dq_status check_tensor(const dq_tensor *tensor, const char *path, bool alone, dq_error *error) {
  if (!dq_dtype_computable(tensor->type))
    return dq_fail(error, DQ_UNSUPPORTED, "%s: elements of type %s, expected numbers", path,
                   dq_dtype_name(tensor->type));
  if (dq_tensor_count(tensor) < 1 || !tensor->data || (alone && tensor->rank < 1))
    return dq_fail(error, DQ_BAD_INPUT, "%s: %s, expected samples along dimension 0", path,
                   alone ? "a scalar or empty" : "empty");
  return DQ_OK;
}

// How many files input_0.pb, input_1.pb, ... a set has.
static int count_inputs(pb_state *source, const char *folder, const pb_set *set) {
  int count = 1; // the first is read in any case, for its message
  while (exists(source, folder, dq_arena_printf(source->arena, "%sinput_%d.pb", set->name, count))) count++;
  return count;
}

static int64_t samples_of(pb_set *set, int inputs) {
  int64_t count = set->tensors[0]->rank ? set->tensors[0]->dims[0] : 0;
  for (int i = 0; i < inputs; i++) set->whole |= set->tensors[i]->rank < 1 || set->tensors[i]->dims[0] != count;
  return set->whole ? 1 : count;
}

static dq_status read_set(pb_state *source, pb_set *set, const char *folder, dq_error *error) {
  int inputs = count_inputs(source, folder, set);
  if (set == source->sets) source->inputs = inputs;
  if (inputs != source->inputs)
    return dq_fail(error, DQ_BAD_INPUT, "%s/%s: %d files input_N.pb, expected %d as in '%s'", folder, set->name, inputs,
                   source->inputs, source->sets->name);
  set->tensors = DQ_NEW_ARRAY(source->arena, inputs, dq_tensor *);
  if (!set->tensors) return dq_fail_memory(error, sizeof *set->tensors);
  for (int i = 0; i < inputs; i++) {
    const char *path = dq_arena_printf(source->arena, "%s/%sinput_%d.pb", folder, set->name, i);
    if (!path) return dq_fail_memory(error, strlen(folder));
    DQ_TRY(dq_onnx_read_tensor(path, source->arena, &set->tensors[i], NULL, error));
    DQ_TRY(check_tensor(set->tensors[i], path, inputs == 1, error));
  }
  set->first = source->samples;
  if (__builtin_add_overflow(source->samples, samples_of(set, inputs), &source->samples))
    return dq_fail(error, DQ_BAD_INPUT, "%s/%s: too many samples", folder, set->name);
  return DQ_OK;
}

static dq_status read_all(pb_state *source, const char *folder, const dq_context *context, dq_error *error) {
  DQ_TRY(name_sets(source, folder, error));
  for (int i = 0; i < source->count; i++) {
    DQ_TRY(read_set(source, &source->sets[i], folder, error));
    DQ_TRY(dq_check_stop(context, error));
  }
  return DQ_OK;
}

static void close_pb(void *state) { dq_arena_free(((pb_state *)state)->arena); }

static dq_status open_pb(void **state, const char *argument, int64_t *count, int *inputs, const dq_context *context,
                         dq_error *error) {
  *state = NULL;
  if (!*argument) return dq_fail(error, DQ_USAGE, "pb: no folder, expected pb:DIR");
  dq_arena *arena = dq_context_arena(context);
  pb_state *source = arena ? DQ_NEW(arena, pb_state) : NULL;
  if (!source) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *source);
  }
  source->arena = arena;
  dq_status status = read_all(source, argument, context, error);
  if (status == DQ_OK) *count = source->samples, *inputs = source->inputs;
  if (status == DQ_OK) *state = source;
  else close_pb(source);
  return status;
}

// ---- Samples ----

static const pb_set *set_of(const pb_state *source, int64_t index) {
  int low = 0, high = source->count - 1; // the last set that begins at or before the index
  while (low < high) {
    int middle = low + (high - low + 1) / 2;
    if (source->sets[middle].first <= index) low = middle;
    else high = middle - 1;
  }
  return &source->sets[low];
}

static dq_status read_pb(const void *state, int input, int64_t index, float *values, int64_t elements,
                         dq_sample_info *info, dq_error *error) {
  const pb_set *set = set_of(state, index);
  const dq_tensor *tensor = set->tensors[input];
  int64_t row = index - set->first;
  int64_t count = set->whole ? dq_tensor_count(tensor) : dq_tensor_product(tensor, 1, tensor->rank);
  if (set->whole || tensor->dims[0] == 1) snprintf(info->name, sizeof info->name, "%sinput_%d.pb", set->name, input);
  else snprintf(info->name, sizeof info->name, "%sinput_%d.pb#%" PRId64, set->name, input, row);
  if (!values) return DQ_OK;
  char shape[DQ_SHAPE_TEXT];
  if (count != elements)
    return dq_fail(error, DQ_BAD_INPUT,
                   "%sinput_%d.pb: the tensor's shape is %s, the model wants %" PRId64 " elements a sample", set->name,
                   input, dq_tensor_shape_text(tensor, shape, sizeof shape), elements);
  for (int64_t i = 0; i < count; i++) values[i] = (float)dq_tensor_get(tensor, row * count + i);
  return DQ_OK;
}

static bool pb_shape(const void *state, int input, dq_tensor *shape) {
  const pb_state *source = state;
  const dq_tensor *tensor = source->sets->tensors[input];
  const int counted = source->sets->whole ? 0 : 1;
  shape->rank = tensor->rank - counted;
  for (int i = 0; i < shape->rank; i++) shape->dims[i] = tensor->dims[i + counted];
  return true;
}

static const void *pb_bytes(const void *state, int input, int64_t index, size_t *size) {
  const pb_set *set = set_of(state, index);
  const dq_tensor *tensor = set->tensors[input];
  *size = set->whole ? dq_tensor_bytes(tensor) : dq_tensor_bytes(tensor) / (size_t)tensor->dims[0];
  return (const char *)tensor->data + (set->whole ? 0 : (size_t)(index - set->first) * *size);
}

const dq_data_source dq_pb_source = {
    .prefix = "pb:", .open = open_pb, .read = read_pb, .close = close_pb, .shape = pb_shape, .bytes = pb_bytes};
