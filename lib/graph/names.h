// A hash table that finds objects by their names. The first member of an object is its name, a const char pointer. The
// table owns no object and no name: an object stays where it is, with its name, as long as the table has it.
#ifndef DQ_GRAPH_NAMES_H
#define DQ_GRAPH_NAMES_H

#include "lib/graph/graph.h"

struct dq_names *dq_names_new(void);                                 // NULL: there is no memory
void dq_names_free(struct dq_names *names);                          // frees the table; the objects stay
void *dq_names_find(const struct dq_names *names, const char *name); // NULL: no object has that name
// Adds an object whose name no other object in the table has. False: there is no memory.
bool dq_names_add(struct dq_names *names, void *named);

#endif
