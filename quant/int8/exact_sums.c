// Additions of quantized values that are not rounded (quant/numeric/common_scale.h).
#include "quant/numeric/common_scale.h"
#include "quant/int8/stages.h"

static int root_of(const dq_int8_job *job, const dq_value *value) { return job->choices[value->index].shares; }

static bool has_own_scale(const dq_int8_job *job, int root) {
  const dq_value_choice *choice = &job->choices[root];
  return choice->quantized && !choice->constant && choice->range.low < choice->range.high;
}

// Shapes that depend on elements are not known, and may differ.
static bool are_alike(const dq_tensor *a, const dq_tensor *b) { return a->rank >= 0 && dq_tensor_same_shape(a, b); }

// A quantized addition of two values of equal shapes; `link` has the values whose parameters hold.
static bool find_link(const dq_int8_job *job, const dq_node *node, dq_sum_link *link) {
  if (!node->mark || !(dq_node_flags(node) & DQ_OP_ADDS)) return false;
  *link = (dq_sum_link){root_of(job, node->inputs[0]), root_of(job, node->inputs[1]), root_of(job, node->outputs[0])};
  return link->left != link->right && link->sum != link->left && link->sum != link->right &&
         has_own_scale(job, link->left) && has_own_scale(job, link->right) && has_own_scale(job, link->sum) &&
         are_alike(&job->tensors[node->inputs[0]->index], &job->tensors[node->inputs[1]->index]);
}

// The values whose parameters hold for additions.
typedef struct summed_roots {
  int *roots; // [count]
  int count;
  int *place; // by value: behind its place in `roots`; 0: it has none
} summed_roots;

// The place of a value, which is added when it is new.
static int place_of(summed_roots *of, int root) {
  if (!of->place[root]) {
    of->roots[of->count] = root;
    of->place[root] = ++of->count;
  }
  return of->place[root] - 1;
}

dq_status dq_int8_join_sums(dq_int8_job *job, const dq_calibration *calibration) {
  const dq_graph *graph = job->graph;
  summed_roots of = {.roots = DQ_NEW_ARRAY(job->arena, job->value_count, int),
                     .place = DQ_NEW_ARRAY(job->arena, job->value_count, int)};
  int link_count = 0;
  dq_sum_link *links = DQ_NEW_ARRAY(job->arena, graph->node_count, dq_sum_link);
  if (!of.roots || !of.place || !links) return dq_fail_memory(job->error, 0);
  for (int n = 0; n < graph->node_count; n++) {
    dq_sum_link *link = &links[link_count];
    if (!find_link(job, graph->nodes[n], link)) continue;
    link->left = place_of(&of, link->left);
    link->right = place_of(&of, link->right);
    link->sum = place_of(&of, link->sum);
    link_count++;
  }
  if (!link_count) return DQ_OK;
  dq_summed_value *values = DQ_NEW_ARRAY(job->arena, of.count, dq_summed_value);
  if (!values) return dq_fail_memory(job->error, 0);
  for (int v = 0; v < of.count; v++) {
    const dq_value_choice *choice = &job->choices[of.roots[v]];
    values[v] = (dq_summed_value){&calibration->histograms[choice->slot], choice->range};
  }
  DQ_TRY(dq_common_scales(values, of.count, links, link_count, job->arena, job->error));
  for (int v = 0; v < of.count; v++) {
    dq_value_choice *choice = &job->choices[of.roots[v]];
    choice->searched =
        choice->searched && choice->range.low == values[v].range.low && choice->range.high == values[v].range.high;
    choice->range = values[v].range;
    choice->clipped = dq_histogram_clipped(values[v].histogram, choice->range);
  }
  return DQ_OK;
}

int dq_int8_exact_sums(const dq_int8_job *job) {
  int count = 0;
  for (int n = 0; n < job->graph->node_count; n++) {
    dq_sum_link link;
    if (!find_link(job, job->graph->nodes[n], &link)) continue;
    float scale = job->choices[link.sum].parameters.scale;
    count += scale == job->choices[link.left].parameters.scale && scale == job->choices[link.right].parameters.scale;
  }
  return count;
}
