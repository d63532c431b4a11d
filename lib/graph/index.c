// Producers, users and order of a graph, with the checks that make it a network: everything read is
// produced, nothing is produced twice, no cycle.
#include <stdlib.h>
#include <string.h>

#include "lib/graph/graph.h"

static void drop_removed(dq_graph *graph) {
  int kept = 0;
  for (int i = 0; i < graph->node_count; i++)
    if (!graph->nodes[i]->removed) graph->nodes[kept++] = graph->nodes[i];
  graph->node_count = kept;
  for (int i = 0; i < kept; i++) graph->nodes[i]->index = i;
}

static dq_status produced_twice(const dq_value *value, dq_error *error) {
  return dq_fail(error, DQ_BAD_INPUT, "value '%s' is produced twice", value->name);
}

static dq_status find_producers(dq_graph *graph, dq_error *error) {
  for (int i = 0; i < graph->value_count; i++) {
    dq_value *value = graph->values[i];
    value->producer = NULL;
    value->users = NULL;
    value->user_count = 0;
  }
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    for (int i = 0; i < node->output_count; i++) {
      dq_value *output = node->outputs[i];
      if (!output) continue;
      if (output->producer || output->is_input || output->constant)
        return produced_twice(output, error);
      output->producer = node;
    }
  }
  return DQ_OK;
}

static dq_status check_produced(const dq_graph *graph, dq_error *error) {
  char label[DQ_LABEL_TEXT];
  for (int n = 0; n < graph->node_count; n++)
    for (int i = 0; i < graph->nodes[n]->input_count; i++) {
      const dq_value *input = graph->nodes[n]->inputs[i];
      if (input && !input->producer && !input->is_input && !input->constant)
        return dq_fail(error, DQ_BAD_INPUT, "%s: input '%s' is not produced by anything",
                       dq_node_label(graph->nodes[n], label, sizeof label), input->name);
    }
  for (int i = 0; i < graph->output_count; i++) {
    const dq_value *output = graph->outputs[i];
    if (!output->producer && !output->is_input && !output->constant)
      return dq_fail(error, DQ_BAD_INPUT, "output '%s' is not produced by anything", output->name);
  }
  return DQ_OK;
}

static dq_status find_users(dq_graph *graph, dq_error *error) {
  for (int pass = 0; pass < 2; pass++) { // count, then fill
    for (int n = 0; n < graph->node_count; n++)
      for (int i = 0; i < graph->nodes[n]->input_count; i++) {
        dq_value *input = graph->nodes[n]->inputs[i];
        if (!input) continue;
        if (pass) input->users[input->user_count] = graph->nodes[n];
        input->user_count++;
      }
    for (int v = 0; !pass && v < graph->value_count; v++) {
      dq_value *value = graph->values[v];
      if (value->user_count && !(value->users = DQ_NEW_ARRAY(graph->arena, value->user_count, dq_node *)))
        return dq_fail_memory(error, (size_t)value->user_count * sizeof(dq_node *));
      value->user_count = 0;
    }
  }
  return DQ_OK;
}

// Kahn's algorithm; among the nodes that are ready the first of the file goes first when a sweep
// reaches it, so an order that is valid already stays as it is.
static dq_status sort_nodes(dq_graph *graph, bool keep_order, dq_error *error) {
  size_t count = (size_t)graph->node_count;
  dq_node **sorted = calloc(count + 1, sizeof *sorted);
  int *missing = calloc(count + 1, sizeof *missing);
  dq_status status = sorted && missing ? DQ_OK : dq_fail_memory(error, count * sizeof *sorted);
  int done = 0;
  for (int n = 0; status == DQ_OK && n < graph->node_count; n++)
    for (int i = 0; i < graph->nodes[n]->input_count; i++) {
      const dq_value *input = graph->nodes[n]->inputs[i];
      if (input && input->producer) missing[n]++;
    }
  // `sorted` is the queue: everything before `next` has released its users.
  for (int n = 0; status == DQ_OK && n < graph->node_count; n++) {
    if (missing[n]) continue;
    missing[n] = -1;
    sorted[done++] = graph->nodes[n];
    for (int next = done - 1; next < done; next++)
      for (int o = 0; o < sorted[next]->output_count; o++) {
        const dq_value *output = sorted[next]->outputs[o];
        for (int u = 0; output && u < output->user_count; u++) {
          int user = output->users[u]->index;
          // A later node is met by the sweep itself, which keeps the order of the file.
          if (--missing[user] == 0 && user < n) {
            missing[user] = -1;
            sorted[done++] = graph->nodes[user];
          }
        }
      }
  }
  if (status == DQ_OK && done < graph->node_count) {
    char label[DQ_LABEL_TEXT] = "";
    for (int n = 0; n < graph->node_count; n++)
      if (missing[n] > 0) {
        dq_node_label(graph->nodes[n], label, sizeof label);
        break;
      }
    status = dq_fail(error, DQ_BAD_INPUT, "%s is part of a cycle or behind one", label);
  } else if (status == DQ_OK && !keep_order) {
    memcpy(graph->nodes, sorted, count * sizeof *sorted);
    for (int i = 0; i < graph->node_count; i++) graph->nodes[i]->index = i;
  }
  free(sorted);
  free(missing);
  return status;
}

dq_status dq_graph_index(dq_graph *graph, bool sort, dq_error *error) {
  drop_removed(graph);
  DQ_TRY(find_producers(graph, error));
  DQ_TRY(check_produced(graph, error));
  DQ_TRY(find_users(graph, error));
  return sort_nodes(graph, !sort, error);
}
