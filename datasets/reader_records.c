// Pictures of one size in one file: CIFAR's binary records and MNIST's idx files.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "datasets/reader.h"
#include "lib/base/file.h"

enum { CIFAR_SIDE = 32, CIFAR_PLANE = CIFAR_SIDE * CIFAR_SIDE, CIFAR_RECORD = 1 + 3 * CIFAR_PLANE };
enum { CIFAR_CLASSES = 10, MNIST_CLASSES = 10 };
static const char *const cifar_classes[CIFAR_CLASSES] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                                         "dog",      "frog",       "horse", "ship", "truck"};

typedef struct record_file {
  const char *path;
  dq_file file;
  int64_t first, count; // pictures before it, and its own
} record_file;

typedef struct record_reader {
  record_file *files; // CIFAR: all; MNIST: pictures and, when there are any, labels
  int file_count;
} record_reader;

static void close_records(dq_data *data) {
  record_reader *reader = data->state;
  for (int i = 0; reader && i < reader->file_count; i++) dq_file_close(&reader->files[i].file);
}

// Maps the comma-separated files of `argument`.
static dq_status open_files(dq_data *data, const char *argument, record_reader **opened, dq_error *error) {
  char **paths;
  int count = dq_split(data->arena, argument, ',', &paths);
  record_reader *reader = *opened = data->state = DQ_NEW(data->arena, record_reader);
  if (reader && count > 0) reader->files = DQ_NEW_ARRAY(data->arena, count, record_file);
  if (count < 0 || !reader || !reader->files) return dq_fail_memory(error, sizeof *reader);
  for (int i = 0; i < count; i++) {
    reader->files[i].path = paths[i];
    DQ_TRY(dq_file_open_regular(&reader->files[i].file, paths[i], error));
    reader->file_count = i + 1;
  }
  return DQ_OK;
}

static void describe_record(const char *path, int64_t index, dq_sample_info *info) {
  char name[4096];
  snprintf(name, sizeof name, "%s#%" PRId64, path, index);
  dq_sample_name(info, name);
}

static dq_status check_cifar_file(const record_file *file, dq_error *error) {
  if (file->file.size == 0 || file->file.size % CIFAR_RECORD)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %zu bytes, expected a multiple of %d", file->path, file->file.size,
                   CIFAR_RECORD);
  for (int64_t i = 0; i < file->count; i++) {
    int label = file->file.data[i * CIFAR_RECORD];
    if (label >= CIFAR_CLASSES)
      return dq_fail(error, DQ_BAD_INPUT, "%s: record %" PRId64 ": label %d, expected 0 to %d", file->path, i, label,
                     CIFAR_CLASSES - 1);
  }
  return DQ_OK;
}

static dq_status open_cifar(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  record_reader *reader;
  data->class_names = cifar_classes;
  data->class_name_count = CIFAR_CLASSES;
  if (options->labels) DQ_TRY(dq_read_class_names(data, options->labels, error));
  DQ_TRY(open_files(data, argument, &reader, error));
  for (int i = 0; i < reader->file_count; i++) {
    reader->files[i].first = data->found;
    reader->files[i].count = (int64_t)(reader->files[i].file.size / CIFAR_RECORD);
    DQ_TRY(check_cifar_file(&reader->files[i], error));
    data->found += reader->files[i].count;
  }
  data->kind = DQ_LABEL_CLASS;
  data->classes = CIFAR_CLASSES;
  data->classes_exact = true;
  data->fixed_width = data->fixed_height = CIFAR_SIDE;
  data->fixed_channels = 3;
  return DQ_OK;
}

static const uint8_t *cifar_record(const dq_data *data, int64_t index, const record_file **file) {
  const record_reader *reader = data->state;
  *file = reader->files;
  while (index >= (*file)->first + (*file)->count) (*file)++;
  return (*file)->file.data + (index - (*file)->first) * CIFAR_RECORD;
}

static void describe_cifar(const dq_data *data, int64_t index, dq_sample_info *info) {
  const record_file *file;
  info->label = *cifar_record(data, index, &file);
  describe_record(file->path, index - file->first, info);
}

static dq_status cifar_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  const record_file *file;
  const uint8_t *planes = cifar_record(data, index, &file) + 1;
  DQ_TRY(dq_image_init(image, CIFAR_SIDE, CIFAR_SIDE, 3, dq_data_budget(data), error));
  for (int i = 0; i < CIFAR_PLANE; i++)
    for (int c = 0; c < 3; c++) image->pixels[3 * i + c] = planes[c * CIFAR_PLANE + i];
  return DQ_OK;
}

