// Kinds of files with the true objects of pictures. Private to this module.
#ifndef DQ_DATASETS_ANNOTATIONS_H
#define DQ_DATASETS_ANNOTATIONS_H

#include "datasets/objects.h"

typedef struct dq_annotation_functions {
  // Fills items and count of `objects`, whose other members are set, in objects->arena. Statuses as dq_objects_read.
  dq_status (*read)(dq_objects *objects, const dq_sample_info *info, dq_error *error);
  const char *place; // dq_objects.place
} dq_annotation_functions;

// What the files of several pictures share, such as one file for all of them.
struct dq_annotations {
  const dq_annotation_functions *functions;
};

extern const dq_annotation_functions dq_annotation_yolo; // a text file for each picture, info->label_path

#endif
