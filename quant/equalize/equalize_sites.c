// Which values of a graph may be scaled per channel: everything that writes or reads them can make
// up for it exactly.
#include <math.h>
#include <string.h>

#include "quant/equalize/equalize_internal.h"
#include "quant/numeric/sets.h"
#include "quant/rewrite/private_constant.h"

typedef struct dq_site_finder {
  const dq_graph *graph;
  const dq_tensor *tensors;
  dq_arena *arena;
  dq_site *site; // that is being found
  dq_site room;  // its arrays, as large as the graph may need; used by one site after the other
  int *first;    // by value index: the first of its channels' entries, -1: not in the site
  int *parent;   // union-find over entries
  int *place;    // by value index: in site->values
  int entries, capacity;
} finder;

// ---- Classes ----

static bool reserve(finder *find, int64_t more) {
  if (more > INT32_MAX - find->entries) return false;
  if (find->entries + more <= find->capacity) return true;
  int64_t capacity = 2 * (find->entries + more);
  if (capacity > INT32_MAX) return false;
  int *parent = DQ_NEW_ARRAY(find->arena, capacity, int);
  if (!parent) return false;
  if (find->entries) memcpy(parent, find->parent, (size_t)find->entries * sizeof *parent);
  find->parent = parent;
  find->capacity = (int)capacity;
  return true;
}

static int64_t channels_of(const finder *find, const dq_value *value) { return find->tensors[value->index].dims[1]; }

// Takes the value into the site; false when it cannot be scaled.
static bool join(finder *find, dq_value *value) {
  if (!value) return false;
  if (find->first[value->index] >= 0) return true;
  const dq_tensor *tensor = &find->tensors[value->index];
  if (tensor->type != DQ_F32 || tensor->rank < 3 || value->is_input || dq_value_must_stay(value) || value->constant ||
      !reserve(find, tensor->dims[1]))
    return false;
  find->first[value->index] = find->entries;
  for (int64_t c = 0; c < tensor->dims[1]; c++, find->entries++) find->parent[find->entries] = find->entries;
  find->place[value->index] = find->site->value_count;
  find->site->values[find->site->value_count++] = (dq_site_value){value, tensor->dims[1], tensor->rank, NULL};
  return true;
}

static void unite_entries(finder *find, int one, int other) {
  int a = dq_set_of(find->parent, one), b = dq_set_of(find->parent, other);
  if (a < b) find->parent[b] = a;
  else find->parent[a] = b;
}

// Channels of `part` have the factors of those of `whole` from `offset` on.
static bool unite(finder *find, dq_value *whole, int64_t offset, dq_value *part) {
  if (!join(find, whole) || !join(find, part)) return false;
  if (offset + channels_of(find, part) > channels_of(find, whole)) return false;
  for (int64_t c = 0; c < channels_of(find, part); c++)
    unite_entries(find, find->first[whole->index] + (int)(offset + c), find->first[part->index] + (int)c);
  return true;
}

static bool unite_equal(finder *find, dq_value *a, dq_value *b) {
  return join(find, a) && join(find, b) && channels_of(find, a) == channels_of(find, b) && unite(find, a, 0, b);
}

// Numbers the classes in the order in which the values' channels come.
static bool number_classes(finder *find) {
  dq_site *site = find->site;
  int *numbers = DQ_NEW_ARRAY(find->arena, find->entries + 1, int);
  if (!numbers) return false;
  for (int e = 0; e < find->entries; e++) numbers[e] = -1;
  for (int v = 0; v < site->value_count; v++) {
    dq_site_value *value = &site->values[v];
    int *classes = DQ_NEW_ARRAY(find->arena, value->channels, int);
    if (!classes) return false;
    for (int64_t c = 0; c < value->channels; c++) {
      int root = dq_set_of(find->parent, find->first[value->value->index] + (int)c);
      if (numbers[root] < 0) numbers[root] = (int)site->class_count++;
      classes[c] = numbers[root];
    }
    value->classes = classes;
  }
  return true;
}

// ---- Operators ----

