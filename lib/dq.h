// dq: makes convolutional networks smaller, ONNX in and ONNX out, and tells what each step costs.
// This is the whole public interface of libdq; `pkg-config --cflags --libs dq` tells how to
// build with it. docs/guide/example.c is a program that uses nothing else.
//
//   engine    threads, memory bound, where messages go
//   model     an ONNX file in memory: load, transform, look at, save
//   dataset   pictures or arrays, read one at a time
//   network   a model made ready to run
//
// Everything that can fail returns a dq_code, DQ_CODE_OK (0) for success, and takes a dq_failure last
// (may be NULL) that says why. Nothing prints, exits or installs signal handlers. Handles are made by
// _open or _load, into their first argument (NULL after a failure), and given back by _close or
// _free, which take NULL. What was made with a handle is given back before it.
//
// Structs of options and results begin with `size`. Options are set by their _defaults function, then by the program:
//   dq_model_int8_options options;
//   dq_model_int8_defaults(&options, sizeof options);
// Results are told theirs: `dq_model_int8_facts facts = {.size = sizeof facts};` So later versions of the
// library can add fields at the end, and programs built before go on working.
//
// Lists of names are arrays ended by NULL; NULL stands for an empty one. `shapes` are texts such as
// "x=1,3,224,224" (or "1,3,224,224" when there is one input) for inputs that the model leaves open; N keeps what the
// model has ("x=N,3,224,224"), and fewer sizes are the last ones ("x=224,224"). DQ_CODE_USAGE: no such input.
// Texts handed in are needed during the call only. Texts in results belong to the handle.
//
// One engine and all that was made with it are used by one thread at a time; several engines are
// independent. Results depend on neither threads nor instruction sets.
#ifndef DQ_H
#define DQ_H

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
// once, here. The data's files must not change while it is open.
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

// float16: nodes that gain much and lose little (Conv, Gemm, MatMul) and those between them.
typedef struct dq_model_amp_options {
  size_t size;
  int half_io;                              // inputs and outputs become float16 as well; default 0
  const char *const *allow, *const *follow; // operators that are, or adapt to, float16
  const char *const *deny;                  // operators that stay float32
  const char *const *deny_nodes;            // shell patterns on the names of nodes that stay so
  const char *const *shapes;                // of inputs the model leaves open, for cast_bytes and rounding
  int nearest;        // every weight the nearest float16, not the one of two that lets mean errors cancel; default 0
  const char *policy; // file with categories of operators and nodes; NULL (default): those of dq
  int unguarded;      // nodes that may leave float16 become float16 all the same; default 0
  double input_max;   // largest magnitude of the inputs, 1e-30...1e30, for the guard and the rounding; 0 (default): 255
  dq_dataset *check;  // run the model as it was on them, for dq_model_amp_range_at and the facts; NULL (default): none
} dq_model_amp_options;

typedef struct dq_model_amp_facts {
  size_t size;
  int nodes, half_nodes;   // all, and those in float16 now; 0 of them: nothing to do
  int casts;               // Cast nodes written
  int64_t cast_bytes;      // read and written by them in a run of batch 1; -1: a size is open
  int64_t weights;         // elements stored in float16
  int64_t lost_to_zero;    // of them, those too small, which are 0 now
  int guarded;             // nodes that the guard keeps in float32
  int64_t kept_weights;    // elements that are still stored in float32
  int64_t pictures;        // of `check`; 0: none
  int checked, overflowed; // values looked at on these, and those of them that leave float16
} dq_model_amp_facts;

typedef struct dq_model_amp_row {
  size_t size;
  const char *name, *op_type;
  int half;           // computed in float16
  const char *reason; // why, or why not
} dq_model_amp_row;

// What one value that exists in float16 now was in the model before, on the pictures of `check`.
typedef struct dq_model_amp_range {
  size_t size;
  const char *name, *op_type; // of the node that computes it; of inputs the name of the value and "input"
  double largest;             // finite magnitude
  int64_t elements;           // seen, on all pictures
  int64_t overflow;           // of them, those beyond float16 (65520 and more), NaN and infinity
  int64_t subnormal;          // of them, those in (0, 2^-14), where float16 has fewer digits
} dq_model_amp_range;

