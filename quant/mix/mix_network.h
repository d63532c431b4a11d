// The network as dq-mix sees it: units, each of which gets one precision, and the values between them.
#ifndef DQ_QUANT_MIX_NETWORK_H
#define DQ_QUANT_MIX_NETWORK_H

#include "quant/int8/int8.h"
#include "quant/search/mix_front.h"

enum { DQ_MIX_MOST_STEPS = 8192 }; // of a run; of 10,000 a search takes minutes before its time limit counts

// The nodes that one step of a run in float32 computes, those of the steps after it that only move its result, and
// those that are one function of each element with it in 8 bits (dq_function_parts); all of them get one precision.
typedef struct dq_mix_unit {
  const char *name, *op_type; // of its first product, else of its first node
  const char **layers;        // [layer_count]: labels of its nodes that a precision is given to
  int layer_count;            // 0: the unit stays in float32
  int64_t weights;            // elements of its float32 constants
} dq_mix_unit;

typedef struct dq_mix_network {
  const dq_graph *graph;
  // The units in the order of a run. The first one stands for the inputs of the network, the last one for its outputs.
  dq_mix_unit *units;
  int unit_count;
  int *unit_of;         // [node_count of the graph]; -1: nodes that follow from constants
  dq_mix_value *values; // with conversions of cost 0
  const dq_value **at;  // [value_count]: of the graph
  int64_t *elements;    // [value_count]
  int value_count;
  dq_name_list labels, nodes; // nodes by label and by name, each the first of several
  int *number_of;             // [value_count of the graph]: place in `values`; -1: none
  // Places in `values`, ascending, by unit: made[first_made[u]] to made[first_made[u + 1] - 1] are those that unit u
  // has, and likewise those that it reads.
  const int *made, *first_made, *read, *first_read;
  const int *depth; // [unit_count]: the largest number of units in front of it in a row
} dq_mix_network;

// Fills made, first_made, read, first_read and depth from units and values, in the arena. DQ_SYSTEM: there is no
// memory.
dq_status dq_mix_network_index(dq_mix_network *network, dq_arena *arena, dq_error *error);
// Divides the graph, whose report with all layers in 8 bits is `whole`. The arena owns the network; names belong to the
// graph. DQ_UNSUPPORTED: a run has more than DQ_MIX_MOST_STEPS steps; else statuses of dq_session_schedule and
// dq_infer.
dq_status dq_mix_network_open(dq_mix_network *network, const dq_graph *graph, const dq_int8_report *whole,
                              const dq_shape_request *shapes, const dq_context *context, dq_arena *arena,
                              dq_error *error);

// A network of many units has no more than DQ_MIX_FEW_FORMS forms in memory at a time, beside those in float32.
enum { DQ_MIX_FEW_FORMS = 2 };
bool dq_mix_has_many_units(const dq_mix_network *network);
// Whether unit `unit` can have the precision: float32 always, other precisions where the unit has layers.
bool dq_mix_allows(const dq_mix_network *network, int unit, dq_precision precision);
// Sets choice[unit_count]: `even` for units of even depth (number of units in front), `odd` for the others, float32
// where a unit cannot have it.
void dq_mix_alternate(const dq_mix_network *network, dq_precision even, dq_precision odd, uint8_t *choice);
// Fills *map, in the arena, with the precision of each layer by a choice. DQ_SYSTEM: there is no memory.
dq_status dq_mix_map(const dq_mix_network *network, const uint8_t *choice, dq_arena *arena, dq_precision_map *map,
                     dq_error *error);
// The index of the unit that a node belongs to: of the first node in the order of the graph whose label
// (dq_node_name: the name, else the name of output 0) or whose name is the text. -1: there is none, or that node
// follows from constants. Never the units that stand for inputs and outputs of the network.
int dq_mix_find_unit(const dq_mix_network *network, const char *label);

#endif
