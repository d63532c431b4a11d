// dq-train: training and retraining of a model on pictures.
#include <string.h>

#include "cmd/shared/command.h"
#include "cmd/shared/data.h"
#include "cmd/options/options_rows.h"
#include "lib/base/file.h"
#include "lib/document/origin.h"
#include "lib/onnx/onnx.h"
#include "lib/report/report_train.h"

typedef struct train_options {
  dq_common_options common;
  dq_data_arguments data;
  dq_output_options output;
  dq_report_options report;
  const char *validation, *augment, *teacher, *checkpoint;
  int64_t validation_limit, epochs, patience, every;
  double rate, warmup, momentum, decay, smoothing, temperature, feature_loss, time_limit;
  int schedule, optimizer, keep, qat; // dq_rate_course, 0 or 1 + dq_optimizer_kind, 1: the last, 1: int8
  bool freeze_statistics, resume;
  dq_option_list freeze, shapes;
} train_options;

#define TRAIN(field) DQ_INTO(train_options, field)

static const dq_option rows[] = {
    {.name = "val",
     .job = DQ_JOB_DATA,
     .aliases = "validation",
     .type = DQ_OPTION_FILE,
     .value = "SPEC",
     .group = "Data",
     TRAIN(validation),
     .help = "pictures to choose the best epoch by, which are not trained on",
     .details = "They are read as those of --data. With class labels the figure is top-1, else the SQNR of output 0 "
                "against the teacher."},
    DQ_ROW_PICTURES("val-limit", train_options, validation_limit, .group = "Data",
                    .help = "of --val: use the first N pictures only"),
    {.name = "batch",
     .aliases = "batch-size",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 65536,
     .value = "N",
     .preset = "64",
     .group = "Training",
     TRAIN(data.batch),
     .help = "pictures in a step",
     .details = "The gradient is the mean over them, and batch normalization takes its statistics from them. Pictures "
                "that are left over in an epoch are others in each epoch."},
    {.name = "epochs",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e6,
     .value = "N",
     .preset = "10",
     .group = "Training",
     TRAIN(epochs),
     .help = "how often all pictures are seen"},
    {.name = "lr",
     .aliases = "learning-rate",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 1e6,
     .open_minimum = true,
     .value = "R",
     .group = "Training",
     TRAIN(rate),
     .help = "learning rate: how far a step goes; 0.01 is usual, 0.0003 with --qat"},
    {.name = "schedule",
     .type = DQ_OPTION_ENUM,
     .choices = "constant|step|cosine|poly",
     .preset = "cosine",
     .group = "Training",
     TRAIN(schedule),
     .help = "course of the learning rate over all steps",
     .details =
         "step: a tenth from one half on, a hundredth from three quarters on. cosine: half a wave down to 0. poly: "
         "the square of the share that is left."},
    {.name = "warmup",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 1e6,
     .value = "E",
     .preset = "0",
     .group = "Training",
     TRAIN(warmup),
     .help = "the first E epochs, or a part of one, in which the learning rate grows"},
    {.name = "optimizer",
     .type = DQ_OPTION_ENUM,
     .choices = "auto|sgd|adam",
     .preset = "auto",
     .group = "Training",
     TRAIN(optimizer),
     .help = "rule of the steps: gradient descent with momentum, or Adam with decoupled weight decay",
     .details = "auto is adam with --qat, whose steps are then in proportion to the scales of the model, else sgd."},
    {.name = "momentum",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 0.999999,
     .value = "M",
     .preset = "0.9",
     .group = "Training",
     TRAIN(momentum),
     .help = "of sgd: share of the last step that goes into the next"},
    {.name = "weight-decay",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 1e6,
     .value = "D",
     .preset = "0",
     .group = "Training",
     TRAIN(decay),
     .help = "pull kernels and matrices towards 0"},
    {.name = "label-smoothing",
     .type = DQ_OPTION_DOUBLE,
     .maximum = 0.999999,
     .value = "S",
     .preset = "0",
     .group = "Training",
     TRAIN(smoothing),
     .help = "share of the target that is spread over all classes"},
    {.name = "augment",
     .type = DQ_OPTION_STRING,
     .value = "LIST",
     .group = "Training",
     TRAIN(augment),
     .help = "random changes of the pictures, with commas between",
     .details =
         "flip: left and right exchanged in half of the cases. crop=N: a window of the picture's size out of the "
         "picture with N zeros on each side. cutout=N: N x N pixels set to 0. colour=S: contrast by a factor of "
         "1 - S to 1 + S, brightness by up to S standard deviations."},
    {.name = "freeze",
     .type = DQ_OPTION_LIST,
     .value = "PATTERN",
     .group = "Training",
     TRAIN(freeze),
     .help = "do not train the weights of these nodes"},
    {.name = "freeze-statistics",
     .type = DQ_OPTION_FLAG,
     .group = "Training",
     TRAIN(freeze_statistics),
     .help = "batch normalization by the stored statistics, as in inference"},
    {.name = "teacher",
     .job = DQ_JOB_MODEL,
     .type = DQ_OPTION_FILE,
     .value = "MODEL",
     .group = "Training",
     TRAIN(teacher),
     .help = "learn the answers of this model in place of labels",
     .details =
         "After a compression this is the model before it; labels are not needed. Where output 0 has no scores of "
         "classes, the mean squared difference is the loss."},
    {.name = "temperature",
     .type = DQ_OPTION_DOUBLE,
     .minimum = 0.001,
     .maximum = 1e6,
     .value = "T",
     .preset = "1",
     .group = "Training",
     TRAIN(temperature),
     .needs = "teacher",
     .help = "divide the scores of both models by T before the comparison"},
    {.name = "feature-loss",
     .type = DQ_OPTION_DOUBLE,
     .minimum = 0,
     .maximum = 1e6,
     .value = "W",
     .preset = "0",
     .group = "Training",
     TRAIN(feature_loss),
     .needs = "teacher",
     .help = "add W times the relative squared error of inner values to the loss",
     .details =
         "Compared are the values that stand for one which a convolution or matrix product of the teacher reads, "
         "as far as the model says which these are (it does behind dq-tucker and dq-int8); else values of equal "
         "names."},
    {.name = "qat",
     .type = DQ_OPTION_ENUM,
     .choices = "none|int8",
     .preset = "none",
     .group = "Training",
     TRAIN(qat),
     .help = "quantization-aware training of a model that dq-int8 wrote",
     .details = "The steps see weights and values rounded as the model rounds them. Its weights, biases and scales are "
                "trained, its zero points stay, and integers are written and validated."},
    {.name = "keep",
     .type = DQ_OPTION_ENUM,
     .choices = "best|last",
     .preset = "best",
     .group = "Training",
     TRAIN(keep),
     .help = "which epoch's model is written"},
    {.name = "patience",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e9,
     .value = "N",
     .group = "Training",
     TRAIN(patience),
     .help = "end when N epochs in a row are not better than the best"},
    {.name = "checkpoint",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "DIR",
     .group = "Checkpoints",
     TRAIN(checkpoint),
     .help = "keep the state of the training in this folder, for --resume",
     .details = "The file DIR/checkpoint is written after every epoch and when the command is interrupted."},
    {.name = "checkpoint-every",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e12,
     .value = "N",
     .group = "Checkpoints",
     TRAIN(every),
     .needs = "checkpoint",
     .help = "write it after every N steps too"},
    {.name = "resume",
     .type = DQ_OPTION_FLAG,
     .group = "Checkpoints",
     TRAIN(resume),
     .needs = "checkpoint",
     .help = "go on from the checkpoint, where there is one",
     .details = "The model written then has the same bytes as that of a training that was never ended. Another --lr "
                "counts from there on."},
    DQ_ROW_TIME_LIMIT(train_options, time_limit, .group = "Training",
                      .help = "end the training after this time, with the best so far"),
    DQ_ROW_SHAPE(train_options, shapes, ""),
};

