// Pools over windows in C.
#include <inttypes.h>

#include "lib/ops/common/convolution.h"
#include "lib/ops/emit/emit.h"

static dq_status read_window(dq_emission *to, dq_window *w) {
  const dq_tensor *x = to->op->inputs[0];
  DQ_TRY(dq_window_read(to->op, x, NULL, w));
  *w = dq_window_three(w);
  return DQ_OK;
}

// Whether one number is above another, as expressions: float16 is compared by its bits.
static const char *above(dq_emission *to, int type, const char *a, const char *b, char text[80]) {
  if (type == DQ_F16) dq_emit_need(to, DQ_EMIT_HALF_ABOVE);
  snprintf(text, 80, type == DQ_F16 ? "dq_half_above(%s, %s)" : "%s > %s", a, b);
  return text;
}

static const char *least_of(int type) {
  switch (type) {
  case DQ_F32: return "(-1.0f / 0.0f)";
  case DQ_F64: return "(-1.0 / 0.0)";
  case DQ_F16: return "0xfc00u";
  case DQ_I8: return "-128";
  default: return "0";
  }
}

// Loops over planes, rows and columns of the output, and the places of the kernel that lie inside of the input:
// [v0, v1) rows and [u0, u1) columns; x is the element below the first place of the kernel, which may lie outside.
static void open_windows(dq_emission *to, const dq_window *w) {
  const dq_tensor *x = to->op->inputs[0];
  static const char *const names[] = {"", "r", "c"}, *const firsts[] = {"", "v0", "u0"},
                           *const lasts[] = {"", "v1", "u1"};
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", x->dims[0] * x->dims[1]);
  for (int a = 1; a < 3; a++) {
    int64_t d = w->dilation[a];
    dq_emit(to, "for (int32_t %s = 0; %s < %" PRId64 "; %s++) {", names[a], names[a], w->output[a], names[a]);
    dq_emit(to, "const int32_t at_%s = %s * %" PRId64 " - %" PRId64 ", left_%s = %" PRId64 " - at_%s;", names[a],
            names[a], w->stride[a], w->begin[a], names[a], w->input[a], names[a]);
    dq_emit(to, "const int32_t %s = at_%s < 0 ? (%" PRId64 " - at_%s) / %" PRId64 " : 0;", firsts[a], names[a], d - 1,
            names[a], d);
    dq_emit(to, "const int32_t %s = left_%s < %" PRId64 " ? (left_%s + %" PRId64 ") / %" PRId64 " : %" PRId64 ";",
            lasts[a], names[a], dq_window_extent(w, a), names[a], d - 1, d, w->kernel[a]);
  }
  dq_emit(to, "const %s *x = x0 + (n * %" PRId64 " + at_r) * %" PRId64 " + at_c;", dq_emit_type(x->type), w->input[1],
          w->input[2]);
}

// ---- Any window: over three axes, padding of any kind, float64 ----

void dq_emit_positions(dq_emission *to, const dq_window *w, int a) {
  dq_emit(to, "for (int32_t k%d = 0; k%d < %" PRId64 "; k%d++) {", a, a, w->kernel[a], a);
  dq_emit(to, "const int32_t p%d = o%d * %" PRId64 " - %" PRId64 " + k%d * %" PRId64 ";", a, a, w->stride[a],
          w->begin[a], a, w->dilation[a]);
  dq_emit(to, "if (p%d < 0 || p%d >= %" PRId64 ") continue;", a, a, w->input[a]);
}

static void open_outputs(dq_emission *to, const dq_window *w) {
  const dq_tensor *x = to->op->inputs[0];
  dq_emit(to, "int32_t at = 0;");
  dq_emit(to, "for (int32_t n = 0; n < %" PRId64 "; n++) {", x->dims[0] * x->dims[1]);
  dq_emit(to, "const int32_t first = n * %" PRId64 ";", w->input[0] * w->input[1] * w->input[2]);
  for (int a = 0; a < 3; a++) dq_emit(to, "for (int32_t o%d = 0; o%d < %" PRId64 "; o%d++) {", a, a, w->output[a], a);
}

// The rows of a window are combined for each of its columns, then these: `down` and `all` are statements of an element
// `x`, and of the result `down` of a column.
static void combine_window(dq_emission *to, const dq_window *w, const char *type, const char *start, const char *down,
                           const char *all) {
  char element[100];
  open_outputs(to, w);
  dq_emit(to, "%s sum = %s;", type, start);
  dq_emit_positions(to, w, 2);
  dq_emit(to, "%s down = %s;", type, start);
  for (int a = 0; a < 2; a++) dq_emit_positions(to, w, a);
  dq_emit_element(to, 0, "place", element);
  dq_emit(to, "const int32_t place = first + (p0 * %" PRId64 " + p1) * %" PRId64 " + p2;", w->input[1], w->input[2]);
  dq_emit(to, "const %s x = %s;", type, element);
  dq_emit(to, "%s", down);
  dq_emit_close(to, 2);
  dq_emit(to, "%s", all);
  dq_emit_close(to, 1);
}

