#include "lib/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/base/poison.h"
#include "lib/base/sizes.h"

enum {
  BLOCK_BYTES = 64 * 1024,
  LARGE_BYTES = 4 * 1024,
  ALIGNMENT = 64,
  HUGE_BYTES = 2 * 1024 * 1024,  // of a page that needs one entry instead of 512 to be found
  MAPPED_BYTES = 2 * HUGE_BYTES, // and more: straight from the kernel, whose pages are zero when they are first used
  SCATTER_BYTES = 4 * 1024,      // of a page: as far as addresses decide on the places in a cache of level 1
};

typedef struct block {
  struct block *next;
  char *data;
  size_t used, size;
  void *given;        // what the kernel or the heap gave, with `data` in it
  size_t mapped_size; // bytes that the kernel gave; 0: they come from the heap
} block;

struct dq_arena {
  block *small;     // the block small requests are cut from, first of the list
  block **large;    // lists of blocks of one large request each, by their address (list_of)
  size_t lists;     // number of `large`, a power of two
  size_t larges;    // blocks in all lists
  block *only_list; // `large` of a new arena
  size_t bytes;
  dq_budget *budget;
  dq_random *scatter; // NULL: blocks begin where they are given
  bool exhausted;
};

dq_arena *dq_arena_new(dq_budget *budget) {
  dq_arena *arena = calloc(1, sizeof *arena);
  if (!arena) return NULL;
  arena->budget = budget;
  arena->large = &arena->only_list;
  arena->lists = 1;
  return arena;
}

dq_arena *dq_arena_beside(const dq_arena *other) { return dq_arena_new(other->budget); }

void dq_arena_scatter(dq_arena *arena, dq_random *places) { arena->scatter = places; }

static void free_block(dq_arena *arena, block *old) {
  dq_budget_release(arena->budget, old->size);
  dq_unpoison(old->data, old->size);
  if (old->mapped_size) (void)munmap(old->given, old->mapped_size);
  else free(old->given);
  free(old);
}

static void free_blocks(dq_arena *arena, block *first) {
  while (first) {
    block *next = first->next;
    free_block(arena, first);
    first = next;
  }
}

void dq_arena_free(dq_arena *arena) {
  if (!arena) return;
  free_blocks(arena, arena->small);
  for (size_t i = 0; i < arena->lists; i++) free_blocks(arena, arena->large[i]);
  if (arena->large != &arena->only_list) free(arena->large);
  free(arena);
}

// Pages of zeros that begin where a huge page begins. The kernel clears a page when it is first written, by the thread
// that writes, so the threads of a loop share what one memset would do alone.
static bool map_pages(block *fresh, size_t size, size_t skipped) {
  size_t mapped;
  if (!dq_add_size(size + skipped, HUGE_BYTES, &mapped)) return false;
  void *pages = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  fresh->given = pages;
  fresh->mapped_size = mapped;
  char *aligned = (char *)dq_round_up((uintptr_t)pages, HUGE_BYTES);
  // Whole huge pages only, so that nothing more is taken; where there are none, nothing changes.
  (void)madvise(aligned, size / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE);
  fresh->data = aligned + skipped;
  return true;
}

static bool allocate_heap(block *fresh, size_t size, size_t skipped) {
  if (posix_memalign(&fresh->given, ALIGNMENT, size + skipped)) return false;
  fresh->data = (char *)fresh->given + skipped;
  return true;
}

static block *new_block(dq_arena *arena, size_t size) {
  if (!dq_budget_reserve(arena->budget, size)) return NULL;
  const size_t skipped =
      arena->scatter ? ALIGNMENT * (size_t)dq_random_below(arena->scatter, SCATTER_BYTES / ALIGNMENT) : 0;
  block *fresh = calloc(1, sizeof *fresh);
  if (!fresh || !(size < MAPPED_BYTES ? allocate_heap(fresh, size, skipped) : map_pages(fresh, size, skipped))) {
    dq_budget_release(arena->budget, size);
    free(fresh);
    return NULL;
  }
  dq_poison(fresh->data, size);
  fresh->size = size;
  return fresh;
}

