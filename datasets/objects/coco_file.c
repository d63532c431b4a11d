// A file of COCO: what it has, found piece by piece, and the annotations of a picture.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/objects/coco.h"
#include "lib/base/sizes.h"

enum { ANNOTATIONS_PER_ARENA = 256, ENTRIES_PER_CHECK = 1024 };

// ---- Arrays of the file ----

static int by_id(const void *left, const void *right) {
  const dq_coco_entry *a = left, *b = right;
  if (a->id != b->id) return a->id < b->id ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static dq_status sort_ids(dq_coco_entry *entries, int64_t count, const char *name, dq_error *error) {
  if (count) qsort(entries, (size_t)count, sizeof *entries, by_id);
  for (int64_t i = 1; i < count; i++)
    if (entries[i].id == entries[i - 1].id)
      return dq_fail(error, DQ_BAD_INPUT,
                     "%s[%" PRId64 "]: id %" PRId64 " is that of %s[%" PRId64 "], expected ids that differ", name,
                     entries[i].index, entries[i].id, name, entries[i - 1].index);
  return DQ_OK;
}

// An array of the file that is read, and what reads an entry of it.
typedef struct entry_list {
  const char *name;
  dq_status (*read)(struct entry_list *list, const json_t *json, dq_json_span span, int64_t index, dq_error *error);
  dq_coco *coco;
  dq_json_span span;
  dq_coco_entry *ids; // [count]
  int64_t count;
  dq_coco_picture *pictures; // [count], in the order of the file, as the next one
  const char **names;        // of categories
  dq_arena *scratch;         // what annotations point to while they are checked
} entry_list;

static dq_status count_entries(entry_list *list, dq_error *error) {
  dq_json_rest rest = list->span;
  dq_json_span value;
  bool more;
  for (list->count = 0;; list->count++) {
    dq_status status = dq_json_element(&rest, !list->count, &value, &more, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s[%" PRId64 "]", list->name, list->count);
    if (!more) break;
  }
  if (list->count > INT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "'%s' has %" PRId64 " entries, expected at most %d", list->name, list->count,
                   INT32_MAX);
  list->ids = DQ_NEW_ARRAY(list->coco->arena, list->count, dq_coco_entry);
  return list->ids ? DQ_OK : dq_fail_memory(error, (size_t)list->count * sizeof *list->ids);
}

static dq_status read_entry(entry_list *list, dq_json_span span, int64_t index, dq_error *error) {
  json_t *json;
  DQ_TRY(dq_coco_parse(&json, span, dq_arena_budget(list->coco->arena), error));
  dq_status status = list->read(list, json, span, index, error);
  json_decref(json);
  return status;
}

static dq_status read_entries(entry_list *list, dq_error *error) {
  dq_json_rest rest = list->span;
  dq_json_span value;
  bool more;
  for (int64_t i = 0; i < list->count; i++) {
    if (i % ENTRIES_PER_CHECK == 0) DQ_TRY(dq_check_stop(list->coco->context, error));
    dq_status status = dq_json_element(&rest, !i, &value, &more, error);
    if (status == DQ_OK) status = read_entry(list, value, i, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s[%" PRId64 "]", list->name, i);
  }
  return DQ_OK;
}

static dq_status copy_text(const json_t *json, const char *name, dq_arena *arena, const char **copy, dq_error *error) {
  const char *text = json_string_value(json_object_get(json, name));
  if (!text || !*text) return dq_fail(error, DQ_BAD_INPUT, "'%s' is not a text with letters", name);
  *copy = dq_arena_strdup(arena, text);
  return *copy ? DQ_OK : dq_fail_memory(error, strlen(text));
}

// ---- Pictures ----

static dq_status read_side(const json_t *json, const char *name, int64_t *side, dq_error *error) {
  *side = 0;
  if (!json_object_get(json, name)) return DQ_OK;
  DQ_TRY(dq_coco_integer(json, name, side, error));
  if (*side >= 1 && *side <= INT32_MAX) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "'%s' is %" PRId64 ", expected 1 to %d", name, *side, INT32_MAX);
}

static dq_status read_picture(entry_list *list, const json_t *json, dq_json_span span, int64_t index, dq_error *error) {
  dq_coco_picture *picture = &list->pictures[index];
  (void)span;
  list->ids[index].index = index;
  DQ_TRY(dq_coco_integer(json, "id", &list->ids[index].id, error));
  DQ_TRY(copy_text(json, "file_name", list->coco->arena, &picture->name, error));
  DQ_TRY(read_side(json, "width", &picture->width, error));
  return read_side(json, "height", &picture->height, error);
}

static dq_status read_pictures(dq_coco *coco, entry_list *list, dq_error *error) {
  DQ_TRY(count_entries(list, error));
  list->read = read_picture;
  list->pictures = DQ_NEW_ARRAY(coco->arena, list->count, dq_coco_picture);
  coco->pictures = DQ_NEW_ARRAY(coco->arena, list->count, dq_coco_picture);
  if (!list->pictures || !coco->pictures) return dq_fail_memory(error, 0);
  DQ_TRY(read_entries(list, error));
  DQ_TRY(sort_ids(list->ids, list->count, list->name, error));
  coco->picture_ids = list->ids, coco->picture_count = list->count;
  for (int64_t i = 0; i < list->count; i++) coco->pictures[i] = list->pictures[list->ids[i].index];
  return DQ_OK;
}

// ---- Categories ----

static dq_status read_category(entry_list *list, const json_t *json, dq_json_span span, int64_t index,
                               dq_error *error) {
  (void)span;
  list->ids[index].index = index;
  DQ_TRY(dq_coco_integer(json, "id", &list->ids[index].id, error));
  return copy_text(json, "name", list->coco->arena, &list->names[index], error);
}

static dq_status read_categories(dq_coco *coco, entry_list *list, const dq_class_names *classes, dq_error *error) {
  DQ_TRY(count_entries(list, error));
  list->read = read_category;
  list->names = DQ_NEW_ARRAY(coco->arena, list->count, const char *);
  coco->category_names = DQ_NEW_ARRAY(coco->arena, list->count, const char *);
  coco->classes = DQ_NEW_ARRAY(coco->arena, list->count, int64_t);
  if (!list->names || !coco->category_names || !coco->classes) return dq_fail_memory(error, 0);
  DQ_TRY(read_entries(list, error));
  DQ_TRY(sort_ids(list->ids, list->count, list->name, error));
  coco->category_ids = list->ids, coco->category_count = list->count;
  for (int64_t i = 0; i < list->count; i++) {
    coco->category_names[i] = list->names[list->ids[i].index];
    coco->classes[i] = classes->count ? dq_find_class(classes, coco->category_names[i]) : i;
  }
  return DQ_OK;
}

// ---- Annotations ----

// Everything is read once to check it, and again when it is wanted.
static dq_status check_annotation(entry_list *list, const json_t *json, const dq_coco_picture *picture, int64_t index,
                                  dq_error *error) {
  dq_object object;
  if (index % ANNOTATIONS_PER_ARENA == 0) {
    dq_arena_free(list->scratch);
    list->scratch = dq_arena_new(dq_arena_budget(list->coco->arena));
    if (!list->scratch) return dq_fail_memory(error, 0);
  }
  return dq_coco_annotation_read(&object, list->coco, json, picture, list->scratch, error);
}

static dq_status read_annotation(entry_list *list, const json_t *json, dq_json_span span, int64_t index,
                                 dq_error *error) {
  dq_coco *coco = list->coco;
  int64_t id;
  DQ_TRY(dq_coco_integer(json, "image_id", &id, error));
  const int64_t picture = dq_coco_find(coco->picture_ids, coco->picture_count, id);
  if (picture < 0) return dq_fail(error, DQ_BAD_INPUT, "image_id is %" PRId64 ", which no entry of 'images' has", id);
  DQ_TRY(check_annotation(list, json, &coco->pictures[picture], index, error));
  list->ids[index].index = index;
  DQ_TRY(dq_coco_integer(json, "id", &list->ids[index].id, error));
  coco->pictures[picture].count++;
  coco->annotations[index] = (dq_coco_annotation){.offset = (size_t)(span.text - (const char *)coco->file.data),
                                                  .size = (uint32_t)span.size,
                                                  .picture = (int32_t)picture,
                                                  .index = index};
  return DQ_OK;
}

// Brings the annotations into the order of their pictures, those of one in the order of the file.
static dq_status order_annotations(dq_coco *coco, dq_error *error) {
  dq_coco_annotation *ordered = DQ_NEW_ARRAY(coco->arena, coco->annotation_count, dq_coco_annotation);
  if (!ordered) return dq_fail_memory(error, (size_t)coco->annotation_count * sizeof *ordered);
  int64_t first = 0;
  for (int64_t p = 0; p < coco->picture_count; p++) {
    coco->pictures[p].first = first;
    first += coco->pictures[p].count;
    coco->pictures[p].count = 0;
  }
  for (int64_t i = 0; i < coco->annotation_count; i++) {
    dq_coco_picture *picture = &coco->pictures[coco->annotations[i].picture];
    ordered[picture->first + picture->count++] = coco->annotations[i];
  }
  dq_arena_release(coco->arena, coco->annotations);
  coco->annotations = ordered;
  return DQ_OK;
}

static dq_status read_annotations(dq_coco *coco, entry_list *list, dq_error *error) {
  DQ_TRY(count_entries(list, error));
  list->read = read_annotation;
  coco->annotation_count = list->count;
  coco->annotations = DQ_NEW_ARRAY(coco->arena, list->count, dq_coco_annotation);
  if (!coco->annotations) return dq_fail_memory(error, (size_t)list->count * sizeof *coco->annotations);
  dq_status status = read_entries(list, error);
  dq_arena_free(list->scratch);
  DQ_TRY(status);
  DQ_TRY(sort_ids(list->ids, list->count, list->name, error));
  dq_arena_release(coco->arena, list->ids);
  return order_annotations(coco, error);
}

// ---- The file ----

enum { PICTURES, CATEGORIES, ANNOTATIONS, LISTS };

static dq_status find_lists(entry_list lists[LISTS], dq_json_rest rest, dq_error *error) {
  dq_json_span member, value;
  bool more = true;
  if (rest.size >= 3 && !memcmp(rest.text, "\xef\xbb\xbf", 3)) rest.text += 3, rest.size -= 3;
  for (bool first = true;; first = false) {
    DQ_TRY(dq_json_member(&rest, first, &member, &value, &more, error));
    if (!more) break;
    for (entry_list *list = lists; list < lists + LISTS; list++) {
      if (strlen(list->name) != member.size || memcmp(list->name, member.text, member.size) != 0) continue;
      if (list->span.text) return dq_fail(error, DQ_BAD_INPUT, "'%s' is there twice", list->name);
      list->span = value;
    }
  }
  if (!dq_json_ended(&rest)) return dq_fail(error, DQ_BAD_INPUT, "something stands behind the last '}'");
  for (entry_list *list = lists; list < lists + LISTS; list++)
    if (!list->span.text || *list->span.text != '[')
      return dq_fail(error, DQ_BAD_INPUT, "no array '%s', expected the arrays images, categories and annotations",
                     list->name);
  return DQ_OK;
}

static dq_status read_file(dq_coco *coco, const dq_class_names *classes, dq_error *error) {
  entry_list lists[LISTS] = {[PICTURES] = {.name = "images", .coco = coco},
                             [CATEGORIES] = {.name = "categories", .coco = coco},
                             [ANNOTATIONS] = {.name = "annotations", .coco = coco}};
  DQ_TRY(find_lists(lists, (dq_json_rest){(const char *)coco->file.data, coco->file.size}, error));
  DQ_TRY(read_pictures(coco, &lists[PICTURES], error));
  DQ_TRY(read_categories(coco, &lists[CATEGORIES], classes, error));
  return read_annotations(coco, &lists[ANNOTATIONS], error);
}

dq_status dq_coco_open(dq_coco **coco, const char *path, const dq_class_names *classes, const dq_context *context,
                       dq_arena *arena, dq_error *error) {
  dq_coco *opened = *coco = DQ_NEW(arena, dq_coco);
  if (!opened) return dq_fail_memory(error, sizeof *opened);
  opened->base.functions = &dq_annotation_coco;
  opened->arena = arena, opened->context = context;
  opened->path = dq_arena_strdup(arena, path);
  if (!opened->path) return dq_fail_memory(error, strlen(path));
  DQ_TRY(dq_file_open_regular(&opened->file, path, error));
  dq_status status = read_file(opened, classes, error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

static void close_file(dq_annotations *annotations) { dq_file_close(&((dq_coco *)annotations)->file); }

// ---- The annotations of a picture ----

static dq_json_span span_of(const dq_coco *coco, const dq_coco_annotation *annotation) {
  return (dq_json_span){(const char *)coco->file.data + annotation->offset, annotation->size};
}

static dq_status read_object(dq_object *object, const dq_coco *coco, const dq_coco_annotation *annotation,
                             dq_arena *arena, dq_error *error) {
  json_t *json;
  DQ_TRY(dq_coco_parse(&json, span_of(coco, annotation), dq_arena_budget(arena), error));
  dq_status status = dq_coco_annotation_read(object, coco, json, &coco->pictures[annotation->picture], arena, error);
  json_decref(json);
  object->place = annotation->index;
  return status;
}

static dq_status read_objects(dq_objects *objects, const dq_object_file *file, dq_error *error) {
  const dq_coco *coco = (const dq_coco *)file->annotations;
  const dq_coco_picture *picture = &coco->pictures[file->picture];
  objects->items = DQ_NEW_ARRAY(objects->arena, picture->count, dq_object);
  if (!objects->items) return dq_fail_memory(error, (size_t)picture->count * sizeof *objects->items);
  for (int64_t i = 0; i < picture->count; i++) {
    const dq_coco_annotation *annotation = &coco->annotations[picture->first + i];
    dq_status status = read_object(&objects->items[i], coco, annotation, objects->arena, error);
    if (status != DQ_OK)
      return dq_error_prefix(error, status, "%s: annotations[%" PRId64 "]", coco->path, annotation->index);
    objects->count++;
  }
  return DQ_OK;
}

static uint64_t hash_objects(const dq_object_file *file,
                             uint64_t (*add)(const void *bytes, size_t size, uint64_t hash)) {
  const dq_coco *coco = (const dq_coco *)file->annotations;
  const dq_coco_picture *picture = &coco->pictures[file->picture];
  uint64_t hash = 0;
  for (int64_t i = 0; i < picture->count; i++) {
    const dq_json_span span = span_of(coco, &coco->annotations[picture->first + i]);
    hash = add(span.text, span.size, hash);
  }
  return hash;
}

const dq_annotation_functions dq_annotation_coco = {
    .read = read_objects, .hash = hash_objects, .close = close_file, .before = "annotations[", .after = "]"};
