// Pictures, labels and preprocessing. A specification, as in the option `--data SPEC`, becomes a sequence of float32
// tensors in the shape of the input of a model. Pictures are read one at a time.
#ifndef DQ_DATASETS_DATASETS_H
#define DQ_DATASETS_DATASETS_H

#include <stdbool.h>
#include <stdint.h>

#include "datasets/objects/objects.h"
#include "lib/base/context.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_data dq_data;

typedef enum dq_label_kind {
  DQ_LABEL_NONE,
  DQ_LABEL_CLASS, // the number of a class, from 0
  DQ_LABEL_MASK,  // a picture whose pixels are numbers of classes
  DQ_LABEL_BOXES, // objects with boxes, which dq_sample_objects gives
} dq_label_kind;

// The place of the picture inside of the input of the model. The point (x, y) of the input, in coordinates from 0 to 1,
// shows the point ((x - offset_x) * scale_x, (y - offset_y) * scale_y) of the original picture, also from 0 to 1.
typedef struct dq_view {
  double scale_x, scale_y;
  double offset_x, offset_y;
} dq_view;

typedef struct dq_sample_info {
  char name[256];   // name in the data set; of a longer name the end
  const char *path; // file of the picture, owned by the data; NULL: it has no file of its own
  dq_label_kind kind;
  int64_t label;                     // DQ_LABEL_CLASS: >= 0; else -1
  const char *label_path;            // file of the mask or the boxes, owned by the data; NULL: this picture has none
  const dq_annotations *annotations; // what reads the boxes, owned by the data; NULL: a text file of YOLO's form
  int64_t annotated;                 // number of the picture in `annotations`
  int width, height;                 // of the picture as stored, before preprocessing; 0 for arrays
  dq_view view;
} dq_sample_info;

// A kind of data that another module reads, such as `pb:`, whose files need protobuf. It gives tensors that need no
// preprocessing.
typedef struct dq_data_source {
  const char *prefix; // of a specification, such as "pb:"
  // Opens the data that `argument`, the specification behind the prefix, names. *count receives the number of pictures,
  // *inputs that of the inputs of a network that there are tensors for.
  dq_status (*open)(void **state, const char *argument, int64_t *count, int *inputs, const dq_context *context,
                    dq_error *error);
  // Reads picture `index` of an input into `elements` floats. With `values` NULL only `info` is filled, as far as that
  // is possible without reading the elements. May be called from several threads at the same time.
  dq_status (*read)(const void *state, int input, int64_t index, float *values, int64_t elements, dq_sample_info *info,
                    dq_error *error);
  void (*close)(void *state);
  // Sets rank and dimensions of one sample of an input; false: samples have any size. NULL: as false.
  bool (*shape)(const void *state, int input, dq_tensor *shape);
  // The elements of a picture as they are stored, of *size bytes, which the state owns; for dq_data_digest.
  const void *(*bytes)(const void *state, int input, int64_t index, size_t *size);
} dq_data_source;

// Samples in the caller's memory, which stays as it is until the data are freed.
typedef struct dq_data_array {
  const char *name; // of the input of the network; NULL: data for one input alone
  dq_tensor values; // samples along the first dimension; pictures or not as those of npy:
} dq_data_array;

typedef struct dq_data_options {
  const dq_data_array *arrays; // [array_count] in place of what `spec` names; NULL: none
  int array_count;
  const dq_tensor *array_labels; // of `arrays`: integers from 0, one for each sample; NULL: none
  const char *spec;       // DIR, LIST.txt, coco:..., yolo:..., cifar10:..., mnist:..., npy:..., synth:..., pb:...; or
                          // NAME=SPEC or NAME=SPEC;NAME=SPEC, with the names of inputs of the network
  const char *labels;     // for a folder: a file of lines `path label`, a file of COCO, or a folder of masks or of
                          // box files (.txt, .xml) with the pictures' names; for npy: an array of labels;
                          // else a file with the classes' names, one per line; may be NULL
  const char *preset;     // a row of presets.def; NULL: none
  const char *preprocess; // fields such as "resize=256,crop=224,...", which override the preset; NULL: none
  const char *norm;       // file of constants for each patient; NULL: norm.csv beside the pictures, if needed
  int64_t limit;          // the largest number of pictures; 0: all
  bool random;            // the limit selects pictures at random by `seed`, in their order
  bool fewer;             // no warning reports that there are fewer pictures than `limit`
  bool strict;            // a picture that cannot be read is a failure; else it is left out
  bool unverified;        // no picture is decoded on opening, so that broken ones are offered as well
  uint64_t seed;          // for specifications `synth:`
  const dq_data_source *sources; // more kinds of data; may be NULL
  int source_count;
} dq_data_options;

