// The true objects of a picture, in whatever file they stand.
#ifndef DQ_DATASETS_OBJECTS_OBJECTS_H
#define DQ_DATASETS_OBJECTS_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

// Coordinates in pixels are those of the picture as stored, x to the right and y down; (0, 0) is the corner of the
// first pixel.

typedef struct dq_keypoint {
  double x, y;    // in pixels
  int visibility; // 0: not labelled, x and y mean nothing; 1: labelled and hidden; 2: labelled and visible
} dq_keypoint;

typedef struct dq_polygon {
  const double *points; // [2 * count]: x and y of each corner, in pixels
  int64_t count;        // corners, at least 3
} dq_polygon;

// A mask as lengths of runs of pixels, down the first column, then down the next: outside, inside, outside, ...
typedef struct dq_runs {
  int64_t width, height;   // of the picture
  const uint32_t *lengths; // [count], whose sum is width * height
  int64_t count;
} dq_runs;

typedef struct dq_object {
  int64_t class; // from 0
  // The box, in pixels. `right` and `bottom` may differ from left + width and top + height by a rounding, as files have
  // either corners or sizes.
  double left, top, right, bottom;
  double width, height;
  double area;    // in pixels: of the object's outline where the file has it, else of the box
  bool crowd;     // a group of objects in one box
  bool difficult; // left out of what is measured (Pascal VOC)
  bool keeps;     // a detection that overlaps it most is its own even when it has one already (Pascal VOC)
  // What only some files have; no elements, or NULL, where there are none.
  const dq_polygon *polygons; // together they are the outline
  int64_t polygon_count;
  const dq_runs *mask;
  const dq_keypoint *keypoints;
  int64_t keypoint_count;
  int64_t place; // in the file, for dq_objects_place
} dq_object;

typedef struct dq_objects {
  dq_object *items; // [count], in the order of the file
  int64_t count;
  dq_arena *arena;            // owns the objects and all that they point to
  const char *path;           // of the file, owned by the data; NULL: there is none
  const char *before, *after; // what stands around dq_object.place in messages: "line ", ""; static
} dq_objects;

// What the files of several pictures share, such as one file for all of them (annotations.h).
typedef struct dq_annotations dq_annotations;

// Where the objects of a picture stand.
typedef struct dq_object_file {
  const char *path;                  // NULL: the picture has no objects
  const dq_annotations *annotations; // what reads the file; NULL: a text file of YOLO's form
  int64_t picture;                   // its number in `annotations`
  int width, height;                 // of the picture as stored
} dq_object_file;

// Reads the objects of a picture. The memory counts against `budget` (NULL: none), and the caller frees it with
// dq_objects_free. DQ_BAD_INPUT, with the file and the place: the file is broken; DQ_SYSTEM: it cannot be read, or
// there is no memory.
dq_status dq_objects_read(dq_objects *objects, const dq_object_file *file, dq_budget *budget, dq_error *error);
void dq_objects_free(dq_objects *objects); // a zeroed struct is allowed

// Puts "FILE: line 3", the place of object `index`, in front of the message and returns `status`.
dq_status dq_objects_place(const dq_objects *objects, int64_t index, dq_status status, dq_error *error);

#endif
