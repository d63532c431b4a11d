#include "lib/report/report_layers.h"

#include "lib/base/sizes.h"

#include <string.h>

static const dq_column comparison_columns[] = {
    {"layer", "Layer", DQ_COLUMN_TEXT, NULL, 0, 28, 3},
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 4},
    {"value", "Value", DQ_COLUMN_TEXT, NULL, 0, 24, 5},
    {"compared", "Compared", DQ_COLUMN_TEXT, NULL, 0, 24, 6},
    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"cosine", "Cosine", DQ_COLUMN_REAL, NULL, 6, 0, 2},
    {"error", "Largest error", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 2},
    {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"left_out", "Left out", DQ_COLUMN_INT, NULL, 0, 0, 5},
};
static const dq_table_layout comparison_layout = {"comparison", "Compared layer by layer", comparison_columns,
                                                  DQ_COUNT(comparison_columns), false};

static const dq_column output_columns[] = {
    {"output", "Output", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 2, 0, 1},
    {"cosine", "Cosine", DQ_COLUMN_REAL, NULL, 6, 0, 4},
    {"error", "Largest error", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 3},
    {"agreement", "Top-1 agreement", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"pictures", "Pictures", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"left_out", "Left out", DQ_COLUMN_INT, NULL, 0, 0, 5},
};
static const dq_table_layout output_layout = {"outputs", "Outputs against the reference", output_columns,
                                              DQ_COUNT(output_columns), false};

static void put_distance(dq_table *table, const dq_comparison *comparison) {
  if (comparison->left_out) dq_table_put_int(table, "left_out", comparison->left_out);
  if (!comparison->values) return; // an output whose size depends on the picture
  dq_table_put_real(table, "sqnr", dq_comparison_sqnr(comparison));
  dq_table_put_real(table, "cosine", dq_comparison_cosine(comparison));
  dq_table_put_real(table, "error", comparison->largest);
  if (!comparison->nonfinite) return;
  dq_table_put_int(table, "nonfinite", comparison->nonfinite);
  dq_table_mark(table, "nonfinite", DQ_MARK_BAD);
  dq_table_mark(table, "sqnr", DQ_MARK_BAD);
}

dq_table *dq_report_comparison(dq_report *report, const dq_layer_comparison *comparison,
                               const dq_report_filter *filter) {
  dq_table *table = dq_report_table(report, &comparison_layout);
  for (int i = 0; i < comparison->layer_count; i++) {
    const dq_layer_pair *pair = &comparison->layers[i];
    const dq_node *node = pair->reference->producer;
    const dq_comparison *distance = &pair->comparison;
    bool shown = dq_report_shows(filter, dq_node_name(node)) ||
                 (pair->layer && dq_report_shows(filter, dq_node_name(pair->layer)));
    if (!shown || (!distance->values && !distance->left_out)) continue;
    dq_table_row(table);
    if (pair->layer) dq_table_put_text(table, "layer", dq_node_name(pair->layer));
    dq_table_put_text(table, "node", dq_node_name(node));
    dq_table_put_text(table, "op", node->op_type);
    dq_table_put_text(table, "value", pair->reference->name);
    if (strcmp(pair->reference->name, pair->candidate->name))
      dq_table_put_text(table, "compared", pair->candidate->name);
    put_distance(table, distance);
  }
  dq_table *outputs = dq_report_table(report, &output_layout);
  for (int i = 0; i < comparison->output_count; i++) {
    const dq_layer_pair *pair = &comparison->outputs[i];
    dq_table_row(outputs);
    dq_table_put_text(outputs, "output", pair->reference->name);
    put_distance(outputs, &pair->comparison);
    if (i == 0 && comparison->scores)
      dq_table_put_real(outputs, "agreement", dq_comparison_agreement(&pair->comparison));
    dq_table_put_int(outputs, "pictures", comparison->pictures);
  }
  return table;
}
