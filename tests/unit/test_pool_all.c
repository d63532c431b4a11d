// Pools of random geometry over one to three axes, with all their attributes, against loops over the elements.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "tests/unit/operator_harness.h"

enum { AXES = 3, PLANES = 2 * 3, MOST = 4096, ROUNDS = 600 };

typedef struct geometry {
  int axes;
  int64_t input[AXES], kernel[AXES], stride[AXES], dilation[AXES], begin[AXES], end[AXES], output[AXES];
  bool ceil;
  const char *automatic; // auto_pad; NULL: pads
} geometry;

static int64_t below(dq_random *random, int64_t count) { return (int64_t)dq_random_below(random, (uint64_t)count); }

static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// As the operators' text has it: windows that begin behind the input and its padding in front do not count.
static void set_outputs(geometry *g) {
  for (int a = 0; a < g->axes; a++) {
    const int64_t extent = (g->kernel[a] - 1) * g->dilation[a] + 1;
    if (g->automatic && strcmp(g->automatic, "VALID") != 0) {
      g->output[a] = divided_up(g->input[a], g->stride[a]);
      const int64_t all = (g->output[a] - 1) * g->stride[a] + extent - g->input[a], total = all > 0 ? all : 0;
      g->begin[a] = strcmp(g->automatic, "SAME_UPPER") ? total - total / 2 : total / 2;
      g->end[a] = total - g->begin[a];
      continue;
    }
    const int64_t room = g->input[a] + g->begin[a] + g->end[a] - extent;
    g->output[a] = 1 + (g->ceil ? divided_up(room, g->stride[a]) : room / g->stride[a]);
    if (g->ceil && (g->output[a] - 1) * g->stride[a] >= g->input[a] + g->begin[a]) g->output[a]--;
  }
}

// Windows without an element are left out: what they give is not said.
static bool drawn(geometry *g, dq_random *random) {
  static const char *const names[] = {"SAME_UPPER", "SAME_LOWER", "VALID"};
  *g = (geometry){.axes = 1 + (int)below(random, AXES)};
  const int64_t automatic = below(random, 6);
  g->automatic = automatic < 3 ? names[automatic] : NULL;
  g->ceil = !g->automatic && below(random, 2);
  for (int a = 0; a < g->axes; a++) {
    g->input[a] = 1 + below(random, a ? 9 : 5);
    g->kernel[a] = 1 + below(random, 4);
    g->stride[a] = 1 + below(random, 3);
    g->dilation[a] = 1 + below(random, 2) * below(random, 2);
    g->begin[a] = g->automatic ? 0 : below(random, g->kernel[a]);
    g->end[a] = g->automatic ? 0 : below(random, g->kernel[a]);
    if (g->input[a] + g->begin[a] + g->end[a] < (g->kernel[a] - 1) * g->dilation[a] + 1) return false;
  }
  set_outputs(g);
  for (int a = 0; a < g->axes; a++)
    for (int64_t o = 0; o < g->output[a]; o++) {
      int64_t inside = 0;
      for (int64_t k = 0; k < g->kernel[a]; k++) {
        const int64_t at = o * g->stride[a] - g->begin[a] + k * g->dilation[a];
        inside += at >= 0 && at < g->input[a];
      }
      if (!inside) return false;
    }
  return true;
}

typedef struct window {
  double maximum, sum, powers, inside, padded; // padded: places inside of the input or its padding
  int64_t place, place_by_columns;             // of the maximum in its plane
} window;

static int64_t product(const int64_t *sizes, int count) { return count ? sizes[0] * product(sizes + 1, count - 1) : 1; }

