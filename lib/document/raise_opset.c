// Rules that rewrite nodes for newer opsets. Sources: the ONNX operator changelog.
#include "lib/document/raise_opset.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/schedule/infer.h"
#include "lib/onnx/onnx.h"

typedef struct raise_job {
  dq_graph *graph;
  dq_node *node;
  const dq_tensor *tensors; // by value as far as inference came; NULL: nothing is known
  int tensor_count;
  int64_t to;
  dq_error *error;
} raise_job;

// ---- Helpers ----

static dq_status cannot(const raise_job *job, const char *why) {
  return dq_fail(job->error, DQ_UNSUPPORTED, "%s cannot be raised to opset %" PRId64 ": %s", job->node->op_type,
                 job->to, why);
}

static const dq_tensor *known(const raise_job *job, const dq_value *value) {
  static const dq_tensor nothing = {.rank = -1};
  if (value && value->constant) return value->constant;
  return value && job->tensors && value->index < job->tensor_count ? &job->tensors[value->index] : &nothing;
}

enum { MOST_PRODUCERS = 1000 }; // that are asked for a type, so that a cycle ends

// The input that has the type of the first result of `node`, for what stands behind operators that a transform has
// written for a newer opset, which inference at the old one does not know; NULL: there is none.
static const dq_value *same_type(const dq_node *node) {
  if (dq_node_is(node, "DequantizeLinear")) return dq_node_input(node, 1);
  bool own = dq_node_is(node, "QuantizeLinear") || dq_node_is(node, "Cast") || dq_node_is(node, "CastLike");
  return own ? NULL : dq_node_input(node, 0);
}

// The element type of a value; 0: not known.
static int type_of(const raise_job *job, const dq_value *value) {
  for (int i = 0; value && i < MOST_PRODUCERS; i++) {
    int type = known(job, value)->type;
    if (type || value->type) return type ? type : value->type;
    if (!value->producer) return 0;
    value = same_type(value->producer);
  }
  return 0;
}

static int rank_of(const raise_job *job, const dq_value *value) {
  int rank = known(job, value)->rank;
  return rank >= 0 || !value ? rank : value->rank;
}

static bool is_used(const dq_node *node, int output) { return dq_value_is_read(dq_node_output(node, output)); }

static dq_status set_input(const raise_job *job, int i, dq_value *value) {
  dq_node *node = job->node;
  if (i >= node->input_count) {
    dq_value **inputs = DQ_NEW_ARRAY(job->graph->arena, i + 1, dq_value *);
    if (!inputs) return dq_fail_memory(job->error, sizeof *inputs);
    if (node->input_count) memcpy(inputs, node->inputs, (size_t)node->input_count * sizeof *inputs);
    node->inputs = inputs;
    node->input_count = i + 1;
  }
  node->inputs[i] = value;
  return DQ_OK;
}

// Makes a new constant called after the node and `name` input i.
static dq_status set_constant(const raise_job *job, int i, const char *name, dq_tensor *tensor) {
  const char *base = dq_arena_printf(job->graph->arena, "%s/%s", dq_node_name(job->node), name);
  dq_value *value = base ? dq_graph_add_constant(job->graph, base, tensor) : NULL;
  return value ? set_input(job, i, value) : dq_fail_memory(job->error, 0);
}

static dq_status set_ints(const raise_job *job, int i, const char *name, const int64_t *values, int64_t count) {
  dq_tensor *tensor = dq_tensor_new(job->graph->arena, DQ_I64, 1, &count);
  if (!tensor) return dq_fail_memory(job->error, sizeof *tensor);
  memcpy(tensor->data, values, (size_t)count * sizeof *values);
  return set_constant(job, i, name, tensor);
}

static dq_status set_scalar(const raise_job *job, int i, const char *name, int type, double value) {
  if (!dq_dtype_size(type)) return cannot(job, "the type of its input is not known");
  dq_tensor *tensor = dq_tensor_new(job->graph->arena, type, 0, NULL);
  if (!tensor) return dq_fail_memory(job->error, sizeof *tensor);
  dq_tensor_set(tensor, 0, value);
  return set_constant(job, i, name, tensor);
}

// Attribute `name` (integers), when it is there, becomes input i.
static dq_status ints_to_input(const raise_job *job, const char *name, int i) {
  int count;
  const int64_t *values = dq_node_ints(job->node, name, &count);
  if (!dq_node_attribute(job->node, name)) return DQ_OK;
  DQ_TRY(set_ints(job, i, name, values, count));
  dq_node_remove_attribute(job->node, name);
  return DQ_OK;
}

// ---- Rules ----

static dq_status axes_to_input(const raise_job *job) { return ints_to_input(job, "axes", 1); }

