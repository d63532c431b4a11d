// What data are, as hashes: equal data on two machines have equal ones, wherever their files lie.
#include <string.h>
#include <xxhash.h>

#include "datasets/objects/annotations.h"
#include "datasets/reader.h"
#include "lib/base/file.h"

// ---- Everything but the pictures ----

static uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed) { return XXH64(bytes, size, seed); }
static uint64_t hash_number(int64_t number, uint64_t seed) { return hash_bytes(&number, sizeof number, seed); }
static uint64_t hash_text(const char *text, uint64_t seed) {
  return text ? hash_bytes(text, strlen(text) + 1, seed) : hash_number(0, seed);
}

static uint64_t hash_norm(const dq_norm *norm, uint64_t hash) {
  for (int64_t i = 0; i < norm->count; i++) {
    const dq_norm_row *row = &norm->rows[i];
    hash = hash_bytes(&row->low, sizeof row->low, hash_text(row->patient, hash));
    hash = hash_bytes(&row->high, sizeof row->high, hash);
    hash = hash_bytes(row->std, sizeof row->std, hash_bytes(row->mean, sizeof row->mean, hash));
  }
  return hash;
}

uint64_t dq_data_facts(const dq_data *data) {
  uint64_t hash = hash_number(data->kind, hash_number(data->classes, 0));
  for (int64_t i = 0; i < data->class_name_count; i++) hash = hash_text(data->class_names[i], hash);
  hash = hash_text(data->name, hash_text(data->preprocess_text, hash));
  hash = hash_norm(&data->norm, hash_text(data->generated, hash));
  for (int i = 0; i < data->part_count; i++) hash = hash_number((int64_t)dq_data_facts(data->parts[i]), hash);
  return hash;
}

const char *dq_data_generated(const dq_data *data) { return data->part_count ? NULL : data->generated; }

// ---- A picture ----

// A file that cannot be read is one kind of contents.
static uint64_t hash_file(const char *path) {
  dq_file file;
  if (dq_file_open_regular(&file, path, NULL) != DQ_OK) return 1;
  const uint64_t hash = hash_bytes(file.data, file.size, 0);
  dq_file_close(&file);
  return hash;
}

// What a picture's label is besides a number.
static uint64_t hash_label(const dq_sample_info *info) {
  if (info->annotations && info->annotations->functions->hash)
    return info->annotations->functions->hash(
        &(dq_object_file){.annotations = info->annotations, .picture = info->annotated}, hash_bytes);
  return info->label_path ? hash_file(info->label_path) : 0;
}

// The name in a list may be a whole path, which is another one on another machine.
static uint64_t hash_name(const char *name) {
  const char *last = strrchr(name, '/');
  return hash_text(*name == '/' ? last + 1 : name, 0);
}

static uint64_t hash_stored(const dq_data *data, int64_t inner) {
  size_t size = 0;
  const void *bytes = NULL;
  if (data->source && data->source->bytes) bytes = data->source->bytes(data->state, data->input, inner, &size);
  if (data->reader && data->reader->bytes) bytes = data->reader->bytes(data, inner, &size);
  return bytes ? hash_bytes(bytes, size, 0) : 0;
}

void dq_data_digest(const dq_data *data, int64_t index, dq_picture_digest *digest) {
  dq_sample_info info;
  *digest = (dq_picture_digest){0};
  if (dq_data_read(data, index, NULL, &info, NULL) != DQ_OK) return;
  digest->label = hash_number(info.label, hash_label(&info));
  if (info.path) digest->name = hash_name(info.name);
  if (info.path && !data->part_count) digest->bytes = hash_file(info.path);
  else if (!data->part_count) digest->bytes = hash_stored(data, data->order ? data->order[index] : index);
  for (int i = 0; i < data->part_count; i++) {
    dq_picture_digest part;
    dq_data_digest(data->parts[i], index, &part);
    digest->bytes = hash_number((int64_t)part.bytes, digest->bytes);
  }
}
