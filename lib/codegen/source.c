// The texts of the source and of the header.
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"

// ---- Header ----

static char *upper(dq_arena *arena, const char *text) {
  char *copy = dq_arena_strdup(arena, text);
  for (char *c = copy; c && *c; c++) *c = (char)toupper((unsigned char)*c);
  return copy;
}

static void print_port(FILE *to, const dq_codegen *made, const dq_codegen_port *port, const char *prefix) {
  char shape[DQ_SHAPE_TEXT], literal[48];
  const char *name = upper(made->arena, port->field);
  fputs("\n/* \"", to);
  dq_codegen_comment(to, port->name);
  fprintf(to, "\": %s %s", dq_dtype_name(port->tensor.type), dq_tensor_shape_text(&port->tensor, shape, sizeof shape));
  if (port->scale != 0.0f) fputs("; in 8 bits, q stands for SCALE * (q - ZERO_POINT)", to);
  fputs(" */\n", to);
  fprintf(to, "#define %s_%s_TYPE %s\n", prefix, name, dq_emit_type(port->tensor.type));
  fprintf(to, "#define %s_%s_ELEMENTS %" PRId64 "\n", prefix, name, dq_tensor_count(&port->tensor));
  fprintf(to, "#define %s_%s_BYTES %zu\n", prefix, name, dq_tensor_bytes(&port->tensor));
  if (port->scale == 0.0f) return;
  fprintf(to, "#define %s_%s_SCALE %s\n", prefix, name, dq_emit_literal(port->scale, literal));
  fprintf(to, "#define %s_%s_ZERO_POINT %" PRId32 "\n", prefix, name, port->zero_point);
}

void dq_codegen_declaration(FILE *to, const dq_codegen *made) {
  fprintf(to, "int %s_run(", made->name);
  for (int i = 0; i < made->input_count; i++)
    fprintf(to, "const %s *%s, ", dq_emit_type(made->inputs[i].tensor.type), made->inputs[i].parameter);
  for (int o = 0; o < made->output_count; o++)
    fprintf(to, "%s *%s, ", dq_emit_type(made->outputs[o].tensor.type), made->outputs[o].parameter);
  fputs("void *arena)", to);
}

void dq_codegen_header(FILE *to, const dq_codegen *made) {
  const char *prefix = upper(made->arena, made->name);
  fprintf(to, "/* Written by dq-cc. */\n#ifndef DQ_CC_%s_H_\n#define DQ_CC_%s_H_\n\n#include <stdint.h>\n\n", prefix,
          prefix);
  fputs("#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n", to);
  fprintf(to, "#define %s_ARENA_BYTES %zu\n#define %s_ARENA_ALIGNMENT 16\n", prefix, made->arena_bytes, prefix);
  if (made->content)
    fprintf(to, "#define %s_CONTENT 0x%016" PRIx64 "ULL /* the same in all files of one run of dq-cc */\n", prefix,
            made->content);
  fprintf(to, "#define %s_CONSTANT_BYTES %" PRId64 "\n", prefix, made->constant_bytes);
  for (int i = 0; i < made->input_count; i++) print_port(to, made, &made->inputs[i], prefix);
  for (int o = 0; o < made->output_count; o++) print_port(to, made, &made->outputs[o], prefix);
  fprintf(to,
          "\n/* Runs the network once. `arena` has %s_ARENA_BYTES bytes on a boundary of %s_ARENA_ALIGNMENT and keeps\n"
          "   nothing from one run to the next; inputs, outputs and arena do not overlap. Returns 0; 1: a pointer is "
          "NULL,\n"
          "   or the arena is not aligned%s. */\n",
          prefix, prefix, made->weights_name ? "; 2: the file of weights is of another run of dq-cc" : "");
  dq_codegen_declaration(to, made);
  fputs(";\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n", to);
}

// ---- Source ----

// Steps stay functions of their own, so that the stack holds the frame of one at a time.
static const char apart[] =
    "#if defined(__GNUC__)\n#define DQ_APART __attribute__((noinline))\n#else\n#define DQ_APART\n"
    "#endif\n\n";

