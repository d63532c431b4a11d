#include "lib/text/find_row.h"

#include <string.h>

int dq_find_row(const char *name, const void *rows, size_t size, int count) {
  for (int i = 0; i < count; i++) {
    const char *own = *(const char *const *)(const void *)((const char *)rows + (size_t)i * size);
    if (!own) return -1;
    if (!strcmp(own, name)) return i;
  }
  return -1;
}
