#include "lib/schedule/infer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/schedule/open_sizes.h"
#include "lib/text/nearest.h"

enum { EVALUATED_ELEMENTS = 65536 }; // shapes, scales and indices are small; weights are not needed

// One size at `text`: a number from 1, or N, * or ? for what the model has (-1). NULL: neither.
static const char *read_size(const char *text, int64_t *size) {
  *size = -1;
  if (*text && strchr("N*?", *text)) return text + 1;
  char *end;
  errno = 0;
  long long number = strtoll(text, &end, 10);
  *size = number;
  return end == text || errno || number < 1 ? NULL : end;
}

dq_status dq_input_shape_parse(const char *text, dq_arena *arena, dq_input_shape *shape, dq_error *error) {
  const char *equals = strrchr(text, '='), *at = equals ? equals + 1 : text;
  *shape = (dq_input_shape){.name = dq_arena_strndup(arena, text, equals ? (size_t)(equals - text) : 0), .last = true};
  if (!shape->name) return dq_fail_memory(error, strlen(text));
  for (;; at++) {
    int64_t size;
    at = shape->rank < DQ_MAX_RANK ? read_size(at, &size) : NULL;
    if (!at || (*at && *at != ',' && *at != 'x')) {
      dq_fail(error, DQ_USAGE, "shape '%s' is not a list of sizes such as 1,3,224,224", text);
      dq_error_hint(error, "N, * or ? keep the size that the model has: images=N,3,224,224; images=224,224 gives the "
                           "last two sizes only");
      return DQ_USAGE;
    }
    shape->dims[shape->rank++] = size;
    if (!*at) return DQ_OK;
  }
}

// ---- Inputs ----

int dq_input_count(const dq_graph *graph) {
  int count = 0;
  for (int i = 0; i < graph->input_count; i++) count += !graph->inputs[i]->constant;
  return count;
}

static bool is_for(const dq_input_shape *given, const dq_graph *graph, const dq_value *input) {
  return !strcmp(given->name, input->name) || (!given->name[0] && dq_input_count(graph) == 1);
}

// The first shape that the request has for the input, from position *i on, which moves past it; NULL: none.
static const dq_input_shape *next_given(const dq_shape_request *request, const dq_graph *graph, const dq_value *input,
                                        int *i) {
  while (request && *i < request->input_count) {
    const dq_input_shape *given = &request->inputs[(*i)++];
    if (is_for(given, graph, input)) return given;
  }
  return NULL;
}

static int64_t size_at(const dq_input_shape *given, int rank, int dimension) {
  int at = dimension - (rank - given->rank);
  return at < 0 ? -1 : given->dims[at];
}

int64_t dq_input_given(const dq_graph *graph, const dq_value *input, const dq_shape_request *request, int dimension) {
  int i = 0;
  for (const dq_input_shape *given; (given = next_given(request, graph, input, &i));) {
    int64_t size = size_at(given, input->rank < 0 ? given->rank : input->rank, dimension);
    if (size >= 0) return size;
  }
  return -1;
}

// Whether the graph has the input; its inputs are offered as what may have been meant.
static bool has_input(const dq_graph *graph, const char *name, dq_nearest *nearest) {
  bool known = !name[0] && dq_input_count(graph) == 1;
  for (int i = 0; i < graph->input_count; i++) {
    if (graph->inputs[i]->constant) continue;
    known |= !strcmp(name, graph->inputs[i]->name);
    dq_nearest_offer(nearest, graph->inputs[i]->name);
  }
  return known;
}

dq_status dq_input_names(const dq_graph *const *graphs, int count, const dq_shape_request *request, dq_error *error) {
  for (int r = 0; request && r < request->input_count; r++) {
    const char *name = request->inputs[r].name;
    dq_nearest nearest = dq_nearest_begin(name);
    bool known = false;
    for (int g = 0; g < count; g++) known |= has_input(graphs[g], name, &nearest);
    if (known) continue;
    if (!name[0])
      return dq_fail(error, DQ_USAGE, "shape: the model has %d inputs, name one as in NAME=N,3,224,224",
                     dq_input_count(graphs[0]));
    dq_fail(error, DQ_USAGE, "shape for '%s': the model has no such input", name);
    if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
    else dq_error_hint(error, "dq-report lists the inputs of a model");
    return DQ_USAGE;
  }
  return DQ_OK;
}

dq_status dq_input_shapes_read(dq_shape_request *request, const char *const *texts, int count,
                               const dq_graph *const *graphs, int graph_count, dq_arena *arena, dq_error *error) {
  dq_input_shape *shapes = DQ_NEW_ARRAY(arena, count, dq_input_shape);
  if (!shapes) return dq_fail_memory(error, (size_t)count * sizeof *shapes);
  for (int i = 0; i < count; i++) DQ_TRY(dq_input_shape_parse(texts[i], arena, &shapes[i], error));
  request->inputs = shapes, request->input_count = count;
  return graph_count ? dq_input_names(graphs, graph_count, request, error) : DQ_OK;
}