static const void *cifar_bytes(const dq_data *data, int64_t index, size_t *size) {
  const record_file *file;
  *size = CIFAR_RECORD;
  return cifar_record(data, index, &file);
}

const dq_reader_functions dq_reader_cifar10 = {.open = open_cifar,
                                               .describe = describe_cifar,
                                               .pixels = cifar_pixels,
                                               .close = close_records,
                                               .bytes = cifar_bytes};

// An idx file of bytes: two zeros, 8 for unsigned bytes, the rank, big-endian dimensions, elements.
static dq_status check_idx(const record_file *file, int rank, int64_t dims[], dq_error *error) {
  const uint8_t *bytes = file->file.data;
  size_t header = 4 + 4 * (size_t)rank, elements = 1;
  if (file->file.size < header || bytes[0] || bytes[1] || bytes[2] != 8 || bytes[3] != rank) {
    dq_fail(error, DQ_BAD_INPUT, "%s: not an idx file of bytes with %d dimensions", file->path, rank);
    if (file->file.size > 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
      dq_error_hint(error, "it is compressed: gunzip it first");
    return DQ_BAD_INPUT;
  }
  for (int i = 0; i < rank; i++) {
    const uint8_t *at = bytes + 4 + 4 * i;
    dims[i] = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
    if (__builtin_mul_overflow(elements, (size_t)dims[i], &elements))
      return dq_fail(error, DQ_BAD_INPUT, "%s: the product of the dimensions overflows", file->path);
  }
  if (file->file.size - header != elements)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %zu bytes of elements, expected %zu", file->path, file->file.size - header,
                   elements);
  return DQ_OK;
}

enum { IDX_PICTURES_HEADER = 16, IDX_LABELS_HEADER = 8, LARGEST_SIDE = 65536 };

static dq_status check_mnist_labels(dq_data *data, const record_file *file, dq_error *error) {
  int64_t count;
  DQ_TRY(check_idx(file, 1, &count, error));
  if (count != data->found)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %" PRId64 " labels for %" PRId64 " pictures", file->path, count,
                   data->found);
  data->classes = MNIST_CLASSES;
  for (int64_t i = 0; i < count; i++) { // other sets of this form have more classes
    int label = file->file.data[IDX_LABELS_HEADER + i];
    if (label >= data->classes) data->classes = label + 1;
  }
  data->kind = DQ_LABEL_CLASS;
  return DQ_OK;
}

static dq_status open_mnist(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  record_reader *reader;
  int64_t dims[3];
  if (options->labels) DQ_TRY(dq_read_class_names(data, options->labels, error));
  DQ_TRY(open_files(data, argument, &reader, error));
  if (reader->file_count > 2)
    return dq_fail(error, DQ_USAGE, "mnist: %d files, expected IMAGES,LABELS", reader->file_count);
  DQ_TRY(check_idx(&reader->files[0], 3, dims, error));
  if (dims[0] && (dims[1] < 1 || dims[1] > LARGEST_SIDE || dims[2] < 1 || dims[2] > LARGEST_SIDE))
    return dq_fail(error, DQ_BAD_INPUT, "%s: pictures of %" PRId64 "x%" PRId64 " pixels", reader->files[0].path,
                   dims[2], dims[1]);
  data->found = dims[0];
  data->fixed_height = (int)dims[1];
  data->fixed_width = (int)dims[2];
  data->fixed_channels = 1;
  return reader->file_count == 2 ? check_mnist_labels(data, &reader->files[1], error) : DQ_OK;
}

static void describe_mnist(const dq_data *data, int64_t index, dq_sample_info *info) {
  const record_reader *reader = data->state;
  if (reader->file_count == 2) info->label = reader->files[1].file.data[IDX_LABELS_HEADER + index];
  describe_record(reader->files[0].path, index, info);
}

static const void *mnist_bytes(const dq_data *data, int64_t index, size_t *size) {
  const record_reader *reader = data->state;
  *size = (size_t)data->fixed_width * (size_t)data->fixed_height;
  return reader->files[0].file.data + IDX_PICTURES_HEADER + (size_t)index * *size;
}

static dq_status mnist_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error) {
  DQ_TRY(dq_image_init(image, data->fixed_width, data->fixed_height, 1, dq_data_budget(data), error));
  size_t bytes;
  const void *plane = mnist_bytes(data, index, &bytes);
  memcpy(image->pixels, plane, bytes);
  return DQ_OK;
}

const dq_reader_functions dq_reader_mnist = {.open = open_mnist,
                                             .describe = describe_mnist,
                                             .pixels = mnist_pixels,
                                             .close = close_records,
                                             .bytes = mnist_bytes};
