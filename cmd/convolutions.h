// The option --conv: how convolutions are to be computed.
#ifndef DQ_CMD_CONVOLUTIONS_H
#define DQ_CMD_CONVOLUTIONS_H

#include "cmd/options.h"
#include "lib/base/arena.h"
#include "lib/exec/plan.h"

// One way to run a model: the algorithm for all convolutions, then those for some. The name is the
// algorithm's.
typedef struct dq_convolutions {
  const char *name;
  dq_conv_setting *settings;
  int count;
} dq_convolutions;

// The names of ALGORITHM, for the row of the option; NULL past the last.
const char *dq_convolutions_name(int index);

// Reads "ALGORITHM[,ALGORITHM...]" and "PATTERN=ALGORITHM" from the items: a way for each algorithm, or one
// for the algorithm `usual` when there is none, each with all the patterns. DQ_USAGE names the algorithms there are.
// Arrays are in the arena.
dq_status dq_read_convolutions(const dq_option_list *texts, const char *usual, dq_arena *arena, dq_convolutions **ways,
                               int *count, dq_error *error);

#endif
