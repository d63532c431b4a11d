#include "lib/graph/patterns.h"

#include <fnmatch.h>

#include "lib/text/nearest.h"

static const char *name_of(const dq_node *node) {
  return node->name[0] || !node->output_count || !node->outputs[0] ? node->name : node->outputs[0]->name;
}

bool dq_pattern_fits(const char *pattern, const dq_node *node) { return !fnmatch(pattern, name_of(node), 0); }

static bool fits_any(const char *pattern, const dq_graph *graph, dq_nearest *nearest) {
  for (int n = 0; n < graph->node_count; n++) {
    if (dq_pattern_fits(pattern, graph->nodes[n])) return true;
    dq_nearest_offer(nearest, name_of(graph->nodes[n]));
  }
  return false;
}

dq_status dq_patterns_check(const char *option, const char *const *patterns, int count, const dq_graph *const *graphs,
                            int graph_count, dq_error *error) {
  for (int i = 0; i < count; i++) {
    dq_nearest nearest = dq_nearest_begin(patterns[i] ? patterns[i] : "");
    bool fits = !patterns[i];
    for (int g = 0; !fits && g < graph_count; g++) fits = fits_any(patterns[i], graphs[g], &nearest);
    if (fits) continue;
    dq_fail(error, DQ_USAGE, "option '--%s': no node is called '%.200s'", option, patterns[i]);
    if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
    else dq_error_hint(error, "dq-report lists the nodes of a model");
    return DQ_USAGE;
  }
  return DQ_OK;
}
