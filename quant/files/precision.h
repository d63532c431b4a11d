// A precision for each layer, as --precision reads it and searches write it:
//   {"schema": "dq-precision", "version": 1, "layers": {"conv1": "int8", "conv2": "fp16", "fc": "fp32"}}
#ifndef DQ_QUANT_PRECISION_H
#define DQ_QUANT_PRECISION_H

#include "lib/graph/graph.h"

typedef enum dq_precision { DQ_PRECISION_INT8, DQ_PRECISION_FP16, DQ_PRECISION_FP32 } dq_precision;
const char *dq_precision_name(dq_precision precision); // "int8", "fp16", "fp32"

typedef struct dq_layer_precision {
  const char *layer; // a node's name, or its first output's
  dq_precision precision;
} dq_layer_precision;

typedef struct dq_precision_map {
  dq_layer_precision *layers;
  int count;
} dq_precision_map;

// What files call a node: its name, or its first output's when it has none.
const char *dq_layer_label(const dq_node *node);

// The entry of a node; NULL: the map does not say.
const dq_layer_precision *dq_precision_find(const dq_precision_map *map, const dq_node *node);

// Reads a file for this graph, into the arena. DQ_BAD_INPUT names the path, the line and the layer: not
// JSON, another schema, no layers, a layer twice, a layer that the graph does not have (with the nearest
// one that it has), another precision.
dq_status dq_precision_load(dq_precision_map *map, const char *path, const dq_graph *graph, dq_arena *arena,
                            dq_error *error);
dq_status dq_precision_save(const dq_precision_map *map, const char *path, dq_error *error);

#endif
