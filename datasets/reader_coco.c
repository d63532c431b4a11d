// Pictures with the true objects of a file of COCO.
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "datasets/objects/coco.h"
#include "datasets/files.h"

bool dq_is_json(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".json");
}

static dq_status no_pictures(const dq_coco *coco, const char *folder, dq_error *error) {
  if (!coco->picture_count) return dq_fail(error, DQ_BAD_INPUT, "%s: 'images' is empty", coco->path);
  dq_fail(error, DQ_BAD_INPUT, "%s: none of its %" PRId64 " pictures is in %s, such as '%s'", coco->path,
          coco->picture_count, folder, coco->pictures[0].name);
  dq_error_hint(error, "give the folder that the names in the file begin at: --data FOLDER --labels %s", coco->path);
  return DQ_BAD_INPUT;
}

static dq_status add_pictures(dq_data *data, const dq_coco *coco, const char *folder, bool strict, dq_error *error) {
  for (int64_t i = 0; i < coco->picture_count; i++) {
    const dq_coco_picture *picture = &coco->pictures[i];
    dq_file_sample sample = {.name = picture->name,
                             .path = dq_join(data->arena, folder, picture->name),
                             .label = -1,
                             .label_path = coco->path,
                             .annotated = i};
    if (!sample.path) return dq_fail_memory(error, strlen(folder));
    if (dq_is_file(sample.path)) DQ_TRY(dq_files_add(data, sample, error));
    else if (strict)
      return dq_fail(error, DQ_BAD_INPUT, "%s: images[%" PRId64 "]: no picture '%s'", coco->path,
                     coco->picture_ids[i].index, sample.path);
  }
  if (!data->found) return no_pictures(coco, folder, error);
  if (data->found < coco->picture_count)
    dq_message(data->context, DQ_NOTE, "%s: %" PRId64 " of %" PRId64 " pictures are in %s", coco->path, data->found,
               coco->picture_count, folder);
  return DQ_OK;
}

dq_status dq_coco_pictures(dq_data *data, const char *path, const char *folder, bool strict, dq_error *error) {
  dq_coco *coco;
  dq_file_samples *samples;
  const dq_class_names classes = {data->class_names, data->class_name_count};
  DQ_TRY(dq_files_begin(data, &samples, error));
  dq_status status = dq_coco_open(&coco, path, &classes, data->context, data->arena, error);
  if (coco) samples->annotations = &coco->base;
  DQ_TRY(status);
  data->kind = DQ_LABEL_BOXES;
  if (!data->class_names) data->class_names = coco->category_names, data->class_name_count = coco->category_count;
  data->classes = data->class_name_count;
  return add_pictures(data, coco, folder, strict, error);
}

// "FILE.json,images=DIR"; the pictures lie beside the file where no folder is given. --labels names the classes.
static dq_status open_coco(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  static const char field[] = ",images=";
  char folder[4096];
  const char *comma = strstr(argument, field);
  const char *path = comma ? dq_arena_strndup(data->arena, argument, (size_t)(comma - argument)) : argument;
  if (!path) return dq_fail_memory(error, strlen(argument));
  if (options->labels) {
    DQ_TRY(dq_read_class_names(data, options->labels, error));
    if (!data->class_name_count)
      return dq_fail(error, DQ_BAD_INPUT, "%s: empty, expected names of classes", options->labels);
  }
  dq_path_folder(path, folder, sizeof folder);
  const char *pictures = comma ? comma + strlen(field) : folder;
  if (comma && !dq_is_folder(pictures)) return dq_fail(error, DQ_USAGE, "coco: images=%s is no folder", pictures);
  return dq_coco_pictures(data, path, pictures, options->strict, error);
}

const dq_reader_functions dq_reader_coco = {
    .open = open_coco, .describe = dq_files_describe, .pixels = dq_files_pixels, .close = dq_files_close};
