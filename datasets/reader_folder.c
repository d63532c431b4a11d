// A folder of pictures: class folders, pictures with masks or boxes beside them, or plain pictures.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/order.h"
#include "lib/base/sizes.h"
#include "datasets/files.h"

typedef struct names {
  char **items; // sorted; in the data's arena
  int64_t count, capacity;
} names;

static dq_status add_name(names *list, dq_arena *arena, const char *name, dq_error *error) {
  if (list->count == list->capacity) {
    int64_t capacity = list->capacity ? list->capacity * 2 : 64;
    char **items = realloc(list->items, (size_t)capacity * sizeof *items);
    if (!items) return dq_fail_memory(error, (size_t)capacity * sizeof *items);
    list->items = items;
    list->capacity = capacity;
  }
  char *copy = dq_arena_strdup(arena, name);
  if (!copy) return dq_fail_memory(error, strlen(name));
  list->items[list->count++] = copy;
  return DQ_OK;
}

// The sub-folders or the pictures of a folder, sorted by bytes; hidden ones are left out.
static dq_status list_names(names *list, dq_data *data, const char *folder, bool folders, dq_error *error) {
  DIR *directory = opendir(folder);
  if (!directory) return dq_fail_errno(error, folder);
  dq_status status = DQ_OK;
  for (struct dirent *entry; status == DQ_OK && (entry = readdir(directory));) {
    if (*entry->d_name == '.') continue;
    if (!folders && !dq_has_picture_suffix(entry->d_name)) continue;
    char *path = dq_join(data->arena, folder, entry->d_name);
    if (!path) status = dq_fail_memory(error, strlen(entry->d_name));
    else if (dq_is_folder(path) == folders) status = add_name(list, data->arena, entry->d_name, error);
  }
  closedir(directory);
  if (status == DQ_OK && list->count) qsort(list->items, (size_t)list->count, sizeof *list->items, dq_compare_texts);
  return status;
}

// The file in `folder` with the picture's name and one of the endings of labels, or NULL.
static const char *label_beside(dq_arena *arena, const char *folder, const char *picture, dq_label_kind *kind) {
  static const char *const suffixes[] = {".txt", ".xml", ".png", ".bmp", ".pgm"};
  const char *dot = strrchr(picture, '.');
  for (int i = 0; i < DQ_COUNT(suffixes); i++) {
    const char *path = dq_arena_printf(arena, "%s/%.*s%s", folder, (int)(dot - picture), picture, suffixes[i]);
    if (path && dq_is_file(path)) {
      *kind = i > 1 ? DQ_LABEL_MASK : DQ_LABEL_BOXES;
      return path;
    }
  }
  return NULL;
}

// Sets the kind of the labels: masks or boxes, not both. Where there are masks, pictures without one are left out; a
// picture without a box file has no boxes.
static dq_status settle_labels(dq_data *data, bool boxes, bool masks, const char *labels, dq_error *error) {
  dq_file_samples *samples = data->state;
  if (boxes && masks)
    return dq_fail(error, DQ_BAD_INPUT, "%s: masks and box files side by side, expected one kind", labels);
  if (!boxes && !masks)
    return dq_fail(error, DQ_BAD_INPUT, "%s: no mask or box file with the name of a picture", labels);
  data->kind = masks ? DQ_LABEL_MASK : DQ_LABEL_BOXES;
  int64_t kept = 0;
  for (int64_t i = 0; i < samples->count; i++)
    if (boxes || samples->items[i].label_path) samples->items[kept++] = samples->items[i];
  if (kept < samples->count)
    dq_message(data->context, DQ_NOTE, "%s: %d of %d pictures have a mask", labels, (int)kept, (int)samples->count);
  samples->count = data->found = kept;
  return boxes ? dq_files_boxes(data, error) : DQ_OK;
}

// All pictures of one folder. `prefix` stands before their names ("" or "class/").
static dq_status add_pictures(dq_data *data, const char *folder, const char *prefix, int64_t label, const char *labels,
                              dq_error *error) {
  names list = {0};
  bool boxes = false, masks = false;
  dq_status status = list_names(&list, data, folder, false, error);
  for (int64_t i = 0; i < list.count && status == DQ_OK; i++) {
    dq_label_kind kind = DQ_LABEL_NONE;
    dq_file_sample sample = {.name = dq_arena_printf(data->arena, "%s%s", prefix, list.items[i]),
                             .path = dq_join(data->arena, folder, list.items[i]),
                             .label = label};
    if (labels) sample.label_path = label_beside(data->arena, labels, list.items[i], &kind);
    boxes |= kind == DQ_LABEL_BOXES;
    masks |= kind == DQ_LABEL_MASK;
    status = dq_files_add(data, sample, error);
  }
  free(list.items);
  if (status == DQ_OK && labels && data->found) status = settle_labels(data, boxes, masks, labels, error);
  return status;
}

// The line of a file of class names, from 0; -1 when it has no such line.
static int64_t line_of(const dq_data *data, const char *name) {
  for (int64_t i = 0; i < data->class_name_count; i++)
    if (!strcmp(data->class_names[i], name)) return i;
  return -1;
}

