// What a conversion did, for the retraining hook: JSON texts, owned by the arena.
#ifndef DQ_QUANT_HOOK_SPEC_H
#define DQ_QUANT_HOOK_SPEC_H

#include "quant/amp/amp.h"
#include "quant/int8/int8.h"

//   {"schema": "dq-hook", "version": 1, "tool": "dq-int8", "layers": [{"layer": "conv1", "precision": "int8"}, ...]}
dq_status dq_int8_spec(const dq_int8_report *report, dq_arena *arena, const char **text, dq_error *error);

// The same of dq-amp, for every node that has float to compute with: "fp16" or "fp32".
dq_status dq_amp_spec(const dq_amp_report *report, dq_arena *arena, const char **text, dq_error *error);

#endif
