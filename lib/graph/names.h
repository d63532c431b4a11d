// A map from names to what has them, private to this room: values, or nodes, whose first member is their name.
#ifndef DQ_GRAPH_NAMES_H
#define DQ_GRAPH_NAMES_H

#include "lib/graph/graph.h"

struct dq_names *dq_names_new(void);
void dq_names_free(struct dq_names *names);
void *dq_names_find(const struct dq_names *names, const char *name); // NULL when nothing has it
bool dq_names_add(struct dq_names *names, void *named);              // the name must be new; false: memory

#endif
