// The two functions of the C library that the C of dq-cc calls, so that an image needs no C library.
#ifndef STRING_H_
#define STRING_H_

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *to, int byte, size_t size);

#endif