static dq_status average_pool_19(const raise_job *job) {
  if (dq_node_int(job->node, "ceil_mode", 0))
    return cannot(job, "windows of ceil_mode that reach beyond the padding are counted anew");
  return DQ_OK;
}

static dq_status batch_normalization_9(const raise_job *job) {
  if (!dq_node_int(job->node, "spatial", 1)) return cannot(job, "spatial is 0");
  dq_node_remove_attribute(job->node, "spatial");
  return DQ_OK;
}

static dq_status batch_normalization_14(const raise_job *job) {
  for (int i = 1; i < job->node->output_count; i++)
    if (is_used(job->node, i)) return cannot(job, "it is in training mode");
  job->node->output_count = 1;
  return DQ_OK;
}

static dq_status clip_11(const raise_job *job) {
  static const char *const names[] = {"min", "max"};
  static const float open[] = {-FLT_MAX, FLT_MAX};
  for (int i = 0; i < 2; i++) {
    float bound = dq_node_float(job->node, names[i], open[i]);
    dq_node_remove_attribute(job->node, names[i]);
    if (bound != open[i])
      DQ_TRY(set_scalar(job, i + 1, names[i], type_of(job, dq_node_input(job->node, 0)), (double)bound));
  }
  return DQ_OK;
}

static dq_status conv_transpose_11(const raise_job *job) {
  // The texts disagree about which side gets the odd row of padding.
  if (dq_node_attribute(job->node, "output_shape") || !strncmp(dq_node_string(job->node, "auto_pad", ""), "SAME", 4))
    return cannot(job, "automatic padding changed sides");
  return DQ_OK;
}

static dq_status dropout_10(const raise_job *job) {
  return is_used(job->node, 1) ? cannot(job, "its mask is used and changed its type") : DQ_OK;
}

static dq_status dropout_12(const raise_job *job) {
  float ratio = dq_node_float(job->node, "ratio", 0.5f);
  dq_tensor *tensor = dq_tensor_scalar_f32(job->graph->arena, ratio);
  if (!dq_node_attribute(job->node, "ratio")) return DQ_OK;
  if (!tensor) return dq_fail_memory(job->error, sizeof *tensor);
  dq_node_remove_attribute(job->node, "ratio");
  return set_constant(job, 1, "ratio", tensor);
}

static dq_status set_text(const raise_job *job, const char *name, const char *text) {
  bool done = dq_node_set_string(job->graph, job->node, name, text);
  return done ? DQ_OK : dq_fail_memory(job->error, 0);
}

static dq_status grid_sample_20(const raise_job *job) { // the modes have other names
  const char *mode = dq_node_string(job->node, "mode", "bilinear");
  if (!strcmp(mode, "bilinear")) return set_text(job, "mode", "linear");
  return strcmp(mode, "bicubic") ? DQ_OK : set_text(job, "mode", "cubic");
}

static dq_status pad_11(const raise_job *job) {
  float value = dq_node_float(job->node, "value", 0);
  DQ_TRY(ints_to_input(job, "pads", 1));
  dq_node_remove_attribute(job->node, "value");
  if (value == 0) return DQ_OK;
  return set_scalar(job, 2, "value", type_of(job, dq_node_input(job->node, 0)), (double)value);
}

static dq_status resize_11(const raise_job *job) {
  dq_graph *graph = job->graph;
  dq_node *node = job->node;
  dq_value *scales = dq_node_input(node, 1);
  bool nearest = !strcmp(dq_node_string(node, "mode", "nearest"), "nearest");
  const dq_tensor *factors = known(job, scales);
  for (int64_t i = 0; nearest && factors->data && i < dq_tensor_count(factors); i++)
    if (dq_tensor_get(factors, i) < 1) return cannot(job, "scales below 1 with mode nearest picked other elements");
  if (nearest && !factors->data) return cannot(job, "its scales are not known");
  int64_t none = 0;
  dq_tensor *roi = dq_tensor_new(graph->arena, DQ_F32, 1, &none);
  if (!roi) return dq_fail_memory(job->error, sizeof *roi);
  DQ_TRY(set_input(job, 2, scales));
  DQ_TRY(set_constant(job, 1, "roi", roi));
  DQ_TRY(set_text(job, "coordinate_transformation_mode", "asymmetric"));
  return nearest ? set_text(job, "nearest_mode", "floor") : DQ_OK;
}

static dq_status resize_13(const raise_job *job) {
  const char *mode = dq_node_string(job->node, "coordinate_transformation_mode", "");
  return strcmp(mode, "tf_half_pixel_for_nn") ? DQ_OK : cannot(job, "tf_half_pixel_for_nn is gone");
}

