#include "lib/text/utf8.h"

int dq_utf8_next(const char *text, int32_t *code) {
  const unsigned char *byte = (const unsigned char *)text;
  *code = -1;
  if (byte[0] < 0x80) {
    *code = byte[0];
    return 1;
  }
  int length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
  if (byte[0] < 0xc2 || byte[0] > 0xf4) return 1;
  int32_t value = byte[0] & (0xff >> (length + 1));
  for (int i = 1; i < length; i++) {
    if ((byte[i] & 0xc0) != 0x80) return 1;
    value = value << 6 | (byte[i] & 0x3f);
  }
  static const int32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 1;
  *code = value;
  return length;
}

bool dq_utf8_is_control(int32_t code) {
  return (code >= 0 && code < 0x20) || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029;
}

bool dq_utf8_is_direction(int32_t code) {
  return code == 0x61c || (code >= 0x200e && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool dq_utf8_is_hidden(const char *text, int32_t code) {
  const unsigned char byte = (unsigned char)*text;
  return dq_utf8_is_control(code) || dq_utf8_is_direction(code) || (code < 0 && byte >= 0x80 && byte < 0xa0);
}

void dq_utf8_one_line(char *text) {
  char *to = text;
  while (*text) {
    int32_t code;
    const int length = dq_utf8_next(text, &code);
    if (dq_utf8_is_hidden(text, code)) *to++ = '?';
    else
      for (int i = 0; i < length; i++) *to++ = text[i];
    text += length;
  }
  *to = 0;
}