// What an average divides by, as arrays by output position of each axis.
static dq_status average_window(dq_emission *to, const dq_window *w, bool count_padding) {
  int number[3];
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  for (int a = 0; a < 3; a++) {
    float *counts = DQ_NEW_ARRAY(to->arena, w->output[a], float);
    if (!counts) return dq_fail_memory(to->op->error, (size_t)w->output[a] * sizeof *counts);
    for (int64_t o = 0; o < w->output[a]; o++) counts[o] = (float)dq_window_counted(w, count_padding, a, o);
    number[a] = dq_emit_constant(to, DQ_F32, counts, w->output[a]);
  }
  combine_window(to, w, wide ? "double" : "float", "0", "down += x;", "sum += down;");
  char divided[120];
  snprintf(divided, sizeof divided, "sum / %s((c%d[o0] * c%d[o1]) * c%d[o2])", wide ? "(double)" : "", number[0],
           number[1], number[2]);
  dq_emit_assign(to, 0, "at++", divided);
  dq_emit_close(to, 4);
  return DQ_OK;
}

dq_status dq_emit_lp_pool(dq_emission *to) {
  const bool wide = to->op->inputs[0]->type == DQ_F64;
  const int64_t p = dq_node_int(to->op->node, "p", 2);
  const char *f = wide ? "" : "f";
  char down[120], root[80] = "sum";
  dq_window w;
  DQ_TRY(read_window(to, &w));
  dq_emit_need(to, DQ_EMIT_MATH);
  if (p == 1) snprintf(down, sizeof down, "down += fabs%s(x);", f);
  else if (p == 2) snprintf(down, sizeof down, "down += x * x;");
  else snprintf(down, sizeof down, "down += pow%s(fabs%s(x), %" PRId64 ".0%s);", f, f, p, f);
  if (p != 1) snprintf(root, sizeof root, "pow%s(sum, 1.0%s / %" PRId64 ".0%s)", f, f, p, f);
  combine_window(to, &w, wide ? "double" : "float", "0", down, "sum += down;");
  dq_emit_assign(to, 0, "at++", root);
  dq_emit_close(to, 4);
  return DQ_OK;
}

// The place of each maximum too; the first of equals wins, as in indexed_window.
static dq_status place_maxima(dq_emission *to, const dq_window *w) {
  const dq_tensor *x = to->op->inputs[0];
  const bool by_columns = dq_node_int(to->op->node, "storage_order", 0) != 0;
  char element[100], larger[80];
  dq_emit_element(to, 0, "first + place", element);
  open_outputs(to, w);
  dq_emit(to, "%s largest = %s;", dq_emit_type(x->type), least_of(x->type));
  dq_emit(to, "int32_t best = -1;");
  for (int a = 0; a < 3; a++) dq_emit_positions(to, w, a);
  dq_emit(to, "const int32_t place = (p0 * %" PRId64 " + p1) * %" PRId64 " + p2;", w->input[1], w->input[2]);
  dq_emit(to, "const %s x = %s;", dq_emit_type(x->type), element);
  dq_emit(to, "if (best >= 0 && !(%s)) continue;", above(to, x->type, "x", "largest", larger));
  dq_emit(to, "largest = x;");
  if (by_columns) dq_emit(to, "best = (p2 * %" PRId64 " + p1) * %" PRId64 " + p0;", w->input[1], w->input[0]);
  else dq_emit(to, "best = place;");
  dq_emit_close(to, 3);
  dq_emit(to, "y0[at] = largest;");
  dq_emit(to, "y1[at++] = first + (best < 0 ? 0 : best);");
  dq_emit_close(to, 4);
  return DQ_OK;
}

static dq_status maximum_window(dq_emission *to, const dq_window *w) {
  const int type = to->op->inputs[0]->type;
  char larger[80], down[120], all[120];
  if (dq_op_output(to->op, 1)) return place_maxima(to, w);
  snprintf(down, sizeof down, "down = %s ? x : down;", above(to, type, "x", "down", larger));
  snprintf(all, sizeof all, "sum = %s ? down : sum;", above(to, type, "down", "sum", larger));
  combine_window(to, w, dq_emit_type(type), least_of(type), down, all);
  dq_emit(to, "y0[at++] = sum;");
  dq_emit_close(to, 4);
  return DQ_OK;
}

// ---- Windows over one or two axes ----

