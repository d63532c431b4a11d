// What a kind of data is inside: the functions of a row of readers.def and the open data set.
#ifndef DQ_DATASETS_READER_H
#define DQ_DATASETS_READER_H

#include "datasets/datasets.h"
#include "datasets/image.h"
#include "datasets/preprocess.h"
#include "lib/base/context.h"

struct dq_data {
  dq_arena *arena;
  const dq_context *context;
  const struct dq_reader_functions *reader; // NULL for an external source
  const dq_data_source *source;
  void *state;    // of the reader or source
  int64_t found;  // pictures the reader has
  int64_t count;  // pictures offered
  int64_t *order; // offered index -> reader's index; NULL: the same
  int64_t skipped;
  dq_label_kind kind;
  int64_t classes;
  bool classes_exact;
  const char *const *class_names; // class_name_count of them
  int64_t class_name_count;
  bool spread_limit;                             // sample evenly instead of from the start
  int fixed_width, fixed_height, fixed_channels; // of all pictures; 0: they differ
  dq_preprocess preprocess;
  const char *preprocess_text;
  dq_norm norm;
  dq_picture_shape shape; // of the model's input
};

// Pixels of a picture, or for arrays the values themselves. Set by the reader's open.
typedef struct dq_reader_functions {
  // Fills state, found, kind, classes and the fixed size. `argument` is the spec past its prefix.
  dq_status (*open)(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error);
  // Name and labels of a picture.
  void (*describe)(const dq_data *data, int64_t index, dq_sample_info *info);
  // Its pixels, which the caller deinits.
  dq_status (*pixels)(const dq_data *data, int64_t index, dq_image *image, dq_error *error);
  // Values that need no preprocessing (NULL: never), and whether this data has them.
  dq_status (*values)(const dq_data *data, int64_t index, float *values, dq_error *error);
  // Checks the model's input against arrays (NULL: any will do).
  dq_status (*fits)(const dq_data *data, const dq_tensor *input, dq_error *error);
  bool (*ready)(const dq_data *data); // values() instead of pixels() and preprocessing
  void (*close)(dq_data *data);       // NULL: all is in the arena
} dq_reader_functions;

#define DQ_READER(symbol, prefix, verify) extern const dq_reader_functions dq_reader_##symbol;
#include "datasets/readers.def"
#undef DQ_READER

// Shared by the readers.
// What the data count against; NULL: nothing.
static inline dq_budget *dq_data_budget(const dq_data *data) { return data->context ? data->context->budget : NULL; }
// "x3x8x8" for an input 1x3x8x8: what stands behind its number of pictures.
const char *dq_picture_shape_text(const dq_tensor *input, char *text, size_t size);
void dq_sample_name(dq_sample_info *info, const char *name); // keeps the end of a long one
// A whole number in the text without anything else around it.
bool dq_parse_integer(const char *text, int64_t *value);
bool dq_parse_number(const char *text, double *value); // finite
// Splits "a,b,c" in the arena; returns the count or -1 without memory.
int dq_split(dq_arena *arena, const char *text, char separator, char ***parts);

// The classes' names from a file, one per line.
dq_status dq_read_class_names(dq_data *data, const char *path, dq_error *error);

#endif
