#include "lib/ops/common/elementwise.h"

#include "lib/base/sizes.h"

const dq_attribute_rule dq_consumed_inputs[] = {DQ_CONSUMED_INPUTS, {0}};

typedef struct spans {
  dq_span_work *work;
  void *argument;
  int64_t count, grain;
} spans;

static void run_span(void *argument, int64_t i, int thread) {
  (void)thread;
  const spans *job = argument;
  job->work(job->argument, i * job->grain, dq_min_i64((i + 1) * job->grain, job->count));
}

void dq_spans(const dq_context *context, int64_t count, int64_t grain, dq_span_work *work, void *argument) {
  spans job = {work, argument, count, grain};
  if (count > 0) dq_pool_run(context ? context->pool : NULL, (count - 1) / grain + 1, run_span, &job);
}

// The shape of the output with neighbouring dimensions joined wherever every input goes through
// them without a jump. strides are in bytes, the innermost in elements.
typedef struct walk {
  int rank;
  int64_t dims[DQ_MAX_RANK + 1];
  int64_t strides[3][DQ_MAX_RANK + 1];
  int inputs;
  size_t output_size;
  dq_lane lane;
  dq_loop *loop;
} walk;

// Element strides of an input against the output's dimensions.
static void input_strides(const dq_tensor *input, const dq_tensor *output, int64_t *strides) {
  int64_t stride = 1;
  for (int axis = output->rank - 1; axis >= 0; axis--) {
    int own = axis - (output->rank - input->rank);
    int64_t size = own < 0 ? 1 : input->dims[own];
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
}

static bool joins(const walk *w, int64_t strides[3][DQ_MAX_RANK], int axis, int64_t size) {
  for (int k = 0; k < w->inputs; k++)
    if (w->strides[k][w->rank - 1] != strides[k][axis] * size) return false;
  return true;
}

// Fills dims and strides, outermost first.
static void plan_walk(walk *w, const dq_tensor *const *inputs, const dq_tensor *output) {
  int64_t strides[3][DQ_MAX_RANK];
  for (int k = 0; k < w->inputs; k++) input_strides(inputs[k], output, strides[k]);
  w->rank = 0;
  for (int axis = 0; axis < output->rank; axis++) {
    int64_t size = output->dims[axis];
    if (size == 1) continue;
    if (!w->rank || !joins(w, strides, axis, size)) w->dims[w->rank++] = 1;
    w->dims[w->rank - 1] *= size;
    for (int k = 0; k < w->inputs; k++) w->strides[k][w->rank - 1] = strides[k][axis];
  }
  if (!w->rank) { // one element
    w->dims[w->rank++] = 1;
    for (int k = 0; k < w->inputs; k++) w->strides[k][0] = 0;
  }
  for (int k = 0; k < w->inputs; k++) {
    w->lane.strides[k] = w->strides[k][w->rank - 1];
    for (int axis = 0; axis < w->rank; axis++) w->strides[k][axis] *= (int64_t)dq_dtype_size(inputs[k]->type);
  }
}

static void walk_span(void *argument, int64_t from, int64_t to) {
  const walk *w = argument;
  int last = w->rank - 1;
  int64_t index[DQ_MAX_RANK + 1], offsets[3] = {0}, rest = from;
  for (int axis = last; axis >= 0; axis--) {
    index[axis] = rest % w->dims[axis];
    rest /= w->dims[axis];
    for (int k = 0; k < w->inputs; k++) offsets[k] += index[axis] * w->strides[k][axis];
  }
  dq_lane lane = w->lane;
  while (from < to) {
    lane.count = dq_min_i64(w->dims[last] - index[last], to - from);
    for (int k = 0; k < w->inputs; k++) lane.inputs[k] = (const char *)w->lane.inputs[k] + offsets[k];
    lane.output = (char *)w->lane.output + (size_t)from * w->output_size;
    w->loop(&lane);
    from += lane.count;
    for (int k = 0; k < w->inputs; k++) offsets[k] -= index[last] * w->strides[k][last];
    index[last] = 0; // the row is done; carry into the outer dimensions
    for (int axis = last - 1; axis >= 0; axis--) {
      for (int k = 0; k < w->inputs; k++) offsets[k] += w->strides[k][axis];
      if (++index[axis] < w->dims[axis]) break;
      for (int k = 0; k < w->inputs; k++) offsets[k] -= index[axis] * w->strides[k][axis];
      index[axis] = 0;
    }
  }
}

void dq_broadcast_run(const dq_context *context, int count, const dq_tensor *const *inputs, dq_tensor *output,
                      dq_loop *loop, const double *parameters, int64_t grain) {
  static const double zeros[2];
  int64_t elements = dq_tensor_count(output);
  if (!elements) return;
  walk w = {.inputs = count, .output_size = dq_dtype_size(output->type), .loop = loop};
  w.lane.cpu = context ? context->cpu : 0;
  w.lane.output = output->data;
  w.lane.parameters = parameters ? parameters : zeros;
  for (int k = 0; k < count; k++) w.lane.inputs[k] = inputs[k]->data;
  plan_walk(&w, inputs, output);
  dq_spans(context, elements, grain, walk_span, &w);
}

dq_status dq_op_same_types(const dq_op *op, int from) {
  const dq_tensor *first = dq_op_input(op, from);
  for (int i = from + 1; first && i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->type != first->type)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d is of type %s, expected %s as input %d", i,
                        dq_dtype_name(op->inputs[i]->type), dq_dtype_name(first->type), from);
  return DQ_OK;
}

dq_status dq_elementwise(dq_op *op, dq_loop *const *loops, const double *parameters, int64_t grain) {
  int type = op->inputs[0]->type;
  dq_loop *loop = type < DQ_LOOP_TYPES ? loops[type] : NULL;
  if (!loop)
    return dq_op_fail(op, DQ_UNSUPPORTED, "operator %s of %s is not supported", op->row->name, dq_dtype_name(type));
  DQ_TRY(dq_op_same_types(op, 0));
  dq_broadcast_run(op->context, op->input_count, op->inputs, op->outputs[0], loop, parameters, grain);
  return DQ_OK;
}

dq_status dq_infer_binary(dq_op *op) {
  DQ_TRY(dq_op_same_types(op, 0));
  return dq_infer_broadcast(op);
}

dq_status dq_infer_comparison(dq_op *op) {
  DQ_TRY(dq_op_same_types(op, 0));
  return dq_infer_compare(op);
}

dq_status dq_infer_unidirectional(dq_op *op) {
  DQ_TRY(dq_infer_binary(op));
  if (op->outputs[0] && !dq_tensor_same_shape(op->outputs[0], op->inputs[0]))
    return dq_op_fail(op, DQ_BAD_INPUT, "the other inputs do not broadcast to the shape of input 0");
  return DQ_OK;
}
