#include "lib/train/late_sums.h"

#include <string.h>

#include "lib/ops/common/picture_sums.h"

// Sums are sent when there are SENT bytes of them, or a fifteenth of all. Sums with more numbers than MOST are
// exchanged at once, as a second place for them would take much memory.
enum { SENT = 1 << 17, EXCHANGES = DQ_MOST_EXCHANGES, MOST = 1 << 22, MOST_OF_ALL = 1 << 28 };

typedef struct late {
  dq_training_graph *made;
  dq_tensor *tensors;
  const dq_context *context;
  dq_arena *arena;
  dq_error *error;
  dq_node **nodes; // [count]
  int64_t *rows, *types, *results, *counts, *shapes;
  dq_value **sums, **blocks, **sent; // [count], [count], [2 * exchanges]
  size_t *bytes;                     // [count]: of a block, the same in all processes
  int count, exchanges, shape_count;
  int64_t numbers; // of all sums, at most MOST_OF_ALL
} late;

// Marks, by value, whether a node that computes pictures depends on it.
static void find_needed(const dq_graph *graph, const bool *pictures, bool *needed) {
  for (int n = graph->node_count - 1; n >= 0; n--) {
    const dq_node *node = graph->nodes[n];
    bool early = false;
    for (int i = 0; i < node->input_count; i++) early = early || (node->inputs[i] && pictures[node->inputs[i]->index]);
    for (int i = 0; i < node->output_count; i++) early = early || (node->outputs[i] && needed[node->outputs[i]->index]);
    for (int i = 0; early && i < node->input_count; i++)
      if (node->inputs[i]) needed[node->inputs[i]->index] = true;
  }
}

static bool is_late(const late *l, const dq_node *node, const bool *needed) {
  if (node->output_count != 1 || !dq_node_int(node, "processes", 0)) return false;
  const dq_value *sum = node->outputs[0];
  const dq_tensor *tensor = &l->tensors[sum->index];
  const int64_t numbers = dq_tensor_count(tensor);
  return !needed[sum->index] && tensor->rank < DQ_MAX_RANK && numbers <= MOST && l->numbers + numbers <= MOST_OF_ALL;
}

static dq_status allocate(late *l, dq_error *error) {
  const int most = l->made->graph->node_count;
  l->nodes = DQ_NEW_ARRAY(l->arena, most, dq_node *);
  l->sums = DQ_NEW_ARRAY(l->arena, most, dq_value *);
  l->blocks = DQ_NEW_ARRAY(l->arena, most, dq_value *);
  l->sent = DQ_NEW_ARRAY(l->arena, 2 * EXCHANGES, dq_value *);
  l->counts = DQ_NEW_ARRAY(l->arena, EXCHANGES, int64_t);
  l->rows = DQ_NEW_ARRAY(l->arena, most, int64_t);
  l->types = DQ_NEW_ARRAY(l->arena, most, int64_t);
  l->results = DQ_NEW_ARRAY(l->arena, most, int64_t);
  l->shapes = DQ_NEW_ARRAY(l->arena, most * (1 + DQ_MAX_RANK), int64_t);
  l->bytes = DQ_NEW_ARRAY(l->arena, most, size_t);
  const bool done = l->nodes && l->sums && l->blocks && l->sent && l->counts && l->rows && l->types && l->results &&
                    l->shapes && l->bytes;
  return done ? DQ_OK : dq_fail_memory(error, 0);
}

// The node gives its blocks; the value of the sum waits for another producer.
static dq_status leave_blocks(late *l, dq_node *node) {
  dq_graph *graph = l->made->graph;
  dq_op op;
  dq_value *sum = node->outputs[0];
  dq_tensor *tensor = &l->tensors[sum->index];
  const dq_tensor whole = *tensor;
  const int at = l->count++;
  if (!dq_node_set_int(graph, node, "processes", DQ_BLOCKS_OF_PROCESSES)) return dq_fail_memory(l->error, 0);
  DQ_TRY(dq_op_bind(&op, graph, node, l->tensors, l->context, l->arena, l->error));
  DQ_TRY(dq_op_infer(&op));
  l->nodes[at] = node, l->sums[at] = sum;
  l->rows[at] = l->tensors[node->inputs[0]->index].dims[0];
  l->types[at] = tensor->type, l->results[at] = whole.type;
  l->bytes[at] = (size_t)dq_tensor_count(&whole) * dq_dtype_size(tensor->type);
  l->numbers += dq_tensor_count(&whole);
  l->shapes[l->shape_count++] = whole.rank;
  for (int i = 0; i < whole.rank; i++) l->shapes[l->shape_count++] = whole.dims[i];
  *tensor = whole;
  l->blocks[at] = node->outputs[0] = dq_graph_fresh_value(graph, sum->name);
  return l->blocks[at] ? DQ_OK : dq_fail_memory(l->error, 0);
}

