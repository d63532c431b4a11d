// dq.h: failures, engines, data and models.
#ifndef DQ_BASE_H
#define DQ_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// Version of the library, such as "0.2.0".
const char *dq_version(void);

// ---- Failures ----

// The numbers are also the exit statuses of the commands.
typedef enum dq_code {
  DQ_CODE_OK = 0,
  DQ_CODE_CONDITION = 1,   // a condition does not hold, where the command ends with 1 as well: see the functions
  DQ_CODE_USAGE = 2,       // an argument or option is wrong, or the handle is in a state that does not allow the call
  DQ_CODE_BAD_INPUT = 3,   // a model, data or another file is broken, or does not fit what it is used with
  DQ_CODE_UNSUPPORTED = 4, // the model or file is valid, but uses something that dq does not support
  DQ_CODE_SYSTEM = 5,      // the system refused: memory, disk, permission, no such file
  DQ_CODE_CANCELLED = 130  // dq_engine_stop ended the work
} dq_code;

// Written by a call that fails; a call that succeeds leaves it unchanged. Later versions do not change the layout.
typedef struct dq_failure {
  dq_code code;
  char message[1024]; // one line that names the file, node or field: "model.onnx: node 'conv1': ..."
  char hint[256];     // one line that says what to do, or ""
} dq_failure;

// ---- Engine ----

typedef struct dq_engine dq_engine;

typedef enum dq_notice {
  DQ_NOTICE_NOTE,    // what the user may want to know
  DQ_NOTICE_WARNING, // what may make the result worse than expected
  DQ_NOTICE_DETAIL   // what the commands print with -v
} dq_notice;

typedef struct dq_engine_options {
  size_t size;
  int threads;              // 0 (default): one for each processor that the process may use; at most 1024
  const char *instructions; // instruction sets allowed: "c" (none), "avx2", "avx512", ..., with what they build on, or
                            // "native" (all that the machine has); NULL (default): "native"
  uint64_t memory;          // bytes; work that needs more is refused with DQ_CODE_SYSTEM; 0 (default): no limit
  uint64_t seed;            // of random numbers: pictures of "synth:", and noise; default 0
  // Both callbacks run in the thread that called the library, during that call. NULL (default): nothing is reported.
  // `text`, one line, and `what` (the name of the work) hold during the callback; `done` of `total` steps are finished.
  void (*message)(void *user, dq_notice notice, const char *text);
  void (*progress)(void *user, const char *what, int64_t done, int64_t total);
  void *user; // first argument of both callbacks
  // A file of dq-tune: networks compute each step as it says, with the same results. A file that cannot be read is a
  // warning, and every step is computed as usual. NULL (default): $XDG_CACHE_HOME/dq/wisdom or ~/.cache/dq/wisdom; "":
  // no file.
  const char *wisdom;
} dq_engine_options;

void dq_engine_defaults(dq_engine_options *options, size_t size);
// Starts the threads of the engine. DQ_CODE_USAGE: the number of threads or the instruction set is not valid.
dq_code dq_engine_open(dq_engine **engine, const dq_engine_options *options, dq_failure *failure);
void dq_engine_close(dq_engine *engine);
// Stops the work of the engine when `stop` is not 0: work that runs ends with DQ_CODE_CANCELLED, mostly after the step
// of the network that runs now or the picture that is read now (a computation without such steps, as the factorization
// of a weight, is completed first), and work that begins later ends at once, until the function is called with 0.
// Requests of queues end in the same way. Any thread may call this function at any time while the engine is open, and a
// signal handler may; beside it only the functions on requests that dq_multi.h names may be called from other threads.
void dq_engine_stop(dq_engine *engine, int stop);

// ---- Data ----

// An input or output of a network, or data in the program's memory. The numbers of `type` are those of ONNX (1 float32,
// 2 uint8, 3 int8, 7 int64, 10 float16, ...). Later versions do not change the layout.
typedef struct dq_array {
  const char *name, *type_name; // "x", "float32"
  int type;
  int rank;        // number of dimensions, 0 to 8; -1: not known yet
  int64_t dims[8]; // the first `rank` of them, outermost first; an input of pictures is usually N, C, H, W
  void *data;      // elements in row-major order; of a network it owns them, and those of outputs are read only
  uint64_t bytes;  // size of all elements
} dq_array;

typedef struct dq_dataset dq_dataset;
typedef struct dq_model dq_model;

typedef struct dq_dataset_options {
  size_t size;
  const char *labels;     // path of a file of labels or class names, or of a folder of masks or of files of boxes; NULL
                          // (default): what the data itself has
  const char *preset;     // how a picture becomes an input, by name ("imagenet"); NULL (default): none
  const char *preprocess; // fields that replace those of the preset: "resize=256,crop=224"; NULL (default): none
  const dq_model *model;  // the preprocessing that this model records is used where neither preset nor preprocess is
                          // given; read during the call; NULL (default): none
  const char *norm;       // file of normalization constants by patient; NULL (default): found beside the pictures
  int64_t limit;          // largest number of pictures; 0 (default): all
  int strict;             // a picture that cannot be read is a failure (DQ_CODE_BAD_INPUT); default 0: it is left out
} dq_dataset_options;

