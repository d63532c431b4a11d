// The table of rounding methods.
#include <string.h>

#include "quant/numeric/rounding.h"

#define DQ_ROUNDING(symbol, name, help) dq_round_function dq_round_##symbol;
#include "quant/numeric/rounding.def"
#undef DQ_ROUNDING

static const dq_rounding_method methods[] = {{"nearest", "each to the nearest", NULL},
#define DQ_ROUNDING(symbol, name, help) {name, help, dq_round_##symbol},
#include "quant/numeric/rounding.def"
#undef DQ_ROUNDING
                                             {NULL, NULL, NULL}};

const dq_rounding_method *dq_rounding_method_at(int index) { return methods[index].name ? &methods[index] : NULL; }

const dq_rounding_method *dq_rounding_method_find(const char *name) {
  for (int i = 0; methods[i].name; i++)
    if (!strcmp(methods[i].name, name)) return &methods[i];
  return NULL;
}
