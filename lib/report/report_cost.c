#include "lib/report/report_cost.h"

#include "lib/base/sizes.h"

static const dq_column layer_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 24, 2},
    {"domain", "Domain", DQ_COLUMN_TEXT, NULL, 0, 16, 9},
    {"shape", "Output", DQ_COLUMN_TEXT, NULL, 0, 32, 3},
    {"kernel", "Kernel", DQ_COLUMN_TEXT, NULL, 0, 12, 10},
    {"stride", "Stride", DQ_COLUMN_TEXT, NULL, 0, 12, 10},
    {"groups", "Groups", DQ_COLUMN_INT, NULL, 0, 0, 11},
    {"dilation", "Dilation", DQ_COLUMN_TEXT, NULL, 0, 12, 11},
    {"input_type", "Reads", DQ_COLUMN_TEXT, NULL, 0, 10, 8},
    {"output_type", "Writes", DQ_COLUMN_TEXT, NULL, 0, 10, 8},
    {"precision", "Precision", DQ_COLUMN_TEXT, NULL, 0, 20, 7},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 1},
    {"parameters", "Parameters", DQ_COLUMN_COUNT, NULL, 0, 0, 4},
    {"weight_bytes", "Weights", DQ_COLUMN_BYTES, NULL, 0, 0, 5},
    {"activation_bytes", "Activations", DQ_COLUMN_BYTES, NULL, 0, 0, 6},
    {"problem", "Problem", DQ_COLUMN_TEXT, NULL, 0, 60, -1},
};
static const dq_table_layout layer_layout = {"layers", "Layers", layer_columns, DQ_COUNT(layer_columns), false};

static const dq_column operator_columns[] = {
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"domain", "Domain", DQ_COLUMN_TEXT, NULL, 0, 16, 3},
    {"count", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 2},
};
static const dq_table_layout operator_layout = {"operators", "Operators", operator_columns, DQ_COUNT(operator_columns),
                                                false};

static const dq_column port_columns[] = {
    {"kind", "Kind", DQ_COLUMN_TEXT, NULL, 0, 6, 3},
    {"name", "Name", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"type", "Type", DQ_COLUMN_TEXT, NULL, 0, 10, 2},
    {"shape", "Shape", DQ_COLUMN_TEXT, NULL, 0, 60, 1},
};
static const dq_table_layout port_layout = {"interface", "Inputs and outputs", port_columns, DQ_COUNT(port_columns),
                                            false};

static const dq_column size_columns[] = {
    {"name", "Size", DQ_COLUMN_TEXT, NULL, 0, 16, 0},
    {"input", "Input", DQ_COLUMN_TEXT, NULL, 0, 48, 3},
    {"dimension", "Dimension", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"size", "Counted as", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"source", "Because it is", DQ_COLUMN_TEXT, NULL, 0, 16, 2},
};
static const dq_table_layout size_layout = {"sizes", "Open sizes", size_columns, DQ_COUNT(size_columns), false};

static void put_type(dq_table *table, const char *key, int type) {
  dq_table_put_text(table, key, type ? dq_dtype_name(type) : NULL);
}

static const char *kind_of(const dq_cost_port *port) { return port->output ? "output" : "input"; }

static void put_sizes(dq_report *report, const dq_cost *cost) {
  static const char *const sources[] = {"the batch", "given", "remembered", "assumed"};
  dq_table *table = dq_report_table(report, &size_layout);
  dq_table_not_csv(table);
  for (int i = 0; i < cost->sizes.count; i++) {
    const dq_open_size *open = &cost->sizes.open[i];
    dq_table_row(table);
    dq_table_put_text(table, "name", open->name);
    dq_table_put_text(table, "input", open->input->name);
    dq_table_put_int(table, "dimension", open->dimension);
    dq_table_put_int(table, "size", open->size);
    dq_table_put_text(table, "source", sources[open->source]);
    if (open->source == DQ_SIZE_ASSUMED) dq_table_mark(table, "source", DQ_MARK_WARN);
  }
}