void dq_model_amp_defaults(dq_model_amp_options *options, size_t size);
// `options` and `facts` may be NULL, here and below.
dq_code dq_model_amp(dq_model *model, const dq_model_amp_options *options, dq_model_amp_facts *facts,
                     dq_failure *failure);
int dq_model_amp_at(const dq_model *model, int index, dq_model_amp_row *row);
int dq_model_amp_range_at(const dq_model *model, int index, dq_model_amp_range *range);

// INT8: weights int8, activations 8 bits with a scale and zero point chosen on data; written as
// QuantizeLinear and DequantizeLinear around every quantized operator. The opset becomes at least 13.
// A step that is taken, left out, or tried: taken when the outputs come closer to the float model's.
typedef enum dq_choice { DQ_CHOICE_AUTO, DQ_CHOICE_ON, DQ_CHOICE_OFF } dq_choice;

// What sums of products provably fit: int32; int16 for every two neighbouring products, which some processors add up
// and clip; int16 for blocks of every sum. AUTO: pairs, in the layers where that costs little.
typedef enum dq_sums { DQ_SUMS_AUTO, DQ_SUMS_INT32, DQ_SUMS_PAIRS, DQ_SUMS_INT16 } dq_sums;

// How quantization is written. QDQ: QuantizeLinear and DequantizeLinear around float operators. OPERATOR: QLinearConv
// and QLinearMatMul, and operators of ONNX Runtime's domain com.microsoft; what has no such form keeps its pairs.
typedef enum dq_form { DQ_FORM_QDQ, DQ_FORM_OPERATOR } dq_form;

typedef struct dq_model_int8_options {
  size_t size;
  // How ranges are chosen: "minmax", "ema", "percentile", "entropy", "mse" or "auto", the best of three by trial. NULL
  // (default): "auto" for detectors unless percentile is given, else "percentile".
  const char *method;
  double percentile;          // of "percentile" and "auto": percent of the values inside, 50...100; 0 (default): 99.999
  int per_tensor;             // one scale per weight, not one per output channel; default 0
  int signed_activations;     // int8 instead of uint8; default 0
  int symmetric;              // activations around 0; default 0
  const char *const *exclude; // shell patterns on names of nodes that stay in float
  const char *const *only;    // shell patterns: quantize no others; empty: all
  const char *const *operators; // quantize no others: "Conv", "Gemm"; empty: all
  const char *const *shapes;
  dq_choice equalize;         // scale channels to like ranges where that is exact; default AUTO
  dq_choice bias_correction;  // take back the mean shift of rounded weights; default AUTO
  const char *save_table;     // file to write all to that was taken from data; NULL (default): none
  const char *use_table;      // such a file to quantize by, without options that it decides; the data may be NULL
  int force;                  // use_table though it is of another model or data; default 0
  dq_sums sums;               // default AUTO
  int adaptive;               // weights of a sum are rounded together, on the data; default 0
  dq_choice bias_absorption;  // move what channels always stay above into the next biases; default AUTO
  dq_choice range_search;     // take ranges with the least error in the operators that read them; default AUTO:
                              // when outputs come clearly closer, and never where method is given
  dq_form form;               // default QDQ
  const char *table_format;   // of save_table: "dq", "tensorrt", "onnxruntime", "ncnn"; NULL (default): by its name
  const char *precision;      // settings file with the precision of layers: fp32, fp16, int8; NULL (default): none
  const char *save_precision; // file to write the precision of every layer to, for `precision`; NULL (default): none
  // As few layers stay in float as keep the accuracy within this many percentage points of the float model's, 0...100,
  // on `eval`, or on the dataset where it has labels. Without labels the bound is on the share of answers that differ
  // from the float model's, in percent. Below 0 (default): no bound. Not together with precision or use_table.
  double max_drop;
  dq_dataset *eval;          // labelled pictures for max_drop; NULL (default): the dataset
  const char *task, *decode; // as in dq_model_accuracy_options, for max_drop; decode for detectors' trials as well
  double time_limit;         // seconds for max_drop and adaptive rounding each, 0 (default): none; the best so far
                             // is taken, and the result may differ from run to run
} dq_model_int8_options;

