// One step in C: its constants, its function and its call.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"

// ---- Constants ----

static void print_element(FILE *to, const dq_emit_array *array, int64_t i) {
  const dq_tensor elements = {.type = array->type, .data = (void *)(uintptr_t)array->data};
  char text[48];
  if (array->type == DQ_F32) fputs(dq_emit_literal((float)dq_tensor_get(&elements, i), text), to);
  else if (array->type == DQ_I64 && dq_tensor_get_i64(&elements, i) == INT64_MIN)
    fputs("(-9223372036854775807 - 1)", to);
  else if (array->type == DQ_I32 && dq_tensor_get_i64(&elements, i) == INT32_MIN) fputs("(-2147483647 - 1)", to);
  else if (array->type == DQ_F16) fprintf(to, "%u", ((const uint16_t *)array->data)[i]); // the bits
  else if (array->type == DQ_F64) fputs(dq_emit_wide_literal(dq_tensor_get(&elements, i), text), to);
  else if (array->type == DQ_U64) fprintf(to, "%" PRIu64 "u", ((const uint64_t *)array->data)[i]);
  else if (array->type == DQ_U32) fprintf(to, "%" PRIu32 "u", ((const uint32_t *)array->data)[i]);
  else fprintf(to, "%" PRId64, dq_tensor_get_i64(&elements, i));
}

// Puts the elements into the file of weights, on a boundary of 16 bytes, and names their place.
static void store_array(dq_codegen_parts *parts, const dq_codegen *made, int step, int number,
                        const dq_emit_array *array) {
  enum { ALIGNMENT = 16 };
  static const char zeros[ALIGNMENT];
  size_t bytes = (size_t)array->count * dq_dtype_size(array->type), rest = dq_round_up(bytes, ALIGNMENT) - bytes;
  fprintf(parts->constants, "#define %s_%d_c%d ((const %s *)(const void *)(%s_weights + %zu))\n", made->name, step,
          number, dq_emit_type(array->type), made->name, parts->weights_bytes);
  fwrite(array->data, 1, bytes, parts->weights);
  fwrite(zeros, 1, rest, parts->weights);
  parts->weights_bytes += bytes + rest;
}

static void define_elements(FILE *to, const dq_codegen *made, int step, int number, const dq_emit_array *array) {
  enum { IN_LINE = 16 };
  fprintf(to, "static const %s %s_%d_c%d[%" PRId64 "] = {", dq_emit_type(array->type), made->name, step, number,
          array->count ? array->count : 1);
  for (int64_t i = 0; i < array->count; i++) {
    fputs(i % IN_LINE ? ", " : i ? ",\n  " : "\n  ", to);
    print_element(to, array, i);
  }
  fputs(array->count ? "\n};\n" : "0};\n", to);
}

// Large arrays of 8 bits are written as words of 64, whose bytes are the elements in order: compilers need half the
// time and memory for them. All of C may read an object through pointers to these types.
static bool is_in_words(const dq_codegen *made, const dq_emit_array *array) {
  enum { FEWEST = 4096 };
  return !made->weights_name && array->count >= FEWEST && (array->type == DQ_I8 || array->type == DQ_U8);
}

static void define_words(dq_codegen_parts *parts, const dq_codegen *made, int step, int number,
                         const dq_emit_array *array) {
  enum { WORD = 8, IN_LINE = 4 * WORD };
  FILE *to = parts->constants;
  const uint8_t *bytes = array->data;
  const int64_t lines = (array->count + IN_LINE - 1) / IN_LINE;
  parts->has_words = true;
  fprintf(to, "static const uint64_t %s_%d_c%d[%" PRId64 "] = {", made->name, step, number, lines * IN_LINE / WORD);
  for (int64_t i = 0; i < lines * IN_LINE; i += WORD) {
    uint64_t word = 0;
    for (int k = 0; k < WORD && i + k < array->count; k++) word |= (uint64_t)bytes[i + k] << 8 * k;
    fputs(i % IN_LINE ? ", " : i ? "),\n  DQ_WORDS(" : "\n  DQ_WORDS(", to);
    fprintf(to, "0x%016" PRIx64 "ULL", word);
  }
  fputs(")\n};\n", to);
}

static void define_array(dq_codegen_parts *parts, const dq_codegen *made, int step, int number,
                         const dq_emit_array *array) {
  if (parts->weights) store_array(parts, made, step, number, array);
  else if (parts->constants && is_in_words(made, array)) define_words(parts, made, step, number, array);
  else if (parts->constants) define_elements(parts->constants, made, step, number, array);
}

