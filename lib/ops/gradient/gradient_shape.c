// Gradients of operators that move, repeat or sum elements. Three rows of the domain "dq" are the transposes of each
// other or of themselves: SumTo sums over what broadcasting repeats, Spread repeats, and Place puts elements at regular
// places of a tensor of zeros, or cuts them out of a larger one.
#include <string.h>

#include "lib/kernels/reference/shards.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/common/picture_sums.h"
#include "lib/ops/common/reduction.h"
#include "lib/ops/common/strided.h"
#include "lib/ops/gradient/gradient.h"

enum { GRADIENT_TYPES = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) };

dq_status dq_infer_attribute_shape(dq_op *op) {
  int rank;
  const int64_t *shape = dq_node_ints(op->node, "shape", &rank);
  return dq_op_shape(op, 0, op->inputs[0]->type, rank, shape);
}

// ---- SumTo: the sums of the elements that broadcasting the shape of the output to that of the input repeats ----

static void summed_axes(const dq_op *op, bool *reduced) {
  int rank;
  const dq_tensor *input = op->inputs[0];
  const int64_t *shape = dq_node_ints(op->node, "shape", &rank);
  for (int axis = 0; axis < input->rank; axis++) {
    int own = axis - (input->rank - rank);
    reduced[axis] = own < 0 || shape[own] != input->dims[axis];
  }
}

typedef struct sum_job {
  const dq_tensor *input;
  dq_tensor *output;
  dq_reduction whole, rest; // of a shard, and of the last one, which may be smaller
  int64_t shards, step;     // elements from one shard to the next
  int64_t first;            // shard of the sum over all processes
  double *blocks;           // [blocks][sets]: of the sum over all processes; NULL: there are none
} sum_job;

#define DEFINE_SUM_ROWS(name, type)                                                                                    \
  static double name(const dq_reduction *plan, const void *elements, int64_t set) {                                    \
    double total = 0;                                                                                                  \
    const int64_t stride = plan->stride;                                                                               \
    for (int64_t row = 0; row < plan->rows; row++) {                                                                   \
      const type *x = (const type *)elements + dq_reduction_set(plan, set) + dq_reduction_row(plan, row);              \
      if (stride == 1) DQ_LANE_SUM(type, plan->length, x[i], total);                                                   \
      else DQ_LANE_SUM(type, plan->length, x[i * stride], total);                                                      \
    }                                                                                                                  \
    return total;                                                                                                      \
  }
DEFINE_SUM_ROWS(sum_rows_f32, float)
DEFINE_SUM_ROWS(sum_rows_f64, double)

static dq_shard_sums sum_shards(const sum_job *job, int64_t set) {
  dq_shard_sums sums = {.first = job->first};
  const size_t size = dq_dtype_size(job->input->type);
  for (int64_t shard = 0; shard < job->shards; shard++) {
    const dq_reduction *plan = shard < job->shards - 1 ? &job->whole : &job->rest;
    const char *elements = (const char *)job->input->data + (size_t)(shard * job->step) * size;
    const bool wide = job->input->type == DQ_F64;
    dq_shard_add(&sums, wide ? sum_rows_f64(plan, elements, set) : sum_rows_f32(plan, elements, set));
  }
  return sums;
}

static void sum_span(void *argument, int64_t from, int64_t to) {
  const sum_job *job = argument;
  for (int64_t set = from; set < to; set++) {
    dq_shard_sums sums = sum_shards(job, set);
    for (int b = 0; job->blocks && b < sums.depth; b++) job->blocks[b * job->rest.sets + set] = sums.waiting[b];
    if (!job->blocks) dq_tensor_set(job->output, set, dq_shard_total(&sums));
  }
}

static dq_status infer_SumTo(dq_op *op) {
  int rank;
  const int64_t *shape = dq_node_ints(op->node, "shape", &rank);
  const int64_t rows = op->inputs[0]->rank > 0 ? op->inputs[0]->dims[0] : 0;
  return dq_blocks_shape(op, rows, DQ_F64, rank, shape);
}

// Blocks of the sum over all processes, and the sum.
static dq_status prepare_SumTo(dq_op *op, dq_arena *arena) {
  (void)arena;
  if (!dq_adds_over_processes(op) || dq_leaves_blocks(op)) return DQ_OK;
  const int64_t arrays = 1 + dq_process_blocks(op, op->inputs[0]->dims[0]);
  op->scratch_bytes = (size_t)(arrays * dq_tensor_count(op->outputs[0])) * sizeof(double);
  return DQ_OK;
}