typedef struct dq_model_int8_facts {
  size_t size;
  int operators, quantized;   // that could be quantized, and that were
  int activations;            // that got a scale
  int64_t pictures;           // looked at
  uint64_t calibration_bytes; // memory the histograms took
  int nothing_to_do;          // the model was quantized already
  const char *method;         // that chose the ranges; NULL: nothing was quantized
  int equalized;              // places where channels were equalized
  int bias_corrected;
  int rounded;           // layers rounded adaptively; 0 too where rounding to the nearest is closer
  int absorbed;          // values whose high biases were absorbed
  int searched;          // values whose range was found by search
  int half_nodes;        // nodes computed in float16, by precision or max_drop
  int integer_operators; // operators written on integers, with DQ_FORM_OPERATOR
  // With max_drop, else 0: whether the bound is held (where it is not, the model is the one that loses least), layers
  // left in float, trials made, whether the time limit ended the search, and the percentage points lost.
  int held, left_in_float, trials, stopped;
  double drop;
} dq_model_int8_facts;

typedef struct dq_model_int8_row {
  size_t size;
  const char *name, *op_type;
  const char *reason; // why it stays in float; "": quantized, and the rest holds
  double low, high;   // range of its output
  double scale;       // x = scale (q - zero_point); 0: its output has none, being fused with
                      // the activation that follows
  int zero_point;
  double weight_scale_low, weight_scale_high; // over output channels; 0: it has no weight
} dq_model_int8_row;

void dq_model_int8_defaults(dq_model_int8_options *options, size_t size);
// Reads every picture of `dataset`, of the same engine. The result depends on the set of pictures, the
// model and the options. Files that the options name are written after the model was quantized. DQ_CODE_USAGE: an
// option is out of its range, or does not go with another one.
dq_code dq_model_int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_model_int8_facts *facts, dq_failure *failure);
int dq_model_int8_at(const dq_model *model, int index, dq_model_int8_row *row);

// Tucker-2: every convolution with a kernel larger than 1x1 becomes three cheaper ones. Exactly one
// of ratio, energy, macs, ranks and vbmf is given.
typedef struct dq_model_tucker_options {
  size_t size;
  double ratio;      // share of each mode's rank to keep, above 0 and at most 1; 0: not given
  double energy;     // share of each mode's squared singular values, likewise
  double macs;       // share of the model's multiply-accumulates to keep, above 0 and below 1
  const char *ranks; // settings file that names layers and ranks
  int64_t multiple;  // ranks are rounded up to a multiple of this; default 1
  int plain;         // do not weigh channels by the batch normalization behind; default 0
  int force;         // decompose even what does not get cheaper; default 0
  const char *const *shapes;
  int vbmf;         // keep the singular values above the noise that the weights show; default 0
  double weaken;    // of vbmf: this share of what it drops is kept as well, 0...1; default 0
  int refine;       // iterate until the factors at the ranks chosen get no better; default 0
  int matrices;     // decompose Gemm and MatMul with constant matrices too; default 0
  dq_dataset *data; // pictures to which the factors are fitted, labels are not needed; not read with plain;
                    // NULL (default): the weights alone are looked at
  int never_slower; // leave layers alone that are not measured to become faster on this machine, so that the result
                    // may differ from run to run (save the ranks); not with force or ranks; default 0
} dq_model_tucker_options;

typedef struct dq_model_tucker_facts {
  size_t size;
  int convolutions, decomposed;
  int64_t macs_before, macs_after; // of the whole model; -1: not known
  int64_t parameters_before, parameters_after;
} dq_model_tucker_facts;

typedef struct dq_model_tucker_row {
  size_t size;
  const char *name;
  const char *reason;              // why it was left alone; "": decomposed
  int64_t dims[4];                 // of the weight: o, i of a group, kernel height, width; 0: not known
  int64_t rank_out, rank_in;       // of a group
  double energy_out, energy_in;    // shares of the squared singular values kept
  double error;                    // relative Frobenius error of the weight
  int64_t macs_before, macs_after; // -1: not known
  int64_t parameters_before, parameters_after;
  double response_error;          // with data: share of the variance of the layer's responses that is missed; else 0
  double time_before, time_after; // seconds of the layer alone, with never_slower; 0: not measured
} dq_model_tucker_row;

