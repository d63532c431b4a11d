// An open data set: what it holds, and reading its pictures.
#include "datasets/datasets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/reader.h"

void dq_data_free(dq_data *data) {
  if (!data) return;
  for (int i = 0; i < data->part_count; i++) dq_data_free(data->parts[i]);
  if (data->viewed) {
    dq_arena_free(data->arena);
    return;
  }
  if (data->reader && data->reader->close) data->reader->close(data);
  if (data->source && data->source->close && data->state && !data->borrowed) data->source->close(data->state);
  dq_arena_free(data->arena);
}

int dq_data_part_count(const dq_data *data) { return data->part_count ? data->part_count : 1; }
dq_data *dq_data_part(dq_data *data, int part) { return data->part_count ? data->parts[part] : data; }
const char *dq_data_part_name(const dq_data *data, int part) {
  return data->part_count ? data->parts[part]->name : NULL;
}
int dq_data_main_part(const dq_data *data) { return data->main_part; }

int64_t dq_data_count(const dq_data *data) { return data->count; }
int64_t dq_data_skipped(const dq_data *data) { return data->skipped; }
dq_label_kind dq_data_labelled(const dq_data *data) { return data->kind; }
int64_t dq_data_classes(const dq_data *data) { return data->classes; }
bool dq_data_classes_exact(const dq_data *data) { return data->classes_exact; }
const char *dq_data_preprocess_text(const dq_data *data) { return data->preprocess_text; }

const char *dq_data_class_name(const dq_data *data, int64_t label) {
  bool known = label >= 0 && label < data->class_name_count;
  return known ? data->class_names[label] : NULL;
}

bool dq_data_natural_shape(const dq_data *data, int *channels, int *height, int *width) {
  const bool same = data->fixed_width > 0 && data->fixed_height > 0;
  const dq_picture_sizes sizes = {.width = same ? data->fixed_width : data->mean_width,
                                  .height = same ? data->fixed_height : data->mean_height,
                                  .same = same};
  *channels = data->fixed_channels ? data->fixed_channels : 3;
  return dq_preprocess_open_size(&data->preprocess, &sizes, height, width);
}

bool dq_data_sample_shape(const dq_data *data, dq_tensor *shape) {
  *shape = (dq_tensor){0};
  if (data->source) return data->source->shape && data->source->shape(data->state, data->input, shape);
  return data->reader && data->reader->shape && data->reader->shape(data, shape);
}

static bool is_ready(const dq_data *data) { return data->source || (data->reader->ready && data->reader->ready(data)); }

bool dq_data_is_pictures(const dq_data *data) {
  if (data->viewed) return dq_data_is_pictures(data->viewed);
  return data->part_count ? dq_data_is_pictures(data->parts[data->main_part]) : !is_ready(data);
}

const char *dq_picture_shape_text(const dq_tensor *input, char *text, size_t size) {
  dq_tensor one = *input;
  one.dims[0] = 1;
  dq_tensor_shape_text(&one, text, size);
  return text + (*text == '1'); // past the batch
}

static dq_status read_shape(dq_picture_shape *shape, const dq_tensor *input, dq_error *error) {
  int64_t dims[3] = {1, 1, 1};
  char text[DQ_SHAPE_TEXT];
  for (int i = 1; i < 4 && i < input->rank; i++) dims[i - 1] = input->dims[i];
  if (input->rank > 4) dims[2] = dq_tensor_product(input, 3, input->rank);
  for (int i = 0; i < 3; i++)
    if (dims[i] < 1 || dims[i] > INT32_MAX)
      return dq_fail(error, DQ_BAD_INPUT, "pictures cannot have the shape N%s",
                     dq_picture_shape_text(input, text, sizeof text));
  bool last = dq_channels_last(input->rank, input->dims);
  const int64_t *channels = last ? &dims[2] : dims, *plane = last ? dims : &dims[1];
  *shape = (dq_picture_shape){(int)*channels, (int)plane[0], (int)plane[1], last};
  return DQ_OK;
}

static dq_status check_picture_shape(const dq_data *data, const dq_picture_shape *shape, const dq_tensor *input,
                                     dq_error *error) {
  char text[DQ_SHAPE_TEXT];
  if (shape->channels != 1 && shape->channels != 3) {
    dq_fail(error, DQ_BAD_INPUT, "pictures have 1 or 3 channels, NxCxHxW or NxHxWxC, the model's input is N%s",
            dq_picture_shape_text(input, text, sizeof text));
    dq_error_hint(error, "npy:FILE and pb:DIR hold arrays of any shape");
    return DQ_BAD_INPUT;
  }
  int crop = data->preprocess.crop;
  if (crop && (crop != shape->height || crop != shape->width))
    return dq_fail(error, DQ_USAGE, "preprocess: crop is %d, the model wants %dx%d", crop, shape->height, shape->width);
  return DQ_OK;
}

