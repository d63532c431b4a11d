// The table of range rules.
#include "calib/observers.h"

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

static const dq_observer observers[] = {
#define DQ_OBSERVER(symbol, name, help) {name, help, dq_range_##symbol},
#include "calib/observers.def"
#undef DQ_OBSERVER
    {NULL, NULL, NULL}};

const dq_observer *dq_observer_at(int index) { return observers[index].name ? &observers[index] : NULL; }

const dq_observer *dq_observer_find(const char *name) {
  const int found = dq_find_row(name, observers, sizeof *observers, DQ_COUNT(observers));
  return found < 0 ? NULL : &observers[found];
}