typedef struct work {
  const train_options *options;
  const dq_context *context;
  dq_arena *arena;
  dq_graph *graph, *teacher;
  dq_data *data, *validation;
  dq_trainer_options settings;
  dq_train_report report;
} work;

static dq_status open_all(work *w, dq_error *error) {
  const train_options *options = w->options;
  dq_data_arguments arguments = options->data;
  DQ_TRY(dq_model_open(&w->graph, options->common.operands[0], w->context, error));
  if (options->teacher) DQ_TRY(dq_model_open(&w->teacher, options->teacher, w->context, error));
  dq_recall_preset(&arguments, w->graph, w->context);
  DQ_TRY(dq_open_data(&w->data, &arguments, options->common.seed, w->context, error));
  arguments.data = options->validation;
  arguments.limit = options->validation_limit, arguments.sample = 0;
  arguments.labels = NULL; // they belong to --data
  return dq_open_data(&w->validation, &arguments, options->common.seed, w->context, error);
}

static dq_status read_settings(work *w, dq_error *error) {
  const train_options *o = w->options;
  const bool quantized = o->qat == 1;
  const int optimizer = o->optimizer ? o->optimizer - 1 : quantized ? DQ_OPTIMIZER_ADAM : DQ_OPTIMIZER_SGD;
  const double rate = o->rate > 0 ? o->rate : quantized ? 0.0003 : 0.01;
  w->settings = (dq_trainer_options){.training = {.temperature = o->temperature,
                                                  .feature_loss = o->feature_loss,
                                                  .batch = o->data.batch,
                                                  .frozen = o->freeze.items,
                                                  .frozen_count = o->freeze.count,
                                                  .frozen_statistics = o->freeze_statistics,
                                                  .quantized = quantized},
                                     .optimizer = dq_optimizer_of((dq_optimizer_kind)optimizer, o->momentum, o->decay),
                                     .rate = {.course = (dq_rate_course)o->schedule, .rate = rate, .power = 2},
                                     .warmup = o->warmup,
                                     .epochs = o->epochs,
                                     .label_smoothing = o->smoothing,
                                     .data = w->data,
                                     .validation = w->validation,
                                     .teacher = w->teacher,
                                     .patience = o->patience,
                                     .last = o->keep == 1,
                                     .checkpoint = o->checkpoint,
                                     .checkpoint_every = o->every,
                                     .resume = o->resume,
                                     .time_limit = o->time_limit};
  if (o->augment) DQ_TRY(dq_augmentation_parse(&w->settings.augmentation, o->augment, error));
  return dq_read_shapes(&o->shapes, w->graph, 0, w->arena, &w->settings.training.shapes, error);
}

