// dq.h: quantization to 8 bits.
#ifndef DQ_INT8_H
#define DQ_INT8_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// INT8 quantization: weights become int8, activations 8-bit integers with a scale and zero point chosen on data. The
// opset becomes at least 13.

// Whether a step is done. AUTO: the step is tried, and kept when it brings the outputs closer to those of the float
// model.
typedef enum dq_choice { DQ_CHOICE_AUTO, DQ_CHOICE_ON, DQ_CHOICE_OFF } dq_choice;

// Which sums of products provably fit their integer type, whatever the input.
typedef enum dq_sums {
  DQ_SUMS_AUTO,  // DQ_SUMS_PAIRS in the layers where that costs little accuracy, else DQ_SUMS_INT32
  DQ_SUMS_INT32, // whole sums fit int32
  DQ_SUMS_PAIRS, // also, any two neighbouring products fit int16: the instruction vpmaddubsw does not saturate
  DQ_SUMS_INT16  // blocks of neighbouring products fit int16
} dq_sums;

// How quantization is written.
typedef enum dq_form {
  DQ_FORM_QDQ,     // QuantizeLinear and DequantizeLinear around float operators
  DQ_FORM_OPERATOR // QLinearConv, QLinearMatMul and operators of the domain com.microsoft (ONNX Runtime); operators
                   // that have no such form stay between QuantizeLinear and DequantizeLinear
} dq_form;

typedef struct dq_model_int8_options {
  size_t size;
  // How ranges are chosen: "minmax", "ema", "percentile", "entropy", "mse", or "auto", which takes the best of minmax,
  // percentile and mse by trial. NULL (default): "percentile" if a percentile is given, else "auto".
  const char *method;
  double percentile; // of "percentile" and "auto": percent of the elements inside the range, 50 to 100; 0 (default):
                     // 99.999
  int per_tensor;    // one scale for each weight, in place of one for each output channel; default 0
  int signed_activations;       // activations are int8 in place of uint8; default 0
  int symmetric;                // ranges of activations are symmetric around 0; default 0
  const char *const *exclude;   // shell patterns on names of nodes that stay in float
  const char *const *only;      // shell patterns on names: only these nodes are quantized; empty: all
  const char *const *operators; // operators such as "Conv" and "Gemm": only these are quantized; empty: all
  const char *const *shapes;
  dq_choice equalize;        // scale channels so that their ranges are similar, where that is exact; default AUTO
  dq_choice bias_correction; // add to biases what the rounding of weights changed in the mean; default AUTO
  const char *save_table;    // path of a calibration table to write, which holds everything that was taken from data;
                             // NULL (default): none
  const char *use_table;     // path of a calibration table of format "dq" that is applied in place of calibration;
                             // `dataset` may then be NULL. NULL (default): none
  int force;                 // apply use_table although it is of another model or other data; default 0
  dq_sums sums;              // default AUTO
  const char *rounding;      // how weights are rounded, a name of dq-int8 --rounding; NULL (default): "nearest"
  dq_choice bias_absorption; // move a constant that channels always exceed into the biases behind; default AUTO
  dq_choice range_search;    // choose ranges by the error in the operators that read the value; default AUTO: kept when
                             // the outputs come clearly closer, and not tried where method is given
  dq_form form;              // default DQ_FORM_QDQ
  const char *table_format;  // of save_table: "dq", "tensorrt", "onnxruntime", "ncnn"; NULL (default): by its name
  const char *precision;     // path of a settings file with the precision of layers (fp32, fp16, int8); NULL (default):
                             // none
  const char *save_precision; // path of a file to write with the precision of every layer, for `precision`; NULL
                              // (default): none
  // The largest loss of accuracy against the float model in percentage points, 0 to 100: as few layers as possible stay
  // in float so that the loss is not larger. It is measured on `eval`, or on the dataset where that has labels. Without
  // labels the bound holds for the percentage of pictures with another prediction than that of the float model. Below 0
  // (default): no bound. Not together with precision or use_table.
  double max_drop;
  dq_dataset *eval;          // labelled pictures for max_drop; NULL (default): the dataset
  const char *task, *decode; // as in dq_model_accuracy_options, for max_drop; `decode` also for trials of detectors
  double time_limit; // seconds, for the search of max_drop and for rounding on data each; then the best so far is
                     // taken, and the result may differ from run to run; 0 (default): none
  int64_t batch;     // pictures that one run takes, at most 65536; the result is the same; 0 (default): 1
  // What every part of an output, and every output that stands for answers, must reach: as few layers as possible stay
  // in float for it, as also where 8 bits everywhere ruin the outputs (an SQNR below 10 dB, or below 20 dB with less
  // than 90 % of the answers). Without bounds layers stay in float where the SQNR is below 20 dB with 15 pictures or
  // more and rises clearly for them. min_sqnr: dB; default -INFINITY: no bound. min_agreement: percent of the answers
  // that are those of the float model; below 0 (default): no bound. They hold for the lower ends of 95 % intervals of
  // what the figures are on other pictures. Where they are not reached, or without bounds a part is below 20 dB, the
  // function returns DQ_CODE_CONDITION.
  double min_sqnr, min_agreement;
  int all_int8; // no layer stays in float for any of these reasons; default 0
  // Percent of the multiply-accumulates and of the weights that may stay in float for these reasons, 0 to 100. Below 0
  // (default): 10, and min_sqnr and min_agreement may take more multiply-accumulates.
  double max_float;
} dq_model_int8_options;

