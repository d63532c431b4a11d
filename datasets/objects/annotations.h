// Kinds of files with the true objects of pictures. Other modules hash and close them only.
#ifndef DQ_DATASETS_OBJECTS_ANNOTATIONS_H
#define DQ_DATASETS_OBJECTS_ANNOTATIONS_H

#include "datasets/objects/objects.h"

typedef struct dq_annotation_functions {
  // Fills items and count of `objects`, whose other members are set, in objects->arena. Statuses as dq_objects_read.
  dq_status (*read)(dq_objects *objects, const dq_object_file *file, dq_error *error);
  // A hash of what the file has of the picture, made by `add` of one piece after another from 0 on. NULL: the file has
  // this picture alone.
  uint64_t (*hash)(const dq_object_file *file, uint64_t (*add)(const void *bytes, size_t size, uint64_t hash));
  void (*close)(dq_annotations *annotations); // releases what the arena of the data does not own; NULL: nothing
  const char *before, *after;                 // what stands around dq_object.place in messages: "line ", ""
} dq_annotation_functions;

// What the files of several pictures share, such as one file for all of them.
struct dq_annotations {
  const struct dq_annotation_functions *functions;
};

// Names of the classes of a model, in their order.
typedef struct dq_class_names {
  const char *const *names; // [count]
  int64_t count;            // 0: the classes have no names
} dq_class_names;
// The class of a name; -1: there is none.
int64_t dq_find_class(const dq_class_names *classes, const char *name);

extern const dq_annotation_functions dq_annotation_yolo; // a text file for each picture, dq_object_file.path
extern const dq_annotation_functions dq_annotation_voc;  // an XML file for each picture (voc.h)

#endif