static dq_status report(const work *w, dq_error *error) {
  char title[512];
  snprintf(title, sizeof title, "Training of %s", w->options->common.operands[0]);
  dq_report *shown = dq_report_new("dq-train", 1, title);
  dq_report_train(shown, &w->report);
  dq_status status = dq_command_report(&w->options->common, shown, error);
  dq_report_free(shown);
  return status;
}

// Opens the output before the training, so that a wrong path ends the command at once.
static dq_status probe_output(const work *w, dq_error *error) {
  dq_output probe = {0};
  dq_status status = DQ_OK;
  if (dq_command_writes(w->context)) status = dq_output_open(&probe, w->options->output.output, error);
  dq_output_discard(&probe);
  return dq_processes_agree(w->context->processes, status, error);
}

static dq_status write_all(const work *w, dq_error *error) {
  const char *path = w->options->output.output;
  if (!dq_command_writes(w->context)) return DQ_OK;
  DQ_TRY(dq_onnx_save(w->graph, path, error));
  DQ_TRY(dq_verify_model(path, w->context, error));
  return report(w, error);
}

// A training that ended badly is written and reported like any other, and its reason comes last.
static dq_status train(work *w, dq_error *error) {
  dq_error reason = {0};
  DQ_TRY(probe_output(w, error));
  const dq_status status = dq_train(w->graph, &w->settings, &w->report, w->arena, w->context, &reason);
  if (status == DQ_OK || status == DQ_CONDITION)
    DQ_TRY(dq_processes_agree(w->context->processes, write_all(w, error), error));
  if (status == DQ_UNSUPPORTED) dq_error_prefix(&reason, status, "%s", w->options->common.operands[0]);
  if (status == DQ_CANCELLED && !w->options->checkpoint)
    dq_error_hint(&reason, "with --checkpoint DIR a training can be resumed");
  if (status != DQ_OK && error) *error = reason;
  return status;
}

