// The table of range rules.
#include "calib/observers.h"

#include <string.h>

static const dq_observer observers[] = {
#define DQ_OBSERVER(symbol, name, help) {name, help, dq_range_##symbol},
#include "calib/observers.def"
#undef DQ_OBSERVER
    {NULL, NULL, NULL}};

const dq_observer *dq_observer_at(int index) { return observers[index].name ? &observers[index] : NULL; }

const dq_observer *dq_observer_find(const char *name) {
  for (int i = 0; observers[i].name; i++)
    if (!strcmp(observers[i].name, name)) return &observers[i];
  return NULL;
}