static void define_arrays(dq_codegen_parts *parts, const dq_codegen *made, int index, const dq_emission *emission,
                          dq_codegen_step *step) {
  for (int a = 0; a < emission->array_count; a++) {
    const dq_emit_array *array = &emission->arrays[a];
    define_array(parts, made, index, a, array);
    step->constant_bytes += array->count * (int64_t)dq_dtype_size(array->type);
  }
}

void dq_codegen_constant_output(dq_codegen *made, dq_codegen_parts *parts, int o) {
  const dq_graph *graph = dq_schedule_graph(made->session.schedule);
  const dq_tensor *tensor = &parts->tensors[graph->outputs[o]->index];
  const dq_emit_array array = {tensor->type, dq_tensor_count(tensor), tensor->data};
  const int number = made->step_count + o; // behind the steps
  define_array(parts, made, number, 0, &array);
  made->constant_bytes += (int64_t)dq_tensor_bytes(tensor);
  fprintf(parts->calls, "  (void)memcpy(%s, %s_%d_c0, %zu);\n", made->outputs[o].parameter, made->name, number,
          dq_tensor_bytes(tensor));
}

// ---- Functions ----

static char *parameters_of(const dq_codegen *made, const dq_emission *emission) {
  char *text = NULL;
  size_t size;
  const char *comma = "";
  FILE *to = open_memstream(&text, &size);
  if (!to) return NULL;
  for (int i = 0; i < emission->op->input_count; i++) {
    const dq_tensor *input = emission->op->inputs[i];
    if (!input || input->data) continue;
    fprintf(to, "%sconst %s *x%d", comma, dq_emit_type(input->type), i);
    comma = ", ";
  }
  for (int o = 0; o < emission->op->output_count; o++) {
    const dq_tensor *output = emission->op->outputs[o];
    if (!output) continue;
    fprintf(to, "%s%s *y%d", comma, dq_emit_type(output->type), o);
    comma = ", ";
  }
  for (int a = 0; a < emission->array_count; a++)
    fprintf(to, ", const %s *c%d", dq_emit_type(emission->arrays[a].type), a);
  if (emission->scratch_bytes) fputs(", void *scratch", to);
  bool failed = fclose(to) != 0;
  char *copy = failed ? NULL : dq_arena_strdup(made->arena, text);
  free(text);
  return copy;
}

// The body behind a statement for every parameter that the body does not mention, so that compilers do not warn. It
// calls the C library as dq_codegen_body says.
static char *finish_body(const dq_codegen *made, dq_codegen_parts *parts, const dq_emission *emission,
                         const char *body) {
  char *text = NULL, name[24];
  size_t size;
  FILE *to = open_memstream(&text, &size);
  if (!to) return NULL;
  for (int i = 0; i < emission->op->input_count; i++) {
    const dq_tensor *input = emission->op->inputs[i];
    snprintf(name, sizeof name, "x%d", i);
    if (input && !input->data && !dq_emit_mentions(body, name)) fprintf(to, "  (void)%s;\n", name);
  }
  for (int o = 0; o < emission->op->output_count; o++) {
    snprintf(name, sizeof name, "y%d", o);
    if (emission->op->outputs[o] && !dq_emit_mentions(body, name)) fprintf(to, "  (void)%s;\n", name);
  }
  for (int a = 0; a < emission->array_count; a++) {
    snprintf(name, sizeof name, "c%d", a);
    if (!dq_emit_mentions(body, name)) fprintf(to, "  (void)%s;\n", name);
  }
  dq_codegen_body(to, body, &parts->library);
  bool failed = fclose(to) != 0;
  char *copy = failed ? NULL : dq_arena_strdup(made->arena, text);
  free(text);
  return copy;
}

// The function with this body and these parameters, by the number of the first step that calls it.
static int find_function(dq_codegen_parts *parts, int step, const char *parameters, const char *body, bool plain) {
  const bool has_floats = (strstr(body, "float") || strstr(body, "double")) && !plain;
  for (int f = 0; f < parts->function_count; f++)
    if (!strcmp(parts->functions[f].body, body) && !strcmp(parts->functions[f].parameters, parameters))
      return parts->functions[f].step;
  parts->functions[parts->function_count] = (dq_codegen_function){step, parameters, body, has_floats};
  parts->function_count++;
  return step;
}