static dq_status add_processes(const dq_op *op, const sum_job *job) {
  const int64_t rows = op->inputs[0]->dims[0], count = dq_tensor_count(op->outputs[0]);
  double *sums = job->blocks + dq_process_blocks(op, rows) * count;
  DQ_TRY(dq_add_over_processes(op, rows, DQ_F64, job->blocks, count, sums));
  for (int64_t set = 0; set < count; set++) dq_tensor_set(op->outputs[0], set, sums[set]);
  return DQ_OK;
}

static dq_status run_SumTo(dq_op *op) {
  bool reduced[DQ_MAX_RANK];
  const dq_tensor *input = op->inputs[0];
  sum_job job = {.input = input, .output = op->outputs[0], .shards = 1};
  dq_tensor shard = *input, rest = *input;
  const bool over_processes = dq_adds_over_processes(op);
  summed_axes(op, reduced);
  if (over_processes)
    job.first = dq_first_shard(op, input->dims[0]),
    job.blocks = dq_leaves_blocks(op) ? op->outputs[0]->data : op->scratch;
  if (input->rank && reduced[0] && input->dims[0] > 0) {
    job.shards = (input->dims[0] - 1) / DQ_SHARD + 1;
    job.step = DQ_SHARD * dq_tensor_product(input, 1, input->rank);
    shard.dims[0] = DQ_SHARD;
    rest.dims[0] = input->dims[0] - (job.shards - 1) * DQ_SHARD;
  }
  dq_reduction_plan(&shard, reduced, &job.whole);
  dq_reduction_plan(&rest, reduced, &job.rest);
  dq_spans(op->context, job.rest.sets, dq_reduction_grain(&job.whole) / job.shards + 1, sum_span, &job);
  return over_processes && !dq_leaves_blocks(op) ? add_processes(op, &job) : DQ_OK;
}

static dq_status gradient_SumTo(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, dq_gradient_spread(gradient, gradient->outputs[0], 0));
}

// ---- Spread: the input broadcast to a shape ----

#define SPREAD(name, symbol, type)                                                                                     \
  static void name##_##symbol(const dq_lane *lane) {                                                                   \
    const type *in = lane->inputs[0];                                                                                  \
    type *out = lane->output;                                                                                          \
    const int64_t stride = lane->strides[0];                                                                           \
    for (int64_t i = 0; i < lane->count; i++) out[i] = in[i * stride];                                                 \
  }
DQ_EACH_FLOAT(SPREAD, Spread)

static dq_status run_Spread(dq_op *op) {
  static dq_loop *const loops[DQ_LOOP_TYPES] = {DQ_EACH_FLOAT(DQ_LOOP_ENTRY, Spread)};
  return dq_elementwise(op, loops, NULL, DQ_GRAIN);
}

// ---- Place: element i of the input along each axis lies at start + i * step of the output, if that is inside ----

// The part of an axis that lies inside: elements [*from, *to) of the input.
static void inside(int64_t input, int64_t output, int64_t start, int64_t step, int64_t *from, int64_t *to) {
  *from = 0, *to = input;
  while (*from < *to && (start + *from * step < 0 || start + *from * step >= output)) ++*from;
  while (*to > *from && (start + (*to - 1) * step < 0 || start + (*to - 1) * step >= output)) --*to;
}

static dq_status infer_Place(dq_op *op) {
  static const char *const names[] = {"shape", "starts", "steps"};
  for (int i = 0; i < 3; i++) {
    int count;
    dq_node_ints(op->node, names[i], &count);
    if (count != op->inputs[0]->rank)
      return dq_op_fail(op, DQ_BAD_INPUT, "attribute '%s' has %d elements, expected %d", names[i], count,
                        op->inputs[0]->rank);
  }
  return dq_infer_attribute_shape(op);
}

