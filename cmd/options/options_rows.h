// Rows of options that several commands have: how a value is read is the same everywhere, and each command names the
// field that it goes into, and the fields of dq_option that are its own (help, details, needs).
#ifndef DQ_CMD_OPTIONS_ROWS_H
#define DQ_CMD_OPTIONS_ROWS_H

#include "cmd/options/options.h"

// Labelled pictures to measure on; a number of pictures, and that of those to measure on.
#define DQ_ROW_EVAL(target, field, ...)                                                                                \
  {                                                                                                                    \
    .name = "eval", .job = DQ_JOB_DATA, .type = DQ_OPTION_FILE, .value = "SPEC", .group = "Data",                      \
    DQ_INTO(target, field), .joined = true, __VA_ARGS__                                                                \
  }
#define DQ_ROW_PICTURES(row_name, target, field, ...)                                                                  \
  {                                                                                                                    \
    .name = row_name, .type = DQ_OPTION_INT, .minimum = 1, .maximum = 1e9, .value = "N", DQ_INTO(target, field),       \
    __VA_ARGS__                                                                                                        \
  }
#define DQ_ROW_EVAL_LIMIT(target, field)                                                                               \
  DQ_ROW_PICTURES("eval-limit", target, field, .group = "Data", .needs = "eval",                                       \
                  .help = "of --eval: use the first N pictures only")

// Seconds, or with a unit; above 0.
#define DQ_ROW_TIME_LIMIT(target, field, ...)                                                                          \
  {                                                                                                                    \
    .name = "time-limit", .type = DQ_OPTION_TIME, .maximum = 1e9, .open_minimum = true, DQ_INTO(target, field),        \
    __VA_ARGS__                                                                                                        \
  }

// Conditions on what a conversion lost at the outputs (lib/verdict/verdict.h).
#define DQ_ROW_MIN_SQNR(target, field, ...)                                                                            \
  {                                                                                                                    \
    .name = "min-sqnr", .type = DQ_OPTION_DOUBLE, .value = "D", .minimum = -1000, .maximum = 1000,                     \
    DQ_INTO(target, field), __VA_ARGS__                                                                                \
  }
#define DQ_ROW_MIN_AGREEMENT(target, field, ...)                                                                       \
  {                                                                                                                    \
    .name = "min-agreement", .type = DQ_OPTION_PERCENT, .value = "P", .minimum = 0, .maximum = 100,                    \
    DQ_INTO(target, field), __VA_ARGS__                                                                                \
  }

// What --retrain builtin does: `WHAT` is trained, as `COMMAND` does, with the usual rate `RATE`, and judged on
// `PICTURES`.
#define DQ_BUILTIN_DETAILS(WHAT, COMMAND, PICTURES, RATE)                                                              \
  "builtin[,epochs=10][,batch=32][,lr=" RATE                                                                           \
  "][,temperature=1][,feature-loss=0][,flip][,crop=N][,cutout=N][,colour=S] trains " WHAT                              \
  " on the pictures of --data instead, as " COMMAND " does, until the outputs are those of the original: no labels "   \
  "are needed. The epoch that is best on " PICTURES " is taken."
#define DQ_BUILTIN_INT8                                                                                                \
  "Accuracy after and the table of outputs are those of the model taken. " DQ_BUILTIN_DETAILS(                         \
      "weights, biases and scales", "dq-train --qat int8", "these pictures", "0.0003")

// The retraining hook (cmd/shared/hook.h).
#define DQ_ROW_RETRAIN(target, field, ...)                                                                             \
  {                                                                                                                    \
    .name = "retrain", .type = DQ_OPTION_STRING, .value = "CMD", .group = "Retraining", DQ_INTO(target, field),        \
    __VA_ARGS__                                                                                                        \
  }

// Sizes that the model leaves open, for dq_read_shapes.
#define DQ_ROW_SHAPE(target, field, purpose)                                                                           \
  {                                                                                                                    \
    .name = "shape", .type = DQ_OPTION_LIST, .value = "NAME=N,3,224,224", DQ_INTO(target, field),                      \
    .help = "size of an input the model leaves open" purpose,                                                          \
    .details = "N, * or ? keep the size that the model has. Fewer sizes than dimensions are those of the last ones: "  \
               "--shape 320,320. NAME= may be missing when there is one input. A model that dq writes remembers "      \
               "sizes that its source left open, but for the batch."                                                   \
  }

// A step that is taken, left out, or decided by itself: enum dq_switch.
#define DQ_ROW_SWITCH(text, target, field, ...)                                                                        \
  {                                                                                                                    \
    .name = text, .type = DQ_OPTION_ENUM, .choices = "auto|on|off", .preset = "auto", DQ_INTO(target, field),          \
    __VA_ARGS__                                                                                                        \
  }

#endif
