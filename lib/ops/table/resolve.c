// Checks of a node against its row: what the node itself and its constants tell, before any shape is known.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/ops/table/operator.h"

static dq_status check_count(int found, const int *allowed, const char *what, dq_error *error) {
  if (found >= allowed[0] && found <= allowed[1]) return DQ_OK;
  if (allowed[1] == DQ_ANY_NUMBER)
    return dq_fail(error, DQ_BAD_INPUT, "%d %s, expected at least %d", found, what, allowed[0]);
  if (allowed[0] == allowed[1]) return dq_fail(error, DQ_BAD_INPUT, "%d %s, expected %d", found, what, allowed[0]);
  return dq_fail(error, DQ_BAD_INPUT, "%d %s, expected %d to %d", found, what, allowed[0], allowed[1]);
}

static const char *attribute_type_name(int type) {
  static const char *const names[] = {"another type", "float",  "int",  "string", "tensor",
                                      "graph",        "floats", "ints", "strings"};
  return type > 0 && type <= DQ_ATTRIBUTE_STRINGS ? names[type] : names[0];
}

static const dq_attribute_rule *find_rule(const dq_operator *row, const char *name) {
  for (const dq_attribute_rule *rule = row->attributes; rule && rule->name; rule++)
    if (!strcmp(rule->name, name)) return rule;
  return NULL;
}

// One line, however many there are: a file may hold as many as it likes.
static void warn_unknown(const dq_node *node, const dq_operator *row, const char *first, int others,
                         const dq_context *context) {
  char label[DQ_LABEL_TEXT], more[32] = "";
  if (others) snprintf(more, sizeof more, " and %d more", others);
  dq_message(context, DQ_WARNING, "%s: attribute '%s'%s of %s %s not known and ignored",
             dq_node_label(node, label, sizeof label), first, more, row->name, others ? "are" : "is");
}

static dq_status check_attributes(const dq_node *node, const dq_operator *row, const dq_context *context,
                                  dq_error *error) {
  const char *first = NULL;
  int unknown = 0;
  for (int i = 0; i < node->attribute_count; i++) {
    const dq_attribute *attribute = &node->attributes[i];
    const dq_attribute_rule *rule = find_rule(row, attribute->name);
    if (!rule) {
      if (!unknown++) first = attribute->name;
    } else if (rule->type != attribute->type)
      return dq_fail(error, DQ_BAD_INPUT, "attribute '%s' is of type %s, expected %s", attribute->name,
                     attribute_type_name(attribute->type), attribute_type_name(rule->type));
  }
  if (unknown) warn_unknown(node, row, first, unknown - 1, context);
  for (const dq_attribute_rule *rule = row->attributes; rule && rule->name; rule++)
    if (rule->required && !dq_node_attribute(node, rule->name))
      return dq_fail(error, DQ_BAD_INPUT, "attribute '%s' is missing", rule->name);
  return DQ_OK;
}

static dq_status unsupported_operator(const dq_graph *graph, const dq_node *node, dq_error *error) {
  if (!node->domain[0] || !strcmp(node->domain, "ai.onnx")) {
    dq_fail(error, DQ_UNSUPPORTED, "operator %s (opset %" PRId64 ") is not supported", node->op_type,
            dq_graph_opset(graph, ""));
    if (dq_node_has_body(node))
      dq_error_hint(error, "export the network without control flow, or fold it for fixed sizes of inputs, "
                           "as onnxsim does with --overwrite-input-shape");
    return DQ_UNSUPPORTED;
  }
  if (!dq_graph_calls_function(graph, node))
    return dq_fail(error, DQ_UNSUPPORTED, "operator %s of domain '%s' is not supported", node->op_type, node->domain);
  dq_fail(error, DQ_UNSUPPORTED, "%s of domain '%s' is a function of the model, and functions are not run",
          node->op_type, node->domain);
  dq_error_hint(error, "put its nodes in place of the calls, as onnx.inliner.inline_local_functions does in Python");
  return DQ_UNSUPPORTED;
}

// None of those that may be any number can be left out, but for zero points of com.microsoft.
static int required_inputs(const dq_operator *row, const dq_node *node) {
  return row->inputs[1] == DQ_ANY_NUMBER && !row->domain ? node->input_count : row->inputs[0];
}

dq_status dq_operator_fits(const dq_node *node, const dq_operator *row, const dq_context *context, dq_error *error) {
  DQ_TRY(check_count(node->input_count, row->inputs, "inputs", error));
  DQ_TRY(check_count(node->output_count, row->outputs, "outputs", error));
  for (int i = 0; i < required_inputs(row, node); i++)
    if (!node->inputs[i]) return dq_fail(error, DQ_BAD_INPUT, "input %d is left out but required", i);
  if (!node->outputs[0]) return dq_fail(error, DQ_BAD_INPUT, "output 0 is left out but required");
  return check_attributes(node, row, context, error);
}

static dq_status resolve(const dq_graph *graph, const dq_node *node, const dq_context *context, const dq_operator **row,
                         int *version, dq_error *error) {
  *row = dq_operator_find(node->domain, node->op_type);
  if (!*row) return unsupported_operator(graph, node, error);
  int64_t opset = (*row)->domain ? 1 : dq_graph_opset(graph, "");
  *version = dq_operator_version(*row, opset);
  if (!opset)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "the model imports no version of ONNX's operators (opset_import), and %s is one of them",
                   node->op_type);
  if (!*version)
    return dq_fail(error, DQ_UNSUPPORTED,
                   "operator %s is not supported in opset %" PRId64 ", the oldest supported is %d", node->op_type,
                   opset, (*row)->since[0]);
  return dq_operator_fits(node, *row, context, error);
}

dq_status dq_operator_resolve(const dq_graph *graph, const dq_node *node, const dq_context *context,
                              const dq_operator **row, int *version, dq_error *error) {
  return dq_with_label(node, resolve(graph, node, context, row, version, error), error);
}

dq_status dq_op_check(dq_op *op) {
  return op->row->check ? dq_with_label(op->node, op->row->check(op), op->error) : DQ_OK;
}
