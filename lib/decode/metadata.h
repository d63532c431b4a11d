// What the metadata of a model says of its outputs.
#ifndef DQ_DECODE_METADATA_H
#define DQ_DECODE_METADATA_H

#include "lib/decode/decode.h"
#include "lib/graph/graph.h"

// The properties of a document graph, which owns the texts.
dq_metadata dq_metadata_of(const dq_graph *graph);

#endif