void dq_report_interface(dq_report *report, const dq_cost *cost) {
  dq_table *table = dq_report_table(report, &port_layout);
  dq_table_not_csv(table);
  for (int i = 0; i < cost->port_count; i++) {
    const dq_cost_port *port = &cost->ports[i];
    dq_table_row(table);
    dq_table_put_text(table, "kind", kind_of(port));
    dq_table_put_text(table, "name", port->name);
    put_type(table, "type", port->type);
    dq_table_put_text(table, "shape", port->shape);
  }
  if (*cost->sizes_text) put_sizes(report, cost);
  if (!cost->sizes.fit)
    dq_report_add_note(report,
                       "No size that was tried fits the network (%s). What depends on sizes is not known from there "
                       "on: give those it was made for with --shape NAME=N,3,224,224.",
                       cost->sizes.misfit.message);
  else if (*cost->sizes_option)
    dq_report_add_note(report, "The file leaves sizes open, and no option gives them: figures are for %s (%s).",
                       cost->sizes_text, cost->sizes_option);
  if (cost->incomplete)
    dq_report_add_note(
        report, "%d node%s could not be counted in full: what is said to be \"at least\" is without what they hide.",
        cost->incomplete, cost->incomplete == 1 ? "" : "s");
}

// Inputs and outputs as rows of the CSV, which is one table.
static void put_ports(dq_table *table, const dq_cost *cost) {
  for (int i = 0; i < cost->port_count; i++) {
    const dq_cost_port *port = &cost->ports[i];
    dq_table_row(table);
    dq_table_put_text(table, "node", port->name);
    dq_table_put_text(table, "op", kind_of(port));
    dq_table_put_text(table, "shape", port->shape);
    put_type(table, port->output ? "input_type" : "output_type", port->type);
  }
}

static void put_window(dq_table *table, const dq_cost_window *window) {
  if (*window->kernel) dq_table_put_text(table, "kernel", window->kernel);
  if (*window->stride) dq_table_put_text(table, "stride", window->stride);
  if (*window->dilation) dq_table_put_text(table, "dilation", window->dilation);
  if (window->groups) dq_table_put_int(table, "groups", window->groups);
}

static void put_total(dq_table *table, const dq_cost *cost) {
  static const char *const sums[] = {"macs", "activation_bytes", "parameters", "weight_bytes"};
  int64_t parameters = 0;
  for (int i = 0; i < cost->node_count; i++) parameters += cost->nodes[i].parameters;
  dq_table_total_row(table);
  dq_table_put_text(table, "node", "total");
  dq_table_put_int(table, "macs", cost->macs);
  dq_table_put_int(table, "parameters", parameters);
  dq_table_put_int(table, "weight_bytes", cost->parameter_bytes);
  dq_table_put_int(table, "activation_bytes", cost->activation_bytes);
  for (int i = 0; cost->incomplete && i < (cost->bodies ? 4 : 2); i++) dq_table_at_least(table, sums[i]);
}

dq_table *dq_report_cost(dq_report *report, const dq_cost *cost, const dq_report_filter *filter) {
  dq_table *table = dq_report_table(report, &layer_layout);
  put_ports(dq_table_csv_head(table), cost);
  for (int i = 0; i < cost->node_count; i++) {
    const dq_cost_node *row = &cost->nodes[i];
    if (!dq_report_shows(filter, row->label)) continue;
    dq_table_row(table);
    dq_table_put_text(table, "node", row->label);
    dq_table_put_text(table, "op", row->node->op_type);
    if (row->node->domain[0]) dq_table_put_text(table, "domain", row->node->domain);
    dq_table_put_text(table, "shape", row->shape);
    put_window(table, &row->window);
    put_type(table, "input_type", row->input_type);
    put_type(table, "output_type", row->output_type);
    if (row->precision[0]) dq_table_put_text(table, "precision", row->precision);
    if (row->macs) dq_table_put_int(table, "macs", row->macs);
    if (row->parameters) dq_table_put_int(table, "parameters", row->parameters);
    if (row->parameter_bytes) dq_table_put_int(table, "weight_bytes", row->parameter_bytes);
    if (row->activation_bytes || !row->incomplete) dq_table_put_int(table, "activation_bytes", row->activation_bytes);
    if (row->incomplete && row->activation_bytes) dq_table_at_least(table, "activation_bytes");
    if (row->problem) dq_table_put_text(table, "problem", row->problem);
    if (row->problem) dq_table_mark(table, "problem", DQ_MARK_BAD);
  }
  put_total(table, cost);
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
