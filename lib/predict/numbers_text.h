// What stands for a text where no dictionary is known. Private to this module.
#ifndef DQ_PREDICT_NUMBERS_TEXT_H
#define DQ_PREDICT_NUMBERS_TEXT_H

#include "lib/decode/text/ctc.h"

// The numbers of the classes with spaces between them, which the caller frees with dq_budget_free. DQ_SYSTEM: there is
// no memory.
dq_status dq_numbers_text(char **text, const dq_ctc *ctc, const dq_context *context, dq_error *error);

#endif