// Operators with constants that can take a factor per channel of their input or output.
static bool is_scalable(const dq_node *node) {
  enum { NORM_CONSTANTS = 4 };
  bool norm = dq_node_is(node, "BatchNormalization");
  for (int i = 1; norm && i <= NORM_CONSTANTS; i++)
    if (!dq_is_float_constant(dq_node_input(node, i))) return false;
  const dq_value *bias = dq_node_input(node, 2);
  dq_product product;
  const bool scalable =
      dq_float_product(node, &product) && product.kind != DQ_MATRIX_PRODUCT && !dq_is_widely_shared(node->inputs[1]);
  return (norm || scalable) && node->outputs[0] && (!bias || dq_is_float_constant(bias)) &&
         !dq_node_int(node, "training_mode", 0);
}

static bool is_zero_pad(const dq_node *node) {
  const dq_value *fill = dq_node_input(node, 2);
  if (!dq_node_is(node, "Pad") || dq_node_float(node, "value", 0) != 0) return false;
  return !fill || (dq_is_float_constant(fill) && *(const float *)fill->constant->data == 0);
}

// Operators f with f(c x) = c f(x) for c > 0, one c per channel, reading x as their first input.
static bool keeps_scale(const dq_node *node) {
  if (dq_node_flags(node) & DQ_OP_HOMOGENEOUS) {
    for (int i = 1; i < node->input_count; i++)
      if (!dq_is_float_constant(node->inputs[i])) return false;
    return node->output_count == 1 || !node->outputs[1];
  }
  if (dq_node_is(node, "Resize"))
    return strcmp(dq_node_string(node, "coordinate_transformation_mode", ""), "tf_crop_and_resize");
  return is_zero_pad(node);
}

double dq_clip_bound(const dq_node *clip) {
  float low, high;
  return dq_clamp_of(clip, &low, &high) ? (double)high : NAN;
}

bool dq_is_rectifying_clip(const dq_node *node) {
  float low, high;
  return !(dq_node_flags(node) & DQ_OP_HOMOGENEOUS) && dq_clamp_of(node, &low, &high) && low == 0 && high > 0;
}

static bool is_plain_add(const finder *find, const dq_node *node) {
  if (!(dq_node_flags(node) & DQ_OP_ADDS)) return false;
  const dq_tensor *result = &find->tensors[node->outputs[0]->index];
  return dq_tensor_same_shape(&find->tensors[node->inputs[0]->index], result) &&
         dq_tensor_same_shape(&find->tensors[node->inputs[1]->index], result);
}

static bool is_along_channels(const finder *find, const dq_node *node) {
  int64_t axis = dq_node_int(node, "axis", dq_node_is(node, "Split") ? 0 : 1);
  return axis == 1 || axis == 1 - find->tensors[node->outputs[0]->index].rank;
}

static bool is_private(const dq_value *value, int users) {
  return value->user_count == users && !dq_value_must_stay(value);
}

// The Sigmoid when `node` is Mul(x, Sigmoid(x)) with x from a convolution and nothing else reading
// either; NULL otherwise.
static dq_node *silu_sigmoid(const dq_node *node) {
  if (!dq_node_is(node, "Mul")) return NULL;
  for (int i = 0; i < 2; i++) {
    const dq_value *x = node->inputs[i], *gate = node->inputs[1 - i];
    dq_node *sigmoid = gate->producer;
    if (sigmoid && dq_node_is(sigmoid, "Sigmoid") && sigmoid->inputs[0] == x && is_private(x, 2) &&
        is_private(gate, 1) && x->producer && is_scalable(x->producer))
      return sigmoid;
  }
  return NULL;
}

static bool is_gate_of_silu(const dq_node *node) {
  const dq_node *user = dq_only_user(node->outputs[0]);
  return user && silu_sigmoid(user) == node;
}

// A function of each element of its first input that is the same in all channels and that no factor passes.
static bool is_site_function(const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  unsigned needed = DQ_OP_ELEMENTWISE | DQ_OP_UNIFORM;
  if (!row || row->quantization != DQ_QUANTIZE_TABLE || (row->flags & needed) != needed ||
      (row->flags & DQ_OP_HOMOGENEOUS))
    return false;
  return node->input_count == 1 && node->output_count == 1 && !is_gate_of_silu(node);
}

