#include "decomp/tucker/judge.h"

#include <math.h>
#include <string.h>

#include "lib/eval/eval.h"
#include "lib/graph/saturation.h"
#include "lib/kernels/conv/conv.h"
#include "lib/session/runner.h"

struct dq_judge {
  dq_arena *arena;
  dq_data *data;
  const dq_shape_request *shapes;
  const dq_context *context;
  int64_t pictures, step;
  int outputs;
  float **kept;    // pictures x outputs; NULL: cannot be compared
  bool comparable; // some output
};

// What a walk over the pictures with one network needs.
typedef struct walk {
  const dq_judge *judge;
  dq_runner runner;
  void *user;
} walk;

static dq_status run_copy(const dq_judge *judge, dq_graph *graph, dq_runner_function after, void *user,
                          dq_error *error) {
  dq_show_arguments(graph, dq_saturating_functions); // shares of nearly certain classes hide errors
  DQ_TRY(dq_graph_index(graph, false, error));
  walk all = {.judge = judge, .user = user};
  static const dq_conv_setting fastest = {NULL, DQ_CONV_AUTO};
  dq_runner_options options = {.session = {.convolutions = &fastest, .convolution_count = 1}};
  const dq_picture_range range = {.step = judge->step, .count = judge->pictures, .one_by_one = true};
  if (judge->shapes) options.session.shapes = *judge->shapes;
  DQ_TRY(dq_runner_open(&all.runner, graph, judge->data, &options, judge->context, error));
  dq_status status = dq_runner_each(&all.runner, &range, after, &all, error);
  dq_runner_close(&all.runner);
  return status;
}

static dq_status run(const dq_judge *judge, const dq_graph *graph, dq_runner_function after, void *user,
                     dq_error *error) {
  dq_graph *copy = dq_graph_copy(graph);
  if (!copy) return dq_fail_memory(error, 0);
  dq_status status = run_copy(judge, copy, after, user, error);
  dq_graph_free(copy);
  return status;
}

static float *copy_floats(dq_arena *arena, const dq_tensor *tensor) {
  const int64_t count = dq_tensor_count(tensor);
  float *copy = DQ_NEW_ARRAY(arena, count, float);
  for (int64_t i = 0; copy && i < count; i++) copy[i] = (float)dq_tensor_get(tensor, i);
  return copy;
}

static dq_status store(void *user, int64_t first, int64_t count, const dq_sample_info *infos, dq_error *error) {
  (void)count, (void)infos;
  const walk *all = user;
  dq_judge *judge = all->user;
  const dq_plan *plan = all->runner.session.plan;
  int64_t picture = first / judge->step;
  if (!judge->kept) {
    judge->outputs = dq_plan_output_count(plan);
    judge->kept = DQ_NEW_ARRAY(judge->arena, judge->pictures * judge->outputs, float *);
    if (!judge->kept) return dq_fail_memory(error, sizeof(float *));
  }
  for (int o = 0; o < judge->outputs; o++) {
    const dq_tensor *output = dq_plan_output(plan, o);
    if (!dq_dtype_is_float(output->type) || !dq_plan_output_fixed(plan, o)) continue;
    float *copy = copy_floats(judge->arena, output);
    if (!copy) return dq_fail_memory(error, (size_t)dq_tensor_count(output) * sizeof *copy);
    judge->kept[picture * judge->outputs + o] = copy;
    judge->comparable = true;
  }
  return DQ_OK;
}

typedef struct difference {
  double *sum, *square, *noise; // per output; the first two of the original
  double *count;
} difference;

static dq_status compare(void *user, int64_t first, int64_t pictures, const dq_sample_info *infos, dq_error *error) {
  (void)pictures, (void)infos, (void)error;
  const walk *all = user;
  const dq_judge *judge = all->judge;
  const dq_plan *plan = all->runner.session.plan;
  int64_t picture = first / judge->step;
  difference *d = all->user;
  for (int o = 0; o < judge->outputs; o++) {
    const float *exact = judge->kept[picture * judge->outputs + o];
    const dq_tensor *output = dq_plan_output(plan, o);
    if (!exact) continue;
    int64_t count = dq_tensor_count(output);
    for (int64_t i = 0; i < count; i++) {
      if (!isfinite(exact[i])) continue;
      double e = (double)exact[i];
      d->sum[o] += e, d->square[o] += e * e,
          d->noise[o] += dq_squared_error(e, (double)(float)dq_tensor_get(output, i));
      d->count[o]++;
    }
  }
  return DQ_OK;
}

static dq_status open_difference(difference *d, int outputs, dq_arena *arena, dq_error *error) {
  double *all = DQ_NEW_ARRAY(arena, 4 * outputs, double);
  if (!all) return dq_fail_memory(error, (size_t)outputs * 4 * sizeof *all);
  *d = (difference){all, all + outputs, all + 2 * outputs, all + 3 * outputs};
  return DQ_OK;
}

dq_status dq_judge_noise(const dq_judge *judge, const dq_graph *graph, double *noise, dq_error *error) {
  dq_arena *arena = dq_context_arena(judge->context);
  if (!arena) return dq_fail_memory(error, sizeof(double));
  difference d = {0};
  dq_status status = open_difference(&d, judge->outputs, arena, error);
  if (status == DQ_OK) status = run(judge, graph, compare, &d, error);
  int measured = 0;
  *noise = 0;
  for (int o = 0; status == DQ_OK && o < judge->outputs; o++) {
    if (!(d.count[o] > 0)) continue;
    double variance = d.square[o] - d.sum[o] * d.sum[o] / d.count[o];
    if (variance > 0) *noise += d.noise[o] / variance;
    else if (isinf(d.noise[o])) *noise = INFINITY;
    measured++;
  }
  dq_arena_free(arena);
  if (measured) *noise /= measured;
  if (!isfinite(*noise)) *noise = INFINITY;
  return status;
}

dq_status dq_judge_open(dq_judge **judge, const dq_graph *original, dq_data *data, int64_t pictures,
                        const dq_shape_request *shapes, const dq_context *context, dq_error *error) {
  *judge = NULL;
  dq_arena *arena = dq_context_arena(context);
  dq_judge *made = arena ? DQ_NEW(arena, dq_judge) : NULL;
  if (!made) {
    dq_arena_free(arena);
    return dq_fail_memory(error, sizeof *made);
  }
  int64_t count = dq_data_count(data);
  *made = (dq_judge){.arena = arena, .data = data, .shapes = shapes, .context = context};
  made->pictures = pictures < count ? pictures : count;
  made->step = count / made->pictures;
  dq_status status = run(made, original, store, made, error);
  if (status == DQ_OK && !made->comparable)
    status =
        dq_fail(error, DQ_UNSUPPORTED,
                "no output is of floats and of one size for all pictures, so that none can be compared; --ratio and "
                "--energy do without");
  if (status != DQ_OK) {
    dq_judge_free(made);
    return status;
  }
  *judge = made;
  return DQ_OK;
}

void dq_judge_free(dq_judge *judge) {
  if (judge) dq_arena_free(judge->arena);
}