static dq_status unknown_dimension(const dq_value *input, int i, dq_error *error) {
  const char *symbol = input->dims[i].symbol;
  return dq_fail(error, DQ_USAGE, "input '%s': dimension %d%s%s%s is not known", input->name, i, symbol ? " ('" : "",
                 symbol ? symbol : "", symbol ? "')" : "");
}

static dq_status check_given(const dq_value *input, const dq_input_shape *given, dq_error *error) {
  int rank = input->rank;
  if (rank < 0) return DQ_OK;
  if (given->rank > rank || (given->rank < rank && !given->last))
    return dq_fail(error, DQ_BAD_INPUT, "input '%s': the shape given has %d dimensions, expected %d", input->name,
                   given->rank, rank);
  for (int i = 1; i < rank; i++) { // a fixed first dimension may be changed: networks run at any batch
    int64_t declared = input->dims[i].size, size = size_at(given, rank, i);
    if (declared >= 0 && size >= 0 && declared != size)
      return dq_fail(error, DQ_BAD_INPUT, "input '%s': dimension %d is %" PRId64 ", given is %" PRId64, input->name, i,
                     declared, size);
  }
  return DQ_OK;
}

// Whether the request frees the input from the batch that the graph declares for it.
static bool has_any_batch(const dq_graph *graph, const dq_value *input, const dq_shape_request *request) {
  int i = 0;
  for (const dq_input_shape *given; (given = next_given(request, graph, input, &i));)
    if (given->any_batch) return true;
  return false;
}

// What dimension `i` has: as given, as declared, as remembered, and the batch that the request says; -1: not known.
static int64_t dimension_of(const dq_graph *graph, const dq_value *input, const dq_shape_request *request, int i) {
  int64_t size = dq_input_given(graph, input, request, i);
  bool is_free = i == 0 && has_any_batch(graph, input, request);
  if (size < 0 && input->rank >= 0 && !is_free) size = input->dims[i].size;
  if (size < 0 && i == 0) return request && request->batch ? request->batch : 1;
  if (size < 0 && input->usual && input->usual[i] > 0) size = input->usual[i];
  return size;
}

dq_status dq_input_tensor(const dq_graph *graph, const dq_value *input, const dq_shape_request *request,
                          dq_tensor *tensor, dq_error *error) {
  int rank = input->rank, at = 0;
  if (!input->type) return dq_fail(error, DQ_UNSUPPORTED, "input '%s' is not a tensor or has no type", input->name);
  for (const dq_input_shape *given; (given = next_given(request, graph, input, &at));) {
    DQ_TRY(check_given(input, given, error));
    if (rank < 0) rank = given->rank;
  }
  if (rank < 0) {
    dq_fail(error, DQ_USAGE, "input '%s' has no shape", input->name);
    dq_error_hint(error, "give all its sizes, as for a picture with --shape %s=1,3,224,224", input->name);
    return DQ_USAGE;
  }
  if (rank > DQ_MAX_RANK)
    return dq_fail(error, DQ_UNSUPPORTED, "input '%s' has %d dimensions, at most %d are supported", input->name, rank,
                   DQ_MAX_RANK);
  int64_t dims[DQ_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    dims[i] = dimension_of(graph, input, request, i);
    if (dims[i] < 0 && input->rank < 0)
      return dq_fail(error, DQ_USAGE, "input '%s' has no shape: dimension %d must be given", input->name, i);
    if (dims[i] < 0) return unknown_dimension(input, i, error);
  }
  return dq_tensor_shape(tensor, input->type, rank, dims, error);
}

dq_status dq_op_connect(dq_op *op, dq_tensor *tensors, dq_arena *arena) {
  const dq_node *node = op->node;
  op->input_count = node->input_count;
  op->output_count = node->output_count;
  op->inputs = DQ_NEW_ARRAY(arena, node->input_count, const dq_tensor *);
  op->outputs = DQ_NEW_ARRAY(arena, node->output_count, dq_tensor *);
  if (!op->inputs || !op->outputs) return dq_fail_memory(op->error, 0);
  for (int i = 0; i < node->input_count; i++) op->inputs[i] = node->inputs[i] ? &tensors[node->inputs[i]->index] : NULL;
  for (int i = 0; i < node->output_count; i++)
    op->outputs[i] = node->outputs[i] ? &tensors[node->outputs[i]->index] : NULL;
  return DQ_OK;
}

dq_status dq_op_bind(dq_op *op, const dq_graph *graph, const dq_node *node, dq_tensor *tensors,
                     const dq_context *context, dq_arena *arena, dq_error *error) {
  *op = (dq_op){.context = context, .node = node, .error = error};
  DQ_TRY(dq_operator_resolve(graph, node, context, &op->row, &op->version, error));
  return dq_op_connect(op, tensors, arena);
}

static bool inputs_have_shapes(const dq_op *op) {
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->rank < 0) return false;
  return true;
}

static bool can_evaluate(const dq_op *op) {
  if (op->row->flags & DQ_OP_RANDOM) return false;
  for (int i = 0; i < op->input_count; i++)
    if (op->inputs[i] && !op->inputs[i]->data && !(op->row->flags & DQ_OP_SHAPE_ONLY)) return false;
  for (int i = 0; i < op->output_count; i++) {
    const dq_tensor *output = op->outputs[i];
    if (output &&
        (output->rank < 0 || dq_tensor_count(output) > EVALUATED_ELEMENTS || !dq_dtype_computable(output->type)))
      return false;
  }
  return true;
}

