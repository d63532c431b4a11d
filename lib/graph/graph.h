// The graph of a network: nodes that read and write values. The document graph has the order, the names and the fields
// of the file, and transforms edit it through these functions; a run works on a copy. The arena of the graph owns
// everything in it, also the strings that the functions here are given: they are copied.
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
  const void *origin; // the protobuf message of the file, which is written back as it is; NULL: a transform made this
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
  // Of an input: the size that the model suggests for each open dimension, 0 for a dimension without one; NULL: it
  // suggests none.
  const int64_t *usual;
  dq_tensor *constant; // elements of an initializer; `data` is NULL when the type is only carried through
  bool is_input, is_output;
  bool is_captured;  // a subgraph of a node (If, Loop, Scan) reads the value by its name, as the file says
  bool is_tapped;    // a session reads the value while the network runs; set in execution copies only
  bool is_own;       // an initializer whose elements no other graph and no other node shares: they may be changed
  dq_node *producer; // NULL for inputs and initializers
  dq_node **users; // a node stands here once for each of its inputs that reads the value; until the next dq_graph_index
  int user_count;
  struct dq_value *replacement;   // the value that dq_graph_index puts in the place of this one, or NULL
  int suffix;                     // number of the last fresh value that was named after this one
  const void *origin;             // protobuf declaration, or NULL
  const void *initializer_origin; // protobuf initializer, or NULL
} dq_value;

// Whether the value must stay, with its name and elements, whichever nodes read it: it is an output of the model, a
// subgraph reads it, or a session taps it.
static inline bool dq_value_must_stay(const dq_value *value) {
  return value->is_output || value->is_captured || value->is_tapped;
}

// Whether a node of the indexed graph reads the value, or the value must stay. False for NULL.
static inline bool dq_value_is_read(const dq_value *value) {
  return value && (value->user_count || dq_value_must_stay(value));
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
  bool removed; // dq_graph_index will take the node out
  int suffix;   // number of the last fresh name that was made from the name of this node
  // Nodes that dq_graph_add_node_beside put in front of this one and behind it, until the next dq_graph_index: the
  // first and the last of those in front, the last added behind, and the next one of such a list.
  struct dq_node *before, *last_before, *behind, *next_beside;
  int mark;           // free for the transform that works on the graph; 0 in a new node
  const void *origin; // protobuf message, or NULL
};

typedef struct dq_opset {
  const char *domain; // "" for ai.onnx
  int64_t version;
} dq_opset;

// A function that the model brings and its nodes may call.
typedef struct dq_function {
  const char *domain, *name;
} dq_function;

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
  int input_count, input_capacity;
  dq_value **outputs;
  int output_count;
  dq_value **initializers;
  int initializer_count, initializer_capacity;
  dq_function *functions; // of the model, which nodes may call
  int function_count;
  dq_node **users; // of all values, in the order of the values
  int user_capacity;
  struct dq_names *names;       // finds values by name
  struct dq_names *node_names;  // finds nodes by name; NULL until the first fresh name after dq_graph_index
  bool has_replacements;        // some value has a replacement
  int beside_count;             // nodes that wait for dq_graph_index (dq_graph_add_node_beside)
  dq_node *at_front;            // of these, the last that was added in front of all
  struct dq_document *document; // what lib/onnx needs to write unknown fields back; NULL: the graph is not from a file
  // Frees the document; NULL: there is none, or the graph that this one was copied from owns it.
  void (*document_free)(struct dq_document *document);
};

// A graph without nodes and values; NULL when there is no memory. Its arena, and the arenas of its copies, count
// against `budget` (NULL: none).
dq_graph *dq_graph_new(dq_budget *budget);
void dq_graph_free(dq_graph *graph); // NULL is allowed

// A copy with nodes, values and declarations of its own, in the order of the original, so that both have the same
// dq_origin_hash. The elements of tensors and the document are shared with the original, which must outlive the copy.
// NULL when there is no memory.
dq_graph *dq_graph_copy(const dq_graph *graph);

// ---- Values ----
// The name of a value is unique in its graph; no value has the name "". Functions that make a value or a name return
// NULL when there is no memory.

