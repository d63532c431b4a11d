// The option rows that several commands share, and the exit statuses of all of them.
#include "lib/base/sizes.h"
#include "cmd/options/options.h"
#include "cmd/options/options_internal.h"
#include "datasets/datasets.h"
#include "lib/decode/decode.h"

#define COMMON(field) DQ_INTO(dq_common_options, field)
#define DATA(field) DQ_INTO(dq_data_arguments, field)
#define OUTPUT(field) DQ_INTO(dq_output_options, field)
#define REPORT(field) DQ_INTO(dq_report_options, field)

static const char *instruction_set(int index) {
  static const char *const first[] = {"c", "native"};
  if (index < DQ_COUNT(first)) return first[index];
  return index - DQ_COUNT(first) < DQ_CPU_FEATURES ? dq_cpu_feature_name(index - DQ_COUNT(first)) : NULL;
}

const dq_option dq_common_rows[] = {
    {.name = "threads",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1024,
     .value = "N",
     .group = "Common",
     COMMON(threads),
     .help = "threads to use (default: the processors this process may use)",
     .details = "The result never depends on the number of threads."},
    {.name = "seed",
     .type = DQ_OPTION_INT,
     .maximum = 9007199254740992.0,
     .value = "N",
     .preset = "0",
     .group = "Common",
     COMMON(seed),
     .help = "what random numbers start from: pictures of synth: and noise",
     .details =
         "Noise is what dq-amp rounds weights on, what dq-bench and dq-tucker time networks on, and what a model that "
         "--retrain made is run on."},
    {.name = "cpu-mask",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_STRING,
     .value = "LIST",
     .preset = "native",
     .choice = instruction_set,
     .group = "Common",
     COMMON(cpu_mask_text),
     .help = "instruction sets allowed, with commas between",
     .details =
         "c: portable C only; native: all there are. Names, each with what it builds on; neon and what follows it "
         "are those of AArch64. Features the processor does not have are never used. Files written are the "
         "same with any."},
    {.name = "memory",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_SIZE,
     .minimum = 1,
     .maximum = 0x1p50,
     .group = "Common",
     COMMON(memory),
     .help = "refuse work that needs more memory than this"},
    {.name = "progress",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_ENUM,
     .choices = "auto|bar|plain|none",
     .preset = "auto",
     .group = "Common",
     COMMON(progress),
     .help = "how to show progress on standard error",
     .details = "auto draws a bar when standard error is a terminal and the work lasts over a "
                "second; elsewhere a line every 10 seconds tells what is done. plain prints such a line, with the "
                "rate, every 10 seconds of each part of the work."},
    {.name = "color",
     .job = DQ_JOB_OWN,
     .aliases = "colour",
     .type = DQ_OPTION_ENUM,
     .choices = "auto|always|never",
     .value = "WHEN",
     .preset = "auto",
     .group = "Common",
     COMMON(color),
     .help = "colour in tables and messages",
     .details = "auto means: on a terminal, unless NO_COLOR is set or TERM is dumb."},
    {.name = "verbose",
     .job = DQ_JOB_OWN,
     .letter = 'v',
     .type = DQ_OPTION_FLAG,
     .group = "Common",
     COMMON(verbose),
     .help = "say more on standard error: what trials found, time and memory taken"},
    {.name = "quiet",
     .job = DQ_JOB_OWN,
     .letter = 'q',
     .type = DQ_OPTION_FLAG,
     .group = "Common",
     COMMON(quiet),
     .help = "say only errors on standard error, no progress"},
};
const int dq_common_row_count = DQ_COUNT(dq_common_rows);

const dq_option dq_info_rows[] = {
    {.name = "help",
     .letter = 'h',
     .type = DQ_OPTION_FLAG,
     .stop = true,
     .group = "Common",
     COMMON(help),
     .help = "print this help and exit"},
    {.name = "version",
     .type = DQ_OPTION_FLAG,
     .stop = true,
     .group = "Common",
     COMMON(version),
     .help = "print the version and exit"},
    {.name = "help-man",
     .type = DQ_OPTION_FLAG,
     .stop = true,
     .hidden = true,
     COMMON(help_man),
     .help = "print the man page"},
    {.name = "help-complete",
     .type = DQ_OPTION_ENUM,
     .choices = "bash|zsh|fish",
     .stop = true,
     .hidden = true,
     COMMON(help_complete),
     .help = "print the completion of a shell"},
    {.name = "help-check",
     .type = DQ_OPTION_FLAG,
     .stop = true,
     .hidden = true,
     COMMON(help_check),
     .help = "check the option tables"},
};
const int dq_info_row_count = DQ_COUNT(dq_info_rows);

