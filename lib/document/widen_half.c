// Constants and types first, then casts at inputs and outputs, then the casts that have become identities go.
#include "lib/document/widen_half.h"

#include <inttypes.h>

#include "lib/base/half.h"
#include "lib/base/sizes.h"
#include "lib/document/origin.h"
#include "lib/document/repair_shapes.h"
#include "lib/schedule/open_sizes.h"
#include "lib/text/find_row.h"

// Attributes that name an element type of ONNX.
static const char *const type_attributes[] = {
    "to", "dtype", "output_dtype", "output_datatype", "softmax_precision", "stash_type", "precision"};

enum { IDENTITY = 1 }; // mark of a Cast that is none once float16 is float32

enum { IR_OF_CONSTANTS = 4 }; // from this version on a caller may give an initializer that is an input

typedef struct widening {
  dq_graph *graph;
  dq_origin *origin;
  dq_tensor *tensors; // types in the file, by value index; NULL: not known
  int64_t weights[2]; // widened elements of float16 and of bfloat16
  int brain_ends;     // inputs and outputs of the model that were bfloat16
  dq_error *error;
} widening;

static bool is_narrow(int type) { return type == DQ_F16 || type == DQ_BF16; }

static bool is_half_tensor(const dq_tensor *tensor) { return tensor && is_narrow(tensor->type) && tensor->data; }

static bool is_half_type(const dq_attribute *attribute) {
  if (attribute->type != DQ_ATTRIBUTE_INT || (attribute->i != DQ_F16 && attribute->i != DQ_BF16)) return false;
  return dq_find_row(attribute->name, type_attributes, sizeof *type_attributes, DQ_COUNT(type_attributes)) >= 0;
}

static bool is_half_attribute(const dq_attribute *attribute) {
  return is_half_type(attribute) || (attribute->type == DQ_ATTRIBUTE_TENSOR && is_half_tensor(attribute->tensor));
}

static bool has_half(const dq_graph *graph) {
  for (int v = 0; v < graph->value_count; v++)
    if (is_narrow(graph->values[v]->type) || is_half_tensor(graph->values[v]->constant)) return true;
  for (int n = 0; n < graph->node_count; n++)
    for (int i = 0; i < graph->nodes[n]->attribute_count; i++)
      if (is_half_attribute(&graph->nodes[n]->attributes[i])) return true;
  return false;
}

static bool stays_half(const dq_node *node) { return dq_node_has_body(node) || dq_node_is(node, "BitCast"); }

// A node whose types cannot be changed, or NULL.
static const dq_node *find_obstacle(const dq_graph *graph) {
  for (int n = 0; n < graph->node_count; n++)
    if (stays_half(graph->nodes[n]) || dq_graph_calls_function(graph, graph->nodes[n])) return graph->nodes[n];
  return NULL;
}

void dq_declare_type(dq_value *value, int type) {
  value->origin = NULL;
  value->type = type;
}

// ---- Constants and types ----

static dq_tensor *widen(widening *job, const dq_tensor *half) {
  dq_tensor *full = dq_tensor_new(job->graph->arena, DQ_F32, half->rank, half->dims);
  if (!full) return NULL;
  int64_t count = dq_tensor_count(half);
  const uint16_t *from = half->data;
  float *to = full->data;
  const bool brain = half->type == DQ_BF16;
  for (int64_t i = 0; i < count; i++) to[i] = brain ? dq_bfloat_to_float(from[i]) : dq_half_to_float(from[i]);
  job->weights[brain] += count;
  return full;
}

// Lets all nodes that read `from` read `to`; what they read is known from the next dq_graph_index on.
static void let_read(const dq_value *from, dq_value *to) {
  for (int u = 0; u < from->user_count; u++)
    for (int i = 0; i < from->users[u]->input_count; i++)
      if (from->users[u]->inputs[i] == from) from->users[u]->inputs[i] = to;
}

// Inputs and outputs in float16 keep it for those who run the model; bfloat16 no run takes.
static bool keeps_type(const widening *job, const dq_value *value) {
  if (value->type == DQ_BF16 || (value->constant && value->constant->type == DQ_BF16)) return false;
  return value->is_output || (value->is_input && (!value->constant || job->graph->ir_version >= IR_OF_CONSTANTS));
}

static dq_status widen_constant(widening *job, dq_value *value) {
  dq_graph *graph = job->graph;
  if (!is_half_tensor(value->constant) || (keeps_type(job, value) && value->is_input)) return DQ_OK;
  dq_tensor *full = widen(job, value->constant);
  if (full && value->is_output && keeps_type(job, value)) {
    dq_value *copy = dq_graph_add_constant(graph, value->name, full);
    if (!copy) return dq_fail_memory(job->error, 0);
    let_read(value, copy);
    return DQ_OK;
  }
  return full && dq_graph_set_constant(graph, value, full) ? DQ_OK : dq_fail_memory(job->error, 0);
}

