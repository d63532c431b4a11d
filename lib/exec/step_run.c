// What a step runs, as a text for wisdom: the same text where the same time is expected.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/exec/plan_internal.h"
#include "lib/kernels/conv/conv.h"

enum { MOST_ATTRIBUTES = 64 }; // more than any operator has: a node with more is not tuned

typedef struct writer {
  char *text;
  size_t at; // DQ_RUN_TEXT: there was no place
} writer;

static void __attribute__((format(printf, 2, 3))) put(writer *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  size_t left = DQ_RUN_TEXT - w->at;
  int bytes = left ? vsnprintf(w->text + w->at, left, format, arguments) : 0;
  w->at = bytes < 0 || (size_t)bytes >= left ? DQ_RUN_TEXT : w->at + (size_t)bytes;
  va_end(arguments);
}

// "float32[1,3,224,224]", with '=' for constants.
static void put_tensor(writer *w, const dq_value *value, const dq_tensor *tensor) {
  if (!value) {
    put(w, "/-");
    return;
  }
  put(w, "/%s[", dq_dtype_name(tensor->type));
  for (int d = 0; d < tensor->rank; d++) put(w, d ? ",%" PRId64 : "%" PRId64, tensor->dims[d]);
  put(w, value->constant ? "]=" : "]");
}

static void put_ints(writer *w, const dq_attribute *attribute) {
  put(w, "/%s=", attribute->name);
  for (size_t i = 0; i < attribute->count; i++) put(w, i ? ",%" PRId64 : "%" PRId64, attribute->ints[i]);
}

// Floats change no time; tensors and graphs are not part of what is tuned.
static void put_attribute(writer *w, const dq_attribute *attribute) {
  if (attribute->type == DQ_ATTRIBUTE_INT) put(w, "/%s=%" PRId64, attribute->name, attribute->i);
  else if (attribute->type == DQ_ATTRIBUTE_INTS) put_ints(w, attribute);
  else if (attribute->type == DQ_ATTRIBUTE_STRING) put(w, "/%s=%s", attribute->name, attribute->s);
}

static const dq_attribute *next_attribute(const dq_node *node, const char *behind) {
  const dq_attribute *next = NULL;
  for (int a = 0; a < node->attribute_count; a++) {
    const dq_attribute *one = &node->attributes[a];
    if (strcmp(one->name, behind) > 0 && (!next || strcmp(one->name, next->name) < 0)) next = one;
  }
  return next;
}

bool dq_plan_step_run(const dq_plan *plan, int i, char *text) {
  const dq_step *step = &plan->steps[i];
  const dq_op *op = &step->op;
  const dq_node *node = op->node;
  writer w = {.text = text};
  if (dq_schedule_step_at(plan->schedule, i)->dynamic || node->attribute_count > MOST_ATTRIBUTES) return false;
  const char *sums = step->algorithm == DQ_CONV_AUTO ? "any" : dq_conv_choice_name((dq_conv_choice)step->algorithm);
  put(&w, "%s/%s%s", node->op_type, sums, plan->context->half_sums ? "/half" : "");
  for (int k = 0; k < op->input_count; k++) put_tensor(&w, node->inputs[k], op->inputs[k]);
  put(&w, "/to");
  for (int k = 0; k < op->output_count; k++) put_tensor(&w, node->outputs[k], op->outputs[k]);
  for (const dq_attribute *a = next_attribute(node, ""); a; a = next_attribute(node, a->name)) put_attribute(&w, a);
  for (size_t k = 0; k < w.at && w.at < DQ_RUN_TEXT; k++)
    if ((unsigned char)text[k] <= ' ') text[k] = '_';
  return w.at < DQ_RUN_TEXT;
}

dq_step_choice dq_plan_step_choice(const dq_plan *plan, int i) { return plan->steps[i].choice; }

static unsigned knobs_of_sizes(unsigned sizes) {
  return (sizes & DQ_KNOB_COLUMNS ? 1u << DQ_KNOB_OF_COLUMNS : 0) |
         (sizes & DQ_KNOB_DEPTH ? 1u << DQ_KNOB_OF_DEPTH : 0);
}

unsigned dq_plan_step_knobs(const dq_plan *plan, int i) {
  const dq_op_convolution *convolution = &plan->steps[i].op.convolution;
  bool chosen = convolution->computed_by && plan->steps[i].algorithm <= DQ_CONV_AUTO;
  unsigned knobs = chosen ? 1u << DQ_KNOB_OF_ALGORITHM : 0;
  if (chosen) knobs |= knobs_of_sizes(convolution->knobs);
  if (dq_pool_threads(plan->context->pool) > 1) knobs |= 1u << DQ_KNOB_OF_THREADS;
  return knobs;
}

dq_step_form dq_plan_step_form(const dq_plan *plan, int i, const dq_step_choice *choice) {
  const dq_conv_plan *convolution = plan->steps[i].op.convolution.plan;
  const int *values = choice->values;
  const dq_conv_tuning tuning = {values[DQ_KNOB_OF_ALGORITHM], values[DQ_KNOB_OF_COLUMNS], values[DQ_KNOB_OF_DEPTH]};
  dq_step_form form = {.threads = values[DQ_KNOB_OF_THREADS] ? 1 : dq_pool_threads(plan->context->pool)};
  if (!convolution) return form;
  const dq_conv_form blocks = dq_conv_form_of(convolution, &tuning, form.threads);
  form.algorithm = blocks.algorithm, form.knobs = knobs_of_sizes(blocks.knobs);
  form.columns = blocks.columns, form.depth = blocks.depth, form.counts = blocks.counts;
  return form;
}

bool dq_step_same_form(const dq_step_form *a, const dq_step_form *b) {
  return a->algorithm == b->algorithm && a->columns == b->columns && a->depth == b->depth && a->threads == b->threads;
}
