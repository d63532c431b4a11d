// What opset 28 brought. Source: the ONNX operator changelog.
#include "lib/document/lower_opset.h"

#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/schedule/infer.h"

static bool is_not_float32(int type) { return type != DQ_F32; }
static bool is_signed(int type) { return type != DQ_U8 && type != DQ_U16 && type != DQ_U32 && type != DQ_U64; }
static bool is_bfloat16(int type) { return type == DQ_BF16; }
static bool is_6_bits(int type) { return type == DQ_F6E2M3 || type == DQ_F6E3M2; }

// The types of input 0 (of OneHot: 2) that version 28 of an operator takes and version 27 does not.
static const struct {
  const char *op_type;
  bool (*is_new)(int type);
  int input;
} grown[] = {{"BitShift", is_signed, 0},          {"Cast", is_6_bits, 0},
             {"Celu", is_not_float32, 0},         {"Compress", is_bfloat16, 0},
             {"DequantizeLinear", is_6_bits, 0},  {"Einsum", is_bfloat16, 0},
             {"OneHot", is_bfloat16, 2},          {"QuantizeLinear", is_6_bits, 2},
             {"ReverseSequence", is_bfloat16, 0}, {"Unique", is_bfloat16, 0}};

static bool type_needs_newer(const dq_graph *graph, const dq_node *node, const dq_tensor *tensors) {
  for (int i = 0; i < DQ_COUNT(grown); i++) {
    if (strcmp(node->op_type, grown[i].op_type)) continue;
    const dq_value *input = dq_node_input(node, grown[i].input);
    int type = !input ? 0 : input->constant ? input->constant->type : input->type;
    if (input && !type && input->index < graph->value_count) type = tensors[input->index].type;
    return input && grown[i].is_new(type);
  }
  return false;
}

static bool needs_newer(const dq_graph *graph, const dq_node *node, const dq_tensor *tensors) {
  if (dq_node_has_body(node)) return true;
  if (node->domain[0]) return false;
  if (dq_node_is(node, "SwiGLU") || (dq_node_is(node, "SpaceToDepth") && dq_node_attribute(node, "mode"))) return true;
  return type_needs_newer(graph, node, tensors) || is_6_bits((int)dq_node_int(node, "to", 0)) ||
         is_6_bits((int)dq_node_int(node, "output_dtype", 0));
}

static const dq_node *find_need(const dq_graph *graph, const dq_tensor *tensors) {
  for (int n = 0; n < graph->node_count; n++)
    if (!graph->nodes[n]->removed && needs_newer(graph, graph->nodes[n], tensors)) return graph->nodes[n];
  return NULL;
}

static void warn_of_need(const dq_graph *graph, const dq_node *node, const dq_context *context) {
  char label[DQ_LABEL_TEXT];
  dq_message(context, DQ_WARNING,
             "the model stays at opset %" PRId64 ", which ONNX Runtime 1.32 does not load: %s needs it",
             dq_graph_opset(graph, ""), node ? dq_node_label(node, label, sizeof label) : "a function of the model");
}

static dq_status lower(dq_graph *graph, const dq_tensor *tensors, const dq_context *context, dq_error *error) {
  const dq_node *need = find_need(graph, tensors);
  if (need || graph->function_count) {
    warn_of_need(graph, need, context);
    return DQ_OK;
  }
  dq_message(context, DQ_NOTE, "the opset is %d in place of %" PRId64 ", which ONNX Runtime 1.32 does not load",
             DQ_OPSET_LOADED, dq_graph_opset(graph, ""));
  return dq_graph_set_opset(graph, "", DQ_OPSET_LOADED, error);
}

dq_status dq_lower_opset(dq_graph *graph, const dq_context *context, dq_error *error) {
  if (dq_graph_opset(graph, "") <= DQ_OPSET_LOADED) return DQ_OK;
  dq_arena *arena = dq_context_arena(context);
  if (!arena) return dq_fail_memory(error, 0);
  dq_tensor *tensors = NULL;
  dq_error ignored = {0}; // a type that is not known is taken for one that needs the newer opset
  dq_context silent = context ? *context : (dq_context){0};
  silent.message = NULL;
  dq_infer(graph, NULL, DQ_INFER_BROKEN, &silent, arena, &tensors, &ignored);
  dq_status status = tensors ? lower(graph, tensors, context, error) : dq_fail_memory(error, 0);
  dq_arena_free(arena);
  return status;
}