static dq_status widen_attributes(widening *job, dq_node *node) {
  for (int i = 0; i < node->attribute_count; i++) {
    dq_attribute changed = node->attributes[i];
    if (!is_half_attribute(&changed)) continue;
    bool done = true;
    if (changed.type == DQ_ATTRIBUTE_INT) done = dq_node_set_int(job->graph, node, changed.name, DQ_F32);
    else {
      changed.origin = NULL;
      done = (changed.tensor = widen(job, changed.tensor)) && dq_node_copy_attribute(job->graph, node, &changed);
    }
    if (!done) return dq_fail_memory(job->error, 0);
  }
  return DQ_OK;
}

static dq_status widen_types(widening *job) {
  dq_graph *graph = job->graph;
  int count = graph->value_count; // those of the file
  for (int n = 0; n < graph->node_count; n++) {
    graph->nodes[n]->mark = 0;
    DQ_TRY(widen_attributes(job, graph->nodes[n]));
  }
  for (int v = 0; v < count; v++) {
    dq_value *value = graph->values[v];
    DQ_TRY(widen_constant(job, value));
    job->brain_ends += value->type == DQ_BF16 && (value->is_output || (value->is_input && !value->constant));
    if (is_narrow(value->type) && !keeps_type(job, value)) dq_declare_type(value, DQ_F32);
  }
  return DQ_OK;
}

// ---- Inputs and outputs ----

static dq_status add_border(widening *job, dq_value *named, dq_value **inner) {
  dq_graph *graph = job->graph;
  char *name = dq_arena_printf(graph->arena, "%s_fp32", named->name);
  *inner = name ? dq_graph_fresh_value(graph, name) : NULL;
  if (!*inner) return dq_fail_memory(job->error, 0);
  return dq_origin_add(job->origin, (*inner)->name, named->name, job->error);
}

static dq_status add_cast(widening *job, int at, dq_value *from, dq_value *to, int type) {
  dq_graph *graph = job->graph;
  char *wanted = dq_arena_printf(graph->arena, "%s_Cast", to->name);
  const char *name = wanted ? dq_graph_fresh_name(graph, wanted) : NULL;
  dq_node *cast = name ? dq_graph_add_node(graph, at, "Cast", name, 1, &from, 1, &to) : NULL;
  return cast && dq_node_set_int(graph, cast, "to", type) ? DQ_OK : dq_fail_memory(job->error, 0);
}

static dq_status keep_input(widening *job, dq_value *input) {
  dq_value *inner;
  if (input->type != DQ_F16 || !input->user_count || !keeps_type(job, input)) return DQ_OK;
  DQ_TRY(add_border(job, input, &inner));
  let_read(input, inner);
  return add_cast(job, 0, input, inner, DQ_F32);
}

static dq_status keep_output(widening *job, dq_value *output) {
  dq_node *producer = output->producer;
  dq_value *inner;
  const int inferred = job->tensors ? job->tensors[output->index].type : DQ_UNKNOWN_TYPE;
  if (!producer || (output->type ? output->type : inferred) != DQ_F16) return DQ_OK;
  DQ_TRY(add_border(job, output, &inner));
  let_read(output, inner);
  for (int i = 0; i < producer->output_count; i++)
    if (producer->outputs[i] == output) producer->outputs[i] = inner;
  return add_cast(job, job->graph->node_count, inner, output, DQ_F16);
}

static dq_status keep_borders(widening *job) {
  const dq_graph *graph = job->graph;
  for (int i = 0; i < graph->output_count; i++) DQ_TRY(keep_output(job, graph->outputs[i]));
  for (int i = 0; i < graph->input_count; i++) DQ_TRY(keep_input(job, graph->inputs[i]));
  return DQ_OK;
}

// ---- Casts ----

// The producer of what a Cast reads writes the output of the model itself.
static void write_output(dq_graph *graph, dq_node *cast) {
  const dq_value *input = cast->inputs[0];
  dq_node *producer = input->producer;
  if (!producer || input->is_output) return;
  for (int i = 0; i < producer->output_count; i++)
    if (producer->outputs[i] == input) producer->outputs[i] = cast->outputs[0];
  let_read(input, cast->outputs[0]);
  dq_graph_remove_node(graph, cast);
}

