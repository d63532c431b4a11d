// Every reduction and ArgMax and ArgMin over all sets of axes, on numbers of each type with its ends among them,
// against a loop over the elements.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "tests/unit/operator_harness.h"

enum { AXES = 4, COUNT = 2 * 3 * 5 * 4 };
static const int64_t SHAPE[AXES] = {2, 3, 5, 4};

typedef struct reduction {
  const char *name;
  double start;
  double (*step)(double total, double x);
  double (*finish)(double total, double count);
} reduction;

static double add(double total, double x) { return total + x; }
static double add_size(double total, double x) { return total + fabs(x); }
static double add_square(double total, double x) { return total + x * x; }
static double add_exp(double total, double x) { return total + exp(x); }
static double times(double total, double x) { return total * x; }
static double larger(double total, double x) { return x > total ? x : total; }
static double smaller(double total, double x) { return x < total ? x : total; }
static double mean(double total, double count) { return total / count; }
static double root(double total, double count) { return count > 0 ? sqrt(total) : 0; }
static double logarithm(double total, double count) { return count > 0 ? log(total) : 0; }

static const reduction reductions[] = {{"ReduceSum", 0, add, NULL},
                                       {"ReduceMean", 0, add, mean},
                                       {"ReduceMax", -INFINITY, larger, NULL},
                                       {"ReduceMin", INFINITY, smaller, NULL},
                                       {"ReduceProd", 1, times, NULL},
                                       {"ReduceL1", 0, add_size, NULL},
                                       {"ReduceL2", 0, add_square, root},
                                       {"ReduceSumSquare", 0, add_square, NULL},
                                       {"ReduceLogSum", 0, add_size, logarithm},
                                       {"ReduceLogSumExp", 0, add_exp, logarithm}};

// The place in the result of element i, where the axes of `set` (bits) are reduced.
static int place(int i, unsigned set) {
  int to = 0, below = 1;
  for (int axis = AXES - 1; axis >= 0; axis--) {
    int at = i % (int)SHAPE[axis];
    i /= (int)SHAPE[axis];
    if (!(set & 1u << axis)) to += at * below, below *= (int)SHAPE[axis];
  }
  return to;
}

// The shape of the result; its rank.
static int reduced_shape(unsigned set, bool keep, int64_t *dims) {
  int rank = 0;
  for (int axis = 0; axis < AXES; axis++)
    if (!(set & 1u << axis) || keep) dims[rank++] = set & 1u << axis ? 1 : SHAPE[axis];
  return rank;
}

static void expect(const char *name, int type, unsigned set, bool keep, bool negative, const double *values,
                   const double *results, double tolerance) {
  double axes[AXES];
  int64_t count = 0, dims[AXES];
  for (int axis = 0; axis < AXES; axis++)
    if (set & 1u << axis) axes[count++] = negative ? axis - AXES : axis;
  harness run;
  harness_open(&run, "", name, 20);
  dq_node_set_int(run.graph, run.node, "keepdims", keep);
  harness_numbers(&run, 0, type, AXES, SHAPE, values);
  harness_numbers(&run, 1, DQ_I64, 1, &count, axes);
  assert_int_equal(harness_prepare(&run), DQ_OK);
  int rank = reduced_shape(set, keep, dims);
  harness_gave(&run, 0, type, rank, dims, results, tolerance);
  harness_close(&run);
}

static void all_reductions(void **state) {
  (void)state;
  static const int types[] = {DQ_F32, DQ_F64, DQ_I32, DQ_I64, DQ_U32};
  double values[COUNT], results[COUNT];
  dq_random random = dq_random_start(3, 0);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++)
      for (unsigned set = 1; set < 1u << AXES; set++) {
        const reduction *it = &reductions[k];
        const bool product = it->step == times, whole = types[t] != DQ_F32 && types[t] != DQ_F64;
        if (whole && it->finish) continue; // rounded as the type says, which other tests look at
        double counts[COUNT] = {0}, largest = 0;
        for (int i = 0; i < COUNT; i++) {
          values[i] =
              product ? 1 + (int)dq_random_below(&random, 2) * (i % 29 == 0) : (int)dq_random_below(&random, 90);
          if (!whole && !product) values[i] /= 16;
          results[i] = it->start;
        }
        for (int i = 0; i < COUNT; i++) {
          double *to = &results[place(i, set)];
          *to = it->step(*to, values[i]), counts[place(i, set)]++;
        }
        for (int i = 0; i < COUNT && counts[i] > 0; i++) {
          if (it->finish) results[i] = it->finish(results[i], counts[i]);
          largest = fmax(largest, fabs(results[i]));
        }
        expect(it->name, types[t], set, set % 2, set % 3 == 0, values, results, whole ? 0 : 1e-5 * (1 + largest));
      }
}

