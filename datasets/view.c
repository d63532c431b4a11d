// Data in another order.
#include "datasets/reader.h"

static dq_status open_view(dq_data **view, dq_data *data, const int64_t *order, int64_t count, dq_error *error) {
  DQ_TRY(dq_data_new(view, data->context, error));
  dq_arena *arena = (*view)->arena;
  **view = *data;
  (*view)->arena = arena, (*view)->viewed = data, (*view)->count = count;
  (*view)->parts = NULL, (*view)->part_count = 0;
  (*view)->order = dq_arena_copy(arena, order, (size_t)count * sizeof *order);
  if (!(*view)->order) return dq_fail_memory(error, (size_t)count * sizeof *order);
  if (!data->part_count) return DQ_OK;
  (*view)->parts = DQ_NEW_ARRAY(arena, data->part_count, dq_data *);
  if (!(*view)->parts) return dq_fail_memory(error, (size_t)data->part_count * sizeof *data->parts);
  for (int i = 0; i < data->part_count; i++) {
    DQ_TRY(dq_data_view(&(*view)->parts[i], data->parts[i], order, count, error));
    (*view)->part_count++;
  }
  return DQ_OK;
}

dq_status dq_data_view(dq_data **view, dq_data *data, const int64_t *order, int64_t count, dq_error *error) {
  dq_data *opened = NULL;
  *view = NULL;
  dq_status status = open_view(&opened, data, order, count, error);
  if (status == DQ_OK) *view = opened;
  else dq_data_free(opened);
  return status;
}
