// The functions of a row of readers.def, and the members of an open data set. Private to this module.
#ifndef DQ_DATASETS_READER_H
#define DQ_DATASETS_READER_H

#include "datasets/datasets.h"
#include "datasets/image/image.h"
#include "datasets/preprocess.h"
#include "lib/base/context.h"

struct dq_data {
  dq_arena *arena;
  const dq_context *context;
  const struct dq_reader_functions *reader; // NULL for an external source
  const dq_data_source *source;
  void *state;      // of the reader or source
  int input;        // of the source
  bool borrowed;    // the state is that of the data that this is a part of
  bool beside;      // a part after the first: messages that hold for all parts come from the first
  const char *name; // of the input that this part is for; NULL: none was given
  dq_data **parts;  // NULL: the data are their own only part
  int part_count, main_part;
  int64_t found;   // pictures the reader has
  int64_t count;   // pictures offered
  int64_t *order;  // offered index -> reader's index, or that of the data of a view; NULL: the same
  dq_data *viewed; // of a view: the data that it shows in another order; NULL: this is none
  int64_t skipped;
  dq_label_kind kind;
  int64_t classes;
  bool classes_exact;
  const char *const *class_names; // class_name_count of them
  int64_t class_name_count;
  bool spread_limit;                             // a limit selects pictures evenly, not the first ones
  int fixed_width, fixed_height, fixed_channels; // common to all pictures; 0: they differ
  double mean_width, mean_height;                // averages in pixels over pictures of different sizes; 0: not known
  dq_preprocess preprocess;
  const char *preprocess_text;
  const char *generated; // specification of pictures that no file holds; else NULL
  dq_norm norm;
  dq_picture_shape shape; // of the model's input
};

typedef struct dq_reader_functions {
  // Fills state, found, kind, classes and the fixed size of `data`. `argument` is the specification behind its prefix.
  dq_status (*open)(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error);
  // Name and labels of a picture.
  void (*describe)(const dq_data *data, int64_t index, dq_sample_info *info);
  // The pixels of a picture; the caller calls dq_image_deinit.
  dq_status (*pixels)(const dq_data *data, int64_t index, dq_image *image, dq_error *error);
  // Elements that need no preprocessing, as those of arrays. NULL: the reader never has them.
  dq_status (*values)(const dq_data *data, int64_t index, float *values, dq_error *error);
  // Sets rank and dimensions of one sample (dq_data_sample_shape); false: samples have the size of the model. NULL: as
  // false.
  bool (*shape)(const dq_data *data, dq_tensor *shape);
  // Checks whether the arrays fit the input of the model. NULL: every input fits.
  dq_status (*fits)(const dq_data *data, const dq_tensor *input, dq_error *error);
  bool (*ready)(const dq_data *data); // whether values() is called for this data, not pixels()
  void (*close)(dq_data *data);       // NULL: the arena owns everything
  // The bytes of a picture that has no file of its own, as they are stored; NULL: every picture is a file, or made.
  const void *(*bytes)(const dq_data *data, int64_t index, size_t *size);
} dq_reader_functions;

#define DQ_READER(symbol, prefix, verify) extern const dq_reader_functions dq_reader_##symbol;
#include "datasets/readers.def"
#undef DQ_READER

// ---- Opening (samples.c, for open_data.c) ----

// An empty data set of the context, which dq_data_free frees. DQ_SYSTEM: there is no memory.
dq_status dq_data_new(dq_data **data, const dq_context *context, dq_error *error);
// The two steps of opening, between which the caller compares the parts of data for several inputs. dq_data_find: the
// reader finds its samples. dq_data_choose: chooses the samples that the data offer, with `spread` evenly over those
// that were found, else from the first on, and checks them. Statuses as dq_data_open.
dq_status dq_data_find(dq_data *data, const dq_data_options *options, dq_error *error);
dq_status dq_data_choose(dq_data *data, const dq_data_options *options, bool spread, dq_error *error);
// Takes the first of options->arrays as samples, as npy: takes a file. DQ_BAD_INPUT: the array is a scalar, or labels
// do not fit; DQ_SYSTEM: there is no memory.
dq_status dq_data_open_array(dq_data *data, const dq_data_options *options, dq_error *error);
// Whether a specification begins with the prefix of a reader or of a source of the options, such as "npy:".
bool dq_has_kind(const char *text, const dq_data_options *options);

// ---- Shared by the readers ----

// The budget that memory of the data counts against; NULL: none.
static inline dq_budget *dq_data_budget(const dq_data *data) { return dq_budget_of(data->context); }
// The shape of an input behind its first dimension, with a leading x, to be printed behind a count of pictures:
// "x3x8x8" for 1x3x8x8. Writes into text[size], where DQ_SHAPE_TEXT bytes are always enough and less cuts the text off,
// and returns a place in it. The rank is at least 1; for rank 1 the result is "".
const char *dq_picture_shape_text(const dq_tensor *input, char *text, size_t size);
// Copies `name` to info->name; of a name of more than 255 bytes the last 255, which may begin inside of a character.
void dq_sample_name(dq_sample_info *info, const char *name);
// Set *value to the number that is the whole text: dq_parse_integer to an integer of 64 bits, dq_parse_number to a
// finite number. False: the text has another form.
bool dq_parse_integer(const char *text, int64_t *value);
bool dq_parse_number(const char *text, double *value);
// Splits a text such as "a,b,c" into *parts, in the arena. Returns their number; -1: there is no memory.
int dq_split(dq_arena *arena, const char *text, char separator, char ***parts);

// Reads the names of the classes from a file with one name on each line; data->class_name_count may be 0 then.
// DQ_SYSTEM: the file cannot be read.
dq_status dq_read_class_names(dq_data *data, const char *path, dq_error *error);

#endif
