// Files of boxes with the names of pictures: text files or XML files, not both.
#include <string.h>
#include <strings.h>

#include "datasets/files.h"
#include "datasets/objects/voc.h"

bool dq_is_xml(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".xml");
}

static dq_status read_names(dq_data *data, dq_file_samples *samples, dq_error *error) {
  dq_voc *voc;
  const dq_class_names classes = {data->class_names, data->class_name_count};
  DQ_TRY(dq_voc_new(&voc, &classes, data->arena, error));
  samples->annotations = &voc->base;
  for (int64_t i = 0; i < samples->count; i++) {
    if (samples->items[i].label_path) DQ_TRY(dq_voc_add(voc, samples->items[i].label_path, error));
    DQ_TRY(dq_check_stop(data->context, error));
  }
  dq_voc_sort(voc);
  data->class_names = voc->names, data->class_name_count = voc->count;
  data->classes = voc->count;
  return DQ_OK;
}

dq_status dq_files_boxes(dq_data *data, dq_error *error) {
  dq_file_samples *samples;
  const char *text = NULL, *xml = NULL;
  DQ_TRY(dq_files_begin(data, &samples, error));
  for (int64_t i = 0; i < samples->count; i++) {
    const char *path = samples->items[i].label_path;
    if (path) *(dq_is_xml(path) ? &xml : &text) = path;
  }
  if (xml && text) return dq_fail(error, DQ_BAD_INPUT, "%s and %s: boxes in two forms, expected one", xml, text);
  return xml ? read_names(data, samples, error) : DQ_OK;
}
