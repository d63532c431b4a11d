// The guard: values that may leave float16 stay float32, and so does what reads them; weights that float16 would
// spoil as well. No data: bounds of amp_bounds.c, from what the inputs are said to be. Where these estimate too
// much for float16, noise through the network tells whether the estimate has run away.
#include <math.h>
#include <string.h>

#include "lib/base/half.h"
#include "quant/amp/amp_bounds.h"
#include "quant/amp/amp_internal.h"

#define LEAST 0x1p-14 // normal
// Weights that float16 keeps are off by a 2048th or less; a tensor that is off by more than a 64th (36 dB) lies
// among the subnormal numbers. Where the products are below LEAST nothing is to be kept.
#define WORST_ROUNDING (1.0 / 64)

// ---- Bounds of values ----

static dq_status bound_leaf(const dq_amp_job *job, const dq_value *value, dq_bound *bound) {
  const dq_tensor *constant = dq_amp_constant(job, value), *tensor = &job->tensors[value->index];
  if (!constant && tensor->data && tensor->type == DQ_F32) constant = tensor;
  if (constant) { // along dimension 1 of what it is combined with
    int rank = value->user_count ? job->tensors[value->users[0]->outputs[0]->index].rank : constant->rank;
    return dq_bound_constant(constant, rank, job->arena, bound);
  }
  if (!value->is_input || tensor->type != DQ_F32) return DQ_OK;
  double reach = job->options->input_max > 0 ? job->options->input_max : DQ_AMP_INPUT_MAX;
  return dq_bound_range(-reach, reach, job->arena, bound);
}

static double largest_seen(const double *seen, const dq_node *node) {
  double largest = -1;
  for (int i = 0; i < node->output_count; i++)
    if (node->outputs[i]) largest = fmax(largest, seen[node->outputs[i]->index]);
  return largest;
}

// seen: the largest magnitudes that a run has shown, by value index, negative where it has not; NULL: no run.
static dq_status find_bounds(dq_amp_job *job, const double *seen, dq_bound *bounds) {
  dq_graph *graph = job->graph;
  dq_node **order = DQ_NEW_ARRAY(job->arena, graph->node_count, dq_node *);
  if (!order) return dq_fail_memory(job->error, 0);
  DQ_TRY(dq_graph_order(graph, order, job->error));
  for (int v = 0; v < job->value_count; v++) {
    const dq_value *value = graph->values[v];
    if (value->producer && !dq_amp_constant(job, value) && !job->tensors[v].data) continue;
    if (bound_leaf(job, value, &bounds[v]) != DQ_OK) return dq_fail_memory(job->error, 0);
  }
  for (int n = 0; n < graph->node_count; n++) {
    dq_bound_node in = {order[n], job->tensors, bounds, job->arena};
    dq_bound output = {0};
    if (!order[n]->output_count || !order[n]->outputs[0] || bounds[order[n]->outputs[0]->index].channels) continue;
    if (dq_bound_output(&in, &output) != DQ_OK) return dq_fail_memory(job->error, 0);
    for (const dq_amp_norm *norm = job->norms; norm; norm = norm->next)
      if (norm->conv == order[n]) dq_bound_normalize(&output, norm->scale, norm->shift);
    double largest = seen ? largest_seen(seen, order[n]) : -1;
    if (largest >= 0) dq_bound_limit(&output, largest);
    for (int i = 0; i < order[n]->output_count; i++)
      if (order[n]->outputs[i]) bounds[order[n]->outputs[i]->index] = output;
  }
  return DQ_OK;
}

// ---- Decisions ----

// Whether an estimate is beyond float16, which may be an estimate that has run away, and whether a value has no bound.
static void find_doubts(const dq_amp_job *job, const dq_bound *bounds, bool *too_much, bool *unbounded) {
  for (int v = 0; v < job->value_count; v++) {
    bool proven;
    double largest = dq_bound_largest(&bounds[v], &proven);
    if (!dq_amp_is_variable(job, job->graph->values[v])) continue;
    *unbounded = *unbounded || isinf(largest);
    *too_much = *too_much || (largest > (double)DQ_HALF_LARGEST && !proven && isfinite(largest));
  }
}

// *seen becomes the largest magnitudes on noise, by value index; NULL: the network cannot be run.
static dq_status look_at_noise(dq_amp_job *job, double **seen) {
  *seen = DQ_NEW_ARRAY(job->arena, job->value_count, double);
  if (!*seen) return dq_fail_memory(job->error, 0);
  dq_error why = {0};
  dq_status status = dq_amp_probe_largest(job, *seen, &why);
  if (status == DQ_CANCELLED) return dq_fail(job->error, status, "%s", why.message);
  if (status == DQ_SYSTEM)
    dq_message(job->context, DQ_NOTE, "values without a bound were not looked at on noise: %s", why.message);
  if (status != DQ_OK) *seen = NULL;
  return DQ_OK;
}

static dq_status deny_readers(dq_amp_job *job, const dq_value *value, const char *reason) {
  for (int u = 0; u < value->user_count; u++)
    for (int i = 0; i < value->users[u]->input_count; i++)
      if (value->users[u]->inputs[i] == value && dq_amp_input_is_half(job, value->users[u], i))
        DQ_TRY(dq_amp_deny(job, value->users[u], reason));
  return DQ_OK;
}