typedef struct dq_model_int8_facts {
  size_t size;
  int operators, quantized;   // number of operators that could be quantized, and of those that were; rows: `operators`
  int activations;            // activations that got a scale
  int64_t pictures;           // that were observed
  uint64_t calibration_bytes; // memory of the histograms
  int nothing_to_do;          // the model was quantized already and did not change
  const char *method;         // that chose the ranges; NULL: nothing was quantized
  int equalized;              // places where channels were equalized
  int bias_corrected;         // whether biases were corrected
  int rounded;                // layers with adaptive rounding; 0 also where rounding to the nearest was closer
  int absorbed;               // values whose high biases were absorbed
  int searched;               // values whose range was found by search
  int half_nodes;             // nodes that became float16, by `precision`
  int integer_operators;      // operators that were written on integers, with DQ_FORM_OPERATOR
  // Results of max_drop, min_sqnr and min_agreement: whether the bounds are held (where they are not, the model is the
  // one with the smallest loss) and no output has NaN or infinity that the float model does not have, the number of
  // layers left in float, the number of trials of the search, whether the time limit ended it, and with max_drop the
  // loss in percentage points.
  int held, left_in_float, trials, stopped;
  double drop;
  // Lowest SQNR of a part of an output in dB, and lowest agreement of an output with the float model in percent, on
  // pictures that nothing was fitted to where there were enough. INFINITY: no error; NAN: nothing was measured, or no
  // output stands for answers.
  double outputs_sqnr, outputs_agreement;
  // The lower ends of their 95 % intervals: what they are at least on other pictures. -INFINITY: a single picture tells
  // nothing.
  double outputs_least_sqnr, outputs_least_agreement;
  double float_macs, float_weights; // shares of the multiply-accumulates and weights in float, 0 to 1; NAN: not counted
} dq_model_int8_facts;

// One operator that could be quantized, in the order of the model.
typedef struct dq_model_int8_row {
  size_t size;
  const char *name, *op_type;
  const char *reason; // why the operator stays in float (the fields below then mean nothing); "": quantized
  double low, high;   // range of the output
  double scale;       // of the output: x = scale (q - zero_point); 0: the output is not quantized, because the
                      // operator is fused with the activation that follows
  int zero_point;
  double weight_scale_low, weight_scale_high; // smallest and largest scale of the output channels; 0: no weight
} dq_model_int8_row;

void dq_model_int8_defaults(dq_model_int8_options *options, size_t size);
// Quantizes the model in place on every picture of `dataset`, which belongs to the same engine. The result depends on
// the set of pictures, the model and the options. The files that the options name are written after the model was
// quantized. DQ_CODE_CONDITION: the model is quantized and `facts` are filled, but facts->held is 0: max_drop, min_sqnr
// or min_agreement is not reached, or an output has NaN or infinity where the float model has none. DQ_CODE_USAGE: an
// option is out of its range or contradicts another one, or there are neither data nor a table; DQ_CODE_BAD_INPUT: a
// weight holds NaN or infinity, pictures do not fit, labels are missing, or a file does not fit the model;
// DQ_CODE_UNSUPPORTED: dq cannot run a node or the version of an operator, or no output of the model, which is
// quantized, could be compared with min_sqnr or min_agreement; DQ_CODE_SYSTEM: a file cannot be read or written.
dq_code dq_model_int8(dq_model *model, dq_dataset *dataset, const dq_model_int8_options *options,
                      dq_model_int8_facts *facts, dq_failure *failure);
int dq_model_int8_at(const dq_model *model, int index, dq_model_int8_row *row);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
