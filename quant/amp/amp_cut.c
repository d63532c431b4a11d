// Which free nodes compute in float16, so that the fewest bytes are cast.
//
// A value needs one cast when its producer and its readers do not all agree, however many disagree: what a
// value joins is an edge of a hypergraph with the bytes of a cast as its weight, and the cheapest categorization is
// a minimum cut between the nodes that must be float16 and those that must not. Edges that join more than two
// nodes become two vertices with one edge between them (E. L. Lawler, Cutsets and partitions of hypergraphs,
// Networks 3 (1973)), which keeps the cut exact.
#include "lib/base/sizes.h"
#include "lib/graph/min_cut.h"
#include "quant/amp/amp_internal.h"
#include "quant/numeric/sets.h"

enum {
  STAND_IN_ELEMENTS = 65536,    // of a value whose size is not known
  LARGEST_ELEMENTS = 1 << 30,   // what a value counts as at most, so that sums fit
  CAST_BYTES = 4 + 2,           // per element: read in one precision, written in the other
  FIRST_NODE = DQ_CUT_SINK + 1, // vertex of node 0
};

typedef struct cut_job {
  dq_amp_job *amp;
  dq_min_cut *cut;
  int *pins, pin_count; // vertices that the value at hand joins
  int *seen;            // by vertex: the last value that joined it, plus 1
  int *parent;          // by vertex: trees of vertices that values join
  int spare;            // next vertex that no node has
  int64_t joined;       // values that join vertices: a cut has fewer casts than that
} cut_job;

int64_t dq_amp_cast_bytes(const dq_amp_job *job, const dq_value *value) {
  const dq_tensor *tensor = &job->tensors[value->index];
  return CAST_BYTES * (tensor->rank < 0 ? STAND_IN_ELEMENTS : dq_tensor_count(tensor));
}

bool dq_amp_is_half_io(const dq_amp_job *job, const dq_value *value) {
  return job->options->half_io && !value->is_captured;
}

static int vertex_of(const dq_node *node) {
  switch (node->mark) {
  case DQ_AMP_HALF: return DQ_CUT_SOURCE;
  case DQ_AMP_FREE: return FIRST_NODE + node->index;
  default: return DQ_CUT_SINK;
  }
}

static void pin(cut_job *job, const dq_value *value, int vertex) {
  if (job->seen[vertex] == value->index + 1) return;
  job->seen[vertex] = value->index + 1;
  job->pins[job->pin_count++] = vertex;
}

// Everything that has a say in the type of a value.
static void find_pins(cut_job *job, const dq_value *value) {
  const dq_amp_job *amp = job->amp;
  bool half_io = dq_amp_is_half_io(amp, value);
  job->pin_count = 0;
  if (value->producer) pin(job, value, vertex_of(value->producer));
  else pin(job, value, half_io ? DQ_CUT_SOURCE : DQ_CUT_SINK);
  if (dq_value_must_stay(value) && !half_io) pin(job, value, DQ_CUT_SINK);
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *user = value->users[u];
    if ((u && user == value->users[u - 1]) || dq_amp_reads_any(user)) continue; // once, whatever number of inputs it is
    for (int i = 0; i < user->input_count; i++)
      if (user->inputs[i] == value) pin(job, value, dq_amp_input_is_half(amp, user, i) ? vertex_of(user) : DQ_CUT_SINK);
  }
}

// The float32 side holds no tree together: a node that only meets float32 nodes belongs to no float16.
static void join_trees(cut_job *job) {
  int first = -1;
  for (int i = 0; i < job->pin_count; i++) {
    if (job->pins[i] == DQ_CUT_SINK) continue;
    int here = dq_set_of(job->parent, job->pins[i]);
    if (first >= 0) job->parent[here] = first;
    else first = here;
  }
}

static dq_status join(cut_job *job, int64_t weight) {
  if (job->pin_count == 2) return dq_min_cut_edge(job->cut, job->pins[0], job->pins[1], weight, true);
  int in = job->spare++, out = job->spare++;
  DQ_TRY(dq_min_cut_edge(job->cut, in, out, weight, false));
  for (int i = 0; i < job->pin_count; i++) {
    DQ_TRY(dq_min_cut_edge(job->cut, job->pins[i], in, DQ_CUT_NEVER, false));
    DQ_TRY(dq_min_cut_edge(job->cut, out, job->pins[i], DQ_CUT_NEVER, false));
  }
  return DQ_OK;
}

// Bytes first, then the number of casts: weights are bytes * values + 1.
static dq_status join_all(cut_job *job) {
  const dq_amp_job *amp = job->amp;
  for (int v = 0; v < amp->value_count; v++) {
    const dq_value *value = amp->graph->values[v];
    if (!dq_amp_is_variable(amp, value)) continue;
    find_pins(job, value);
    join_trees(job);
    if (job->pin_count < 2) continue;
    int64_t bytes = dq_min_i64(dq_amp_cast_bytes(amp, value), (int64_t)CAST_BYTES * LARGEST_ELEMENTS);
    DQ_TRY(join(job, bytes * amp->value_count + 1));
  }
  return DQ_OK;
}