// The labels of class folders where a file names the classes: the line that has the folder's name; where it has
// the name of none, and as many names as there are folders, the lines in the folders' order.
static dq_status class_labels(const dq_data *data, const names *classes, const char *file, int64_t *labels,
                              dq_error *error) {
  int64_t missing = -1, matched = 0;
  for (int64_t i = 0; i < classes->count; i++) {
    labels[i] = line_of(data, classes->items[i]);
    matched += labels[i] >= 0;
    if (labels[i] < 0 && missing < 0) missing = i;
  }
  if (matched == classes->count) return DQ_OK;
  for (int64_t i = 0; i < classes->count; i++) labels[i] = i;
  if (!matched && data->class_name_count == classes->count) {
    dq_message(data->context, DQ_NOTE, "%s: line 1 names the class of folder '%s', and so on in sorted order", file,
               classes->items[0]);
    return DQ_OK;
  }
  dq_fail(error, DQ_BAD_INPUT, "%s: %" PRId64 " names for %" PRId64 " class folders, '%s' is not among them", file,
          data->class_name_count, classes->count, classes->items[missing]);
  dq_error_hint(error,
                "expected the names of the folders, in the order of the model's classes, or as many other names as "
                "there are folders, in their sorted order; or a list with lines 'relative/path label'");
  return DQ_BAD_INPUT;
}

static dq_status add_classes(dq_data *data, const char *folder, const names *classes, const char *file,
                             dq_error *error) {
  const char **class_names = DQ_NEW_ARRAY(data->arena, classes->count, const char *);
  int64_t *labels = DQ_NEW_ARRAY(data->arena, classes->count, int64_t);
  if (!class_names || !labels) return dq_fail_memory(error, sizeof *class_names);
  for (int64_t i = 0; i < classes->count; i++) class_names[i] = classes->items[i], labels[i] = i;
  if (file) DQ_TRY(class_labels(data, classes, file, labels, error));
  for (int64_t i = 0; i < classes->count; i++) {
    char *path = dq_join(data->arena, folder, classes->items[i]);
    char *prefix = dq_arena_printf(data->arena, "%s/", classes->items[i]);
    if (!path || !prefix) return dq_fail_memory(error, strlen(folder));
    if (labels[i] >= data->classes) data->classes = labels[i] + 1;
    DQ_TRY(add_pictures(data, path, prefix, labels[i], NULL, error));
  }
  data->kind = DQ_LABEL_CLASS;
  data->classes_exact = !file || data->class_name_count == classes->count;
  if (!file) data->class_names = class_names, data->class_name_count = classes->count;
  data->spread_limit = true;
  return DQ_OK;
}

// images/ with masks/ or labels/ beside it, or JPEGImages/ with Annotations/, if that is what `folder` holds.
static dq_status find_pair(dq_data *data, const char *folder, const char **images, const char **labels,
                           dq_error *error) {
  *images = dq_join(data->arena, folder, "images");
  const char *masks = dq_join(data->arena, folder, "masks");
  const char *boxes = dq_join(data->arena, folder, "labels");
  if (!*images || !masks || !boxes) return dq_fail_memory(error, strlen(folder));
  *labels = dq_is_folder(masks) ? masks : dq_is_folder(boxes) ? boxes : NULL;
  if (!dq_is_folder(*images)) *labels = NULL;
  if (*labels) return DQ_OK;
  const char *jpegs = dq_join(data->arena, folder, "JPEGImages");
  const char *annotations = dq_join(data->arena, folder, "Annotations");
  if (!jpegs || !annotations) return dq_fail_memory(error, strlen(folder));
  if (dq_is_folder(jpegs) && dq_is_folder(annotations)) *images = jpegs, *labels = annotations;
  return DQ_OK;
}

dq_status dq_folder_pictures(dq_data *data, const char *folder, const char *labels, dq_error *error) {
  return add_pictures(data, folder, "", -1, labels, error);
}

static dq_status add_folder(dq_data *data, const char *folder, const char *file, dq_error *error) {
  const char *images = NULL, *labels = NULL;
  DQ_TRY(find_pair(data, folder, &images, &labels, error));
  if (labels) return add_pictures(data, images, "", -1, labels, error);
  names classes = {0};
  dq_status status = list_names(&classes, data, folder, true, error);
  if (status == DQ_OK)
    status = classes.count ? add_classes(data, folder, &classes, file, error)
                           : add_pictures(data, folder, "", -1, NULL, error);
  free(classes.items);
  return status;
}

// --labels is a folder of masks or boxes, a file of COCO, a list of pictures, or a file with the names of classes.
static dq_status open_folder(dq_data *data, const char *folder, const dq_data_options *options, dq_error *error) {
  const char *labels = options->labels;
  if (!labels) return add_folder(data, folder, NULL, error);
  if (dq_is_folder(labels)) return add_pictures(data, folder, "", -1, labels, error);
  if (dq_is_json(labels)) return dq_coco_pictures(data, labels, folder, options->strict, error);
  bool list;
  DQ_TRY(dq_list_found(data, labels, folder, &list, error));
  if (list) return dq_list_read(data, labels, folder, error);
  DQ_TRY(dq_read_class_names(data, labels, error));
  if (!data->class_name_count)
    return dq_fail(error, DQ_BAD_INPUT, "%s: empty, expected names of classes, or lines 'relative/path label'", labels);
  return add_folder(data, folder, labels, error);
}

const dq_reader_functions dq_reader_folder = {
    .open = open_folder, .describe = dq_files_describe, .pixels = dq_files_pixels, .close = dq_files_close};
