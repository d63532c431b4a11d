// What folders and lists of picture files share.
#include "datasets/files.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "datasets/objects/annotations.h"
#include "lib/base/sizes.h"

// The last four cannot be decoded here: they are found so that they can be named.
static const char *const picture_suffixes[] = {".jpg", ".jpeg", ".png",  ".bmp",  ".pgm", ".ppm",
                                               ".pnm", ".gif",  ".webp", ".tiff", ".tif"};

bool dq_has_picture_suffix(const char *name) {
  const char *dot = strrchr(name, '.');
  for (int i = 0; dot && i < DQ_COUNT(picture_suffixes); i++)
    if (!strcasecmp(dot, picture_suffixes[i])) return true;
  return false;
}

bool dq_is_folder(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISDIR(info.st_mode);
}

bool dq_is_file(const char *path) {
  struct stat info;
  return !stat(path, &info) && S_ISREG(info.st_mode);
}

char *dq_join(dq_arena *arena, const char *folder, const char *name) {
  if (*name == '/' || !strcmp(folder, ".")) return dq_arena_strdup(arena, name);
  size_t length = strlen(folder);
  bool slash = length && folder[length - 1] == '/';
  return dq_arena_printf(arena, "%s%s%s", folder, slash ? "" : "/", name);
}

dq_status dq_files_begin(dq_data *data, dq_file_samples **samples, dq_error *error) {
  if (!data->state) data->state = DQ_NEW(data->arena, dq_file_samples);
  *samples = data->state;
  return *samples ? DQ_OK : dq_fail_memory(error, sizeof **samples);
}

dq_status dq_files_add(dq_data *data, dq_file_sample sample, dq_error *error) {
  dq_file_samples *samples;
  DQ_TRY(dq_files_begin(data, &samples, error));
  if (samples->count == samples->capacity) {
    int64_t capacity = samples->capacity ? samples->capacity * 2 : 256;
    dq_file_sample *items = realloc(samples->items, (size_t)capacity * sizeof *items);
    if (!items) return dq_fail_memory(error, (size_t)capacity * sizeof *items);
    samples->items = items;
    samples->capacity = capacity;
  }
  if (!sample.name || !sample.path) return dq_fail_memory(error, sizeof sample);
  samples->items[samples->count++] = sample;
  data->found = samples->count;
  return DQ_OK;
}

void dq_files_describe(const dq_data *data, int64_t index, dq_sample_info *info) {
  const dq_file_sample *sample = &((const dq_file_samples *)data->state)->items[index];
  dq_sample_name(info, sample->name);
  info->path = sample->path;
  info->label = sample->label;
  info->label_path = sample->label_path;
  info->annotations = ((const dq_file_samples *)data->state)->annotations;
  info->annotated = sample->annotated;
}

dq_status dq_files_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  const dq_file_sample *sample = &((const dq_file_samples *)data->state)->items[index];
  return dq_image_read(image, sample->path, dq_data_budget(data), error);
}

void dq_files_close(dq_data *data) {
  dq_file_samples *samples = data->state;
  if (!samples) return;
  if (samples->annotations && samples->annotations->functions->close)
    samples->annotations->functions->close(samples->annotations);
  free(samples->items);
}