// A value that has no normal float16.
static dq_status guard_small(dq_amp_job *job, const dq_value *value, double largest) {
  const char *reason =
      dq_arena_printf(job->graph->arena, "guard: values of at most %.2g have few bits in float16", largest);
  if (value->producer) DQ_TRY(dq_amp_deny(job, value->producer, reason));
  return deny_readers(job, value, reason);
}

static dq_status guard_value(dq_amp_job *job, const dq_value *value, double largest, bool proven) {
  const char *how = proven ? "bound" : "estimate";
  dq_arena *arena = job->graph->arena;
  if (value->producer)
    DQ_TRY(dq_amp_deny(
        job, value->producer,
        dq_arena_printf(arena, "guard: its values may reach %.2g (%s), float16 ends at 65504", largest, how)));
  return deny_readers(job, value, dq_arena_printf(arena, "guard: reads values that may reach %.2g (%s)", largest, how));
}

// A value without a bound: noise tells, with room for inputs that are not noise.
static dq_status check_unbounded(dq_amp_job *job, const dq_value *value, const double *seen) {
  static const double ROOM = 4;
  double largest = seen ? ROOM * seen[value->index] : 0;
  if (largest > (double)DQ_HALF_LARGEST) return guard_value(job, value, largest, false);
  job->report->unbounded++;
  return DQ_OK;
}

// seen: of look_at_noise.
static dq_status check_values(dq_amp_job *job, const dq_bound *bounds, const double *seen) {
  for (int v = 0; v < job->value_count; v++) {
    const dq_value *value = job->graph->values[v];
    if (!dq_amp_is_variable(job, value)) continue;
    bool proven;
    double largest = dq_bound_largest(&bounds[v], &proven);
    if (isinf(largest)) DQ_TRY(check_unbounded(job, value, seen));
    else if (largest > 0 && largest < LEAST) DQ_TRY(guard_small(job, value, largest));
    else if (largest > (double)DQ_HALF_LARGEST) DQ_TRY(guard_value(job, value, largest, proven));
    else *(proven ? &job->report->proven : &job->report->estimated) += 1;
  }
  return DQ_OK;
}

// Sums of squares of a tensor and of what rounding to float16 does to it.
static void rounding(const dq_tensor *tensor, double *size, double *error) {
  const float *elements = tensor ? tensor->data : NULL;
  *size = *error = 0;
  for (int64_t i = 0; tensor && i < dq_tensor_count(tensor); i++) {
    double x = (double)elements[i], d = x - (double)dq_half_to_float(dq_float_to_half(elements[i]));
    *error += d * d, *size += x * x;
  }
}

static double spoiled(const dq_amp_job *job, const dq_node *node, const dq_bound *bounds) {
  double size, error, bias, ignored, reach = 1;
  rounding(dq_amp_constant(job, node->inputs[1]), &size, &error);
  rounding(node->input_count > 2 && node->inputs[2] ? dq_amp_constant(job, node->inputs[2]) : NULL, &bias, &ignored);
  bool proven;
  if (node->inputs[0]) reach = dq_bound_largest(&bounds[node->inputs[0]->index], &proven);
  if (!isfinite(reach)) reach = 1;
  if (sqrt(error) * reach < LEAST) return 0;
  return sqrt(error) * reach / hypot(sqrt(size) * reach, sqrt(bias));
}

static dq_status check_weights(dq_amp_job *job, const dq_bound *bounds) {
  for (int n = 0; n < job->graph->node_count; n++) {
    dq_node *node = job->graph->nodes[n];
    const dq_operator *row = dq_operator_find(node->domain, node->op_type);
    if (!dq_amp_may_be_half(node) || !row || row->category != DQ_ALLOW || node->input_count < 2) continue;
    double error = dq_amp_constant(job, node->inputs[1]) ? spoiled(job, node, bounds) : 0;
    if (error <= WORST_ROUNDING) continue;
    DQ_TRY(dq_amp_deny(job, node,
                       dq_arena_printf(job->graph->arena,
                                       "guard: its weights are too small, float16 would change them by %.2g %%",
                                       100 * error)));
  }
  return DQ_OK;
}

dq_status dq_amp_guard(dq_amp_job *job) {
  if (job->options->unguarded || job->options->only) return DQ_OK;
  dq_bound *bounds = DQ_NEW_ARRAY(job->arena, job->value_count, dq_bound);
  double *seen = NULL;
  if (!bounds) return dq_fail_memory(job->error, 0);
  DQ_TRY(find_bounds(job, NULL, bounds));
  bool too_much = false, unbounded = false;
  find_doubts(job, bounds, &too_much, &unbounded);
  if (too_much || unbounded) DQ_TRY(look_at_noise(job, &seen));
  if (too_much && seen) {
    memset(bounds, 0, (size_t)job->value_count * sizeof *bounds);
    DQ_TRY(find_bounds(job, seen, bounds));
  }
  DQ_TRY(check_values(job, bounds, seen));
  DQ_TRY(check_weights(job, bounds));
  return dq_amp_guard_constants(job);
}
