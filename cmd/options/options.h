// Options as const tables: one row describes an option once, and parsing, --help, the man page and
// the shell completions all come from it.
#ifndef DQ_CMD_OPTIONS_H
#define DQ_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/sizes.h"
#include "lib/base/context.h"
#include "lib/base/status.h"

typedef enum dq_option_type {
  DQ_OPTION_FLAG,    // bool; takes no value
  DQ_OPTION_INT,     // int64_t in [minimum, maximum]
  DQ_OPTION_DOUBLE,  // double in [minimum, maximum], or (minimum, maximum] with open_minimum
  DQ_OPTION_PERCENT, // the same, a trailing % is allowed: -50% is -50.0
  DQ_OPTION_SIZE,    // size_t bytes; k, M, G, T are powers of 1024
  DQ_OPTION_TIME,    // double seconds; us, ms, s, m, h, and sums of them: 1h30m
  DQ_OPTION_STRING,  // const char *, never empty
  DQ_OPTION_FILE,    // const char *, completed as a file name
  DQ_OPTION_ENUM,    // int, the index in `choices`
  DQ_OPTION_LIST,    // dq_option_list; may be given again and again
} dq_option_type;

// What the processes of an MPI job must have in common of an option (cmd/shared/same_work.h).
typedef enum dq_option_job {
  DQ_JOB_SAME,  // the value
  DQ_JOB_OWN,   // nothing: results do not depend on it, or something else is compared in its place
  DQ_JOB_PLACE, // whether it is given: the value is a place that the first process writes or reads
  DQ_JOB_FILE,  // whether it is given, and the bytes of the file
  DQ_JOB_MODEL, // the same, with those of external data
  DQ_JOB_DATA,  // the same of pictures, with names and labels
} dq_option_job;

typedef struct dq_option_list {
  const char **items; // in the order given
  int count;
} dq_option_list;

typedef struct dq_option {
  const char *name;                 // long name, with '-' between words; '_' is accepted as well
  const char *aliases;              // other names taken but not advertised, space separated (words of other tools)
  const char *value;                // what stands for the value in help: "FILE", "R"; NULL: from the type
  const char *choices;              // ENUM: "minmax|u8=quint8|..."; the word behind '=' means the same. STRING, LIST:
                                    // words that help and completions offer; other words are allowed as well
  const char *(*choice)(int index); // instead of choices: name by index, NULL after the last
  const char *(*choice_help)(int index); // with choice: what --help says of it, in parentheses; NULL: nothing
  const char *preset;                    // default as the user would type it, parsed like a value; NULL: zero
  const char *group;                     // heading in help; NULL: "Options"
  const char *help;                      // one line, no period
  const char *details;                   // more sentences, for the man page
  const char *needs;       // options that must be given as well, space separated; a|b: one of both is enough
  double minimum, maximum; // both 0: no bound
  size_t offset, size;     // the target in the command's struct: DQ_INTO
  dq_option_type type;
  dq_option_job job;
  char letter;       // short name or 0
  bool open_minimum; // the minimum itself is not allowed
  bool hidden;       // parsed, but in no help
  bool joined;       // STRING, FILE: may be given again when each value is NAME=...; the values are joined by ';'
  bool stop;         // arguments behind it are neither parsed nor checked (--help)
  bool decides;      // giving it decides something, also with the value of `preset`
  bool clears;       // FLAG: makes its target false, which another flag makes true
} dq_option;

// Functions NAME_name and NAME_help for `choice` and `choice_help` of an option whose choices are the rows of a table:
// at(index) gives a row with `name` and `help`, NULL after the last.
#define DQ_TABLE_CHOICES(NAME, at)                                                                                     \
  static const char *NAME##_name(int index) { return at(index) ? at(index)->name : NULL; }                             \
  static const char *NAME##_help(int index) { return at(index)->help; }

// Names the target of a row: {.name = "ratio", ..., DQ_INTO(struct my_options, ratio)}.
#define DQ_INTO(type, field) .offset = offsetof(type, field), .size = sizeof(((type *)0)->field)

typedef struct dq_option_group {
  const dq_option *rows;
  int count;
  size_t offset; // of the struct the rows fill within the command's struct
} dq_option_group;

