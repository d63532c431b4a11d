// Mutations of ONNX models: what makes another network of one, mostly one that still loads.
#include <string.h>

#include "tests/fuzz/mutate_message.h"

typedef struct mutation {
  dq_random *random;
  dq_arena *arena;
  Onnx__GraphProto *graph; // the model's, or a subgraph
  Onnx__ModelProto *model;
  const Onnx__ModelProto *other;  // to take pieces of; NULL: none
  const char **words;             // names of values, operators and attributes
  size_t word_count, value_count; // values stand in front
} mutation;

#define DQ_OPERATOR(symbol) #symbol,
static const char *const operators[] = {
#include "lib/ops/table/operators.def"
};
#undef DQ_OPERATOR
#define COUNT(list) (sizeof(list) / sizeof *(list))

// Attributes that operators read, each with the type it has there.
enum {
  A_INT = DQ_ATTRIBUTE_INT,
  A_INTS = DQ_ATTRIBUTE_INTS,
  A_FLOAT = DQ_ATTRIBUTE_FLOAT,
  A_TEXT = DQ_ATTRIBUTE_STRING
};
static const struct {
  const char *name;
  int type;
} attributes[] = {{"axis", A_INT},
                  {"axes", A_INTS},
                  {"group", A_INT},
                  {"kernel_shape", A_INTS},
                  {"strides", A_INTS},
                  {"pads", A_INTS},
                  {"dilations", A_INTS},
                  {"output_padding", A_INTS},
                  {"output_shape", A_INTS},
                  {"auto_pad", A_TEXT},
                  {"perm", A_INTS},
                  {"keepdims", A_INT},
                  {"transA", A_INT},
                  {"transB", A_INT},
                  {"alpha", A_FLOAT},
                  {"beta", A_FLOAT},
                  {"epsilon", A_FLOAT},
                  {"mode", A_TEXT},
                  {"to", A_INT},
                  {"split", A_INTS},
                  {"num_outputs", A_INT},
                  {"blocksize", A_INT},
                  {"block_size", A_INT},
                  {"ceil_mode", A_INT},
                  {"min", A_FLOAT},
                  {"max", A_FLOAT},
                  {"training_mode", A_INT},
                  {"spatial", A_INT},
                  {"starts", A_INTS},
                  {"ends", A_INTS},
                  {"k", A_INT},
                  {"num_groups", A_INT},
                  {"count_include_pad", A_INT},
                  {"storage_order", A_INT},
                  {"allowzero", A_INT},
                  {"batch_dims", A_INT},
                  {"scales", A_INTS},
                  {"equation", A_TEXT},
                  {"p", A_INT},
                  {"size", A_INT},
                  {"direction", A_TEXT},
                  {"start", A_INT},
                  {"end", A_INT},
                  {"output_dtype", A_INT},
                  {"channels_last", A_INT},
                  {"activation", A_TEXT},
                  {"value", A_INT},
                  {"shape", A_INTS},
                  {"output_height", A_INT},
                  {"output_width", A_INT},
                  {"sampling_ratio", A_INT},
                  {"spatial_scale", A_FLOAT},
                  {"offset_group", A_INT},
                  {"largest", A_INT},
                  {"sorted", A_INT},
                  {"upper", A_INT},
                  {"coordinate_transformation_mode", A_TEXT},
                  {"reduction", A_TEXT},
                  {"time_axis", A_INT},
                  {"batch_axis", A_INT}};
static const char *const texts[] = {"SAME_UPPER",
                                    "SAME_LOWER",
                                    "VALID",
                                    "NOTSET",
                                    "nearest",
                                    "linear",
                                    "cubic",
                                    "reflect",
                                    "edge",
                                    "constant",
                                    "wrap",
                                    "DCR",
                                    "CRD",
                                    "ij,jk->ik",
                                    "bchw,kc->bkhw",
                                    "...ii->...i",
                                    "Relu",
                                    "sum",
                                    "mean",
                                    "none",
                                    "add",
                                    "mul",
                                    "asymmetric",
                                    "align_corners",
                                    "tf_crop_and_resize",
                                    "bilinear",
                                    "com.microsoft",
                                    "ai.onnx",
                                    "",
                                    "dq"};

