// The option --conv: how convolutions are to be computed.
#ifndef DQ_CMD_CONVOLUTIONS_H
#define DQ_CMD_CONVOLUTIONS_H

#include "cmd/options/options.h"
#include "lib/base/arena.h"
#include "lib/exec/plan.h"

// One way to run a model: first the setting for all convolutions, then those with a pattern.
typedef struct dq_convolutions {
  const char *name; // of the algorithm of the first setting
  dq_conv_setting *settings;
  int count;
} dq_convolutions;

// The name of algorithm `index`, as help and completions print it; NULL after the last.
const char *dq_convolutions_name(int index);

// Reads items of the forms "ALGORITHM[,ALGORITHM...]" and "PATTERN=ALGORITHM" into (*ways)[*count], in the arena: one
// way for each algorithm, or one for the algorithm `usual` when no item names one; each way has the settings of all
// patterns. DQ_USAGE: an algorithm is unknown; DQ_SYSTEM: there is no memory.
dq_status dq_read_convolutions(const dq_option_list *texts, const char *usual, dq_arena *arena, dq_convolutions **ways,
                               int *count, dq_error *error);

#endif