const dq_option dq_data_rows[] = {
    {.name = "data",
     .job = DQ_JOB_DATA,
     .aliases = "calibration-data calibrate-dataset",
     .type = DQ_OPTION_FILE,
     .value = "SPEC",
     .group = "Data",
     DATA(data),
     .joined = true,
     .help = "pictures: DIR, LIST.txt, coco:FILE.json, yolo:FILE.yaml, cifar10:FILE, mnist:IMAGES,LABELS, npy:FILE, "
             "pb:DIR, "
             "synth:NAME; INPUT=SPEC for each of several inputs",
     .details =
         "DIR: pictures in a folder, sub-folders being classes in sorted order unless "
         "--labels is given; images/ beside masks/ or labels/, or JPEGImages/ beside Annotations/: labels of the "
         "same names. LIST.txt: lines 'relative/path label'; a label may also be a "
         "mask file, a YOLO label file or an XML file of Pascal VOC. coco:FILE.json[,images=DIR]: the pictures and "
         "boxes of a file of COCO, "
         "the pictures beside it or in DIR. yolo:FILE.yaml[,split=train|val|test]: the pictures and box files that a "
         "data.yaml names, val without a split. cifar10:FILE[,FILE...]: CIFAR binary records. "
         "mnist:IMAGES,LABELS: idx files. npy:FILE[,LABELS]: arrays Nx..., float32 or "
         "uint8. pb:DIR: input_0.pb ... output_0.pb as in the ONNX test suite. "
         "synth:NAME[,k=v]: made on the spot. Pictures are written as the model has them, NxCxHxW or "
         "NxHxWxC. A model with several inputs takes --data INPUT=SPEC once for each input, by its name: "
         "--data left=pictures/ --data right=npy:right.npy, all with as many samples, or pb:DIR with "
         "input_0.pb, input_1.pb, ... in the order of the inputs."},
    {.name = "limit",
     .aliases = "subset-size calibration-data-size",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e9,
     .value = "N",
     .group = "Data",
     DATA(limit),
     .needs = "data",
     .help = "use the first N pictures only; of class folders N that are spread over all of them"},
    {.name = "sample",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 1e9,
     .value = "N",
     .group = "Data",
     DATA(sample),
     .needs = "data",
     .help = "use N pictures that are drawn at random by --seed, in their order"},
    {.name = "preset",
     .type = DQ_OPTION_STRING,
     .value = "NAME",
     .choice = dq_preset_name,
     .group = "Data",
     DATA(preset),
     .needs = "data|eval",
     .help = "how pictures become the model's input, where the model does not remember it",
     .details = "A model that dq writes remembers its preset. Metadata of models of Ultralytics tells it, which a "
                "message says; --preset overrides both."},
    {.name = "preprocess",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_STRING,
     .value = "K=V,...",
     .group = "Data",
     DATA(preprocess),
     .needs = "data|eval",
     .help = "overrides parts of the preset",
     .details = "resize=256, crop=224, fit=crop|stretch|letterbox|letterbox-corner|line, color=rgb|bgr|grey, "
                "mean=a:b:c, std=a:b:c, scale=s, filter=pil-bilinear|pil-bicubic, pad=p or a:b:c, norm=FILE. Numbers "
                "may be quotients: scale=1/255. Of a model that leaves its sizes open: longest=960 (its longer side "
                "at most), multiple=32 (both sides)."},
    {.name = "labels",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Data",
     DATA(labels),
     .needs = "data|eval",
     .help = "labels of the pictures, or names of the classes",
     .details =
         "A list of lines 'relative/path label', a folder of masks or box files, or FILE.json, boxes in the form "
         "of COCO, whose names of pictures begin at --data DIR; a file of other lines has the names of the "
         "classes. Names for coco:FILE.json tell which category is which class of the model."},
    {.name = "norm",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Data",
     DATA(norm),
     .needs = "data|eval",
     .help = "constants per patient, for the preset lgg"},
    {.name = "strict",
     .type = DQ_OPTION_FLAG,
     .group = "Data",
     DATA(strict),
     .needs = "data|eval",
     .help = "a picture that cannot be read is an error, not skipped"},
};
const int dq_data_row_count = DQ_COUNT(dq_data_rows);

