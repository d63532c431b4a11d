// C of interpolation along axes: what lib/ops/picture/resize.c computes, each product rounded before it is added.
#include <inttypes.h>
#include <stdio.h>

#include "lib/ops/emit/emit_resize.h"

// ---- Two taps along the last two axes: no values between them are stored ----

// Declares the two elements and weights along an axis of the output, by constants of the step.
static void emit_axis(dq_emission *to, const dq_resize_axis *axis, const char *name) {
  int index = dq_emit_constant(to, DQ_I32, axis->index, 2 * axis->output);
  int weight = dq_emit_constant(to, DQ_F32, axis->weight_f32, 2 * axis->output);
  dq_emit(to, "const int32_t %s0 = c%d[2 * %s], %s1 = c%d[2 * %s + 1];", name, index, name, name, index, name);
  dq_emit(to, "const float w%s0 = c%d[2 * %s], w%s1 = c%d[2 * %s + 1];", name, weight, name, name, weight, name);
}

static bool is_plain(const dq_emission *to, const dq_resize_axis *axes, int rank) {
  if (to->op->inputs[0]->type != DQ_F32 || rank < 2) return false;
  for (int i = 0; i < rank - 2; i++)
    if (!axes[i].same) return false;
  for (int i = rank - 2; i < rank; i++)
    if (!axes[i].same && (axes[i].extrapolated || axes[i].taps != 2 || !axes[i].weight_f32)) return false;
  return true;
}

// The last axis first, as interpolate_f32 has it.
static dq_status emit_plain(dq_emission *to, const dq_resize_axis *axes, int rank) {
  const dq_resize_axis *h = &axes[rank - 2], *w = &axes[rank - 1];
  int64_t outer = dq_tensor_product(to->op->inputs[0], 0, rank - 2);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", outer);
  dq_emit(to, "const float *x = x0 + n * %" PRId64 ";", h->input * w->input);
  dq_emit(to, "for (int32_t h = 0; h < %" PRId64 "; h++) {", h->output);
  if (!h->same) emit_axis(to, h, "h");
  dq_emit(to, "for (int32_t w = 0; w < %" PRId64 "; w++) {", w->output);
  if (!w->same) emit_axis(to, w, "w");
  for (int row = 0; row < (h->same ? 1 : 2); row++) {
    char place[40];
    if (h->same) snprintf(place, sizeof place, "h * %" PRId64, w->input);
    else snprintf(place, sizeof place, "h%d * %" PRId64, row, w->input);
    if (w->same) dq_emit(to, "const float row%d = x[%s + w];", row, place);
    else
      dq_emit(to, "const float left%d = ww0 * x[%s + w0], right%d = ww1 * x[%s + w1], row%d = left%d + right%d;", row,
              place, row, place, row, row, row);
  }
  if (!h->same) dq_emit(to, "const float upper = wh0 * row0, lower = wh1 * row1;");
  dq_emit(to, "y0[(n * %" PRId64 " + h) * %" PRId64 " + w] = %s;", h->output, w->output,
          h->same ? "row0" : "upper + lower");
  dq_emit_close(to, 3);
  return DQ_OK;
}

// ---- Any number of axes and taps: axis by axis, from the last to the first ----

// One axis of a block: outer x input x inner elements to outer x output x inner.
typedef struct pass {
  const dq_resize_axis *axis;
  int64_t outer, inner;
  bool first, last;            // reads the input, writes the output
  size_t from, into;           // elements of scratch in front of the values that it reads and writes otherwise
  int64_t in_count, out_count; // elements of a block of the input and of the output
} pass;

