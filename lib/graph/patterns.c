#include "lib/graph/patterns.h"

#include <fnmatch.h>

#include "lib/text/nearest.h"

bool dq_pattern_fits(const char *pattern, const dq_node *node) { return !fnmatch(pattern, dq_node_name(node), 0); }

static bool fits_any(const char *pattern, const dq_graph *graph, dq_nearest *nearest) {
  for (int n = 0; n < graph->node_count; n++) {
    if (dq_pattern_fits(pattern, graph->nodes[n])) return true;
    dq_nearest_offer(nearest, dq_node_name(graph->nodes[n]));
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