// The largest and smallest of the ends of each type, alone and among others.
static void ends(void **state) {
  (void)state;
  static const struct {
    int type;
    double low, high;
  } types[] = {{DQ_I8, INT8_MIN, INT8_MAX},   {DQ_U8, 0, UINT8_MAX},         {DQ_I32, INT32_MIN, INT32_MAX},
               {DQ_U32, 0, UINT32_MAX},       {DQ_I64, -0x1p63, 0x1p62},     {DQ_U64, 0, 0x1p63},
               {DQ_F32, -INFINITY, INFINITY}, {DQ_F16, -INFINITY, INFINITY}, {DQ_F64, -INFINITY, INFINITY}};
  double values[COUNT], results[COUNT];
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int end = 0; end < 2; end++)
      for (int alone = 0; alone < 2; alone++) {
        const double extreme = end ? types[t].high : types[t].low, other = alone ? extreme : 1;
        for (int i = 0; i < COUNT; i++) values[i] = i % 7 ? other : extreme;
        for (unsigned set = 1; set < 1u << AXES; set++)
          for (int k = 0; k < 2; k++) {
            for (int i = 0; i < COUNT; i++) results[i] = k ? INFINITY : -INFINITY;
            for (int i = 0; i < COUNT; i++) {
              double *to = &results[place(i, set)];
              *to = k ? smaller(*to, values[i]) : larger(*to, values[i]);
            }
            expect(k ? "ReduceMin" : "ReduceMax", types[t].type, set, 1, 0, values, results, 0);
          }
      }
}

// The first, or the last, of equal extremes.
static void places_of_extremes(void **state) {
  (void)state;
  double values[COUNT], results[COUNT];
  dq_random random = dq_random_start(4, 0);
  for (int i = 0; i < COUNT; i++) values[i] = (int)dq_random_below(&random, 3);
  for (int axis = 0; axis < AXES; axis++)
    for (int k = 0; k < 8; k++) {
      const bool minimum = k & 1, last = k & 2, keep = k & 4;
      const unsigned set = 1u << axis;
      double best[COUNT];
      int below = 1;
      int64_t dims[AXES];
      for (int after = axis + 1; after < AXES; after++) below *= (int)SHAPE[after];
      for (int i = 0; i < COUNT; i++) best[i] = -INFINITY;
      for (int i = 0; i < COUNT; i++) {
        const double x = minimum ? -values[i] : values[i];
        const int to = place(i, set);
        if (x > best[to] || (last && x == best[to])) best[to] = x, results[to] = i / below % (int)SHAPE[axis];
      }
      for (int negative = 0; negative < 2; negative++) {
        harness run;
        harness_open(&run, "", minimum ? "ArgMin" : "ArgMax", 13);
        dq_node_set_int(run.graph, run.node, "axis", negative ? axis - AXES : axis);
        dq_node_set_int(run.graph, run.node, "keepdims", keep);
        dq_node_set_int(run.graph, run.node, "select_last_index", last);
        harness_numbers(&run, 0, k % 3 ? DQ_F32 : DQ_I32, AXES, SHAPE, values);
        assert_int_equal(harness_prepare(&run), DQ_OK);
        harness_gave(&run, 0, DQ_I64, reduced_shape(set, keep, dims), dims, results, 0);
        harness_close(&run);
      }
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(all_reductions), cmocka_unit_test(ends),
                                     cmocka_unit_test(places_of_extremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
