// Preprocessing: the fields of a preset, and their application to a picture.
#ifndef DQ_DATASETS_PREPROCESS_H
#define DQ_DATASETS_PREPROCESS_H

#include "datasets/datasets.h"
#include "datasets/image/image.h"
#include "lib/base/arena.h"

typedef enum dq_picture_fit {
  DQ_FIT_CROP,             // the short side is resized to `resize`, then the centre is cut out
  DQ_FIT_STRETCH,          // the picture is resized to the size of the input
  DQ_FIT_LETTERBOX,        // the picture is resized with its aspect ratio, and padded on both sides
  DQ_FIT_LETTERBOX_CORNER, // the same, with the picture at the top left
  DQ_FIT_LINE,             // resized to the height of the input with its aspect ratio, at most as wide, at the left
} dq_picture_fit;

typedef enum dq_colour { DQ_COLOUR_RGB, DQ_COLOUR_BGR, DQ_COLOUR_GREY } dq_colour;

// An element is (x * scale - mean) / std for a byte x (0 to 255), with mean and std of its channel, in the order of the
// channels of the model. With `per_patient`, min(max((x - p10) / (p99 - p10), 0), 1) stands for x * scale, and mean and
// std come from the norm file.
typedef struct dq_preprocess {
  dq_picture_fit fit;
  dq_filter filter;
  // Short side in pixels for DQ_FIT_CROP, 0: that of the input. For DQ_FIT_LINE the height of an input that leaves its
  // sizes open.
  int resize;
  int crop;              // size in pixels that the input must have; 0: any
  int longest, multiple; // of an input that leaves its sizes open: dq_preprocess_open_size
  double pad[3];         // 0 to 255: the byte outside of the picture, in the order of the channels of the model
  dq_colour colour;
  double scale;
  double mean[3], std[3];
  bool per_patient;
} dq_preprocess;

// Constants of one patient.
typedef struct dq_norm_row {
  const char *patient;
  double low, high; // 10th and 99th percentile (p10, p99) of the bytes
  double mean[3], std[3];
} dq_norm_row;

typedef struct dq_norm {
  dq_norm_row *rows;
  int64_t count;
} dq_norm;

// Reads a preprocessing from two texts, either of which may be NULL. A text has the form "tf", "fit=crop,resize=256" or
// "tf,fit=stretch": the name of a preset, fields, or a name and fields that override it. `overrides` may begin with a
// name only when `preset` is NULL. Without any field pictures are stretched, and elements are RGB bytes from 0 to 255.
// *norm receives the value of a field norm=FILE, in the arena, or NULL. DQ_USAGE: an unknown name, field or value.
dq_status dq_preprocess_parse(dq_preprocess *preprocess, const char *preset, const char *overrides, const char **norm,
                              dq_arena *arena, dq_error *error);

// The texts `preset` and `overrides` as one text, in the arena, that dq_preprocess_parse accepts as `overrides`; a
// field norm=FILE is left out. "" when both are NULL. NULL: there is no memory.
const char *dq_preprocess_join(const char *preset, const char *overrides, dq_arena *arena);

// Reads a CSV file with the columns patient, p10, p99, mean_r, mean_g, mean_b, std_r, std_g and std_b in any order;
// other columns are ignored. Rows are in the arena. DQ_BAD_INPUT: a column is missing or a number is broken; DQ_SYSTEM:
// the file cannot be read.
dq_status dq_norm_read(dq_norm *norm, const char *path, dq_arena *arena, dq_error *error);

// Finds the row of the patient of a picture, which is the file name up to its last '_'. DQ_BAD_INPUT: the file has no
// such row.
dq_status dq_norm_find(const dq_norm *norm, const char *name, const dq_norm_row **row, dq_error *error);

// The input of a model without its batch: channels x height x width, or height x width x channels.
typedef struct dq_picture_shape {
  int channels, height, width; // 0 until known
  bool channels_last;
} dq_picture_shape;

// The sizes of the pictures of a data set, in pixels.
typedef struct dq_picture_sizes {
  double width, height; // of each picture, or the averages over pictures of different sizes; 0: not known
  bool same;            // all pictures have that size
} dq_picture_sizes;

// The size in pixels of an input that leaves height and width open: `crop`, if the preprocessing has one; for
// DQ_FIT_LINE `resize` x `longest`; else the size of the pictures, reduced so that its longer side is `longest` at
// most. Pictures of different sizes: a square of `longest`; for DQ_FIT_STRETCH `longest` for the longer side, with the
// aspect ratio of the averages. Sides are multiples of `multiple`, the nearest ones or, for letterboxes, the next
// larger ones. False: pictures have different sizes, or unknown ones, and `longest` is 0.
bool dq_preprocess_open_size(const dq_preprocess *preprocess, const dq_picture_sizes *pictures, int *height,
                             int *width);

// Writes the preprocessed picture to `values`, channels * height * width elements in the order of `shape`, which has 1
// or 3 channels. `view` receives the place of the picture in the input. `image` may be converted to grey or RGB. `norm`
// is used only with per_patient, else it may be NULL. DQ_SYSTEM: there is no memory.
dq_status dq_preprocess_apply(const dq_preprocess *preprocess, dq_image *image, const dq_norm_row *norm,
                              const dq_picture_shape *shape, float *values, dq_view *view, dq_error *error);

#endif
