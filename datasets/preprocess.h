// From a picture of bytes to a model's input tensor: the fields of a preset and what they do.
#ifndef DQ_DATASETS_PREPROCESS_H
#define DQ_DATASETS_PREPROCESS_H

#include "datasets/datasets.h"
#include "datasets/image.h"
#include "lib/base/arena.h"

typedef enum dq_picture_fit {
  DQ_FIT_CROP,             // short side to `resize`, then the centre
  DQ_FIT_STRETCH,          // the whole picture to the model's size
  DQ_FIT_LETTERBOX,        // whole picture, aspect kept, centred
  DQ_FIT_LETTERBOX_CORNER, // whole picture, aspect kept, top left
  DQ_FIT_LINE,             // as high as the model, aspect kept but no wider than the model, at the left
} dq_picture_fit;

typedef enum dq_colour { DQ_COLOUR_RGB, DQ_COLOUR_BGR, DQ_COLOUR_GREY } dq_colour;

// value = (x * scale - mean) / std with x in 0...255 and a constant per channel in the order of the
// model's channels; with `per_patient`, x * scale is clip((x - p10) / (p99 - p10), 0, 1) and mean
// and std come from the norm file.
typedef struct dq_preprocess {
  dq_picture_fit fit;
  dq_filter filter;
  int resize; // short side for DQ_FIT_CROP; 0: the model's
  int crop;   // expected size of the model's input; 0: whatever it is
  double pad; // 0...255, where a letterbox or a line has no picture
  dq_colour colour;
  double scale;
  double mean[3], std[3];
  bool per_patient;
} dq_preprocess;

// Constants of one patient.
typedef struct dq_norm_row {
  const char *patient;
  double low, high; // 10th and 99th percentile
  double mean[3], std[3];
} dq_norm_row;

typedef struct dq_norm {
  dq_norm_row *rows;
  int64_t count;
} dq_norm;

// Stretch, RGB, 0..255, then what the texts say: fields "resize=256,mean=1/2:1/2:1/2" in order, the name of a preset
// in front of them or alone ("tf,fit=stretch"). The name may stand in one of the two. Either may be NULL. `norm`
// receives the path of a norm=FILE field, if there is one, in the arena.
dq_status dq_preprocess_parse(dq_preprocess *preprocess, const char *preset, const char *overrides, const char **norm,
                              dq_arena *arena, dq_error *error);

// Both texts as one that dq_preprocess_parse reads as overrides, as they were written, without the path of norm=FILE;
// "" without any. NULL when there is no memory.
const char *dq_preprocess_join(const char *preset, const char *overrides, dq_arena *arena);

// CSV with a header row: patient, p10, p99, mean_r ... std_b in any order, other columns ignored.
dq_status dq_norm_read(dq_norm *norm, const char *path, dq_arena *arena, dq_error *error);

// The patient of a picture: its file name up to the last '_'. DQ_BAD_INPUT when there is no row.
dq_status dq_norm_find(const dq_norm *norm, const char *name, const dq_norm_row **row, dq_error *error);

// A model's input without its batch: channels x height x width, or height x width x channels.
typedef struct dq_picture_shape {
  int channels, height, width; // 0 until known
  bool channels_last;
} dq_picture_shape;

// Applies all of it to values of that shape, channels 1 or 3. `image` may be converted to grey or
// RGB in place. `norm` is needed only with per_patient.
dq_status dq_preprocess_apply(const dq_preprocess *preprocess, dq_image *image, const dq_norm_row *norm,
                              const dq_picture_shape *shape, float *values, dq_view *view, dq_error *error);

#endif
