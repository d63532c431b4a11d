// An arena owns everything allocated from it until it is freed as a whole.
#ifndef DQ_BASE_ARENA_H
#define DQ_BASE_ARENA_H

#include <stddef.h>

#include "lib/base/budget.h"
#include "lib/base/random.h"

typedef struct dq_arena dq_arena;

// Makes an arena whose memory counts against `budget`, which must outlive it; NULL: against no budget. NULL when there
// is no memory. An arena is for one thread at a time.
dq_arena *dq_arena_new(dq_budget *budget);
// Makes an arena on the budget of another arena.
dq_arena *dq_arena_beside(const dq_arena *other);
void dq_arena_free(dq_arena *arena); // NULL is allowed

// Zeroed memory, aligned to 64 bytes from 4 KiB on and to 16 bytes below; never NULL for 0 bytes. NULL when the budget
// or the memory of the system is used up.
void *dq_arena_alloc(dq_arena *arena, size_t bytes);

// Allocates count * size bytes as dq_arena_alloc does; NULL also when the product overflows.
void *dq_arena_array(dq_arena *arena, size_t count, size_t size);

// Copies of a text (or its first `length` bytes), a formatted text and a copy of memory; NULL when there is no memory.
char *dq_arena_strdup(dq_arena *arena, const char *text);
char *dq_arena_strndup(dq_arena *arena, const char *text, size_t length);
char *dq_arena_printf(dq_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *dq_arena_copy(dq_arena *arena, const void *data, size_t bytes);

// Frees one allocation of 4 KiB or more before the arena is freed. Smaller allocations, and memory that is not of this
// arena, stay as they are. The time does not depend on the number of allocations.
void dq_arena_release(dq_arena *arena, const void *memory);

// Makes blocks of memory begin, from now on, up to 4 KiB behind where they would, as `places` draws, in units of 64
// bytes that do not count against the budget, so that what is allocated lies elsewhere than in another arena that was
// filled in the same way. `places` is used until the next call; NULL: blocks begin where the system gives them, as at
// first.
void dq_arena_scatter(dq_arena *arena, dq_random *places);

// Bytes that are allocated at present.
size_t dq_arena_bytes(const dq_arena *arena);
// The budget that the arena was made with, which the arena does not own; NULL: none.
dq_budget *dq_arena_budget(const dq_arena *arena);
// Whether any allocation has failed so far. A library that allocates from the arena and then reports a broken input may
// in truth have had no memory.
bool dq_arena_exhausted(const dq_arena *arena);

// One zeroed object, or an array of them, of a type; NULL when there is no memory.
#define DQ_NEW(arena, type) ((type *)dq_arena_alloc(arena, sizeof(type)))
#define DQ_NEW_ARRAY(arena, count, type) ((type *)dq_arena_array(arena, (size_t)(count), sizeof(type)))

#endif
