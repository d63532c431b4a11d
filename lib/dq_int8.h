// dq.h: quantization to 8 bits.
#ifndef DQ_INT8_H
#define DQ_INT8_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif

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
  int64_t batch;             // pictures run at once, at most 65536; the result is the same; 0 (default): 1
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

#ifdef __cplusplus
}
#endif

#endif
