// dq-int8: affine INT8 quantization. The command line; int8_command.c does the work.

#include "cmd/int8_command.h"
#include "cmd/shared/hook.h"
#include "cmd/options/options_rows.h"

DQ_TABLE_CHOICES(table_format, dq_calibration_table_format_at)
DQ_TABLE_CHOICES(method, dq_observer_at)
DQ_TABLE_CHOICES(rounding, dq_rounding_method_at)

static const dq_option rows[] = {
    {.name = "method",
     .aliases = "calibration-method calibrate-method",
     .type = DQ_OPTION_ENUM,
     .choice = method_name,
     .choice_help = method_help,
     .value = "NAME",
     .preset = "auto",
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, method),
     .help = "how a range is chosen from the values seen (with --percentile alone: percentile)"},
    {.name = "percentile",
     .decides = true,
     .type = DQ_OPTION_DOUBLE,
     .value = "P",
     .minimum = 50,
     .maximum = 100,
     .preset = "99.999",
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, asked.int8.percentile),
     .help = "of --method percentile and auto: how many percent of the values stay inside"},
    {.name = "table",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_STRING,
     .value = "FILE",
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, asked.files.table),
     .help = "write the calibration table: all that was taken from data"},
    {.name = "table-format",
     .type = DQ_OPTION_ENUM,
     .choice = table_format_name,
     .choice_help = table_format_help,
     .value = "NAME",
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, table_format),
     .needs = "table",
     .help = "how --table is written (default: as the file's name tells)"},
    {.name = "use-table",
     .job = DQ_JOB_FILE,
     .type = DQ_OPTION_STRING,
     .value = "FILE",
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, asked.files.use_table),
     .help = "quantize as this table says, without looking at data",
     .details = "Tables of dq, TensorRT caches, ONNX Runtime's calibration.json and ncnn tables are told apart by "
                "their contents. Those of other programs name no model: every value that needs a range must be "
                "there. Their scales are symmetric; behind a Relu the range begins at 0."},
    {.name = "force",
     .letter = 'f',
     .type = DQ_OPTION_FLAG,
     .group = "Calibration",
     DQ_INTO(dq_int8_arguments, asked.files.force),
     .needs = "use-table",
     .help = "take a table of --use-table that is of another model or other data"},
    DQ_ROW_SWITCH("equalize", dq_int8_arguments, asked.int8.equalize, .group = "Quantization",
                  .help = "scale channels to like ranges where it is exact: auto (when outputs come closer), on, off"),
    DQ_ROW_SWITCH("bias-correction", dq_int8_arguments, asked.int8.bias_correction, .group = "Quantization",
                  .help =
                      "take back the mean shift that rounding weights makes: auto (when outputs come closer), on, off"),
    DQ_ROW_SWITCH(
        "bias-absorption", dq_int8_arguments, asked.int8.bias_absorption, .group = "Quantization",
        .help = "move what channels always stay above into the next biases: auto (when outputs come clearly closer), "
                "on, off",
        .details =
            "Behind Relu or Clip, where only convolutions without padding or matrix products read the value and its "
            "range becomes narrower by a hundredth or more. Values below what the pictures of --data showed are cut."),
    DQ_ROW_SWITCH(
        "range-search", dq_int8_arguments, asked.int8.range_search, .group = "Quantization",
        .help = "of some ranges take that with least error in what reads the value: auto (when outputs come clearly "
                "closer; "
                "not with --method), on, off",
        .details =
            "Ranges: that of the method, of minmax and of mse, and 0.9 to 0.5 of the first. Every operator that reads "
            "the value is run with each of them on 16 pictures, more of small networks."),
    {.name = "accumulator",
     .type = DQ_OPTION_ENUM,
     .choices = "auto|int32|pairs|int16",
     .preset = "auto",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.int8.accumulator),
     .help = "how narrow sums provably are: int32, pairs (neighbouring products fit int16), int16 (blocks "
             "of the sum fit int16), auto (pairs where it costs little)"},
    {.name = "rounding",
     .type = DQ_OPTION_ENUM,
     .choice = rounding_name,
     .choice_help = rounding_help,
     .value = "NAME",
     .preset = "nearest",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, rounding),
     .help = "how weights become integers"},
    {.name = "per-tensor",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.int8.per_tensor),
     .help = "one scale per weight instead of one per output channel"},
    {.name = "activations",
     .aliases = "activation-type",
     .type = DQ_OPTION_ENUM,
     .choices = "u8=quint8|s8=qint8",
     .preset = "u8",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.activations),
     .help = "type of the activations: u8, s8"},
    {.name = "format",
     .aliases = "quant-format",
     .type = DQ_OPTION_ENUM,
     .choices = "qdq|qoperator",
     .preset = "qdq",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.form),
     .help = "how quantization is written: qdq (pairs around operators), qoperator (operators on integers)",
     .details = "qdq: QuantizeLinear and DequantizeLinear around float operators, which runtimes make integer "
                "kernels of. qoperator: QLinearConv and QLinearMatMul, and operators of ONNX Runtime's domain "
                "com.microsoft for Add, Mul, Concat, pools and activations; what has no such form stays between "
                "its pairs. The integers are the same."},
    {.name = "symmetric",
     .aliases = "activation-symmetric",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.int8.symmetric),
     .help = "activations symmetric around zero (weights always are)"},
    {.name = "precision",
     .job = DQ_JOB_FILE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.precision),
     .help = "take the precision of layers from a settings file: fp32, fp16, int8",
     .details = "JSON: {\"schema\": \"dq-precision\", \"version\": 1, \"layers\": {\"conv1\": \"fp16\"}}. "
                "Layers that are not named are quantized where they can be. Float16 layers have their weights in "
                "float16 and casts around them, as dq-amp writes them; a Relu or Clip stays with its layer."},
    {.name = "save-precision",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.files.precision),
     .help = "write the precision of every layer, for --precision"},
    {.name = "overflow",
     .type = DQ_OPTION_FLAG,
     .group = "Output",
     DQ_INTO(dq_int8_arguments, overflow),
     .help = "show the audit of sums and pairs of products for every layer, not its summary alone",
     .details =
         "Bits of the widest sum seen and of the widest possible (proven), outputs at an end of their range, pairs "
         "of products that 16 bits would clip, and whether sums can overflow. JSON, CSV and HTML have them "
         "without the option as well, and like it figures of layers on 32 pictures in place of 8. dq-report --overflow "
         "says more."},
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .maximum = 100,
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.max_drop),
     .needs = "data",
     .help = "leave as little in float as keeps accuracy within D percentage points; without labels: answers",
     .details =
         "When 8 bits everywhere lose too much, layers are ordered by the noise that leaving them in float spares the "
         "outputs, for their share of layers and multiply-accumulates. Below the shortest beginning of that order that "
         "holds the bound, choices with less in float are tried that have the least noise for it. Products stay in "
         "float16, others in float32. Without labels D bounds the percentage of answers that differ from those in "
         "float. --save-precision keeps the answer, --precision replays it. Exit status 1 when the bound cannot be "
         "held; the model that loses least is written. A note tells how much other pictures may lose, and how many "
         "would show whether D holds for them. --time-limit ends the search with the best so far."},
    DQ_ROW_MIN_SQNR(
        dq_int8_arguments, asked.bounds.sqnr, .group = "Quantization",
        .help = "leave layers in float until every part of an output has an SQNR of D dB on other pictures (the "
                "lower end of its 95 % interval); exit 1 if not"),
    DQ_ROW_MIN_AGREEMENT(
        dq_int8_arguments, asked.bounds.agreement, .group = "Quantization",
        .help =
            "leave layers in float until P percent of the answers are those in float on other pictures (the lower end "
            "of the 95 % interval); exit 1 if not",
        .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs stand for. Both "
                   "figures are those of the table of outputs, on pictures of --eval, or on those of --data, each "
                   "judged by a network with ranges of others. Where the pictures are too few to tell, the message "
                   "says how many it would take."),
    {.name = "max-float",
     .type = DQ_OPTION_PERCENT,
     .value = "P%",
     .maximum = 100,
     .preset = "10%",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.max_float),
     .help = "largest share of the multiply-accumulates and of the weights' bytes that may stay in float for "
             "--min-sqnr and --min-agreement, or where 8 bits lose much",
     .details = "Where it is not given, --min-sqnr and --min-agreement may take more multiply-accumulates, but no more "
                "weights. Exit status 1 where an output stays below 20 dB within it, or below a condition; the best "
                "model within it is written."},
    {.name = "all-int8",
     .type = DQ_OPTION_FLAG,
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, asked.all_int8),
     .help = "leave no layer in float for --min-sqnr and --min-agreement, or where 8 bits lose much",
     .details = "Else some stay in float where a part of an output has less than 10 dB, or less than 20 dB and 90 % of "
                "the answers; below 20 dB on 15 pictures also those that gain clearly, within --max-float."},
    {.name = "exclude",
     .aliases = "nodes-to-exclude",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, exclude),
     .help = "leave the nodes in float whose names match the shell pattern"},
    {.name = "only",
     .aliases = "nodes-to-quantize",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, only),
     .help = "quantize the nodes only whose names match the shell pattern"},
    {.name = "operators",
     .aliases = "op-types-to-quantize",
     .type = DQ_OPTION_LIST,
     .value = "OPS",
     .group = "Quantization",
     DQ_INTO(dq_int8_arguments, operators),
     .help = "quantize these operators only, with commas: Conv,Gemm (shell patterns)"},
    DQ_ROW_EVAL(
        dq_int8_arguments, eval.spec,
        .help = "measure accuracy and what the outputs lose on these pictures (accuracy: else on --data with labels)"),
    DQ_ROW_EVAL_LIMIT(dq_int8_arguments, eval.limit),
    DQ_ROW_TIME_LIMIT(
        dq_int8_arguments, asked.int8.time_limit, .needs = "max-drop|rounding|retrain",
        .help = "end the search of --max-drop and --rounding, with the best so far, and the command of --retrain "
                "after this time",
        .details = "Each of the three has the whole time. A command that is ended failed; trials of --max-drop are "
                   "completed."),
    DQ_ROW_RETRAIN(
        dq_int8_arguments, retrain, .help = "run this command on the quantized model, or train it here: builtin",
        .details =
            "The shell runs it with DQ_MODEL (the quantized model), DQ_ORIGINAL, DQ_OUTPUT (what it must write), "
            "DQ_DATA (what --data says) and DQ_SPEC (JSON: precisions of layers), for --time-limit at most. What it "
            "wrote is taken when it loads, has the same inputs, outputs, nodes and sizes of weights, is finite and "
            "runs; else the quantized model stays and the exit status is 1. " DQ_BUILTIN_INT8),
    DQ_ROW_SHAPE(dq_int8_arguments, shapes, ""),
};

