// Settings file of ranks by layer, which the option --ranks reads and --save-ranks writes:
//   {"schema": "dq-ranks", "version": 1,
//    "layers": {"conv1": {"out": 16, "in": 8}, ...}}
#ifndef DQ_DECOMP_RANKS_FILE_H
#define DQ_DECOMP_RANKS_FILE_H

#include "decomp/tucker/decomp.h"

// Reads the layers, in the order of the file, into (*layers)[*count], in the arena. An empty "layers" stands for a
// model in which nothing was decomposed: *count is 0 and *layers is not NULL. Messages name the path and the line or
// layer. DQ_SYSTEM: the file cannot be read; DQ_BAD_INPUT: the file is no JSON, has another schema, names a layer
// twice, or has a rank below 1.
dq_status dq_ranks_load(const char *path, dq_arena *arena, dq_layer_ranks **layers, int *count, dq_error *error);

// Writes the ranks of all layers that were decomposed; a decomposition with these ranks gives the same model. The file
// is written as a whole or not at all. DQ_SYSTEM: the file cannot be written.
dq_status dq_ranks_save(const char *path, const dq_tucker_report *report, dq_error *error);

#endif
