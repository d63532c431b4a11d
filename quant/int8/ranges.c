// The ranges and parameters of values: from what is given, else from histograms.
#include <math.h>
#include <string.h>

#include "quant/int8/facts.h"
#include "quant/int8/stages.h"
#include "quant/numeric/activation_range.h"

bool dq_int8_is_observed(const dq_int8_job *job, int v) {
  const dq_value_choice *choice = &job->choices[v];
  return choice->quantized && choice->shares == v && !choice->constant;
}

static dq_range_pair range_of_constant(const dq_tensor *tensor) {
  const float *elements = tensor->data;
  dq_range_pair range = {0, 0};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) {
    if (elements[i] < range.low) range.low = elements[i];
    if (elements[i] > range.high) range.high = elements[i];
  }
  return range;
}

// Tables of scales do not say on which side of 0 values lie; a Relu or Sigmoid does.
static bool is_never_negative(const dq_value *value) {
  const dq_node *node = value->producer;
  if (!node) return false;
  float low, high;
  const dq_operator *row = dq_operator_find(node->domain, node->op_type);
  return (dq_clamp_of(node, &low, &high) && low >= 0) || (row && row->range[0] >= 0 && row->range[1] > 0);
}

// Chooses the range of an activation: that of the given table, else that of the input grid where the value has one,
// else the one that the method makes of the histogram.
static dq_status choose_range(const dq_int8_job *job, dq_value_choice *choice, const dq_value *value,
                              const dq_calibration *calibration) {
  const dq_calibration_table_range *entry = dq_int8_given_range(job, value->index);
  if (entry) {
    choice->range = entry->range;
    choice->clipped = entry->clipped;
    choice->searched = entry->searched;
    if (job->in->given->symmetric && is_never_negative(value)) choice->range.low = 0;
    return DQ_OK;
  }
  if (!calibration) return dq_fail(job->error, DQ_BAD_INPUT, "the table has no value '%s'", value->name);
  const dq_histogram *histogram = &calibration->histograms[choice->slot];
  bool levelled = job->in->levelled && !strcmp(job->in->levelled, value->name);
  choice->range =
      levelled ? job->in->levels.range : dq_int8_range_by(job, value->index, job->setting.method, calibration);
  choice->clipped = dq_histogram_clipped(histogram, choice->range);
  return DQ_OK;
}

static dq_status choose_ranges(dq_int8_job *job, const dq_calibration *calibration) {
  for (int v = 0; v < job->value_count; v++) {
    dq_value_choice *choice = &job->choices[v];
    if (!choice->quantized || choice->shares != v) continue;
    if (choice->constant) {
      const dq_value *value = job->graph->values[v];
      DQ_TRY(dq_check_finite(value->constant, value->name, job->error));
      choice->range = range_of_constant(value->constant);
    } else {
      DQ_TRY(choose_range(job, choice, job->graph->values[v], calibration));
    }
  }
  if (calibration && job->setting.range_search) DQ_TRY(dq_int8_search_ranges(job, calibration));
  return calibration && job->setting.exact_sums ? dq_int8_join_sums(job, calibration) : DQ_OK;
}

static void fit_softmax(const dq_int8_job *job, const dq_value *value, dq_range_pair *range) {
  int64_t length = dq_softmax_length(value->producer, &job->tensors[value->index], dq_graph_opset(job->graph, ""));
  if (length > 1) range->high = dq_softmax_high(range->high, length);
}

static dq_status choose_parameters(dq_int8_job *job, const dq_calibration *calibration) {
  const dq_int8_options *options = job->in->options;
  DQ_TRY(choose_ranges(job, calibration));
  for (int v = 0; v < job->value_count; v++) {
    dq_value_choice *choice = &job->choices[v];
    if (!choice->quantized || choice->shares != v) continue;
    fit_softmax(job, job->graph->values[v], &choice->range);
    choice->parameters =
        dq_parameters_for(choice->range.low, choice->range.high, options->activation_type, options->symmetric);
  }
  job->report->exact_sums = dq_int8_exact_sums(job);
  return DQ_OK;
}

dq_status dq_int8_find_ranges(dq_int8_job *job) {
  const char **names = DQ_NEW_ARRAY(job->arena, job->value_count, const char *);
  const dq_calibration *calibration = NULL;
  dq_calibration own;
  int count = 0;
  if (!names) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < job->value_count; v++)
    if (!job->in->options->table && dq_int8_is_observed(job, v) && !dq_int8_given_range(job, v)) {
      job->choices[v].slot = count;
      names[count++] = job->graph->values[v]->name;
    }
  dq_status status = dq_int8_histograms(job, names, count, &own, &calibration);
  if (status == DQ_OK) status = choose_parameters(job, calibration);
  dq_calibration_deinit(&own);
  return status;
}
