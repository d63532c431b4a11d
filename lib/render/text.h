// Texts for people: names are cut and escaped without breaking UTF-8, numbers are written with units. The thread is in
// the locale "C" (lib/text/locale.h).
#ifndef DQ_RENDER_TEXT_H
#define DQ_RENDER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/text/utf8.h"

// Columns of a terminal that a code point takes: 2 for the blocks of East Asian Width W and F (Unicode Standard Annex
// #11) that names are likely to have, and for emoji; 0 for combining marks, zero-width characters (also U+200D, the
// joiner) and variation selectors; else 1, also for -1. A sequence of emoji that terminals join into one picture counts
// as the sum of its code points, so the figure is an estimate: a wrong width moves a column and nothing else.
int dq_utf8_columns(int32_t code);

// Columns of a terminal that a text takes, which dq_text_fit must have written.
int dq_text_columns(const char *text);

// Writes `text` for one line of a terminal, at most `columns` wide, into `fitted` of `size` bytes (16 or more), and
// returns `fitted`. Control characters become \n, \t, \xNN or \uNNNN, marks of direction and bytes that are not UTF-8
// become ?. Of a longer text the middle becomes "...", because the names of nodes differ at both ends.
const char *dq_text_fit(const char *text, int columns, char *fitted, size_t size);

// Each writes a number into `text` of `size` bytes (32 are enough) and returns `text`. NaN and infinite numbers are
// written as nan, inf and -inf.
const char *dq_format_count(double count, char *text, size_t size);                   // 352.54 M, powers of 1000
const char *dq_format_bytes(double bytes, char *text, size_t size);                   // 4.7 MiB, powers of 1024
const char *dq_format_percent(double percent, int decimals, char *text, size_t size); // 12.3 %
const char *dq_format_fixed(double value, int decimals, char *text, size_t size);
const char *dq_format_significant(double value, int digits, char *text, size_t size);
const char *dq_format_exact(double value, char *text, size_t size); // as few digits as give the same double when read

#endif
