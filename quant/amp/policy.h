// A policy: categories for operators and nodes that replace those of the operator table, in a file for the option
// --policy of dq-amp:
//   {"schema": "dq-policy", "version": 1, "operators": {"Exp": "follow"}, "nodes": {"head*": "deny"}, "others":
//   "table"}
#ifndef DQ_QUANT_POLICY_H
#define DQ_QUANT_POLICY_H

#include "lib/ops/table/operator.h"

typedef struct dq_policy_rule {
  const char *name;   // name of an operator, or shell pattern on names of nodes
  const char *reason; // for people
  dq_category category;
} dq_policy_rule;

typedef struct dq_policy {
  const char *path;                  // of the file, for messages
  dq_policy_rule *operators, *nodes; // in the order of the file
  int operator_count, node_count;
  bool complete; // "others" is "deny": operators that are not listed stay float32
} dq_policy;

// The rule for a node: the last pattern that matches its name, else the rule for its operator. NULL: there is none.
const dq_policy_rule *dq_policy_find(const dq_policy *policy, const dq_node *node);

// Reads a file. The arena owns the policy. DQ_BAD_INPUT, with the path and where possible the line: the file is not
// JSON, has another schema, an unknown member or category, or no rule; DQ_SYSTEM: it cannot be read.
dq_status dq_policy_load(dq_policy *policy, const char *path, dq_arena *arena, dq_error *error);

#endif
