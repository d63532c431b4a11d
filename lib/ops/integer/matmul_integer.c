// MatMulInteger and QLinearMatMul: products of matrices of 8-bit operands with int32 sums.
#include <inttypes.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/ops/common/matmul.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/common/quantized.h"
#include "lib/ops/emit/emit_integer.h"

typedef struct operands {
  int a, a_zero_point, b, b_zero_point;
  bool requantize; // else the output is int32 sums
  dq_requantization_inputs requantization;
} operands;

static const operands integer_operands = {.a = 0, .b = 1, .a_zero_point = 2, .b_zero_point = 3};

static const operands qlinear_operands = {
    .a = 0,
    .a_zero_point = 2,
    .b = 3,
    .b_zero_point = 5,
    .requantize = true,
    .requantization = {.x_scale = 1, .w_scale = 4, .y_scale = 6, .y_zero_point = 7, .bias = 8}};

// QGemm of ONNX Runtime, domain com.microsoft: the bias stands before the result's scale.
static const operands microsoft_operands = {
    .a = 0,
    .a_zero_point = 2,
    .b = 3,
    .b_zero_point = 5,
    .requantize = true,
    .requantization = {.x_scale = 1, .w_scale = 4, .y_scale = 7, .y_zero_point = 8, .bias = 6}};

// dq QGemm and com.microsoft QGemm.
static bool is_gemm(const dq_op *op) { return !strcmp(op->row->name, "QGemm"); }
static bool transposes_b(const dq_op *op) { return is_gemm(op) && dq_node_int(op->node, "transB", 0) != 0; }

// B as if its matrix were stored depth x columns.
static dq_status upright(const dq_op *op, const operands *from, dq_tensor *b) {
  const dq_tensor *a = op->inputs[from->a];
  *b = *op->inputs[from->b];
  if (!is_gemm(op)) return DQ_OK;
  if (a->rank != 2 || b->rank != 2)
    return dq_op_fail(op, DQ_BAD_INPUT, "operands have %d and %d dimensions, expected 2 each", a->rank, b->rank);
  if (transposes_b(op)) {
    int64_t columns = b->dims[0];
    b->dims[0] = b->dims[1];
    b->dims[1] = columns;
  }
  return DQ_OK;
}

static dq_status infer(dq_op *op, const operands *from) {
  int type = DQ_I32;
  dq_tensor b;
  DQ_TRY(dq_check_input_type(op, from->a, DQ_TYPES_8_BIT));
  DQ_TRY(dq_check_input_type(op, from->b, DQ_TYPES_8_BIT));
  if (from->requantize) DQ_TRY(dq_result_type(op, &from->requantization, &type));
  DQ_TRY(upright(op, from, &b));
  return dq_matmul_infer(op, op->inputs[from->a], &b, type);
}

// Scales and zero points that differ from row to row or from matrix to matrix: requantized row by
// row after the product.
typedef struct row_scales {
  dq_scales a, b, y;
  dq_zero_points y_zero;
} row_scales;

typedef struct integer_state {
  dq_matmul shape;
  dq_gemm_int8_parameters parameters; // zero points of the first product
  dq_zero_points a_zero, b_zero;
  bool floats;  // sums first, then scaled in place
  bool dynamic; // A's zero points are read at every run
  void *packed; // NULL when B is several matrices, or not constant
  dq_requantization requantization;
  bool by_rows; // then `rows` holds and the requantization only bounds and type
  row_scales rows;
  float *multipliers; // by_rows: room for one row
  size_t sum_bytes;   // by_rows: sums of one product, at the start of scratch
} integer_state;

static bool is_single(const dq_op *op, int i) { return dq_tensor_count(op->inputs[i]) == 1; }

