// Reading the true objects of a picture by the kind of its file.
#include "datasets/objects/objects.h"

#include <inttypes.h>
#include <string.h>

#include "datasets/objects/annotations.h"

dq_status dq_objects_read(dq_objects *objects, const dq_object_file *file, dq_budget *budget, dq_error *error) {
  const dq_annotation_functions *functions = file->annotations ? file->annotations->functions : &dq_annotation_yolo;
  *objects = (dq_objects){.path = file->path, .before = functions->before, .after = functions->after};
  if (!file->path) return DQ_OK;
  objects->arena = dq_arena_new(budget);
  if (!objects->arena) return dq_fail_memory(error, 0);
  dq_status status = functions->read(objects, file, error);
  if (status != DQ_OK) dq_objects_free(objects);
  return status;
}

void dq_objects_free(dq_objects *objects) {
  dq_arena_free(objects->arena);
  *objects = (dq_objects){0};
}

dq_status dq_objects_place(const dq_objects *objects, int64_t index, dq_status status, dq_error *error) {
  return dq_error_prefix(error, status, "%s: %s%" PRId64 "%s", objects->path, objects->before,
                         objects->items[index].place, objects->after);
}

int64_t dq_find_class(const dq_class_names *classes, const char *name) {
  for (int64_t i = 0; i < classes->count; i++)
    if (!strcmp(classes->names[i], name)) return i;
  return -1;
}
