// Range search by output error (quant/int8/job.h): the network in float, step by step, and every step that
// reads a value in question once more with each of its ranges.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/graph/saturation.h"
#include "lib/kernels/conv/conv.h"
#include "lib/ops/common/elementwise.h"
#include "lib/session/runner.h"
#include "lib/verdict/output_error.h"
#include "quant/int8/facts.h"
#include "quant/int8/stages.h"

enum { SHARES = 5, RANGES = SHARES + 3, MOST_INPUTS = 16 };
// Pictures: of all those in question no more elements than this, but at least so many pictures.
enum { MOST_ELEMENTS = 1 << 26, FEWEST_PICTURES = 16 };
enum { FIRST_PICTURES = 3, KEPT = 3 }; // after the first pictures only its own and the best ranges go on

// A value with a range of its own, and all that have its numbers.
typedef struct target {
  int root;
  int count; // of ranges; the first is the one it has
  dq_range_pair ranges[RANGES];
  dq_parameters parameters[RANGES];
  double noise[RANGES]; // in the results of all that reads it, on the picture at hand
  double total[RANGES]; // on all pictures
  bool dropped[RANGES];
} target;

typedef struct search {
  dq_int8_job *job;
  target *targets;
  int count;
  dq_runner runner;
  int *target_of;                 // by value of the session's graph; -1: none
  float *inputs[MOST_INPUTS];     // of the step at hand, as they are
  size_t capacities[MOST_INPUTS]; // bytes
  float *exact;                   // its result
  size_t capacity;
} search;

// ---- Ranges ----

static void add_range(target *t, dq_range_pair range) {
  static const double ALIKE = 0.02;
  const dq_range_pair *own = &t->ranges[0];
  double width = t->count ? (double)own->high - (double)own->low : 0;
  for (int i = 0; i < t->count; i++)
    if (fabs((double)range.low - (double)t->ranges[i].low) + fabs((double)range.high - (double)t->ranges[i].high) <
        ALIKE * width)
      return;
  t->ranges[t->count++] = range;
}

static void list_ranges(const dq_int8_job *job, target *t, const dq_calibration *calibration) {
  static const char *const methods[] = {"minmax", "mse"};
  static const double shares[SHARES] = {0.9, 0.8, 0.7, 0.6, 0.5};
  const dq_int8_options *options = job->in->options;
  dq_range_pair own = job->choices[t->root].range;
  add_range(t, own);
  for (int m = 0; m < DQ_COUNT(methods); m++)
    add_range(t, dq_int8_range_by(job, t->root, dq_observer_find(methods[m]), calibration));
  for (int s = 0; s < SHARES; s++)
    add_range(t, (dq_range_pair){(float)(shares[s] * (double)own.low), (float)(shares[s] * (double)own.high)});
  for (int r = 0; r < t->count; r++)
    t->parameters[r] =
        dq_parameters_for(t->ranges[r].low, t->ranges[r].high, options->activation_type, options->symmetric);
}

// Whether the value is the argument of a function that ends the network: cutting it off costs next to nothing in the
// function's result and much for whoever compares arguments.
static bool ends_in_function(const dq_int8_job *job, int v) {
  static const char *const functions[] = {"Softmax", "LogSoftmax", "Sigmoid", "HardSigmoid", NULL};
  for (int o = 0; o < job->graph->output_count; o++) {
    const dq_value *argument = dq_before_function(job->graph->outputs[o], functions);
    if (argument && job->choices[argument->index].shares == v) return true;
  }
  return false;
}

// Whether a value has a range that could be another one.
static bool is_target(const dq_int8_job *job, int v) {
  const dq_value_choice *choice = &job->choices[v];
  bool levelled = job->in->levelled && !strcmp(job->in->levelled, job->graph->values[v]->name);
  return choice->quantized && choice->shares == v && !choice->constant && !levelled && !ends_in_function(job, v);
}

// Lists the values whose ranges are searched. `calibration` NULL: they get no candidates for ranges.
static dq_status list_targets(search *s, const dq_calibration *calibration) {
  const dq_int8_job *job = s->job;
  s->targets = DQ_NEW_ARRAY(job->arena, job->value_count, target);
  if (!s->targets) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++) {
    const dq_value_choice *choice = &job->choices[v];
    if (!is_target(job, v) || (calibration && !(choice->range.low < choice->range.high))) continue;
    target *here = &s->targets[s->count++];
    *here = (target){.root = v};
    if (calibration) list_ranges(job, here, calibration);
  }
  return DQ_OK;
}

// ---- Running ----

