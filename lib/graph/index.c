// Producers, users and order of a graph, with the checks that make it a network: everything read is
// produced, nothing is produced twice, no cycle.
#include <stdlib.h>
#include <string.h>

#include "lib/graph/graph.h"
#include "lib/graph/names.h"

static int place_all(dq_node *first, dq_node **placed, int count);

// The node with what stands beside it, which may have nodes beside it as well.
static int place(dq_node *node, dq_node **placed, int count) {
  count = place_all(node->before, placed, count);
  placed[count++] = node;
  return place_all(node->behind, placed, count);
}

static int place_all(dq_node *first, dq_node **placed, int count) {
  for (dq_node *node = first; node; node = node->next_beside) count = place(node, placed, count);
  return count;
}

// Puts the nodes of dq_graph_add_node_beside into the array.
static dq_status place_waiting(dq_graph *graph, dq_error *error) {
  if (!graph->beside_count) return DQ_OK;
  const int capacity = graph->node_count + graph->beside_count;
  dq_node **placed = DQ_NEW_ARRAY(graph->arena, capacity, dq_node *);
  if (!placed) return dq_fail_memory(error, (size_t)capacity * sizeof *placed);
  int count = place_all(graph->at_front, placed, 0);
  for (int n = 0; n < graph->node_count; n++) count = place(graph->nodes[n], placed, count);
  for (int n = 0; n < count; n++) placed[n]->before = placed[n]->behind = placed[n]->next_beside = NULL;
  graph->nodes = placed, graph->node_count = count, graph->node_capacity = capacity;
  graph->at_front = NULL, graph->beside_count = 0;
  return DQ_OK;
}

static void drop_removed(dq_graph *graph) {
  int kept = 0;
  for (int i = 0; i < graph->node_count; i++)
    if (!graph->nodes[i]->removed) graph->nodes[kept++] = graph->nodes[i];
  graph->node_count = kept;
  for (int i = 0; i < kept; i++) graph->nodes[i]->index = i;
  dq_names_free(graph->node_names);
  graph->node_names = NULL;
}

static dq_value *last_replacement(dq_value *value) {
  dq_value *last = value;
  while (last && last->replacement) last = last->replacement;
  for (dq_value *next; value != last; value = next) { // what was passed leads to the last at once
    next = value->replacement;
    value->replacement = last;
  }
  return last;
}

static void follow_replacements(dq_graph *graph) {
  if (!graph->has_replacements) return;
  for (int n = 0; n < graph->node_count; n++)
    for (int i = 0; i < graph->nodes[n]->input_count; i++)
      graph->nodes[n]->inputs[i] = last_replacement(graph->nodes[n]->inputs[i]);
  for (int v = 0; v < graph->value_count; v++) graph->values[v]->replacement = NULL;
  graph->has_replacements = false;
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
      if (output->producer || output->is_input || output->constant) return produced_twice(output, error);
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

// The users of all values stand one after the other in one array of the graph, which is kept while it is large enough.
static dq_status make_users(dq_graph *graph, dq_error *error) {
  int count = 0;
  for (int v = 0; v < graph->value_count; v++) count += graph->values[v]->user_count;
  if (count > graph->user_capacity) {
    if (!(graph->users = DQ_NEW_ARRAY(graph->arena, count, dq_node *)))
      return dq_fail_memory(error, (size_t)count * sizeof(dq_node *));
    graph->user_capacity = count;
  }
  dq_node **next = graph->users;
  for (int v = 0; v < graph->value_count; v++) {
    dq_value *value = graph->values[v];
    value->users = next;
    next += value->user_count;
    value->user_count = 0;
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
    if (!pass) DQ_TRY(make_users(graph, error));
  }
  return DQ_OK;
}

static void count_missing(const dq_graph *graph, int *missing) {
  for (int n = 0; n < graph->node_count; n++)
    for (int i = 0; i < graph->nodes[n]->input_count; i++) {
      const dq_value *input = graph->nodes[n]->inputs[i];
      missing[n] += input && input->producer;
    }
}

// Kahn's algorithm in sweeps: a node that is ready when the sweep reaches it goes next, so an order
// that is valid already stays as it is; a node that becomes ready behind the sweep follows at once.
static int sort_into(const dq_graph *graph, int *missing, dq_node **sorted) {
  int done = 0;
  for (int n = 0; n < graph->node_count; n++) {
    if (missing[n]) continue;
    missing[n] = -1;
    sorted[done++] = graph->nodes[n];
    for (int next = done - 1; next < done; next++)
      for (int o = 0; o < sorted[next]->output_count; o++) {
        const dq_value *output = sorted[next]->outputs[o];
        for (int u = 0; output && u < output->user_count; u++) {
          int user = output->users[u]->index;
          if (--missing[user] == 0 && user < n) {
            missing[user] = -1;
            sorted[done++] = graph->nodes[user];
          }
        }
      }
  }
  return done;
}

dq_status dq_graph_order(const dq_graph *graph, dq_node **order, dq_error *error) {
  int *missing = calloc((size_t)graph->node_count + 1, sizeof *missing);
  if (!missing) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *missing);
  count_missing(graph, missing);
  dq_status status = DQ_OK;
  if (sort_into(graph, missing, order) < graph->node_count) {
    char label[DQ_LABEL_TEXT] = "";
    for (int n = graph->node_count - 1; n >= 0; n--)
      if (missing[n] > 0) dq_node_label(graph->nodes[n], label, sizeof label);
    status = dq_fail(error, DQ_BAD_INPUT, "%s is part of a cycle or depends on one", label);
  }
  free(missing);
  return status;
}

