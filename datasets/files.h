// Data sets whose pictures are files of their own: folders and lists.
#ifndef DQ_DATASETS_FILES_H
#define DQ_DATASETS_FILES_H

#include "datasets/reader.h"

typedef struct dq_file_sample {
  const char *name; // as the data set says it
  const char *path;
  int64_t label;          // -1: none
  const char *label_path; // NULL: none
} dq_file_sample;

typedef struct dq_file_samples {
  dq_file_sample *items; // grows on the heap; freed by dq_files_close
  int64_t count, capacity;
} dq_file_samples;

dq_status dq_files_add(dq_data *data, dq_file_sample sample, dq_error *error);
void dq_files_describe(const dq_data *data, int64_t index, dq_sample_info *info);
dq_status dq_files_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error);
void dq_files_close(dq_data *data);

// Whether a file is such a list: its first line names a picture, there or by its ending. Else it may hold names
// of classes.
dq_status dq_list_found(dq_data *data, const char *path, const char *folder, bool *found, dq_error *error);

// Reads a list of lines `path label`; relative paths begin at `folder`.
dq_status dq_list_read(dq_data *data, const char *path, const char *folder, dq_error *error);

// folder/name in the arena; NULL without memory. An absolute name stays as it is.
char *dq_join(dq_arena *arena, const char *folder, const char *name);
bool dq_is_folder(const char *path);
bool dq_is_file(const char *path);
bool dq_has_picture_suffix(const char *name);

#endif
