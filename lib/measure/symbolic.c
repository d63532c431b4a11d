#include "lib/measure/symbolic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"

enum { SHOWN = 6, TEXT = 1024, LONGEST = 512, LARGEST_DIVISOR = 65536, LARGEST_STEP = 1024 };

static bool is_symbol(const dq_open_size *open) { return open->source != DQ_SIZE_GIVEN; }

static dq_status infer_twice(dq_symbolic *symbolic, int which, const dq_graph *graph, const dq_shape_request *given,
                             const dq_context *context, dq_arena *arena, dq_error *error) {
  dq_context silent = context ? *context : (dq_context){0};
  silent.message = NULL;
  dq_shape_request request;
  DQ_TRY(dq_sizes_request(symbolic->sizes, graph, given, which, arena, &request, error));
  dq_error ignored = {0};
  // A model that fixes a size inside contradicts itself: what follows keeps plain numbers.
  dq_status status = dq_infer(graph, &request, DQ_INFER_BROKEN, &silent, arena, &symbolic->twice[which], &ignored);
  if (status != DQ_OK) symbolic->twice[which] = NULL;
  return status == DQ_SYSTEM || status == DQ_CANCELLED ? dq_fail(error, status, "%s", ignored.message) : DQ_OK;
}

dq_status dq_symbolic_infer(dq_symbolic *symbolic, const dq_graph *graph, const dq_sizes *sizes,
                            const dq_shape_request *given, const dq_context *context, dq_arena *arena,
                            dq_error *error) {
  dq_shape_request request;
  *symbolic = (dq_symbolic){.sizes = sizes, .twice = DQ_NEW_ARRAY(arena, sizes->count + 1, dq_tensor *)};
  if (!symbolic->twice) return dq_fail_memory(error, (size_t)sizes->count * sizeof *symbolic->twice);
  DQ_TRY(dq_sizes_request(sizes, graph, given, -1, arena, &request, error));
  // Where sizes fit, a node that contradicts its inputs does so because of the file or of what the user gave.
  DQ_TRY(
      dq_infer(graph, &request, sizes->fit ? DQ_INFER_PARTIAL : DQ_INFER_BROKEN, context, arena, &symbolic->at, error));
  for (int i = 0; i < sizes->count && i < SHOWN; i++)
    if (is_symbol(&sizes->open[i])) DQ_TRY(infer_twice(symbolic, i, graph, given, context, arena, error));
  return DQ_OK;
}

// ---- One dimension ----

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// The dimension with open size `i` doubled; -1: not known.
static int64_t doubled(const dq_symbolic *symbolic, int i, const dq_value *value, int rank, int d) {
  const dq_tensor *twice = symbolic->twice[i] ? &symbolic->twice[i][value->index] : NULL;
  return twice && twice->rank == rank ? twice->dims[d] : -1;
}

// "3H*W/4": names times and by a number, in lowest terms.
static int term_text(const char *names, int64_t above, int64_t below, char *text, size_t capacity) {
  int64_t divisor = common_divisor(above, below);
  char times[32] = "", by[32] = "";
  if (above != divisor || !*names) snprintf(times, sizeof times, "%" PRId64, above / divisor);
  if (below != divisor) snprintf(by, sizeof by, "/%" PRId64, below / divisor);
  return snprintf(text, capacity, "%s%s%s", times, names, by);
}

// A product of those open sizes that double the dimension (four times: their squares); 0: it is none.
static int product_text(const dq_symbolic *symbolic, const dq_value *value, int rank, int d, char *text,
                        size_t capacity) {
  int64_t size = symbolic->at[value->index].dims[d], below = 1;
  char names[LONGEST / 2] = "";
  size_t used = 0;
  for (int i = 0; i < symbolic->sizes->count; i++) {
    const dq_open_size *open = &symbolic->sizes->open[i];
    int64_t other = doubled(symbolic, i, value, rank, d);
    if (other < 0 || other == size) continue;
    if (size < 1 || (other % size) || (other / size != 2 && other / size != 4)) return 0;
    for (int64_t power = 1; power < other / size; power *= 2) {
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? "*" : "", open->name);
      if (used >= sizeof names || !dq_mul_i64(below, open->size, &below)) return 0;
    }
  }
  if (below / common_divisor(size, below) > LARGEST_DIVISOR) return 0;
  return term_text(names, size, below, text, capacity);
}

// "H/2-1": a fraction of the one open size that changes the dimension, plus a number; 0: it is not so. Two sizes cannot
// tell a multiple from a square.
static int line_text(const dq_symbolic *symbolic, const dq_value *value, int rank, int d, char *text, size_t capacity) {
  int64_t size = symbolic->at[value->index].dims[d], step = 0;
  const dq_open_size *open = NULL;
  for (int i = 0; i < symbolic->sizes->count; i++) {
    int64_t other = doubled(symbolic, i, value, rank, d);
    if (other < 0 || other == size) continue;
    if (open || other < size) return 0;
    open = &symbolic->sizes->open[i];
    step = other - size;
  }
  int64_t divisor = open ? common_divisor(step, open->size) : 0;
  if (!open || step != divisor || open->size / divisor > LARGEST_STEP) return 0;
  int length = term_text(open->name, step, open->size, text, capacity);
  return length + snprintf(text + length, capacity - (size_t)length, "%+" PRId64, size - step);
}

static int dimension_text(const dq_symbolic *symbolic, const dq_value *value, int rank, int d, char *text,
                          size_t capacity) {
  int length = product_text(symbolic, value, rank, d, text, capacity);
  if (!length) length = line_text(symbolic, value, rank, d, text, capacity);
  if (length) return length;
  return snprintf(text, capacity, "~%" PRId64, symbolic->at[value->index].dims[d]);
}

static int declared_text(const dq_symbolic *symbolic, const dq_value *value, int d, char *text, size_t capacity) {
  const dq_dimension *dim = &value->dims[d];
  if (dim->size >= 0) return snprintf(text, capacity, "%" PRId64, dim->size);
  int open = value->is_input ? dq_sizes_find(symbolic->sizes, value, d) : -1;
  for (int i = 0; open < 0 && dim->symbol && i < symbolic->sizes->count; i++)
    if (symbolic->sizes->open[i].symbol && !strcmp(symbolic->sizes->open[i].symbol, dim->symbol)) open = i;
  return snprintf(text, capacity, "%.16s", open >= 0 ? symbolic->sizes->open[open].name : "?");
}

const char *dq_symbolic_shape(const dq_symbolic *symbolic, const dq_value *value, dq_arena *arena) {
  char text[TEXT] = "";
  size_t at = 0;
  bool declared = symbolic->at[value->index].rank < 0;
  int rank = declared ? value->rank : symbolic->at[value->index].rank;
  if (rank < 0) return "?";
  if (!rank) return "scalar";
  for (int d = 0; d < rank && at < sizeof text - LONGEST; d++) {
    if (d) text[at++] = 'x';
    int length = declared ? declared_text(symbolic, value, d, text + at, sizeof text - at)
                          : dimension_text(symbolic, value, rank, d, text + at, sizeof text - at);
    at += (size_t)length;
  }
  return dq_arena_strdup(arena, text);
}