// Whether the node is such a function or a number around one.
static bool is_part_of_function(const dq_node *node) {
  if (!node) return false;
  if (!dq_applies_number(node)) return is_site_function(node);
  const dq_node *before = dq_before_numbers(node), *behind = dq_behind_numbers(node);
  return (before && is_site_function(before)) || (behind && is_site_function(behind));
}

// Whether the value is not rounded, as it lies between a function and numbers around it.
static bool is_inside_function(const dq_value *value) {
  const dq_node *user = dq_only_user(value), *producer = value->producer;
  return user && is_part_of_function(user) && is_part_of_function(producer) &&
         (dq_applies_number(user) || dq_applies_number(producer));
}

bool dq_begins_site_function(const dq_node *node) {
  return is_part_of_function(node) && !is_inside_function(node->inputs[0]);
}

static bool ends_site_function(const dq_node *node) {
  return is_part_of_function(node) && !is_inside_function(node->outputs[0]);
}

// The operand that `node` scales as a whole: of Mul(x, Sigmoid(...)) it is x, of a MatMul with a
// constant along the last two axes the other one; NULL: none.
static dq_value *linear_operand(const finder *find, const dq_node *node) {
  bool gated = dq_node_is(node, "Mul");
  if (!gated && !dq_node_is(node, "MatMul")) return NULL;
  for (int i = 0; i < 2; i++) {
    dq_value *x = node->inputs[i];
    const dq_value *other = node->inputs[1 - i];
    const dq_node *gate = other->producer;
    const dq_tensor *tensor = &find->tensors[x->index];
    if (gated && gate && (dq_node_is(gate, "Sigmoid") || dq_node_is(gate, "HardSigmoid")) &&
        dq_tensor_same_shape(tensor, &find->tensors[node->outputs[0]->index]))
      return x;
    if (!gated && dq_is_float_constant(other) && other->constant->rank == 2 && tensor->rank == 4) return x;
  }
  return NULL;
}

// A shuffle of channels: Reshape to N,a,b,H,W, Transpose of a and b, Reshape back.
typedef struct shuffle {
  dq_value *input, *output;
  int64_t a, b; // output channel j a + i is input channel i b + j
} shuffle;

static bool is_shuffle(const finder *find, const dq_node *first, shuffle *found) {
  static const int64_t swapped[] = {0, 2, 1, 3, 4};
  const dq_node *transpose = first ? dq_only_user(first->outputs[0]) : NULL;
  const dq_node *last = transpose ? dq_only_user(transpose->outputs[0]) : NULL;
  int count = 0;
  if (!last || !dq_node_is(first, "Reshape") || !dq_node_is(transpose, "Transpose") || !dq_node_is(last, "Reshape"))
    return false;
  const int64_t *order = dq_node_ints(transpose, "perm", &count);
  const dq_tensor *middle = &find->tensors[first->outputs[0]->index];
  if (count != 5 || memcmp(order, swapped, sizeof swapped) || middle->rank != 5) return false;
  *found = (shuffle){first->inputs[0], last->outputs[0], middle->dims[1], middle->dims[2]};
  const dq_tensor *input = &find->tensors[found->input->index];
  return input->rank == 4 && input->dims[1] == found->a * found->b &&
         dq_tensor_same_shape(input, &find->tensors[found->output->index]);
}

// The first node of the shuffle that ends in `node`; `node` itself otherwise.
static const dq_node *start_of_shuffle(const dq_node *node) {
  const dq_value *moved = dq_node_input(node, 0);
  const dq_node *before = moved ? moved->producer : NULL;
  const dq_value *input = before ? dq_node_input(before, 0) : NULL; // NULL: of a Constant
  const dq_node *first = input ? input->producer : NULL;
  return first && dq_node_is(node, "Reshape") && dq_node_is(before, "Transpose") ? first : node;
}