static dq_status run_Place(dq_op *op) {
  const dq_tensor *input = op->inputs[0], *output = op->outputs[0];
  const size_t size = dq_dtype_size(input->type);
  int count;
  const int64_t *starts = dq_node_ints(op->node, "starts", &count), *steps = dq_node_ints(op->node, "steps", &count);
  dq_strided plan = {.rank = input->rank};
  int64_t from = 0, to = 0;
  dq_strides(input->rank, input->dims, plan.from);
  dq_strides(input->rank, output->dims, plan.to);
  bool covered = true; // every element of the output is written
  for (int i = 0; i < input->rank; i++) {
    int64_t first, last;
    inside(input->dims[i], output->dims[i], starts[i], steps[i], &first, &last);
    plan.dims[i] = last - first;
    from += first * plan.from[i];
    to += (starts[i] + first * steps[i]) * plan.to[i];
    plan.to[i] *= steps[i];
    covered = covered && plan.dims[i] == output->dims[i];
  }
  if (!covered) memset(output->data, 0, dq_tensor_bytes(output));
  for (int i = 0; i < input->rank; i++)
    if (!plan.dims[i]) return DQ_OK;
  dq_strided_copy(op, &plan, size, (const char *)input->data + (size_t)from * size,
                  (char *)output->data + (size_t)to * size);
  return DQ_OK;
}

#define ROW(NAME, INFER, ...)                                                                                          \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .domain = "dq",                                                                    \
                                    .since = {1},                                                                      \
                                    .inputs = {1, 1},                                                                  \
                                    .outputs = {1, 1},                                                                 \
                                    .types = GRADIENT_TYPES,                                                           \
                                    .attributes = attributes_##NAME,                                                   \
                                    .infer = INFER,                                                                    \
                                    .run = run_##NAME,                                                                 \
                                    __VA_ARGS__};
static const dq_attribute_rule attributes_SumTo[] = {{"shape", DQ_ATTRIBUTE_INTS, true}, DQ_PROCESSES_ATTRIBUTE, {0}};
static const dq_attribute_rule attributes_Spread[] = {{"shape", DQ_ATTRIBUTE_INTS, true}, {0}};
static const dq_attribute_rule attributes_Place[] = {
    {"shape", DQ_ATTRIBUTE_INTS, true}, {"starts", DQ_ATTRIBUTE_INTS, true}, {"steps", DQ_ATTRIBUTE_INTS, true}, {0}};
ROW(SumTo, infer_SumTo, .gradient = gradient_SumTo, .prepare = prepare_SumTo, .pictures = DQ_PICTURES_SUMMED_TO)
ROW(Spread, dq_infer_attribute_shape, .gradient = dq_gradient_expand)
ROW(Place, infer_Place, .gradient = NULL)

// ---- Gradient functions ----

dq_value *dq_gradient_spread(const dq_gradient *gradient, dq_value *x, int i) {
  const dq_tensor *to = gradient->op->inputs[i];
  dq_node *node = dq_gradient_node(gradient, "dq.Spread", 1, &x, 1);
  return dq_gradient_result(dq_gradient_ints(gradient, node, "shape", to->dims, to->rank));
}

dq_value *dq_gradient_placed(const dq_gradient *gradient, dq_value *x, int i, const int64_t *starts,
                             const int64_t *steps) {
  static const int64_t ones[DQ_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  const dq_tensor *to = gradient->op->inputs[i];
  dq_node *node = dq_gradient_node(gradient, "dq.Place", 1, &x, 1);
  node = dq_gradient_ints(gradient, node, "shape", to->dims, to->rank);
  node = dq_gradient_ints(gradient, node, "starts", starts, to->rank);
  return dq_gradient_result(dq_gradient_ints(gradient, node, "steps", steps ? steps : ones, to->rank));
}

dq_tensor *dq_gradient_matrix(const dq_gradient *gradient, int64_t rows, int64_t columns) {
  return dq_tensor_new(gradient->graph->arena, gradient->op->inputs[0]->type, 2, (int64_t[]){rows, columns});
}

// The product of the matrix with x as a stack of matrices, whose rows the axis counts.
dq_value *dq_gradient_mapped(const dq_gradient *gradient, dq_value *x, dq_gradient_shape *shape, int axis,
                             dq_tensor *matrix) {
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; i++) outer *= shape->dims[i];
  for (int i = axis + 1; i < shape->rank; i++) inner *= shape->dims[i];
  dq_value *stack = dq_gradient_shaped(gradient, x, 3, (int64_t[]){outer, shape->dims[axis], inner});
  dq_value *map = matrix ? dq_graph_add_constant(gradient->graph, "gradient/map", matrix) : NULL;
  dq_value *mapped = dq_gradient_of_two(gradient, "MatMul", map, stack);
  if (matrix) shape->dims[axis] = matrix->dims[0];
  return dq_gradient_shaped(gradient, mapped, shape->rank, shape->dims);
}