const dq_option dq_batch_rows[] = {
    {.name = "batch",
     .aliases = "batch-size",
     .type = DQ_OPTION_INT,
     .minimum = 1,
     .maximum = 65536,
     .value = "N",
     .preset = "1",
     .group = "Data",
     DATA(batch),
     .needs = "data|eval",
     .help = "pictures run at once",
     .details =
         "Results are the same with any batch, the last pictures too where they are fewer. More pictures at once "
         "take more memory. A model that fixes its batch keeps that, which a note says. One at a time run the "
         "layers that dq-report --ref, --sensitivity and dq-int8 --rounding adaptive compare."},
};
const int dq_batch_row_count = DQ_COUNT(dq_batch_rows);

const dq_option dq_task_rows[] = {
    {.name = "task",
     .decides = true,
     .type = DQ_OPTION_ENUM,
     .choices = "auto|classify|segment|detect|none",
     .preset = "auto",
     .group = "Data",
     DATA(task),
     .needs = "data|eval",
     .help = "what the answers are measured as",
     .details =
         "classify: top-1 and top-5. segment: Dice and IoU. detect: mAP50 and the figures of COCO, with --decode. "
         "none: outputs are compared only. auto guesses from the output's shape and the "
         "labels and says so on standard error."},
    {.name = "decode",
     .type = DQ_OPTION_STRING,
     .value = "HOW",
     .choice = dq_head_name,
     .group = "Data",
     DATA(decode),
     .needs = "data|eval",
     .help = "how boxes come out of a detector",
     .details = "yolo takes classes and anchors from the model, or from what follows it: "
                "yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05, heads with '/' between. The others "
                "are known by the shapes of outputs and by metadata."},
};
const int dq_task_row_count = DQ_COUNT(dq_task_rows);

const dq_option dq_output_rows[] = {
    {.name = "output",
     .job = DQ_JOB_PLACE,
     .letter = 'o',
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Output",
     OUTPUT(output),
     .help = "the model to write, '-' for standard output",
     .details = "Written beside the target and renamed when complete: an interrupted or failed "
                "command leaves the old file or none."},
};
const int dq_output_row_count = DQ_COUNT(dq_output_rows);

const dq_option dq_report_rows[] = {
    {.name = "json",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Output",
     REPORT(json),
     .help = "write the facts as JSON, '-' for standard output"},
    {.name = "csv",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Output",
     REPORT(csv),
     .help = "write the tables as CSV, '-' for standard output"},
    {.name = "html",
     .job = DQ_JOB_PLACE,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Output",
     REPORT(html),
     .help = "write one self-contained page"},
};
const int dq_report_row_count = DQ_COUNT(dq_report_rows);

const dq_option dq_sums_rows[] = {
    {.name = "accumulate",
     .type = DQ_OPTION_ENUM,
     .choices = "fp32|fp16",
     .value = "TYPE",
     .preset = "fp32",
     .group = "Running",
     COMMON(accumulate),
     .help = "what convolutions in float16 add in",
     .details = "fp16: sums of 64 pairs of products run in float16, the sums of those in float32. Faster on processors "
                "with float16 arithmetic (AVX512-FP16), very slow on others, and less exact: dq-report --ref tells the "
                "loss. Depthwise convolutions and matrix products add in float32 always."},
};
const int dq_sums_row_count = DQ_COUNT(dq_sums_rows);

const dq_option dq_wisdom_rows[] = {
    {.name = "wisdom",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_FILE,
     .value = "FILE",
     .group = "Running",
     COMMON(wisdom),
     .help = "run each step as this file of dq-tune says (default: $XDG_CACHE_HOME/dq/wisdom)",
     .details = "Results do not depend on wisdom, times do. Without XDG_CACHE_HOME the file is ~/.cache/dq/wisdom. "
                "Records of another processor, another build of dq or another number of threads are not used."},
    {.name = "no-wisdom",
     .job = DQ_JOB_OWN,
     .type = DQ_OPTION_FLAG,
     .group = "Running",
     COMMON(no_wisdom),
     .help = "run each step as usual, without measured choices"},
};
const int dq_wisdom_row_count = DQ_COUNT(dq_wisdom_rows);

const dq_exit_meaning dq_exit_meanings[] = {
    {0, "done, and every condition set holds"},
    {1, "done, but a condition does not hold; the output is written all the same"},
    {2, "the command line is wrong"},
    {3, "an input is broken or does not fit"},
    {4, "an input is valid but not supported"},
    {5, "the system said no: memory, disk, permission"},
    {130, "interrupted"},
    {141, "standard output was a pipe that its reader closed"},
    {0, NULL},
};
