// Lists and dictionaries of texts as Python and JSON write them.
#ifndef DQ_DECODE_LITERAL_H
#define DQ_DECODE_LITERAL_H

#include <stdint.h>

#include "lib/base/status.h"

enum { DQ_MOST_NAMES = 1 << 20 }; // in a list

// Counts the texts of a list, or the highest key of a dictionary and one more. DQ_BAD_INPUT: the text is neither, or
// the number is above DQ_MOST_NAMES.
dq_status dq_literal_count(const char *text, int64_t *count, dq_error *error);

// Stores the texts one behind the other, each with a zero byte, in `texts`, of strlen(text) bytes, and in items[key]
// where each of them begins. `items` has as many elements as dq_literal_count counts, NULL at first. DQ_BAD_INPUT: as
// for dq_literal_count, or a key stands there twice.
dq_status dq_literal_store(const char *text, char **items, char *texts, dq_error *error);

#endif
