// Functions of one quantized value as tables: whatever lies between DequantizeLinear and QuantizeLinear, if
// each element of the result depends on one element of the input (and on constants, which may differ from
// channel to channel), is run in float on all 256 inputs once. So the table is exact by construction, for
// one activation as for x * Sigmoid(x) or a chain written in several nodes.
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/integer/quantized_pattern.h"
#include "lib/text/find_row.h"

enum { MOST_NODES = 24, ENTRIES = 256, LONGEST_RANK_WALK = 12 };

typedef struct function {
  dq_graph *copy;
  dq_node *nodes[MOST_NODES]; // in the order they run, from the DequantizeLinear on
  int count;
  bool has_source;
  dq_quantized x;      // the source
  bool has_batch_norm; // channels along axis 1
  int64_t channels;    // of constants that differ along one axis; 1: none does
  int axis_from_end;   // that axis, counted from the end (1: the last)
  int constant_rank;   // the most dimensions of a constant
  int least_rank;      // of the result, as constants of more dimensions bring it about
  // Slopes broadcast to what they are applied to and do not widen it: the source has at least this rank, and where
  // needs_channels is set, `channels` elements along the axis.
  int needed_rank;
  bool needs_channels;
} function;

static bool is_listed(const function *f, const dq_node *node) {
  for (int i = 0; i < f->count; i++)
    if (f->nodes[i] == node) return true;
  return false;
}

static bool list(function *f, dq_node *node) {
  if (is_listed(f, node)) return true;
  if (f->count == MOST_NODES) return false;
  f->nodes[f->count++] = node;
  return true;
}

// Takes note of a constant operand that is broadcast; false when it differs along more than one axis, or
// along another than those before.
static bool record_constant(function *f, const dq_tensor *constant) {
  if (constant->type != DQ_F32) return false;
  if (constant->rank > f->constant_rank) f->constant_rank = constant->rank;
  if (constant->rank > f->least_rank) f->least_rank = constant->rank;
  int axis_from_end = 0;
  for (int i = 0; i < constant->rank; i++) {
    if (constant->dims[i] == 1) continue;
    if (axis_from_end) return false;
    axis_from_end = constant->rank - i;
  }
  if (!axis_from_end) return true;
  int64_t channels = constant->dims[constant->rank - axis_from_end];
  if (f->channels > 1 && (f->channels != channels || f->axis_from_end != axis_from_end)) return false;
  f->channels = channels;
  f->axis_from_end = axis_from_end;
  return channels > 0;
}

static bool collect(function *f, const dq_value *value);

// Scale, bias, mean and variance of BatchNormalization lie along axis 1 whatever the rank.
static bool collect_batch_norm(function *f, const dq_node *node) {
  if (!collect(f, node->inputs[0]) || f->has_batch_norm || dq_node_int(node, "training_mode", 0)) return false;
  for (int i = 1; i < node->input_count; i++)
    if (!dq_constant_of(node->inputs[i])) return false;
  f->has_batch_norm = true;
  return true;
}

static bool collect_operands(function *f, const dq_node *node, int from) {
  for (int i = from; i < node->input_count; i++)
    if (node->inputs[i] && !collect(f, node->inputs[i])) return false;
  return true;
}

// A node whose result has the shape of input 0 whatever the others are: a clamp, or an operator with slopes.
static bool collect_kept_shape(function *f, const dq_node *node, bool has_slopes) {
  if (!collect(f, node->inputs[0])) return false;
  const int rank = f->least_rank;
  const bool one = f->channels == 1;
  if (!collect_operands(f, node, 1)) return false;
  if (has_slopes) {
    if (f->least_rank > rank && f->least_rank > f->needed_rank) f->needed_rank = f->least_rank;
    f->needs_channels |= one && f->channels > 1;
  }
  f->least_rank = rank;
  return true;
}

// The table of 256 that computes a value from another one, or NULL.
static dq_node *single_table(const dq_value *value) {
  dq_node *node = value->producer;
  bool is_table = node && !strcmp(node->op_type, "QTable") && node->inputs[1]->constant->rank == 1;
  return is_table ? node : NULL;
}

