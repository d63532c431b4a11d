// UTF-8, and the characters of names from files that must not reach a terminal or a page as they are.
#ifndef DQ_TEXT_UTF8_H
#define DQ_TEXT_UTF8_H

#include <stdbool.h>
#include <stdint.h>

// The number of bytes of the UTF-8 character at `text`; *code receives its code point. A byte that begins no character
// counts as one character with the code point -1. `text` must not be empty.
int dq_utf8_next(const char *text, int32_t *code);
// Control characters: U+0000 to U+001F, U+007F to U+009F, and the separators of lines and paragraphs. ESC and CSI
// (U+009B) begin commands to a terminal.
bool dq_utf8_is_control(int32_t code);
// Marks that turn the direction of writing, which could make one name look like another.
bool dq_utf8_is_direction(int32_t code);

// Whether the character at `text`, of code point `code`, is shown as `?` in messages: a control character, a mark of
// direction, or a byte that is no UTF-8 and a control character of 8-bit terminals.
bool dq_utf8_is_hidden(const char *text, int32_t code);
// Replaces the hidden characters of a text by `?`, in place, so that the text stays on one line.
void dq_utf8_one_line(char *text);

#endif
