// What a decomposition did, for the retraining hook.
#ifndef DQ_DECOMP_TUCKER_SPEC_H
#define DQ_DECOMP_TUCKER_SPEC_H

#include "decomp/tucker/decomp.h"

// Writes a JSON text, in the arena, with one entry for each decomposed layer; nodes and initializers of the factors are
// in the order they run. DQ_SYSTEM: there is no memory.
//   {"schema": "dq-hook", "version": 1, "tool": "dq-tucker",
//    "layers": [{"layer": "conv1", "ranks": {"out": 16, "in": 8}, "error": 0.1,
//                "nodes": ["conv1/tucker_in", ...], "factors": ["conv1/tucker_in_weight", ...]}]}
dq_status dq_tucker_spec(const dq_tucker_report *report, dq_arena *arena, const char **text, dq_error *error);

// Lists the names of all nodes of factors in (*names)[*count], in the arena; the texts belong to the report. DQ_SYSTEM:
// there is no memory.
dq_status dq_tucker_nodes(const dq_tucker_report *report, dq_arena *arena, const char *const **names, int *count,
                          dq_error *error);

#endif
