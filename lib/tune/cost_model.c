// The cost model of tuning.
#include "lib/tune/cost_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/linalg/linalg.h"

// ---- Sizes of a step ----

enum { MOST_DIMS = 8 };
static const double MOST_SIZE = 1e15; // of a dimension, so that products of all are finite

typedef struct tensor_text {
  char type[16];
  double dims[MOST_DIMS];
  int rank;
  bool constant;
} tensor_text;

// Reads "float32[1,3,8,8]" or the same with '=', up to the next slash. False: it is something else.
static bool read_tensor(const char *text, tensor_text *tensor) {
  size_t length = strcspn(text, "[/");
  *tensor = (tensor_text){.rank = 0};
  if (!length || text[length] != '[' || length >= sizeof tensor->type) return false;
  memcpy(tensor->type, text, length);
  const char *at = text + length + 1;
  while (*at && *at != ']') {
    char *end;
    double size = strtod(at, &end);
    if (end == at || !(size >= 0 && size <= MOST_SIZE) || tensor->rank == MOST_DIMS) return false;
    tensor->dims[tensor->rank++] = size;
    at = *end == ',' ? end + 1 : end;
  }
  tensor->constant = *at && at[1] == '=';
  return *at == ']';
}

static double product(const tensor_text *tensor, int from) {
  double all = 1;
  for (int d = from; d < tensor->rank; d++) all *= tensor->dims[d];
  return all;
}

static double dim(const tensor_text *tensor, int d) { return d >= 0 && d < tensor->rank ? tensor->dims[d] : 1; }

static double logarithm(double size) { return log2(fmax(size, 1)); }

typedef struct step_text {
  tensor_text input, weight, output; // weight: the first constant of at least two dimensions, rank 0: there is none
  int operator_length;
} step_text;

// "operator/sums/tensor/.../to/tensor/..."
static bool read_step(const char *run, step_text *step) {
  tensor_text tensor;
  int read = 0;
  *step = (step_text){.operator_length = (int)strcspn(run, "/")};
  for (const char *part = strchr(run, '/'); part; part = strchr(part + 1, '/')) {
    if (!strncmp(part, "/to/", 4)) return read && read_tensor(part + 4, &step->output);
    if (!read_tensor(part + 1, &tensor)) continue;
    if (!read++) step->input = tensor;
    else if (!step->weight.rank && tensor.constant && tensor.rank >= 2) step->weight = tensor;
  }
  return false;
}

static void name_family(dq_run_shape *shape, const char *run, const step_text *step) {
  shape->kind = snprintf(shape->family, sizeof shape->family, "%.*s %s", step->operator_length, run, step->input.type);
  if (shape->kind >= DQ_FAMILY_TEXT) shape->kind = DQ_FAMILY_TEXT - 1;
  shape->type = step->operator_length < shape->kind ? step->operator_length : shape->kind;
  if (step->weight.rank < 4) return;
  snprintf(shape->family + shape->kind, sizeof shape->family - (size_t)shape->kind, " %.0fx%.0f%s",
           step->weight.dims[2], step->weight.dims[3], shape->depthwise ? " depthwise" : "");
}

bool dq_run_shape_read(dq_run_shape *shape, const char *run) {
  step_text step;
  *shape = (dq_run_shape){.kind = 0};
  if (!read_step(run, &step)) return false;
  const tensor_text *input = &step.input, *weight = &step.weight, *output = &step.output;
  double channels = weight->rank ? dim(weight, 1) : dim(input, 1), taps = product(weight, 2);
  double plane = product(output, 2);
  shape->depthwise = weight->rank > 2 && channels == 1 && dim(input, 1) > 1;
  const double sizes[DQ_RUN_SIZES] = {plane, dim(output, output->rank - 1),     dim(output, 1), channels,
                                      taps,  product(input, 2) / fmax(plane, 1)};
  for (int i = 0; i < DQ_RUN_SIZES; i++) shape->sizes[i] = logarithm(sizes[i]);
  shape->work = fmax(1, product(output, 0) * (weight->rank ? channels * taps : 1));
  name_family(shape, run, &step);
  return true;
}

