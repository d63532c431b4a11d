#include "lib/text/locale.h"

// The C library has this locale in its constants: newlocale neither reads a file nor allocates, and freelocale does
// nothing, where it is glibc or musl.
locale_t dq_locale_enter(void) { return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); }

void dq_locale_leave(locale_t before) {
  const locale_t plain = uselocale(before);
  if (plain != before) freelocale(plain);
}
