// Gradients of MaxPool and AveragePool: each output gives its gradient to the largest element of its window, the first
// of equals, or in equal parts to all of them.
#include "lib/ops/common/convolution.h"
#include "lib/ops/gradient/gradient.h"

typedef struct pool_job {
  const dq_op *op;
  dq_window w; // three axes
  bool count_padding;
  int64_t in_plane, out_plane;
} pool_job;

// Calls `action` for each element of the window of each output: `o` is the position, `n` the number of the output in
// its plane, `at` that of the element.
#define EACH_OUTPUT(w, o, n)                                                                                           \
  int64_t o[3], n = 0;                                                                                                 \
  for (o[0] = 0; o[0] < (w)->output[0]; o[0]++)                                                                        \
    for (o[1] = 0; o[1] < (w)->output[1]; o[1]++)                                                                      \
      for (o[2] = 0; o[2] < (w)->output[2]; o[2]++, n++)

// The part of a window inside the input: `first` to `end` - 1 of the kernel, and the element of kernel step 0.
typedef struct part {
  int64_t first[3], end[3], start[3];
} part;

static part part_of(const dq_window *w, const int64_t *o) {
  part p;
  for (int i = 0; i < 3; i++) {
    dq_window_inside(w, i, o[i], &p.first[i], &p.end[i]);
    p.start[i] = o[i] * w->stride[i] - w->begin[i];
  }
  return p;
}

static int64_t place(const dq_window *w, const part *p, int64_t k0, int64_t k1, int64_t k2) {
  return ((p->start[0] + k0 * w->dilation[0]) * w->input[1] + p->start[1] + k1 * w->dilation[1]) * w->input[2] +
         p->start[2] + k2 * w->dilation[2];
}

#define DEFINE_POOLS(symbol, type)                                                                                     \
  static int64_t largest_##symbol(const dq_window *w, const part *p, const type *x) {                                  \
    int64_t best = -1;                                                                                                 \
    for (int64_t k0 = p->first[0]; k0 < p->end[0]; k0++)                                                               \
      for (int64_t k1 = p->first[1]; k1 < p->end[1]; k1++)                                                             \
        for (int64_t k2 = p->first[2]; k2 < p->end[2]; k2++) {                                                         \
          const int64_t at = place(w, p, k0, k1, k2);                                                                  \
          if (best < 0 || x[at] > x[best]) best = at;                                                                  \
        }                                                                                                              \
    return best;                                                                                                       \
  }                                                                                                                    \
  static void max_##symbol(const pool_job *j, int64_t plane) {                                                         \
    const type *g = (const type *)j->op->inputs[0]->data + plane * j->out_plane;                                       \
    const type *x = (const type *)j->op->inputs[1]->data + plane * j->in_plane;                                        \
    type *out = (type *)j->op->outputs[0]->data + plane * j->in_plane;                                                 \
    for (int64_t i = 0; i < j->in_plane; i++) out[i] = 0;                                                              \
    EACH_OUTPUT(&j->w, o, n) {                                                                                         \
      const part p = part_of(&j->w, o);                                                                                \
      const int64_t best = largest_##symbol(&j->w, &p, x);                                                             \
      if (best >= 0) out[best] += g[n];                                                                                \
    }                                                                                                                  \
  }                                                                                                                    \
  static void average_##symbol(const pool_job *j, int64_t plane) {                                                     \
    const type *g = (const type *)j->op->inputs[0]->data + plane * j->out_plane;                                       \
    type *out = (type *)j->op->outputs[0]->data + plane * j->in_plane;                                                 \
    for (int64_t i = 0; i < j->in_plane; i++) out[i] = 0;                                                              \
    EACH_OUTPUT(&j->w, o, n) {                                                                                         \
      const part p = part_of(&j->w, o);                                                                                \
      int64_t counted = 1;                                                                                             \
      for (int i = 0; i < 3; i++) counted *= dq_window_counted(&j->w, j->count_padding, i, o[i]);                      \
      const type share = g[n] / (type)counted;                                                                         \
      for (int64_t k0 = p.first[0]; k0 < p.end[0]; k0++)                                                               \
        for (int64_t k1 = p.first[1]; k1 < p.end[1]; k1++)                                                             \
          for (int64_t k2 = p.first[2]; k2 < p.end[2]; k2++) out[place(&j->w, &p, k0, k1, k2)] += share;               \
    }                                                                                                                  \
  }
