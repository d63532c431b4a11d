// Pictures, labels and preprocessing: a specification (COMMANDS: `--data SPEC`) becomes a sequence
// of float32 tensors as a model wants them, read one picture at a time.
#ifndef DQ_DATASETS_DATASETS_H
#define DQ_DATASETS_DATASETS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/context.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_data dq_data;

typedef enum dq_label_kind {
  DQ_LABEL_NONE,
  DQ_LABEL_CLASS, // a number from 0
  DQ_LABEL_MASK,  // a picture of classes
  DQ_LABEL_BOXES, // a text file, lines `class cx cy w h`, relative to the picture
} dq_label_kind;

// Where the picture lies inside the model's input. With (x, y) relative to the model's input
// (0...1), the point of the original picture, relative to it, is
// ((x - offset_x) * scale_x, (y - offset_y) * scale_y).
typedef struct dq_view {
  double scale_x, scale_y;
  double offset_x, offset_y;
} dq_view;

typedef struct dq_sample_info {
  char name[256];   // as the data set says it (a path's end when it is longer)
  const char *path; // the picture's file, owned by the data; NULL when it has none of its own
  dq_label_kind kind;
  int64_t label;          // DQ_LABEL_CLASS: >= 0; else -1
  const char *label_path; // mask or boxes, owned by the data; NULL when this picture has none
  int width, height;      // of the picture as stored, before preprocessing; 0 for arrays
  dq_view view;
} dq_sample_info;

// A source of ready tensors that this room does not know (such as `pb:`, whose files need
// protobuf). `read` fills `elements` floats, or with `values` NULL only what `info` can say without
// them; it may be called from several threads at once.
typedef struct dq_data_source {
  const char *prefix; // "pb:"
  dq_status (*open)(void **state, const char *argument, int64_t *count, const dq_context *context, dq_error *error);
  dq_status (*read)(const void *state, int64_t index, float *values, int64_t elements, dq_sample_info *info,
                    dq_error *error);
  void (*close)(void *state);
} dq_data_source;

typedef struct dq_data_options {
  const char *spec;              // DIR, LIST.txt, cifar10:..., mnist:..., npy:..., synth:..., pb:...
  const char *labels;            // for a folder: a file of lines `path label`, or a folder of masks or of
                                 // box files with the pictures' names; for npy: an array of labels;
                                 // else a file with the classes' names, one per line; may be NULL
  const char *preset;            // a row of presets.def; NULL: none
  const char *preprocess;        // "resize=256,crop=224,..." over the preset; NULL: none
  const char *norm;              // constants per patient; NULL: norm.csv beside the pictures when needed
  int64_t limit;                 // at most so many pictures; 0: all
  bool strict;                   // a picture that cannot be read is a failure, not skipped
  uint64_t seed;                 // of synth:
  const dq_data_source *sources; // more kinds of spec; may be NULL
  int source_count;
} dq_data_options;

// Opens the data and finds all pictures. With `limit`, class folders are sampled evenly, all else
// from the start. Every picture file is decoded once here; those that cannot be are named in
// warnings and left out of the count (with `strict`: DQ_BAD_INPUT). Options and context need to
// outlive only the call and the data, respectively. DQ_USAGE: unknown preset or field;
// DQ_BAD_INPUT: no pictures, broken lists, labels or arrays; DQ_UNSUPPORTED: a spec of a kind that
// nobody here reads; DQ_SYSTEM: missing files.
dq_status dq_data_open(dq_data **data, const dq_data_options *options, const dq_context *context, dq_error *error);
void dq_data_free(dq_data *data); // NULL is fine

int64_t dq_data_count(const dq_data *data);   // pictures that can be read
int64_t dq_data_skipped(const dq_data *data); // pictures left out because they are broken
dq_label_kind dq_data_labelled(const dq_data *data);
// Classes that the labels need: folders, or the largest label + 1; 0 without class labels.
int64_t dq_data_classes(const dq_data *data);
// Whether a model for this data has just so many classes (folders, CIFAR) or may have more (lists).
bool dq_data_classes_exact(const dq_data *data);
// Name of a class (its folder's, or the generator's), or NULL.
const char *dq_data_class_name(const dq_data *data, int64_t label);
// The size pictures want to have where a model leaves it open: all pictures' size when equal, or
// the preset's crop; false when neither is there.
bool dq_data_natural_shape(const dq_data *data, int *channels, int *height, int *width);
// The preset with its overrides in one line, as `preprocess` would be written ("" for none). It can
// be stored with a model and given back as options->preprocess.
const char *dq_data_preprocess_text(const dq_data *data);

// The model's input with its batch, needed before reading: for pictures N x C x H x W or
// N x H x W x C with 1 or 3 channels, for arrays their own shape. Dimensions left out are 1, those
// past the fourth are taken together with it. Says once when pictures are resized. DQ_BAD_INPUT:
// channels that pictures do not have, arrays of another shape; DQ_USAGE: a crop of another size.
dq_status dq_data_set_shape(dq_data *data, const dq_tensor *input, dq_error *error);

// Picture `index` (0 <= index < count) into `values`: one picture of the model's input, in its order
// of dimensions; arrays as they are.
// Deterministic, in any order, from any thread. `values` may be NULL (only the facts of the file
// list: name and labels, not the size), `info` may be NULL.
dq_status dq_data_read(const dq_data *data, int64_t index, float *values, dq_sample_info *info, dq_error *error);

// Pictures first ... first + count - 1, one after the other in `values`, read by all threads of the
// context's pool. `infos` holds `count` entries or is NULL.
dq_status dq_data_read_batch(const dq_data *data, int64_t first, int64_t count, float *values, dq_sample_info *infos,
                             dq_error *error);

// Names of presets, for help texts: NULL past the end.
const char *dq_preset_name(int index);

#endif
