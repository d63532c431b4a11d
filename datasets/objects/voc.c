// Objects of Pascal VOC: the names of the classes, and the objects of a picture.
#include "datasets/objects/voc.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"

enum { FIRST_ROOM = 32, MOST_NAMES = 65536 };

static int64_t class_of(const dq_voc *voc, const char *name) {
  return dq_find_class(&(dq_class_names){voc->names, voc->count}, name);
}

dq_status dq_voc_new(dq_voc **voc, const dq_class_names *classes, dq_arena *arena, dq_error *error) {
  dq_voc *made = *voc = DQ_NEW(arena, dq_voc);
  if (!made) return dq_fail_memory(error, sizeof *made);
  made->base.functions = &dq_annotation_voc;
  made->arena = arena;
  made->given = classes->count > 0;
  made->count = made->capacity = classes->count;
  made->names = dq_arena_copy(arena, classes->names, (size_t)classes->count * sizeof *classes->names);
  return made->names ? DQ_OK : dq_fail_memory(error, (size_t)classes->count * sizeof *classes->names);
}

static dq_status grow_names(dq_voc *voc, dq_error *error) {
  const int64_t room = voc->capacity ? 2 * voc->capacity : FIRST_ROOM;
  const char **names = DQ_NEW_ARRAY(voc->arena, room, const char *);
  if (!names) return dq_fail_memory(error, (size_t)room * sizeof *names);
  if (voc->count) memcpy(names, voc->names, (size_t)voc->count * sizeof *names);
  voc->names = names, voc->capacity = room;
  return DQ_OK;
}

static dq_status take_name(void *user, dq_object *object, const char *name, dq_error *error) {
  dq_voc *voc = user;
  (void)object;
  if (class_of(voc, name) >= 0) return DQ_OK;
  if (voc->given) return dq_fail(error, DQ_BAD_INPUT, "class '%s' is not among the names of the classes", name);
  if (voc->count == MOST_NAMES)
    return dq_fail(error, DQ_BAD_INPUT, "class '%s' is one of more than %d, expected fewer", name, MOST_NAMES);
  if (voc->count == voc->capacity) DQ_TRY(grow_names(voc, error));
  voc->names[voc->count] = dq_arena_strdup(voc->arena, name);
  return voc->names[voc->count++] ? DQ_OK : dq_fail_memory(error, strlen(name));
}

dq_status dq_voc_add(dq_voc *voc, const char *path, dq_error *error) {
  return dq_voc_parse(path, &(dq_voc_receiver){take_name, voc}, dq_arena_budget(voc->arena), error);
}

void dq_voc_sort(dq_voc *voc) {
  if (!voc->given && voc->count) qsort(voc->names, (size_t)voc->count, sizeof *voc->names, dq_compare_texts);
}

// ---- The objects of a picture ----

typedef struct reading {
  const dq_voc *voc;
  dq_objects *objects;
  int64_t room;
} reading;

static dq_status take_object(void *user, dq_object *object, const char *name, dq_error *error) {
  reading *state = user;
  dq_objects *objects = state->objects;
  object->class = class_of(state->voc, name);
  if (object->class < 0)
    return dq_fail(error, DQ_BAD_INPUT, "class '%s' was not there when the data were opened", name);
  if (objects->count == state->room) {
    const int64_t room = state->room ? 2 * state->room : FIRST_ROOM;
    dq_object *items = DQ_NEW_ARRAY(objects->arena, room, dq_object);
    if (!items) return dq_fail_memory(error, (size_t)room * sizeof *items);
    if (objects->count) memcpy(items, objects->items, (size_t)objects->count * sizeof *items);
    objects->items = items, state->room = room;
  }
  objects->items[objects->count++] = *object;
  return DQ_OK;
}

static dq_status read_objects(dq_objects *objects, const dq_object_file *file, dq_error *error) {
  reading state = {.voc = (const dq_voc *)file->annotations, .objects = objects};
  return dq_voc_parse(file->path, &(dq_voc_receiver){take_object, &state}, dq_arena_budget(objects->arena), error);
}

const dq_annotation_functions dq_annotation_voc = {.read = read_objects, .before = "object ", .after = ""};
