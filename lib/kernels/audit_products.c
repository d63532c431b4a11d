// Products that leave int8, counted by histograms. For a weight the products that fit belong to an interval
// of inputs, and weights have few different intervals. Between two neighbouring ends of intervals all inputs
// are alike: they are a class. Of the inputs under a tap a histogram of classes is kept, which changes little
// from tap to tap; it gives the count of every interval, and every weight takes that of its own.
#include "lib/kernels/audit_internal.h"

#include <string.h>

#include "lib/base/sizes.h"

enum { LARGEST = 255 }; // magnitude of a weight

// ---- Preparation ----

static int64_t floor_div(int64_t x, int64_t y) { // y above 0
  return x >= 0 ? x / y : -((-x + y - 1) / y);
}

// Levels v for which (v + lowest) * weight lies in -128..127.
static dq_audit_interval interval_of(int32_t weight, int32_t lowest) {
  if (!weight) return (dq_audit_interval){0, DQ_AUDIT_LEVELS};
  int32_t size = weight < 0 ? -weight : weight;
  int64_t below = weight > 0 ? -floor_div(128, size) : -floor_div(127, size);
  int64_t above = weight > 0 ? floor_div(127, size) : floor_div(128, size);
  int64_t from = dq_min_i64(dq_max_i64(below - lowest, 0), DQ_AUDIT_LEVELS);
  int64_t to = dq_min_i64(dq_max_i64(above - lowest + 1, from), DQ_AUDIT_LEVELS);
  return (dq_audit_interval){(uint16_t)from, (uint16_t)to};
}

// The number of an interval in the list, where it is put if it is new.
static int number_of(dq_audit_intervals *list, dq_audit_interval interval) {
  int i = 0;
  while (i < list->count && memcmp(&list->of[i], &interval, sizeof interval)) i++;
  if (i == list->count) list->of[list->count++] = interval;
  return i;
}

// Lists the different intervals of the weights, in levels; values are `lowest` above levels.
static dq_status list_intervals(dq_audit_intervals *list, const dq_conv_int8_parameters *q,
                                const dq_audit_geometry *g, const int16_t *weights, int32_t lowest,
                                dq_arena *arena, dq_error *error) {
  int64_t all = q->shape.out_channels * g->depth;
  int16_t known[2 * LARGEST + 1];
  memset(known, -1, sizeof known);
  list->by_tap = DQ_NEW_ARRAY(arena, all, uint8_t);
  if (!list->by_tap) return dq_fail_memory(error, (size_t)all);
  for (int64_t o = 0; o < q->shape.out_channels; o++)
    for (int64_t t = 0; t < g->depth; t++) {
      int32_t weight = weights[o * g->depth + t];
      int16_t *number = &known[weight + LARGEST];
      if (*number < 0) *number = (int16_t)number_of(list, interval_of(weight, lowest));
      list->by_tap[(o / g->out_group * g->depth + t) * g->out_group + o % g->out_group] = (uint8_t)*number;
    }
  return DQ_OK;
}

static void mark_ends(const dq_audit_intervals *list, bool *ends) {
  for (int i = 0; i < list->count; i++) ends[list->of[i].from] = ends[list->of[i].to] = true;
}

// Levels to the classes that begin there.
static void to_classes(dq_audit_intervals *list, const uint16_t *first) {
  for (int i = 0; i < list->count; i++)
    list->of[i] = (dq_audit_interval){first[list->of[i].from], first[list->of[i].to]};
}

dq_status dq_audit_classes_new(dq_audit_classes *classes, const dq_conv_int8_parameters *q,
                               const int16_t *values, const int16_t *stored, dq_arena *arena,
                               dq_error *error) {
  dq_audit_geometry g = dq_audit_geometry_of(q);
  int32_t lowest = q->input_signed ? -128 : 0;
  bool ends[DQ_AUDIT_LEVELS + 1] = {true};
  uint16_t first[DQ_AUDIT_LEVELS + 1], class = 0;
  *classes = (dq_audit_classes){.lowest = lowest - q->input_zero_point, .out_group = g.out_group};
  DQ_TRY(list_intervals(&classes->values, q, &g, values, classes->lowest, arena, error));
  if (stored) DQ_TRY(list_intervals(&classes->stored, q, &g, stored, lowest, arena, error));
  mark_ends(&classes->values, ends);
  mark_ends(&classes->stored, ends);
  for (int level = 0; level <= DQ_AUDIT_LEVELS; level++) {
    first[level] = class = (uint16_t)(class + (level && ends[level]));
    if (level < DQ_AUDIT_LEVELS) classes->class_of[level] = (uint8_t)class;
  }
  classes->count = classes->class_of[DQ_AUDIT_LEVELS - 1] + 1;
  to_classes(&classes->values, first);
  to_classes(&classes->stored, first);
  return DQ_OK;
}