// What compilers may do to sums and products of floats unless they are told. GCC is told for functions that compute
// with floats alone: of others, GCC 12 then orders instructions for Armv6-M as if there were more registers, which
// took 6.9 instead of 5.0 instructions per multiply-accumulate of resnet8.
static const char contraction[] =
    "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#endif\n"
    "#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)\n"
    "#define DQ_FLOATS __attribute__((optimize(\"fp-contract=off\")))\n#else\n#define DQ_FLOATS\n#endif\n\n";
static const char push_contraction[] =
    "#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)\n"
    "#pragma GCC push_options\n#pragma GCC optimize (\"fp-contract=off\")\n#endif\n\n";
static const char pop_contraction[] = "#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)\n"
                                      "#pragma GCC pop_options\n#endif\n\n";

static void print_helpers(FILE *to, const dq_codegen_parts *parts) {
  const bool others =
      dq_emit_has_kind(parts->helpers, DQ_EMIT_FLOATS, true) || dq_emit_has_kind(parts->helpers, DQ_EMIT_LIBRARY, true);
  bool has_floats = others;
  for (int f = 0; f < parts->function_count; f++) has_floats |= parts->functions[f].has_floats;
  if (has_floats) fputs(contraction, to);
  dq_emit_print_helpers(to, parts->helpers, true);
  if (others) fputs(push_contraction, to);
  dq_emit_print_helpers(to, parts->helpers, false);
  if (others) fputs(pop_contraction, to);
  dq_codegen_library(to, parts->library);
}

static void print_run(FILE *to, const dq_codegen *made, const char *calls) {
  dq_codegen_declaration(to, made);
  fputs(" {\n  char *const block = (char *)arena;\n", to);
  if (made->weights_name) fprintf(to, "  const uint64_t content = %s_CONTENT;\n", upper(made->arena, made->name));
  fputs("  if (arena == NULL || (uintptr_t)arena % 16u != 0u", to);
  for (int i = 0; i < made->input_count; i++) fprintf(to, " || %s == NULL", made->inputs[i].parameter);
  for (int o = 0; o < made->output_count; o++) fprintf(to, " || %s == NULL", made->outputs[o].parameter);
  fputs(") {\n    return 1;\n  }\n  (void)block;\n", to);
  if (made->weights_name)
    fprintf(
        to,
        "  if ((uintptr_t)%s_weights_end - (uintptr_t)%s_weights != %zuu ||\n"
        "      memcmp((const void *)%s_weights, (const void *)&content, sizeof content) != 0) {\n    return 2;\n  }\n",
        made->name, made->name, made->weights_bytes, made->name);
  fputs(calls, to);
  fputs("  return 0;\n}\n", to);
}

// The file of weights as bytes that the assembler puts among the constants.
static void print_weights(FILE *to, const dq_codegen *made) {
  if (!made->weights_name) return;
  fputs("#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
        "#error \"the file of weights is for little-endian machines\"\n#endif\n",
        to);
  fprintf(to,
          "__asm__(\".section .rodata\\n.balign 16\\n.global %s_weights\\n%s_weights:\\n\"\n"
          "        \".incbin \\\"%s\\\"\\n.global %s_weights_end\\n%s_weights_end:\\n.previous\\n\");\n",
          made->name, made->name, made->weights_name, made->name, made->name);
  fprintf(to, "extern const unsigned char %s_weights[], %s_weights_end[];\n\n", made->name, made->name);
}

// Elements of 8 bits in words of 64, which a big-endian machine has the other way round.
static const char words[] = "/* The bytes of large arrays, in order from the lowest of each word. */\n"
                            "#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n"
                            "#define DQ_WORDS(a, b, c, d) \\\n"
                            "  __builtin_bswap64(a), __builtin_bswap64(b), __builtin_bswap64(c), __builtin_bswap64(d)\n"
                            "#elif defined(__ARM_BIG_ENDIAN) || defined(__BIG_ENDIAN__)\n"
                            "#error \"a big-endian machine, and the compiler does not say so by __BYTE_ORDER__\"\n"
                            "#else\n"
                            "#define DQ_WORDS(a, b, c, d) (a), (b), (c), (d)\n"
                            "#endif\n\n";

