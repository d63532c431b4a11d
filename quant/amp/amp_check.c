#include "quant/amp/amp_check.h"

#include <math.h>

#include "lib/schedule/open_sizes.h"

typedef struct check_job {
  const dq_graph *graph;
  const bool *half;     // by value: it exists in float16 in the converted model
  dq_amp_range *ranges; // by slot
  const char **names;   // of values, by slot
  int count;
} check_job;

static dq_status on_value(void *user, int slot, const dq_tensor *tensor, dq_error *error) {
  (void)error;
  dq_amp_range *range = &((check_job *)user)->ranges[slot];
  const float *elements = tensor->data;
  int64_t count = dq_tensor_count(tensor);
  range->elements += count;
  for (int64_t i = 0; i < count; i++) {
    float size = fabsf(elements[i]);
    range->overflow += !(size < 65520);
    range->subnormal += size > 0 && size < 0x1p-14f;
    if (isfinite(size)) range->largest = fmax(range->largest, (double)size);
  }
  return DQ_OK;
}

static void watch(check_job *job, const dq_value *value, const char *name, const char *op_type) {
  job->names[job->count] = value->name;
  job->ranges[job->count++] = (dq_amp_range){.name = name, .op_type = op_type};
}

// Returns, by index of the value, whether a value exists in float16 after the conversion; NULL: there is no memory.
// Values are looked for by name, because the conversion folds nodes, so that indices differ between the two graphs.
static const bool *find_half(const dq_graph *graph, const dq_amp_report *report, dq_arena *arena) {
  bool *half = DQ_NEW_ARRAY(arena, graph->value_count, bool);
  for (int i = 0; half && i < report->half_value_count; i++) {
    const dq_value *value = dq_graph_find(graph, report->half_values[i]);
    if (value) half[value->index] = true;
  }
  return half;
}

static bool is_watched(const check_job *job, const dq_value *value, const dq_tensor *tensors) {
  return value && job->half[value->index] && tensors[value->index].type == DQ_F32 && !tensors[value->index].data;
}

static void find_values(check_job *job, const dq_tensor *tensors) {
  for (int i = 0; i < job->graph->input_count; i++) {
    const dq_value *input = job->graph->inputs[i];
    if (is_watched(job, input, tensors)) watch(job, input, input->name, "input");
  }
  for (int n = 0; n < job->graph->node_count; n++) {
    const dq_node *node = job->graph->nodes[n];
    for (int i = 0; i < node->output_count; i++)
      if (is_watched(job, node->outputs[i], tensors))
        watch(job, node->outputs[i], node->name[0] ? node->name : node->outputs[i]->name, node->op_type);
  }
}

dq_status dq_amp_check(const dq_graph *original, const dq_amp_report *report, const dq_shape_request *shapes,
                       dq_data *data, dq_arena *arena, dq_amp_range **ranges, int *count, const dq_context *context,
                       dq_error *error) {
  check_job job = {.graph = original,
                   .half = find_half(original, report, arena),
                   .ranges = DQ_NEW_ARRAY(arena, original->value_count, dq_amp_range),
                   .names = DQ_NEW_ARRAY(arena, original->value_count, const char *)};
  if (!job.half || !job.ranges || !job.names) return dq_fail_memory(error, 0);
  dq_tensor *tensors; // for types; the data says the sizes
  DQ_TRY(dq_infer_assuming(original, shapes, NULL, context, arena, &tensors, error));
  find_values(&job, tensors);
  dq_observation what = {.graph = original,
                         .shapes = shapes,
                         .names = job.names,
                         .count = job.count,
                         .data = data,
                         .pictures = dq_data_count(data),
                         .doing = "checking"};
  DQ_TRY(dq_observe(&what, on_value, &job, context, error));
  *ranges = job.ranges;
  *count = job.count;
  return DQ_OK;
}

dq_status dq_amp_check_overflow(const dq_amp_range *ranges, int count, dq_error *error) {
  int overflowed = 0;
  for (int i = 0; i < count; i++) overflowed += ranges[i].overflow > 0;
  if (!overflowed) return DQ_OK;
  return dq_fail(error, DQ_CONDITION, "%d layer%s in float16 ha%s values beyond 65504", overflowed,
                 overflowed == 1 ? "" : "s", overflowed == 1 ? "s" : "ve");
}
