// dq-tucker: Tucker-2 decomposition of a model's convolutions. The command line; tucker_command.c does the work.
#include <string.h>

#include "cmd/tucker_command.h"
#include "cmd/shared/hook.h"
#include "cmd/options/options_rows.h"

static const dq_option rows[] = {
    {.name = "ratio",
     .type = DQ_OPTION_DOUBLE,
     .value = "R",
     .maximum = 1,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, ratio),
     .help = "keep this share of each mode's rank, above 0 and at most 1"},
    {.name = "energy",
     .type = DQ_OPTION_DOUBLE,
     .value = "E",
     .maximum = 1,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, energy),
     .help = "keep this share of each mode's squared singular values",
     .details = "The smallest ranks are taken that reach it; 0.9 is a place to start."},
    {.name = "vbmf",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, vbmf),
     .help = "keep the singular values above the noise that the weights themselves show",
     .details = "Empirical variational Bayes matrix factorization of each unfolding: nothing to "
                "choose, but trained weights look noisier than they are; see --weaken. A layer in "
                "which a mode would keep a single channel is left alone."},
    {.name = "weaken",
     .type = DQ_OPTION_DOUBLE,
     .value = "W",
     .minimum = 0,
     .maximum = 1,
     .preset = "0",
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, weaken),
     .needs = "vbmf",
     .help = "with --vbmf: this share of what it drops is kept as well",
     .details = "The rank is r + W (full - r): 0 takes the rule as it is, 1 keeps the full rank."},
    {.name = "ranks",
     .type = DQ_OPTION_FILE,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, ranks),
     .help = "take layers and ranks from a settings file, exactly",
     .details = "JSON: {\"schema\": \"dq-ranks\", \"version\": 1, \"layers\": {\"conv1\": "
                "{\"out\": 16, \"in\": 8}}}. Layers not named are left alone."},
    {.name = "macs",
     .type = DQ_OPTION_PERCENT,
     .value = "-P%",
     .minimum = -100,
     .maximum = 0,
     .open_minimum = true,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, macs),
     .help = "change of the whole model's multiply-accumulates, such as -50%",
     .details = "The ranks of all layers are chosen together. With --data: for the least noise in the "
                "outputs, as measured layer by layer; without: for the least sum of squared error "
                "bounds of the weights."},
    {.name = "max-drop",
     .type = DQ_OPTION_DOUBLE,
     .value = "D",
     .minimum = 0,
     .maximum = 100,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, max_drop),
     .needs = "data",
     .help = "as few multiply-accumulates as the quality allows, at most D points lost",
     .details = "Bisection over the bound of --macs, about seven trials, each fitted to --data and "
                "measured on the labelled pictures of --eval. The best so far is always in the "
                "output file; --time-limit ends the search where it is. What was found is kept "
                "beside the output (OUT.search) until the search is complete, for --resume."},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, resume),
     .needs = "max-drop",
     .help = "go on with a search of --max-drop that was ended"},
    DQ_ROW_TIME_LIMIT(
        dq_tucker_arguments, time_limit, .needs = "max-drop|retrain",
        .help = "end the search of --max-drop, with the best so far, or the command of --retrain after this time",
        .details = "A command that is ended failed; with --every each has the whole time."),
    DQ_ROW_EVAL(
        dq_tucker_arguments, eval.spec,
        .help = "measure accuracy and what the outputs lose on these pictures (accuracy: else on --data with labels)",
        .details = "Before decomposition, after it and after --retrain; --max-drop bounds the loss there. Without "
                   "--eval a quarter of --data, at most 64 pictures, is kept apart for what the outputs lose."),
    DQ_ROW_EVAL_LIMIT(dq_tucker_arguments, eval.limit),
    DQ_ROW_PICTURES("fit-limit", dq_tucker_arguments, fit_limit, .group = "Data", .needs = "data",
                    .help = "of --data: fit the factors to the first N pictures only",
                    .details = "Some hundred are enough. Without --eval others of --data show what the outputs lose. "
                               "--retrain builtin trains on all pictures of --data."),
    {.name = "multiple",
     .type = DQ_OPTION_INT,
     .value = "N",
     .minimum = 1,
     .maximum = 4096,
     .preset = "1",
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, multiple),
     .help = "round ranks up to a multiple of N, at most to the full rank",
     .details = "Kernels compute blocks of 8 or 16 channels: ranks in between cost as much."},
    {.name = "plain",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, plain),
     .help = "decompose weights as they stand, whatever batch normalization follows",
     .details = "Otherwise the factors are fitted to --data; without data, output channels count as "
                "the batch normalization behind a convolution scales them, in the singular vectors "
                "and in the energies."},
    {.name = "force",
     .letter = 'f',
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, force),
     .help = "decompose layers too that get neither cheaper nor faster by it"},
    {.name = "gemm",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, gemm),
     .help = "decompose Gemm and MatMul with constant matrices too",
     .details = "Two products instead of one, at the rank of the input mode: by the truncated singular "
                "value decomposition, or fitted to --data."},
    {.name = "refine",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, refine),
     .help = "iterate until the factors at the ranks chosen get no better",
     .details = "Higher-order orthogonal iteration: the error of the weight falls a little. With "
                "--data: twenty rounds of the fit instead of four."},
    {.name = "untimed",
     .type = DQ_OPTION_FLAG,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, untimed),
     .help = "no clock: take all that becomes cheaper and smaller, the same on every run",
     .details = "Otherwise every layer is timed beside its factors on this machine and with these "
                "threads, and left alone when it does not become faster; a bound of --macs is then "
                "shared out among the others, if these can reach it. The clock may decide otherwise on another run: "
                "--ranks with the file that --save-ranks names gives the same bytes again."},
    {.name = "save-ranks",
     .type = DQ_OPTION_FILE,
     .group = "Ranks",
     DQ_INTO(dq_tucker_arguments, save_ranks),
     .help = "write the ranks chosen, for --ranks (default: OUT.ranks when the clock had a say)"},
    DQ_ROW_RETRAIN(dq_tucker_arguments, retrain,
                   .help = "run this command on the decomposed model and take what it writes; builtin: train it here",
                   .details = "It is run by the shell with DQ_MODEL (the decomposed model), DQ_ORIGINAL, DQ_OUTPUT "
                              "(what it must write), DQ_DATA and DQ_SPEC (JSON: layers, ranks, factors) set, for "
                              "--time-limit at most. What it wrote is taken when it loads, has the same inputs, "
                              "outputs and factors, is finite and runs; else the decomposed model stays and the "
                              "exit status is 1. " DQ_BUILTIN_DETAILS("the weights", "dq-train", "--eval", "0.0003")),
    {.name = "every",
     .type = DQ_OPTION_INT,
     .value = "K",
     .minimum = 1,
     .maximum = 1e6,
     .group = "Retraining",
     DQ_INTO(dq_tucker_arguments, every),
     .needs = "retrain",
     .help = "decompose K layers, retrain, and so on, instead of all at once",
     .details = "Ranks are chosen for all layers first. Each step starts from what the command wrote "
                "in the step before; when one fails, the output holds the steps until then."},
    DQ_ROW_MIN_SQNR(dq_tucker_arguments, bounds.sqnr, .help = "exit 1 when a part of an output has an SQNR below D dB",
                    .details = "The model is written all the same. The outputs are compared with those of the "
                               "original on the first 64 pictures of --eval, else on those of --data that nothing is "
                               "fitted to, without these on noise; the table of outputs shows the figures. On pictures "
                               "that nothing was fitted to the lower end of the 95 % interval counts."),
    DQ_ROW_MIN_AGREEMENT(dq_tucker_arguments, bounds.agreement,
                         .help = "exit 1 when less than P percent of the answers of an output are the original's",
                         .details = "Answers are classes, texts, classes of points, masks or boxes, as the outputs "
                                    "stand for. The model is written all the same. On pictures that nothing was "
                                    "fitted to the lower end of the 95 % interval counts."),
    DQ_ROW_SHAPE(dq_tucker_arguments, shapes, ", to count multiply-accumulates"),
};

