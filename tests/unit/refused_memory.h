// Requests for memory that are refused, for the test that the linker puts these functions into, in front of the real
// ones (MEMORY_FUNCTIONS in tests/rules.mk).
#ifndef TESTS_UNIT_REFUSED_MEMORY_H
#define TESTS_UNIT_REFUSED_MEMORY_H

#include <execinfo.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/budget.h"
#include "tests/unit/api_harness.h"

// ---- Requests ----

enum { MOST_PLACES = 1 << 14, CALLERS = 2 };

static uint64_t places[MOST_PLACES]; // hashes of the calls above a request; 0: free
static int64_t requests, failing;    // requests of this call so far, and the one that gets no memory; -1: none
static size_t asked;                 // bytes of that one
static bool counting;

// Whether no request has come from this place so far.
static bool is_new(void) {
  void *calls[2 + CALLERS];
  int depth = backtrace(calls, 2 + CALLERS);
  uint64_t hash = 1;
  for (int i = 2; i < depth; i++) hash = hash * UINT64_C(0x9e3779b97f4a7c15) + (uintptr_t)calls[i];
  size_t at = hash % MOST_PLACES;
  while (places[at] && places[at] != hash) at = (at + 1) % MOST_PLACES;
  bool fresh = !places[at];
  places[at] = hash;
  return fresh;
}

// Counts a request; the first one from a new place fails, one in each call.
static bool refused(size_t bytes) {
  if (!counting) return false;
  requests++;
  if (failing < 0 && is_new()) failing = requests, asked = bytes;
  return requests == failing;
}

#define IN_FRONT_OF(type, name, parameters, arguments, bytes, none)                                                    \
  type __real_##name parameters;                                                                                       \
  type __wrap_##name parameters;                                                                                       \
  type __wrap_##name parameters { return refused(bytes) ? none : __real_##name arguments; }
#define NO_ELEMENTS __real_dq_arena_alloc(arena, SIZE_MAX) // marks the arena as exhausted

void *__real_dq_arena_alloc(dq_arena *arena, size_t bytes);
IN_FRONT_OF(void *, malloc, (size_t size), (size), size, NULL)
IN_FRONT_OF(void *, calloc, (size_t count, size_t size), (count, size), count *size, NULL)
IN_FRONT_OF(void *, realloc, (void *memory, size_t size), (memory, size), size, NULL)
IN_FRONT_OF(void *, dq_budget_alloc, (dq_budget * budget, size_t bytes), (budget, bytes), bytes, NULL)
IN_FRONT_OF(void *, dq_budget_realloc, (void *memory, size_t bytes), (memory, bytes), bytes, NULL)
IN_FRONT_OF(void *, dq_arena_alloc, (dq_arena * arena, size_t bytes), (arena, bytes), bytes, NO_ELEMENTS)
IN_FRONT_OF(void *, dq_arena_array, (dq_arena * arena, size_t count, size_t size), (arena, count, size), count *size,
            NO_ELEMENTS)
IN_FRONT_OF(void *, dq_arena_copy, (dq_arena * arena, const void *data, size_t bytes), (arena, data, bytes), bytes,
            NO_ELEMENTS)
IN_FRONT_OF(char *, dq_arena_strdup, (dq_arena * arena, const char *text), (arena, text), strlen(text), NO_ELEMENTS)
IN_FRONT_OF(char *, dq_arena_strndup, (dq_arena * arena, const char *text, size_t length), (arena, text, length),
            length, NO_ELEMENTS)

char *__wrap_dq_arena_printf(dq_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *__wrap_dq_arena_printf(dq_arena *arena, const char *format, ...) {
  static char text[1 << 16];
  if (refused(0)) return NO_ELEMENTS;
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return length < 0 ? NULL : __real_dq_arena_strndup(arena, text, (size_t)length);
}

// ---- Calls ----

static dq_failure failure; // of the last call

// Calls that may succeed although memory was refused: shapes, hints and proofs that cannot be found are done without.
// Those of each name were counted, and twice as many are allowed, as places differ with what a compiler inlines; a
// failure that is dropped on its way adds as many as there are requests below it.
static int most_unnoticed(const char *name) {
  static const struct {
    const char *name;
    int most;
  } some[] = {{"cost", 80},   {"float16", 80},    {"overflow", 20},
              {"trials", 16}, {"two_inputs", 10}, {"ranges of a table", 8}};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (!strcmp(some[i].name, name)) return some[i].most;
  return 6;
}

// A call that was refused memory failed for that reason.
static void check_refusal(const char *name, dq_code code) {
  const char *what = strstr(failure.message, "out of memory");
  size_t bytes = 0;
  int fields = what ? sscanf(what, "out of memory: %zu bytes needed", &bytes) : 0;
  bool too_few = fields == 1 && bytes == 1 && asked > 2; // which nobody asked for
  if (code != DQ_CODE_SYSTEM || too_few || (fields < 1 && (!what || strcmp(what, "out of memory") != 0)))
    fail_msg("%s: without request %d: code %d, %s", name, (int)failing, code, failure.message);
}

// Calls the function, which is refused request `number`; -1: the first one from a new place.
static dq_code refuse(int64_t number, dq_code (*call)(void)) {
  requests = 0, failing = number, asked = 0;
  memset(&failure, 0, sizeof failure);
  counting = true;
  dq_code code = call();
  counting = false;
  return code;
}

// Calls the function until every place has been refused once, and checks each failure.
static void refuse_each(const char *name, dq_code (*call)(void)) {
  int unnoticed = 0;
  do {
    dq_code code = refuse(-1, call);
    unnoticed += failing >= 0 && code == DQ_CODE_OK;
    if (code == DQ_CODE_OK) continue;
    if (failing < 0) fail_msg("%s: with all memory: %s", name, failure.message);
    check_refusal(name, code);
  } while (failing >= 0);
  if (unnoticed > most_unnoticed(name))
    fail_msg("%s: %d calls succeeded although memory was refused, at most %d are expected", name, unnoticed,
             most_unnoticed(name));
}

#endif
