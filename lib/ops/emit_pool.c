// Pools over windows in C.
#include <inttypes.h>

#include "lib/ops/convolution.h"
#include "lib/ops/emit.h"

static dq_status read_window(dq_emission *to, dq_window *w) {
  const dq_tensor *x = to->op->inputs[0];
  if (x->rank > 4) return dq_op_fail(to->op, DQ_UNSUPPORTED, "pools over more than two axes have no C yet");
  DQ_TRY(dq_window_read(to->op, x, NULL, w));
  *w = dq_window_three(w);
  return DQ_OK;
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

static const char *least_of(int type) { return type == DQ_F32 ? "(-1.0f / 0.0f)" : type == DQ_I8 ? "-128" : "0"; }

dq_status dq_emit_max_pool(dq_emission *to) {
  const dq_tensor *x = to->op->inputs[0];
  dq_window w;
  if (dq_op_output(to->op, 1) || !(DQ_BIT(x->type) & (DQ_BIT(DQ_F32) | DQ_BIT(DQ_I8) | DQ_BIT(DQ_U8))))
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "C is written for float32 and 8 bits, without indices, only");
  DQ_TRY(read_window(to, &w));
  open_windows(to, &w);
  dq_emit(to, "%s largest = %s;", dq_emit_type(x->type), least_of(x->type));
  dq_emit(to, "for (int32_t v = v0; v < v1; v++) {");
  dq_emit(to, "for (int32_t u = u0; u < u1; u++) {");
  dq_emit(to, "const %s value = x[v * %" PRId64 " + u * %" PRId64 "];", dq_emit_type(x->type),
          w.dilation[1] * w.input[2], w.dilation[2]);
  dq_emit(to, "largest = value > largest ? value : largest;");
  dq_emit_close(to, 2);
  dq_emit(to, "y0[(n * %" PRId64 " + r) * %" PRId64 " + c] = largest;", w.output[1], w.output[2]);
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
  dq_window w;
  if (x->type != DQ_F32) return dq_op_fail(to->op, DQ_UNSUPPORTED, "C is written for float32 only");
  DQ_TRY(read_window(to, &w));
  if (all && !stays_inside(&w)) return dq_op_fail(to->op, DQ_UNSUPPORTED, "windows beyond the padding have no C yet");
  open_windows(to, &w);
  dq_emit(to, "float sum = 0.0f;");
  dq_emit(to, "for (int32_t u = u0; u < u1; u++) {");
  dq_emit(to, "float down = v0 < v1 ? x[v0 * %" PRId64 " + u * %" PRId64 "] : 0.0f;", w.dilation[1] * w.input[2],
          w.dilation[2]);
  dq_emit(to, "for (int32_t v = v0 + 1; v < v1; v++) down += x[v * %" PRId64 " + u * %" PRId64 "];",
          w.dilation[1] * w.input[2], w.dilation[2]);
  dq_emit(to, "sum += down;");
  dq_emit(to, "}");
  if (all) dq_emit(to, "sum = sum / %" PRId64 ".0f;", w.kernel[1] * w.kernel[2]);
  else dq_emit(to, "sum = sum / ((float)(v1 - v0) * (float)(u1 - u0));");
  dq_emit(to, "y0[(n * %" PRId64 " + r) * %" PRId64 " + c] = sum;", w.output[1], w.output[2]);
  dq_emit_close(to, 3);
  return DQ_OK;
}
