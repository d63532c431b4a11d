// What a conversion did, for the retraining hook, as JSON texts. *text is in the arena; DQ_SYSTEM: there is no memory.
#ifndef DQ_QUANT_HOOK_SPEC_H
#define DQ_QUANT_HOOK_SPEC_H

#include "quant/amp/amp.h"
#include "quant/int8/int8.h"

// One entry for each layer of the report, with the name of its node (dq_node_name) and the precision (int8, fp16 or
// fp32):
//   {"schema": "dq-hook", "version": 1, "tool": "dq-int8", "layers": [{"layer": "conv1", "precision": "int8"}, ...]}
dq_status dq_int8_spec(const dq_int8_report *report, dq_arena *arena, const char **text, dq_error *error);

// The text of a conversion by dq-amp ("tool": "dq-amp"): one entry for each node that computes with floats, with the
// precision fp16 or fp32.
dq_status dq_amp_spec(const dq_amp_report *report, dq_arena *arena, const char **text, dq_error *error);

#endif