static void print_source(FILE *to, const dq_codegen *made, const dq_codegen_parts *parts, const char *header,
                         const char *constants, const char *calls) {
  fprintf(to,
          "/* Written by dq-cc: %" PRId64 " multiply-accumulates, %zu bytes of arena, %" PRId64
          " bytes of constants. */\n",
          made->macs, made->arena_bytes, made->constant_bytes);
  fprintf(
      to,
      "/* A step of the network is a function %s_<number>, called in order by %s_run. Its parameters are x<i>, the "
      "inputs\n   of the node by position; y<i>, its outputs; c<i>, its constants, which lie in %s_<step>_c<i>; and "
      "scratch,\n   memory of the arena that it needs beside. Steps that compute alike share a function. */\n",
      made->name, made->name, made->name);
  fprintf(to, "#include \"%s\"\n\n#include <stddef.h>\n#include <string.h>\n", header);
  const char *prefix = upper(made->arena, made->name);
  fprintf(to,
          "#if !defined(%s_CONTENT) || %s_CONTENT != 0x%016" PRIx64
          "ULL\n#error \"the header is of another run of dq-cc\"\n#endif\n",
          prefix, prefix, made->content);
  if (dq_emit_has_kind(parts->helpers, DQ_EMIT_LIBRARY, false)) fputs("#include <math.h>\n", to);
  if (made->target == DQ_EMIT_DSP)
    fputs("#include <arm_acle.h>\n#if !defined(__ARM_FEATURE_SIMD32) || defined(__ARM_BIG_ENDIAN)\n#error \"the target "
          "has no SIMD "
          "instructions of Armv7E-M, or is big-endian\"\n#endif\n",
          to);
  fputc('\n', to);
  fputs(apart, to);
  print_helpers(to, parts);
  print_weights(to, made);
  if (parts->has_words) fputs(words, to);
  fputs(constants, to);
  fputc('\n', to);
  for (int f = 0; f < parts->function_count; f++) {
    dq_codegen_describe(to, made, parts, parts->functions[f].step);
    fprintf(to, "DQ_APART %sstatic void %s_%d(%s) {\n%s}\n\n", parts->functions[f].has_floats ? "DQ_FLOATS " : "",
            made->name, parts->functions[f].step, parts->functions[f].parameters, parts->functions[f].body);
  }
  print_run(to, made, calls);
}

// ---- Preparation ----

static bool has_field(const dq_codegen_port *ports, int count, const char *field) {
  for (int i = 0; i < count; i++)
    if (ports[i].field && !strcasecmp(ports[i].field, field)) return true;
  return false;
}

static const char *unique_field(const dq_codegen *made, const char *name) {
  const char *field = dq_codegen_identifier(made->arena, name);
  for (int try = 0; field; try++) {
    bool taken = !strncmp(field, "dq_", 3) || (!strncmp(field, made->name, strlen(made->name)));
    taken |= !strcasecmp(field, "arena") || !strcasecmp(field, "constant"); // NAME_ARENA_BYTES, NAME_CONSTANT_BYTES
    taken |= has_field(made->inputs, made->input_count, field) || has_field(made->outputs, made->output_count, field);
    if (!taken) return field;
    field = dq_arena_printf(made->arena, "v%d_%.40s", try, dq_codegen_identifier(made->arena, name));
  }
  return NULL;
}

// What the model's QuantizeLinear or DequantizeLinear says about an input that it alone reads, or an output that it
// makes.
static void find_scale(dq_codegen_port *port, const dq_value *value, bool is_input) {
  static const char *const conversions[] = {"QuantizeLinear", "DequantizeLinear", NULL};
  const dq_node *node = !value ? NULL : !is_input ? value->producer : value->user_count == 1 ? value->users[0] : NULL;
  if (!node || node->input_count < 2 || (is_input && node->inputs[0] != value)) return;
  if (!dq_node_is_any(node, conversions)) return;
  const dq_tensor *scale = dq_constant_of(node->inputs[1]);
  const dq_value *zero = node->input_count > 2 ? node->inputs[2] : NULL;
  if (!scale || dq_tensor_count(scale) != 1 || (zero && !dq_constant_of(zero))) return;
  port->scale = (float)dq_tensor_get(scale, 0);
  port->zero_point = zero ? (int32_t)dq_tensor_get_i64(dq_constant_of(zero), 0) : 0;
}

