// What can be decomposed, at which ranks, and whether it pays.
#include "decomp/tucker/tucker_job.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/sizes.h"

__attribute__((format(printf, 2, 3))) static void leave(dq_tucker_job *job, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(job->layer->reason, sizeof job->layer->reason, format, arguments);
  va_end(arguments);
}

static dq_status check_finite(const dq_tucker_job *job, dq_error *error) {
  int64_t at = dq_tensor_first_not_finite(job->tensor);
  if (at < 0) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "initializer '%s': element %lld is %g, expected finite", job->weight->name,
                 (long long)at, dq_tensor_get(job->tensor, at));
}

static void leave_by_kind(dq_tucker_job *job) {
  const dq_tucker_layer *layer = job->layer;
  if (layer->group > 1 && layer->dims[1] == 1) leave(job, "depthwise");
  else if (layer->dims[2] == 1 && layer->dims[3] == 1) leave(job, "1x1 kernel");
}

static void note_input_shape(dq_tucker_job *job, const dq_tensor *tensors) {
  const dq_tensor *input = tensors ? &tensors[dq_node_input(job->node, 0)->index] : NULL;
  if (!input || input->rank != 4 || dq_tensor_count(input) < 1) return;
  memcpy(job->input_dims, input->dims, sizeof job->input_dims);
}

dq_tensor *dq_tucker_transposed(const dq_tensor *weight, dq_arena *arena) {
  int64_t in = weight->dims[0], out = weight->dims[1], taps = weight->dims[2] * weight->dims[3];
  dq_tensor *transposed = dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){out, in, weight->dims[2], weight->dims[3]});
  const float *from = weight->data;
  for (int64_t o = 0; transposed && o < out; o++)
    for (int64_t i = 0; i < in; i++)
      memcpy((float *)transposed->data + (o * in + i) * taps, from + (i * out + o) * taps,
             (size_t)taps * sizeof(float));
  return transposed;
}

static void find_positions(dq_tucker_job *job, const dq_tensor *tensors) {
  job->layer->macs_known = dq_tucker_positions(job->node, tensors, &job->positions.in, &job->positions.out);
  if (job->transposed && !job->layer->macs_known) { // strides widen the output
    job->positions.out = job->positions.in;
    job->positions.in = 1;
  }
  job->positions.core = job->transposed ? job->positions.in : job->positions.out;
}

static dq_status examine_weight(dq_tucker_job *job, const dq_tensor *tensors, dq_arena *arena, dq_error *error) {
  const dq_tensor *tensor = job->tensor;
  if (tensor->type != DQ_F32) {
    leave(job, "weight is %s, not float32", dq_dtype_name(tensor->type));
    return DQ_OK;
  }
  if (!tensor->data || dq_tensor_count(tensor) < 1)
    return dq_fail(error, DQ_BAD_INPUT, "initializer '%s': weight has no elements", job->weight->name);
  DQ_TRY(check_finite(job, error));
  if (tensor->rank == 3 || tensor->rank == 5) {
    leave(job, "%d-dimensional kernel", tensor->rank - 2);
    return DQ_OK;
  }
  if (tensor->rank == 2 && job->product.ranks[0] == 2) {
    leave(job, "1x1 kernel");
    return DQ_OK;
  }
  char label[DQ_LABEL_TEXT];
  if (tensor->rank != 4)
    return dq_fail(error, DQ_BAD_INPUT, "%s: weight has %d dimensions, expected 4",
                   dq_node_label(job->node, label, sizeof label), tensor->rank);
  if (job->transposed && job->layer->group > 1) {
    leave(job, "transposed, in groups");
    return DQ_OK;
  }
  if (job->transposed) job->tensor = tensor = dq_tucker_transposed(tensor, arena);
  if (!tensor) return dq_fail_memory(error, sizeof *tensor);
  memcpy(job->layer->dims, tensor->dims, sizeof job->layer->dims);
  if (job->layer->group < 1 || tensor->dims[0] % job->layer->group)
    return dq_fail(error, DQ_BAD_INPUT, "%s: group %lld does not divide %lld output channels",
                   dq_node_label(job->node, label, sizeof label), (long long)job->layer->group,
                   (long long)tensor->dims[0]);
  find_positions(job, tensors);
  note_input_shape(job, tensors);
  dq_conv_cost cost = dq_conv_cost_whole(job->layer->dims, job->bias, job->positions.core);
  if (!job->layer->macs_known) cost.macs = 0;
  job->layer->before = job->layer->after = cost;
  leave_by_kind(job);
  return DQ_OK;
}

