// A network as a document: values joined by nodes, in the order of the file. Everything belongs to
// the graph's arena. Transforms edit it through the functions here; execution works on a copy.
#ifndef DQ_GRAPH_GRAPH_H
#define DQ_GRAPH_GRAPH_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_node dq_node;
typedef struct dq_graph dq_graph;

// The numbers are ONNX's AttributeProto.AttributeType; other kinds are carried through.
typedef enum dq_attribute_type {
  DQ_ATTRIBUTE_FLOAT = 1,
  DQ_ATTRIBUTE_INT = 2,
  DQ_ATTRIBUTE_STRING = 3,
  DQ_ATTRIBUTE_TENSOR = 4,
  DQ_ATTRIBUTE_GRAPH = 5,
  DQ_ATTRIBUTE_FLOATS = 6,
  DQ_ATTRIBUTE_INTS = 7,
  DQ_ATTRIBUTE_STRINGS = 8,
} dq_attribute_type;

typedef struct dq_attribute {
  const char *name;
  int type; // dq_attribute_type, or another ONNX kind that only `origin` holds
  float f;
  int64_t i;
  const char *s; // zero-terminated; `count` bytes
  dq_tensor *tensor;
  const float *floats;        // `count` elements
  const int64_t *ints;        // `count` elements
  const char *const *strings; // `count` elements
  size_t count;
  const void *origin; // message it was read from, written back as it is; NULL when made here
} dq_attribute;

typedef struct dq_dimension {
  int64_t size;       // -1: not known
  const char *symbol; // name of a symbolic dimension, or NULL
} dq_dimension;

typedef struct dq_value {
  const char *name;
  int index; // position in graph->values
  int type;  // declared element type, 0: not declared
  int rank;  // declared rank, -1: not declared
  const dq_dimension *dims;
  const int64_t *usual; // of inputs: a size for each dimension that is open, 0: none; NULL: for none
  dq_tensor *constant;  // initializer; its data is NULL when the type is only carried through
  bool is_input, is_output;
  bool is_captured;  // read by a subgraph (If, Loop, Scan): must keep its name
  bool is_own;       // an initializer whose elements are this graph's and one node's alone, to be changed
  dq_node *producer; // NULL for inputs and initializers
  dq_node **users;   // each node once per input it reads the value through, one behind the other
  int user_count;
  struct dq_value *replacement;   // read instead of it from the next dq_graph_index on, or NULL
  int suffix;                     // of the last fresh value named after it
  const void *origin;             // declaration it was read from
  const void *initializer_origin; // initializer message it was read from
} dq_value;

// Whether anything needs it: a node of the indexed graph, a subgraph, or the one who runs the model. NULL: no.
static inline bool dq_value_is_read(const dq_value *value) {
  return value && (value->user_count || value->is_output || value->is_captured);
}

struct dq_node {
  const char *name; // may be "" (see dq_node_label)
  const char *op_type;
  const char *domain; // "" for ai.onnx
  int index;          // position in graph->nodes
  dq_value **inputs;  // NULL: optional input left out
  int input_count;
  dq_value **outputs; // NULL: optional output left out
  int output_count;
  dq_attribute *attributes;
  int attribute_count;
  bool removed;       // until the next dq_graph_index
  int suffix;         // of the last fresh node name made from its own
  int mark;           // for the use of the transform at work; 0 when made
  const void *origin; // message it was read from
};

typedef struct dq_opset {
  const char *domain; // "" for ai.onnx
  int64_t version;
} dq_opset;

typedef struct dq_property {
  const char *key, *value;
} dq_property;

struct dq_graph {
  dq_arena *arena;
  const char *path; // file it was loaded from, for messages
  const char *name;
  int64_t ir_version;
  dq_opset *opsets;
  int opset_count;
  dq_property *properties; // metadata of the model
  int property_count;
  dq_node **nodes;
  int node_count, node_capacity;
  dq_value **values;
  int value_count, value_capacity;
  dq_value **inputs; // includes initializers that old files list as inputs
  int input_count;
  dq_value **outputs;
  int output_count;
  dq_value **initializers;
  int initializer_count, initializer_capacity;
  bool has_functions;           // the model brings functions of its own
  struct dq_names *names;       // value names to values
  struct dq_names *node_names;  // node names to nodes; NULL until the first fresh name after dq_graph_index
  bool has_replacements;        // some value has one
  struct dq_document *document; // what lib/onnx keeps to write everything back; NULL otherwise
  void (*document_free)(
      struct dq_document *document); // NULL: none, or it belongs to the graph that this one is a copy of
};

// An empty graph; NULL when there is no memory. Its arena counts against
// `budget` (NULL: none), as do those of its copies.
dq_graph *dq_graph_new(dq_budget *budget);
void dq_graph_free(dq_graph *graph); // NULL is fine

// A copy with nodes, values and declarations of its own; tensors' elements and the document are shared with the
// original, which must outlive it. NULL when there is no memory.
dq_graph *dq_graph_copy(const dq_graph *graph);

// Values. Names are unique in a graph; "" never names one.
dq_value *dq_graph_find(const dq_graph *graph, const char *name); // NULL when there is none
dq_value *dq_graph_add_value(dq_graph *graph, const char *name);  // finds or makes; NULL: memory
// A fresh value whose name starts with `base`.
dq_value *dq_graph_fresh_value(dq_graph *graph, const char *base);
// A new initializer named after `base`; the tensor must live as long as the graph.
dq_value *dq_graph_add_constant(dq_graph *graph, const char *base, dq_tensor *tensor);
// Makes a value that exists an initializer. false: no memory.
bool dq_graph_set_constant(dq_graph *graph, dq_value *value, dq_tensor *tensor);
// Takes an initializer out of the graph (when nothing uses it any more).
void dq_graph_remove_constant(dq_graph *graph, dq_value *value);
// A name for a node that no node and no value has.
const char *dq_graph_fresh_name(dq_graph *graph, const char *base);