static dq_status sort_nodes(dq_graph *graph, bool keep_order, dq_error *error) {
  dq_node **sorted = calloc((size_t)graph->node_count + 1, sizeof *sorted);
  if (!sorted) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *sorted);
  dq_status status = dq_graph_order(graph, sorted, error);
  for (int i = 0; status == DQ_OK && !keep_order && i < graph->node_count; i++) {
    graph->nodes[i] = sorted[i];
    sorted[i]->index = i;
  }
  free(sorted);
  return status;
}

dq_status dq_graph_index(dq_graph *graph, bool sort, dq_error *error) {
  DQ_TRY(place_waiting(graph, error));
  drop_removed(graph);
  follow_replacements(graph);
  DQ_TRY(find_producers(graph, error));
  DQ_TRY(check_produced(graph, error));
  DQ_TRY(find_users(graph, error));
  return sort_nodes(graph, !sort, error);
}

// Whether a node computes its results from initializers alone, through at most `length` nodes in front of it.
static bool reads_constants(const dq_node *node, int length) {
  for (int i = 0; i < node->input_count; i++) {
    const dq_value *input = node->inputs[i];
    if (!input || input->constant) continue;
    if (!length || !input->producer || !reads_constants(input->producer, length - 1)) return false;
  }
  return true;
}

// A node of constants alone whose results nothing reads.
static bool is_idle(const dq_node *node) {
  enum { LONGEST_CHAIN = 16 };
  if (!reads_constants(node, LONGEST_CHAIN)) return false;
  for (int i = 0; i < node->output_count; i++)
    if (dq_value_is_read(node->outputs[i])) return false;
  return true;
}

// An initializer that callers may replace is part of the interface; files of old versions list every initializer so.
static bool may_be_given(const dq_graph *graph, const dq_value *value) {
  enum { OPTIONAL_INPUTS = 4 }; // the IR version from which on initializers need not be inputs
  return value->is_input && graph->ir_version >= OPTIONAL_INPUTS;
}

static bool is_unread(const dq_graph *graph, const dq_value *value) {
  return value->constant && !dq_value_is_read(value) && !may_be_given(graph, value);
}

static int keep_read(const dq_graph *graph, dq_value **values, int count) {
  int kept = 0;
  for (int i = 0; i < count; i++)
    if (!is_unread(graph, values[i])) values[kept++] = values[i];
  return kept;
}

static bool drop_unread(dq_graph *graph) {
  const int before = graph->initializer_count;
  graph->initializer_count = keep_read(graph, graph->initializers, before);
  graph->input_count = keep_read(graph, graph->inputs, graph->input_count); // old files list initializers as inputs too
  bool dropped = graph->initializer_count < before;
  for (int v = 0; v < graph->value_count && dropped; v++) {
    dq_value *value = graph->values[v];
    if (is_unread(graph, value)) value->constant = NULL, value->is_input = false;
  }
  for (int n = 0; n < graph->node_count; n++)
    if (is_idle(graph->nodes[n])) dq_graph_remove_node(graph, graph->nodes[n]), dropped = true;
  return dropped;
}

dq_status dq_graph_drop_constants(dq_graph *graph, dq_error *error) {
  do DQ_TRY(dq_graph_index(graph, true, error));
  while (drop_unread(graph)); // the nodes between a constant and what was dropped follow
  return DQ_OK;
}
