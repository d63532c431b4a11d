#include "lib/decode/item.h"

#include <inttypes.h>
#include <stdlib.h>

int64_t dq_item_count(const dq_tensor *tensor) {
  return tensor->rank > 0 ? dq_tensor_product(tensor, 1, tensor->rank) : 1;
}

dq_status dq_item_values(double **values, const dq_tensor *tensor, int64_t item, int64_t expected, dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  *values = NULL;
  int64_t count = dq_item_count(tensor), items = tensor->rank > 0 ? tensor->dims[0] : 1;
  if (!dq_dtype_computable(tensor->type) || !tensor->data || item < 0 || item >= items || count != expected)
    return dq_fail(error, DQ_BAD_INPUT, "picture %" PRId64 " of an output %s of type %s, expected %" PRId64 " numbers",
                   item, dq_tensor_shape_text(tensor, text, sizeof text), dq_dtype_name(tensor->type), expected);
  double *copy = malloc((size_t)(count ? count : 1) * sizeof *copy);
  if (!copy) return dq_fail_memory(error, (size_t)count * sizeof *copy);
  for (int64_t i = 0; i < count; i++) copy[i] = dq_tensor_get(tensor, item * count + i);
  *values = copy;
  return DQ_OK;
}