static dq_status evaluate(dq_op *op, dq_arena *arena) {
  for (int i = 0; i < op->output_count; i++) {
    dq_tensor *output = op->outputs[i];
    if (output && !(output->data = dq_arena_alloc(arena, dq_tensor_bytes(output))))
      return dq_fail_memory(op->error, dq_tensor_bytes(output));
  }
  return dq_op_run(op);
}

// `arena` owns elements, `passing` what is needed no longer.
static dq_status infer_node(const dq_graph *graph, const dq_node *node, dq_tensor *tensors, const dq_context *context,
                            dq_arena *arena, dq_arena *passing, dq_error *error) {
  dq_op op;
  DQ_TRY(dq_op_bind(&op, graph, node, tensors, context, passing, error));
  if (!inputs_have_shapes(&op)) return DQ_OK; // outputs stay unknown
  DQ_TRY(dq_op_infer(&op));
  return can_evaluate(&op) ? evaluate(&op, arena) : DQ_OK;
}

// Input shapes, which dq_infer_at needs before anything else.
static dq_status infer_input(const dq_graph *graph, const dq_value *input, const dq_shape_request *request,
                             dq_tolerance tolerance, dq_tensor *tensor, dq_error *error) {
  dq_error local = {0};
  dq_status status = dq_input_tensor(graph, input, request, tensor, &local);
  if (status == DQ_OK) return DQ_OK;
  if (tolerance >= DQ_INFER_PARTIAL && (status == DQ_UNSUPPORTED || input->rank < 0)) {
    *tensor = (dq_tensor){.rank = -1};
    return DQ_OK;
  }
  if (error) *error = local;
  return status;
}

// The shape that the file declares, where it leaves nothing open; false: it does not tell.
static bool use_declared(const dq_value *value, dq_tensor *tensor) {
  int64_t dims[DQ_MAX_RANK];
  *tensor = (dq_tensor){.rank = -1};
  if (!value->type || value->rank < 0 || value->rank > DQ_MAX_RANK) return false;
  for (int i = 0; i < value->rank; i++)
    if ((dims[i] = value->dims[i].size) < 0) return false;
  if (dq_tensor_shape(tensor, value->type, value->rank, dims, NULL) == DQ_OK) return true;
  *tensor = (dq_tensor){.rank = -1};
  return false;
}

// Outputs that inference could not tell, as the file declares them. Returns whether any was.
static bool use_declared_outputs(const dq_node *node, bool failed, dq_tensor *tensors) {
  bool any = false;
  for (int i = 0; i < node->output_count; i++) {
    const dq_value *output = node->outputs[i];
    if (output && (failed || tensors[output->index].rank < 0)) any |= use_declared(output, &tensors[output->index]);
  }
  return any;
}

static dq_status infer_nodes(const dq_graph *graph, dq_tolerance tolerance, const dq_context *context, dq_arena *arena,
                             dq_arena *passing, dq_tensor *tensors, dq_error *error) {
  dq_node **order = DQ_NEW_ARRAY(passing, graph->node_count, dq_node *);
  if (!order) return dq_fail_memory(error, (size_t)graph->node_count * sizeof *order);
  DQ_TRY(dq_graph_order(graph, order, error));
  bool declared = false; // some shapes are what the file declares
  for (int n = 0; n < graph->node_count; n++) {
    dq_error local = {0};
    dq_status status = infer_node(graph, order[n], tensors, context, arena, passing, &local);
    bool tolerated = status == DQ_UNSUPPORTED ? tolerance != DQ_INFER_ALL
                     : status == DQ_BAD_INPUT ? tolerance == DQ_INFER_BROKEN || declared
                                              : status == DQ_OK;
    if (!tolerated) {
      if (error) *error = local;
      return status;
    }
    if (tolerance >= DQ_INFER_PARTIAL) declared |= use_declared_outputs(order[n], status != DQ_OK, tensors);
  }
  return DQ_OK;
}

dq_status dq_infer_at(const dq_graph *graph, const dq_shape_request *request, dq_tolerance tolerance,
                      const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error) {
  dq_tensor *all = *tensors = DQ_NEW_ARRAY(arena, graph->value_count, dq_tensor);
  if (!all) return dq_fail_memory(error, (size_t)graph->value_count * sizeof *all);
  for (int i = 0; i < graph->value_count; i++) {
    const dq_value *value = graph->values[i];
    all[i].rank = -1;
    if (value->constant) all[i] = *value->constant;
    else if (value->is_input) DQ_TRY(infer_input(graph, value, request, tolerance, &all[i], error));
  }
  dq_arena *passing = dq_arena_beside(arena);
  dq_status status =
      passing ? infer_nodes(graph, tolerance, context, arena, passing, all, error) : dq_fail_memory(error, 0);
  dq_arena_free(passing);
  return status;
}