static void put_in_front(block **list, block *fresh) {
  fresh->next = *list;
  *list = fresh;
}

static block *add_small_block(dq_arena *arena) {
  block *fresh = new_block(arena, BLOCK_BYTES);
  if (fresh) put_in_front(&arena->small, fresh);
  return fresh;
}

static block **list_of(block **lists, size_t count, const void *data) {
  return &lists[dq_random_mix((uintptr_t)data) & (count - 1)];
}

// Lists stay short, so that a block is found by its address at once. Without memory for more lists they grow.
static void add_lists(dq_arena *arena) {
  enum { LONGEST = 4, MORE = 8 };
  const size_t count = MORE * arena->lists;
  block **lists = arena->larges < LONGEST * arena->lists ? NULL : calloc(count, sizeof *lists);
  if (!lists) return;
  for (size_t i = 0; i < arena->lists; i++)
    for (block *at = arena->large[i], *next; at; at = next) {
      next = at->next;
      put_in_front(list_of(lists, count, at->data), at);
    }
  if (arena->large != &arena->only_list) free(arena->large);
  arena->large = lists;
  arena->lists = count;
}

static block *add_large_block(dq_arena *arena, size_t size) {
  block *fresh = new_block(arena, size);
  if (!fresh) return NULL;
  add_lists(arena);
  put_in_front(list_of(arena->large, arena->lists, fresh->data), fresh);
  arena->larges++;
  return fresh;
}

static void *fail(dq_arena *arena) {
  arena->exhausted = true;
  return NULL;
}

void *dq_arena_alloc(dq_arena *arena, size_t bytes) {
  if (bytes == 0) bytes = 1;
  if (bytes > SIZE_MAX / 2) return fail(arena);
  size_t rounded = dq_round_up(bytes, bytes >= LARGE_BYTES ? ALIGNMENT : 16);
  block *from = arena->small;
  if (bytes >= LARGE_BYTES) {
    from = add_large_block(arena, rounded);
  } else if (!from || from->size - from->used < rounded + DQ_REDZONE) {
    from = add_small_block(arena);
  }
  if (!from) return fail(arena);
  void *memory = from->data + from->used;
  from->used += rounded + DQ_REDZONE;
  arena->bytes += rounded;
  dq_unpoison(memory, bytes);
  return from->mapped_size ? memory : memset(memory, 0, bytes);
}

void *dq_arena_array(dq_arena *arena, size_t count, size_t size) {
  size_t bytes;
  return dq_mul_size(count, size, &bytes) ? dq_arena_alloc(arena, bytes) : NULL;
}

void *dq_arena_copy(dq_arena *arena, const void *data, size_t bytes) {
  void *copy = dq_arena_alloc(arena, bytes);
  if (copy && bytes) memcpy(copy, data, bytes);
  return copy;
}

char *dq_arena_strndup(dq_arena *arena, const char *text, size_t length) {
  char *copy = dq_arena_alloc(arena, length + 1);
  if (copy && length) memcpy(copy, text, length);
  return copy;
}

char *dq_arena_strdup(dq_arena *arena, const char *text) { return dq_arena_strndup(arena, text, strlen(text)); }

char *dq_arena_printf(dq_arena *arena, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = length < 0 ? NULL : dq_arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void dq_arena_release(dq_arena *arena, const void *memory) {
  for (block **at = list_of(arena->large, arena->lists, memory); *at; at = &(*at)->next) {
    block *found = *at;
    if (found->data != memory) continue;
    *at = found->next;
    arena->larges--;
    arena->bytes -= found->size;
    free_block(arena, found);
    return;
  }
}

size_t dq_arena_bytes(const dq_arena *arena) { return arena->bytes; }
dq_budget *dq_arena_budget(const dq_arena *arena) { return arena->budget; }
bool dq_arena_exhausted(const dq_arena *arena) { return arena->exhausted; }