static void emit_pass(dq_emission *to, const pass *p, const char *type, const char *outside) {
  const dq_resize_axis *a = p->axis;
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  char element[100] = "from[place]";
  const void *weights = wide ? (const void *)a->weight_f64 : (const void *)a->weight_f32;
  int index = dq_emit_constant(to, DQ_I32, a->index, a->output * a->taps);
  int weight = weights ? dq_emit_constant(to, wide ? DQ_F64 : DQ_F32, weights, a->output * a->taps) : -1;
  if (p->first) dq_emit_element(to, 0, "place", element);
  dq_emit(to, "{");
  if (!p->first) dq_emit(to, "const %s *from = (const %s *)scratch + %zu;", type, type, p->from);
  if (!p->last) dq_emit(to, "%s *into = (%s *)scratch + %zu;", type, type, p->into);
  if (p->last) dq_emit(to, "int32_t at = n * %" PRId64 ";", p->out_count);
  else dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t r = 0; r < %" PRId64 "; r++) {", p->outer);
  dq_emit(to, "for (int32_t o = 0; o < %" PRId64 "; o++) {", a->output);
  dq_emit(to, "for (int32_t i = 0; i < %" PRId64 "; i++) {", p->inner);
  if (p->first)
    dq_emit(to, "const int32_t base = n * %" PRId64 " + r * %" PRId64 " + i;", p->in_count, a->input * p->inner);
  else dq_emit(to, "const int32_t base = r * %" PRId64 " + i;", a->input * p->inner);
  dq_emit(to, "%s sum = 0;", type);
  dq_emit(to, "for (int32_t t = 0; t < %d; t++) {", a->taps);
  dq_emit(to, "const int32_t source = c%d[o * %d + t];", index, a->taps);
  dq_emit(to, "const int32_t place = base + (source < 0 ? 0 : source) * %" PRId64 ";", p->inner);
  if (weight < 0) dq_emit(to, "const %s product = %s;", type, element);
  else dq_emit(to, "const %s product = c%d[o * %d + t] * %s;", type, weight, a->taps, element);
  dq_emit(to, "sum = t == 0 ? product : sum + product;");
  dq_emit(to, "}");
  if (a->extrapolated) dq_emit(to, "if (c%d[o * %d] < 0) sum = %s;", index, a->taps, outside);
  if (p->last) dq_emit_assign(to, 0, "at++", "sum");
  else dq_emit(to, "into[at++] = sum;");
  dq_emit_close(to, 4);
}

// Two buffers in scratch take turns.
static dq_status emit_passes(dq_emission *to, const dq_resize_axis *axes, int rank, float extrapolation) {
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  const size_t size = wide ? sizeof(double) : sizeof(float);
  char outside[48];
  int first = rank, left = 0, done = 0;
  int64_t in_count = 1, out_count = 1, most = 0, outer, inner = 1;
  for (int i = rank - 1; i >= 0; i--)
    if (!axes[i].same) first = i, left++;
  for (int i = first; i < rank; i++) in_count *= axes[i].input, out_count *= axes[i].output;
  outer = in_count;
  for (int i = rank - 1; i >= first; i--) { // the largest of the values between two passes
    outer /= axes[i].input, inner *= axes[i].output;
    if (!axes[i].same && ++done < left && outer * inner > most) most = outer * inner;
  }
  to->scratch_bytes = (size_t)most * size * (left > 2 ? 2 : 1);
  dq_emit_real(extrapolation, outside);
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", dq_tensor_product(to->op->inputs[0], 0, first));
  outer = in_count, inner = 1, done = 0;
  for (int i = rank - 1; i >= first; i--) {
    outer /= axes[i].input;
    if (!axes[i].same) {
      const pass p = {&axes[i],
                      outer,
                      inner,
                      done == 0,
                      done + 1 == left,
                      done % 2 ? 0 : (size_t)most,
                      done % 2 ? (size_t)most : 0,
                      in_count,
                      out_count};
      emit_pass(to, &p, wide ? "double" : "float", outside);
      done++;
    }
    inner *= axes[i].output;
  }
  dq_emit_close(to, 1);
  return DQ_OK;
}

dq_status dq_emit_resize(dq_emission *to, const dq_resize_axis *axes, int rank, float extrapolation) {
  const dq_tensor *x = to->op->inputs[0];
  bool same = true;
  if (x->type != DQ_F32 && x->type != DQ_F64 && !dq_emit_is_half(to, x))
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "C is written for interpolation of floats only");
  for (int i = 0; i < rank; i++) same = same && axes[i].same;
  if (same) {
    char name[16];
    dq_emit(to, "(void)memcpy(y0, %s, %zu);", dq_emit_input(to, 0, name), dq_tensor_bytes(x));
    return DQ_OK;
  }
  return is_plain(to, axes, rank) ? emit_plain(to, axes, rank) : emit_passes(to, axes, rank, extrapolation);
}
