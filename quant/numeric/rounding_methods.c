// The table of rounding methods, and what methods share.
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"
#include "quant/numeric/rounding.h"

#define DQ_ROUNDING(symbol, name, help) dq_round_function dq_round_##symbol;
#include "quant/numeric/rounding.def"
#undef DQ_ROUNDING

static const dq_rounding_method methods[] = {{"nearest", "each to the nearest", NULL},
#define DQ_ROUNDING(symbol, name, help) {name, help, dq_round_##symbol},
#include "quant/numeric/rounding.def"
#undef DQ_ROUNDING
                                             {NULL, NULL, NULL}};

const dq_rounding_method *dq_rounding_method_at(int index) { return methods[index].name ? &methods[index] : NULL; }

const dq_rounding_method *dq_rounding_method_find(const char *name) {
  const int found = dq_find_row(name, methods, sizeof *methods, DQ_COUNT(methods));
  return found < 0 ? NULL : &methods[found];
}

// ---- For methods ----

// What the other weights of its block leave weight `i` of the output channel `q`.
static void free_range(const dq_rounding_task *task, const int8_t *q, int64_t i, int *low, int *high) {
  int8_t block[DQ_LONGEST_BLOCK];
  int64_t tap = dq_tap_of(task->taps, i), length = task->rule->length, first = tap / length * length, count = 0;
  for (int64_t t = first; t < first + length && t < task->inputs; t++) block[count++] = q[dq_tap_within(task->taps, t)];
  dq_block_free_range(task->rule, task->type, block, count, tap - first, low, high);
}

int8_t dq_round_weight(const dq_rounding_task *task, const int8_t *q, int64_t i, double wanted, int nearest) {
  int low = task->type->low, high = task->type->high;
  if (task->rule) free_range(task, q, i, &low, &high);
  double least = fmax(low, nearest - DQ_ROUNDING_REACH), most = fmin(high, nearest + DQ_ROUNDING_REACH);
  return (int8_t)fmin(fmax(nearbyint(wanted), least), most);
}

// b + (w - q) E x, or E y - q E x.
void dq_round_bias(const dq_rounding_task *task) {
  int64_t n = task->inputs, stride = n + 1;
  double count = task->gram[n * stride + n];
  for (int64_t o = 0; task->bias && count > 0 && o < task->outputs; o++) {
    double mean = task->responses ? task->responses[o * stride + n] / count : task->bias[o];
    for (int64_t i = 0; i < n; i++) {
      double weight = task->responses ? 0 : task->weights[o * n + i];
      weight -= task->elements[o * n + i] * (double)task->scales[o];
      mean += weight * (task->gram[i * stride + n] / count);
    }
    task->bias[o] = mean;
  }
}
