#include "lib/report/report_codegen.h"

#include "lib/base/sizes.h"

#include <inttypes.h>

static const dq_column network_columns[] = {
    {"arena_bytes", "Arena", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"input_bytes", "Inputs", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"output_bytes", "Outputs", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"constant_bytes", "Constants", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"requantizations", "Requantizations", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"float_requantizations", "of these in float", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"exceptions", "Sums corrected", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"pictures", "Pictures compared", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"elements", "Elements compared", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"different", "Elements that differ", DQ_COLUMN_INT, NULL, 0, 0, 0},
};
static const dq_table_layout network_layout = {"network", NULL, network_columns, DQ_COUNT(network_columns), true};

static const dq_column step_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 24, 1},
    {"function", "Function", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"macs", "MACs", DQ_COLUMN_COUNT, NULL, 0, 0, 2},
    {"constant_bytes", "Constants", DQ_COLUMN_BYTES, NULL, 0, 0, 2},
    {"sum_bits", "Sum bits", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"requantizations", "Requant.", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"float_requantizations", "in float", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"exceptions", "Corrected", DQ_COLUMN_INT, NULL, 0, 0, 6},
};
static const dq_table_layout step_layout = {"steps", "Steps", step_columns, DQ_COUNT(step_columns), false};

static int64_t bytes_of(const dq_codegen_port *ports, int count) {
  int64_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += (int64_t)dq_tensor_bytes(&ports[i].tensor);
  return bytes;
}

static void put_network(dq_table *table, const dq_codegen *made, const dq_codegen_comparison *comparison) {
  int64_t channels = 0, slow = 0, exceptions = 0;
  for (int s = 0; s < made->step_count; s++) channels += made->steps[s].channels, slow += made->steps[s].slow_channels;
  for (int s = 0; s < made->step_count; s++) exceptions += made->steps[s].exceptions;
  dq_table_row(table);
  dq_table_put_int(table, "arena_bytes", (int64_t)made->arena_bytes);
  dq_table_put_int(table, "input_bytes", bytes_of(made->inputs, made->input_count));
  dq_table_put_int(table, "output_bytes", bytes_of(made->outputs, made->output_count));
  dq_table_put_int(table, "constant_bytes", made->constant_bytes);
  dq_table_put_int(table, "macs", made->macs);
  if (channels) {
    dq_table_put_int(table, "requantizations", channels);
    dq_table_put_int(table, "float_requantizations", slow);
    dq_table_put_int(table, "exceptions", exceptions);
  }
  if (!comparison) return;
  dq_table_put_int(table, "pictures", comparison->pictures);
  dq_table_put_int(table, "elements", comparison->elements);
  dq_table_put_int(table, "different", comparison->different);
}

static void put_step(dq_table *table, const dq_codegen_step *step) {
  dq_table_row(table);
  dq_table_put_text(table, "node", step->label);
  dq_table_put_text(table, "op", step->node->op_type);
  if (step->function >= 0) dq_table_put_int(table, "function", step->function);
  if (step->macs) dq_table_put_int(table, "macs", step->macs);
  if (step->constant_bytes) dq_table_put_int(table, "constant_bytes", step->constant_bytes);
  if (step->sum_bits) dq_table_put_int(table, "sum_bits", step->sum_bits);
  if (!step->channels) return;
  dq_table_put_int(table, "requantizations", step->channels);
  dq_table_put_int(table, "float_requantizations", step->slow_channels);
  dq_table_put_int(table, "exceptions", step->exceptions);
}

void dq_report_codegen(dq_report *report, const dq_codegen *made, bool steps, const dq_codegen_comparison *comparison) {
  dq_table *table = steps ? dq_report_table(report, &step_layout) : NULL;
  for (int s = 0; steps && s < made->step_count; s++) put_step(table, &made->steps[s]);
  put_network(dq_report_table(report, &network_layout), made, comparison);
}