// Nodes. A new node goes before position `at` (graph->node_count: at the end). NULL: no memory.
dq_node *dq_graph_add_node(dq_graph *graph, int at, const char *op_type, const char *name, int input_count,
                           dq_value *const *inputs, int output_count, dq_value *const *outputs);
void dq_graph_remove_node(dq_graph *graph, dq_node *node); // takes effect at dq_graph_index
// Every node input (and graph output, when `outputs` is set) that reads `from` reads `to` instead: those of the users
// that dq_graph_index found at once, any other at the next dq_graph_index. Nothing may produce `from` until then.
void dq_graph_replace_uses(dq_graph *graph, dq_value *from, dq_value *to, bool outputs);

// Drops removed nodes, renumbers, finds producers and users, and checks: every input is produced,
// nothing is produced twice, no cycle. Call after loading and after edits. When `sort` is set nodes
// are put into topological order (stable), else the order is left alone.
dq_status dq_graph_index(dq_graph *graph, bool sort, dq_error *error);

// Leaves of an indexed graph what the values named `ends` need, and makes these its only outputs, in their order.
// DQ_BAD_INPUT names one that is not there. Indexes.
dq_status dq_graph_restrict_to(dq_graph *graph, const char *const *ends, int count, dq_error *error);

// Takes out initializers that nothing reads; indexes and sorts before and after.
dq_status dq_graph_drop_constants(dq_graph *graph, dq_error *error);

// Nodes in an order in which everything is produced before it is read, into order[node_count]; the
// graph must be indexed.
dq_status dq_graph_order(const dq_graph *graph, dq_node **order, dq_error *error);

int64_t dq_graph_opset(const dq_graph *graph, const char *domain); // 0 when not imported
dq_status dq_graph_set_opset(dq_graph *graph, const char *domain, int64_t version, dq_error *error);
const char *dq_graph_property(const dq_graph *graph, const char *key); // NULL when there is none
dq_status dq_graph_set_property(dq_graph *graph, const char *key, const char *value, dq_error *error);

// Name of a node for messages: "node 'conv1'", or "node Conv producing 'x'"; returns text.
const char *dq_node_label(const dq_node *node, char *text, size_t size);
enum { DQ_LABEL_TEXT = 256 };

// Attributes. Getters return the fallback when the attribute is not there.
const dq_attribute *dq_node_attribute(const dq_node *node, const char *name);
int64_t dq_node_int(const dq_node *node, const char *name, int64_t fallback);
float dq_node_float(const dq_node *node, const char *name, float fallback);
const char *dq_node_string(const dq_node *node, const char *name, const char *fallback);
// NULL and count 0 when not there.
const int64_t *dq_node_ints(const dq_node *node, const char *name, int *count);
const float *dq_node_floats(const dq_node *node, const char *name, int *count);
const dq_tensor *dq_node_tensor(const dq_node *node, const char *name);

// Setters replace or add; false: no memory.
bool dq_node_set_int(dq_graph *graph, dq_node *node, const char *name, int64_t value);
bool dq_node_set_float(dq_graph *graph, dq_node *node, const char *name, float value);
bool dq_node_set_string(dq_graph *graph, dq_node *node, const char *name, const char *value);
bool dq_node_set_ints(dq_graph *graph, dq_node *node, const char *name, const int64_t *values, int count);
// Copies an attribute of another node.
bool dq_node_copy_attribute(dq_graph *graph, dq_node *node, const dq_attribute *attribute);
void dq_node_remove_attribute(dq_node *node, const char *name);

dq_value *dq_node_input(const dq_node *node, int i);       // NULL when left out, below 0 or beyond the last
dq_value *dq_node_output(const dq_node *node, int i);      // likewise
bool dq_node_is(const dq_node *node, const char *op_type); // an ai.onnx operator of that name

// ---- Questions about values of an indexed graph ----

// True when `value` is read by exactly one node and by nothing else, so that it may vanish. NULL: false.
static inline bool dq_is_private(const dq_value *value) {
  return value && value->user_count == 1 && !value->is_output && !value->is_captured;
}

// The only user of a private value, or NULL.
static inline dq_node *dq_only_user(const dq_value *value) { return dq_is_private(value) ? value->users[0] : NULL; }

// The elements of a constant value; NULL when it is none or its type cannot be computed with.
static inline const dq_tensor *dq_constant_of(const dq_value *value) {
  return value && value->constant && value->constant->data ? value->constant : NULL;
}

// The tensor of a value that the file knows, an initializer or the output of a Constant node, or NULL. Of types that
// are only carried through it has no elements.
const dq_tensor *dq_known_tensor(const dq_value *value);
// The same; NULL when it has no elements.
const dq_tensor *dq_known_elements(const dq_value *value);

// True for a float32 constant with elements.
static inline bool dq_is_float_constant(const dq_value *value) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == DQ_F32;
}

// `node` writes to `output` in place of what it wrote as output 0.
static inline void dq_node_set_output(dq_node *node, dq_value *output) {
  node->outputs[0] = output;
  output->producer = node;
}

#endif
