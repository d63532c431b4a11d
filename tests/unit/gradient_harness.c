#include "tests/unit/gradient_harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/train/backward.h"

int64_t between(trial *t, int64_t least, int64_t most) {
  return least + (int64_t)dq_random_below(&t->random, (uint64_t)(most - least + 1));
}

static dq_value *new_operand(trial *t, int rank, const int64_t *dims, bool derived, bool above) {
  char name[16];
  snprintf(name, sizeof name, "operand%d", t->count);
  dq_value *value = shaped(t->graph, name, rank, dims);
  value->type = t->type;
  t->derived[t->count] = derived;
  t->positive[t->count] = above;
  return t->operands[t->count++] = value;
}

dq_value *operand(trial *t, int rank, const int64_t *dims) { return new_operand(t, rank, dims, true, false); }
dq_value *given(trial *t, int rank, const int64_t *dims) { return new_operand(t, rank, dims, false, true); }
dq_value *positive(trial *t, int rank, const int64_t *dims) { return new_operand(t, rank, dims, true, true); }

dq_value *whole_numbers(trial *t, int count, const int64_t *values) {
  dq_tensor *tensor = dq_tensor_new(t->graph->arena, DQ_I64, 1, (int64_t[]){count});
  if (count) memcpy(tensor->data, values, (size_t)count * sizeof *values);
  return dq_graph_add_constant(t->graph, "numbers", tensor);
}

dq_node *make(trial *t, const char *op_type, int count, dq_value **inputs, int outputs) {
  const bool own = !strncmp(op_type, "dq.", 3);
  dq_value *results[TRIAL_OPERANDS];
  for (int i = 0; i < outputs; i++) results[i] = dq_graph_fresh_value(t->graph, "y");
  dq_node *node = dq_graph_add_node(t->graph, t->graph->node_count, op_type + (own ? 3 : 0), "case", count, inputs,
                                    outputs, results);
  if (own) node->domain = "dq";
  t->output = results[0];
  return node;
}

void set_list(trial *t, dq_node *node, const char *name, int count, const int64_t *values) {
  assert_true(dq_node_set_ints(t->graph, node, name, values, count));
}

// A plan of the case with its loss and gradients.
typedef struct derived_plan {
  trial t;
  dq_plan *plan;
  dq_arena *arena;
} derived_plan;

static void say(dq_status status, const dq_error *error) {
  if (status != DQ_OK) print_message("%s\n", error->message);
  assert_int_equal(status, DQ_OK);
}

static dq_tensor *infer(derived_plan *p, const dq_context *with) {
  dq_tensor *tensors;
  dq_error error = {0};
  say(dq_graph_index(p->t.graph, true, &error), &error);
  say(dq_infer(p->t.graph, NULL, DQ_INFER_ALL, with, p->arena, &tensors, &error), &error);
  return tensors;
}

static void set_outputs(dq_graph *graph, int count, dq_value *const *values) {
  graph->outputs = DQ_NEW_ARRAY(graph->arena, count, dq_value *);
  graph->output_count = count;
  for (int i = 0; i < count; i++) {
    assert_non_null(values[i]);
    (graph->outputs[i] = values[i])->is_output = true;
  }
}

// sum(r y)
static dq_value *add_loss(derived_plan *p, const dq_tensor *y, uint64_t seed) {
  trial *t = &p->t;
  dq_tensor *factors = dq_tensor_new(t->graph->arena, t->type, y->rank, y->dims);
  dq_random random = dq_random_start(seed, 2);
  for (int64_t i = 0; i < dq_tensor_count(factors); i++) dq_tensor_set(factors, i, (double)dq_random_normal(&random));
  dq_value *result = t->output;
  make(t, "Mul", 2, (dq_value *[]){result, dq_graph_add_constant(t->graph, "factors", factors)}, 1);
  set_list(t, make(t, "dq.SumTo", 1, &t->output, 1), "shape", 0, NULL);
  return t->output;
}

static void add_gradients(derived_plan *p, const dq_context *with, uint64_t seed) {
  dq_value *by[TRIAL_OPERANDS], *outputs[1 + TRIAL_OPERANDS];
  dq_error error = {0};
  int count = 0;
  dq_value *y = p->t.output, *loss = add_loss(p, &infer(p, with)[y->index], seed);
  for (int i = 0; i < p->t.count; i++)
    if (p->t.derived[i]) by[count++] = p->t.operands[i];
  dq_tensor *tensors = infer(p, with);
  outputs[0] = loss;
  const dq_derivatives derivatives = {.loss = loss, .by = by, .count = count, .gradients = outputs + 1};
  say(dq_backward(p->t.graph, tensors, &derivatives, with, &error), &error);
  set_outputs(p->t.graph, 1 + count, outputs);
}

static void open_plan(derived_plan *p, trial_case *make_case, int type, const dq_context *with, uint64_t seed) {
  dq_error error = {0};
  *p = (derived_plan){.t = {.graph = new_graph(), .random = dq_random_start(seed, 1), .type = type, .opset = 13},
                      .arena = dq_context_arena(NULL)};
  trial *t = &p->t;
  make_case(t);
  assert_int_equal(dq_graph_set_opset(t->graph, "", t->opset, NULL), DQ_OK);
  t->graph->inputs = DQ_NEW_ARRAY(t->graph->arena, t->count, dq_value *);
  t->graph->input_count = t->count;
  for (int i = 0; i < t->count; i++) (t->graph->inputs[i] = t->operands[i])->is_input = true;
  set_outputs(t->graph, 1, &t->output);
  t->output->is_output = false; // the loss takes its place
  add_gradients(p, with, seed);
  say(dq_graph_index(t->graph, true, &error), &error);
  say(dq_plan_new(&p->plan, t->graph, NULL, NULL, with, &error), &error);
}

