// What constants beyond either end of float16 do: an epsilon that becomes 0 in front of a division, a mask of -1e9 that
// becomes infinite, variances that vanish.
#include <math.h>

#include "lib/base/half.h"
#include "quant/amp/amp_internal.h"
#include "quant/rewrite/divisors.h"

#define LEAST 0x1p-14       // the smallest normal float16
#define WORST (1.0 / 64)    // a constant that rounding changes by more is not the same number any more
enum { LONGEST_PATH = 12 }; // nodes between a constant and the division that it guards

// Operators through which a small number stays one, or becomes its root.
static const char *const carriers[] = {"Sqrt",      "Pow",        "Abs",       "Neg", "ReduceMax",
                                       "ReduceMin", "ReduceMean", "ReduceSum", NULL};

static bool carries(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (row &&
      (row->bound == DQ_BOUND_COMBINE || row->bound == DQ_BOUND_MOVE || row->bound == DQ_BOUND_JOIN || row->clamp))
    return true;
  return dq_node_is_any(node, carriers);
}

// The elements of a constant, or of what is computed from constants alone; NULL: another value.
static const dq_tensor *elements_of(const dq_amp_job *job, const dq_value *value) {
  if (!dq_amp_is_float(job, value)) return NULL;
  const dq_tensor *constant = dq_amp_constant(job, value), *computed = &job->tensors[value->index];
  return constant ? constant : computed->data ? computed : NULL;
}

static double relative_rounding(double x) {
  return fabs(x - (double)dq_half_to_float(dq_float_to_half((float)x))) / fabs(x);
}

// Whether float16 has no such number: all elements are below its normal numbers, and rounding changes one.
static bool vanishes(const dq_tensor *constant) {
  bool changed = false;
  for (int64_t i = 0; i < dq_tensor_count(constant); i++) {
    double x = (double)((const float *)constant->data)[i];
    if (fabs(x) >= LEAST || isnan(x)) return false;
    changed = changed || (x != 0 && relative_rounding(x) > WORST);
  }
  return changed;
}

static double largest_finite(const dq_tensor *constant) {
  double largest = 0;
  for (int64_t i = 0; i < dq_tensor_count(constant); i++) {
    double x = fabs((double)((const float *)constant->data)[i]);
    if (isfinite(x)) largest = fmax(largest, x);
  }
  return largest;
}

// Denies what lies between a value and divisions by it; *found says whether there is one.
static dq_status deny_path(dq_amp_job *job, const dq_value *value, int length, bool *found) {
  static const char reason[] = "guard: divides by a number that may be too small for float16";
  for (int u = 0; length && u < value->user_count; u++) {
    dq_node *user = value->users[u];
    bool here = dq_divides_by(user, value);
    if (!here && carries(user) && user->output_count) DQ_TRY(deny_path(job, user->outputs[0], length - 1, &here));
    if (here) DQ_TRY(dq_amp_deny(job, user, reason));
    *found = *found || here;
  }
  return DQ_OK;
}

static dq_status check_small(dq_amp_job *job, dq_node *node) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *input = node->inputs[i];
    const dq_tensor *constant = elements_of(job, input);
    if (!constant || !vanishes(constant) || !node->output_count || !node->outputs[0]) continue;
    bool found = dq_divides_by(node, input);
    if (!found && carries(node)) DQ_TRY(deny_path(job, node->outputs[0], LONGEST_PATH, &found));
    if (found) DQ_TRY(dq_amp_deny(job, node, "guard: a constant is too small for float16, and a division needs it"));
  }
  return DQ_OK;
}

// A variance that rounding changes by more than WORST, with its epsilon.
static dq_status check_variances(dq_amp_job *job, dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  const dq_tensor *variance = node->input_count > 4 && node->inputs[4] ? elements_of(job, node->inputs[4]) : NULL;
  if (!row || row->bound != DQ_BOUND_BATCH_NORM || !variance) return DQ_OK;
  double epsilon = (double)dq_node_float(node, "epsilon", 1e-5f);
  for (int64_t i = 0; i < dq_tensor_count(variance); i++) {
    double x = (double)((const float *)variance->data)[i];
    double change = fabs(x - (double)dq_half_to_float(dq_float_to_half((float)x)));
    if (change > WORST * (fabs(x) + epsilon))
      return dq_amp_deny(job, node, "guard: a variance is too small for float16");
  }
  return DQ_OK;
}

// Denies what reads a number beyond float16 that a constant brought in, until an operator makes another number of it.
static dq_status deny_readers(dq_amp_job *job, const dq_value *value, int length) {
  for (int u = 0; length && u < value->user_count; u++) {
    dq_node *user = value->users[u];
    const dq_operator *row = dq_operator_find(user->domain, user->op_type);
    if (row && row->clamp && user->inputs[0] != value) continue;
    DQ_TRY(dq_amp_deny(job, user, "guard: reads numbers beyond 65504, which a constant makes"));
    bool moves = row && !row->clamp && carries(user);
    if (moves && user->output_count && user->outputs[0]) DQ_TRY(deny_readers(job, user->outputs[0], length - 1));
  }
  return DQ_OK;
}

// A constant beyond float16 that is no bound of a Clip.
static dq_status check_large(dq_amp_job *job, dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (!row || row->clamp || !carries(node) || !node->output_count || !node->outputs[0]) return DQ_OK;
  for (int i = 0; i < node->input_count; i++) {
    const dq_tensor *constant = elements_of(job, node->inputs[i]);
    if (constant && !dq_divides_by(node, node->inputs[i]) && largest_finite(constant) > (double)DQ_HALF_LARGEST) {
      DQ_TRY(dq_amp_deny(job, node, "guard: a constant is beyond 65504"));
      return deny_readers(job, node->outputs[0], LONGEST_PATH);
    }
  }
  return DQ_OK;
}

dq_status dq_amp_guard_constants(dq_amp_job *job) {
  for (int n = 0; n < job->graph->node_count; n++) {
    dq_node *node = job->graph->nodes[n];
    DQ_TRY(check_small(job, node));
    DQ_TRY(check_variances(job, node));
    DQ_TRY(check_large(job, node));
  }
  return DQ_OK;
}