// Usage that the table of options cannot tell, before any work.
static dq_status check(const void *parsed, dq_error *error) {
  const dq_tucker_arguments *options = parsed;
  DQ_TRY(dq_decoder_check(options->data.decode, error));
  bool pipe = !strcmp(options->output.output, "-");
  if (dq_option_given(options, "max-drop") && (pipe || !strcmp(options->common.operands[0], "-")))
    return dq_fail(error, DQ_USAGE, "--max-drop needs files to read and to write, not '-'");
  if (pipe && !options->untimed && !options->force && !options->ranks && !options->save_ranks) {
    dq_fail(error, DQ_USAGE, "measured times decide the ranks, which must be saved: give --save-ranks FILE");
    dq_error_hint(error, "--untimed decides without measuring");
    return DQ_USAGE;
  }
  return dq_hook_check(options->retrain, options->data.data, options->common.operands[0], options->output.output,
                       error);
}

const dq_command dq_verb_tucker = {
    .name = "dq-tucker",
    .summary = "makes convolutions cheaper by Tucker-2 decomposition",
    .usage = "MODEL -o OUT (--ratio R | --energy E | --vbmf | --macs -P% | --max-drop D | --ranks FILE) [options]",
    .description = "Every convolution with a kernel larger than 1x1 becomes three: 1x1 to fewer channels, the "
                   "kernel between those, 1x1 back to the output's channels. The factors are the leading left "
                   "singular vectors of the weight's unfoldings (higher-order SVD). Depthwise and 1x1 "
                   "convolutions are left alone, and so is every layer that would not get cheaper, unless "
                   "--force is given.\n\n"
                   "With --data the factors are fitted instead, layer after layer, to the answers that the "
                   "original gives on these pictures: some hundred pictures without labels are enough, and "
                   "far more accuracy is kept.\n\n"
                   "The table tells, per layer, the ranks, the share of squared singular values kept per mode, "
                   "the relative error of the weight, with --data the share of the answers' variance that is "
                   "missed, multiply-accumulates and parameters before and after, or why the layer was left "
                   "alone. The table of outputs says what is lost there: on the pictures of --eval, else on those of "
                   "--data, else on noise. Without data and without retraining, accuracy falls quickly.",
    .examples = "# keep half of each mode's rank\n"
                "dq-tucker model.onnx -o small.onnx --ratio 0.5\n"
                "# keep 90 % of the energy, at ranks that kernels like\n"
                "dq-tucker model.onnx -o small.onnx --energy 0.9 --multiple 8\n"
                "# 40 % less work, fitted to pictures\n"
                "dq-tucker model.onnx -o small.onnx --macs -40% --data pictures/ --preset imagenet\n"
                "# as little work as one point of accuracy allows, within an hour\n"
                "dq-tucker model.onnx -o small.onnx --max-drop 1 --data calib/ --eval labelled.txt \\\n"
                "    --preset imagenet --time-limit 1h\n"
                "# half of the work, then retrained\n"
                "dq-tucker model.onnx -o small.onnx --macs -50% --retrain 'python3 train.py'",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_TASK | DQ_WITH_OUTPUT | DQ_WITH_REPORT,
    .data_offset = offsetof(dq_tucker_arguments, data),
    .report_offset = offsetof(dq_tucker_arguments, report),
    .output_offset = offsetof(dq_tucker_arguments, output),
    .rules = {{DQ_RULE_REQUIRED, "output"},
              {DQ_RULE_ONE_OF, "ratio energy macs max-drop ranks vbmf"},
              {DQ_RULE_EXCLUDES, "ranks multiple untimed force"},
              {DQ_RULE_AT_MOST_ONE, "max-drop retrain"}},
    .options_size = sizeof(dq_tucker_arguments),
    .check = check,
    .run = dq_tucker_command_run,
};
