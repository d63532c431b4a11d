// Names of files for the outputs of a network.
#ifndef DQ_CMD_OUTPUT_NAMES_H
#define DQ_CMD_OUTPUT_NAMES_H

#include "lib/base/arena.h"
#include "lib/base/status.h"

// Makes file names without a suffix, one for each of the `count` names, all different: letters, digits and ". - _"
// stay, every other byte becomes '_', and names are cut to 180 bytes. Of several names that become one, the first that
// is unchanged keeps it (else the first); the others get "-2", "-3", ... behind it. *files and its texts are in the
// arena. DQ_SYSTEM: there is no memory.
dq_status dq_output_names(const char *const *names, int count, dq_arena *arena, const char ***files, dq_error *error);

// Makes the folder `path`, and those above it, where they are not there. DQ_SYSTEM: the system refuses.
dq_status dq_make_folder(const char *path, dq_error *error);

#endif