void dq_model_tucker_defaults(dq_model_tucker_options *options, size_t size);
dq_code dq_model_tucker(dq_model *model, const dq_model_tucker_options *options, dq_model_tucker_facts *facts,
                        dq_failure *failure);
int dq_model_tucker_at(const dq_model *model, int index, dq_model_tucker_row *row);
// Writes the ranks of the last decomposition, for `ranks`. DQ_CODE_USAGE: there was none.
dq_code dq_model_tucker_save_ranks(const dq_model *model, const char *path, dq_failure *failure);

// Retraining: a command of the user gets a converted model and writes a better one.
typedef struct dq_model_retrain_options {
  size_t size;
  const char *command;  // run by the shell
  const char *original; // path of the model before its conversion
  const char *data;     // what the command is told about pictures; NULL (default): nothing
  double time_limit;    // seconds after which the command is ended and has failed, 0 or more; 0 (default): none
  const char *const *shapes;
} dq_model_retrain_options;

void dq_model_retrain_defaults(dq_model_retrain_options *options, size_t size);
// Runs the command on the file `path`, to which `model` was saved after its last transform, with the variables DQ_MODEL
// (a copy of the file), DQ_ORIGINAL, DQ_OUTPUT (what it must write), DQ_DATA and DQ_SPEC (JSON: what the transform
// did). What the command prints goes to standard error, and one command runs in a process at a time. What it wrote
// takes the place of the file when it loads, has the inputs, outputs, nodes and sizes of weights of the model, is
// finite and runs. `model` stays as it is: load the file to go on. DQ_CODE_CONDITION: the command failed, or its model
// is not taken, and the file is as it was. DQ_CODE_USAGE: the model was not transformed, or `path` is "-".
dq_code dq_model_retrain(const dq_model *model, const char *path, const dq_model_retrain_options *options,
                         dq_failure *failure);

// ---- What a model costs ----

typedef struct dq_model_cost_facts {
  size_t size;
  int nodes, unsupported; // all, and those dq cannot run
  int64_t opset;
  int64_t macs, int8_macs;  // multiply-accumulates at batch 1, and those of 8-bit integers
  int macs_complete;        // every node's are known
  int64_t parameters;       // elements of all weights and constants
  int64_t float_parameters; // of those, the ones stored as floats
  int64_t parameter_bytes;  // of all of them, as stored
  int64_t activation_bytes; // of all nodes' outputs
  int64_t live_bytes;       // of activations, most at once while running; -1: cannot be run
  int64_t planned_bytes;    // of the memory planned for them, at least live_bytes; -1: as above
  int64_t file_bytes;       // -1: not from a file
} dq_model_cost_facts;

typedef struct dq_model_cost_row {
  size_t size;
  const char *name, *op_type; // the name of its output where the node has none
  const char *shape;          // of the first output: "Nx64xH/4xW/4", "?" when not known
  const char *precision;      // of its weights: "fp32", "fp16", "int8"; "" when it has none
  const char *problem;        // why it cannot be run, or NULL
  int64_t macs;               // -1: not known
  int64_t parameters, parameter_bytes, activation_bytes;
} dq_model_cost_row;

// Sizes that are open, not in `shapes` and not remembered by the model are assumed, see docs/NUMERICS.md. The rows hold
// until the next dq_model_cost or transform.
dq_code dq_model_cost(dq_model *model, const char *const *shapes, dq_model_cost_facts *facts, dq_failure *failure);
int dq_model_cost_at(const dq_model *model, int index, dq_model_cost_row *row);

// ---- How good a model is ----

typedef struct dq_model_accuracy_options {
  size_t size;
  const char *task;   // "classify", "segment", "detect"; NULL (default): guessed
  const char *decode; // how boxes come out of a detector: "yolox", "yolo:anchors=..."; NULL (default)
  int64_t batch;      // pictures run at once; default 1
  const char *const *shapes;
} dq_model_accuracy_options;

typedef struct dq_figure_row {
  const char *name, *key; // "top-1", "top1"
  const char *unit;       // "%" or ""
  double value;
} dq_figure_row;