static dq_status read_rows(dq_op *op, const operands *from, int64_t rows, int64_t b_matrices, integer_state *s,
                           dq_arena *arena) {
  const dq_requantization_inputs *in = &from->requantization;
  int64_t columns = s->shape.columns, stack = s->shape.batch * s->shape.rows / rows;
  row_scales *r = &s->rows;
  int type = op->inputs[in->y_zero_point]->type;
  DQ_TRY(dq_read_scales(op, in->x_scale, rows, stack, arena, &r->a));
  DQ_TRY(dq_read_scales(op, in->w_scale, columns, b_matrices, arena, &r->b));
  DQ_TRY(dq_read_scales(op, in->y_scale, rows, stack, arena, &r->y));
  DQ_TRY(dq_read_zero_points(op, in->y_zero_point, type, rows, stack, arena, &r->y_zero));
  s->multipliers = DQ_NEW_ARRAY(arena, columns, float);
  size_t sums;
  if (!s->multipliers || !dq_mul_size((size_t)s->shape.rows * sizeof(int32_t), (size_t)columns, &sums))
    return dq_fail_memory(op->error, 0);
  s->by_rows = true;
  s->sum_bytes = dq_round_up(sums, DQ_KERNEL_ALIGNMENT);
  s->requantization = (dq_requantization){.multipliers = s->multipliers,
                                          .multiplier_count = columns,
                                          .low = type == DQ_I8 ? INT8_MIN : 0,
                                          .high = type == DQ_I8 ? INT8_MAX : UINT8_MAX,
                                          .output_signed = type == DQ_I8};
  return DQ_OK;
}

static dq_status read_output(dq_op *op, const operands *from, int64_t rows, int64_t b_matrices, integer_state *s,
                             dq_arena *arena) {
  const dq_requantization_inputs *in = &from->requantization;
  if (!from->requantize) return DQ_OK;
  s->floats = dq_result_is_float(op, in);
  if (s->floats) return dq_read_requantization(op, in, s->shape.columns, arena, &s->requantization);
  bool by_columns = is_single(op, in->x_scale) && is_single(op, in->y_scale) && is_single(op, in->y_zero_point) &&
                    (b_matrices == 1 || is_single(op, in->w_scale));
  if (by_columns || is_gemm(op)) return dq_read_requantization(op, in, s->shape.columns, arena, &s->requantization);
  return read_rows(op, from, rows, b_matrices, s, arena);
}

static dq_status read_operands(dq_op *op, const operands *from, integer_state *s, dq_arena *arena) {
  const dq_tensor *a = op->inputs[from->a];
  dq_tensor b;
  DQ_TRY(upright(op, from, &b));
  DQ_TRY(dq_matmul_read(op, a, &b, &s->shape));
  const dq_matmul *m = &s->shape;
  int64_t rows = a->rank > 1 ? a->dims[a->rank - 2] : 1;
  int64_t a_matrices = a->rank > 2 ? dq_tensor_product(a, 0, a->rank - 2) : 1;
  int64_t b_matrices = b.rank > 2 ? dq_tensor_product(&b, 0, b.rank - 2) : 1;
  DQ_TRY(dq_read_zero_points(op, from->a_zero_point, a->type, rows, a_matrices, arena, &s->a_zero));
  DQ_TRY(dq_read_zero_points(op, from->b_zero_point, b.type, m->columns, b_matrices, arena, &s->b_zero));
  DQ_TRY(read_output(op, from, rows, b_matrices, s, arena));
  bool transposed = transposes_b(op);
  s->parameters = (dq_gemm_int8_parameters){.rows = m->rows,
                                            .columns = m->columns,
                                            .depth = m->depth,
                                            .transpose_b = transposed,
                                            .a_stride = m->depth,
                                            .b_stride = transposed ? m->depth : m->columns,
                                            .out_stride = m->columns,
                                            .a_signed = a->type == DQ_I8,
                                            .b_signed = b.type == DQ_I8,
                                            .a_zero_points = s->a_zero.values,
                                            .a_zero_point_count = dq_min_i64(s->a_zero.count, m->rows),
                                            .b_zero_points = s->b_zero.values,
                                            .b_zero_point_count = dq_min_i64(s->b_zero.count, m->columns)};
  return dq_gemm_int8_check(&s->parameters, op->error);
}

// B and all that goes with it; A and its zero point may come from a DynamicQuantizeLinear.
static bool parameters_known(const dq_op *op, const operands *from) {
  for (int i = 0; i < op->input_count; i++)
    if (i != from->a && i != from->a_zero_point && i != from->b && op->inputs[i] && !op->inputs[i]->data) return false;
  return true;
}