static dq_status open_session(search *s) {
  dq_int8_job *job = s->job;
  const char **taps = DQ_NEW_ARRAY(job->arena, job->value_count, const char *);
  int *of_root = DQ_NEW_ARRAY(job->arena, job->value_count, int);
  // Candidates are compared with each other and with a result that is computed in the same way.
  static const dq_conv_setting fastest = {NULL, DQ_CONV_AUTO};
  dq_runner_options options = {
      .session = {.shapes = job->in->options->shapes, .taps = taps, .convolutions = &fastest, .convolution_count = 1}};
  if (!taps || !of_root) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++) of_root[v] = -1;
  for (int t = 0; t < s->count; t++) of_root[s->targets[t].root] = t;
  for (int v = 0; v < job->value_count; v++)
    if (job->choices[v].quantized && of_root[job->choices[v].shares] >= 0)
      taps[options.session.tap_count++] = job->graph->values[v]->name;
  DQ_TRY(dq_runner_open(&s->runner, job->graph, job->pictures.data, &options, job->in->context, job->error));
  const dq_graph *copy = s->runner.session.copy;
  s->target_of = DQ_NEW_ARRAY(job->arena, copy->value_count, int);
  if (!s->target_of) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < copy->value_count; v++) s->target_of[v] = -1;
  for (int i = 0; i < options.session.tap_count; i++) {
    const dq_value *here = dq_graph_find(copy, taps[i]);
    if (here) s->target_of[here->index] = of_root[job->choices[dq_graph_find(job->graph, taps[i])->index].shares];
  }
  return DQ_OK;
}

static int target_at(const search *s, const dq_node *node, int input) {
  const dq_value *value = node->inputs[input], *result = node->outputs[0];
  int t = value ? s->target_of[value->index] : -1;
  bool moved = t >= 0 && result && s->target_of[result->index] == t;
  return moved ? -1 : t;
}

static bool grow(const dq_context *context, float **buffer, size_t *capacity, size_t bytes) {
  if (bytes <= *capacity) return true;
  dq_budget_free(*buffer);
  *buffer = dq_context_alloc(context, bytes);
  *capacity = *buffer ? bytes : 0;
  return *buffer != NULL;
}

static const dq_tensor *tensor_of(const search *s, const dq_value *value) {
  const dq_tensor *tensor = value && !value->constant ? dq_plan_value(s->runner.session.plan, value->name) : NULL;
  return tensor && tensor->data && tensor->rank >= 0 ? tensor : NULL;
}

static bool copy_inputs(search *s, const dq_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *tensor = tensor_of(s, node->inputs[i]);
    if (!tensor) continue;
    if (!grow(s->job->in->context, &s->inputs[i], &s->capacities[i], dq_tensor_bytes(tensor) + 1)) return false;
    memcpy(s->inputs[i], tensor->data, dq_tensor_bytes(tensor));
  }
  return true;
}

// All inputs but those of target t, which get other elements in any case; t -1: all.
static void restore_inputs(const search *s, const dq_node *node, int t) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *tensor = t >= 0 && target_at(s, node, i) == t ? NULL : tensor_of(s, node->inputs[i]);
    if (tensor) memcpy(tensor->data, s->inputs[i], dq_tensor_bytes(tensor));
  }
}

typedef struct rounding {
  float *to;
  const float *from;
  const dq_parameters *parameters;
  unsigned cpu;
} rounding;

// What a value is after QuantizeLinear and DequantizeLinear.
static void round_values(void *argument, int64_t first, int64_t end) {
  const rounding *r = argument;
  dq_round_numbers(r->parameters, r->cpu, r->from + first, r->to + first, end - first);
}

// The step with one range of a target. Squares of shares: a picture whose peaks are cut off counts for more than
// several that lose as much together.
static dq_status try_range(search *s, int step, const dq_node *node, int t, int range, dq_error *error) {
  const dq_context *context = s->job->in->context;
  target *here = &s->targets[t];
  restore_inputs(s, node, t);
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *tensor = target_at(s, node, i) == t ? tensor_of(s, node->inputs[i]) : NULL;
    rounding job = {tensor ? tensor->data : NULL, s->inputs[i], &here->parameters[range], context ? context->cpu : 0};
    if (tensor) dq_spans(context, dq_tensor_count(tensor), DQ_GRAIN, round_values, &job);
  }
  DQ_TRY(dq_plan_run_steps(s->runner.session.plan, step, step + 1, error));
  const dq_tensor *result = tensor_of(s, node->outputs[0]);
  double noise = dq_relative_noise(s->exact, result->data, dq_tensor_count(result), context);
  here->noise[range] += noise * noise;
  return DQ_OK;
}