// Tables run before all else: they need the source alone.
static bool list_first(function *f, dq_node *node) {
  if (is_listed(f, node)) return true;
  if (f->count == MOST_NODES) return false;
  memmove(f->nodes + 1, f->nodes, (size_t)f->count * sizeof *f->nodes);
  f->nodes[0] = node;
  f->count++;
  return true;
}

// A second quantized value beside the source is no other source when one of the two is a table of the
// other, as both are in x * Sigmoid(x) with a conversion in between.
static bool join_sources(function *f, const dq_quantized *x) {
  if (x->value == f->x.value) return dq_same_parameters(x, &f->x);
  dq_node *table = single_table(x->value);
  if (table && table->inputs[0] == f->x.value) return list_first(f, table);
  table = single_table(f->x.value);
  if (!table || table->inputs[0] != x->value) return false;
  f->x = *x;
  return list_first(f, table);
}

static bool collect_source(function *f, const dq_value *value) {
  dq_quantized x;
  if (dq_read_dequantize(value, true, &x)) {
    dq_tensor dequantized = *x.value->constant; // of its shape
    dequantized.type = DQ_F32;
    return record_constant(f, &dequantized);
  }
  if (!dq_read_dequantize(value, false, &x)) return false;
  if (f->has_source) return join_sources(f, &x);
  f->has_source = true;
  f->x = x;
  return true;
}

// Lists what computes `value`, inputs first; false when it is no function of one quantized value.
static bool collect(function *f, const dq_value *value) {
  const dq_tensor *constant = dq_constant_of(value);
  if (constant) return record_constant(f, constant);
  dq_node *node = value->producer;
  if (!node || node->output_count != 1) return false;
  if (dq_node_is(node, "DequantizeLinear")) return collect_source(f, value) && list(f, node);
  dq_integer_form form = dq_integer_form_of(node);
  if (form != DQ_FORM_FUNCTION && form != DQ_FORM_PAIR) return false;
  if (dq_node_is(node, "BatchNormalization")) return collect_batch_norm(f, node) && list(f, node);
  dq_slope slope;
  float low, high;
  const bool has_slopes = dq_slope_of(node, &slope), kept = has_slopes || dq_clamp_of(node, &low, &high);
  return (kept ? collect_kept_shape(f, node, has_slopes) : collect_operands(f, node, 0)) && list(f, node);
}

static bool keeps_rank(const dq_node *node) {
  static const char *const names[] = {"MaxPool",          "Pad",          "Slice",
                                      "Resize",           "Upsample",     "QuantizeLinear",
                                      "DequantizeLinear", "QAveragePool", "QGlobalAveragePool"};
  return dq_find_row(node->op_type, names, sizeof *names, DQ_COUNT(names)) >= 0 ||
         dq_integer_form_of(node) == DQ_FORM_CONCAT;
}