// ---- Finding ----

static bool unite_shuffled(finder *find, const shuffle *s) {
  if (!join(find, s->input) || !join(find, s->output)) return false;
  for (int64_t i = 0; i < s->a; i++)
    for (int64_t j = 0; j < s->b; j++)
      unite_entries(find, find->first[s->input->index] + (int)(i * s->b + j),
                    find->first[s->output->index] + (int)(j * s->a + i));
  return true;
}

static bool join_channels(finder *find, const dq_node *node) {
  bool split = dq_node_is(node, "Split");
  dq_value *whole = split ? node->inputs[0] : node->outputs[0];
  int count = split ? node->output_count : node->input_count;
  int64_t offset = 0;
  for (int i = 0; i < count; i++) {
    dq_value *part = split ? node->outputs[i] : node->inputs[i];
    if (!part || !unite(find, whole, offset, part)) return false;
    offset += channels_of(find, part);
  }
  return true;
}

// A node inside the site, reached through one of its values.
static bool join_node(finder *find, dq_node *node, const dq_value *from) {
  bool joins = (dq_node_flags(node) & DQ_OP_JOIN) || dq_node_is(node, "Split");
  if (joins || dq_is_rectifying_clip(node)) find->site->wide = true;
  if (joins) return is_along_channels(find, node) && join_channels(find, node);
  if (is_plain_add(find, node))
    return unite_equal(find, node->outputs[0], node->inputs[0]) && unite_equal(find, node->outputs[0], node->inputs[1]);
  dq_value *operand = linear_operand(find, node);
  if (operand) return (from == operand || from == node->outputs[0]) && unite_equal(find, node->outputs[0], operand);
  if (from != node->inputs[0] && from != node->outputs[0]) return false;
  shuffle found;
  if (is_shuffle(find, from == node->inputs[0] ? node : start_of_shuffle(node), &found))
    return unite_shuffled(find, &found);
  if (dq_is_rectifying_clip(node)) {
    if (from == node->inputs[0]) find->site->clips[find->site->clip_count++] = node;
  } else if (!keeps_scale(node)) {
    return false;
  }
  return unite_equal(find, node->outputs[0], node->inputs[0]);
}

static bool join_producer(finder *find, const dq_value *value) {
  dq_site *site = find->site;
  dq_node *node = value->producer;
  if (!node) return false;
  if (is_scalable(node)) {
    site->writers[site->writer_count++] = node;
    return node->outputs[0] == value;
  }
  if (ends_site_function(node)) {
    site->results[site->result_count++] = (dq_site_function){node, find->place[value->index]};
    return true;
  }
  dq_node *sigmoid = silu_sigmoid(node);
  if (!sigmoid) return join_node(find, node, value);
  site->silus[site->silu_count++] = (dq_silu){sigmoid->inputs[0]->producer, sigmoid, find->place[value->index]};
  return true;
}

static bool join_user(finder *find, const dq_value *value, dq_node *node) {
  dq_site *site = find->site;
  if (dq_begins_site_function(node)) {
    site->arguments[site->argument_count++] = (dq_site_function){node, find->place[value->index]};
    return true;
  }
  if (node->inputs[0] != value || !is_scalable(node)) return join_node(find, node, value);
  // A node that reads the value several times stands in its users several times in a row.
  if (!site->reader_count || site->readers[site->reader_count - 1] != node) site->readers[site->reader_count++] = node;
  return true;
}