typedef enum dq_rule_kind {
  DQ_RULE_REQUIRED,    // each must be given
  DQ_RULE_ONE_OF,      // exactly one must be given
  DQ_RULE_AT_MOST_ONE, // they exclude each other
  DQ_RULE_EXCLUDES,    // the first one excludes each of the others
} dq_rule_kind;

typedef struct dq_option_rule {
  dq_rule_kind kind;
  const char *names; // long names, space separated
} dq_option_rule;

typedef struct dq_command dq_command;
enum { DQ_OPTION_GROUPS = 10, DQ_OPTION_RULES = 16, DQ_OPTION_ROWS = 128 };

// What every command has; stands first in its struct of options.
typedef struct dq_common_options {
  const dq_command *command;
  const char **operands; // the arguments that are not options
  int operand_count;
  int64_t threads; // 0: not given
  int64_t seed;
  const char *cpu_mask_text;
  unsigned cpu_mask;
  size_t memory;      // bytes, 0: no bound
  const char *wisdom; // with DQ_WITH_WISDOM; NULL: the file of the user
  bool no_wisdom;
  bool verbose, quiet, help, version, help_man, help_check;
  int color;         // enum dq_when
  int progress;      // enum dq_progress_kind
  int accumulate;    // enum dq_accumulation
  int help_complete; // enum dq_shell
  unsigned char given[DQ_OPTION_ROWS];
  dq_option_list joined; // values of options that were given several times
} dq_common_options;

enum dq_when { DQ_WHEN_AUTO, DQ_WHEN_ALWAYS, DQ_WHEN_NEVER };
enum dq_progress_kind { DQ_PROGRESS_AUTO, DQ_PROGRESS_BAR, DQ_PROGRESS_PLAIN, DQ_PROGRESS_NONE };
enum dq_accumulation { DQ_ACCUMULATION_FP32, DQ_ACCUMULATION_FP16 };
enum dq_shell { DQ_SHELL_BASH, DQ_SHELL_ZSH, DQ_SHELL_FISH };
// AUTO, ON, OFF: the choices "auto|on|off" of options that decide by themselves.
enum dq_switch { DQ_SWITCH_AUTO, DQ_SWITCH_ON, DQ_SWITCH_OFF };

// Values of the options of commands that read data. NULL: the option was not given.
typedef struct dq_data_arguments {
  const char *data;
  int64_t limit;          // number of pictures; 0: all
  int64_t sample;         // number of pictures that are drawn in place of the first; 0: none are
  int64_t batch;          // pictures that one run takes
  const char *preset;     // without it and preprocess, the preprocessing that the model records is used
  const char *preprocess; // fields that replace those of the preset
  const char *labels;     // as in dq_data_options, like norm and strict
  const char *norm;
  const char *decode; // as in dq_task_options
  int task;           // enum dq_task_choice
  bool strict;
} dq_data_arguments;

enum dq_task_choice {
  DQ_CHOICE_TASK_AUTO,
  DQ_CHOICE_TASK_CLASSIFY,
  DQ_CHOICE_TASK_SEGMENT,
  DQ_CHOICE_TASK_DETECT,
  DQ_CHOICE_TASK_NONE
};

// Options of commands that write a model and tables of facts.
typedef struct dq_output_options {
  const char *output; // the model
} dq_output_options;

typedef struct dq_report_options {
  const char *json, *csv, *html; // NULL: not wanted; "-" is standard output
} dq_report_options;

extern const dq_option dq_common_rows[], dq_info_rows[], dq_data_rows[], dq_batch_rows[], dq_task_rows[],
    dq_output_rows[], dq_report_rows[], dq_sums_rows[], dq_wisdom_rows[];
extern const int dq_common_row_count, dq_info_row_count, dq_data_row_count, dq_batch_row_count, dq_task_row_count,
    dq_output_row_count, dq_report_row_count, dq_sums_row_count, dq_wisdom_row_count;

// A command's own table, for dq_command: DQ_OWN_ROWS(rows).
#define DQ_OWN_ROWS(array) .rows = (array), .row_count = DQ_COUNT(array)

