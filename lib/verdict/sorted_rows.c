#include "lib/verdict/sorted_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/eval/eval.h"

// ---- Finding them ----

// Nodes between a TopK and a gathering one, and between that and the output; nodes that are looked at in all.
enum { LONGEST_CHAIN = 12, MOST_LOOKS = 10000 };

// Whether a value is computed from the indices of a TopK.
static bool are_indices(const dq_value *value, int depth, int *looks) {
  static const char *const sorting[] = {"TopK", NULL};
  const dq_node *node = value ? value->producer : NULL;
  if (!node || !depth || !(*looks)--) return false;
  if (dq_node_is_any(node, sorting)) return dq_node_output(node, 1) == value;
  for (int i = 0; i < node->input_count; i++)
    if (*looks > 0 && are_indices(node->inputs[i], depth - 1, looks)) return true;
  return false;
}

// Whether rows of a value were gathered by such indices.
static bool is_gathered(const dq_value *value, int depth, int *looks) {
  static const char *const gathering[] = {"Gather", "GatherElements", "GatherND", NULL};
  static const char *const keeping[] = {
      "Concat",           "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Identity", "QuantizeLinear",
      "DequantizeLinear", "Cast",    "Slice",   "Split",     "Mul",       "Div",     "Add",      "Sub",
      "Sigmoid",          NULL};
  const dq_node *node = value ? value->producer : NULL;
  if (!node || !depth || !(*looks)--) return false;
  if (dq_node_is_any(node, gathering)) return are_indices(dq_node_input(node, 1), LONGEST_CHAIN, looks);
  if (!dq_node_is_any(node, keeping)) return false;
  for (int i = 0; i < node->input_count; i++)
    if (*looks > 0 && is_gathered(node->inputs[i], depth - 1, looks)) return true;
  return false;
}

bool dq_has_sorted_rows(const dq_value *output, const dq_tensor *tensor) {
  static const int64_t MOST = 4096;
  const int rank = tensor->rank;
  int looks = MOST_LOOKS;
  return rank >= 2 && tensor->dims[rank - 1] > 1 && tensor->dims[rank - 2] > 1 && tensor->dims[rank - 2] <= MOST &&
         is_gathered(output, LONGEST_CHAIN, &looks);
}

// ---- Matching ----

typedef struct table {
  int64_t rows, columns;
  double *weights; // of the columns: 1 / sum of squares
  bool *taken;     // rows of the other network
} table;

static void weigh_columns(const table *t, const float *exact) {
  for (int64_t c = 0; c < t->columns; c++) {
    double sum = 0;
    for (int64_t r = 0; r < t->rows; r++) sum += dq_squared_signal((double)exact[r * t->columns + c]);
    t->weights[c] = sum > 0 ? 1 / sum : 0;
  }
}

// Returns the weighted squared distance of two rows, or `least` or more where adding ended before all columns.
static double distance(const table *t, const float *a, const float *b, double least) {
  double sum = 0;
  for (int64_t c = 0; c < t->columns && sum < least; c++)
    sum += t->weights[c] * dq_squared_error((double)a[c], (double)b[c]);
  return sum;
}

// The first of the nearest rows that are left.
static int64_t nearest(const table *t, const float *row, const float *other) {
  int64_t best = -1;
  double least = INFINITY;
  for (int64_t r = 0; r < t->rows; r++) {
    if (t->taken[r]) continue;
    const double d = distance(t, row, other + r * t->columns, least);
    if (best < 0 || d < least) best = r, least = d;
  }
  return best;
}

static void match(const table *t, float *matched, const float *exact, const float *other) {
  memset(t->taken, 0, (size_t)t->rows * sizeof *t->taken);
  weigh_columns(t, exact);
  for (int64_t r = 0; r < t->rows; r++) {
    const int64_t found = nearest(t, exact + r * t->columns, other);
    t->taken[found] = true;
    memcpy(matched + r * t->columns, other + found * t->columns, (size_t)t->columns * sizeof *matched);
  }
}

dq_status dq_match_rows(float *matched, const dq_tensor *shape, const float *exact, const float *other,
                        dq_error *error) {
  const int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1], plane = rows * columns;
  table t = {rows, columns, malloc((size_t)columns * sizeof(double)), malloc((size_t)rows * sizeof(bool))};
  const bool memory = t.weights && t.taken;
  for (int64_t i = 0; memory && i < dq_tensor_count(shape); i += plane) match(&t, matched + i, exact + i, other + i);
  free(t.weights), free(t.taken);
  return memory ? DQ_OK : dq_fail_memory(error, (size_t)(rows + columns) * sizeof(double));
}
