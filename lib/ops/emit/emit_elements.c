// Functions of elements in C.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/ops/emit/emit.h"

// ---- Formulas ----

enum { TEXT = DQ_EMIT_FORMULA };

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '.'; }

static void add_text(char text[TEXT], size_t *at, const char *piece, size_t length) {
  for (size_t i = 0; i < length && *at + 1 < TEXT; i++) text[(*at)++] = piece[i];
  text[*at] = 0;
}

// Replaces "$name:default;" by the value of an attribute. Returns the end of what was read.
static const char *add_attribute(const dq_node *node, const char *from, bool wide, char text[TEXT], size_t *at) {
  char name[32], real[48], piece[64];
  const char *colon = strchr(from, ':'), *end = strchr(from, ';');
  snprintf(name, sizeof name, "%.*s", (int)(colon - from - 1), from + 1);
  float value = dq_node_float(node, name, strtof(colon + 1, NULL));
  if (wide) dq_emit_wide_literal((double)value, real);
  else dq_emit_real(value, real);
  snprintf(piece, sizeof piece, signbit(value) ? "(%s)" : "%s", real);
  add_text(text, at, piece, strlen(piece));
  return end + 1;
}

// A word of the formula: a name, or a number. In float64 numbers and functions of <math.h> lose the f at their ends.
// False: float64 has no such function.
static bool add_word(dq_emission *to, const char *word, size_t length, bool wide, int type, char text[TEXT],
                     size_t *at) {
  char bits[8];
  if (length == 1 && *word == 'T') {
    add_text(text, at, dq_emit_type(type), strlen(dq_emit_type(type)));
    return true;
  }
  if (length == 4 && !strncmp(word, "BITS", 4)) {
    snprintf(bits, sizeof bits, "%d", dq_dtype_bits(type));
    add_text(text, at, bits, strlen(bits));
    return true;
  }
  const char *replaced = NULL;
  const dq_emit_helper helper = dq_emit_helper_named(word, length, &replaced);
  if (wide && replaced && !*replaced) return false;
  if (wide && replaced) {
    dq_emit_need(to, DQ_EMIT_MATH);
    add_text(text, at, replaced, strlen(replaced));
    return true;
  }
  if (helper) dq_emit_need(to, helper);
  bool number = isdigit((unsigned char)*word), has_f = length > 1 && word[length - 1] == 'f';
  bool calls = isalpha((unsigned char)*word) && word[length] == '(', own = !strncmp(word, "dq_", 3);
  if (calls && !own) dq_emit_need(to, DQ_EMIT_MATH);
  add_text(text, at, word, wide && has_f && (number || calls) ? length - 1 : length);
  return true;
}

bool dq_emit_fill(dq_emission *to, const char *formula, int type, char text[TEXT]) {
  bool wide = type == DQ_F64;
  size_t at = 0;
  text[0] = 0;
  for (const char *c = formula; *c;) {
    size_t length = 0;
    while (is_word(c[length])) length++;
    if (*c == '$') {
      c = add_attribute(to->op->node, c, wide, text, &at);
    } else if (length) {
      if (!add_word(to, c, length, wide, type, text, &at)) return false;
      c += length;
    } else {
      add_text(text, &at, c++, 1);
    }
  }
  return at + 1 < TEXT;
}

const char *dq_emit_formula_for(const dq_operator *row, int type) {
  unsigned bit = DQ_BIT(type);
  if (type == DQ_F64 && row->wide_formula) return row->wide_formula;
  if (bit & DQ_TYPES_UNSIGNED && row->natural_formula) return row->natural_formula;
  if (bit & (DQ_TYPES_INTEGER | DQ_BIT(DQ_BOOL))) return row->integer_formula;
  return row->formula;
}

// ---- Loops over elements ----

bool dq_emit_is_half(const dq_emission *to, const dq_tensor *tensor) {
  return tensor->type == DQ_F16 && to->op->row->flags & DQ_OP_HALF;
}

void dq_emit_load(dq_emission *to, int i, const char *variable, const char *index) {
  char name[16];
  const dq_tensor *input = to->op->inputs[i];
  bool half = dq_emit_is_half(to, input);
  if (half) dq_emit_need(to, DQ_EMIT_FROM_HALF);
  dq_emit(to, half ? "const %s %s = dq_half_to_float(%s[%s]);" : "const %s %s = %s[%s];",
          half ? "float" : dq_emit_type(input->type), variable, dq_emit_input(to, i, name), index);
}

void dq_emit_assign(dq_emission *to, int o, const char *index, const char *value) {
  const dq_tensor *output = to->op->outputs[o];
  if (dq_emit_is_half(to, output)) {
    dq_emit_need(to, DQ_EMIT_TO_HALF);
    dq_emit(to, "y%d[%s] = dq_float_to_half(%s);", o, index, value);
  } else if (output->type == DQ_F32) {
    dq_emit(to, "y%d[%s] = %s;", o, index, value);
  } else {
    dq_emit(to, "y%d[%s] = (%s)(%s);", o, index, dq_emit_type(output->type), value);
  }
}