dq_site_finder *dq_site_finder_new(const dq_graph *graph, const dq_tensor *tensors, dq_arena *arena) {
  const int values = graph->value_count, nodes = graph->node_count;
  finder *find = DQ_NEW(arena, finder);
  if (!find) return NULL;
  *find = (finder){.graph = graph,
                   .tensors = tensors,
                   .arena = arena,
                   .room = {.values = DQ_NEW_ARRAY(arena, values, dq_site_value),
                            .writers = DQ_NEW_ARRAY(arena, values, dq_node *),
                            .readers = DQ_NEW_ARRAY(arena, nodes, dq_node *),
                            .clips = DQ_NEW_ARRAY(arena, values, dq_node *),
                            .silus = DQ_NEW_ARRAY(arena, values, dq_silu),
                            .arguments = DQ_NEW_ARRAY(arena, nodes, dq_site_function),
                            .results = DQ_NEW_ARRAY(arena, nodes, dq_site_function),
                            .free_readers = true},
                   .first = DQ_NEW_ARRAY(arena, values, int),
                   .place = DQ_NEW_ARRAY(arena, values, int)};
  const dq_site *room = &find->room;
  if (!room->values || !room->writers || !room->readers || !room->clips || !room->silus || !room->arguments ||
      !room->results || !find->first || !find->place)
    return NULL;
  for (int v = 0; v < values; v++) find->first[v] = -1;
  return find;
}

static void open_site(finder *find, dq_site *site) {
  *site = find->room;
  find->site = site;
  find->entries = 0;
}

// Moves what was found out of the room; false: there is no memory, and the site is empty.
static bool close_site(const finder *find, dq_site *site) {
#define DQ_KEEP(list, count) ((list) = dq_arena_copy(find->arena, list, (size_t)(count) * sizeof *(list)))
  for (int v = 0; v < site->value_count; v++) find->first[site->values[v].value->index] = -1;
  const bool kept = DQ_KEEP(site->values, site->value_count) && DQ_KEEP(site->writers, site->writer_count) &&
                    DQ_KEEP(site->readers, site->reader_count) && DQ_KEEP(site->clips, site->clip_count) &&
                    DQ_KEEP(site->silus, site->silu_count) && DQ_KEEP(site->arguments, site->argument_count) &&
                    DQ_KEEP(site->results, site->result_count);
#undef DQ_KEEP
  if (!kept) *site = (dq_site){0};
  return kept;
}

static bool fill_site(finder *find, dq_value *value) {
  dq_site *site = find->site;
  if (!join(find, value)) return false;
  for (int i = 0; i < site->value_count; i++) {
    dq_value *here = site->values[i].value;
    if (!join_producer(find, here)) return false;
    for (int u = 0; u < here->user_count; u++)
      if (!join_user(find, here, here->users[u])) return false;
  }
  for (int r = 0; r < site->reader_count; r++)
    site->free_readers = site->free_readers && dq_reader_is_free(site, site->readers[r]);
  return site->reader_count + site->argument_count > 0 && number_classes(find);
}

bool dq_site_find(dq_site *site, dq_site_finder *find, dq_value *value) {
  open_site(find, site);
  bool found = fill_site(find, value);
  return close_site(find, site) && found;
}

bool dq_output_head_site(dq_site *site, dq_site_finder *find, const bool *in_head, dq_value *value) {
  const dq_tensor *tensor = &find->tensors[value->index];
  if (!in_head[value->index] || !value->producer || !is_scalable(value->producer) ||
      dq_node_is(value->producer, "BatchNormalization") || tensor->rank != 4)
    return false;
  int *classes = DQ_NEW_ARRAY(find->arena, tensor->dims[1], int);
  if (!classes) return false;
  for (int64_t c = 0; c < tensor->dims[1]; c++) classes[c] = (int)c;
  open_site(find, site);
  site->class_count = tensor->dims[1];
  site->values[site->value_count++] = (dq_site_value){value, tensor->dims[1], tensor->rank, classes};
  site->writers[site->writer_count++] = value->producer;
  site->head = true;
  return close_site(find, site);
}

bool dq_reader_is_free(const dq_site *site, const dq_node *node) {
  int64_t channels = dq_site_value_of(site, node->inputs[0])->channels;
  dq_product product;
  return dq_node_is(node, "BatchNormalization") || (dq_product_of(node, &product) && product.kind == DQ_CONVOLUTION &&
                                                    channels > 1 && product.groups == channels);
}

const dq_site_value *dq_site_value_of(const dq_site *site, const dq_value *value) {
  for (int v = 0; v < site->value_count; v++)
    if (site->values[v].value == value) return &site->values[v];
  return NULL;
}
