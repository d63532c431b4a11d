// Shared by the files that make up the option machinery.
#ifndef DQ_CMD_OPTIONS_INTERNAL_H
#define DQ_CMD_OPTIONS_INTERNAL_H

#include "cmd/options.h"

// A row and where its target lies: flat list of all groups of a command, in order.
typedef struct dq_option_place {
  const dq_option *row;
  size_t offset;
} dq_option_place;

// At most DQ_OPTION_ROWS; returns how many. The index of a place is the index in `given`.
int dq_option_places(const dq_command *command, dq_option_place places[DQ_OPTION_ROWS]);

// Parses `text` as the row's type into `target`. Errors are DQ_USAGE and begin with the value, not
// with the option.
dq_status dq_option_value(const dq_option *row, const char *text, void *target, dq_error *error);

// The bytes a target of this type has.
size_t dq_option_type_size(dq_option_type type);

// What stands for the value in help, or NULL for flags.
const char *dq_option_metavar(const dq_option *row);

// Writes the bounds of the option's value, such as "0 < R <= 1", or "" when it has none, into `text` of `size` bytes
// and returns `text`.
const char *dq_option_range(const dq_option *row, char *text, size_t size);

// Whether the row has words that a value can be.
static inline bool dq_option_has_choices(const dq_option *row) { return row->choices || row->choice; }

// The name of choice `index` into `text` (without its other words); false after the last.
bool dq_option_choice(const dq_option *row, int index, char *text, size_t size);

// All choices, with `separator` between them.
const char *dq_option_choices(const dq_option *row, const char *separator, char *text, size_t size);

// Exit statuses of all commands, for help and man page: number and meaning, ends with NULL.
typedef struct dq_exit_meaning {
  int status;
  const char *meaning;
} dq_exit_meaning;
extern const dq_exit_meaning dq_exit_meanings[];

#endif
