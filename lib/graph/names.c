// Open addressing with linear probing, kept at most half full.
#include "lib/graph/names.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// The first member of values and nodes.
typedef struct named {
  const char *name;
} named;

struct dq_names {
  named **slots;
  size_t capacity, used; // room is a power of two
};

struct dq_names *dq_names_new(void) {
  struct dq_names *names = calloc(1, sizeof *names);
  if (!names) return NULL;
  names->capacity = 64;
  names->slots = calloc(names->capacity, sizeof *names->slots);
  if (names->slots) return names;
  free(names);
  return NULL;
}

void dq_names_free(struct dq_names *names) {
  if (!names) return;
  free(names->slots);
  free(names);
}

// The slot that holds the name, or the empty one where it belongs.
static named **slot_of(named **slots, size_t capacity, const char *name) {
  size_t at = XXH3_64bits(name, strlen(name)) & (capacity - 1);
  while (slots[at] && strcmp(slots[at]->name, name)) at = (at + 1) & (capacity - 1);
  return &slots[at];
}

void *dq_names_find(const struct dq_names *names, const char *name) {
  return *slot_of(names->slots, names->capacity, name);
}

static bool grow(struct dq_names *names) {
  size_t capacity = names->capacity * 2;
  named **slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < names->capacity; i++)
    if (names->slots[i]) *slot_of(slots, capacity, names->slots[i]->name) = names->slots[i];
  free(names->slots);
  names->slots = slots;
  names->capacity = capacity;
  return true;
}

bool dq_names_add(struct dq_names *names, void *fresh) {
  if (2 * (names->used + 1) > names->capacity && !grow(names)) return false;
  named *entry = fresh;
  *slot_of(names->slots, names->capacity, entry->name) = entry;
  names->used++;
  return true;
}
