// Files of true objects in the form of COCO: one JSON file with the arrays `images`, `categories` and `annotations`.
//
#ifndef DQ_DATASETS_OBJECTS_COCO_H
#define DQ_DATASETS_OBJECTS_COCO_H

#include <jansson.h>

#include "datasets/objects/annotations.h"
#include "lib/base/context.h"
#include "lib/base/file.h"

// ---- Pieces of a JSON text, without a parser (coco_scan.c) ----

typedef struct dq_json_span {
  const char *text;
  size_t size;
} dq_json_span;

// The text that is left; functions of this section move it behind what they found.
typedef dq_json_span dq_json_rest;

// Sets *member and *value to the next member of an object, the name without its quotes, and *more to false, with
// neither, at the object's end. `first` is true for the first call, before which *rest begins with the brace. The value
// may be broken inside. DQ_BAD_INPUT: this is no object, or it has no end.
dq_status dq_json_member(dq_json_rest *rest, bool first, dq_json_span *member, dq_json_span *value, bool *more,
                         dq_error *error);
// The same of an array and its elements.
dq_status dq_json_element(dq_json_rest *rest, bool first, dq_json_span *value, bool *more, dq_error *error);
// Whether nothing but space is left.
bool dq_json_ended(const dq_json_rest *rest);

// ---- Entries (coco_entry.c) ----

// An entry of an array with the member `id`, in ascending order of the ids.
typedef struct dq_coco_entry {
  int64_t id, index; // index: in the file
} dq_coco_entry;

// The JSON of an entry, an object, which the caller releases by json_decref. DQ_BAD_INPUT: it is broken, or larger than
// any entry is; DQ_SYSTEM: there is no memory.
dq_status dq_coco_parse(json_t **json, dq_json_span span, dq_budget *budget, dq_error *error);
// Sets *value to a member that is a whole number. DQ_BAD_INPUT: it is missing or none.
dq_status dq_coco_integer(const json_t *entry, const char *name, int64_t *value, dq_error *error);
// The number of the entry with an id; -1: there is none.
int64_t dq_coco_find(const dq_coco_entry *entries, int64_t count, int64_t id);

// ---- Masks (coco_runs.c) ----

// Reads a mask in the form of COCO, an object with `size` [height, width] and `counts`, an array of lengths or the text
// that COCO packs them into. `width` and `height` are those of the picture; 0: not known. DQ_BAD_INPUT: the mask has
// another size, or its runs have not as many pixels.
dq_status dq_coco_runs_read(dq_runs **mask, const json_t *json, int64_t width, int64_t height, dq_arena *arena,
                            dq_error *error);

// ---- A file (coco_file.c) ----

typedef struct dq_coco_picture {
  const char *name;      // `file_name`
  int64_t width, height; // 0: not known
  int64_t first;         // its annotations: numbers first to first + count - 1
  int64_t count;
} dq_coco_picture;

typedef struct dq_coco_annotation {
  size_t offset; // in the file
  uint32_t size;
  int32_t picture;
  int64_t index; // in the file
} dq_coco_annotation;

typedef struct dq_coco {
  dq_annotations base; // the first member
  dq_file file;
  const char *path;
  const dq_context *context;
  dq_arena *arena;
  dq_coco_entry *picture_ids, *category_ids; // sorted; the numbers of pictures and categories are their order
  dq_coco_picture *pictures;
  const char **category_names;
  int64_t *classes;                // of the categories; -1: none
  dq_coco_annotation *annotations; // by pictures, of each in the order of the file
  int64_t picture_count, category_count, annotation_count;
} dq_coco;

// Opens a file and checks everything in it that dq_objects_read reads later, so that a broken one is found before the
// work begins. Categories become classes by the names of the model's, or without names in ascending order of their ids.
// The caller closes *coco, also after a failure; the arena, on the budget of the context, owns the struct. The memory
// in it is in proportion to the number of entries, whatever stands in them. DQ_BAD_INPUT: the file is broken, two
// entries have one id, an id is not there, or an annotation is of a category without a class.
dq_status dq_coco_open(dq_coco **coco, const char *path, const dq_class_names *classes, const dq_context *context,
                       dq_arena *arena, dq_error *error);

// ---- An annotation (coco_annotation.c) ----

// Fills an object with what `json` has of a picture; the arena owns what it points to. DQ_BAD_INPUT: a member is
// missing or broken.
dq_status dq_coco_annotation_read(dq_object *object, const dq_coco *coco, const json_t *json,
                                  const dq_coco_picture *picture, dq_arena *arena, dq_error *error);

extern const dq_annotation_functions dq_annotation_coco;

#endif