static uint64_t below(const mutation *m, uint64_t count) { return dq_random_below(m->random, count); }
static char *text(const mutation *m, const char *s) { return dq_arena_strdup(m->arena, s); }

// ---- Words ----

static void add_word(mutation *m, const char *word) {
  if (word && m->word_count < 4096) m->words[m->word_count++] = word;
}

static bool gather_words(mutation *m) {
  m->words = dq_arena_array(m->arena, 4096, sizeof *m->words);
  if (!m->words) return false;
  for (size_t i = 0; i < m->graph->n_node && i < 500; i++) {
    const Onnx__NodeProto *node = m->graph->node[i];
    for (size_t k = 0; k < node->n_output && k < 8; k++) add_word(m, node->output[k]);
  }
  for (size_t i = 0; i < m->graph->n_input && i < 100; i++) add_word(m, m->graph->input[i]->name);
  for (size_t i = 0; i < m->graph->n_initializer && i < 500; i++) add_word(m, m->graph->initializer[i]->name);
  add_word(m, "");
  m->value_count = m->word_count;
  for (size_t i = 0; i < COUNT(operators); i++) add_word(m, operators[i]);
  for (size_t i = 0; i < COUNT(attributes); i++) add_word(m, attributes[i].name);
  for (size_t i = 0; i < COUNT(texts); i++) add_word(m, texts[i]);
  return true;
}

static char *some_value(const mutation *m) { return text(m, m->words[below(m, m->value_count)]); }
static Onnx__NodeProto *some_node(const mutation *m) {
  return m->graph->n_node ? m->graph->node[below(m, m->graph->n_node)] : NULL;
}

// ---- Pieces that are new ----

static Onnx__NodeProto *new_node(const mutation *m, const char *op_type, char *input, char *output) {
  Onnx__NodeProto *node = DQ_NEW(m->arena, Onnx__NodeProto);
  onnx__node_proto__init(node);
  node->op_type = text(m, op_type);
  node->input = fuzz_array_insert(m->arena, NULL, &node->n_input, 0, input);
  node->output = fuzz_array_insert(m->arena, NULL, &node->n_output, 0, output);
  return node;
}

static char *fresh_name(const mutation *m) { return dq_arena_printf(m->arena, "new%u", (unsigned)below(m, 1000000)); }

// A small constant of random type and shape.
static char *new_constant(const mutation *m, int type, int rank) {
  Onnx__TensorProto *tensor = DQ_NEW(m->arena, Onnx__TensorProto);
  onnx__tensor_proto__init(tensor);
  size_t count = 1;
  tensor->dims = dq_arena_array(m->arena, 8, sizeof *tensor->dims);
  for (int i = 0; i < rank; i++) count *= (size_t)(tensor->dims[tensor->n_dims++] = 1 + (int64_t)below(m, 4));
  tensor->has_data_type = 1, tensor->data_type = type, tensor->name = fresh_name(m);
  size_t width = type == DQ_I64 || type == DQ_F64 ? 8 : type == DQ_F32 || type == DQ_I32 ? 4 : type == DQ_F16 ? 2 : 1;
  tensor->has_raw_data = 1;
  tensor->raw_data.len = count * width;
  tensor->raw_data.data = dq_arena_alloc(m->arena, count * width);
  for (size_t i = 0; i < count; i++) {
    float real = below(m, 8) ? dq_random_float(m->random) : (float)fuzz_real(m->random);
    int64_t whole = fuzz_integer(m->random, 1);
    memcpy(tensor->raw_data.data + i * width, type == DQ_F32 ? (void *)&real : (void *)&whole, width);
  }
  m->graph->initializer =
      fuzz_array_insert(m->arena, m->graph->initializer, &m->graph->n_initializer, m->graph->n_initializer, tensor);
  return tensor->name;
}

static void add_input(const mutation *m, Onnx__NodeProto *node, char *value) {
  node->input = fuzz_array_insert(m->arena, node->input, &node->n_input, node->n_input, value);
}

