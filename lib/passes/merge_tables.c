// A table of 256 results read by another one alone: the second of the first is one table. At most one of
// the two differs by channel.
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/passes/passes_internal.h"

enum { ENTRIES = 256 };

static bool is_table(const dq_node *node) {
  return node && !strcmp(node->domain, "dq") && !strcmp(node->op_type, "QTable");
}

// One row, which neither has channels nor asks for any of its input.
static bool is_simple(const dq_node *table) {
  return table->inputs[1]->constant->rank == 1 && !dq_node_attribute(table, "needed_rank");
}

// second[first[i]], row by row of the one that has several.
static dq_tensor *composed(dq_graph *copy, const dq_tensor *first, const dq_tensor *second) {
  const dq_tensor *shape = first->rank > 1 ? first : second;
  dq_tensor *tables = dq_tensor_new(copy->arena, second->type, shape->rank, shape->dims);
  const uint8_t *inner = first->data, *outer = second->data;
  for (int64_t i = 0; tables && i < dq_tensor_count(tables); i++) {
    int64_t row = i / ENTRIES * ENTRIES, entry = i % ENTRIES;
    uint8_t middle = inner[(first->rank > 1 ? row : 0) + entry];
    ((uint8_t *)tables->data)[i] = outer[(second->rank > 1 ? row : 0) + middle];
  }
  return tables;
}

static dq_status merge(dq_graph *copy, const dq_node *first, dq_node *second, dq_error *error) {
  dq_tensor *tables = composed(copy, first->inputs[1]->constant, second->inputs[1]->constant);
  dq_value *inputs[] = {first->inputs[0], dq_graph_add_constant(copy, "table", tables)};
  dq_value **kept = dq_arena_copy(copy->arena, inputs, sizeof inputs);
  if (!kept || !inputs[1]) return dq_fail_memory(error, sizeof inputs);
  const int64_t least_rank = dq_max_i64(dq_node_int(first, "least_rank", 0), dq_node_int(second, "least_rank", 0));
  if (!is_simple(first)) { // where its channels lie
    second->attributes = first->attributes;
    second->attribute_count = first->attribute_count;
  }
  if (least_rank && !dq_node_set_int(copy, second, "least_rank", least_rank)) return dq_fail_memory(error, 0);
  second->inputs = kept;
  return DQ_OK;
}

dq_status dq_pass_merge_tables(dq_graph *copy, const dq_shape_request *shapes, const dq_context *context,
                               dq_error *error) {
  (void)shapes, (void)context;
  dq_node **order = DQ_NEW_ARRAY(copy->arena, copy->node_count, dq_node *);
  if (!order) return dq_fail_memory(error, (size_t)copy->node_count * sizeof *order);
  DQ_TRY(dq_graph_order(copy, order, error));
  for (int n = 0; n < copy->node_count; n++) {
    dq_node *second = order[n], *first = is_table(second) ? second->inputs[0]->producer : NULL;
    if (!is_table(first) || !dq_is_private(first->outputs[0])) continue;
    if (!is_simple(first) && !is_simple(second)) continue;
    DQ_TRY(merge(copy, first, second, error));
    dq_graph_remove_node(copy, first);
  }
  return DQ_OK;
}