// Opens the data and finds its pictures. Every file of a picture is decoded once here, which takes time in proportion
// to the data; files that cannot be decoded are reported in warnings and left out. Of class folders `limit` selects
// pictures evenly spread over the classes, of other data the first ones. The options may be freed after the call; the
// context (NULL is allowed) must outlive the data, which the caller frees.
//
// DQ_USAGE: an unknown preset or field; DQ_BAD_INPUT: there are no pictures, a list, label or array is broken, or, with
// `strict`, a picture; DQ_UNSUPPORTED: neither this module nor a source reads this kind of specification; DQ_SYSTEM: a
// file is missing, or there is no memory.
//
// Data for several inputs have a part for each, with as many samples as the others (else DQ_BAD_INPUT), in the same
// order; a sample that cannot be read is then a failure. `labels` belong to the first part; names and labels of
// samples are those of the first part that has labels, or of the first.
dq_status dq_data_open(dq_data **data, const dq_data_options *options, const dq_context *context, dq_error *error);
void dq_data_free(dq_data *data); // NULL is allowed

int64_t dq_data_count(const dq_data *data);          // number of pictures that can be read
int64_t dq_data_skipped(const dq_data *data);        // number of pictures that were left out because they are broken
dq_label_kind dq_data_labelled(const dq_data *data); // the kind of the labels
// The number of classes of the labels: that of the folders, or the largest label + 1; 0 without class labels.
int64_t dq_data_classes(const dq_data *data);
// Whether a model for this data must have exactly that number of classes (folders, CIFAR), or may have more (lists).
bool dq_data_classes_exact(const dq_data *data);
// The name of a class; NULL: it has none. The data owns the text.
const char *dq_data_class_name(const dq_data *data, int64_t label);
// The size of the input for a model that leaves it open, as the preprocessing has it (dq_preprocess_open_size of
// datasets/preprocess.h). False: the pictures have different sizes, and the preprocessing tells none.
bool dq_data_natural_shape(const dq_data *data, int *channels, int *height, int *width);
// Sets rank and dimensions of *shape to those of one sample, without the dimension that counts samples, of arrays that
// the model gets as they are; when samples differ, those of the first. False: the data are pictures, which are brought
// to the size of the model, or samples of any size.
bool dq_data_sample_shape(const dq_data *data, dq_tensor *shape);
// Whether samples are pictures, not arrays; of data with several parts those of the part with the labels.
bool dq_data_is_pictures(const dq_data *data);
// The number of parts of data for several inputs, and part `part`; data for one input have one part, the data
// themselves.
int dq_data_part_count(const dq_data *data);
dq_data *dq_data_part(dq_data *data, int part);
// The input that a part is for; NULL: parts are for the inputs in their order.
const char *dq_data_part_name(const dq_data *data, int part);
int dq_data_main_part(const dq_data *data); // index of the part whose names and labels are those of the samples
// The name of the preset and the fields that override it, as they were given, with a comma between both
// ("imagenet,crop=192"); a field norm=FILE is left out; "" for none. A model can store the text, and
// dq_data_options.preprocess accepts it. It is the same for all parts. The data owns it.
const char *dq_data_preprocess_text(const dq_data *data);

