// Names and numbers as people read them: UTF-8 safe cutting and escaping, and numbers with units,
// the same in every locale.
#ifndef DQ_REPORT_TEXT_H
#define DQ_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

// Bytes of the UTF-8 character at `text` and its code point; a byte that begins none counts as one
// character with the code point -1. `text` must not be at its end.
int dq_utf8_next(const char *text, int32_t *code);

// Columns a code point takes on a terminal: 0 for combining marks, 2 for wide letters and emoji.
int dq_utf8_columns(int32_t code);

// Columns of a text that dq_text_fit made.
int dq_text_columns(const char *text);

// `text` for one line of a terminal, at most `columns` wide: control characters become \n, \t or
// \xNN, bytes that are not UTF-8 become ?, and a longer text loses its middle to "...", since
// both ends of a node's name tell it from others. Returns `fitted` (size bytes, at least 16).
const char *dq_text_fit(const char *text, int columns, char *fitted, size_t size);

// All return `text`, which should have 32 bytes or more. NaN and infinities are nan, inf, -inf.
const char *dq_format_count(double count, char *text, size_t size);                   // 352.54 M, powers of 1000
const char *dq_format_bytes(double bytes, char *text, size_t size);                   // 4.7 MiB, powers of 1024
const char *dq_format_percent(double percent, int decimals, char *text, size_t size); // 12.3 %
const char *dq_format_fixed(double value, int decimals, char *text, size_t size);
const char *dq_format_significant(double value, int digits, char *text, size_t size);
const char *dq_format_exact(double value, char *text, size_t size); // shortest that reads back equal

#endif