static dq_status list_ports(dq_codegen *made, const dq_graph *model, dq_error *error) {
  const dq_schedule *schedule = made->session.schedule;
  const dq_graph *graph = dq_schedule_graph(schedule);
  made->inputs = DQ_NEW_ARRAY(made->arena, dq_schedule_input_count(schedule) + 1, dq_codegen_port);
  made->outputs = DQ_NEW_ARRAY(made->arena, graph->output_count + 1, dq_codegen_port);
  if (!made->inputs || !made->outputs) return dq_fail_memory(error, 0);
  made->input_count = dq_schedule_input_count(schedule), made->output_count = graph->output_count;
  for (int i = 0; i < made->input_count + made->output_count; i++) {
    bool is_input = i < made->input_count;
    const dq_value *value = is_input ? dq_schedule_input(schedule, i) : graph->outputs[i - made->input_count];
    dq_codegen_port *port = is_input ? &made->inputs[i] : &made->outputs[i - made->input_count];
    port->tensor = *dq_schedule_tensor(schedule, value->index);
    port->name = value->name;
    port->field = unique_field(made, value->name);
    port->parameter = port->field ? dq_arena_printf(made->arena, is_input ? "in_%s" : "out_%s", port->field) : NULL;
    if (!port->parameter) return dq_fail_memory(error, 0);
    find_scale(port, dq_graph_find(model, value->name), is_input);
    if (!dq_dtype_computable(port->tensor.type) || port->tensor.rank < 0)
      return dq_fail(error, DQ_UNSUPPORTED,
                     port->tensor.rank < 0
                         ? "%s '%s' has a shape that depends on elements, and C is written for fixed shapes"
                         : "%s '%s' has a type that dq does not compute with",
                     is_input ? "input" : "output", value->name);
  }
  return DQ_OK;
}

static dq_status list_steps(dq_codegen *made, dq_codegen_parts *parts, dq_error *error) {
  const dq_graph *graph = dq_schedule_graph(made->session.schedule);
  made->steps = DQ_NEW_ARRAY(made->arena, made->step_count + 1, dq_codegen_step);
  parts->functions = DQ_NEW_ARRAY(made->arena, made->step_count + 1, dq_codegen_function);
  parts->tensors = DQ_NEW_ARRAY(made->arena, graph->value_count + 1, dq_tensor);
  if (!made->steps || !parts->functions || !parts->tensors) return dq_fail_memory(error, 0);
  for (int s = 0; s < made->step_count; s++) {
    const dq_node *node = dq_schedule_step_at(made->session.schedule, s)->node;
    made->steps[s].node = node;
    made->steps[s].label = node->name && *node->name ? node->name : node->outputs[0] ? node->outputs[0]->name : "";
  }
  for (int v = 0; v < graph->value_count; v++) {
    parts->tensors[v] = *dq_schedule_tensor(made->session.schedule, v);
    if (graph->values[v]->constant) parts->tensors[v].data = graph->values[v]->constant->data;
  }
  return DQ_OK;
}

// Outputs that do not lie where the caller wants them: another name of an input or output, or a constant.
static void copy_outputs(dq_codegen *made, dq_codegen_parts *parts) {
  const dq_graph *graph = dq_schedule_graph(made->session.schedule);
  for (int o = 0; o < made->output_count; o++) {
    const dq_codegen_place *at = &parts->places[graph->outputs[o]->index];
    size_t bytes = dq_tensor_bytes(&made->outputs[o].tensor);
    if ((at->home == DQ_HOME_OUTPUT && at->port == o && !at->offset) || !bytes) continue;
    if (at->home == DQ_HOME_NOWHERE) {
      dq_codegen_constant_output(made, parts, o);
      continue;
    }
    fprintf(parts->calls, "  (void)memcpy(%s, %s%s + %zu, %zu);\n", made->outputs[o].parameter,
            at->home == DQ_HOME_ARENA ? "" : "(const char *)",
            at->home == DQ_HOME_ARENA   ? "block"
            : at->home == DQ_HOME_INPUT ? made->inputs[at->port].parameter
                                        : made->outputs[at->port].parameter,
            at->offset, bytes);
  }
}