static window looked_at(const geometry *g, const double *plane, int64_t output, int power) {
  window w = {.maximum = -INFINITY};
  for (int64_t k = 0; k < product(g->kernel, g->axes); k++) {
    int64_t place = 0, by_columns = 0, step = 1, o = output, kernel = k, at[AXES];
    bool inside = true, padded = true;
    for (int a = g->axes - 1; a >= 0; a--) {
      at[a] = o % g->output[a] * g->stride[a] - g->begin[a] + kernel % g->kernel[a] * g->dilation[a];
      inside = inside && at[a] >= 0 && at[a] < g->input[a];
      padded = padded && at[a] < g->input[a] + g->end[a];
      o /= g->output[a], kernel /= g->kernel[a];
      place += at[a] * step, step *= g->input[a];
    }
    w.padded += padded;
    if (!inside) continue;
    for (int a = g->axes - 1; a >= 0; a--) by_columns = by_columns * g->input[a] + at[a];
    w.inside++, w.sum += plane[place], w.powers += pow(fabs(plane[place]), power);
    if (plane[place] > w.maximum) w.maximum = plane[place], w.place = place, w.place_by_columns = by_columns;
  }
  return w;
}

static void set_node(harness *run, const geometry *g) {
  int64_t pads[2 * AXES];
  for (int a = 0; a < g->axes; a++) pads[a] = g->begin[a], pads[g->axes + a] = g->end[a];
  dq_node_set_ints(run->graph, run->node, "kernel_shape", g->kernel, g->axes);
  dq_node_set_ints(run->graph, run->node, "strides", g->stride, g->axes);
  dq_node_set_ints(run->graph, run->node, "dilations", g->dilation, g->axes);
  dq_node_set_int(run->graph, run->node, "ceil_mode", g->ceil);
  if (g->automatic) dq_node_set_string(run->graph, run->node, "auto_pad", g->automatic);
  else dq_node_set_ints(run->graph, run->node, "pads", pads, 2 * g->axes);
}

static void same(const geometry *g, dq_random *random) {
  static const char *const operators[] = {"MaxPool", "AveragePool", "LpPool"};
  static const int types[] = {DQ_F32, DQ_F64, DQ_F16, DQ_I8, DQ_U8};
  static double values[MOST], results[MOST], places[MOST];
  const int kind = (int)below(random, 3), type = types[below(random, kind ? 3 : 5)], power = 1 + (int)below(random, 3);
  const bool indices = !kind && below(random, 2), by_columns = below(random, 2), padding = below(random, 2);
  const int64_t size = product(g->input, g->axes), outputs = product(g->output, g->axes);
  for (int64_t i = 0; i < PLANES * size; i++) values[i] = (double)below(random, 100) - (type == DQ_U8 ? 0 : 50);
  for (int64_t i = 0; i < PLANES * outputs; i++) {
    const int64_t plane = i / outputs;
    const window w = looked_at(g, values + plane * size, i % outputs, power);
    results[i] = !kind ? w.maximum : kind == 1 ? w.sum / (padding ? w.padded : w.inside) : pow(w.powers, 1.0 / power);
    places[i] = (double)(plane * size + (by_columns ? w.place_by_columns : w.place));
  }
  int64_t dims[2 + AXES] = {2, 3};
  harness run;
  harness_open(&run, "", operators[kind], 22);
  run.output_count = 1 + indices;
  set_node(&run, g);
  if (kind == 1) dq_node_set_int(run.graph, run.node, "count_include_pad", padding);
  if (kind == 2) dq_node_set_int(run.graph, run.node, "p", power);
  if (kind == 0) dq_node_set_int(run.graph, run.node, "storage_order", by_columns);
  memcpy(dims + 2, g->input, sizeof g->input);
  harness_numbers(&run, 0, type, 2 + g->axes, dims, values);
  if (harness_prepare(&run) != DQ_OK) fail_msg("%s: %s", operators[kind], run.error.message);
  memcpy(dims + 2, g->output, sizeof g->output);
  harness_gave(&run, 0, type, 2 + g->axes, dims, results, !kind ? 0 : type == DQ_F16 ? 0.3 : 2e-4);
  if (indices) harness_gave(&run, 1, DQ_I64, 2 + g->axes, dims, places, 0);
  harness_close(&run);
}

static void pools(void **state) {
  (void)state;
  dq_random random = dq_random_start(6, 0);
  geometry g;
  for (int round = 0; round < ROUNDS; round++) {
    while (!drawn(&g, &random)) continue;
    same(&g, &random);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pools)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