typedef struct dq_model_accuracy_facts {
  size_t size;
  const char *task;
  int64_t pictures;
  int figure_count; // 0: the data has no labels
  dq_figure_row figures[8];
  int64_t nonfinite; // pictures with an output that is NaN or +infinite somewhere; such scores are wrong
} dq_model_accuracy_facts;

void dq_model_accuracy_defaults(dq_model_accuracy_options *options, size_t size);
dq_code dq_model_accuracy(dq_model *model, dq_dataset *dataset, const dq_model_accuracy_options *options,
                          dq_model_accuracy_facts *facts, dq_failure *failure);

typedef struct dq_model_compare_options {
  size_t size;
  int match_names; // match values by name where the model does not say where it comes from; default 0
  const char *const *shapes;
} dq_model_compare_options;

typedef struct dq_model_compare_facts {
  size_t size;
  int64_t pictures;
  int outputs, layers; // rows: first one per output, then one per layer matched
} dq_model_compare_facts;

typedef struct dq_model_compare_row {
  size_t size;
  const char *value;    // of the reference
  const char *compared; // of the model
  const char *layer;    // Conv, Gemm, ... of the reference whose result it is, or NULL
  double sqnr;          // signal-to-noise ratio in dB over all pictures; INFINITY: equal, -INFINITY: nonfinite is not 0
  double cosine;        // NaN when nonfinite is not 0
  double largest;       // absolute difference; INFINITY when nonfinite is not 0
  int64_t values;       // elements compared, those that are finite in the reference
  int64_t nonfinite;    // of them, those that are NaN or infinite in the model: no error is larger
  double agreement;     // percent of pictures with the same largest score; -1: no scores
  int64_t left_out;     // elements that are NaN or infinite in the reference, left out
} dq_model_compare_row;

void dq_model_compare_defaults(dq_model_compare_options *options, size_t size);
// Runs both on every picture and compares them value by value. The rows belong to `model` and hold
// until its next comparison or transform, while `reference` is there unchanged.
dq_code dq_model_compare(dq_model *model, const dq_model *reference, dq_dataset *dataset,
                         const dq_model_compare_options *options, dq_model_compare_facts *facts, dq_failure *failure);
int dq_model_compare_at(const dq_model *model, int index, dq_model_compare_row *row);

// ---- Running ----

typedef struct dq_network dq_network;

// An input or output; the numbers of `type` are ONNX's (1 float32, 2 uint8, 3 int8, 7 int64,
// 10 float16, ...). The layout is final.
typedef struct dq_array {
  const char *name, *type_name; // "x", "float32"
  int type;
  int rank; // 0...8
  int64_t dims[8];
  void *data;     // elements in row-major order; read only for outputs
  uint64_t bytes; // of all elements
} dq_array;

typedef struct dq_sample {
  size_t size;
  const char *name; // until the next dq_network_read on the network
  int64_t label;    // class, from 0; -1: none
} dq_sample;

typedef struct dq_network_options {
  size_t size;
  int64_t batch; // for an open first dimension; default 1
  int plain;     // every node as it stands, nothing folded or fused; default 0
  const char *const *shapes;
} dq_network_options;

void dq_network_defaults(dq_network_options *options, size_t size);
// The model stays as it is and must be freed and transformed after the network is closed.
dq_code dq_network_open(dq_network **network, dq_model *model, const dq_network_options *options, dq_failure *failure);
void dq_network_close(dq_network *network);

// 0, and nothing touched, when `index` is not one.
int dq_network_inputs(const dq_network *network);
int dq_network_input(dq_network *network, int index, dq_array *array);
int dq_network_outputs(const dq_network *network);
int dq_network_output(const dq_network *network, int index, dq_array *array);

// Picture `index` of the data into the only input, at place `item` (0 for the first) of its batch.
// The input is N x C x H x W, or N x H x W x C when C is 1 or 3 and H is neither.
// `sample` may be NULL. DQ_CODE_UNSUPPORTED: several inputs; DQ_CODE_BAD_INPUT: another shape.
dq_code dq_network_read(dq_network *network, dq_dataset *dataset, int64_t index, int64_t item, dq_sample *sample,
                        dq_failure *failure);
// Inputs are filled before every run, which may overwrite them; outputs hold until the next.
dq_code dq_network_run(dq_network *network, dq_failure *failure);

#ifdef __cplusplus
}
#endif

#endif