// Dimensions of a value as the nodes before it tell, -1 when they do not. Convolutions know theirs.
static int known_rank(const dq_value *value, int steps) {
  if (value->rank >= 0) return value->rank;
  if (value->constant) return value->constant->rank;
  const dq_node *node = value->producer;
  if (!node || steps == LONGEST_RANK_WALK) return -1;
  dq_product product;
  if (dq_product_read(node, &product) && product.kind == DQ_CONVOLUTION) {
    int rank = dq_product_data_rank(&product, node->inputs[product.at.weight]->constant);
    return rank ? rank : known_rank(node->inputs[product.at.data], steps + 1);
  }
  bool table = !strcmp(node->op_type, "QTable"); // of one row: several may add dimensions
  if (keeps_rank(node) || (table && node->inputs[1]->constant->rank == 1))
    return known_rank(node->inputs[0], steps + 1);
  bool pair = !strcmp(node->op_type, "QAdd") || !strcmp(node->op_type, "QSub") || !strcmp(node->op_type, "QMul");
  if (!pair) return -1;
  int a = known_rank(node->inputs[0], steps + 1), b = known_rank(node->inputs[3], steps + 1);
  return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

// Where the channels lie, when there is a BatchNormalization: along axis 1, which constants of other nodes
// must mean too.
static bool place_batch_norm(function *f) {
  if (!f->has_batch_norm) return true;
  const dq_node *node = NULL;
  for (int i = 0; i < f->count; i++)
    if (dq_node_is(f->nodes[i], "BatchNormalization")) node = f->nodes[i];
  int64_t channels = dq_tensor_count(node->inputs[1]->constant);
  int rank = known_rank(f->x.value, 0);
  if (rank < 2 || f->constant_rank > rank || channels < 1) return false;
  if (f->channels > 1 && (f->channels != channels || f->axis_from_end != rank - 1)) return false;
  f->channels = channels;
  f->axis_from_end = rank - 1;
  return true;
}

// ---- Running it ----

typedef struct known {
  const dq_value *values[MOST_NODES + 2];
  dq_tensor *tensors[MOST_NODES + 2];
  int count;
} known;

static const dq_tensor *find_known(const known *k, const dq_value *value) {
  for (int i = 0; i < k->count; i++)
    if (k->values[i] == value) return k->tensors[i];
  return dq_constant_of(value);
}

static void add_known(known *k, const dq_value *value, dq_tensor *tensor) {
  k->values[k->count] = value;
  k->tensors[k->count++] = tensor;
}

static dq_status run_node(const function *f, dq_node *node, known *k, const dq_context *context, dq_error *error) {
  dq_arena *arena = f->copy->arena;
  dq_op op = {.context = context, .node = node, .error = error, .input_count = node->input_count, .output_count = 1};
  DQ_TRY(dq_operator_resolve(f->copy, node, NULL, &op.row, &op.version, error));
  dq_tensor *output = DQ_NEW(arena, dq_tensor);
  op.inputs = DQ_NEW_ARRAY(arena, node->input_count, const dq_tensor *);
  op.outputs = &output;
  if (!output || !op.inputs) return dq_fail_memory(error, sizeof *output);
  for (int i = 0; i < node->input_count; i++) op.inputs[i] = node->inputs[i] ? find_known(k, node->inputs[i]) : NULL;
  DQ_TRY(dq_op_infer(&op));
  if (!(output->data = dq_arena_alloc(arena, dq_tensor_bytes(output))))
    return dq_fail_memory(error, dq_tensor_bytes(output));
  add_known(k, node->outputs[0], output);
  return dq_op_run(&op);
}

// Whether the constants have few enough dimensions.
static bool fits(const function *f) {
  return f->constant_rank <= DQ_MAX_RANK && (f->channels == 1 || f->axis_from_end < DQ_MAX_RANK);
}

// The 256 inputs, each for all channels: 256 x 1 ... x channels x 1 ..., of no fewer dimensions than the constants.
static dq_tensor *all_inputs(const function *f) {
  int64_t dims[DQ_MAX_RANK] = {ENTRIES, 1, 1, 1, 1, 1, 1, 1};
  const int from_end = f->channels > 1 ? f->axis_from_end : 0;
  const int rank = from_end + 1 > f->constant_rank ? from_end + 1 : f->constant_rank;
  if (from_end) dims[rank - from_end] = f->channels;
  dq_tensor *inputs = dq_tensor_new(f->copy->arena, dq_quantized_type(&f->x), rank, dims);
  for (int64_t i = 0; inputs && i < ENTRIES * f->channels; i++)
    ((uint8_t *)inputs->data)[i] = (uint8_t)(i / f->channels);
  return inputs;
}

// The tables of the function and its QuantizeLinear, one row for each channel.
static dq_status make_tables(const function *f, dq_node *quantize, const dq_context *context, dq_tensor **tables,
                             dq_error *error) {
  known k = {.count = 0};
  dq_tensor *inputs = all_inputs(f);
  if (!inputs) return dq_fail_memory(error, 0);
  add_known(&k, f->x.value, inputs);
  for (int i = 0; i < f->count; i++) DQ_TRY(run_node(f, f->nodes[i], &k, context, error));
  DQ_TRY(run_node(f, quantize, &k, context, error));
  const dq_tensor *results = find_known(&k, quantize->outputs[0]);
  int64_t dims[] = {f->channels, ENTRIES};
  bool single = f->channels == 1 && f->least_rank < 2 && f->needed_rank < 2;
  *tables = dq_tensor_new(f->copy->arena, results->type, single ? 1 : 2, single ? dims + 1 : dims);
  if (!*tables) return dq_fail_memory(error, ENTRIES * (size_t)f->channels);
  for (int64_t c = 0; c < f->channels; c++)
    for (int64_t i = 0; i < ENTRIES; i++)
      ((uint8_t *)(*tables)->data)[c * ENTRIES + i] = ((const uint8_t *)results->data)[i * f->channels + c];
  return DQ_OK;
}

// The input itself, element by element.
static bool changes_nothing(const function *f, const dq_tensor *tables) {
  if (tables->rank > 1 || tables->type != dq_quantized_type(&f->x) || f->least_rank || f->needed_rank) return false;
  for (int i = 0; i < ENTRIES; i++)
    if (((const uint8_t *)tables->data)[i] != i) return false;
  return true;
}

static bool set_layout(const function *f, dq_node *table) {
  return (f->channels == 1 || dq_node_set_int(f->copy, table, "axis", -f->axis_from_end)) &&
         (!f->least_rank || dq_node_set_int(f->copy, table, "least_rank", f->least_rank)) &&
         (!f->needed_rank || dq_node_set_int(f->copy, table, "needed_rank", f->needed_rank)) &&
         (!f->needs_channels || dq_node_set_int(f->copy, table, "needs_channels", 1));
}

dq_status dq_form_table(dq_graph *copy, const dq_quantized_end *end, const dq_context *context, bool *done,
                        dq_error *error) {
  dq_node *quantize = end->quantize;
  function f = {.copy = copy, .channels = 1};
  *done = collect(&f, quantize->inputs[0]) && f.has_source && place_batch_norm(&f) && fits(&f);
  if (!*done) return DQ_OK;
  dq_tensor *tables;
  DQ_TRY(make_tables(&f, quantize, context, &tables, error));
  dq_value *output = quantize->outputs[0];
  if (!dq_value_must_stay(output) && changes_nothing(&f, tables)) {
    dq_graph_replace_uses(copy, output, f.x.value, false);
    dq_graph_remove_node(copy, quantize);
    return DQ_OK;
  }
  dq_value *inputs[] = {f.x.value, dq_graph_add_constant(copy, "table", tables)};
  if (!inputs[1]) return dq_fail_memory(error, 0);
  DQ_TRY(dq_become(copy, quantize, "QTable", inputs, 2, error));
  return set_layout(&f, quantize) ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_requantize_by_table(dq_graph *copy, const dq_quantized *x, const dq_quantized_end *end,
                                 const dq_node *before, dq_value **output, dq_error *error) {
  int64_t entries = ENTRIES;
  dq_tensor *table = dq_tensor_new(copy->arena, dq_quantized_type(&end->y), 1, &entries);
  if (!table) return dq_fail_memory(error, ENTRIES);
  dq_tensor all = {.type = dq_quantized_type(x), .rank = 1, .dims = {ENTRIES}};
  uint8_t bytes[ENTRIES];
  all.data = bytes;
  int64_t x_zero = dq_tensor_get_i64(x->zero_point->constant, 0);
  double y_zero = dq_tensor_get(end->y.zero_point->constant, 0);
  for (int i = 0; i < ENTRIES; i++) bytes[i] = (uint8_t)i;
  for (int i = 0; i < ENTRIES; i++) {
    float number = (float)(dq_tensor_get_i64(&all, i) - x_zero) * dq_quantized_scale(x);
    double q = (double)rintf(number / dq_quantized_scale(&end->y)) + y_zero;
    dq_tensor_set(table, i, q < (double)end->low ? (double)end->low : q > (double)end->high ? (double)end->high : q);
  }
  *output = dq_graph_fresh_value(copy, "requantized");
  dq_value *inputs[] = {x->value, dq_graph_add_constant(copy, "table", table)};
  if (!*output || !inputs[1]) return dq_fail_memory(error, 0);
  dq_node *node = dq_graph_add_node(copy, before->index, "QTable", "requantize", 2, inputs, 1, output);
  if (!node) return dq_fail_memory(error, 0);
  node->domain = "dq";
  (*output)->producer = node;
  return DQ_OK;
}