void dq_emit_element(dq_emission *to, int i, const char *index, char text[100]) {
  char name[16];
  bool half = dq_emit_is_half(to, to->op->inputs[i]);
  if (half) dq_emit_need(to, DQ_EMIT_FROM_HALF);
  const char *format = half                                 ? "dq_half_to_float(%s[%s])"
                       : to->op->inputs[i]->type == DQ_BOOL ? "(%s[%s] != 0)"
                                                            : "%s[%s]";
  snprintf(text, 100, format, dq_emit_input(to, i, name), index);
}

dq_status dq_emit_elements(dq_emission *to, const char *formula) {
  static const char *const names[] = {"x", "y", "z"};
  const dq_op *op = to->op;
  const dq_tensor *y = op->outputs[0];
  char text[TEXT], index[DQ_EMIT_OPERANDS][160];
  const int type = op->inputs[0]->type == DQ_F16 && op->row->flags & DQ_OP_HALF ? DQ_F32 : op->inputs[0]->type;
  if (!formula || !dq_emit_fill(to, formula, type, text))
    return dq_op_fail(op, DQ_UNSUPPORTED, "operator %s of %s has no C yet", op->row->name,
                      dq_dtype_name(op->inputs[0]->type));
  dq_emit_nest nest = dq_emit_nest_of(y->rank, y->dims);
  int inputs = op->input_count < 3 ? op->input_count : 3;
  for (int i = 0; i < inputs; i++) dq_emit_broadcast(&nest, op->inputs[i] ? op->inputs[i] : op->inputs[0]);
  int loops = dq_emit_loops(to, &nest, index);
  for (int i = 0; i < inputs; i++)
    if (op->inputs[i] && dq_emit_mentions(text, names[i])) dq_emit_load(to, i, names[i], index[i + 1]);
  dq_emit_assign(to, 0, index[0], text);
  dq_emit_close(to, loops);
  return DQ_OK;
}

bool dq_emit_mentions(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
    if ((at == text || !is_word(at[-1])) && !is_word(at[length])) return true;
  return false;
}

dq_status dq_emit_formula(dq_emission *to) {
  const dq_op *op = to->op;
  const dq_operator *row = op->row;
  dq_activation activation = {.kind = DQ_ACTIVATION_NONE};
  dq_slope slope = {.input = DQ_NO_INPUT};
  char text[300];
  int type = op->inputs[0]->type;
  const char *formula = dq_emit_formula_for(row, type);
  if (!formula && DQ_BIT(type) & (DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16))) {
    if (row->clamp && row->clamp(op->node, &activation.low, &activation.high)) {
      activation.kind = DQ_ACTIVATION_CLIP;
    } else if (row->slope && (slope = row->slope(op->node)).input == DQ_NO_INPUT) {
      activation.kind = DQ_ACTIVATION_LEAKY;
      activation.alpha = slope.every;
    }
    if (activation.kind != DQ_ACTIVATION_NONE) formula = dq_emit_activation(to, &activation, "x", text);
  }
  return dq_emit_elements(to, formula);
}

dq_status dq_emit_fold(dq_emission *to, const char *end) {
  const dq_op *op = to->op;
  const dq_tensor *result = op->outputs[0];
  char text[TEXT], index[DQ_EMIT_OPERANDS][160];
  bool half = dq_emit_is_half(to, result);
  const char *formula = dq_emit_formula_for(op->row, half ? DQ_F32 : result->type);
  const char *type = half ? "float" : dq_emit_type(result->type);
  if (op->input_count + 1 > DQ_EMIT_OPERANDS)
    return dq_op_fail(op, DQ_UNSUPPORTED, "C is written for at most %d inputs", DQ_EMIT_OPERANDS - 1);
  if (!formula || !dq_emit_fill(to, formula, half ? DQ_F32 : result->type, text))
    return dq_op_fail(op, DQ_UNSUPPORTED, "operator %s of %s has no C yet", op->row->name, dq_dtype_name(result->type));
  dq_emit_nest nest = dq_emit_nest_of(result->rank, result->dims);
  for (int i = 0; i < op->input_count; i++) dq_emit_broadcast(&nest, op->inputs[i]);
  int loops = dq_emit_loops(to, &nest, index);
  dq_emit_load(to, 0, "first", index[1]);
  dq_emit(to, "%s x = first;", type);
  for (int i = 1; i < op->input_count; i++) {
    dq_emit(to, "{");
    dq_emit_load(to, i, "y", index[i + 1]);
    if (DQ_BIT(result->type) & DQ_TYPES_INTEGER) dq_emit(to, "x = (%s)(%s);", type, text);
    else dq_emit(to, "x = %s;", text);
    dq_emit(to, "}");
  }
  dq_emit_assign(to, 0, index[0], end);
  dq_emit_close(to, loops);
  return DQ_OK;
}