// ---- Observations ----

enum { NEAREST = 160 };

typedef struct observation {
  dq_run_shape shape;
  dq_step_choice choice;
  dq_counts counts;
  bool counted;
  double value; // logarithm of the seconds
} observation;

typedef struct neighbour {
  double distance;
  int index;
} neighbour;

struct dq_cost_model {
  dq_arena *arena;
  observation *all;
  neighbour *near; // [capacity]
  int count, capacity;
  // The following fields are those of the last fit.
  dq_run_shape shape;
  dq_costs costs;
  int used;                // observations: those of the first neighbours
  double mean;             // of their values less those of the counts
  double weights[NEAREST]; // what each adds to an expectation for each unit of covariance
  double *matrix;          // [NEAREST * NEAREST]
};

dq_cost_model *dq_cost_model_new(dq_arena *arena) {
  dq_cost_model *model = DQ_NEW(arena, dq_cost_model);
  double *matrix = DQ_NEW_ARRAY(arena, NEAREST * NEAREST, double);
  if (!model || !matrix) return NULL;
  *model = (dq_cost_model){.arena = arena, .costs = dq_costs_usual(), .matrix = matrix};
  return model;
}

static dq_status grow(dq_cost_model *model, dq_error *error) {
  int capacity = model->capacity ? 2 * model->capacity : 64;
  observation *more = DQ_NEW_ARRAY(model->arena, capacity, observation);
  neighbour *near = DQ_NEW_ARRAY(model->arena, capacity, neighbour);
  if (!more || !near) return dq_fail_memory(error, (size_t)capacity * sizeof *more);
  if (model->count) memcpy(more, model->all, (size_t)model->count * sizeof *more);
  model->all = more, model->near = near, model->capacity = capacity;
  return DQ_OK;
}

dq_status dq_cost_model_add(dq_cost_model *model, const char *run, const dq_step_choice *choice,
                            const dq_counts *counts, double seconds, dq_error *error) {
  observation one = {.choice = *choice, .counts = *counts, .value = log(seconds)};
  if (!dq_run_shape_read(&one.shape, run) || !isfinite(one.value)) return DQ_OK;
  const dq_costs usual = dq_costs_usual();
  one.counted = dq_costs_seconds(&usual, counts) > 0;
  if (model->count == model->capacity) DQ_TRY(grow(model, error));
  model->all[model->count++] = one;
  return DQ_OK;
}

// ---- Expectations ----

// Squared distance in the logarithms of sizes.
static double distance(const dq_run_shape *a, const dq_run_shape *b) {
  double sum = a->depthwise == b->depthwise ? 0 : 16;
  for (int i = 0; i < DQ_RUN_SIZES; i++) sum += (a->sizes[i] - b->sizes[i]) * (a->sizes[i] - b->sizes[i]);
  return sum;
}

static double fall(double square, double length) { return exp(-square / (2 * length * length)); }

// The covariance of the logarithms of two times: parts for what shapes have in common, whatever the choice, and for
// what choices of one algorithm do.
static double covariance(double square, const dq_step_choice *a, const dq_step_choice *b) {
  double near = fall(square, 3), same = fall(square, 0.7);
  double sum = 0.5 + near + 0.3 * same;
  if (a->values[DQ_KNOB_OF_ALGORITHM] != b->values[DQ_KNOB_OF_ALGORITHM]) return sum;
  double columns = a->values[DQ_KNOB_OF_COLUMNS] - b->values[DQ_KNOB_OF_COLUMNS];
  double depth = a->values[DQ_KNOB_OF_DEPTH] - b->values[DQ_KNOB_OF_DEPTH];
  double sizes = fall(columns * columns + depth * depth, 1.5);
  if (a->values[DQ_KNOB_OF_THREADS] != b->values[DQ_KNOB_OF_THREADS]) sizes *= 0.3;
  return sum + 0.3 + near + 0.3 * same + sizes * (0.05 + 0.15 * near + 0.1 * same);
}

