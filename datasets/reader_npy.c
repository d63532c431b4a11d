// Arrays, of files or in memory: uint8 pictures that are preprocessed like any other, or numbers given to the model as
// they are.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "datasets/npy.h"
#include "datasets/reader.h"
#include "lib/base/file.h"

typedef struct npy_reader {
  const char *path; // or what messages call an array in memory
  dq_file file, label_file;
  dq_tensor values, labels; // labels.data NULL: none
  bool pictures;            // uint8 with 1 or 3 channels
  bool channels_last;
  bool opened, labels_opened;
} npy_reader;

static void close_npy(dq_data *data) {
  npy_reader *reader = data->state;
  if (reader && reader->opened) dq_file_close(&reader->file);
  if (reader && reader->labels_opened) dq_file_close(&reader->label_file);
}

// uint8 arrays N x C x H x W, N x H x W x C or N x H x W are pictures.
static void find_pictures(dq_data *data, npy_reader *reader) {
  const dq_tensor *values = &reader->values;
  const int64_t *dims = values->dims;
  if (values->type != DQ_U8 || values->rank < 3 || values->rank > 4) return;
  bool three = values->rank == 3;
  bool first = !three && (dims[1] == 1 || dims[1] == 3), last = !three && (dims[3] == 1 || dims[3] == 3);
  if (!three && !first && !last) return;
  reader->channels_last = !three && !first;
  int64_t height = three || reader->channels_last ? dims[1] : dims[2];
  int64_t width = three || reader->channels_last ? dims[2] : dims[3];
  if (height < 1 || height > 65536 || width < 1 || width > 65536) return;
  reader->pictures = true;
  data->fixed_height = (int)height;
  data->fixed_width = (int)width;
  data->fixed_channels = three ? 1 : (int)(first ? dims[1] : dims[3]);
}

// Elements that begin at an odd place of the file, as a header of any length may have it, are copied.
static dq_status align(dq_data *data, dq_tensor *tensor, dq_error *error) {
  size_t width = dq_dtype_size(tensor->type);
  if (!width || (uintptr_t)tensor->data % width == 0) return DQ_OK;
  tensor->data = dq_arena_copy(data->arena, tensor->data, dq_tensor_bytes(tensor));
  return tensor->data ? DQ_OK : dq_fail_memory(error, dq_tensor_bytes(tensor));
}

// The labels of reader->labels.
static dq_status take_labels(dq_data *data, const npy_reader *reader, const char *name, dq_error *error) {
  if (!(DQ_BIT(reader->labels.type) & DQ_TYPES_INTEGER))
    return dq_fail(error, DQ_BAD_INPUT, "%s: labels of type %s, expected integers", name,
                   dq_dtype_name(reader->labels.type));
  if (dq_tensor_count(&reader->labels) != data->found)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %" PRId64 " labels for %" PRId64 " pictures", name,
                   dq_tensor_count(&reader->labels), data->found);
  for (int64_t i = 0; i < data->found; i++) {
    int64_t label = dq_tensor_get_i64(&reader->labels, i);
    if (label < 0 || label >= INT32_MAX)
      return dq_fail(error, DQ_BAD_INPUT, "%s: label %" PRId64 " of picture %" PRId64 ", expected 0 or more", name,
                     label, i);
    if (label >= data->classes) data->classes = label + 1;
  }
  data->kind = DQ_LABEL_CLASS;
  return DQ_OK;
}

// The samples of reader->values.
static dq_status take_values(dq_data *data, npy_reader *reader, const dq_data_options *options, dq_error *error) {
  DQ_TRY(align(data, &reader->values, error));
  if (reader->values.rank < 1)
    return dq_fail(error, DQ_BAD_INPUT, "%s: a scalar, expected an array of pictures", reader->path);
  data->found = reader->values.dims[0];
  find_pictures(data, reader);
  if (!reader->pictures && (options->preset || options->preprocess))
    dq_message(data->context, DQ_NOTE, "%s: %s values are taken as they are, without preprocessing", reader->path,
               dq_dtype_name(reader->values.type));
  return DQ_OK;
}

static dq_status open_labels(dq_data *data, npy_reader *reader, const char *path, dq_error *error) {
  DQ_TRY(dq_file_open_regular(&reader->label_file, path, error));
  reader->labels_opened = true;
  DQ_TRY(dq_npy_parse(&reader->labels, reader->label_file.data, reader->label_file.size, path, error));
  DQ_TRY(align(data, &reader->labels, error));
  return take_labels(data, reader, path, error);
}

