#include "lib/ops/table/operator_names.h"

#include <fnmatch.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/table/operator.h"
#include "lib/text/nearest.h"

// Operators of ONNX that have no row.
static const char *const others[] = {
#define DQ_OTHER_OPERATOR(name) #name,
#include "lib/ops/table/other_operators.def"
#undef DQ_OTHER_OPERATOR
};
enum { OTHERS = DQ_COUNT(others) };

// Steps that passes make are no operators of files.
static bool is_in_files(const dq_operator *row) { return !row->domain || strcmp(row->domain, "dq"); }

typedef struct search {
  dq_operator_match match;
  dq_nearest nearest;
  bool found;
} search;

static void offer(search *s, const char *name) {
  const char *wanted = s->nearest.wanted;
  s->found = s->found || (s->match == DQ_MATCH_PATTERN ? !fnmatch(wanted, name, 0) : !strcmp(wanted, name));
  dq_nearest_offer(&s->nearest, name);
}

bool dq_operator_is_known(const char *name, dq_operator_match match, const dq_graph *graph, const char **nearest) {
  search s = {match, dq_nearest_begin(name), false};
  const dq_operator *row;
  for (int n = 0; !s.found && n < graph->node_count; n++) offer(&s, graph->nodes[n]->op_type);
  for (int i = 0; !s.found && (row = dq_operator_at(i)); i++)
    if (is_in_files(row)) offer(&s, row->name);
  for (int i = 0; !s.found && i < OTHERS; i++) offer(&s, others[i]);
  *nearest = s.nearest.name;
  return s.found;
}

dq_status dq_operators_check(const char *option, const char *const *names, int count, dq_operator_match match,
                             const dq_graph *graph, dq_error *error) {
  for (int i = 0; i < count; i++) {
    const char *nearest;
    if (dq_operator_is_known(names[i], match, graph, &nearest)) continue;
    dq_fail(error, DQ_USAGE, "option '--%s': no operator is called '%.200s'", option, names[i]);
    if (nearest) dq_error_hint(error, "did you mean '%s'?", nearest);
    return DQ_USAGE;
  }
  return DQ_OK;
}
