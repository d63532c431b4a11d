#include "lib/report/report_tucker.h"

#include <inttypes.h>

#include "lib/base/sizes.h"

static const dq_column layer_columns[] = {
    {.key = "layer", .title = "layer", .type = DQ_COLUMN_TEXT},
    {.key = "kernel", .title = "kernel", .type = DQ_COLUMN_TEXT, .priority = 5},
    {.key = "rank_out", .title = "rank out", .type = DQ_COLUMN_INT, .priority = 2},
    {.key = "rank_in", .title = "in", .type = DQ_COLUMN_INT, .priority = 2},
    {.key = "energy_out", .title = "energy out", .type = DQ_COLUMN_REAL, .decimals = 4, .priority = 7},
    {.key = "energy_in", .title = "in", .type = DQ_COLUMN_REAL, .decimals = 4, .priority = 7},
    {.key = "error", .title = "error", .type = DQ_COLUMN_SIGNIFICANT, .decimals = 4, .priority = 4},
    {.key = "response_error", .title = "Response error", .type = DQ_COLUMN_SIGNIFICANT, .decimals = 4, .priority = 4},
    {.key = "macs_before", .title = "MACs", .type = DQ_COLUMN_COUNT, .priority = 1},
    {.key = "macs_after", .title = "after", .type = DQ_COLUMN_COUNT, .priority = 1},
    {.key = "parameters_before", .title = "parameters", .type = DQ_COLUMN_COUNT, .priority = 6},
    {.key = "parameters_after", .title = "after", .type = DQ_COLUMN_COUNT, .priority = 6},
    {.key = "bytes_before", .title = "bytes", .type = DQ_COLUMN_BYTES, .priority = 8},
    {.key = "bytes_after", .title = "after", .type = DQ_COLUMN_BYTES, .priority = 8},
    {.key = "ms_before", .title = "ms", .type = DQ_COLUMN_REAL, .decimals = 4, .priority = 3},
    {.key = "ms_after", .title = "after", .type = DQ_COLUMN_REAL, .decimals = 4, .priority = 3},
    {.key = "reason", .title = "left alone", .type = DQ_COLUMN_TEXT, .width = 60, .priority = -1},
};
static const dq_table_layout layer_table = {
    .key = "layers",
    .columns = layer_columns,
    .column_count = (int)(DQ_COUNT(layer_columns)),
};

static const int64_t ELEMENT = sizeof(float); // layers that are decomposed hold nothing else

static void put_times(dq_table *table, double before, double after) {
  if (!(before > 0)) return;
  dq_table_put_real(table, "ms_before", 1e3 * before);
  dq_table_put_real(table, "ms_after", 1e3 * after);
}

static void put_costs(dq_table *table, bool macs_known, const dq_conv_cost *before, const dq_conv_cost *after) {
  if (macs_known) {
    dq_table_put_int(table, "macs_before", before->macs);
    dq_table_put_int(table, "macs_after", after->macs);
  }
  dq_table_put_int(table, "parameters_before", before->parameters);
  dq_table_put_int(table, "parameters_after", after->parameters);
  dq_table_put_int(table, "bytes_before", ELEMENT * before->parameters);
  dq_table_put_int(table, "bytes_after", ELEMENT * after->parameters);
}

static void put_layer(dq_table *table, const dq_tucker_layer *layer, bool on_data) {
  dq_table_row(table);
  dq_table_put_text(table, "layer", layer->name);
  if (layer->dims[0])
    dq_table_put_format(table, "kernel", "%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64, layer->dims[0], layer->dims[1],
                        layer->dims[2], layer->dims[3]);
  if (layer->dims[0]) put_costs(table, layer->macs_known, &layer->before, &layer->after);
  put_times(table, layer->time_before, layer->time_after);
  dq_table_put_text(table, "reason", layer->reason);
  if (layer->reason[0]) return;
  dq_table_put_int(table, "rank_out", layer->ranks.out);
  dq_table_put_int(table, "rank_in", layer->ranks.in);
  dq_table_put_real(table, "energy_out", layer->energy_out);
  dq_table_put_real(table, "energy_in", layer->energy_in);
  dq_table_put_real(table, "error", layer->error);
  if (on_data) dq_table_put_real(table, "response_error", layer->response_error);
}

static double percent_more(int64_t before, int64_t after) {
  return before > 0 ? 100.0 * (double)(after - before) / (double)before : 0;
}

void dq_report_tucker(dq_report *facts, const dq_tucker_report *report, const dq_tucker_times *times, bool on_data,
                      bool matrices) {
  dq_table *table = dq_report_table(facts, &layer_table);
  for (int i = 0; i < report->count; i++) put_layer(table, &report->layers[i], on_data);
  const dq_conv_cost *before = &report->model_before, *after = &report->model_after;
  dq_table_total_row(table);
  dq_table_put_text(table, "layer", "whole model");
  put_costs(table, report->macs_known, before, after);
  put_times(table, times->before, times->after);
  dq_report_add_note(facts, "%d of %d %s decomposed; parameters %+.1f %%", report->decomposed, report->count,
                     matrices ? "layers" : "convolutions", percent_more(before->parameters, after->parameters));
  if (report->macs_known)
    dq_report_add_note(facts, "multiply-accumulates %+.1f %%", percent_more(before->macs, after->macs));
  const dq_time_ratio *ratio = &times->ratio;
  if (times->before <= 0) return;
  if (ratio->level >= DQ_BLOCK_LEVEL)
    dq_report_add_note(facts, "%.2f times the time (%.2f to %.2f)", ratio->median, ratio->low, ratio->high);
  else
    dq_report_add_note(facts,
                       "%.2f times the time (%.2f to %.2f, which holds the median with %.1f %% only: too few blocks)",
                       ratio->median, ratio->low, ratio->high, 100 * ratio->level);
}
