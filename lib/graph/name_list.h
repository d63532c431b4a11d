// Names in the order of their bytes, each with a number, in an arena: what has a name is found among many at once.
#ifndef DQ_GRAPH_NAME_LIST_H
#define DQ_GRAPH_NAME_LIST_H

#include <stdbool.h>

#include "lib/base/arena.h"

typedef struct dq_named_number {
  const char *name;
  int number; // 0 or more
} dq_named_number;

typedef struct dq_name_list {
  dq_named_number *names; // [count]
  int count;
} dq_name_list;

// Makes an empty list for at most `capacity` names, which must outlive it. False: there is no memory.
bool dq_name_list_new(dq_name_list *list, int capacity, dq_arena *arena);
// Adds a name, which may stand in the list already. Nothing is found before dq_name_list_sort.
void dq_name_list_add(dq_name_list *list, const char *name, int number);
void dq_name_list_sort(dq_name_list *list);
// The least number of a name in time O(log count); -1: the list, which may be zeroed, has no such name.
int dq_name_list_find(const dq_name_list *list, const char *name);

#endif
