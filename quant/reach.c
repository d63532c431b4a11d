// What the function behind a value makes of its range.
#include "quant/reach.h"

#include <math.h>

static const float SIGMOID_REACH = 6.2324480f; // ln(2 * 255 - 1)

static bool is_product_of(const dq_node *node, const dq_value *a, const dq_value *b) {
  return dq_node_is(node, "Mul") && ((node->inputs[0] == a && node->inputs[1] == b) ||
                                     (node->inputs[0] == b && node->inputs[1] == a));
}

dq_follower dq_follower_of(const dq_value *value) {
  if (value->is_output || value->is_captured) return DQ_FOLLOWER_NONE;
  if (value->user_count == 1 && dq_node_is(value->users[0], "Sigmoid")) return DQ_FOLLOWER_SIGMOID;
  for (int u = 0; value->user_count == 2 && u < 2; u++)
    if (dq_node_is(value->users[u], "Sigmoid") &&
        is_product_of(value->users[1 - u], value, value->users[u]->outputs[0]))
      return DQ_FOLLOWER_SILU;
  return DQ_FOLLOWER_NONE;
}

double dq_silu_depth(double step) {
  enum { HALVINGS = 40 };
  double low = 1.2784645, high = 100; // from its minimum on the function only rises to 0
  for (int i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (middle / (1 + exp(middle)) > step) low = middle;
    else high = middle;
  }
  return high;
}

dq_range_pair dq_narrow_range(dq_range_pair range, dq_follower follower) {
  if (follower == DQ_FOLLOWER_SIGMOID)
    return (dq_range_pair){fmaxf(range.low, -SIGMOID_REACH), fminf(range.high, SIGMOID_REACH)};
  if (follower == DQ_FOLLOWER_SILU && range.high > 0)
    range.low = fmaxf(range.low, (float)-dq_silu_depth((double)range.high / 255));
  return range;
}