dq_value *dq_gradient_unpermuted(const dq_gradient *gradient, int rank, const int64_t *dims, const int *perm) {
  int64_t permuted[DQ_MAX_RANK], inverse[DQ_MAX_RANK];
  for (int i = 0; i < rank; i++) permuted[i] = dims[perm[i]], inverse[perm[i]] = i;
  dq_value *x = dq_gradient_shaped(gradient, gradient->outputs[0], rank, permuted);
  dq_node *node = dq_gradient_node(gradient, "Transpose", 1, &x, 1);
  x = dq_gradient_result(dq_gradient_ints(gradient, node, "perm", inverse, rank));
  return dq_gradient_reshaped(gradient, x, 0);
}

dq_status dq_gradient_view(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, dq_gradient_reshaped(gradient, gradient->outputs[0], 0));
}

// The transposition by the inverse order of axes.
dq_status dq_gradient_transpose(const dq_gradient *gradient) {
  int count, rank = gradient->op->inputs[0]->rank;
  const int64_t *perm = dq_node_ints(gradient->op->node, "perm", &count);
  int64_t inverse[DQ_MAX_RANK];
  for (int i = 0; i < rank; i++) inverse[perm ? perm[i] : rank - 1 - i] = i;
  dq_node *node = dq_gradient_node(gradient, "Transpose", 1, &gradient->outputs[0], 1);
  return dq_gradient_set(gradient, 0, dq_gradient_result(dq_gradient_ints(gradient, node, "perm", inverse, rank)));
}

dq_status dq_gradient_concat(const dq_gradient *gradient) {
  const dq_op *op = gradient->op;
  int64_t starts[DQ_MAX_RANK] = {0};
  int axis;
  DQ_TRY(dq_op_axis(op, dq_node_int(op->node, "axis", 1), op->inputs[0]->rank, &axis));
  for (int i = 0; i < op->input_count; i++) {
    if (gradient->wanted[i])
      DQ_TRY(dq_gradient_set(gradient, i, dq_gradient_placed(gradient, gradient->outputs[0], i, starts, NULL)));
    starts[axis] -= op->inputs[i]->dims[axis];
  }
  return DQ_OK;
}

// Sums or means of input 0 over the axes that are set in axes[rank].
static dq_status reduced(const dq_gradient *gradient, bool mean, const bool *axes) {
  const dq_tensor *input = gradient->op->inputs[0], *output = gradient->op->outputs[0];
  int64_t dims[DQ_MAX_RANK];
  if (!dq_tensor_count(output))
    return dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs a result with elements");
  for (int i = 0; i < input->rank; i++) dims[i] = axes[i] ? 1 : input->dims[i];
  dq_value *kept = dq_gradient_shaped(gradient, gradient->outputs[0], input->rank, dims);
  const double terms = (double)dq_tensor_count(input) / (double)dq_tensor_count(output);
  if (mean) kept = dq_gradient_scaled(gradient, kept, 1 / terms);
  return dq_gradient_set(gradient, 0, dq_gradient_spread(gradient, kept, 0));
}

dq_status dq_gradient_global_average(const dq_gradient *gradient) {
  bool axes[DQ_MAX_RANK];
  for (int i = 0; i < DQ_MAX_RANK; i++) axes[i] = i >= 2;
  return reduced(gradient, true, axes);
}

static dq_status reduced_as_said(const dq_gradient *gradient, bool mean) {
  bool axes[DQ_MAX_RANK], known;
  DQ_TRY(dq_reduced_axes(gradient->op, axes, &known));
  return known ? reduced(gradient, mean, axes)
               : dq_op_fail(gradient->op, DQ_UNSUPPORTED, "training needs axes that are constant");
}

dq_status dq_gradient_reduce_mean(const dq_gradient *gradient) { return reduced_as_said(gradient, true); }
dq_status dq_gradient_reduce_sum(const dq_gradient *gradient) { return reduced_as_said(gradient, false); }

dq_status dq_gradient_expand(const dq_gradient *gradient) {
  return dq_gradient_set(gradient, 0, dq_gradient_sum_to(gradient, gradient->outputs[0], 0));
}