static dq_status check(const void *parsed, dq_error *error) {
  const dq_int8_arguments *options = parsed;
  const dq_int8_request asked = dq_int8_asked(options);
  DQ_TRY(
      dq_hook_check(options->retrain, options->data.data, options->common.operands[0], options->output.output, error));
  return dq_int8_task_check(&asked, options->data.data != NULL, error);
}

const dq_command dq_verb_int8 = {
    .name = "dq-int8",
    .summary = "quantizes a model to 8-bit integers",
    .usage = "MODEL (--data SPEC | --use-table FILE) -o OUT [options]",
    .description =
        "Weights become int8 with one scale per output channel, activations 8 bits with one scale and zero "
        "point per tensor, chosen on the pictures of --data. Batch normalization, and what is multiplied or "
        "added by channel behind convolutions, is folded into them first. The model written carries "
        "QuantizeLinear and DequantizeLinear around every quantized operator, int8 weights and int32 "
        "biases; runtimes turn these into integer kernels.\n\n"
        "Calibration reads one picture at a time, so that memory does not grow with their number; the file "
        "written does not depend on threads. What options leave open is decided by trials with ranges of "
        "some pictures, judged on others. The table of outputs says what is lost there; where 8 bits "
        "everywhere ruin the outputs, layers stay in float. --use-table writes the file of a --table again.\n\n"
        "As processes of an MPI job (mpirun -n 4 dq-int8 ...) each runs a part of the pictures of "
        "calibrations, trials, range search and accuracy, and the files have the same bytes. The first "
        "process writes and prints. This needs a build with Open MPI.",
    .examples = "# quantize with 100 pictures\n"
                "dq-int8 model.onnx --data calib.txt --preset imagenet -o int8.onnx\n"
                "# keep the head in float\n"
                "dq-int8 model.onnx --data pictures/ --preset darknet --exclude 'head*' -o int8.onnx\n"
                "# at most half a point of accuracy, whatever has to stay in float for it\n"
                "dq-int8 model.onnx --data train.txt --eval test.txt --preset imagenet --max-drop 0.5 -o int8.onnx \\\n"
                "    --save-precision p.json\n"
                "# keep the calibration and use it again without pictures\n"
                "dq-int8 model.onnx --data calib.txt --preset imagenet --table calib.json -o int8.onnx\n"
                "dq-int8 model.onnx --use-table calib.json -o again.onnx\n"
                "# four processes\n"
                "mpirun -n 4 dq-int8 model.onnx --data calib.txt --preset imagenet -o int8.onnx",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_OUTPUT | DQ_WITH_REPORT | DQ_WITH_PROCESSES,
    .data_offset = offsetof(dq_int8_arguments, data),
    .output_offset = offsetof(dq_int8_arguments, output),
    .report_offset = offsetof(dq_int8_arguments, report),
    .rules = {{DQ_RULE_REQUIRED, "output"},
              {DQ_RULE_AT_MOST_ONE, "max-drop precision use-table"},
              {DQ_RULE_EXCLUDES,
               "use-table method percentile equalize bias-absorption bias-correction range-search rounding"}},
    .options_size = sizeof(dq_int8_arguments),
    .check = check,
    .run = dq_int8_command_run,
};