DEFINE_POOLS(F32, float)
DEFINE_POOLS(F64, double)

static void max_plane(void *argument, int64_t plane, int thread) {
  const pool_job *j = argument;
  (void)thread;
  if (j->op->outputs[0]->type == DQ_F64) max_F64(j, plane);
  else max_F32(j, plane);
}

static void average_plane(void *argument, int64_t plane, int thread) {
  const pool_job *j = argument;
  (void)thread;
  if (j->op->outputs[0]->type == DQ_F64) average_F64(j, plane);
  else average_F32(j, plane);
}

static dq_status run_pool(dq_op *op, void (*plane)(void *, int64_t, int)) {
  const dq_tensor *x = op->outputs[0];
  dq_window window;
  DQ_TRY(dq_window_read(op, x, NULL, &window));
  pool_job j = {.op = op, .w = dq_window_three(&window)};
  j.count_padding = dq_node_int(op->node, "count_include_pad", 0) != 0;
  j.in_plane = dq_tensor_product(x, 2, x->rank);
  j.out_plane = dq_tensor_product(op->inputs[0], 2, x->rank);
  dq_pool_run(op->context ? op->context->pool : NULL, x->dims[0] * x->dims[1], plane, &j);
  return DQ_OK;
}

static dq_status run_max(dq_op *op) { return run_pool(op, max_plane); }
static dq_status run_average(dq_op *op) { return run_pool(op, average_plane); }

static dq_status infer_max(dq_op *op) {
  return dq_op_shape(op, 0, op->inputs[1]->type, op->inputs[1]->rank, op->inputs[1]->dims);
}

static const dq_attribute_rule attributes[] = {DQ_WINDOW_ATTRIBUTES(true),
                                               {"ceil_mode", DQ_ATTRIBUTE_INT, false},
                                               {"count_include_pad", DQ_ATTRIBUTE_INT, false},
                                               {"storage_order", DQ_ATTRIBUTE_INT, false},
                                               {"shape", DQ_ATTRIBUTE_INTS, false},
                                               {0}};

#define ROW(NAME, INPUTS, KIND, INFER)                                                                                 \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .domain = "dq",                                                                    \
                                    .since = {1},                                                                      \
                                    .inputs = {INPUTS, INPUTS},                                                        \
                                    .outputs = {1, 1},                                                                 \
                                    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64),                                          \
                                    .attributes = attributes,                                                          \
                                    .infer = INFER,                                                                    \
                                    .run = run_##KIND};
ROW(MaxPoolGrad, 2, max, infer_max)
ROW(AveragePoolGrad, 1, average, dq_infer_attribute_shape)

// A node with the attributes of the pool.
static dq_node *pool_node(const dq_gradient *gradient, const char *op_type, int count, dq_value *const *inputs) {
  const dq_node *from = gradient->op->node;
  dq_node *node = dq_gradient_node(gradient, op_type, count, inputs, 1);
  for (int i = 0; node && i < from->attribute_count; i++)
    if (!dq_node_copy_attribute(gradient->graph, node, &from->attributes[i])) return NULL;
  return node;
}

dq_status dq_gradient_max_pool(const dq_gradient *gradient) {
  dq_value *inputs[] = {gradient->outputs[0], dq_gradient_input(gradient, 0)};
  return dq_gradient_set(gradient, 0, dq_gradient_result(pool_node(gradient, "dq.MaxPoolGrad", 2, inputs)));
}

dq_status dq_gradient_average_pool(const dq_gradient *gradient) {
  const dq_tensor *x = gradient->op->inputs[0];
  dq_node *node = pool_node(gradient, "dq.AveragePoolGrad", 1, &gradient->outputs[0]);
  return dq_gradient_set(gradient, 0, dq_gradient_result(dq_gradient_ints(gradient, node, "shape", x->dims, x->rank)));
}
