#include "quant/search/rounded_constants.h"

// Whether all elements are the same number: the end of its range, which 8 bits keep.
static bool is_exact(const dq_tensor *constant) {
  const float *numbers = constant->data;
  for (int64_t i = 1; i < dq_tensor_count(constant); i++)
    if (numbers[i] != numbers[0]) return false;
  return true;
}

int dq_constant_in_8_bits(const dq_int8_job *job, const dq_node *node) {
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  if (row && row->quantization == DQ_QUANTIZE_COMPUTE) return dq_int8_is_weight(job, node, 1) ? 1 : -1;
  for (int i = 0; row && row->quantization == DQ_QUANTIZE_COMBINE && i < node->input_count; i++) {
    const dq_value *value = dq_node_input(node, i);
    if (value && dq_is_float_constant(value) && job->choices[value->index].quantized && !is_exact(value->constant))
      return i;
  }
  return -1;
}

// NULL: there is no memory.
static dq_tensor *round_operand(const dq_int8_job *job, const dq_value *operand, dq_arena *arena) {
  const dq_parameters *parameters = &job->choices[job->choices[operand->index].shares].parameters;
  dq_tensor *back = dq_tensor_new(arena, DQ_F32, operand->constant->rank, operand->constant->dims);
  if (back) dq_round_numbers(parameters, 0, operand->constant->data, back->data, dq_tensor_count(back));
  return back;
}

dq_status dq_round_constant(const dq_int8_job *job, dq_graph *copy, int value) {
  const dq_node *node = job->graph->values[value]->producer;
  const int input = dq_constant_in_8_bits(job, node);
  const dq_value *old = node->inputs[input];
  dq_tensor *back;
  if (dq_operator_find(node->domain, node->op_type)->quantization == DQ_QUANTIZE_COMPUTE) {
    dq_quantized_weight quantized;
    DQ_TRY(dq_quantize_weight(old->constant, job->in->weight_type, dq_int8_weight_axis(job->in->options, node), NULL,
                              copy->arena, &quantized, job->error));
    back = dq_dequantize_weight(&quantized, copy->arena);
  } else {
    back = round_operand(job, old, copy->arena);
  }
  dq_value *rounded = back ? dq_graph_add_constant(copy, old->name, back) : NULL;
  if (!rounded) return dq_fail_memory(job->error, 0);
  copy->values[value]->producer->inputs[input] = rounded;
  return DQ_OK;
}