static dq_status prepare(dq_op *op, const operands *from, dq_arena *arena) {
  unsigned cpu = op->context->cpu;
  bool dynamic = dq_op_input(op, from->a_zero_point) && !dq_op_known(op, from->a_zero_point);
  if (!parameters_known(op, from) || !dq_tensor_count(op->outputs[0])) return DQ_OK;
  integer_state *s = DQ_NEW(arena, integer_state);
  if (!s) return dq_fail_memory(op->error, sizeof *s);
  DQ_TRY(read_operands(op, from, s, arena));
  if (s->shape.batch == 1 && op->inputs[from->b]->data) {
    DQ_TRY(dq_op_alloc(op, arena, dq_gemm_int8_packed_bytes(&s->parameters, cpu), &s->packed));
    dq_gemm_int8_pack(&s->parameters, cpu, op->inputs[from->b]->data, s->packed);
  }
  s->dynamic = dynamic;
  op->state = s;
  op->scratch_bytes =
      s->sum_bytes + dq_gemm_int8_scratch_bytes(&s->parameters, cpu, dq_pool_threads(op->context->pool));
  return DQ_OK;
}

static float scale_at(const dq_scales *scales, int64_t index) { return scales->values[scales->count == 1 ? 0 : index]; }

// The sums of product `index` (B's matrix number b_index) become 8 bits.
static void requantize_rows(const dq_op *op, int64_t index, int64_t b_index, uint8_t *out) {
  const integer_state *s = op->state;
  int64_t columns = s->shape.columns;
  dq_requantization r = s->requantization;
  for (int64_t i = 0; i < s->shape.rows; i++) {
    int64_t row = index * s->shape.rows + i;
    float a = scale_at(&s->rows.a, row), y = scale_at(&s->rows.y, row);
    for (int64_t j = 0; j < columns; j++) s->multipliers[j] = (a * scale_at(&s->rows.b, b_index * columns + j)) / y;
    r.zero_point = s->rows.y_zero.values[s->rows.y_zero.count == 1 ? 0 : row];
    dq_requantize(&r, op->context->cpu, false, 1, columns, (const int32_t *)op->scratch + i * columns, columns,
                  out + i * columns, columns);
  }
}

static void run_product(dq_op *op, const operands *from, int64_t index) {
  const integer_state *s = op->state;
  const dq_matmul *m = &s->shape;
  dq_gemm_int8_parameters p = s->parameters;
  int64_t a_index, b_index;
  dq_matmul_operands(m, index, &a_index, &b_index);
  if (p.a_zero_point_count > 1) p.a_zero_points += a_index * m->rows;
  if (p.b_zero_point_count > 1) p.b_zero_points += b_index * m->columns;
  const uint8_t *a = (const uint8_t *)op->inputs[from->a]->data + a_index * m->rows * m->depth;
  const uint8_t *b = (const uint8_t *)op->inputs[from->b]->data + b_index * m->depth * m->columns;
  int64_t size = from->requantize && !s->floats ? 1 : (int64_t)sizeof(int32_t);
  uint8_t *out = (uint8_t *)op->outputs[0]->data + index * m->rows * m->columns * size;
  bool direct = from->requantize && !s->by_rows && !s->floats;
  dq_gemm_int8(&p, op->context->cpu, a, b, s->packed, s->by_rows ? op->scratch : out,
               direct ? &s->requantization : NULL, (char *)op->scratch + s->sum_bytes, op->context->pool);
  if (s->by_rows) requantize_rows(op, index, b_index, out);
  if (s->floats) dq_dequantize_sums(&s->requantization, false, m->rows, m->columns, out);
}

static dq_status run(dq_op *op, const operands *from) {
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (!op->state) return dq_op_run_unprepared(op);
  const integer_state *s = op->state;
  if (s->dynamic) dq_fill_zero_points(op, from->a_zero_point, &s->a_zero);
  for (int64_t i = 0; i < s->shape.batch; i++) run_product(op, from, i);
  return DQ_OK;
}