static dq_status run(const void *parsed, const dq_context *context, dq_error *error) {
  const train_options *options = parsed;
  work w = {.options = options, .context = context, .arena = dq_context_arena(context)};
  dq_status status = w.arena ? open_all(&w, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = read_settings(&w, error);
  status = dq_processes_agree(context->processes, status, error);
  if (status == DQ_OK) status = train(&w, error);
  dq_data_free(w.data);
  dq_data_free(w.validation);
  dq_arena_free(w.arena);
  dq_graph_free(w.teacher);
  dq_graph_free(w.graph);
  return status;
}

static dq_status check(const void *parsed, dq_error *error) {
  const train_options *options = parsed;
  dq_augmentation augmentation;
  return options->augment ? dq_augmentation_parse(&augmentation, options->augment, error) : DQ_OK;
}

const dq_command dq_verb_train = {
    .name = "dq-train",
    .summary = "trains a model on pictures, or retrains one after a compression, also in 8 bits",
    .usage = "MODEL --data SPEC --val SPEC -o OUT [options]",
    .description =
        "Weights follow the gradient of a loss: the cross entropy of the class labels, or with --teacher that of "
        "another model's answers. Behind every epoch the model is validated on the pictures of --val, and the best one "
        "is written; one that is worse than the model at the start is not: that is written as it was, and the exit "
        "status is 1. With --qat int8 the model is one of dq-int8, and stays one of 8 bits.\n\n"
        "The bytes of the result depend on the pictures, the options and --seed, and not on the number of threads. "
        "With --checkpoint a training that was interrupted or killed goes on by --resume and ends in the same "
        "bytes.\n\n"
        "As processes of an MPI job (mpirun -n 4 dq-train ...) each takes a part of every batch, at least four "
        "pictures; "
        "the result has the same bytes. The first process writes and prints. This needs a build with Open MPI.",
    .examples = "# ten epochs on pictures of CIFAR-10\n"
                "dq-train model.onnx --data cifar10:a.bin,b.bin --val cifar10:c.bin -o trained.onnx \\\n"
                "    --preset cifar-raw --augment flip,crop=4 --weight-decay 1e-4\n"
                "# after a decomposition, without labels\n"
                "dq-train small.onnx --teacher model.onnx --data pictures/ --val others/ -o better.onnx \\\n"
                "    --preset imagenet\n"
                "# weights and scales of an 8-bit model, towards the answers of the model in float\n"
                "dq-train int8.onnx --qat int8 --teacher model.onnx --data pictures/ --val others/ -o better.onnx \\\n"
                "    --preset imagenet\n"
                "# four processes, here or on the machines of a file\n"
                "mpirun -n 4 --hostfile hosts dq-train model.onnx --data train.txt --val test.txt -o trained.onnx \\\n"
                "    --preset imagenet\n"
                "# a long training that may be interrupted; the same command goes on\n"
                "dq-train model.onnx --data train.txt --val test.txt -o trained.onnx --epochs 100 \\\n"
                "    --preset imagenet --checkpoint state --resume",
    .operand = "MODEL",
    .operands_minimum = 1,
    .operands_maximum = 1,
    DQ_OWN_ROWS(rows),
    .shared = DQ_WITH_DATA | DQ_WITH_OUTPUT | DQ_WITH_REPORT | DQ_OWN_BATCH | DQ_WITH_PROCESSES,
    .data_offset = offsetof(train_options, data),
    .output_offset = offsetof(train_options, output),
    .report_offset = offsetof(train_options, report),
    .rules = {{DQ_RULE_REQUIRED, "data val output"}},
    .options_size = sizeof(train_options),
    .check = check,
    .run = run,
};