static dq_status check_constant_outputs(const dq_codegen *made, const dq_codegen_parts *parts, dq_error *error) {
  const dq_graph *graph = dq_schedule_graph(made->session.schedule);
  for (int o = 0; o < made->output_count; o++)
    if (parts->places[graph->outputs[o]->index].home == DQ_HOME_NOWHERE &&
        !parts->tensors[graph->outputs[o]->index].data && dq_tensor_count(&made->outputs[o].tensor))
      return dq_fail(error, DQ_UNSUPPORTED, "output '%s' has a shape that depends on elements", made->outputs[o].name);
  return DQ_OK;
}

static dq_status emit_steps(dq_codegen *made, dq_codegen_parts *parts, const dq_context *context, dq_error *error) {
  made->macs = made->constant_bytes = 0;
  for (int s = 0; s < made->step_count; s++) {
    made->steps[s].constant_bytes = 0;
    DQ_TRY(dq_codegen_emit_step(made, parts, s, context, error));
    made->macs += made->steps[s].macs;
    made->constant_bytes += made->steps[s].constant_bytes;
  }
  copy_outputs(made, parts);
  return DQ_OK;
}

// ---- All of it ----

enum { CONTENT_BYTES = 16 }; // of the file of weights, in front of the arrays

static uint64_t hash_text(const char *text, uint64_t seed) { return XXH64(text, strlen(text), seed); }

// Finds the number that stands in all files, and puts it into that of weights.
static dq_status find_content(dq_codegen *made, const dq_codegen_parts *parts, const char *constants, const char *calls,
                              dq_error *error) {
  char *header = NULL;
  size_t size;
  FILE *to = open_memstream(&header, &size);
  if (!to) return dq_fail_memory(error, 0);
  dq_codegen_header(to, made);
  const bool failed = fclose(to) != 0;
  uint64_t content = failed ? 0 : hash_text(header, hash_text(calls, hash_text(constants, 0)));
  free(header);
  if (failed) return dq_fail_memory(error, size);
  for (int f = 0; f < parts->function_count; f++)
    content = hash_text(parts->functions[f].body, hash_text(parts->functions[f].parameters, content));
  if (made->weights_name) content = XXH64(made->weights, made->weights_bytes, content);
  made->content = content ? content : 1;
  for (int i = 0; made->weights_name && i < 8; i++) made->weights[i] = (char)(made->content >> 8 * i & 255);
  return DQ_OK;
}

static dq_status print_texts(dq_codegen *made, const dq_codegen_parts *parts, const char *header, const char *constants,
                             const char *calls, dq_error *error) {
  size_t size;
  FILE *to = open_memstream(&made->source, &size);
  if (!to) return dq_fail_memory(error, 0);
  print_source(to, made, parts, header, constants, calls);
  if (fclose(to)) return dq_fail_memory(error, size);
  if (!(to = open_memstream(&made->header, &size))) return dq_fail_memory(error, 0);
  dq_codegen_header(to, made);
  return fclose(to) ? dq_fail_memory(error, size) : DQ_OK;
}

// Emits all steps without printing arrays, to find how much scratch each step needs and how many bytes the constants
// are.
static dq_status measure_steps(dq_codegen *made, dq_codegen_parts *parts, const dq_context *context, dq_error *error) {
  char *calls = NULL;
  size_t size;
  if (!(parts->calls = open_memstream(&calls, &size))) return dq_fail_memory(error, 0);
  dq_status status = emit_steps(made, parts, context, error);
  fclose(parts->calls);
  free(calls);
  return status;
}