// A node of "dq" behind node `at` - 1.
static dq_node *add(const late *l, int at, const char *op_type, int inputs, dq_value *const *from, int outputs,
                    dq_value *const *to) {
  const char *name = dq_graph_fresh_name(l->made->graph, "sums");
  dq_node *node = name ? dq_graph_add_node(l->made->graph, at, op_type, name, inputs, from, outputs, to) : NULL;
  if (node) node->domain = "dq";
  return node;
}

static bool set(const late *l, dq_node *node, const char *name, const int64_t *values, int count) {
  return node && dq_node_set_ints(l->made->graph, node, name, values, count);
}

// Sends the sums from `first` to `end` - 1 behind the last of their nodes.
static dq_status start(late *l, int first, int end) {
  dq_graph *graph = l->made->graph;
  int at = 0;
  while (graph->nodes[at] != l->nodes[end - 1]) at++;
  dq_value **sent = l->sent + 2 * l->exchanges;
  for (int i = 0; i < 2; i++)
    if (!(sent[i] = dq_graph_fresh_value(graph, "sums"))) return dq_fail_memory(l->error, 0);
  dq_node *node = add(l, at + 1, "StartSums", end - first, l->blocks + first, 2, sent);
  l->counts[l->exchanges++] = end - first;
  return set(l, node, "rows", l->rows + first, end - first) ? DQ_OK : dq_fail_memory(l->error, 0);
}

static dq_status start_all(late *l) {
  size_t all = 0, waiting = 0;
  int first = 0;
  for (int i = 0; i < l->count; i++) all += l->bytes[i];
  for (int i = 0; i < l->count; i++) {
    waiting += l->bytes[i];
    if (i < l->count - 1 && (waiting < SENT || waiting < all / (EXCHANGES - 1))) continue;
    DQ_TRY(start(l, first, i + 1));
    first = i + 1, waiting = 0;
  }
  return DQ_OK;
}

static dq_status finish(const late *l) {
  dq_node *node = add(l, l->made->graph->node_count, "FinishSums", 2 * l->exchanges, l->sent, l->count, l->sums);
  const bool done = set(l, node, "counts", l->counts, l->exchanges) && set(l, node, "rows", l->rows, l->count) &&
                    set(l, node, "types", l->types, l->count) && set(l, node, "results", l->results, l->count) &&
                    set(l, node, "shapes", l->shapes, l->shape_count);
  return done ? DQ_OK : dq_fail_memory(l->error, 0);
}

static dq_status move_sums(late *l, const bool *pictures) {
  dq_graph *graph = l->made->graph;
  bool *needed = DQ_NEW_ARRAY(l->arena, graph->value_count, bool);
  DQ_TRY(allocate(l, l->error));
  if (!needed) return dq_fail_memory(l->error, 0);
  find_needed(graph, pictures, needed);
  const int nodes = graph->node_count;
  for (int n = 0; n < nodes; n++)
    if (is_late(l, graph->nodes[n], needed)) DQ_TRY(leave_blocks(l, graph->nodes[n]));
  if (!l->count) return DQ_OK;
  DQ_TRY(start_all(l));
  return finish(l);
}

dq_status dq_add_sums_late(dq_training_graph *made, dq_tensor *tensors, const bool *pictures, const dq_context *context,
                           dq_error *error) {
  late l = {.made = made, .tensors = tensors, .context = context, .arena = dq_context_arena(context), .error = error};
  if (!l.arena) return dq_fail_memory(error, 0);
  dq_status status = move_sums(&l, pictures);
  dq_arena_free(l.arena);
  return status == DQ_OK ? dq_graph_index(made->graph, true, error) : status;
}
