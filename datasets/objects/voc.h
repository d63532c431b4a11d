// True objects in the form of Pascal VOC: an XML file for each picture, `annotation` with an `object` for each object.
#ifndef DQ_DATASETS_OBJECTS_VOC_H
#define DQ_DATASETS_OBJECTS_VOC_H

#include "datasets/objects/annotations.h"

// What the files share: the names of the classes.
typedef struct dq_voc {
  dq_annotations base; // the first member
  const char **names;  // [count]
  int64_t count, capacity;
  bool given; // the names are those of the model, in its order; else names are added as files have them
  dq_arena *arena;
} dq_voc;

// Makes one with the names of the model's classes, which may be none. The arena owns it. DQ_SYSTEM: there is no memory.
dq_status dq_voc_new(dq_voc **voc, const dq_class_names *classes, dq_arena *arena, dq_error *error);
// Checks a file, and adds the names that are new, unless the names are given. Statuses as dq_objects_read; DQ_BAD_INPUT
// also: a name is not among those that are given.
dq_status dq_voc_add(dq_voc *voc, const char *path, dq_error *error);
// Sorts the names that were added, so that they are classes in the order of their bytes; before files are read.
void dq_voc_sort(dq_voc *voc);

// ---- A file (voc_parse.c) ----

// Takes an object whose box is set, and the name of its class.
typedef struct dq_voc_receiver {
  dq_status (*take)(void *user, dq_object *object, const char *name, dq_error *error);
  void *user;
} dq_voc_receiver;

// Hands each object of a file to the receiver, in the order of the file. The memory is in proportion to the file, which
// has at most 16 MiB and counts against `budget`. DQ_BAD_INPUT, with the path and the line or the object: the file is
// no XML or has other elements, an object lacks a member, or a box ends before it begins; the file declares entities or
// anything else; DQ_SYSTEM: the file cannot be read, or there is no memory.
dq_status dq_voc_parse(const char *path, const dq_voc_receiver *receiver, dq_budget *budget, dq_error *error);

#endif
