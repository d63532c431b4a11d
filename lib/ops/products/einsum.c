// Einsum: products of elements that share labels, summed over the labels the output does not have.
// One plain loop over all labels, for the small products that models spell this way.
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/ops/common/strided.h"

enum { LETTERS = 128, MOST_LABELS = 16, MOST_INPUTS = 8 };

// Labels are characters; the dimensions of an ellipsis are the labels 1, 2, ... from its right end.
typedef struct term {
  char labels[DQ_MAX_RANK + 1];
  int rank;
} term;

typedef struct equation {
  term inputs[MOST_INPUTS], output;
  int64_t size[LETTERS]; // of each label; 0 with `used` false when it does not occur
  bool used[LETTERS];
} equation;

static dq_status add_label(const dq_op *op, term *t, char label) {
  if (t->rank == DQ_MAX_RANK)
    return dq_op_fail(op, DQ_BAD_INPUT, "a term of the equation has more than %d labels", DQ_MAX_RANK);
  t->labels[t->rank++] = label;
  return DQ_OK;
}

// Reads labels up to ',', '-' or the end. `ellipsis`: dimensions an ellipsis stands for.
static dq_status read_term(const dq_op *op, const char **text, int ellipsis, term *t) {
  *t = (term){.rank = 0};
  for (; **text && **text != ',' && **text != '-'; (*text)++) {
    if (isspace((unsigned char)**text)) continue;
    if (!strncmp(*text, "...", 3)) {
      for (int i = ellipsis; i > 0; i--) DQ_TRY(add_label(op, t, (char)i));
      *text += 2;
    } else if (isalpha((unsigned char)**text)) {
      DQ_TRY(add_label(op, t, **text));
    } else {
      return dq_op_fail(op, DQ_BAD_INPUT, "the equation has '%c', expected letters, ',', '...' and '->'", **text);
    }
  }
  return DQ_OK;
}

// Letters of the term ahead, without its ellipsis.
static int count_letters(const char *text) {
  int count = 0;
  for (; *text && *text != ',' && *text != '-'; text++) count += isalpha((unsigned char)*text) != 0;
  return count;
}

static dq_status set_sizes(const dq_op *op, equation *e, const term *t, const dq_tensor *input) {
  if (t->rank != input->rank)
    return dq_op_fail(op, DQ_BAD_INPUT,
                      "a term of the equation has %d labels for an input of %d dimensions, expected equal numbers",
                      t->rank, input->rank);
  for (int i = 0; i < t->rank; i++) {
    unsigned char label = (unsigned char)t->labels[i];
    int64_t dim = input->dims[i], known = e->used[label] ? e->size[label] : 1;
    if (known != 1 && dim != 1 && known != dim)
      return dq_op_fail(op, DQ_BAD_INPUT, "label '%c' has the sizes %" PRId64 " and %" PRId64 ", expected one size",
                        isalpha(label) ? label : '.', known, dim);
    e->size[label] = known == 1 ? dim : known;
    e->used[label] = true;
  }
  return DQ_OK;
}

// Sets the output of an equation without an arrow: the ellipsis and then, sorted, the letters that occur once.
static dq_status implicit_output(const dq_op *op, equation *e, int ellipsis) {
  int times[LETTERS] = {0};
  for (int i = 0; i < op->input_count; i++)
    for (int d = 0; d < e->inputs[i].rank; d++) times[(unsigned char)e->inputs[i].labels[d]]++;
  e->output = (term){.rank = 0};
  for (int i = ellipsis; i > 0; i--) DQ_TRY(add_label(op, &e->output, (char)i));
  for (int letter = 'A'; letter <= 'z'; letter++)
    if (times[letter] == 1) DQ_TRY(add_label(op, &e->output, (char)letter));
  return DQ_OK;
}

static dq_status read_equation(const dq_op *op, equation *e) {
  const char *text = dq_node_string(op->node, "equation", "");
  int ellipsis = 0;
  memset(e, 0, sizeof *e);
  if (op->input_count > MOST_INPUTS)
    return dq_op_fail(op, DQ_UNSUPPORTED, "%d inputs, at most %d are supported", op->input_count, MOST_INPUTS);
  for (int i = 0; i < op->input_count; i++) {
    if (!op->inputs[i]) return dq_op_fail(op, DQ_BAD_INPUT, "input %d is left out", i);
    int own = op->inputs[i]->rank - count_letters(text);
    DQ_TRY(read_term(op, &text, own > 0 ? own : 0, &e->inputs[i]));
    DQ_TRY(set_sizes(op, e, &e->inputs[i], op->inputs[i]));
    if (own > ellipsis) ellipsis = own;
    if (i < op->input_count - 1 && *text++ != ',')
      return dq_op_fail(op, DQ_BAD_INPUT, "the equation has fewer terms than the node inputs");
  }
  if (!*text) return implicit_output(op, e, ellipsis);
  if (strncmp(text, "->", 2)) return dq_op_fail(op, DQ_BAD_INPUT, "the equation does not end in '->' and the output");
  text += 2;
  DQ_TRY(read_term(op, &text, ellipsis, &e->output));
  bool seen[LETTERS] = {0};
  for (int i = 0; i < e->output.rank; i++) {
    unsigned char label = (unsigned char)e->output.labels[i];
    if (!e->used[label] || seen[label])
      return dq_op_fail(op, DQ_BAD_INPUT, "output label '%c' is unknown or given twice", label);
    seen[label] = true;
  }
  return *text ? dq_op_fail(op, DQ_BAD_INPUT, "the equation has more after the output") : DQ_OK;
}

