#include "cmd/shared/verdict_check.h"

#include <math.h>

#include "cmd/options/options.h"
#include "lib/base/sizes.h"

dq_verdict_bounds dq_verdict_bounds_given(const void *options, const dq_verdict_bounds *bounds) {
  return (dq_verdict_bounds){.sqnr = dq_option_given(options, "min-sqnr") ? bounds->sqnr : -INFINITY,
                             .agreement = dq_option_given(options, "min-agreement") ? bounds->agreement : -INFINITY,
                             .sqnr_option = "--min-sqnr",
                             .agreement_option = "--min-agreement"};
}

void dq_verdict_warn(const dq_verdict *verdict, const char *advice, const dq_context *context) {
  char text[600];
  if (dq_verdict_is_ruinous(verdict))
    dq_message(context, DQ_WARNING, "much is lost. %s %s", dq_verdict_text(verdict, text, sizeof text), advice);
}