static bool is_half(cut_job *job, const dq_node *node, const bool *at_source) {
  if (node->mark != DQ_AMP_FREE) return node->mark == DQ_AMP_HALF;
  int vertex = vertex_of(node);
  return at_source[vertex] && dq_set_of(job->parent, vertex) == dq_set_of(job->parent, DQ_CUT_SOURCE);
}

// Whether every input that is computed has the precision of the node.
static bool inputs_agree(const dq_amp_job *amp, const dq_node *node, bool half) {
  for (int i = 0; i < node->input_count; i++)
    if (dq_amp_is_variable(amp, node->inputs[i]) && !dq_amp_reads_any(node) &&
        amp->half[node->inputs[i]->index] != half)
      return false;
  return true;
}

static void settle(cut_job *job, const bool *at_source) {
  dq_amp_job *amp = job->amp;
  dq_graph *graph = amp->graph;
  for (int i = 0; amp->options->half_io && i < graph->input_count; i++)
    amp->half[graph->inputs[i]->index] =
        dq_amp_is_variable(amp, graph->inputs[i]) && dq_amp_is_half_io(amp, graph->inputs[i]);
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    amp->report->nodes[n].half = is_half(job, node, at_source);
    amp->report->halves += amp->report->nodes[n].half;
    for (int i = 0; amp->report->nodes[n].half && i < node->output_count; i++)
      if (dq_amp_is_float(amp, node->outputs[i])) amp->half[node->outputs[i]->index] = true;
  }
  for (int n = 0; n < graph->node_count; n++) {
    dq_node *node = graph->nodes[n];
    dq_amp_node *entry = &amp->report->nodes[n];
    if (node->mark != DQ_AMP_FREE) continue;
    node->mark = entry->half ? DQ_AMP_HALF : DQ_AMP_FULL;
    bool agree = inputs_agree(amp, node, entry->half);
    entry->reason = entry->half ? agree ? "its inputs are float16" : "fewer bytes to cast than in float32"
                    : agree     ? "its inputs are float32"
                                : "fewer bytes to cast than in float16";
  }
}

static bool exists_in_half(const dq_amp_job *amp, const dq_value *value) {
  if (!dq_amp_is_variable(amp, value)) return false;
  for (int u = 0; u < value->user_count; u++) {
    const dq_node *user = value->users[u];
    if ((u && user == value->users[u - 1]) || user->mark != DQ_AMP_HALF) continue;
    for (int i = 0; i < user->input_count; i++)
      if (user->inputs[i] == value && dq_amp_input_is_half(amp, user, i)) return true;
  }
  return amp->half[value->index];
}

static dq_status list_half_values(dq_amp_job *amp) {
  dq_amp_report *report = amp->report;
  report->half_values = DQ_NEW_ARRAY(amp->graph->arena, amp->value_count, const char *);
  if (!report->half_values) return dq_fail_memory(amp->error, 0);
  for (int v = 0; v < amp->value_count; v++)
    if (exists_in_half(amp, amp->graph->values[v]))
      report->half_values[report->half_value_count++] = amp->graph->values[v]->name;
  return DQ_OK;
}

dq_status dq_amp_cut(dq_amp_job *amp) {
  int nodes = amp->graph->node_count, values = amp->value_count, pins = 0;
  int vertices = FIRST_NODE + nodes + 2 * values;
  for (int v = 0; v < values; v++)
    if (pins < amp->graph->values[v]->user_count) pins = amp->graph->values[v]->user_count;
  cut_job job = {.amp = amp,
                 .cut = dq_min_cut_new(amp->arena, vertices),
                 .pins = DQ_NEW_ARRAY(amp->arena, pins + 3, int),
                 .seen = DQ_NEW_ARRAY(amp->arena, vertices, int),
                 .parent = DQ_NEW_ARRAY(amp->arena, vertices, int),
                 .spare = FIRST_NODE + nodes};
  bool *at_source = DQ_NEW_ARRAY(amp->arena, vertices, bool);
  if (!job.cut || !job.pins || !job.seen || !job.parent || !at_source) return dq_fail_memory(amp->error, 0);
  for (int v = 0; v < vertices; v++) job.parent[v] = v;
  int64_t cost;
  if (join_all(&job) != DQ_OK || dq_min_cut_solve(job.cut, at_source, &cost) != DQ_OK)
    return dq_fail_memory(amp->error, 0);
  settle(&job, at_source);
  return list_half_values(amp);
}