// A new node between a value and a node that reads it; the new node, or NULL.
static Onnx__NodeProto *insert_before(const mutation *m, const char *op_type) {
  size_t at = (size_t)below(m, m->graph->n_node + 1) - (m->graph->n_node > 0);
  if (at >= m->graph->n_node || !m->graph->node[at]->n_input) return NULL;
  Onnx__NodeProto *reader = m->graph->node[at];
  char **input = &reader->input[below(m, reader->n_input)], *output = fresh_name(m);
  Onnx__NodeProto *node = new_node(m, op_type, *input, output);
  *input = output;
  m->graph->node = fuzz_array_insert(m->arena, m->graph->node, &m->graph->n_node, at, node);
  return node;
}

static const char *some_operator(const mutation *m) {
  static const char *const usual[] = {"Conv",
                                      "ConvTranspose",
                                      "Gemm",
                                      "MatMul",
                                      "BatchNormalization",
                                      "Relu",
                                      "Clip",
                                      "Add",
                                      "Mul",
                                      "Concat",
                                      "Reshape",
                                      "Transpose",
                                      "MaxPool",
                                      "AveragePool",
                                      "GlobalAveragePool",
                                      "Resize",
                                      "Slice",
                                      "Split",
                                      "Pad",
                                      "Sigmoid",
                                      "Softmax",
                                      "QuantizeLinear",
                                      "DequantizeLinear",
                                      "Constant",
                                      "Identity",
                                      "Cast",
                                      "PRelu",
                                      "LeakyRelu",
                                      "Squeeze",
                                      "Unsqueeze",
                                      "Flatten",
                                      "ReduceMean",
                                      "QLinearConv",
                                      "Gather",
                                      "DepthToSpace"};
  return below(m, 2) ? usual[below(m, COUNT(usual))] : operators[below(m, COUNT(operators))];
}

// ---- Mutations of a network ----

static void rewire(mutation *m) {
  Onnx__NodeProto *node = some_node(m);
  if (node && node->n_input) node->input[below(m, node->n_input)] = some_value(m);
}

static void add_operand(mutation *m) {
  static const int types[] = {DQ_F32, DQ_F32, DQ_I64, DQ_I64, DQ_U8, DQ_I8, DQ_I32, DQ_F16};
  Onnx__NodeProto *node = some_node(m);
  if (!node) return;
  char *operand = below(m, 3) ? new_constant(m, types[below(m, COUNT(types))], (int)below(m, 5)) : some_value(m);
  if (node->n_input && below(m, 2)) node->input[below(m, node->n_input)] = operand;
  else add_input(m, node, operand);
}

static void change_operator(mutation *m) {
  Onnx__NodeProto *node = some_node(m);
  if (!node) return;
  node->op_type = text(m, some_operator(m));
  if (!below(m, 8)) node->domain = text(m, "com.microsoft");
}

static void insert_operator(mutation *m) {
  Onnx__NodeProto *node = insert_before(m, some_operator(m));
  for (uint64_t more = below(m, 3); node && more; more--) add_input(m, node, new_constant(m, DQ_F32, (int)below(m, 3)));
}

// QuantizeLinear and DequantizeLinear around an operand, or in front of one alone.
static void insert_quantization(mutation *m) {
  int type = below(m, 2) ? DQ_U8 : DQ_I8, rank = (int)!below(m, 3);
  for (int forward = below(m, 4) != 0; forward >= 0; forward--) {
    Onnx__NodeProto *node = insert_before(m, forward ? "DequantizeLinear" : "QuantizeLinear");
    if (!node) return;
    add_input(m, node, new_constant(m, DQ_F32, rank));
    if (below(m, 8)) add_input(m, node, new_constant(m, type, rank));
  }
}

static Onnx__AttributeProto *attribute_of(const mutation *m, Onnx__NodeProto *node, const char *name) {
  for (size_t i = 0; i < node->n_attribute; i++)
    if (node->attribute[i]->name && !strcmp(node->attribute[i]->name, name)) return node->attribute[i];
  Onnx__AttributeProto *made = DQ_NEW(m->arena, Onnx__AttributeProto);
  onnx__attribute_proto__init(made);
  made->name = text(m, name);
  node->attribute = fuzz_array_insert(m->arena, node->attribute, &node->n_attribute, node->n_attribute, made);
  return made;
}

