#include "lib/graph/name_list.h"

#include <stdlib.h>
#include <string.h>

bool dq_name_list_new(dq_name_list *list, int capacity, dq_arena *arena) {
  *list = (dq_name_list){.names = DQ_NEW_ARRAY(arena, capacity, dq_named_number)};
  return list->names != NULL;
}

void dq_name_list_add(dq_name_list *list, const char *name, int number) {
  list->names[list->count++] = (dq_named_number){name, number};
}

static int by_name(const void *a, const void *b) {
  const dq_named_number *left = a, *right = b;
  int order = strcmp(left->name, right->name);
  return order ? order : (left->number > right->number) - (left->number < right->number);
}

void dq_name_list_sort(dq_name_list *list) { qsort(list->names, (size_t)list->count, sizeof *list->names, by_name); }

int dq_name_list_find(const dq_name_list *list, const char *name) {
  int low = 0, high = list->count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (strcmp(list->names[middle].name, name) < 0) low = middle + 1;
    else high = middle;
  }
  return low < list->count && !strcmp(list->names[low].name, name) ? list->names[low].number : -1;
}
