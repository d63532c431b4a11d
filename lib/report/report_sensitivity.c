#include "lib/report/report_sensitivity.h"

#include "lib/base/sizes.h"

static const dq_column columns[] = {
    {"layer", "Layer", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 4},
    {"weight_bytes", "Weights", DQ_COLUMN_BYTES, NULL, 0, 0, 5},
    {"sqnr_weights", "SQNR of weights", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"sqnr_activations", "of the result", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"sqnr", "of both", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"agreement", "Top-1 agreement", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"change", "Top-1 change", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
};
static const dq_table_layout layout = {"sensitivity", "What each layer alone costs", columns, DQ_COUNT(columns), false};

static void put_effect(dq_table *table, const dq_sensitivity *found, const dq_sensitivity_effect *effect) {
  dq_table_put_real(table, "sqnr", dq_comparison_sqnr(&effect->outputs));
  if (found->scores) dq_table_put_real(table, "agreement", dq_comparison_agreement(&effect->outputs));
  if (found->labelled)
    dq_table_put_real(table, "change", 100.0 * (double)(effect->right - found->right) / (double)found->pictures);
}

dq_table *dq_report_sensitivity(dq_report *report, const dq_sensitivity *found, const dq_report_filter *filter) {
  dq_table *table = dq_report_table(report, &layout);
  for (int i = 0; i < found->count; i++) {
    const dq_sensitivity_layer *layer = &found->layers[i];
    if (!dq_report_shows(filter, layer->label)) continue;
    dq_table_row(table);
    dq_table_put_text(table, "layer", layer->label);
    dq_table_put_text(table, "op", layer->op_type);
    if (layer->macs) dq_table_put_int(table, "macs", layer->macs);
    if (layer->weight_bytes) dq_table_put_int(table, "weight_bytes", layer->weight_bytes);
    if (layer->has_weights) dq_table_put_real(table, "sqnr_weights", dq_comparison_sqnr(&layer->weights.outputs));
    dq_table_put_real(table, "sqnr_activations", dq_comparison_sqnr(&layer->activations.outputs));
    put_effect(table, found, &layer->both);
  }
  dq_table_sort(table, "sqnr", true, NULL);
  dq_table_total_row(table);
  dq_table_put_text(table, "layer", "all of them");
  put_effect(table, found, &found->all);
  dq_report_add_note(report,
                     "%lld pictures; signal-to-noise ratios are those of the model's outputs with one layer in 8 bits",
                     (long long)found->pictures);
  return table;
}