static dq_status rename_operator(const raise_job *job, const char *op_type) {
  job->node->op_type = dq_arena_strdup(job->graph->arena, op_type);
  return job->node->op_type ? DQ_OK : dq_fail_memory(job->error, 0);
}

static dq_status roi_align_16(const raise_job *job) {
  return set_text(job, "coordinate_transformation_mode", "output_half_pixel");
}

static dq_status scatter_11(const raise_job *job) { return rename_operator(job, "ScatterElements"); }

static dq_status slice_10(const raise_job *job) {
  DQ_TRY(ints_to_input(job, "starts", 1));
  DQ_TRY(ints_to_input(job, "ends", 2));
  return ints_to_input(job, "axes", 3);
}

static dq_value *new_node(const raise_job *job, const char *op_type, int input_count, dq_value *const *inputs) {
  const char *name = dq_arena_printf(job->graph->arena, "%s/%s", job->node->name, op_type);
  if (name && !(name = dq_graph_fresh_name(job->graph, name))) return NULL;
  dq_value *output = name ? dq_graph_fresh_value(job->graph, name) : NULL;
  return output && dq_graph_add_node(job->graph, job->node->index, op_type, name, input_count, inputs, 1, &output)
             ? output
             : NULL;
}

// Rewrites Softmax, LogSoftmax or Hardmax from before version 13, when everything from the axis on was one vector:
// Flatten, the operator along the last axis, and a Reshape that restores the shape.
static dq_status softmax_13(const raise_job *job) {
  dq_graph *graph = job->graph;
  dq_node *node = job->node;
  dq_value *input = node->inputs[0], *output = dq_node_output(node, 0);
  int64_t axis = dq_node_int(node, "axis", 1);
  bool last = axis == -1 || (rank_of(job, input) > 0 && axis == rank_of(job, input) - 1);
  if (!dq_node_set_int(graph, node, "axis", -1)) return dq_fail_memory(job->error, 0);
  if (last || !output) return DQ_OK;
  dq_value *shape = new_node(job, "Shape", 1, &input);
  dq_value *flat = new_node(job, "Flatten", 1, &input);
  dq_value *result = dq_graph_fresh_value(graph, "softmax_flat");
  if (!shape || !flat || !result || !dq_node_set_int(graph, graph->nodes[node->index - 1], "axis", axis))
    return dq_fail_memory(job->error, 0);
  node->inputs[0] = flat;
  node->outputs[0] = result;
  const char *name = dq_graph_fresh_name(graph, "softmax_shape");
  dq_value *inputs[] = {result, shape};
  return name && dq_graph_add_node(graph, node->index + 1, "Reshape", name, 2, inputs, 1, &output)
             ? DQ_OK
             : dq_fail_memory(job->error, 0);
}

static dq_status split_13(const raise_job *job) { return ints_to_input(job, "split", 1); }

static dq_status split_18(const raise_job *job) {
  if (dq_node_input(job->node, 1)) return DQ_OK;
  if (!dq_node_set_int(job->graph, job->node, "num_outputs", job->node->output_count))
    return dq_fail_memory(job->error, 0);
  return DQ_OK;
}

static dq_status top_k_10(const raise_job *job) {
  int64_t k = dq_node_int(job->node, "k", 0);
  dq_node_remove_attribute(job->node, "k");
  return set_ints(job, 1, "k", &k, 1);
}

static dq_status upsample_9(const raise_job *job) {
  int count;
  const float *scales = dq_node_floats(job->node, "scales", &count);
  int64_t dims = count;
  dq_tensor *tensor = dq_tensor_new(job->graph->arena, DQ_F32, 1, &dims);
  if (!tensor) return dq_fail_memory(job->error, sizeof *tensor);
  if (count) memcpy(tensor->data, scales, (size_t)count * sizeof *scales);
  dq_node_remove_attribute(job->node, "scales");
  return set_constant(job, 1, "scales", tensor);
}

static dq_status upsample_10(const raise_job *job) { return rename_operator(job, "Resize"); }

// ---- The table ----

typedef struct raise_row {
  const char *op_type;
  unsigned versions;                       // bits
  dq_status (*rule)(const raise_job *job); // NULL: nothing to do
} raise_row;

#define V(version) (1u << (version))
static const raise_row table[] = {
#define DQ_COMPATIBLE(op_type, versions) {#op_type, versions, NULL},
#define DQ_RULE(op_type, version, rule) {#op_type, version, rule},
#include "lib/document/raise_opset.def"
#undef DQ_COMPATIBLE
#undef DQ_RULE
    {NULL, 0, NULL}};

static const raise_row *find_row(const char *op_type, int version) {
  for (const raise_row *row = table; row->op_type; row++)
    if ((row->versions & V(version)) && !strcmp(row->op_type, op_type)) return row;
  return NULL;
}