static void set_attribute(mutation *m) {
  Onnx__NodeProto *node = some_node(m);
  if (!node) return;
  size_t which = (size_t)below(m, COUNT(attributes));
  Onnx__AttributeProto *to = attribute_of(m, node, attributes[which].name);
  to->has_type = 1;
  to->type = (Onnx__AttributeProto__AttributeType)(below(m, 8) ? (uint64_t)attributes[which].type : below(m, 15));
  to->has_i = 1, to->i = fuzz_integer(m->random, to->i);
  to->has_f = 1, to->f = (float)fuzz_real(m->random);
  const char *word = texts[below(m, COUNT(texts))];
  to->has_s = 1, to->s.data = (uint8_t *)text(m, word), to->s.len = strlen(word);
  if (to->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS) return;
  size_t count = to->n_ints && below(m, 2) ? to->n_ints : (size_t)below(m, 9);
  int64_t *ints = dq_arena_array(m->arena, count + 1, sizeof *ints);
  for (size_t i = 0; i < count; i++) {
    ints[i] = i < to->n_ints ? to->ints[i] : (int64_t)below(m, 4);
    if (!below(m, 3)) ints[i] = fuzz_integer(m->random, ints[i]);
  }
  to->n_ints = count, to->ints = ints;
}

static void change_tensor(mutation *m) {
  Onnx__TensorProto *tensor = fuzz_pick_message(&m->model->base, &onnx__tensor_proto__descriptor, m->random);
  if (!tensor) return;
  switch (below(m, 4)) {
  case 0: tensor->has_data_type = 1, tensor->data_type = (int32_t)below(m, 24); return;
  case 1: // the same elements in another shape
    if (tensor->n_dims > 1) {
      size_t a = (size_t)below(m, tensor->n_dims), b = (size_t)below(m, tensor->n_dims);
      int64_t kept = tensor->dims[a];
      tensor->dims[a] = tensor->dims[b], tensor->dims[b] = kept;
    }
    return;
  case 2:
    if (tensor->n_dims) tensor->dims[below(m, tensor->n_dims)] = (int64_t)below(m, 3);
    tensor->raw_data.len = tensor->has_raw_data ? (size_t)below(m, tensor->raw_data.len + 1) : 0;
    return;
  default:
    if (tensor->n_dims && tensor->dims[tensor->n_dims - 1] > 0) tensor->n_dims--; // a rank less
  }
}

// A value becomes an output, or an input.
static void declare(mutation *m) {
  Onnx__ValueInfoProto *like = fuzz_pick_message(&m->model->base, &onnx__value_info_proto__descriptor, m->random);
  if (!like) return;
  Onnx__ValueInfoProto *made = dq_arena_copy(m->arena, like, sizeof *like);
  made->name = some_value(m);
  Onnx__GraphProto *g = m->graph;
  if (below(m, 3)) g->output = fuzz_array_insert(m->arena, g->output, &g->n_output, g->n_output, made);
  else g->input = fuzz_array_insert(m->arena, g->input, &g->n_input, g->n_input, made);
}

// Shares nothing with the node, whose subgraphs the copy may be put into.
static Onnx__NodeProto *deep_copy(const mutation *m, const Onnx__NodeProto *node) {
  ProtobufCAllocator allocator = dq_arena_allocator(m->arena);
  uint8_t *packed = dq_arena_alloc(m->arena, onnx__node_proto__get_packed_size(node) + 1);
  return packed ? onnx__node_proto__unpack(&allocator, onnx__node_proto__pack(node, packed), packed) : NULL;
}

// A node of the other model with the constants it reads; its other operands are values of this one.
static void splice(mutation *m) {
  const Onnx__GraphProto *from = m->other ? m->other->graph : NULL;
  if (!from || !from->n_node) return;
  Onnx__GraphProto *g = m->graph;
  Onnx__NodeProto *node = deep_copy(m, from->node[below(m, from->n_node)]);
  if (!node) return;
  char **inputs = dq_arena_array(m->arena, node->n_input + 1, sizeof *inputs);
  for (size_t i = 0; i < node->n_input; i++) {
    inputs[i] = some_value(m);
    for (size_t k = 0; k < from->n_initializer; k++)
      if (from->initializer[k]->name && !strcmp(from->initializer[k]->name, node->input[i])) {
        Onnx__TensorProto *tensor = dq_arena_copy(m->arena, from->initializer[k], sizeof *tensor);
        inputs[i] = tensor->name = fresh_name(m);
        g->initializer = fuzz_array_insert(m->arena, g->initializer, &g->n_initializer, g->n_initializer, tensor);
      }
  }
  node->input = inputs;
  size_t at = (size_t)below(m, g->n_node + 1);
  if (at < g->n_node && g->node[at]->n_input && node->n_output) { // what follows reads it
    char **outputs = dq_arena_copy(m->arena, node->output, node->n_output * sizeof *outputs);
    g->node[at]->input[below(m, g->node[at]->n_input)] = outputs[0] = fresh_name(m);
    node->output = outputs;
  }
  g->node = fuzz_array_insert(m->arena, g->node, &g->n_node, at, node);
}

