// memcpy and memset, as simple as they can be.
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  unsigned char *at = to;
  const unsigned char *next = from;
  while (size--) *at++ = *next++;
  return to;
}

void *memset(void *to, int byte, size_t size) {
  unsigned char *at = to;
  while (size--) *at++ = (unsigned char)byte;
  return to;
}