// One matrix B of constants, requantized by columns.
static dq_status emit_constant(dq_emission *to, const operands *from, integer_state *s) {
  const dq_op *op = to->op;
  const dq_gemm_int8_parameters *g = &s->parameters;
  const dq_emit_weights weights = {.weights = op->inputs[from->b],
                                   .channels = g->columns,
                                   .depth = g->depth,
                                   .channel_stride = g->transpose_b ? g->depth : 1,
                                   .depth_stride = g->transpose_b ? 1 : g->columns,
                                   .zero_points = g->b_zero_points,
                                   .zero_point_count = g->b_zero_point_count,
                                   .data_zero_point = g->a_zero_point_count ? g->a_zero_points[0] : 0,
                                   .data_signed = g->a_signed};
  dq_emit_sums sums = {.requantization = &s->requantization, .floats = s->floats};
  dq_emit_product product = {.rows = g->rows,
                             .columns = g->columns,
                             .depth = g->depth,
                             .row_stride = g->depth,
                             .depth_stride = 1,
                             .sums = &sums};
  DQ_TRY(dq_emit_weights_prepare(to, &weights, &sums, &product.weights));
  DQ_TRY(dq_emit_sums_prepare(to, &sums));
  dq_emit_product_body(to, &product);
  return DQ_OK;
}

// A zero point as an expression: a number, or an element of a new array.
static void zero_point(dq_emission *to, const dq_zero_points *zero, const char *index, char text[80]) {
  if (zero->count > 1) snprintf(text, 80, "c%d[%s]", dq_emit_constant(to, DQ_I32, zero->values, zero->count), index);
  else snprintf(text, 80, "%d", zero->count ? zero->values[0] : 0);
}

// Multipliers that differ from row to row: requantize_rows.
static void end_by_rows(dq_emission *to, const integer_state *s) {
  const row_scales *r = &s->rows;
  char names[3][80], zero[80];
  const dq_scales *scales[] = {&r->a, &r->b, &r->y};
  const char *indices[] = {"row", "b / depth + o", "row"};
  for (int i = 0; i < 3; i++)
    snprintf(names[i], 80, "c%d[%s]", dq_emit_constant(to, DQ_F32, scales[i]->values, scales[i]->count),
             scales[i]->count == 1 ? "0" : indices[i]);
  zero_point(to, &r->y_zero, "row", zero);
  dq_emit_need(to, DQ_EMIT_ROUND);
  dq_emit(to, "const int32_t row = product * %" PRId64 " + r;", s->shape.rows);
  dq_emit(to, "const float multiplier = (%s * %s) / %s;", names[0], names[1], names[2]);
  dq_emit(to, "y0[place] = (%s)dq_round((float)sum * multiplier, %s, %d, %d);", dq_emit_type(to->op->outputs[0]->type),
          zero, s->requantization.low, s->requantization.high);
}

// Sums of any data: every difference to a zero point is within 255.
static dq_status prepare_any_sums(dq_emission *to, const integer_state *s, dq_emit_sums *sums) {
  enum { MOST = 255 * 255 };
  const int64_t columns = s->shape.columns, most = s->shape.depth * MOST;
  *sums = (dq_emit_sums){.requantization = &s->requantization,
                         .floats = s->floats,
                         .channels = columns,
                         .addends = DQ_NEW_ARRAY(to->arena, columns, int32_t),
                         .least = DQ_NEW_ARRAY(to->arena, columns, int64_t),
                         .most = DQ_NEW_ARRAY(to->arena, columns, int64_t)};
  if (!sums->addends || !sums->least || !sums->most) return dq_fail_memory(to->op->error, (size_t)columns * 20);
  for (int64_t c = 0; c < columns; c++) {
    sums->addends[c] = s->requantization.bias ? s->requantization.bias[c] : 0;
    sums->least[c] = sums->addends[c] - most, sums->most[c] = sums->addends[c] + most;
    if (sums->least[c] < INT32_MIN || sums->most[c] > INT32_MAX) to->sum_bits = 33;
  }
  if (!to->sum_bits) to->sum_bits = 32;
  return dq_emit_sums_prepare(to, sums);
}

