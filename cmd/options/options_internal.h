// What the files share that parse options and write help, manual pages and completions.
#ifndef DQ_CMD_OPTIONS_INTERNAL_H
#define DQ_CMD_OPTIONS_INTERNAL_H

#include "cmd/options/options.h"

// The number of bytes of a target of this type.
size_t dq_option_type_size(dq_option_type type);

// The word that stands for the value in help, such as "FILE"; NULL: the option is a flag.
const char *dq_option_metavar(const dq_option *row);

// Writes the bounds of the option's value with their unit, such as "1 to 8", "over 0 to 1" (the minimum is not
// allowed) or "-50% to 0%", or "" when it has none, into `text` of `size` (>= 1) bytes, cut off where it is longer, and
// returns `text`.
const char *dq_option_range(const dq_option *row, char *text, size_t size);

// Whether the row lists words for the value (`choices` or `choice`).
static inline bool dq_option_has_choices(const dq_option *row) { return row->choices || row->choice; }

// Writes the names of all choices, with `separator` between them, to `text`, of `size` bytes, and returns `text`.
const char *dq_option_choices(const dq_option *row, const char *separator, char *text, size_t size);

// Exit statuses of all commands, for help and man page: number and meaning, ends with NULL.
typedef struct dq_exit_meaning {
  int status;
  const char *meaning;
} dq_exit_meaning;
extern const dq_exit_meaning dq_exit_meanings[];

#endif