static void describe_tensors(FILE *to, const dq_codegen_parts *parts, dq_value *const *values, int count) {
  char shape[DQ_SHAPE_TEXT];
  const char *comma = "";
  for (int i = 0; i < count; i++) {
    const dq_tensor *tensor = values[i] ? &parts->tensors[values[i]->index] : NULL;
    if (!tensor || tensor->data) continue;
    fprintf(to, "%s%s %s", comma, dq_dtype_name(tensor->type), dq_tensor_shape_text(tensor, shape, sizeof shape));
    comma = ", ";
  }
}

void dq_codegen_describe(FILE *to, const dq_codegen *made, const dq_codegen_parts *parts, int step) {
  const dq_node *node = made->steps[step].node;
  fprintf(to, "/* %s, ", node->op_type);
  dq_codegen_comment(to, made->steps[step].label);
  fputs(": ", to);
  describe_tensors(to, parts, node->inputs, node->input_count);
  fputs(" to ", to);
  describe_tensors(to, parts, node->outputs, node->output_count);
  for (int s = step + 1; s < made->step_count; s++) {
    if (made->steps[s].function != step) continue;
    fputs(";\n   also ", to);
    dq_codegen_comment(to, made->steps[s].label);
  }
  fputs(" */\n", to);
}

// ---- Calls ----

static void print_pointer(FILE *to, const dq_codegen *made, const dq_codegen_place *place, int type, bool is_const) {
  const char *name = dq_emit_type(type), *qualifier = is_const ? "const " : "";
  if (place->home == DQ_HOME_ARENA) {
    fprintf(to, "(%s%s *)(void *)(block + %zu)", qualifier, name, place->offset);
    return;
  }
  const dq_codegen_port *port = place->home == DQ_HOME_INPUT ? &made->inputs[place->port] : &made->outputs[place->port];
  if (!place->offset && (port->tensor.type == type)) fputs(port->parameter, to);
  else
    fprintf(to, "(%s%s *)((%s *)%s + %zu)", qualifier, name, place->home == DQ_HOME_INPUT ? "const char" : "char",
            port->parameter, place->offset);
}

static void print_call(dq_codegen *made, dq_codegen_parts *parts, int index, const dq_emission *emission) {
  FILE *to = parts->calls;
  const dq_node *node = made->steps[index].node;
  const char *comma = "";
  fputs("  /* ", to);
  dq_codegen_comment(to, made->steps[index].label);
  fprintf(to, ", %s */\n  %s_%d(", node->op_type, made->name, made->steps[index].function);
  for (int i = 0; i < emission->op->input_count; i++) {
    if (!emission->op->inputs[i] || emission->op->inputs[i]->data) continue;
    fputs(comma, to);
    print_pointer(to, made, &parts->places[node->inputs[i]->index], emission->op->inputs[i]->type, true);
    comma = ", ";
  }
  for (int o = 0; o < emission->op->output_count; o++) {
    if (!emission->op->outputs[o]) continue;
    fputs(comma, to);
    print_pointer(to, made, &parts->places[node->outputs[o]->index], emission->op->outputs[o]->type, false);
    comma = ", ";
  }
  for (int a = 0; a < emission->array_count; a++) {
    fputs(", ", to);
    if (is_in_words(made, &emission->arrays[a])) fprintf(to, "(const %s *)", dq_emit_type(emission->arrays[a].type));
    fprintf(to, "%s_%d_c%d", made->name, index, a);
  }
  if (emission->scratch_bytes) fprintf(to, ", block + %zu", made->steps[index].scratch_offset);
  fputs(");\n", to);
}

// ---- Steps ----

static bool same_place(const dq_codegen_place *a, const dq_codegen_place *b) {
  return a->home == b->home && a->port == b->port && a->offset == b->offset;
}

// Which inputs lie where the step would copy them to: all of one that only looks at them in another shape, parts of a
// concatenation.
static dq_status find_placed(const dq_codegen_parts *parts, const dq_codegen_step *step, const dq_op *op,
                             bool *placed) {
  unsigned flags = op->row->flags;
  if (!(flags & (DQ_OP_VIEW | DQ_OP_JOIN))) return DQ_OK;
  dq_codegen_place at = parts->places[step->node->outputs[0]->index];
  for (int i = 0; i < op->input_count; i++) {
    if (!op->inputs[i]) continue;
    placed[i] = !op->inputs[i]->data && same_place(&parts->places[step->node->inputs[i]->index], &at);
    if (flags & DQ_OP_VIEW) break;
    at.offset += dq_tensor_bytes(op->inputs[i]);
  }
  return DQ_OK;
}