dq_status dq_data_set_shape(dq_data *data, const dq_tensor *input, dq_error *error) {
  dq_picture_shape shape, *known = &data->shape;
  if (data->viewed) {
    DQ_TRY(dq_data_set_shape(data->viewed, input, error));
    data->shape = data->viewed->shape;
    return DQ_OK;
  }
  DQ_TRY(read_shape(&shape, input, error));
  bool same = known->channels == shape.channels && known->height == shape.height && known->width == shape.width &&
              known->channels_last == shape.channels_last;
  if (same) return DQ_OK; // several runs over the same pictures
  if (!is_ready(data)) DQ_TRY(check_picture_shape(data, &shape, input, error));
  if (data->reader && is_ready(data)) {
    DQ_TRY(data->reader->fits(data, input, error));
  } else if (data->reader && (data->fixed_height != shape.height || data->fixed_width != shape.width)) {
    dq_message(data->context, DQ_NOTE, "pictures are resized to %dx%d%s%s", shape.width, shape.height,
               *data->preprocess_text ? " with " : "", data->preprocess_text);
  }
  data->shape = shape;
  return DQ_OK;
}

static int64_t elements_of(const dq_data *data) {
  return (int64_t)data->shape.channels * data->shape.height * data->shape.width;
}

static dq_status preprocess(const dq_data *data, dq_image *image, float *values, dq_sample_info *info,
                            dq_error *error) {
  const dq_norm_row *row = NULL;
  info->width = image->width;
  info->height = image->height;
  if (data->preprocess.per_patient) DQ_TRY(dq_norm_find(&data->norm, info->name, &row, error));
  return dq_preprocess_apply(&data->preprocess, image, row, &data->shape, values, &info->view, error);
}

static dq_status read_values(const dq_data *data, int64_t inner, float *values, dq_sample_info *info, dq_error *error) {
  if (data->source) return data->source->read(data->state, data->input, inner, values, elements_of(data), info, error);
  if (is_ready(data)) return data->reader->values(data, inner, values, error);
  dq_image image = {0};
  dq_status status = data->reader->pixels(data, inner, &image, error);
  if (status == DQ_OK) status = preprocess(data, &image, values, info, error);
  dq_image_deinit(&image);
  return status;
}

dq_status dq_data_read(const dq_data *data, int64_t index, float *values, dq_sample_info *info, dq_error *error) {
  dq_sample_info unused;
  if (!info) info = &unused;
  memset(info, 0, sizeof *info);
  info->kind = data->kind;
  info->label = -1;
  info->view = (dq_view){.scale_x = 1, .scale_y = 1};
  if (index < 0 || index >= data->count)
    return dq_fail(error, DQ_BAD_INPUT, "picture %" PRId64 " of %" PRId64, index, data->count);
  if (data->viewed) return dq_data_read(data->viewed, data->order[index], values, info, error);
  if (data->part_count && !values) return dq_data_read(data->parts[data->main_part], index, NULL, info, error);
  int64_t inner = data->order ? data->order[index] : index;
  if (data->reader) data->reader->describe(data, inner, info);
  if (!values && data->source) return data->source->read(data->state, data->input, inner, NULL, 0, info, error);
  if (!values) return DQ_OK;
  if (data->shape.channels == 0)
    return dq_fail(error, DQ_BAD_INPUT, "pictures are read before the model's shape is known");
  return read_values(data, inner, values, info, error);
}

dq_status dq_data_picture(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  *image = (dq_image){0};
  if (index < 0 || index >= data->count)
    return dq_fail(error, DQ_BAD_INPUT, "picture %" PRId64 " of %" PRId64, index, data->count);
  if (data->viewed) return dq_data_picture(data->viewed, data->order[index], image, error);
  if (data->part_count) return dq_data_picture(data->parts[data->main_part], index, image, error);
  if (!data->reader || is_ready(data)) return dq_fail(error, DQ_UNSUPPORTED, "the data are arrays, not pictures");
  return data->reader->pixels(data, data->order ? data->order[index] : index, image, error);
}

dq_status dq_sample_objects(dq_objects *objects, const dq_sample_info *info, dq_budget *budget, dq_error *error) {
  const dq_object_file file = {.path = info->label_path,
                               .annotations = info->annotations,
                               .picture = info->annotated,
                               .width = info->width,
                               .height = info->height};
  return dq_objects_read(objects, &file, budget, error);
}

dq_status dq_data_check_stop(const dq_data *data, dq_error *error) { return dq_check_stop(data->context, error); }

typedef struct batch {
  const dq_data *data;
  int64_t first;
  float *values;
  dq_sample_info *infos;
  dq_status *statuses;
} batch;

static void read_one(void *argument, int64_t i, int thread) {
  batch *b = argument;
  int64_t elements = elements_of(b->data);
  (void)thread;
  b->statuses[i] = dq_data_read(b->data, b->first + i, b->values + i * elements, b->infos ? b->infos + i : NULL, NULL);
}

dq_status dq_data_read_batch(const dq_data *data, int64_t first, int64_t count, float *values, dq_sample_info *infos,
                             dq_error *error) {
  batch b = {data, first, values, infos, NULL};
  if (count < 1) return DQ_OK;
  b.statuses = malloc((size_t)count * sizeof *b.statuses);
  if (!b.statuses) return dq_fail_memory(error, (size_t)count * sizeof *b.statuses);
  dq_pool_run(data->context ? data->context->pool : NULL, count, read_one, &b);
  dq_status status = DQ_OK;
  int64_t elements = elements_of(data);
  for (int64_t i = 0; i < count && status == DQ_OK; i++)
    if (b.statuses[i] != DQ_OK) // again, for its message
      status = dq_data_read(data, first + i, values + i * elements, NULL, error);
  free(b.statuses);
  return status;
}
