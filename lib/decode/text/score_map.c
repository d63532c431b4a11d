// The output of a text detector as a map.
#include <inttypes.h>

#include "lib/base/sizes.h"
#include "lib/decode/item.h"
#include "lib/decode/text/regions.h"

// The dimensions of one picture; false: the output is no map.
static bool find_sides(dq_score_map *map, const dq_tensor *output) {
  const int64_t *dims = output->dims;
  if (output->rank == 3) map->height = dims[1], map->width = dims[2];
  else if (output->rank == 4 && dims[1] == 1) map->height = dims[2], map->width = dims[3];
  else if (output->rank == 4 && dims[3] == 1) map->height = dims[1], map->width = dims[2];
  else return false;
  return true;
}

dq_status dq_score_map_open(dq_score_map *map, const dq_tensor *output, int64_t item, const dq_context *context,
                            dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  *map = (dq_score_map){0};
  if (!find_sides(map, output) || !dq_dtype_computable(output->type) || !output->data || item < 0 ||
      item >= output->dims[0])
    return dq_fail(error, DQ_BAD_INPUT,
                   "an output %s of type %s is no map of text for picture %" PRId64 ", expected Nx1xHxW",
                   dq_tensor_shape_text(output, text, sizeof text), dq_dtype_name(output->type), item);
  const int64_t count = dq_item_count(output);
  if (output->type == DQ_F32) {
    map->values = (const float *)output->data + item * count;
    return DQ_OK;
  }
  map->values = map->owned = dq_context_alloc(context, (size_t)count * sizeof(float));
  if (!map->owned) return dq_fail_memory(error, (size_t)count * sizeof(float));
  for (int64_t i = 0; i < count; i++) map->owned[i] = (float)dq_tensor_get(output, item * count + i);
  return DQ_OK;
}

void dq_score_map_close(dq_score_map *map) {
  dq_budget_free(map->owned);
  *map = (dq_score_map){0};
}
