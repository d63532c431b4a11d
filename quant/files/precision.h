// A precision for each layer, in the file that the option --precision reads and that searches write:
//   {"schema": "dq-precision", "version": 1, "layers": {"conv1": "int8", "conv2": "fp16", "fc": "fp32"}}
#ifndef DQ_QUANT_PRECISION_H
#define DQ_QUANT_PRECISION_H

#include "lib/graph/graph.h"
#include "lib/graph/name_list.h"
#include "lib/settings/settings_file.h"

typedef enum dq_precision {
#define DQ_PRECISION_ROW(symbol, name, bytes) DQ_PRECISION_##symbol,
#include "quant/files/precisions.def"
  DQ_PRECISIONS
} dq_precision;
const char *dq_precision_name(dq_precision precision); // "int8", "fp16", "fp32"
int dq_precision_bytes(dq_precision precision);        // bytes of one element of a weight: 1, 2, 4

typedef struct dq_layer_precision {
  const char *layer; // a node's name, or its first output's
  dq_precision precision;
} dq_layer_precision;

typedef struct dq_precision_map {
  dq_layer_precision *layers;
  int count;
} dq_precision_map;

// The names by which files may name the nodes of a graph, those of nodes and of their first outputs, with the indices
// of the nodes. The arena owns the list. DQ_SYSTEM: there is no memory.
dq_status dq_layer_names(dq_name_list *names, const dq_graph *graph, dq_arena *arena, dq_error *error);

// The layers of a map by name, in the arena; of NULL, and zeroed, none. The map must outlive it. DQ_SYSTEM: there is no
// memory.
typedef struct dq_precision_index {
  const dq_precision_map *map;
  dq_name_list layers;
} dq_precision_index;
dq_status dq_precision_index_make(dq_precision_index *index, const dq_precision_map *map, dq_arena *arena,
                                  dq_error *error);
// The entry of a node; NULL: the map has none.
const dq_layer_precision *dq_precision_find(const dq_precision_index *index, const dq_node *node);

// Reads a file for this graph. The arena owns the map. DQ_BAD_INPUT, with path, line and layer: the file is not JSON,
// has another schema, no layers, a layer twice, a layer that the graph does not have (the hint is the most similar
// one), or an unknown precision; DQ_SYSTEM: it cannot be read.
dq_status dq_precision_load(dq_precision_map *map, const char *path, const dq_graph *graph, dq_arena *arena,
                            dq_error *error);
// Reads the member `layers` of a file, as dq_precision_load does; the names are copied to the arena.
dq_status dq_precision_read(dq_precision_map *map, const dq_settings_file *settings, json_t *layers,
                            const dq_graph *graph, dq_arena *arena, dq_error *error);
// The same member of a file; the caller has the only reference. NULL: there is no memory.
json_t *dq_precision_json(const dq_precision_map *map);
// Writes a file, which appears under its name when it is complete. DQ_SYSTEM: it cannot be written.
dq_status dq_precision_save(const dq_precision_map *map, const char *path, dq_error *error);

#endif