static void close_plan(derived_plan *p) {
  dq_plan_free(p->plan);
  dq_graph_free(p->t.graph);
  dq_arena_free(p->arena);
}

// Elements that float32 holds, so that both types compute with the same.
static void fill_operands(derived_plan *p, uint64_t seed) {
  for (int i = 0; i < p->t.count; i++) {
    dq_random random = dq_random_start(seed, 3 + (uint64_t)i);
    dq_tensor *input = dq_plan_input(p->plan, i);
    for (int64_t e = 0; e < dq_tensor_count(input); e++) {
      float x = dq_random_normal(&random);
      dq_tensor_set(input, e, (double)(p->t.positive[i] ? 0.5f + fabsf(x) : x));
    }
  }
}

static void run_all(derived_plan *p) {
  dq_error error = {0};
  say(dq_plan_run(p->plan, &error), &error);
}

// Runs up to the loss, behind which the gradients stand.
static double loss_of(derived_plan *p) {
  dq_error error = {0};
  int steps = 0;
  while (dq_plan_step(p->plan, steps, NULL) != p->t.graph->outputs[0]->producer) steps++;
  say(dq_plan_run_steps(p->plan, 0, steps + 1, &error), &error);
  return dq_tensor_get(dq_plan_output(p->plan, 0), 0);
}

static double central_difference(derived_plan *p, int input, int64_t element) {
  const double step = 1e-5;
  dq_tensor *tensor = dq_plan_input(p->plan, input);
  const double x = dq_tensor_get(tensor, element);
  dq_tensor_set(tensor, element, x + step);
  const double above = loss_of(p);
  dq_tensor_set(tensor, element, x - step);
  const double below = loss_of(p);
  dq_tensor_set(tensor, element, x);
  return (above - below) / (2 * step);
}

static void compare(double found, double expected, double scale, double relative, int input, int64_t element) {
  if (fabs(found - expected) <= relative * (fabs(expected) + 0.01 * scale) + 1e-9) return;
  print_message("input %d, element %lld: gradient %.12g, expected %.12g\n", input, (long long)element, found, expected);
  fail();
}

static double largest(const dq_tensor *tensor) {
  double most = 0;
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) most = fmax(most, fabs(dq_tensor_get(tensor, i)));
  return most;
}

static dq_tensor *copy_of(const dq_tensor *tensor, dq_arena *arena) {
  dq_tensor *copy = dq_tensor_new(arena, tensor->type, tensor->rank, tensor->dims);
  memcpy(copy->data, tensor->data, dq_tensor_bytes(tensor));
  return copy;
}

static void compare_differences(derived_plan *p, dq_tensor *const *gradients, uint64_t seed) {
  enum { MOST_ELEMENTS = 12 };
  dq_random random = dq_random_start(seed, 30);
  int g = 1;
  for (int i = 0; i < p->t.count; i++) {
    if (!p->t.derived[i]) continue;
    const dq_tensor *gradient = gradients[g++];
    assert_true(dq_tensor_same_shape(gradient, dq_plan_input(p->plan, i)));
    const int64_t count = dq_tensor_count(gradient);
    for (int64_t k = 0; k < count && k < MOST_ELEMENTS; k++) {
      const int64_t element = count <= MOST_ELEMENTS ? k : (int64_t)dq_random_below(&random, (uint64_t)count);
      compare(dq_tensor_get(gradient, element), central_difference(p, i, element), largest(gradient), 1e-4, i, element);
    }
  }
}

// The gradients of float32 with these threads and instruction sets; the first is for every later one.
static void compare_float(trial_case *make_case, int threads, unsigned cpu, dq_tensor *const *wide, dq_tensor **first,
                          dq_arena *arena, uint64_t seed) {
  dq_context with;
  derived_plan p;
  assert_int_equal(dq_context_init(&with, threads, cpu, NULL), DQ_OK);
  open_plan(&p, make_case, DQ_F32, &with, seed);
  fill_operands(&p, seed);
  run_all(&p);
  for (int i = 0; i < dq_plan_output_count(p.plan); i++) {
    const dq_tensor *found = dq_plan_output(p.plan, i);
    for (int64_t e = 0; e < dq_tensor_count(found); e++)
      compare(dq_tensor_get(found, e), dq_tensor_get(wide[i], e), 100 * largest(wide[i]), 2e-4, i - 1, e);
    if (first[i]) assert_memory_equal(first[i]->data, found->data, dq_tensor_bytes(found));
    else first[i] = copy_of(found, arena);
  }
  close_plan(&p);
  dq_context_deinit(&with);
}

void check_gradients(trial_case *make_case, uint64_t seed) {
  derived_plan p;
  dq_tensor *wide[1 + TRIAL_OPERANDS], *first[1 + TRIAL_OPERANDS] = {NULL};
  dq_arena *arena = dq_context_arena(NULL);
  dq_context alone = context; // many runs of small networks
  alone.pool = NULL;
  open_plan(&p, make_case, DQ_F64, &alone, seed);
  fill_operands(&p, seed);
  run_all(&p);
  for (int i = 0; i < dq_plan_output_count(p.plan); i++) wide[i] = copy_of(dq_plan_output(p.plan, i), arena);
  compare_differences(&p, wide, seed);
  close_plan(&p);
  for (int threads = 1; threads <= 3; threads++) compare_float(make_case, threads, ~0u, wide, first, arena, seed);
  compare_float(make_case, 2, 0, wide, first, arena, seed);
  dq_arena_free(arena);
}
