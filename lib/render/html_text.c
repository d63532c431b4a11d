// Text inside of HTML pages.
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

enum { LONGEST_NAME = 1000 };

static void print_character(FILE *stream, const char *text, int length, int32_t code) {
  if (code < 0 || dq_utf8_is_direction(code)) fputs("&#xfffd;", stream);
  else if (code == '&') fputs("&amp;", stream);
  else if (code == '<') fputs("&lt;", stream);
  else if (code == '>') fputs("&gt;", stream);
  else if (code == '"') fputs("&quot;", stream);
  else if (code == '\'') fputs("&#39;", stream);
  else if (code == '\n') fputs("\\n", stream);
  else if (dq_utf8_is_control(code)) fprintf(stream, code < 0x100 ? "\\x%02x" : "\\u%04x", (unsigned)code);
  else fwrite(text, 1, (size_t)length, stream);
}

void dq_html_escaped_breaking(FILE *stream, const char *text, const char *breaks) {
  for (int count = 0; *text; count++) {
    if (count == LONGEST_NAME) {
      fputs("&hellip;", stream);
      return;
    }
    int32_t code;
    int length = dq_utf8_next(text, &code);
    print_character(stream, text, length, code);
    if (length == 1 && strchr(breaks, *text) && text[1]) fputs("<wbr>", stream);
    text += length;
  }
}

void dq_html_escaped(FILE *stream, const char *text) { dq_html_escaped_breaking(stream, text, ""); }