bool dq_raise_is_known(const char *op_type, int version) {
  return version >= 0 && version < 32 && find_row(op_type, version);
}

// ---- The graph ----

static bool has_version(const dq_operator *row, int version) {
  for (int i = 0; i < DQ_MAX_VERSIONS && row->since[i]; i++)
    if (row->since[i] == version) return true;
  return false;
}

static dq_status raise_node(raise_job *job, int64_t from) {
  const dq_operator *present = dq_operator_find("", job->node->op_type);
  if (present && present->since[0] > from) return DQ_OK; // written for the opset to come
  for (int version = (int)from + 1; version <= job->to; version++) {
    const dq_operator *row = dq_operator_find("", job->node->op_type);
    if (!row) return cannot(job, "the operator is not supported");
    const raise_row *change = find_row(job->node->op_type, version);
    if (change && change->rule) DQ_TRY(change->rule(job));
    else if (!change && has_version(row, version)) return cannot(job, "its meaning changed");
  }
  return DQ_OK;
}

static dq_status raise_nodes(raise_job *job, int64_t from, dq_arena *arena) {
  dq_graph *graph = job->graph;
  int count = graph->node_count; // rules add nodes
  dq_node **nodes = dq_arena_copy(arena, graph->nodes, (size_t)count * sizeof *nodes);
  if (!nodes) return dq_fail_memory(job->error, (size_t)count * sizeof *nodes);
  for (int n = 0; n < count; n++) {
    if (nodes[n]->domain[0] && strcmp(nodes[n]->domain, "ai.onnx")) continue;
    job->node = nodes[n];
    char label[DQ_LABEL_TEXT];
    dq_status status = raise_node(job, from);
    if (status != DQ_OK) return dq_error_prefix(job->error, status, "%s", dq_node_label(nodes[n], label, sizeof label));
  }
  return DQ_OK;
}

// The IR version of the ONNX release that brought an opset.
static int64_t least_ir_version(int64_t opset) {
  static const int64_t versions[] = {[8] = 3,   [9] = 4,   [10] = 5,  [11] = 6,  [12] = 7,  [13] = 7,  [14] = 7,
                                     [15] = 8,  [16] = 8,  [17] = 8,  [18] = 8,  [19] = 9,  [20] = 9,  [21] = 10,
                                     [22] = 10, [23] = 11, [24] = 12, [25] = 13, [26] = 13, [27] = 13, [28] = 14};
  _Static_assert(DQ_COUNT(versions) == DQ_OPSET_NEWEST + 1, "a row for the newest opset");
  return versions[opset];
}

enum { IR_WITH_FREE_INITIALIZERS = 4 };

// IR versions below 4 list every initializer as an input; from version 4 on an initializer in that list says that a
// caller may replace it, which keeps runtimes from treating weights as constants.
static void raise_ir_version(dq_graph *graph, int64_t to) {
  if (graph->ir_version >= to) return;
  int kept = 0;
  for (int i = 0; i < graph->input_count; i++) {
    dq_value *input = graph->inputs[i];
    bool forced = graph->ir_version < IR_WITH_FREE_INITIALIZERS && input->constant;
    if (forced && to >= IR_WITH_FREE_INITIALIZERS) input->is_input = false;
    else graph->inputs[kept++] = input;
  }
  graph->input_count = kept;
  graph->ir_version = to;
}

dq_status dq_raise_opset(dq_graph *graph, int64_t to, const dq_context *context, dq_error *error) {
  int64_t from = dq_graph_opset(graph, "");
  if (to <= from) return DQ_OK;
  if (from < DQ_OPSET_OLDEST || to > DQ_OPSET_NEWEST || graph->function_count)
    return dq_fail(error, DQ_UNSUPPORTED, "opset %" PRId64 "%s cannot be raised to %" PRId64, from,
                   graph->function_count ? " of a model with functions of its own" : "", to);
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_tensor *tensors = NULL;
  dq_error ignored = {0}; // rules that need a shape or type that is not known say so
  dq_context silent = context ? *context : (dq_context){0};
  silent.message = NULL;
  dq_infer(graph, NULL, DQ_INFER_TOLERANT, &silent, arena, &tensors, &ignored);
  raise_job job = {.graph = graph, .tensors = tensors, .tensor_count = graph->value_count, .to = to, .error = error};
  dq_status status = raise_nodes(&job, from, arena);
  dq_arena_free(arena);
  DQ_TRY(status);
  DQ_TRY(dq_graph_set_opset(graph, "", to, error));
  raise_ir_version(graph, least_ir_version(to));
  return dq_graph_index(graph, false, error);
}
