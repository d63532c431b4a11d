// The verdict that ends commands which convert a model (lib/verdict/verdict.h): its conditions, and its warning.
#ifndef DQ_CMD_VERDICT_CHECK_H
#define DQ_CMD_VERDICT_CHECK_H

#include "lib/verdict/verdict.h"

// The bounds of --min-sqnr and --min-agreement, whose values stand in `bounds`; no bound for an option that was not
// given. `options` are those of the command.
dq_verdict_bounds dq_verdict_bounds_given(const void *options, const dq_verdict_bounds *bounds);

// Passes a warning to the context where the verdict is ruinous: "much is lost.", dq_verdict_text, and `advice`, a whole
// sentence that says what to do (not NULL, "" for none). Nothing happens for a verdict that is not ruinous, or that has
// no part, as nothing was compared then.
void dq_verdict_warn(const dq_verdict *verdict, const char *advice, const dq_context *context);

#endif