// The constants are held as a text twice, of up to 5 characters a byte, or as bytes in a stream that doubles its size.
static dq_status check_constants(const dq_codegen *made, const dq_context *context, dq_error *error) {
  const size_t memory = (size_t)made->constant_bytes * (made->weights_name ? 2 : 10);
  if (made->weights_name || made->constant_bytes <= DQ_CODEGEN_MOST_ARRAYS)
    return dq_check_memory(context, memory, "writing the constants", error);
  dq_fail(error, DQ_UNSUPPORTED, "%" PRId64 " bytes of constants are too many for arrays in C, at most %d",
          made->constant_bytes, (int)DQ_CODEGEN_MOST_ARRAYS);
  dq_error_hint(error, "--weights-file FILE puts them into a file of their own");
  return DQ_UNSUPPORTED;
}

static dq_status emit_all(dq_codegen *made, dq_codegen_parts *parts, const char *header, const dq_context *context,
                          dq_error *error) {
  char *constants = NULL, *calls = NULL;
  size_t constants_size, calls_size;
  parts->function_count = 0, parts->library = 0, parts->has_words = false;
  memset(parts->helpers, 0, sizeof parts->helpers);
  parts->constants = open_memstream(&constants, &constants_size);
  parts->calls = open_memstream(&calls, &calls_size);
  if (made->weights_name) parts->weights = open_memstream(&made->weights, &made->weights_bytes);
  parts->weights_bytes = CONTENT_BYTES;
  for (int i = 0; parts->weights && i < CONTENT_BYTES; i++) fputc(0, parts->weights);
  bool opened = parts->constants && parts->calls && (parts->weights || !made->weights_name), failed = false;
  dq_status status = opened ? emit_steps(made, parts, context, error) : dq_fail_memory(error, 0);
  dq_emit_add_needs(parts->helpers);
  FILE *const streams[] = {parts->constants, parts->calls, parts->weights};
  for (int i = 0; i < 3; i++)
    if (streams[i]) failed |= fclose(streams[i]) != 0;
  if (status == DQ_OK && failed) status = dq_fail_memory(error, 0);
  if (status == DQ_OK) status = find_content(made, parts, constants, calls, error);
  if (status == DQ_OK) status = print_texts(made, parts, header, constants, calls, error);
  free(constants);
  free(calls);
  return status;
}

dq_status dq_codegen_open(dq_codegen *made, const dq_graph *graph, const dq_codegen_options *options,
                          const dq_context *context, dq_error *error) {
  dq_codegen_parts parts = {0};
  *made = (dq_codegen){.name = options->name ? options->name : "net",
                       .target = options->target,
                       .header_name = options->header,
                       .weights_name = options->weights_name,
                       .arena = dq_context_arena(context)};
  if (!made->arena) return dq_fail_memory(error, 0);
  if (!dq_codegen_is_name(made->name))
    return dq_fail(error, DQ_USAGE,
                   "'%s' is no name in C: expected a letter, then letters, digits and underscores, and no "
                   "keyword",
                   made->name);
  DQ_TRY(dq_session_schedule(&made->session, graph, &options->session, context, error));
  made->step_count = dq_schedule_step_count(made->session.schedule);
  DQ_TRY(list_ports(made, graph, error));
  DQ_TRY(list_steps(made, &parts, error));
  DQ_TRY(dq_codegen_check_bounds(made, &parts, error));
  DQ_TRY(dq_codegen_places(made, &parts.places, error));
  DQ_TRY(check_constant_outputs(made, &parts, error));
  DQ_TRY(measure_steps(made, &parts, context, error));
  DQ_TRY(check_constants(made, context, error));
  DQ_TRY(dq_codegen_places(made, &parts.places, error));
  return emit_all(made, &parts, options->header, context, error);
}

void dq_codegen_close(dq_codegen *made) {
  free(made->source);
  free(made->header);
  free(made->weights);
  dq_session_close(&made->session);
  dq_arena_free(made->arena);
  *made = (dq_codegen){0};
}