// ---- Counting ----

// A window of outputs x outputs in a phase of a plane, and the histogram of what lies in it.
typedef struct window {
  const dq_audit_classes *classes;
  const dq_audit_planes *planes;
  dq_audit_histogram *histogram;
  const int16_t *phase;
  int64_t row, column;
} window;

static void count_part(const window *w, int64_t rows, int64_t row, int64_t columns, int64_t column,
                       uint32_t step) {
  const uint8_t *class_of = w->classes->class_of;
  uint32_t(*counts)[DQ_AUDIT_LEVELS] = w->histogram->counts;
  int32_t lowest = w->classes->lowest;
  for (int64_t y = row; y < row + rows; y++) {
    const int16_t *line = w->phase + y * w->planes->width + column;
    int64_t x = 0;
    for (; x + DQ_AUDIT_STRIPES <= columns; x += DQ_AUDIT_STRIPES)
      for (int i = 0; i < DQ_AUDIT_STRIPES; i++) counts[i][class_of[line[x + i] - lowest]] += step;
    for (; x < columns; x++) counts[0][class_of[line[x] - lowest]] += step;
  }
}

// Moves the window: what it leaves goes out of the histogram, what it comes to goes in.
static void move_window(window *w, const int16_t *phase, int64_t to_row, int64_t to_column) {
  int64_t height = w->planes->out_height, width = w->planes->out_width;
  int64_t down = to_row - w->row, right = to_column - w->column, row = w->row, column = w->column;
  int64_t rows = down < 0 ? -down : down, columns = right < 0 ? -right : right;
  bool anew = w->phase != phase || 2 * (rows * width + columns * height) >= height * width;
  w->phase = phase, w->row = to_row, w->column = to_column;
  if (anew) {
    memset(w->histogram, 0, sizeof *w->histogram);
    count_part(w, height, to_row, width, to_column, 1);
    return;
  }
  const uint32_t out = (uint32_t)-1;
  count_part(w, rows, down > 0 ? row : to_row + height, width, column, out);
  count_part(w, rows, down > 0 ? row + height : to_row, width, column, 1);
  count_part(w, height, to_row, columns, right > 0 ? column : to_column + width, out);
  count_part(w, height, to_row, columns, right > 0 ? column + width : to_column, 1);
}

// below: how many inputs lie in the classes below every one; weights: those of one tap, by output channel.
static void add_outside(const dq_audit_intervals *list, const uint32_t *below, uint32_t outputs,
                        const uint8_t *weights, int64_t count, uint64_t *products) {
  uint32_t outside[2 * LARGEST + 1];
  for (int i = 0; i < list->count; i++)
    outside[i] = outputs - (below[list->of[i].to] - below[list->of[i].from]);
  for (int64_t o = 0; o < count; o++) products[o] += outside[weights[o]];
}

void dq_audit_classes_count(const dq_audit_classes *classes, const dq_audit_planes *planes,
                            const int16_t *plane, int64_t taps, int64_t first_weight, int64_t tap_weights,
                            dq_audit_histogram *histogram, uint64_t *products, uint64_t *raw) {
  uint32_t outputs = (uint32_t)(planes->out_height * planes->out_width);
  int64_t phase_words = planes->height * planes->width;
  window w = {.classes = classes, .planes = planes, .histogram = histogram};
  for (int64_t k = 0; k < taps; k++) {
    int64_t inside = planes->offsets[k] % phase_words;
    move_window(&w, plane + planes->offsets[k] - inside, inside / planes->width, inside % planes->width);
    uint32_t below[DQ_AUDIT_LEVELS + 1] = {0};
    for (int c = 0; c < classes->count; c++) {
      below[c + 1] = below[c];
      for (int i = 0; i < DQ_AUDIT_STRIPES; i++) below[c + 1] += histogram->counts[i][c];
    }
    int64_t weights = first_weight + k * tap_weights;
    add_outside(&classes->values, below, outputs, classes->values.by_tap + weights, classes->out_group, products);
    if (classes->stored.count)
      add_outside(&classes->stored, below, outputs, classes->stored.by_tap + weights, classes->out_group, raw);
  }
}
