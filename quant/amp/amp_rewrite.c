// Casts where precisions meet, float16 constants, and the types of values.
#include <string.h>

#include "lib/base/half.h"
#include "lib/document/widen_half.h"
#include "quant/amp/amp_internal.h"

typedef struct variants {
  dq_value *half, *full; // the value in float16 and in float32, once made
} variants;

static dq_status no_memory(const dq_amp_job *job) { return dq_fail_memory(job->error, 0); }

// ---- Constants ----

static void narrow(dq_amp_job *job, const dq_tensor *from, const uint16_t *rounded, dq_tensor *to) {
  const float *elements = from->data;
  uint16_t *halves = to->data;
  int64_t count = dq_tensor_count(from);
  for (int64_t i = 0; i < count; i++) {
    halves[i] = rounded ? rounded[i] : dq_float_to_half(elements[i]);
    job->report->lost_to_zero += elements[i] != 0 && !(halves[i] & 0x7fff);
  }
  job->report->weights += count;
}

bool dq_amp_read_as_float(const dq_amp_job *job, const dq_value *value) {
  if (dq_value_must_stay(value)) return true;
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *user = value->users[u];
    for (int i = 0; i < user->input_count; i++)
      if (user->inputs[i] == value && !dq_amp_reads_any(user) &&
          !(user->mark == DQ_AMP_HALF && dq_amp_input_is_half(job, user, i)))
        return true;
  }
  return false;
}

static dq_status half_constant(dq_amp_job *job, dq_value *value, variants *of) {
  dq_graph *graph = job->graph;
  const dq_tensor *from = dq_amp_constant(job, value);
  dq_tensor *to = dq_tensor_new(graph->arena, DQ_F16, from->rank, from->dims);
  if (!to) return dq_fail_memory(job->error, (size_t)dq_tensor_count(from) * 2);
  narrow(job, from, job->rounded ? job->rounded[value->index] : NULL, to);
  if (!dq_amp_read_as_float(job, value)) { // the name stays, the elements change
    if (value->type || value->is_input) dq_declare_type(value, DQ_F16);
    const dq_attribute attribute = {.name = "value", .type = DQ_ATTRIBUTE_TENSOR, .tensor = to};
    bool set = value->constant ? dq_graph_set_constant(graph, value, to)
                               : dq_node_copy_attribute(graph, value->producer, &attribute);
    of->half = set ? value : NULL;
  } else {
    char *name = dq_arena_printf(graph->arena, "%s_fp16", value->name);
    of->half = name ? dq_graph_add_constant(graph, name, to) : NULL;
  }
  return of->half ? DQ_OK : no_memory(job);
}

// ---- Casts ----

static dq_node *add_cast(dq_amp_job *job, int at, dq_value *from, dq_value *to, int type) {
  dq_graph *graph = job->graph;
  char *wanted = dq_arena_printf(graph->arena, "%s_Cast", to->name);
  const char *name = wanted ? dq_graph_fresh_name(graph, wanted) : NULL;
  dq_node *cast = name ? dq_graph_add_node(graph, at, "Cast", name, 1, &from, 1, &to) : NULL;
  if (!cast || !dq_node_set_int(graph, cast, "to", type)) return NULL;
  cast->mark = DQ_AMP_NEUTRAL;
  job->report->casts++;
  job->report->cast_bytes += dq_amp_cast_bytes(job, from->index < job->value_count ? from : to);
  return cast;
}

// The value in the type a reader wants, by a cast right behind its producer that all readers share.
static dq_status variant(dq_amp_job *job, dq_value *value, bool half, variants *of, dq_value **result) {
  dq_value **made = half ? &of->half : &of->full;
  if (!*made && dq_amp_constant(job, value)) DQ_TRY(half_constant(job, value, of));
  if (!*made) {
    dq_graph *graph = job->graph;
    char *name = dq_arena_printf(graph->arena, "%s_%s", value->name, half ? "fp16" : "fp32");
    *made = name ? dq_graph_fresh_value(graph, name) : NULL;
    int at = value->producer ? value->producer->index + 1 : 0;
    if (!*made || !add_cast(job, at, value, *made, half ? DQ_F16 : DQ_F32)) return no_memory(job);
  }
  *result = *made;
  return DQ_OK;
}