static dq_status remove_casts(dq_graph *graph, bool of_outputs, dq_error *error) {
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    if (node->mark != IDENTITY || node->outputs[0]->is_output != of_outputs) continue;
    node->mark = 0;
    if (of_outputs) write_output(graph, node);
    else {
      let_read(node->outputs[0], node->inputs[0]);
      dq_graph_remove_node(graph, node);
    }
  }
  return dq_graph_index(graph, true, error);
}

// *tensors is NULL where the graph contradicts itself.
static dq_status infer_types(const dq_graph *graph, const dq_context *silent, dq_arena *arena, dq_tensor **tensors,
                             dq_error *error) {
  dq_error reason = {0};
  dq_status status = dq_infer_assuming(graph, NULL, NULL, silent, arena, tensors, &reason);
  if (status == DQ_SYSTEM || status == DQ_CANCELLED) return dq_fail(error, status, "%s", reason.message);
  if (status != DQ_OK) *tensors = NULL;
  return DQ_OK;
}

// A Cast of float32 to float32 is an identity. One whose input has no known type stays.
static dq_status mark_identities(const widening *job, const dq_context *silent, dq_arena *arena) {
  dq_tensor *tensors = NULL;
  DQ_TRY(infer_types(job->graph, silent, arena, &tensors, job->error));
  for (int n = 0; tensors && n < job->graph->node_count; n++) {
    dq_node *node = job->graph->nodes[n];
    const dq_value *input = dq_node_input(node, 0);
    const bool cast = dq_node_is(node, "Cast") && dq_node_int(node, "to", 0) == DQ_F32;
    if (cast && input && tensors[input->index].type == DQ_F32) node->mark = IDENTITY;
  }
  return DQ_OK;
}

static dq_status rewrite(widening *job, const dq_context *silent, dq_arena *arena) {
  DQ_TRY(widen_types(job));
  DQ_TRY(keep_borders(job));
  DQ_TRY(dq_graph_index(job->graph, true, job->error));
  DQ_TRY(mark_identities(job, silent, arena));
  DQ_TRY(remove_casts(job->graph, false, job->error));
  DQ_TRY(remove_casts(job->graph, true, job->error));
  return dq_graph_drop_constants(job->graph, job->error);
}

static void note_widened(const widening *job, const char *what, const dq_context *context) {
  const int64_t halves = job->weights[0], brains = job->weights[1];
  const char *types = !brains && !job->brain_ends ? "float16" : !halves ? "bfloat16" : "float16 and bfloat16";
  dq_message(context, DQ_NOTE, "%s: %" PRId64 " weights in %s are widened to float32 before %s%s",
             job->graph->path ? job->graph->path : "the model", halves + brains, types, what,
             job->brain_ends ? "; inputs and outputs in bfloat16 become float32" : "");
}

static dq_status convert(dq_graph *graph, const char *what, const dq_context *context, dq_arena *arena,
                         dq_error *error) {
  dq_context silent = *context;
  silent.message = NULL;
  widening job = {.graph = graph, .error = error};
  DQ_TRY(infer_types(graph, &silent, arena, &job.tensors, error));
  if (!(job.origin = dq_origin_begin(graph, "widen"))) return dq_fail_memory(error, 0);
  dq_status status = rewrite(&job, &silent, arena);
  if (status == DQ_OK) status = dq_origin_finish(job.origin, graph, context, error);
  else dq_origin_discard(job.origin);
  if (status == DQ_OK) note_widened(&job, what, context);
  return status;
}

static void note_obstacle(const dq_graph *graph, const dq_node *node, const dq_context *context) {
  char label[DQ_LABEL_TEXT];
  dq_message(context, DQ_NOTE, "%s: floats of 16 bits are not widened to float32, as %s may read or hold them",
             graph->path ? graph->path : "the model", dq_node_label(node, label, sizeof label));
}

static dq_status convert_copy(dq_graph *graph, const char *what, const dq_context *context, dq_error *error) {
  dq_arena *arena = dq_context_arena(context);
  dq_status status = arena ? convert(graph, what, context, arena, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}

dq_status dq_widen_half(dq_graph **wide, bool *widened, const dq_graph *graph, const char *what,
                        const dq_context *context, dq_error *error) {
  const dq_node *obstacle = find_obstacle(graph);
  *widened = has_half(graph) && !obstacle;
  if (has_half(graph) && obstacle) note_obstacle(graph, obstacle, context);
  if (!(*wide = dq_graph_copy(graph))) return dq_fail_memory(error, 0);
  dq_status status = dq_repair_shapes(*wide, context, error);
  if (status == DQ_OK && *widened) status = convert_copy(*wide, what, context, error);
  if (status == DQ_OK) return DQ_OK;
  dq_graph_free(*wide);
  *wide = NULL;
  return status;
}