dq_value *dq_graph_find(const dq_graph *graph, const char *name); // the value of that name; NULL: there is none
// The value of that name, which is made when the graph has none.
dq_value *dq_graph_add_value(dq_graph *graph, const char *name);
// A new value whose name begins with `base`.
dq_value *dq_graph_fresh_value(dq_graph *graph, const char *base);
// A new initializer whose name begins with `base`. The tensor is not copied and must live as long as the graph. NULL
// also when `tensor` is NULL, so that a tensor that could not be allocated needs no check of its own.
dq_value *dq_graph_add_constant(dq_graph *graph, const char *base, dq_tensor *tensor);
// Makes a value of the graph an initializer, or gives an initializer other elements. The tensor is not copied. False:
// there is no memory.
bool dq_graph_set_constant(dq_graph *graph, dq_value *value, dq_tensor *tensor);
// Takes an initializer, which nothing may read any more, out of the graph.
void dq_graph_remove_constant(dq_graph *graph, dq_value *value);
// Adds a value of the graph, which is no initializer and no output of a node, to its inputs, with type and shape of
// `like`. False: there is no memory.
bool dq_graph_add_input(dq_graph *graph, dq_value *value, const dq_tensor *like);
// A name that begins with `base` and that no node and no value has, for a new node.
const char *dq_graph_fresh_name(dq_graph *graph, const char *base);

// ---- Nodes ----

// Whether the node calls a function that the model brings.
bool dq_graph_calls_function(const dq_graph *graph, const dq_node *node);

// What a new node reads and computes; the arrays are copied.
typedef struct dq_ports {
  int input_count, output_count;
  dq_value *const *inputs, *const *outputs;
} dq_ports;

// Inserts a node of the domain ai.onnx in front of position `at` (graph->node_count: at the end). Producers
// and users are known from the next dq_graph_index on. The time grows with the number of nodes after the new one. NULL:
// there is no memory.
dq_node *dq_graph_add_node(dq_graph *graph, int at, const char *op_type, const char *name, int input_count,
                           dq_value *const *inputs, int output_count, dq_value *const *outputs);
// Adds a node next to `anchor`, behind it or in front of it, or in front of all nodes when `anchor` is NULL. It stands
// there from the next dq_graph_index on, where dq_graph_add_node would have put it, and takes no part in anything
// before; the nodes in between keep their places. The anchor may be such a node. The time does not depend on the size
// of the graph. NULL: there is no memory.
dq_node *dq_graph_add_node_beside(dq_graph *graph, dq_node *anchor, bool behind, const char *op_type, const char *name,
                                  const dq_ports *ports);
// Marks a node as removed; the next dq_graph_index takes it out.
void dq_graph_remove_node(dq_graph *graph, dq_node *node);
// Lets all nodes, and the outputs of the model when `outputs` is set, read the value `to` in place of `from`. Nodes
// that are in from->users change at once, other nodes at the next dq_graph_index; until then no node may produce
// `from`.
void dq_graph_replace_uses(dq_graph *graph, dq_value *from, dq_value *to, bool outputs);

// Brings the graph up to date after it was loaded or edited: takes removed nodes out, numbers nodes and values, finds
// the producer and the users of each value. With `sort` the nodes are brought into topological order (stable), else
// they keep their order. DQ_BAD_INPUT: an input or output that nothing produces, a value that two nodes produce, or a
// cycle; DQ_SYSTEM: there is no memory. Linear in the size of the graph.
dq_status dq_graph_index(dq_graph *graph, bool sort, dq_error *error);

// Reduces an indexed graph to the nodes that the values named `ends` depend on, makes these values its only outputs, in
// their order, and indexes it. DQ_BAD_INPUT: the graph has no value of such a name.
dq_status dq_graph_restrict_to(dq_graph *graph, const char *const *ends, int count, dq_error *error);

// Removes the initializers that nothing reads, and the nodes of constants alone (Constant, Identity of an initializer)
// whose results nothing reads. Initializers that are inputs too stay from IR version 4 on, as a caller may give them.
// The graph is indexed and sorted before and after; statuses are those of dq_graph_index.
dq_status dq_graph_drop_constants(dq_graph *graph, dq_error *error);

// Stores the nodes of an indexed graph in topological order, in order[node_count] of the caller. The graph stays as it
// is. DQ_BAD_INPUT: a cycle; DQ_SYSTEM: there is no memory.
dq_status dq_graph_order(const dq_graph *graph, dq_node **order, dq_error *error);

// ---- Facts about the model ----

// The version of the opset of a domain that the model imports; 0: the model does not import the domain.
int64_t dq_graph_opset(const dq_graph *graph, const char *domain);
// Sets the version of a domain, which is imported when it was not. DQ_SYSTEM: there is no memory.
dq_status dq_graph_set_opset(dq_graph *graph, const char *domain, int64_t version, dq_error *error);
// A metadata property of the model; NULL: there is none of that key.
const char *dq_graph_property(const dq_graph *graph, const char *key);
// Adds a property, or replaces the one of that key. DQ_SYSTEM: there is no memory.
dq_status dq_graph_set_property(dq_graph *graph, const char *key, const char *value, dq_error *error);

