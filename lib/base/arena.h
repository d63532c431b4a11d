// An arena owns everything allocated from it until it is freed as a whole.
#ifndef DQ_BASE_ARENA_H
#define DQ_BASE_ARENA_H

#include <stddef.h>

#include "lib/base/budget.h"

typedef struct dq_arena dq_arena;

// A new arena, or NULL when there is no memory. What it holds counts against `budget`, which must outlive
// it; NULL: against none.
dq_arena *dq_arena_new(dq_budget *budget);
// The same on the budget of another arena.
dq_arena *dq_arena_beside(const dq_arena *other);
void dq_arena_free(dq_arena *arena); // NULL is fine

// Zeroed memory aligned to 64 bytes for large blocks and 16 for small ones; NULL when the
// budget is used up or the system has none left.
void *dq_arena_alloc(dq_arena *arena, size_t bytes);

// count * size bytes with checked multiplication.
void *dq_arena_array(dq_arena *arena, size_t count, size_t size);

char *dq_arena_strdup(dq_arena *arena, const char *text);
char *dq_arena_strndup(dq_arena *arena, const char *text, size_t length);
char *dq_arena_printf(dq_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *dq_arena_copy(dq_arena *arena, const void *data, size_t bytes);

// Gives a large block (4 KiB and more) back before the arena ends; nothing happens to smaller ones, and to
// memory of another arena.
void dq_arena_release(dq_arena *arena, const void *memory);

// Bytes handed out and not given back.
size_t dq_arena_bytes(const dq_arena *arena);
dq_budget *dq_arena_budget(const dq_arena *arena); // NULL: none
// Whether an allocation has failed: what a library says of its input is then no judgement of the input.
bool dq_arena_exhausted(const dq_arena *arena);

#define DQ_NEW(arena, type) ((type *)dq_arena_alloc(arena, sizeof(type)))
#define DQ_NEW_ARRAY(arena, count, type) ((type *)dq_arena_array(arena, (size_t)(count), sizeof(type)))

#endif