static dq_status infer(dq_op *op) {
  equation e;
  int64_t dims[DQ_MAX_RANK];
  DQ_TRY(read_equation(op, &e));
  for (int i = 0; i < e.output.rank; i++) dims[i] = e.size[(unsigned char)e.output.labels[i]];
  return dq_op_shape(op, 0, op->inputs[0]->type, e.output.rank, dims);
}

// All labels, those of the output first, with their sizes and the strides of every input.
typedef struct loops {
  int count, output; // labels; how many of them belong to the output
  int64_t size[MOST_LABELS], stride[MOST_INPUTS][MOST_LABELS];
} loops;

static dq_status plan_loops(const dq_op *op, const equation *e, loops *l) {
  unsigned char labels[LETTERS];
  bool placed[LETTERS] = {0};
  memset(l, 0, sizeof *l);
  l->count = l->output = e->output.rank;
  for (int i = 0; i < e->output.rank; i++) {
    labels[i] = (unsigned char)e->output.labels[i];
    placed[labels[i]] = true;
  }
  for (int label = 1; label < LETTERS; label++)
    if (e->used[label] && !placed[label]) labels[l->count++] = (unsigned char)label;
  if (l->count > MOST_LABELS)
    return dq_op_fail(op, DQ_UNSUPPORTED, "%d labels, at most %d are supported", l->count, MOST_LABELS);
  for (int k = 0; k < l->count; k++) {
    l->size[k] = e->size[labels[k]];
    for (int i = 0; i < op->input_count; i++) {
      int64_t strides[DQ_MAX_RANK];
      dq_strides(op->inputs[i]->rank, op->inputs[i]->dims, strides);
      for (int d = 0; d < e->inputs[i].rank; d++)
        if ((unsigned char)e->inputs[i].labels[d] == labels[k] && op->inputs[i]->dims[d] != 1)
          l->stride[i][k] += strides[d];
    }
  }
  return DQ_OK;
}

static double sum_products(const dq_op *op, const loops *l, int64_t position, int64_t sums) {
  int64_t base[MOST_INPUTS] = {0};
  double sum = 0;
  for (int k = l->output - 1; k >= 0; k--) {
    for (int i = 0; i < op->input_count; i++) base[i] += position % l->size[k] * l->stride[i][k];
    position /= l->size[k];
  }
  for (int64_t s = 0; s < sums; s++) {
    double product = 1;
    for (int i = 0; i < op->input_count; i++) {
      int64_t at = base[i], rest = s;
      for (int k = l->count - 1; k >= l->output; k--) {
        at += rest % l->size[k] * l->stride[i][k];
        rest /= l->size[k];
      }
      product *= dq_tensor_get(op->inputs[i], at);
    }
    sum += product;
  }
  return sum;
}

static dq_status run(dq_op *op) {
  equation e;
  loops l;
  DQ_TRY(read_equation(op, &e));
  DQ_TRY(plan_loops(op, &e, &l));
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i]->type != op->inputs[0]->type)
      return dq_op_fail(op, DQ_BAD_INPUT, "input %d has type %s, input 0 has %s; expected one type", i,
                        dq_dtype_name(op->inputs[i]->type), dq_dtype_name(op->inputs[0]->type));
  int64_t sums = 1, count = dq_tensor_count(op->outputs[0]);
  for (int k = l.output; k < l.count; k++)
    if (__builtin_mul_overflow(sums, l.size[k], &sums))
      return dq_op_fail(op, DQ_BAD_INPUT, "the sums of the equation are too long");
  for (int64_t o = 0; o < count; o++) dq_tensor_set(op->outputs[0], o, sum_products(op, &l, o, sums));
  return DQ_OK;
}

const dq_operator dq_op_Einsum = {
    .name = "Einsum",
    .since = {12, 28},
    .inputs = {1, DQ_ANY_NUMBER},
    .outputs = {1, 1},
    .types = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) | DQ_BIT(DQ_I32),
    .attributes = (const dq_attribute_rule[]){{"equation", DQ_ATTRIBUTE_STRING, true}, {0}},
    .infer = infer,
    .run = run,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF,
};