// All ranges of what the step reads, then the step itself.
static dq_status try_step(search *s, int step, const dq_node *node, dq_error *error) {
  dq_plan *plan = s->runner.session.plan;
  if (!copy_inputs(s, node)) return dq_fail_memory(error, 0);
  DQ_TRY(dq_plan_run_steps(plan, step, step + 1, error));
  const dq_tensor *result = tensor_of(s, node->outputs[0]);
  if (!result || result->type != DQ_F32) return DQ_OK;
  if (!grow(s->job->in->context, &s->exact, &s->capacity, dq_tensor_bytes(result) + 1)) return dq_fail_memory(error, 0);
  memcpy(s->exact, result->data, dq_tensor_bytes(result));
  for (int i = 0; i < node->input_count; i++) {
    int t = target_at(s, node, i);
    bool again = false;
    for (int k = 0; k < i; k++) again = again || target_at(s, node, k) == t;
    for (int r = 0; t >= 0 && !again && r < s->targets[t].count; r++)
      if (!s->targets[t].dropped[r]) DQ_TRY(try_range(s, step, node, t, r, error));
  }
  restore_inputs(s, node, -1);
  memcpy(result->data, s->exact, dq_tensor_bytes(result)); // perhaps in the place of an input
  return DQ_OK;
}

static bool reads_targets(const search *s, const dq_node *node) {
  bool any = false;
  for (int i = 0; i < node->input_count; i++) any = any || target_at(s, node, i) >= 0;
  return any && node->input_count <= MOST_INPUTS && node->output_count == 1;
}

// Fills the noises of the targets. No dq_picture_loop: the pictures are spread with unequal steps, and steps of the
// plan run several times.
static dq_status try_picture(search *searched, int64_t picture) {
  const dq_int8_job *job = searched->job;
  dq_plan *plan = searched->runner.session.plan;
  for (int t = 0; t < searched->count; t++) memset(searched->targets[t].noise, 0, sizeof searched->targets[t].noise);
  DQ_TRY(dq_runner_read(&searched->runner, picture, 1, NULL, job->error));
  for (int s = 0; s < dq_plan_step_count(plan); s++) {
    const dq_node *node = dq_plan_step(plan, s, NULL);
    DQ_TRY(reads_targets(searched, node) ? try_step(searched, s, node, job->error)
                                         : dq_plan_run_steps(plan, s, s + 1, job->error));
  }
  return DQ_OK;
}

// ---- Choosing ----

static int best_range(const target *t) {
  int best = -1;
  for (int r = 0; r < t->count; r++)
    if (!t->dropped[r] && (best < 0 || t->total[r] < t->total[best])) best = r;
  return best;
}

// Drops all but the best; the value's own stays, which later pictures' peaks may speak for.
static void drop_ranges(target *t) {
  bool kept[RANGES] = {true};
  t->dropped[0] = true;
  for (int k = 1; k < KEPT && k < t->count; k++) {
    int best = best_range(t);
    kept[best] = t->dropped[best] = true;
  }
  for (int r = 0; r < t->count; r++) t->dropped[r] = !kept[r];
}

static void set_range(dq_value_choice *choice, dq_range_pair range, const dq_calibration *calibration) {
  choice->searched = range.low != choice->range.low || range.high != choice->range.high;
  choice->range = range;
  choice->clipped = dq_histogram_clipped(&calibration->histograms[choice->slot], range);
}

// Sets the ranges that an earlier trial found; `known` has one for each histogram of the calibration.
static void apply_known(dq_int8_job *job, const dq_range_pair *known, const dq_calibration *calibration) {
  for (int v = 0; v < job->value_count; v++)
    if (job->choices[v].slot >= 0) set_range(&job->choices[v], known[job->choices[v].slot], calibration);
}

static dq_status choose(const search *s, const dq_calibration *calibration) {
  dq_int8_job *job = s->job;
  for (int t = 0; t < s->count; t++) {
    const target *here = &s->targets[t];
    set_range(&job->choices[here->root], here->ranges[best_range(here)], calibration);
  }
  return dq_int8_store_searched_ranges(job, calibration->count);
}

static void close_search(search *s) {
  dq_runner_close(&s->runner);
  for (int i = 0; i < MOST_INPUTS; i++) dq_budget_free(s->inputs[i]);
  dq_budget_free(s->exact);
}

// So many of the first pictures are in question.
static int64_t searched_pictures(const dq_int8_job *job) {
  return job->pictures.search_count ? job->pictures.search_count : job->pictures.count;
}

static int64_t count_pictures(const search *s) {
  const dq_int8_job *job = s->job;
  int64_t elements = 1;
  for (int t = 0; t < s->count; t++)
    if (job->tensors[s->targets[t].root].rank >= 0) elements += dq_tensor_count(&job->tensors[s->targets[t].root]);
  int64_t pictures = MOST_ELEMENTS / elements;
  if (pictures < FEWEST_PICTURES) pictures = FEWEST_PICTURES;
  return pictures < searched_pictures(job) ? pictures : searched_pictures(job);
}