// Which shared rows a command takes. The common ones are there unless DQ_ONLY_INFO leaves --help and
// --version alone.
typedef enum dq_shared_rows {
  DQ_WITH_DATA = 1,
  DQ_WITH_OUTPUT = 2,
  DQ_WITH_REPORT = 4,
  DQ_ONLY_INFO = 8,
  DQ_WITH_SUMS = 16,       // runs models: --accumulate
  DQ_WITH_TASK = 32,       // measures quality on the data: --task, --decode
  DQ_WITH_WISDOM = 128,    // runs models as wisdom says: --wisdom, --no-wisdom
  DQ_WITH_PROCESSES = 256, // divides its work among the processes of an MPI job
  DQ_OWN_BATCH = 64        // has a row of its own for --batch, which changes results
} dq_shared_rows;

// A command: everything help, the man page and the parser need, and the function that does it.
struct dq_command {
  const char *name;                       // "dq-int8"
  const char *summary;                    // one line, no period
  const char *usage;                      // after the name: "MODEL --data SPEC -o OUT [options]"
  const char *description;                // paragraphs separated by empty lines
  const char *examples;                   // lines "# what it does" and "dq-int8 ...", as typed
  const char *operand;                    // "MODEL"
  int operands_minimum, operands_maximum; // maximum -1: any number
  bool front;                             // its first operand is the VERB of another command, dq-VERB: for completions
  const dq_option *rows;                  // the command's own options
  int row_count;
  unsigned shared;                                  // dq_shared_rows, ORed
  size_t data_offset, output_offset, report_offset; // of the shared structs in the options struct
  dq_option_rule rules[DQ_OPTION_RULES];            // ends with names == NULL
  size_t options_size;                              // of the struct, which starts with dq_common_options
  // Checks the parsed options further; usage errors only. May be NULL.
  dq_status (*check)(const void *options, dq_error *error);
  dq_status (*run)(const void *options, const dq_context *context, dq_error *error);
};

// Fills `groups` with the command's own rows, then the shared ones; returns how many.
int dq_option_groups(const dq_command *command, dq_option_group groups[DQ_OPTION_GROUPS]);

// A row, and the offset of its target in the struct of options of the command.
typedef struct dq_option_place {
  const dq_option *row;
  size_t offset;
} dq_option_place;

// Lists the rows of all groups of a command, in order, and returns their number. The index of a row in this list is its
// index in dq_common_options.given.
int dq_option_places(const dq_command *command, dq_option_place places[DQ_OPTION_ROWS]);

// Writes the name of choice `index` (without its other words) to `text`, of `size` bytes. False: there is none.
bool dq_option_choice(const dq_option *row, int index, char *text, size_t size);

// Parses argv into `options` (command->options_size bytes, zeroed here): the default values of the rows (`preset`)
// first, then what the user gave. Checks values, rules and operands. Strings point into argv, which must outlive the
// options. The caller calls dq_options_free after success and after failure. DQ_USAGE names the option, the value and
// what is allowed; DQ_SYSTEM: there is no memory.
dq_status dq_options_parse(const dq_command *command, int argc, char **argv, void *options, dq_error *error);
void dq_options_free(const dq_command *command, void *options);

// Parses `text` as the type of the row says into `target`. DQ_USAGE: the value has another form or is out of its range;
// the message begins with the value, and the caller puts the option in front.
dq_status dq_option_value(const dq_option *row, const char *text, void *target, dq_error *error);

// Whether the user gave the option (not by its preset). `options` is the command's struct.
bool dq_option_given(const void *options, const char *name);

// The target of an option of the command, in its struct `options`; NULL: the command has no such option.
const void *dq_option_target(const void *options, const char *name);

// DQ_USAGE, with the first fault in the message: the tables of the command have a fault, such as a name that occurs
// twice, a preset that cannot be parsed, a target of the wrong size, or a rule with an unknown name.
dq_status dq_options_check(const dq_command *command, dq_error *error);

// Write the text of --help, the manual page, and the completions of a shell to `stream`.
void dq_options_help(const dq_command *command, FILE *stream);
void dq_options_man(const dq_command *command, FILE *stream);
void dq_options_complete(const dq_command *command, enum dq_shell shell, FILE *stream);

#endif
