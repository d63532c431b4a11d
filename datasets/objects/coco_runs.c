// Masks of COCO: lengths of runs, in an array or packed into a text.
#include <inttypes.h>
#include <string.h>

#include "datasets/objects/coco.h"
#include "lib/base/sizes.h"

// A packed length: groups of 5 bits, the lowest first, as characters from '0' on, with 32 where a group follows and the
// sign in the top bit of the last one. The length itself, or from the fourth on what it is more than the one two
// before.
enum { FIRST_CHARACTER = 48, GROUP_BITS = 5, FOLLOWS = 32, NEGATIVE = 16, MOST_GROUPS = 8, PLAIN_LENGTHS = 3 };

// Reads a packed number behind *text; false: there is none.
static bool unpack(const char **text, int64_t *value) {
  uint64_t bits = 0;
  for (int group = 0; group < MOST_GROUPS; group++) {
    const int c = (unsigned char)**text - FIRST_CHARACTER;
    if (c < 0 || c >= 2 * FOLLOWS) return false;
    (*text)++;
    bits |= (uint64_t)(c % FOLLOWS) << (GROUP_BITS * group);
    if (c & FOLLOWS) continue;
    if (c & NEGATIVE) bits |= UINT64_MAX << (GROUP_BITS * (group + 1));
    *value = (int64_t)bits;
    return true;
  }
  return false;
}

static dq_status add_length(dq_runs *runs, uint32_t *lengths, int64_t length, dq_error *error) {
  if (length < 0 || length > UINT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "run %" PRId64 " of 'counts' has %" PRId64 " pixels", runs->count, length);
  lengths[runs->count++] = (uint32_t)length;
  return DQ_OK;
}

static dq_status read_packed(dq_runs *runs, const char *text, dq_arena *arena, dq_error *error) {
  uint32_t *lengths = DQ_NEW_ARRAY(arena, strlen(text), uint32_t);
  if (!lengths) return dq_fail_memory(error, strlen(text) * sizeof *lengths);
  runs->lengths = lengths;
  while (*text) {
    int64_t value;
    if (!unpack(&text, &value))
      return dq_fail(error, DQ_BAD_INPUT, "run %" PRId64 " of 'counts' is no packed number", runs->count);
    if (runs->count >= PLAIN_LENGTHS) value += lengths[runs->count - 2];
    DQ_TRY(add_length(runs, lengths, value, error));
  }
  return DQ_OK;
}

static dq_status read_array(dq_runs *runs, const json_t *counts, dq_arena *arena, dq_error *error) {
  uint32_t *lengths = DQ_NEW_ARRAY(arena, json_array_size(counts), uint32_t);
  if (!lengths) return dq_fail_memory(error, json_array_size(counts) * sizeof *lengths);
  runs->lengths = lengths;
  for (size_t i = 0; i < json_array_size(counts); i++) {
    const json_t *count = json_array_get(counts, i);
    if (!json_is_integer(count)) return dq_fail(error, DQ_BAD_INPUT, "run %zu of 'counts' is no whole number", i);
    DQ_TRY(add_length(runs, lengths, json_integer_value(count), error));
  }
  return DQ_OK;
}

static dq_status read_size(dq_runs *runs, const json_t *size, int64_t width, int64_t height, dq_error *error) {
  const json_t *rows = json_array_get(size, 0), *columns = json_array_get(size, 1);
  if (json_array_size(size) != 2 || !json_is_integer(rows) || !json_is_integer(columns))
    return dq_fail(error, DQ_BAD_INPUT, "'size' of the mask is not [height, width]");
  runs->height = json_integer_value(rows), runs->width = json_integer_value(columns);
  if (runs->height < 1 || runs->width < 1 || runs->height > INT32_MAX || runs->width > INT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "the mask has %" PRId64 "x%" PRId64 " pixels, expected 1 and more", runs->width,
                   runs->height);
  if (width && height && (runs->width != width || runs->height != height))
    return dq_fail(error, DQ_BAD_INPUT,
                   "the mask has %" PRId64 "x%" PRId64 " pixels, its picture %" PRId64 "x%" PRId64
                   ", expected the same",
                   runs->width, runs->height, width, height);
  return DQ_OK;
}

static dq_status check_sum(const dq_runs *runs, dq_error *error) {
  const int64_t pixels = runs->width * runs->height;
  int64_t sum = 0;
  for (int64_t i = 0; i < runs->count; i++) sum = dq_add_clamped_i64(sum, runs->lengths[i]);
  if (sum == pixels) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT,
                 "the runs of the mask have %" PRId64 " pixels, expected the %" PRId64 " of %" PRId64 "x%" PRId64, sum,
                 pixels, runs->width, runs->height);
}

dq_status dq_coco_runs_read(dq_runs **mask, const json_t *json, int64_t width, int64_t height, dq_arena *arena,
                            dq_error *error) {
  dq_runs *runs = DQ_NEW(arena, dq_runs);
  if (!runs) return dq_fail_memory(error, sizeof *runs);
  DQ_TRY(read_size(runs, json_object_get(json, "size"), width, height, error));
  const json_t *counts = json_object_get(json, "counts");
  if (json_is_string(counts)) DQ_TRY(read_packed(runs, json_string_value(counts), arena, error));
  else if (json_is_array(counts)) DQ_TRY(read_array(runs, counts, arena, error));
  else return dq_fail(error, DQ_BAD_INPUT, "'counts' of the mask is neither a text nor an array");
  *mask = runs;
  return check_sum(runs, error);
}