// Products of any operands, for each product of the stacks.
static dq_status emit_any(dq_emission *to, const operands *from, const integer_state *s) {
  const dq_gemm_int8_parameters *g = &s->parameters;
  char a_zero[80], b_zero[80], step[200];
  dq_emit_sums sums;
  const bool plain = !from->requantize, by_columns = !plain && !s->by_rows;
  if (by_columns) DQ_TRY(prepare_any_sums(to, s, &sums));
  dq_emit(to, "const int32_t depth = %" PRId64 ";", s->shape.depth);
  dq_emit(to, "(void)depth;");
  zero_point(to, &s->a_zero, "a / depth + r", a_zero);
  zero_point(to, &s->b_zero, "b / depth + o", b_zero);
  snprintf(step, sizeof step, "sum += (x - %s) * (y - %s);", a_zero, b_zero);
  const dq_emit_matrices matrices = {.a = from->a,
                                     .b = from->b,
                                     .rows = g->rows,
                                     .columns = g->columns,
                                     .depth = g->depth,
                                     .a_row = g->depth,
                                     .a_column = 1,
                                     .b_row = g->transpose_b ? 1 : g->columns,
                                     .b_column = g->transpose_b ? g->depth : 1,
                                     .step = step};
  int stack = dq_emit_stack(to, &s->shape);
  dq_emit_matrices_open(to, &matrices);
  if (by_columns) {
    dq_emit_first_exception(to, &sums);
    dq_emit_factors(to, &sums, "o");
    dq_emit_next_exception(to, &sums, "o");
    dq_emit(to, "int32_t sum = c%d[o];", sums.first + 1);
  } else dq_emit(to, "int32_t sum = 0;");
  dq_emit_matrices_sum(to, &matrices);
  if (by_columns) dq_emit_result(to, &sums, "o", "y0[place]", "sum");
  else if (plain) dq_emit(to, "y0[place] = sum;");
  else end_by_rows(to, s);
  dq_emit_close(to, 2);
  dq_emit(to, "product++;");
  dq_emit_close(to, stack);
  return DQ_OK;
}

// Constant scales in float16 (version 21) as float32.
static dq_status widen_scales(dq_emission *to, dq_op *op) {
  const dq_tensor **inputs = DQ_NEW_ARRAY(to->arena, op->input_count, const dq_tensor *);
  if (!inputs) return dq_fail_memory(op->error, 0);
  for (int i = 0; i < op->input_count; i++) {
    inputs[i] = op->inputs[i];
    if (!inputs[i] || inputs[i]->type != DQ_F16 || !inputs[i]->data) continue;
    int64_t count = dq_tensor_count(inputs[i]);
    dq_tensor *wide = DQ_NEW(to->arena, dq_tensor);
    float *values = DQ_NEW_ARRAY(to->arena, count, float);
    if (!wide || !values) return dq_fail_memory(op->error, (size_t)count * sizeof *values);
    for (int64_t k = 0; k < count; k++) values[k] = (float)dq_tensor_get(inputs[i], k);
    *wide = *inputs[i];
    wide->type = DQ_F32, wide->data = values;
    inputs[i] = wide;
  }
  op->inputs = inputs;
  return DQ_OK;
}

// A scale or a zero point is computed.
static dq_status emit_computed(dq_emission *to, const operands *from) {
  const dq_integer_inputs at = {.x = from->a,
                                .x_zero_point = from->a_zero_point,
                                .w = from->b,
                                .w_zero_point = from->b_zero_point,
                                .requantization = from->requantize ? &from->requantization : NULL};
  dq_matmul shape;
  dq_tensor b;
  DQ_TRY(upright(to->op, from, &b));
  DQ_TRY(dq_matmul_read(to->op, to->op->inputs[from->a], &b, &shape));
  return dq_emit_integer_product(to, &shape, &at, transposes_b(to->op));
}

static dq_status emit_operands(dq_emission *to, const operands *from) {
  integer_state s = {0};
  dq_op read = *to->op;
  for (int i = 0; i < read.input_count; i++)
    if (i != from->a && i != from->b && read.inputs[i] && !read.inputs[i]->data) return emit_computed(to, from);
  DQ_TRY(widen_scales(to, &read));
  DQ_TRY(read_operands(&read, from, &s, to->arena));
  if (from->requantize && !s.by_rows && s.shape.batch == 1 && s.a_zero.count <= 1 && read.inputs[from->b]->data &&
      !read.inputs[from->a]->data)
    return emit_constant(to, from, &s);
  return emit_any(to, from, &s);
}

dq_status dq_emit_qlinear_matmul(dq_emission *to) { return emit_operands(to, &qlinear_operands); }
static dq_status emit_integer(dq_emission *to) { return emit_operands(to, &integer_operands); }

