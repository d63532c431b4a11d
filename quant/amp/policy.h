// Colours of the user's own for operators and nodes, as dq-amp --policy reads them:
//   {"schema": "dq-policy", "version": 1, "operators": {"Exp": "follow"}, "nodes": {"head*": "deny"}, "others":
//   "table"}
#ifndef DQ_QUANT_POLICY_H
#define DQ_QUANT_POLICY_H

#include "lib/ops/operator.h"

typedef struct dq_policy_rule {
  const char *name;   // an operator's name, or a shell pattern on node names
  const char *reason; // for people
  dq_category category;
} dq_policy_rule;

typedef struct dq_policy {
  const char *path;                  // of the file, for messages
  dq_policy_rule *operators, *nodes; // in the order of the file
  int operator_count, node_count;
  bool complete; // "others": "deny": operators that are not listed stay float32
} dq_policy;

// What the policy says of a node, patterns before operators and the last pattern that fits; NULL: nothing.
const dq_policy_rule *dq_policy_find(const dq_policy *policy, const dq_node *node);

// Reads a file into the arena. DQ_BAD_INPUT names the path, and the line where it can: not JSON, another schema, an
// unknown field or category, nothing in it.
dq_status dq_policy_load(dq_policy *policy, const char *path, dq_arena *arena, dq_error *error);

#endif
