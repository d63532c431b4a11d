// Settings file of ranks per layer, as --ranks reads it and searches write it:
//   {"schema": "dq-ranks", "version": 1,
//    "layers": {"conv1": {"out": 16, "in": 8}, ...}}
#ifndef DQ_DECOMP_RANKS_FILE_H
#define DQ_DECOMP_RANKS_FILE_H

#include "decomp/tucker/decomp.h"

// Reads the layers in the order of the file, owned by the arena. Errors name the path, and line or
// layer: DQ_SYSTEM, DQ_BAD_INPUT (not JSON, another schema, a layer twice, ranks below 1). An empty
// object stands for a model in which nothing was decomposed: a list, but of no layers.
dq_status dq_ranks_load(const char *path, dq_arena *arena, dq_layer_ranks **layers, int *count, dq_error *error);

// Writes the ranks of the layers that were decomposed, atomically: with them the same model comes
// out again.
dq_status dq_ranks_save(const char *path, const dq_tucker_report *report, dq_error *error);

#endif
