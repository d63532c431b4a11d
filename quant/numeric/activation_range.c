// What the function behind a value makes of its range.
#include "quant/numeric/activation_range.h"

#include <math.h>

#include "lib/ops/table/operator.h"

static const float SIGMOID_REACH = 6.2324480f; // ln(2 * 255 - 1)

static bool is_product_of(const dq_node *node, const dq_value *a, const dq_value *b) {
  return dq_node_is(node, "Mul") &&
         ((node->inputs[0] == a && node->inputs[1] == b) || (node->inputs[0] == b && node->inputs[1] == a));
}

dq_follower dq_follower_of(const dq_value *value) {
  if (dq_value_must_stay(value)) return DQ_FOLLOWER_NONE;
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
    range.low = fmaxf(range.low, (float)-dq_silu_depth((double)range.high / DQ_ACTIVATION_STEPS));
  return range;
}

static double size_at(const dq_tensor *slopes, int64_t i) { return fmin(fabs(dq_tensor_get(slopes, i)), 1); }

// Slopes that are neither one nor one per channel count as 1.
static double prelu_slope(const dq_tensor *slopes, int64_t channel) {
  int64_t count = dq_tensor_count(slopes);
  if (slopes->rank > 3 || count != (slopes->rank ? slopes->dims[0] : 1)) return 1;
  if (channel >= 0) return count == 1 ? size_at(slopes, 0) : channel < count ? size_at(slopes, channel) : 1;
  double largest = 0;
  for (int64_t i = 0; i < count; i++) largest = fmax(largest, size_at(slopes, i));
  return largest;
}

double dq_slope_below(const dq_value *value, int64_t channel) {
  if (!dq_is_private(value)) return 1;
  const dq_node *node = value->users[0];
  dq_slope slope;
  if (!dq_slope_of(node, &slope) || node->inputs[0] != value) return 1;
  if (slope.input == DQ_NO_INPUT) return fmin(fabs((double)slope.every), 1);
  const dq_value *slopes = node->inputs[slope.input];
  bool known = slopes && slopes->constant && slopes->constant->data && slopes->constant->type == DQ_F32;
  return known ? prelu_slope(slopes->constant, channel) : 1;
}

static double rectified_error(const dq_filled_bins *filled, double low, double high, double slope) {
  double noise = (high - low) * (high - low) / (DQ_ACTIVATION_STEPS * DQ_ACTIVATION_STEPS * 12.0);
  double above = 0, below = 0;
  for (int b = 0; b < filled->count; b++) {
    double x = filled->middles[b] * filled->width, count = filled->counts[b];
    if (x >= 0) above += count * noise;
    else below += count * (x >= low ? noise : (x - low) * (x - low));
  }
  return above + slope * slope * below;
}

dq_range_pair dq_rectified_range(const dq_histogram *histogram, dq_range_pair range, double slope) {
  enum { ENDS = 64 };
  if (!(range.low < 0) || !(range.high > 0) || slope >= 1) return range;
  double least = INFINITY, low = (double)range.low;
  dq_filled_bins filled;
  dq_histogram_fill(histogram, &filled);
  for (int i = 1; i <= ENDS; i++) {
    double end = low * i / ENDS, error = rectified_error(&filled, end, (double)range.high, slope);
    if (error < least) least = error, range.low = (float)end;
  }
  return range;
}

int64_t dq_softmax_length(const dq_node *node, const dq_tensor *result, int64_t opset) {
  if (!node || !dq_node_is(node, "Softmax")) return 1;
  int64_t axis = dq_node_int(node, "axis", opset < 13 ? 1 : -1);
  int from = (int)(axis < 0 ? axis + result->rank : axis);
  return dq_tensor_product(result, from, opset < 13 ? result->rank : from + 1);
}

float dq_softmax_high(float high, int64_t length) {
  enum { MOST_STEPS = 128 };    // of each of `length` equal elements
  const double above = 1.0 / 8; // of a whole number: the float32 scale keeps above it too
  double steps = fmin(floor(DQ_ACTIVATION_STEPS / (double)high), MOST_STEPS * (double)length);
  return (float)(DQ_ACTIVATION_STEPS / (steps + above));
}