// Reshape and its like, where the elements have to move after all.
static dq_status emit_view(dq_emission *to) {
  char name[16];
  dq_emit(to, "(void)memcpy(y0, %s, %zu);", dq_emit_input(to, 0, name), dq_tensor_bytes(to->op->outputs[0]));
  return DQ_OK;
}

// The parameters of the step's function without its constants.
static int operand_count(const dq_op *op) {
  int count = 0;
  for (int i = 0; i < op->input_count; i++) count += op->inputs[i] && !op->inputs[i]->data;
  for (int o = 0; o < op->output_count; o++) count += op->outputs[o] != NULL;
  return count;
}

// Whether a step computes elements. One whose outputs have none needs no C.
static bool has_elements(const dq_op *op) {
  for (int o = 0; o < op->output_count; o++)
    if (op->outputs[o] && dq_tensor_count(op->outputs[o])) return true;
  return false;
}

static dq_status call_row(dq_emission *emission) {
  enum { MOST_PARAMETERS = 127 }; // that every compiler takes: ISO C99, 5.2.4.1
  const dq_operator *row = emission->op->row;
  const int operands = operand_count(emission->op);
  if (operands > MOST_PARAMETERS)
    return dq_op_fail(emission->op, DQ_UNSUPPORTED, "%d inputs and outputs, and C is written for at most %d of a step",
                      operands, MOST_PARAMETERS);
  if (row->flags & DQ_OP_VIEW) return emit_view(emission);
  if (!row->emit) return dq_op_fail(emission->op, DQ_UNSUPPORTED, "operator %s has no C yet", row->name);
  return row->emit(emission);
}

static dq_status print_step(dq_codegen *made, dq_codegen_parts *parts, int index, dq_emission *emission,
                            dq_error *error) {
  char *body = NULL;
  size_t size;
  dq_codegen_step *step = &made->steps[index];
  emission->body = open_memstream(&body, &size);
  if (!emission->body) return dq_fail_memory(error, 0);
  dq_status status = call_row(emission);
  bool failed = fclose(emission->body) != 0;
  const char *kept = status == DQ_OK && !failed ? finish_body(made, parts, emission, *body ? body : "") : NULL;
  bool is_empty = !failed && !*body;
  free(body);
  if (status == DQ_OK && emission->too_many)
    status =
        dq_op_fail(emission->op, DQ_UNSUPPORTED, "C is written for at most %d constants of a step", DQ_EMIT_ARRAYS);
  if (status != DQ_OK) return dq_with_label(step->node, status, error);
  if (is_empty) return DQ_OK; // all lies in place
  const char *parameters = parameters_of(made, emission);
  if (!kept || !parameters) return dq_fail_memory(error, size);
  step->function = find_function(parts, index, parameters, kept, emission->plain);
  step->channels = emission->channels, step->slow_channels = emission->slow_channels;
  step->exceptions = emission->exceptions;
  step->sum_bits = emission->sum_bits, step->scratch_bytes = emission->scratch_bytes;
  for (int h = 0; h < DQ_EMIT_HELPERS; h++) parts->helpers[h] |= emission->helpers[h];
  define_arrays(parts, made, index, emission, step);
  print_call(made, parts, index, emission);
  return DQ_OK;
}

dq_status dq_codegen_emit_step(dq_codegen *made, dq_codegen_parts *parts, int index, const dq_context *context,
                               dq_error *error) {
  const dq_schedule_step *at = dq_schedule_step_at(made->session.schedule, index);
  dq_codegen_step *step = &made->steps[index];
  dq_op op;
  step->function = -1;
  if (at->dynamic)
    return dq_with_label(at->node,
                         dq_fail(error, DQ_UNSUPPORTED,
                                 "the shape of its result depends on elements, and C is "
                                 "emitted for fixed shapes"),
                         error);
  op = (dq_op){0};
  DQ_TRY(dq_op_bind(&op, dq_schedule_graph(made->session.schedule), at->node, parts->tensors, context, made->arena,
                    error));
  op.version = at->version;
  if (!has_elements(&op)) return DQ_OK;
  bool *placed = DQ_NEW_ARRAY(made->arena, op.input_count + 1, bool);
  if (!placed) return dq_fail_memory(error, 0);
  DQ_TRY(find_placed(parts, step, &op, placed));
  if (at->row->macs) step->macs = at->row->macs(&op);
  if ((at->row->flags & DQ_OP_VIEW) && placed[0]) return DQ_OK;
  dq_emission emission = {.op = &op, .arena = made->arena, .target = made->target, .placed = placed};
  return print_step(made, parts, index, &emission, error);
}