// Writes what messages call a node, "node 'conv1'" or without a name "node Conv producing 'x'", into `text`
// (DQ_LABEL_TEXT bytes) and returns `text`.
const char *dq_node_label(const dq_node *node, char *text, size_t size);
enum { DQ_LABEL_TEXT = 256 };

// ---- Attributes of a node ----

// The attribute of that name, of any type; NULL: the node has none.
const dq_attribute *dq_node_attribute(const dq_node *node, const char *name);
// The value of the attribute of that name and of the type of the function; `fallback` when the node has none.
int64_t dq_node_int(const dq_node *node, const char *name, int64_t fallback);
float dq_node_float(const dq_node *node, const char *name, float fallback);
const char *dq_node_string(const dq_node *node, const char *name, const char *fallback);
// The list with its length in *count, or the tensor, of the attribute of that name and type, which the graph owns;
// NULL, and a count of 0, when the node has none.
const int64_t *dq_node_ints(const dq_node *node, const char *name, int *count);
const float *dq_node_floats(const dq_node *node, const char *name, int *count);
const dq_tensor *dq_node_tensor(const dq_node *node, const char *name);

// These add an attribute or replace the one of that name; the value is copied. False: there is no memory.
bool dq_node_set_int(dq_graph *graph, dq_node *node, const char *name, int64_t value);
bool dq_node_set_float(dq_graph *graph, dq_node *node, const char *name, float value);
bool dq_node_set_string(dq_graph *graph, dq_node *node, const char *name, const char *value);
bool dq_node_set_ints(dq_graph *graph, dq_node *node, const char *name, const int64_t *values, int count);
// Adds a copy of an attribute of another node. Elements and texts are shared with the other node, whose graph must live
// as long as this one.
bool dq_node_copy_attribute(dq_graph *graph, dq_node *node, const dq_attribute *attribute);
void dq_node_remove_attribute(dq_node *node, const char *name); // nothing happens when the node has none of that name

dq_value *dq_node_input(const dq_node *node, int i);  // NULL: the optional input is left out, or there is no input i
dq_value *dq_node_output(const dq_node *node, int i); // NULL as for inputs
// The name by which options, files and reports know a node, which the graph owns: its own, or that of its first output
// where it has none, or "".
static inline const char *dq_node_name(const dq_node *node) {
  return node->name[0] || !node->output_count || !node->outputs[0] ? node->name : node->outputs[0]->name;
}
bool dq_node_is(const dq_node *node, const char *op_type); // whether it is this operator of the domain ai.onnx
bool dq_node_has_body(const dq_node *node); // whether an attribute holds a graph, as those of If, Loop and Scan
// Whether it is one of these operators of that domain; `op_types` ends with NULL.
bool dq_node_is_any(const dq_node *node, const char *const *op_types);

// ---- Facts about values of an indexed graph ----

// Whether exactly one input of one node reads the value, and the value need not stay for another reason
// (dq_value_must_stay): a rewrite of that node may then remove the value. False for NULL.
static inline bool dq_is_private(const dq_value *value) {
  return value && value->user_count == 1 && !dq_value_must_stay(value);
}

// The only user of a private value, or NULL.
static inline dq_node *dq_only_user(const dq_value *value) { return dq_is_private(value) ? value->users[0] : NULL; }

// The tensor of an initializer; NULL for other values, for NULL, and for types that are only carried through.
static inline const dq_tensor *dq_constant_of(const dq_value *value) {
  return value && value->constant && value->constant->data ? value->constant : NULL;
}

// The tensor of an initializer or of the output of a Constant node; NULL for other values and for NULL. Its `data` is
// NULL for types that are only carried through.
const dq_tensor *dq_known_tensor(const dq_value *value);
// As dq_known_tensor, and NULL also when the tensor has no elements in memory.
const dq_tensor *dq_known_elements(const dq_value *value);

// Whether the value is a float32 initializer.
static inline bool dq_is_float_constant(const dq_value *value) {
  const dq_tensor *tensor = dq_constant_of(value);
  return tensor && tensor->type == DQ_F32;
}

// Makes `output` the output 0 of the node, and the node its producer.
static inline void dq_node_set_output(dq_node *node, dq_value *output) {
  node->outputs[0] = output;
  output->producer = node;
}

#endif