static void double_node(mutation *m) {
  Onnx__NodeProto *node = some_node(m);
  if (!node || !node->n_output) return;
  Onnx__NodeProto *twin = dq_arena_copy(m->arena, node, sizeof *node);
  twin->output = dq_arena_copy(m->arena, node->output, node->n_output * sizeof *node->output);
  for (size_t i = 0; i < twin->n_output; i++) twin->output[i] = fresh_name(m);
  twin->input = dq_arena_copy(m->arena, node->input, node->n_input * sizeof *node->input);
  if (twin->n_input && below(m, 2)) twin->input[0] = node->output[0];
  Onnx__GraphProto *g = m->graph;
  g->node = fuzz_array_insert(m->arena, g->node, &g->n_node, g->n_node, twin);
  Onnx__NodeProto *reader = some_node(m);
  if (reader != twin && reader->n_input && below(m, 2)) reader->input[below(m, reader->n_input)] = twin->output[0];
}

static void change_version(mutation *m) {
  if (m->model->n_opset_import) {
    Onnx__OperatorSetIdProto *opset = m->model->opset_import[below(m, m->model->n_opset_import)];
    opset->has_version = 1, opset->version = 7 + (int64_t)below(m, 18);
  } else m->model->has_ir_version = 1, m->model->ir_version = (int64_t)below(m, 16);
}

static void any_field(mutation *m) {
  fuzz_mutate_message(&m->model->base, m->words, m->word_count, m->random, m->arena);
}

static void (*const mutations[])(mutation *) = {
    any_field,     any_field,       any_field,   any_field,       set_attribute,       set_attribute, set_attribute,
    change_tensor, change_tensor,   rewire,      rewire,          add_operand,         add_operand,   splice,
    splice,        change_operator, double_node, insert_operator, insert_quantization, declare,       change_version};

// ---- The bytes of a model ----

static Onnx__ModelProto *unpack(dq_arena *arena, const uint8_t *data, size_t size) {
  size_t memory;
  if (!size || dq_scan_message(&onnx__model_proto__descriptor, data, size, &memory, NULL) != DQ_OK) return NULL;
  ProtobufCAllocator allocator = dq_arena_allocator(arena);
  Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, size, data);
  return model && model->graph ? model : NULL;
}

static size_t mutate(mutation *m, uint8_t *data, size_t size, size_t capacity) {
  if (!gather_words(m)) return size;
  for (uint64_t left = 1 + below(m, 1 + below(m, 6)); left; left--) {
    m->graph = m->model->graph; // `any_field` may have taken it out
    if (!m->graph) break;
    if (!below(m, 8)) m->graph = fuzz_pick_message(&m->model->base, &onnx__graph_proto__descriptor, m->random);
    mutations[below(m, COUNT(mutations))](m);
  }
  size_t packed = onnx__model_proto__get_packed_size(m->model);
  return packed <= capacity ? onnx__model_proto__pack(m->model, data) : size;
}

size_t fuzz_mutate_model(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                         dq_random *random) {
  uint64_t plain = dq_random_below(random, 24);
  dq_arena *arena = plain ? dq_arena_new(NULL) : NULL;
  mutation m = {.random = random, .arena = arena};
  if (arena) m.model = unpack(arena, data, size);
  if (m.model) {
    m.other = unpack(arena, other, other_size);
    m.graph = m.model->graph;
    size = mutate(&m, data, size, capacity);
  }
  bool whole = m.model;
  dq_arena_free(arena);
  if (whole && plain > 1) return size;
  return fuzz_mutate_bytes(data, size, capacity, other, other_size, random);
}
