// dq.h: failures, engines, data and models.
#ifndef DQ_BASE_H
#define DQ_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Version of the library, such as "0.1.0".
const char *dq_version(void);

// ---- Failures ----

// The numbers are also the exit statuses of the commands.
typedef enum dq_code {
  DQ_CODE_OK = 0,
  DQ_CODE_CONDITION = 1,   // done, but a condition does not hold: a command of dq_model_retrain failed
  DQ_CODE_USAGE = 2,       // an argument or option is wrong
  DQ_CODE_BAD_INPUT = 3,   // a file is broken or does not fit
  DQ_CODE_UNSUPPORTED = 4, // it is valid but not supported
  DQ_CODE_SYSTEM = 5,      // memory, disk, permission
  DQ_CODE_CANCELLED = 130  // dq_engine_stop
} dq_code;

// Written by a call that fails, untouched otherwise. One line each, for people; the layout is final.
typedef struct dq_failure {
  dq_code code;
  char message[1024]; // names the thing: "model.onnx: node 'conv1': ..."
  char hint[256];     // what to do about it, or ""
} dq_failure;

// ---- Engine ----

typedef struct dq_engine dq_engine;

typedef enum dq_notice { DQ_NOTICE_NOTE, DQ_NOTICE_WARNING, DQ_NOTICE_DETAIL } dq_notice;

typedef struct dq_engine_options {
  size_t size;
  int threads;              // 0 (default): as many as processors may be used; at most 1024
  const char *instructions; // sets allowed: "c", "avx2", "avx512" or "native" (default)
  uint64_t memory;          // bytes; work that needs more is refused; 0 (default): no bound
  uint64_t seed;            // what pictures of synth: and noise start from; default 0
  // Called during calls into the library, from the calling thread. NULL (default): dropped.
  void (*message)(void *user, dq_notice notice, const char *text);
  void (*progress)(void *user, const char *what, int64_t done, int64_t total);
  void *user; // handed to both
} dq_engine_options;

void dq_engine_defaults(dq_engine_options *options, size_t size);
// `options` may be NULL: the defaults.
dq_code dq_engine_open(dq_engine **engine, const dq_engine_options *options, dq_failure *failure);
void dq_engine_close(dq_engine *engine);
// Asks the work under way to end soon with DQ_CODE_CANCELLED, and all later work at once, until it is
// called with 0. The only function that may be called from other threads and from signal handlers.
void dq_engine_stop(dq_engine *engine, int stop);

// ---- Data ----

typedef struct dq_dataset dq_dataset;
typedef struct dq_model dq_model;

typedef struct dq_dataset_options {
  size_t size;
  const char *labels;     // file of labels or class names, or folder of masks; NULL (default): none
  const char *preset;     // how pictures become an input, by name: "imagenet"; NULL (default): none
  const char *preprocess; // fields over the preset: "resize=256,crop=224"; NULL (default): none
  const dq_model *model;  // its remembered preprocessing counts where neither is given; may be NULL
  const char *norm;       // file of constants per patient; NULL (default): found beside the pictures
  int64_t limit;          // at most so many pictures; 0 (default): all
  int strict;             // a picture that cannot be read is a failure, not left out
} dq_dataset_options;

void dq_dataset_defaults(dq_dataset_options *options, size_t size);
// `spec` is what the commands take as --data: a folder, a list file, "cifar10:FILE",
// "mnist:IMAGES,LABELS", "npy:FILE", "pb:DIR" or "synth:shapes". Pictures are found, and each decoded
// once, here. The data's files must not change while it is open. Data for several inputs of a model are
// "NAME=SPEC;NAME=SPEC", with as many pictures or arrays for each, or a "pb:DIR" with input_0.pb, input_1.pb, ...;
// `labels` then belong to the first, and a picture that cannot be read is a failure.
dq_code dq_dataset_open(dq_dataset **dataset, dq_engine *engine, const char *spec, const dq_dataset_options *options,
                        dq_failure *failure);
void dq_dataset_close(dq_dataset *dataset);
int64_t dq_dataset_count(const dq_dataset *dataset);   // pictures that can be read, at least 1
int64_t dq_dataset_skipped(const dq_dataset *dataset); // left out because they are broken
// NULL when the class has no name.
const char *dq_dataset_class_name(const dq_dataset *dataset, int64_t label);

// ---- Models ----

// `path` "-" is standard input. The file must not change while the model is there. Everything in it
// that dq does not know is kept and written back.
dq_code dq_model_load(dq_model **model, dq_engine *engine, const char *path, dq_failure *failure);
// From memory, which must outlive the model; external data is looked for in `folder` (NULL: ".").
dq_code dq_model_load_bytes(dq_model **model, dq_engine *engine, const void *bytes, size_t count, const char *folder,
                            dq_failure *failure);
// Writes the model ("-": standard output) and loads a file again as a check. The file appears under its
// name when it is complete; weights go to PATH.data where it would pass 2 GB. It may be the file the
// model was loaded from. The same model gives the same bytes.
dq_code dq_model_save(const dq_model *model, const char *path, dq_failure *failure);
void dq_model_free(dq_model *model);

// Inputs that are not weights, in the order of the model. NULL beyond the last.
int dq_model_input_count(const dq_model *model);
const char *dq_model_input_name(const dq_model *model, int index);

// The transforms below change the model in place. They want no network open on it, and after a
// failure it can only be freed. The _row functions tell about one node or layer of the transform done
// last; they return 0, and touch nothing, when `index` is not one or another transform came last.

#ifdef __cplusplus
}
#endif

#endif
