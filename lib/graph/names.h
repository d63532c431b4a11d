// A map from names to values, private to this room.
#ifndef DQ_GRAPH_NAMES_H
#define DQ_GRAPH_NAMES_H

#include "lib/graph/graph.h"

struct dq_names *dq_names_new(void);
void dq_names_free(struct dq_names *names);
dq_value *dq_names_find(const struct dq_names *names, const char *name);
bool dq_names_add(struct dq_names *names, dq_value *value); // the name must be new; false: memory

#endif
