#include "lib/measure/weights.h"

#include <float.h>
#include <math.h>

static double smallest_normal(int type) {
  return type == DQ_F16 ? 0x1p-14 : type == DQ_F64 ? DBL_MIN : (double)FLT_MIN;
}

static bool is_odd(const dq_odd_weight *weight) {
  return weight->nan || weight->infinite || weight->denormal || weight->zero_channels || weight->outlier > 0;
}

// The two largest magnitudes seen so far.
typedef struct two_largest {
  double first, second;
} two_largest;

static void add_value(dq_odd_weight *weight, two_largest *largest, double value, double normal) {
  double size = fabs(value);
  weight->nan += isnan(value);
  weight->infinite += isinf(value) != 0;
  if (!isfinite(value)) return;
  weight->denormal += size > 0 && size < normal;
  if (size > largest->first) *largest = (two_largest){size, largest->first};
  else if (size > largest->second) largest->second = size;
}

static void look_at(dq_odd_weight *weight, const dq_tensor *tensor) {
  two_largest largest = {0};
  double normal = smallest_normal(tensor->type);
  weight->elements = dq_tensor_count(tensor);
  weight->channels = tensor->rank >= 2 && weight->elements ? tensor->dims[0] : 0;
  int64_t channels = weight->channels ? weight->channels : 1, size = weight->elements / channels;
  for (int64_t c = 0; c < channels; c++) {
    int64_t zeros = 0;
    for (int64_t i = 0; i < size; i++) {
      double value = dq_tensor_get(tensor, c * size + i);
      zeros += value == 0;
      add_value(weight, &largest, value, normal);
    }
    weight->zero_channels += weight->channels && zeros == size;
  }
  if (weight->channels && largest.second > 0 && largest.first > DQ_OUTLIER * largest.second)
    weight->outlier = largest.first / largest.second;
}

dq_status dq_weights_find_odd(const dq_graph *graph, dq_arena *arena, dq_odd_weight **odd, int *count,
                              dq_error *error) {
  *count = 0;
  *odd = DQ_NEW_ARRAY(arena, graph->initializer_count, dq_odd_weight);
  if (!*odd) return dq_fail_memory(error, (size_t)graph->initializer_count * sizeof **odd);
  for (int i = 0; i < graph->initializer_count; i++) {
    const dq_tensor *tensor = graph->initializers[i]->constant;
    if (!dq_dtype_is_float(tensor->type) || !tensor->data) continue;
    dq_odd_weight weight = {.name = graph->initializers[i]->name};
    look_at(&weight, tensor);
    if (is_odd(&weight)) (*odd)[(*count)++] = weight;
  }
  return DQ_OK;
}
