// Policy files of dq-amp: what is read, which rule a node gets, what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "quant/amp/policy.h"

static char path[] = "/tmp/test_policy_XXXXXX";

static dq_status load(dq_policy *policy, const char *fields, dq_arena *arena, dq_error *error) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "{\"schema\": \"dq-policy\", \"version\": 1%s}", fields);
  assert_int_equal(fclose(file), 0);
  return dq_policy_load(policy, path, arena, error);
}

// The rule of a node: patterns before operators, the last that fits; a node without a name has that of its output.
static void rules(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_policy policy;
  dq_error error;
  if (load(&policy,
           ", \"operators\": {\"Conv\": \"allow\", \"Exp\": \"follow\"},"
           " \"nodes\": {\"head*\": \"deny\", \"head/last\": \"follow\", \"turned\": \"deny\"}, \"others\": \"deny\"",
           graph->arena, &error) != DQ_OK)
    fail_msg("%s", error.message);
  assert_true(policy.operator_count == 2 && policy.node_count == 3 && policy.complete);
  static const struct {
    const char *op_type, *name, *output;
    int category; // -1: none
    const char *reason;
  } cases[] = {{"Conv", "stem", "a", DQ_ALLOW, "policy: operator 'Conv'"},
               {"Exp", "stem2", "b", DQ_FOLLOW, "policy: operator 'Exp'"},
               {"Conv", "head/first", "c", DQ_DENY, "policy: nodes 'head*'"},
               {"Conv", "head/last", "d", DQ_FOLLOW, "policy: nodes 'head/last'"},
               {"Conv", "", "turned", DQ_DENY, "policy: nodes 'turned'"},
               {"Conv", "named", "headless", DQ_ALLOW, "policy: operator 'Conv'"},
               {"Relu", "stem3", "e", -1, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_value *output = dq_graph_add_value(graph, cases[i].output);
    const dq_node *node = dq_graph_add_node(graph, 0, cases[i].op_type, cases[i].name, 0, NULL, 1, &output);
    const dq_policy_rule *rule = dq_policy_find(&policy, node);
    assert_int_equal(rule ? (int)rule->category : -1, cases[i].category);
    if (rule) assert_string_equal(rule->reason, cases[i].reason);
  }
  assert_int_equal(load(&policy, ", \"nodes\": {\"a\": \"allow\"}, \"others\": \"table\"", graph->arena, &error),
                   DQ_OK);
  assert_true(policy.operator_count == 0 && policy.node_count == 1 && !policy.complete);
  dq_graph_free(graph);
}

static void refusals(void **state) {
  (void)state;
  static const struct {
    const char *fields, *words;
  } cases[] = {{"", "no operators and no nodes"},
               {", \"operators\": {}", "no operators and no nodes"},
               {", \"operators\": {\"Conv\": \"alow\"}", "expected \"allow\", \"follow\" or \"deny\""},
               {", \"operators\": {\"Conv\": 1}", "expected \"allow\", \"follow\" or \"deny\""},
               {", \"operators\": [\"Conv\"]", "is not an object"},
               {", \"nodes\": {\"a\": \"deny\"}, \"others\": \"allow\"", "expected \"table\" or \"deny\""},
               {", \"node\": {\"a\": \"deny\"}", "unknown field"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_arena *arena = dq_arena_new(0);
    dq_policy policy;
    dq_error error = {0};
    assert_int_equal(load(&policy, cases[i].fields, arena, &error), DQ_BAD_INPUT);
    if (!strstr(error.message, cases[i].words)) fail_msg("'%s', expected '%s'", error.message, cases[i].words);
    dq_arena_free(arena);
  }
}

static int start(void **state) {
  (void)state;
  int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}

static int end(void **state) {
  (void)state;
  return unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rules), cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, start, end);
}
