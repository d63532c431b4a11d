// Reading the true objects of a picture by the kind of its file.
#include "datasets/objects.h"

#include <inttypes.h>

#include "datasets/annotations.h"

dq_status dq_objects_read(dq_objects *objects, const dq_sample_info *info, dq_budget *budget, dq_error *error) {
  const dq_annotation_functions *functions = info->annotations ? info->annotations->functions : &dq_annotation_yolo;
  *objects = (dq_objects){.path = info->label_path, .place = functions->place};
  if (!info->label_path) return DQ_OK;
  objects->arena = dq_arena_new(budget);
  if (!objects->arena) return dq_fail_memory(error, 0);
  dq_status status = functions->read(objects, info, error);
  if (status != DQ_OK) dq_objects_free(objects);
  return status;
}

void dq_objects_free(dq_objects *objects) {
  dq_arena_free(objects->arena);
  *objects = (dq_objects){0};
}

dq_status dq_objects_place(const dq_objects *objects, int64_t index, dq_status status, dq_error *error) {
  return dq_error_prefix(error, status, "%s: %s %" PRId64, objects->path, objects->place, objects->items[index].place);
}
