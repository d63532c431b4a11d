// Names of classes.
#ifndef DQ_PREDICT_LABEL_NAMES_H
#define DQ_PREDICT_LABEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

typedef struct dq_label_names {
  const char *const *items; // [count]: of class 0, 1, ...; NULL: there are none
  int64_t count;
} dq_label_names;

// The name of a class; NULL: it has none.
static inline const char *dq_label_name(const dq_label_names *names, int64_t label) {
  return names && label >= 0 && label < names->count ? names->items[label] : NULL;
}

#endif