static int64_t macs(const dq_op *op) { return dq_matmul_macs(op, op->inputs[0]); }

static dq_status integer_infer(dq_op *op) { return infer(op, &integer_operands); }
static dq_status integer_prepare(dq_op *op, dq_arena *arena) { return prepare(op, &integer_operands, arena); }
static dq_status integer_run(dq_op *op) { return run(op, &integer_operands); }

dq_status dq_qlinear_matmul_infer(dq_op *op) { return infer(op, &qlinear_operands); }
dq_status dq_qlinear_matmul_prepare(dq_op *op, dq_arena *arena) { return prepare(op, &qlinear_operands, arena); }
dq_status dq_qlinear_matmul_run(dq_op *op) { return run(op, &qlinear_operands); }
int64_t dq_qlinear_matmul_macs(const dq_op *op) { return macs(op); }

static dq_product_operands positions(const operands *from) {
  const dq_requantization_inputs *requantization = from->requantize ? &from->requantization : NULL;
  return dq_integer_operands(from->a, from->a_zero_point, from->b, from->b_zero_point, requantization);
}
static void integer_product(const dq_node *node, dq_product *to) {
  dq_describe_matmul(node, positions(&integer_operands), to);
}
void dq_qlinear_gemm_product(const dq_node *node, dq_product *to) {
  dq_describe_gemm(node, positions(&qlinear_operands), to);
}
// A MatMul has no bias.
void dq_qlinear_matmul_product(const dq_node *node, dq_product *to) {
  dq_product_operands at = positions(&qlinear_operands);
  at.bias = DQ_NO_INPUT;
  dq_describe_matmul(node, at, to);
}

const dq_operator dq_op_MatMulInteger = {
    .name = "MatMulInteger",
    .since = {10},
    .inputs = {2, 4},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .infer = integer_infer,
    .run = integer_run,
    .prepare = integer_prepare,
    .emit = emit_integer,
    .product = integer_product,
    .macs = macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

const dq_operator dq_op_QLinearMatMul = {
    .name = "QLinearMatMul",
    .since = {10, 21},
    .inputs = {8, 8},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .infer = dq_qlinear_matmul_infer,
    .run = dq_qlinear_matmul_run,
    .prepare = dq_qlinear_matmul_prepare,
    .emit = dq_emit_qlinear_matmul,
    .product = dq_qlinear_matmul_product,
    .macs = dq_qlinear_matmul_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
    .flags = DQ_OP_HALF, // scales of version 21 may be float16
};

// Sums alone (no result's scale), transposed inputs and factors are not what quantized layers have.
static dq_status microsoft_infer(dq_op *op) {
  if (dq_node_int(op->node, "transA", 0) || dq_node_float(op->node, "alpha", 1) != 1)
    return dq_op_fail(op, DQ_UNSUPPORTED, "attribute '%s' is not supported",
                      dq_node_int(op->node, "transA", 0) ? "transA" : "alpha");
  if (!dq_op_input(op, 7) || !dq_op_input(op, 8))
    return dq_op_fail(op, DQ_UNSUPPORTED, "a result without scale and zero point is not supported");
  return infer(op, &microsoft_operands);
}
static dq_status microsoft_prepare(dq_op *op, dq_arena *arena) { return prepare(op, &microsoft_operands, arena); }
static dq_status microsoft_run(dq_op *op) { return run(op, &microsoft_operands); }

static void microsoft_product(const dq_node *node, dq_product *to) {
  dq_describe_gemm(node, positions(&microsoft_operands), to);
}

static const dq_attribute_rule microsoft_attributes[] = {{"alpha", DQ_ATTRIBUTE_FLOAT, false},
                                                         {"transA", DQ_ATTRIBUTE_INT, false},
                                                         {"transB", DQ_ATTRIBUTE_INT, false},
                                                         {0}};

const dq_operator dq_op_MicrosoftQGemm = {
    .name = "QGemm",
    .domain = "com.microsoft",
    .since = {1},
    .inputs = {6, 9},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = microsoft_attributes,
    .infer = microsoft_infer,
    .run = microsoft_run,
    .prepare = microsoft_prepare,
    .product = microsoft_product,
    .macs = macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
