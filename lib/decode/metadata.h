// What the metadata of a model says of its outputs.
#ifndef DQ_DECODE_METADATA_H
#define DQ_DECODE_METADATA_H

#include "lib/decode/decode.h"
#include "lib/graph/graph.h"

// The properties of a document graph, which owns the texts.
dq_metadata dq_metadata_of(const dq_graph *graph);

// The number of names in the property `names`, or the highest class in it and one more; 0: it is NULL, or no list.
int64_t dq_name_count(const char *names);

#endif