// The other operand of the addition that alone reads the layer's output, of the same shape.
static const char *find_beside(const dq_tucker_job *job, const dq_tensor *tensors) {
  const dq_value *output = dq_node_output(job->node, 0);
  const dq_node *user = dq_only_user(output);
  if (!tensors || !user || !(dq_node_flags(user) & DQ_OP_ADDS) || user->input_count != 2) return NULL;
  const dq_value *other = user->inputs[user->inputs[0] == output];
  if (!other || other == output || other->constant) return NULL;
  return dq_tensor_same_shape(&tensors[other->index], &tensors[output->index]) ? other->name : NULL;
}

// Whether integers are what is stored of a weight, which factors in float32 would make larger.
static bool is_quantized(const dq_value *weight) {
  enum { LONGEST_CHAIN = 16 };
  for (int length = 0; length < LONGEST_CHAIN && weight && weight->producer; length++) {
    if (dq_node_is(weight->producer, "DequantizeLinear")) return true;
    weight = dq_node_input(weight->producer, 0);
  }
  return false;
}

dq_status dq_tucker_examine(dq_tucker_job *job, const dq_tensor *tensors, bool on_data, dq_arena *arena,
                            dq_error *error) {
  char label[DQ_LABEL_TEXT];
  job->weight = dq_node_input(job->node, 1);
  if (!job->weight || !dq_node_input(job->node, 0) || !dq_node_output(job->node, 0))
    return dq_fail(error, DQ_BAD_INPUT, "%s: %s has %d inputs, expected 2 or 3",
                   dq_node_label(job->node, label, sizeof label), job->node->op_type, job->node->input_count);
  dq_product_of(job->node, &job->product);
  job->transposed = job->product.kind == DQ_TRANSPOSED_CONVOLUTION;
  job->bias = dq_node_input(job->node, 2) != NULL;
  job->layer->group = job->product.groups;
  job->beside = find_beside(job, tensors);
  job->tensor = dq_known_tensor(job->weight);
  bool quantized = is_quantized(job->weight);
  if (!job->tensor && !quantized && tensors && tensors[job->weight->index].data)
    job->tensor = &tensors[job->weight->index];
  if (job->tensor) DQ_TRY(examine_weight(job, tensors, arena, error));
  if (job->tensor && job->transposed && on_data && !job->layer->reason[0])
    leave(job, "transposed, which is not fitted to data");
  if (job->tensor) return DQ_OK;
  leave(job, quantized ? "weight is quantized already" : "weight is not constant");
  return DQ_OK;
}

dq_conv_cost dq_tucker_cost_at(const dq_tucker_job *job, dq_ranks ranks) {
  return dq_conv_cost_tucker2(job->layer->dims, job->layer->group, job->bias, &job->positions, ranks.out, ranks.in,
                              job->hosvd.square);
}

// The channels of a group: ranks at which a mode stays whole.
static dq_ranks channels(const dq_tucker_layer *layer) {
  return (dq_ranks){layer->dims[0] / layer->group, layer->dims[1]};
}

static bool same_ranks(dq_ranks a, dq_ranks b) { return a.out == b.out && a.in == b.in; }

// A mode kept whole has no 1x1 and no error of its own: taken where it costs no more.
static dq_ranks cheapest_form(const dq_tucker_job *job, dq_ranks ranks) {
  dq_ranks whole = channels(job->layer), best = ranks;
  const dq_ranks forms[] = {{ranks.out, whole.in}, {whole.out, ranks.in}};
  for (int i = 0; i < 2; i++) {
    if (same_ranks(forms[i], whole)) continue;
    if (dq_tucker_cost_at(job, forms[i]).macs <= dq_tucker_cost_at(job, best).macs) best = forms[i];
  }
  return best;
}

// A mode in which the rule found nothing: one channel would end the network's accuracy.
static void leave_collapsed(dq_tucker_job *job, const dq_tucker_options *options) {
  dq_ranks *ranks = &job->layer->ranks;
  if (options->force) *ranks = (dq_ranks){dq_max_i64(ranks->out, 1), dq_max_i64(ranks->in, 1)};
  else
    leave(job, "%s keeps at most 1 of rank %lld (%s)", dq_rank_rule_name(options->rule),
          (long long)(ranks->out ? job->hosvd.in.rank : job->hosvd.out.rank), ranks->out ? "input" : "output");
}