// Adds the noises of all processes, which each has in the order of its pictures.
static dq_status add_noises(search *s, const double *mine, int64_t pictures) {
  const dq_context *context = s->job->in->context;
  const int count = dq_process_count(dq_processes_of(context));
  size_t *sizes = DQ_NEW_ARRAY(s->job->arena, count, size_t), bytes = 0;
  char *all = NULL;
  if (!sizes) return dq_fail_memory(s->job->error, 0);
  DQ_TRY(dq_processes_collect(dq_processes_of(context), dq_budget_of(context), mine,
                              (size_t)(pictures * s->count * RANGES) * sizeof *mine, &all, sizes, s->job->error));
  for (int r = 0; r < count; r++) bytes += sizes[r];
  const double *noise = (const void *)all;
  for (size_t i = 0; i < bytes / sizeof *noise; i++)
    s->targets[i / RANGES % (size_t)s->count].total[i % RANGES] += noise[i];
  dq_budget_free(all);
  return DQ_OK;
}

// Tries the ranges on the pictures `first` to end - 1 of the `count` that are evenly spread over all those in question.
// Each process runs a part of them.
static dq_status try_pictures(search *s, int64_t first, int64_t end, int64_t count) {
  const dq_int8_job *job = s->job;
  const dq_processes *processes = dq_processes_of(job->in->context);
  int64_t own, own_end;
  dq_process_part(processes, end - first, &own, &own_end);
  double *noises = DQ_NEW_ARRAY(job->arena, (own_end - own) * s->count * RANGES, double), *to = noises;
  dq_status status = noises ? DQ_OK : dq_fail_memory(job->error, 0);
  for (int64_t p = first + own; status == DQ_OK && p < first + own_end; p++) {
    status = try_picture(s, p * searched_pictures(job) / count);
    for (int t = 0; status == DQ_OK && t < s->count; t++, to += RANGES)
      memcpy(to, s->targets[t].noise, sizeof s->targets[t].noise);
    dq_progress(job->in->context, "searching ranges", p + 1, count);
  }
  DQ_TRY(dq_processes_agree(processes, status, job->error));
  return add_noises(s, noises, own_end - own);
}

static dq_status run_search(search *s, const dq_calibration *calibration) {
  const int64_t count = count_pictures(s), first = count < FIRST_PICTURES ? count : FIRST_PICTURES;
  DQ_TRY(open_session(s));
  DQ_TRY(try_pictures(s, 0, first, count));
  for (int t = 0; first == FIRST_PICTURES && t < s->count; t++) drop_ranges(&s->targets[t]);
  DQ_TRY(try_pictures(s, first, count, count));
  return choose(s, calibration);
}

dq_status dq_int8_search_ranges(dq_int8_job *job, const dq_calibration *calibration) {
  search s = {.job = job};
  const dq_range_pair *known = dq_int8_searched_ranges(job);
  if (known) {
    apply_known(job, known, calibration);
    return DQ_OK;
  }
  DQ_TRY(list_targets(&s, calibration));
  dq_status status = s.count ? run_search(&s, calibration) : DQ_OK;
  close_search(&s);
  return status;
}

// ---- Memory ----

// Widens the sizes of the buffers to what try_step needs for a node.
static void add_need(search *s, const dq_node *node) {
  const dq_tensor *result = tensor_of(s, node->outputs[0]);
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *tensor = tensor_of(s, node->inputs[i]);
    if (tensor && dq_tensor_bytes(tensor) > s->capacities[i]) s->capacities[i] = dq_tensor_bytes(tensor);
  }
  if (result && dq_tensor_bytes(result) > s->capacity) s->capacity = dq_tensor_bytes(result);
}

static dq_status check_need(search *searched) {
  const dq_int8_job *job = searched->job;
  DQ_TRY(list_targets(searched, NULL));
  DQ_TRY(open_session(searched));
  for (int s = 0; s < dq_plan_step_count(searched->runner.session.plan); s++) {
    const dq_node *node = dq_plan_step(searched->runner.session.plan, s, NULL);
    if (reads_targets(searched, node)) add_need(searched, node);
  }
  size_t bytes = searched->capacity;
  for (int i = 0; i < MOST_INPUTS; i++) bytes += searched->capacities[i];
  dq_status status = dq_check_memory(job->in->context, bytes, "the range search", job->error);
  const char *hint = job->in->options->search_hint;
  if (status != DQ_OK && hint) dq_error_hint(job->error, "%s", hint);
  return status;
}

dq_status dq_int8_check_search(dq_int8_job *job) {
  search s = {.job = job};
  if (!job->in->context || !job->in->context->budget || !job->in->context->budget->limit) return DQ_OK;
  dq_status status = check_need(&s);
  close_search(&s);
  return status;
}