void dq_dataset_defaults(dq_dataset_options *options, size_t size);
// Finds the pictures that `spec` names and decodes each once, to leave out those that cannot be read. `spec` is what
// the commands take as --data: a folder, a list file, "coco:FILE.json", "cifar10:FILE", "mnist:IMAGES,LABELS",
// "npy:FILE", "pb:DIR" or "synth:shapes". The files must not change while the dataset is open. Data for several inputs
// of a model are "NAME=SPEC;NAME=SPEC", with equally many pictures or arrays for each input, or a "pb:DIR" with
// input_0.pb, input_1.pb, ...; `labels` then belong to the first input, and a picture that cannot be read is a failure.
// DQ_CODE_USAGE: an option is not valid; DQ_CODE_BAD_INPUT: a file is broken, labels do not fit, or no picture can be
// read; DQ_CODE_UNSUPPORTED: dq does not know this kind of specification; DQ_CODE_SYSTEM: a file cannot be opened.
dq_code dq_dataset_open(dq_dataset **dataset, dq_engine *engine, const char *spec, const dq_dataset_options *options,
                        dq_failure *failure);
// The same of arrays in the program's memory, which stay as they are until the dataset is closed: arrays[count], whose
// first dimension counts samples. uint8 arrays N x C x H x W, N x H x W x C with 1 or 3 channels or N x H x W are
// pictures, which are preprocessed; others have the elements of an input. With a `name` an array is for the input of
// that name, and of several arrays each has one; an array alone may have none (NULL). `type_name` is not read. `labels`
// has the number of a class for each sample, integers from 0; NULL: none. options->labels must be NULL
// then. DQ_CODE_USAGE: an array without elements or dimensions, of a type that is no number, whose
// `bytes` are not those of its shape, or without a name beside others; else codes as dq_dataset_open.
dq_code dq_dataset_of_arrays(dq_dataset **dataset, dq_engine *engine, const dq_array *arrays, int count,
                             const dq_array *labels, const dq_dataset_options *options, dq_failure *failure);
void dq_dataset_close(dq_dataset *dataset);
int64_t dq_dataset_count(const dq_dataset *dataset);   // pictures that can be read, at least 1
int64_t dq_dataset_skipped(const dq_dataset *dataset); // pictures that were left out because they cannot be read
// The name of class `label`, from 0; the text belongs to the dataset. NULL: the class has no name, or `label` is below
// 0 or beyond the last class with a name.
const char *dq_dataset_class_name(const dq_dataset *dataset, int64_t label);

// ---- Models ----

// Loads an ONNX file; `path` "-" is standard input. Weights stay in the mapped file, so the file must not change until
// the model is freed. dq_model_save writes back everything in the file that dq does not know. DQ_CODE_BAD_INPUT: the
// file is no valid model; DQ_CODE_UNSUPPORTED: the model uses a form of ONNX that dq cannot carry; DQ_CODE_SYSTEM: the
// file cannot be read. Operators that dq cannot run are no failure here, but where the model is run or transformed.
dq_code dq_model_load(dq_model **model, dq_engine *engine, const char *path, dq_failure *failure);
// Loads a model from `count` bytes in memory (`bytes` is not NULL), which must stay readable and unchanged until the
// model is freed, as must the files of external data, which are looked for inside of `folder` (NULL: the current
// folder; read during the call). DQ_CODE_BAD_INPUT: no valid model, or an external file is missing or outside of
// `folder`; DQ_CODE_SYSTEM: an external file cannot be opened; DQ_CODE_UNSUPPORTED as dq_model_load.
dq_code dq_model_load_bytes(dq_model **model, dq_engine *engine, const void *bytes, size_t count, const char *folder,
                            dq_failure *failure);
// Writes the model to `path` ("-": standard output) and, of a regular file, loads the result again as a check. The file
// appears under its name when it is complete; it may be the file that the model was loaded from. Weights go to
// PATH.data where the file would pass 2 GB. The same model gives the same bytes. DQ_CODE_SYSTEM: the file cannot be
// written.
dq_code dq_model_save(const dq_model *model, const char *path, dq_failure *failure);
void dq_model_free(dq_model *model);

// The number of inputs that are not weights.
int dq_model_input_count(const dq_model *model);
// The name of input `index` of these, in the order of the model; the text belongs to the model. NULL: no such input.
const char *dq_model_input_name(const dq_model *model, int index);

// Transforms (dq_model_amp, dq_model_int8, dq_model_mix, dq_model_tucker, dq_model_train) change the model in place. No
// network may be open on the model (DQ_CODE_USAGE). A transform that fails leaves the model as it was, without rows;
// comments at the transforms say when one that returns DQ_CODE_CONDITION has changed the model.
//
// The functions whose names end in _at fill a row on one node, layer or value of the last call that made such rows, and
// return 1. `index` counts from 0. They return 0 and leave the row unchanged when there is no row `index`, or when
// another transform came last. Texts in rows belong to the model and hold until its next transform.

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
