// The library reads and writes numbers, compares names and classifies characters as in the locale "C": files and
// messages are the same whatever the locale of the program. Threads of the library have this locale for their whole
// life, the thread of the program during a call (lib/api/call.c), so that no function in between has to know of it.
// The commands are in the locale "C" from their first line on.
#ifndef DQ_TEXT_LOCALE_H
#define DQ_TEXT_LOCALE_H

#include <locale.h>

// Gives the calling thread the locale "C", and returns the locale that it had.
locale_t dq_locale_enter(void);
// Gives the calling thread the locale `before` in place of the locale "C" of dq_locale_enter.
void dq_locale_leave(locale_t before);

#endif