dq_status dq_tucker_choose(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  const dq_hosvd *hosvd = &job->hosvd;
  dq_ranks *ranks = &job->layer->ranks;
  if (!job->given) {
    DQ_TRY(dq_rank_choose(options->rule, options->parameter, options->multiple, hosvd, ranks, error));
    if (!ranks->out || !ranks->in) leave_collapsed(job, options);
    else if (job->matrix) ranks->out = channels(job->layer).out;
    else if (!options->force) *ranks = cheapest_form(job, *ranks);
    return DQ_OK;
  }
  *ranks = job->given->ranks;
  if (dq_tucker2_ranks_fit(hosvd, ranks->out, ranks->in)) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT,
                 "ranks of '%s' are %lld and %lld, expected 1 to %lld (output) and 1 to %lld "
                 "(input)",
                 job->layer->name, (long long)ranks->out, (long long)ranks->in, (long long)hosvd->out.rank,
                 (long long)hosvd->in.rank);
}

// Never larger, never more work, unless the user insists.
void dq_tucker_leave_without_gain(dq_tucker_job *job, const dq_tucker_options *options) {
  const dq_tucker_layer *layer = job->layer;
  dq_ranks ranks = layer->ranks;
  dq_conv_cost whole = dq_conv_cost_whole(layer->dims, job->bias, job->positions.core);
  dq_conv_cost after = dq_tucker_cost_at(job, ranks);
  if (same_ranks(ranks, channels(layer)) && !job->hosvd.square)
    leave(job, options->macs_share > 0 ? "within the bound as it is" : "full rank on both sides");
  else if (options->force || job->given) return;
  else if (after.macs >= whole.macs)
    leave(job, "no gain: %.1f %% of the multiply-accumulates at ranks %lld and %lld",
          100.0 * (double)after.macs / (double)whole.macs, (long long)ranks.out, (long long)ranks.in);
  else if (after.parameters >= whole.parameters)
    leave(job, "no gain: %lld parameters instead of %lld", (long long)after.parameters, (long long)whole.parameters);
}

// float64 copies of the weight and of both Gram matrices with their workspaces, roughly.
static dq_status check_memory(const dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  double o = (double)job->layer->dims[0], i = (double)job->layer->dims[1];
  double elements = 4.0 * (double)dq_tensor_count(job->tensor) + 4.0 * (o * o + i * i);
  char what[DQ_LABEL_TEXT];
  snprintf(what, sizeof what, "decomposing '%.200s'", job->layer->name);
  size_t bytes = elements < 0x1p60 ? (size_t)(elements * sizeof(double)) : SIZE_MAX;
  return dq_check_memory(options->context, bytes, what, error);
}

dq_status dq_tucker_analyse(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  DQ_TRY(check_memory(job, options, error));
  job->spectra = dq_context_arena(options->context);
  if (!job->spectra) return dq_fail_memory(error, sizeof(dq_hosvd));
  const double *scale = options->plain || job->matrix ? NULL : dq_tucker_scale(job, job->spectra);
  dq_status status = dq_hosvd_compute(&job->hosvd, job->tensor, job->layer->group, scale, job->spectra, error);
  if (status != DQ_OK) return dq_error_prefix(error, status, "initializer '%s'", job->weight->name);
  job->layer->full = (dq_ranks){job->hosvd.out.rank, job->hosvd.in.rank};
  job->hosvd.square = options->force && !job->given && !job->matrix;
  return DQ_OK;
}

dq_status dq_tucker_decide(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  layer->energy_out = dq_mode_energy(&job->hosvd.out, layer->ranks.out);
  layer->energy_in = dq_mode_energy(&job->hosvd.in, layer->ranks.in);
  if (!layer->reason[0]) dq_tucker_leave_without_gain(job, options);
  if (layer->reason[0]) return DQ_OK;
  job->arena = dq_context_arena(options->context);
  if (!job->arena) return dq_fail_memory(error, sizeof(dq_tucker2));
  layer->after = dq_tucker_cost_at(job, layer->ranks);
  if (!layer->macs_known) layer->after.macs = 0;
  return DQ_OK;
}

dq_status dq_tucker_factor(dq_tucker_job *job, const dq_tucker_options *options, dq_error *error) {
  dq_tucker_layer *layer = job->layer;
  dq_status status = dq_tucker_decide(job, options, error);
  if (status == DQ_OK && !layer->reason[0] && options->refine)
    status = dq_hosvd_refine(&job->hosvd, layer->ranks.out, layer->ranks.in, job->spectra, error);
  if (status == DQ_OK && !layer->reason[0])
    status = dq_tucker2_factors(&job->factors, &job->hosvd, layer->ranks.out, layer->ranks.in, job->arena, error);
  if (status == DQ_OK && !layer->reason[0]) layer->error = job->factors.error;
  dq_arena_free(job->spectra);
  job->spectra = NULL;
  return status;
}
