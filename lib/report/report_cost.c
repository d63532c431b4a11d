#include "lib/report/report_cost.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

static const dq_column layer_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 24, 2},
    {"domain", "Domain", DQ_COLUMN_TEXT, NULL, 0, 16, 9},
    {"shape", "Output", DQ_COLUMN_TEXT, NULL, 0, 24, 3},
    {"input_type", "Reads", DQ_COLUMN_TEXT, NULL, 0, 10, 8},
    {"output_type", "Writes", DQ_COLUMN_TEXT, NULL, 0, 10, 8},
    {"precision", "Precision", DQ_COLUMN_TEXT, NULL, 0, 20, 7},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 1},
    {"parameters", "Parameters", DQ_COLUMN_COUNT, NULL, 0, 0, 4},
    {"weight_bytes", "Weights", DQ_COLUMN_BYTES, NULL, 0, 0, 5},
    {"activation_bytes", "Activations", DQ_COLUMN_BYTES, NULL, 0, 0, 6},
    {"problem", "Problem", DQ_COLUMN_TEXT, NULL, 0, 60, -1},
};
static const dq_table_layout layer_layout = {"layers", "Layers", layer_columns,
                                             COUNT(layer_columns), false};

static const dq_column operator_columns[] = {
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"domain", "Domain", DQ_COLUMN_TEXT, NULL, 0, 16, 3},
    {"count", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 2},
};
static const dq_table_layout operator_layout = {"operators", "Operators", operator_columns,
                                                COUNT(operator_columns), false};

static void put_type(dq_table *table, const char *key, int type) {
  dq_table_put_text(table, key, type ? dq_dtype_name(type) : NULL);
}

dq_table *dq_report_cost(dq_report *report, const dq_cost *cost, const dq_report_filter *filter) {
  dq_table *table = dq_report_table(report, &layer_layout);
  for (int i = 0; i < cost->node_count; i++) {
    const dq_cost_node *row = &cost->nodes[i];
    if (!dq_report_shows(filter, row->label)) continue;
    dq_table_row(table);
    dq_table_put_text(table, "node", row->label);
    dq_table_put_text(table, "op", row->node->op_type);
    if (row->node->domain[0]) dq_table_put_text(table, "domain", row->node->domain);
    dq_table_put_text(table, "shape", row->shape);
    put_type(table, "input_type", row->input_type);
    put_type(table, "output_type", row->output_type);
    if (row->precision[0]) dq_table_put_text(table, "precision", row->precision);
    if (row->macs) dq_table_put_int(table, "macs", row->macs);
    if (row->parameters) dq_table_put_int(table, "parameters", row->parameters);
    if (row->parameter_bytes) dq_table_put_int(table, "weight_bytes", row->parameter_bytes);
    dq_table_put_int(table, "activation_bytes", row->activation_bytes);
    if (row->problem) dq_table_put_text(table, "problem", row->problem);
    if (row->problem) dq_table_mark(table, "problem", DQ_MARK_BAD);
  }
  int64_t parameters = 0;
  for (int i = 0; i < cost->node_count; i++) parameters += cost->nodes[i].parameters;
  dq_table_total_row(table);
  dq_table_put_text(table, "node", "total");
  dq_table_put_int(table, "macs", cost->macs);
  dq_table_put_int(table, "parameters", parameters);
  dq_table_put_int(table, "weight_bytes", cost->parameter_bytes);
  dq_table_put_int(table, "activation_bytes", cost->activation_bytes);
  return table;
}

void dq_report_operators(dq_report *report, const dq_cost *cost) {
  dq_table *table = dq_report_table(report, &operator_layout);
  for (int i = 0; i < cost->operator_count; i++) {
    dq_table_row(table);
    dq_table_put_text(table, "op", cost->operators[i].op_type);
    if (cost->operators[i].domain[0]) dq_table_put_text(table, "domain", cost->operators[i].domain);
    dq_table_put_int(table, "count", cost->operators[i].count);
    if (cost->operators[i].macs) dq_table_put_int(table, "macs", cost->operators[i].macs);
  }
}
