// Texts inside JSON that is written line by line, because it is too large to be built as a whole.
#ifndef DQ_RENDER_JSON_TEXT_H
#define DQ_RENDER_JSON_TEXT_H

#include <stdbool.h>
#include <stdio.h>

// Writes a text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. False: there is no memory, or
// the stream has failed.
bool dq_json_text(FILE *stream, const char *text);

#endif