static dq_status rewrite_inputs(dq_amp_job *job, dq_node *node, variants *all) {
  if (dq_amp_reads_any(node)) return DQ_OK;
  for (int i = 0; i < node->input_count; i++) {
    dq_value *input = node->inputs[i];
    if (!dq_amp_is_float(job, input)) continue;
    bool wanted = node->mark == DQ_AMP_HALF && dq_amp_input_is_half(job, node, i);
    if (wanted == job->half[input->index] || (input->constant && !input->constant->data)) continue;
    DQ_TRY(variant(job, input, wanted, &all[input->index], &node->inputs[i]));
  }
  return DQ_OK;
}

// A conversion of the model's own writes the type its readers want.
static dq_status retarget(dq_amp_job *job, dq_node *node) {
  if (node->mark != DQ_AMP_HALF || !dq_node_is(node, "Cast")) return DQ_OK;
  return dq_node_set_int(job->graph, node, "to", DQ_F16) ? DQ_OK : no_memory(job);
}

// A float16 value whose name stays float32: its producer writes to a new value in front of a cast.
static dq_status keep_float32(dq_amp_job *job, dq_value *output, variants *all) {
  dq_graph *graph = job->graph;
  char *name = dq_arena_printf(graph->arena, "%s_fp16", output->name);
  dq_value *source = name ? dq_graph_fresh_value(graph, name) : NULL;
  if (!source) return no_memory(job);
  dq_node *producer = output->producer;
  for (int i = 0; i < producer->output_count; i++)
    if (producer->outputs[i] == output) producer->outputs[i] = source;
  for (int u = 0; u < output->user_count; u++) { // readers in float16 take it in front of the cast
    dq_node *user = output->users[u];
    for (int i = 0; i < user->input_count; i++)
      if (user->inputs[i] == output && user->mark == DQ_AMP_HALF && dq_amp_input_is_half(job, user, i))
        user->inputs[i] = source;
  }
  all[output->index].full = output;
  return add_cast(job, producer->index + 1, source, output, DQ_F32) ? DQ_OK : no_memory(job);
}

// Outputs of the model, and what bodies of If, Loop and Scan read by name, which nobody rewrites.
static dq_status rewrite_named(dq_amp_job *job, variants *all) {
  const dq_graph *graph = job->graph;
  for (int i = 0; i < graph->output_count; i++) {
    dq_value *output = graph->outputs[i];
    bool half = job->half[output->index];
    if (half && (!output->producer || dq_amp_is_half_io(job, output))) dq_declare_type(output, DQ_F16);
    else if (half) DQ_TRY(keep_float32(job, output, all));
    if (job->options->half_io && !(half && dq_amp_is_half_io(job, output)) &&
        job->tensors[output->index].type == DQ_F32)
      dq_message(job->context, DQ_NOTE, "output '%s' stays float32", output->name);
  }
  for (int v = 0; v < job->value_count; v++) {
    dq_value *value = graph->values[v];
    if (job->half[v] && dq_value_must_stay(value) && !value->is_output) DQ_TRY(keep_float32(job, value, all));
  }
  return DQ_OK;
}

static void declare_halves(dq_amp_job *job) {
  for (int v = 0; v < job->value_count; v++) {
    dq_value *value = job->graph->values[v];
    if (job->half[v] && !dq_value_must_stay(value) && (value->type || value->is_input)) dq_declare_type(value, DQ_F16);
  }
}

dq_status dq_amp_rewrite(dq_amp_job *job) {
  dq_graph *graph = job->graph;
  int count = graph->node_count;
  dq_node **nodes = dq_arena_copy(job->arena, graph->nodes, (size_t)count * sizeof *nodes);
  variants *all = DQ_NEW_ARRAY(job->arena, job->value_count, variants);
  if (!nodes || !all) return no_memory(job);
  DQ_TRY(rewrite_named(job, all));
  for (int n = 0; n < count; n++) {
    DQ_TRY(rewrite_inputs(job, nodes[n], all));
    DQ_TRY(retarget(job, nodes[n]));
  }
  declare_halves(job);
  return dq_graph_drop_constants(graph, job->error);
}
