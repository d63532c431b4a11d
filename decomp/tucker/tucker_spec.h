// What a decomposition did, for the retraining hook.
#ifndef DQ_DECOMP_TUCKER_SPEC_H
#define DQ_DECOMP_TUCKER_SPEC_H

#include "decomp/tucker/decomp.h"

// JSON text, owned by the arena:
//   {"schema": "dq-hook", "version": 1, "tool": "dq-tucker",
//    "layers": [{"layer": "conv1", "ranks": {"out": 16, "in": 8}, "error": 0.1,
//                "nodes": ["conv1/tucker_in", ...], "factors": ["conv1/tucker_in_weight", ...]}]}
// Only decomposed layers; nodes and initializers of the factors in the order they are run.
dq_status dq_tucker_spec(const dq_tucker_report *report, dq_arena *arena, const char **text, dq_error *error);

// The names of all nodes of factors, owned by the arena.
dq_status dq_tucker_nodes(const dq_tucker_report *report, dq_arena *arena, const char *const **names, int *count,
                          dq_error *error);

#endif
