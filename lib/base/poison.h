// Marks memory that must not be read or written, so that AddressSanitizer reports an access. In builds without the
// sanitizer the macros do nothing.
#ifndef DQ_BASE_POISON_H
#define DQ_BASE_POISON_H

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DQ_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define DQ_POISON 1
#endif

#ifdef DQ_POISON
#include <sanitizer/asan_interface.h>
enum { DQ_REDZONE = 64 }; // marked bytes behind every part of a larger block
#define dq_poison(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define dq_unpoison(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#define dq_is_poisoned(address) (__asan_address_is_poisoned(address) != 0)
#else
enum { DQ_REDZONE = 0 };
#define dq_poison(memory, bytes) ((void)(memory), (void)(bytes))
#define dq_unpoison(memory, bytes) ((void)(memory), (void)(bytes))
#define dq_is_poisoned(address) ((void)(address), 0)
#endif

#endif
