#include "lib/text/print_name.h"

#include <stdint.h>
#include <string.h>

#include "lib/text/utf8.h"

void dq_print_name(FILE *stream, const char *text) {
  while (*text) {
    int32_t code;
    const int length = dq_utf8_next(text, &code);
    if (dq_utf8_is_hidden(text, code)) fputc('?', stream);
    else fwrite(text, 1, (size_t)length, stream);
    text += length;
  }
}