static const double NOISE = 0.02; // of a logarithm of a time

static int by_distance(const void *a, const void *b) {
  const neighbour *left = a, *right = b;
  if (left->distance != right->distance) return left->distance < right->distance ? -1 : 1;
  return (left->index > right->index) - (left->index < right->index);
}

// Whether an observation is of the kind of the shape in hand.
static bool is_like(const dq_cost_model *model, const observation *one, bool is_counted) {
  const dq_run_shape *a = &one->shape, *b = &model->shape;
  if (one->counted != is_counted) return false;
  if (!is_counted) return a->kind == b->kind && !strncmp(a->family, b->family, (size_t)a->kind);
  int bytes = a->kind - a->type;
  return bytes == b->kind - b->type && !strncmp(a->family + a->type, b->family + b->type, (size_t)bytes);
}

static void find_nearest(dq_cost_model *model, bool is_counted) {
  int found = 0;
  for (int i = 0; i < model->count; i++)
    if (is_like(model, &model->all[i], is_counted))
      model->near[found++] = (neighbour){distance(&model->all[i].shape, &model->shape), i};
  if (found) qsort(model->near, (size_t)found, sizeof *model->near, by_distance);
  model->used = found < NEAREST ? found : NEAREST;
}

static const observation *observed(const dq_cost_model *model, int i) { return &model->all[model->near[i].index]; }

static void fill_matrix(dq_cost_model *model) {
  for (int i = 0; i < model->used; i++)
    for (int k = i; k < model->used; k++) {
      const observation *a = observed(model, i), *b = observed(model, k);
      double value = covariance(distance(&a->shape, &b->shape), &a->choice, &b->choice);
      model->matrix[i * model->used + k] = value + (i == k ? NOISE * NOISE : 0);
    }
}

static dq_status fit_costs(dq_cost_model *model, dq_error *error) {
  const dq_counts *counts[NEAREST];
  double logarithms[NEAREST];
  for (int i = 0; i < model->used; i++) {
    counts[i] = &observed(model, i)->counts;
    logarithms[i] = observed(model, i)->value;
  }
  return dq_costs_fit(&model->costs, counts, logarithms, model->used, error);
}

// The logarithm of what a step takes by its counts, or of its work where nothing was counted.
static double counted(const dq_cost_model *model, const dq_run_shape *shape, const dq_counts *counts) {
  double seconds = dq_costs_seconds(&model->costs, counts);
  return log(seconds > 0 ? seconds : fmax(shape->work, 1));
}

dq_status dq_cost_model_fit(dq_cost_model *model, const char *run, bool is_counted, dq_error *error) {
  model->used = 0, model->mean = 0, model->costs = dq_costs_usual();
  if (!dq_run_shape_read(&model->shape, run)) return DQ_OK;
  find_nearest(model, is_counted);
  if (!model->used) return DQ_OK;
  if (is_counted) DQ_TRY(fit_costs(model, error));
  for (int i = 0; i < model->used; i++) {
    const observation *one = observed(model, i);
    model->weights[i] = one->value - counted(model, &one->shape, &one->counts);
    model->mean += model->weights[i] / model->used;
  }
  for (int i = 0; i < model->used; i++) model->weights[i] -= model->mean;
  fill_matrix(model);
  DQ_TRY(dq_factor_symmetric(model->used, model->matrix, error));
  dq_solve_factored(model->used, model->matrix, model->weights);
  return DQ_OK;
}

double dq_cost_model_seconds(const dq_cost_model *model, const dq_step_choice *choice, const dq_counts *counts) {
  double value = model->mean;
  for (int i = 0; i < model->used; i++)
    value += model->weights[i] * covariance(model->near[i].distance, choice, &observed(model, i)->choice);
  return exp(value + counted(model, &model->shape, counts));
}