static dq_status open_file(dq_data *data, npy_reader *reader, char *const *paths, int count,
                           const dq_data_options *options, dq_error *error) {
  if (count > 2) return dq_fail(error, DQ_USAGE, "npy: %d files, expected FILE[,LABELS]", count);
  reader->path = paths[0];
  DQ_TRY(dq_file_open_regular(&reader->file, reader->path, error));
  reader->opened = true;
  DQ_TRY(dq_npy_parse(&reader->values, reader->file.data, reader->file.size, reader->path, error));
  DQ_TRY(take_values(data, reader, options, error));
  const char *labels = count == 2 ? paths[1] : options->labels;
  return labels ? open_labels(data, reader, labels, error) : DQ_OK;
}

static dq_status open_npy(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  char **paths;
  int count = dq_split(data->arena, argument, ',', &paths);
  npy_reader *reader = data->state = DQ_NEW(data->arena, npy_reader);
  if (count < 0 || !reader) return dq_fail_memory(error, sizeof *reader);
  return open_file(data, reader, paths, count, options, error);
}

dq_status dq_data_open_array(dq_data *data, const dq_data_options *options, dq_error *error) {
  npy_reader *reader = data->state = DQ_NEW(data->arena, npy_reader);
  if (!reader) return dq_fail_memory(error, sizeof *reader);
  data->reader = &dq_reader_npy;
  reader->path = data->name ? data->name : dq_arena_strdup(data->arena, options->spec);
  if (!reader->path) return dq_fail_memory(error, 0);
  reader->values = options->arrays->values;
  DQ_TRY(take_values(data, reader, options, error));
  if (options->labels) return open_labels(data, reader, options->labels, error);
  if (!options->array_labels) return DQ_OK;
  reader->labels = *options->array_labels;
  DQ_TRY(align(data, &reader->labels, error));
  return take_labels(data, reader, "labels", error);
}

static void describe_npy(const dq_data *data, int64_t index, dq_sample_info *info) {
  const npy_reader *reader = data->state;
  char name[4096];
  snprintf(name, sizeof name, "%s#%" PRId64, reader->path, index);
  dq_sample_name(info, name);
  if (reader->labels.data) info->label = dq_tensor_get_i64(&reader->labels, index);
}

static dq_status npy_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  const npy_reader *reader = data->state;
  DQ_TRY(
      dq_image_init(image, data->fixed_width, data->fixed_height, data->fixed_channels, dq_data_budget(data), error));
  size_t plane = (size_t)image->width * (size_t)image->height, channels = (size_t)image->channels;
  const uint8_t *source = (const uint8_t *)reader->values.data + (size_t)index * plane * channels;
  size_t step = reader->channels_last ? channels : 1, jump = reader->channels_last ? 1 : plane;
  for (size_t i = 0; i < plane; i++)
    for (size_t c = 0; c < channels; c++) image->pixels[i * channels + c] = source[i * step + c * jump];
  return DQ_OK;
}

static bool npy_ready(const dq_data *data) { return !((const npy_reader *)data->state)->pictures; }

static dq_status npy_values(const dq_data *data, int64_t index, float *values, dq_error *error) {
  const npy_reader *reader = data->state;
  int64_t count = dq_tensor_product(&reader->values, 1, reader->values.rank);
  (void)error;
  for (int64_t i = 0; i < count; i++) values[i] = (float)dq_tensor_get(&reader->values, index * count + i);
  return DQ_OK;
}

static bool npy_shape(const dq_data *data, dq_tensor *shape) {
  const npy_reader *reader = data->state;
  if (reader->pictures) return false;
  shape->rank = reader->values.rank - 1;
  for (int i = 0; i < shape->rank; i++) shape->dims[i] = reader->values.dims[i + 1];
  return true;
}

static const void *npy_bytes(const dq_data *data, int64_t index, size_t *size) {
  const dq_tensor *values = &((const npy_reader *)data->state)->values;
  *size = dq_tensor_bytes(values) / (size_t)values->dims[0];
  return (const char *)values->data + (size_t)index * *size;
}

static dq_status npy_fits(const dq_data *data, const dq_tensor *input, dq_error *error) {
  const npy_reader *reader = data->state;
  const dq_tensor *values = &reader->values;
  char text[DQ_SHAPE_TEXT], wanted[DQ_SHAPE_TEXT];
  bool same = dq_tensor_product(values, 1, values->rank) == dq_tensor_product(input, 1, input->rank);
  for (int i = 1; i < 3 && values->rank == 4; i++) // then the rest is equal as well
    same &= values->dims[i] == (i < input->rank ? input->dims[i] : 1);
  if (same) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%s: the array's shape is %s, the model wants N%s", reader->path,
                 dq_tensor_shape_text(values, text, sizeof text), dq_picture_shape_text(input, wanted, sizeof wanted));
}

const dq_reader_functions dq_reader_npy = {.open = open_npy,
                                           .describe = describe_npy,
                                           .pixels = npy_pixels,
                                           .values = npy_values,
                                           .shape = npy_shape,
                                           .fits = npy_fits,
                                           .ready = npy_ready,
                                           .close = close_npy,
                                           .bytes = npy_bytes};