// The element of row `v` and column u below `x`, as float where it is float16 that is computed in float32.
static const char *element_at(dq_emission *to, const dq_window *w, const char *v, char text[160]) {
  const bool half = dq_emit_is_half(to, to->op->inputs[0]);
  if (half) dq_emit_need(to, DQ_EMIT_FROM_HALF);
  snprintf(text, 160,
           half ? "dq_half_to_float(x[%s * %" PRId64 " + u * %" PRId64 "])" : "x[%s * %" PRId64 " + u * %" PRId64 "]",
           v, w->dilation[1] * w->input[2], w->dilation[2]);
  return text;
}

static void index_output(const dq_window *w, char text[100]) {
  snprintf(text, 100, "(n * %" PRId64 " + r) * %" PRId64 " + c", w->output[1], w->output[2]);
}

// Largest numbers of integers, row by row.
static void largest_integer(dq_emission *to, const dq_window *w, const char *type) {
  char element[160];
  dq_emit(to, "for (int32_t v = v0; v < v1; v++) {");
  dq_emit(to, "for (int32_t u = u0; u < u1; u++) {");
  dq_emit(to, "const %s value = %s;", type, element_at(to, w, "v", element));
  dq_emit(to, "largest = value > largest ? value : largest;");
  dq_emit_close(to, 2);
}

// Columns first, then their results, as run does: of 0 and -0 the first stays, and a NaN in the first row stands for
// its column.
static void largest_float(dq_emission *to, const dq_window *w, const char *type) {
  const int number = to->op->inputs[0]->type;
  char element[160], larger[80];
  dq_emit(to, "for (int32_t u = v0 < v1 ? u0 : u1; u < u1; u++) {");
  dq_emit(to, "%s down = %s;", type, element_at(to, w, "v0", element));
  dq_emit(to, "for (int32_t v = v0 + 1; v < v1; v++) {");
  dq_emit(to, "const %s value = %s;", type, element_at(to, w, "v", element));
  dq_emit(to, "down = %s ? value : down;", above(to, number, "value", "down", larger));
  dq_emit(to, "}");
  dq_emit(to, "largest = %s ? down : largest;", above(to, number, "down", "largest", larger));
  dq_emit(to, "}");
}

dq_status dq_emit_max_pool(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[0];
  const char *type = dq_emit_type(x->type);
  char index[100];
  dq_window w;
  DQ_TRY(read_window(to, &w));
  if (dq_op_output(to->op, 1) || x->rank > 4 || x->type == DQ_F64) return maximum_window(to, &w);
  open_windows(to, &w);
  dq_emit(to, "%s largest = %s;", type, least_of(x->type));
  if (DQ_BIT(x->type) & DQ_TYPES_FLOAT) largest_float(to, &w, type);
  else largest_integer(to, &w, type);
  index_output(&w, index);
  dq_emit(to, "y0[%s] = largest;", index);
  dq_emit_close(to, 3);
  return DQ_OK;
}

// Whether no window reaches beyond the padded input, where the average counts padding by another rule.
static bool stays_inside(const dq_window *w) {
  for (int a = 0; a < 3; a++)
    if ((w->output[a] - 1) * w->stride[a] + dq_window_extent(w, a) > w->input[a] + w->begin[a] + w->end[a])
      return false;
  return true;
}

// The columns of a window are added down its rows, then these sums along the row, as run does.
dq_status dq_emit_average_pool(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[0];
  bool all = dq_node_int(to->op->node, "count_include_pad", 0) != 0;
  char element[160], index[100];
  dq_window w;
  DQ_TRY(read_window(to, &w));
  if (x->rank > 4 || x->type == DQ_F64 || (all && !stays_inside(&w))) return average_window(to, &w, all);
  open_windows(to, &w);
  dq_emit(to, "float sum = 0.0f;");
  dq_emit(to, "for (int32_t u = u0; u < u1; u++) {");
  dq_emit(to, "float down = v0 < v1 ? %s : 0.0f;", element_at(to, &w, "v0", element));
  dq_emit(to, "for (int32_t v = v0 + 1; v < v1; v++) down += %s;", element_at(to, &w, "v", element));
  dq_emit(to, "sum += down;");
  dq_emit(to, "}");
  if (all) dq_emit(to, "sum = sum / %" PRId64 ".0f;", w.kernel[1] * w.kernel[2]);
  else
    dq_emit(to, "const int32_t rows = v1 - v0, columns = u1 - u0;"),
        dq_emit(to, "sum = sum / ((float)rows * (float)columns);");
  index_output(&w, index);
  dq_emit_assign(to, 0, index, "sum");
  dq_emit_close(to, 3);
  return DQ_OK;
}
