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
  size_t room, used; // room is a power of two
};

struct dq_names *dq_names_new(void) {
  struct dq_names *names = calloc(1, sizeof *names);
  if (!names) return NULL;
  names->room = 64;
  names->slots = calloc(names->room, sizeof *names->slots);
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
static named **slot_of(named **slots, size_t room, const char *name) {
  size_t at = XXH3_64bits(name, strlen(name)) & (room - 1);
  while (slots[at] && strcmp(slots[at]->name, name)) at = (at + 1) & (room - 1);
  return &slots[at];
}

void *dq_names_find(const struct dq_names *names, const char *name) {
  return *slot_of(names->slots, names->room, name);
}

static bool grow(struct dq_names *names) {
  size_t room = names->room * 2;
  named **slots = calloc(room, sizeof *slots);
  if (!slots) return false;
  for (size_t i = 0; i < names->room; i++)
    if (names->slots[i]) *slot_of(slots, room, names->slots[i]->name) = names->slots[i];
  free(names->slots);
  names->slots = slots;
  names->room = room;
  return true;
}

bool dq_names_add(struct dq_names *names, void *fresh) {
  if (2 * (names->used + 1) > names->room && !grow(names)) return false;
  named *entry = fresh;
  *slot_of(names->slots, names->room, entry->name) = entry;
  names->used++;
  return true;
}
