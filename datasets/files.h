// Data sets in which each picture is a file: folders and lists. Private to this module.
#ifndef DQ_DATASETS_FILES_H
#define DQ_DATASETS_FILES_H

#include "datasets/objects/objects.h"
#include "datasets/reader.h"

typedef struct dq_file_sample {
  const char *name; // in the data set
  const char *path;
  int64_t label;          // -1: none
  const char *label_path; // NULL: none
  int64_t annotated;      // number of the picture in dq_file_samples.annotations
} dq_file_sample;

typedef struct dq_file_samples {
  dq_file_sample *items; // grows on the heap; freed by dq_files_close
  int64_t count, capacity;
  dq_annotations *annotations; // closed by dq_files_close; NULL: there are none
} dq_file_samples;

// Sets *samples to those of the data, which are empty before the first dq_files_add. What a caller puts into
// `annotations` is closed with the data, also where opening them fails. DQ_SYSTEM: there is no memory.
dq_status dq_files_begin(dq_data *data, dq_file_samples **samples, dq_error *error);
// Appends a picture; its texts must live as long as the data. DQ_SYSTEM: there is no memory.
dq_status dq_files_add(dq_data *data, dq_file_sample sample, dq_error *error);
// The functions `describe`, `pixels` and `close` of dq_reader_functions for data whose pictures are files.
void dq_files_describe(const dq_data *data, int64_t index, dq_sample_info *info);
dq_status dq_files_pixels(const dq_data *data, int64_t index, dq_image *image, dq_error *error);
void dq_files_close(dq_data *data);

// Adds the pictures of a folder, with the masks or box files that `labels` (a folder; NULL: none) has for them. Of
// several folders all have labels of one kind. DQ_BAD_INPUT: no picture has a label, or there are both kinds; statuses
// as dq_files_boxes.
dq_status dq_folder_pictures(dq_data *data, const char *folder, const char *labels, dq_error *error);

// Adds the pictures of a file of COCO (coco.h), which lie in `folder`, in ascending order of their ids. Pictures that
// are not there are left out with a note, or with `strict` a failure. Where the data have names of classes, categories
// are classes by their names. Statuses as dq_coco_open; DQ_BAD_INPUT also: none of the pictures is there.
dq_status dq_coco_pictures(dq_data *data, const char *path, const char *folder, bool strict, dq_error *error);
bool dq_is_json(const char *path); // whether a name ends in ".json"

// Settles the form of the box files of the samples: text files, or XML files of Pascal VOC, which are all read once for
// the names of the classes, where the data have none. DQ_BAD_INPUT: files have both forms, or one is broken; statuses
// as dq_voc_add.
dq_status dq_files_boxes(dq_data *data, dq_error *error);
bool dq_is_xml(const char *path); // whether a name ends in ".xml"

// Sets *found to whether the file `path` is a list of pictures: its first line names a file, relative to `folder`, that
// exists or has the suffix of a picture. Other files may have names of classes. DQ_SYSTEM: the file cannot be read.
dq_status dq_list_found(dq_data *data, const char *path, const char *folder, bool *found, dq_error *error);

// Adds the pictures of a list of lines `path label`. Relative paths begin at `folder`. DQ_BAD_INPUT: a line is broken;
// DQ_SYSTEM: the file cannot be read.
dq_status dq_list_read(dq_data *data, const char *path, const char *folder, dq_error *error);

// "FOLDER/NAME", or NAME when it is an absolute path, in the arena; NULL: there is no memory.
char *dq_join(dq_arena *arena, const char *folder, const char *name);
bool dq_is_folder(const char *path);          // whether there is a folder at the path
bool dq_is_file(const char *path);            // whether there is a regular file at the path
bool dq_has_picture_suffix(const char *name); // whether a name ends as that of a picture, such as ".jpg"

#endif