// Sets the input of the model, with its batch, that pictures are read for; called before the first read. `input` is
// N x C x H x W or N x H x W x C (dq_channels_last) with 1 or 3 channels for pictures, and has the shape of the arrays
// for arrays. Missing dimensions count as 1, dimensions behind the fourth are multiplied into it. A message reports
// once that pictures are resized. DQ_BAD_INPUT: pictures do not have that number of channels, or arrays have another
// shape; DQ_USAGE: the preprocessing has a crop of another size.
dq_status dq_data_set_shape(dq_data *data, const dq_tensor *input, dq_error *error);

// Opens a view of the data in which picture i is picture order[i] of the data, for 0 <= i < count; of data with several
// parts every part has that order. The numbers must be below dq_data_count of the data, which must outlive the view and
// cannot serve a runner with other shapes meanwhile. The caller frees the view with dq_data_free. DQ_SYSTEM: there is
// no memory.
dq_status dq_data_view(dq_data **view, dq_data *data, const int64_t *order, int64_t count, dq_error *error);

// Reads picture `index` (0 <= index < count), preprocessed, into `values`: the elements of one picture in the order of
// the dimensions of the input. Elements of arrays are not changed. Data with several parts are read part by part. The
// result does not depend on the order of calls; any thread may call. `values` may be NULL: then `info` receives name
// and labels without the size. `info` may be NULL. DQ_BAD_INPUT: the file is broken; DQ_SYSTEM: it cannot be read, or
// there is no memory.
dq_status dq_data_read(const dq_data *data, int64_t index, float *values, dq_sample_info *info, dq_error *error);

// Decodes picture `index` as it is stored, without preprocessing, into *image (datasets/image/image.h), whose pixels
// the caller frees; of data with several parts that of the part with the labels. DQ_UNSUPPORTED: the data are arrays;
// else statuses as for dq_data_read.
struct dq_image;
dq_status dq_data_picture(const dq_data *data, int64_t index, struct dq_image *image, dq_error *error);

// Reads the true objects of a picture of DQ_LABEL_BOXES, whose `info` dq_data_read has filled with the size; the data
// must be open. Ownership and statuses as dq_objects_read.
dq_status dq_sample_objects(dq_objects *objects, const dq_sample_info *info, dq_budget *budget, dq_error *error);

// DQ_CANCELLED: the context of the data was stopped, or its deadline has passed; for loops that read many pictures.
dq_status dq_data_check_stop(const dq_data *data, dq_error *error);

// Reads the pictures first to first + count - 1, one behind the other, into `values`, on all threads of the pool of the
// context. `infos` has `count` elements or is NULL. Statuses as for dq_data_read.
dq_status dq_data_read_batch(const dq_data *data, int64_t first, int64_t count, float *values, dq_sample_info *infos,
                             dq_error *error);

// ---- Comparison of data on several machines ----

// Hashes (XXH64) of a picture, wherever its files lie: of its name where it has a file of its own, of its label with
// the bytes of the file of a mask or of boxes, and of the bytes that are stored (with several parts those of all
// parts). Of a file that cannot be read the hash is 1.
typedef struct dq_picture_digest {
  uint64_t name, label, bytes;
} dq_picture_digest;
void dq_data_digest(const dq_data *data, int64_t index, dq_picture_digest *digest);
// A hash of everything but pictures: the kind of labels, the classes with their names, the names of inputs, the
// preprocessing with the constants of patients, and the parameters of generated pictures.
uint64_t dq_data_facts(const dq_data *data);
// The specification of generated pictures with all parameters but the seed, as "synth:shapes,count=8,...". NULL: the
// pictures are read from files, or there are several parts. The data own the text.
const char *dq_data_generated(const dq_data *data);

// The largest |x| of an element that the preprocessing, as in dq_data_options, makes of a picture; 0: it depends on
// constants of patients. The arena is for parsing. DQ_USAGE: an unknown preset or field.
dq_status dq_preprocess_reach(double *reach, const char *preset, const char *preprocess, dq_arena *arena,
                              dq_error *error);

// The name of row `index` of presets.def, from 0, static; NULL after the last.
const char *dq_preset_name(int index);

#endif
