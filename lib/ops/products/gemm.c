// Gemm and MatMul. float32 by the kernels, float64 and integers by plain loops.
#include <inttypes.h>
#include <math.h>

#include "lib/base/sizes.h"
#include "lib/kernels/gemm/gemm_api.h"
#include "lib/ops/common/matmul.h"
#include "lib/ops/common/prepare.h"
#include "lib/ops/emit/emit.h"
#include "lib/ops/gradient/gradient.h"

// ---- Plain loops ----

// The product out[i][j] = alpha * sum over k of a[i][k] b[k][j] + beta * addend[i][j]; steps are elements.
typedef struct product {
  int64_t columns, depth;
  int64_t a_row, a_column, b_row, b_column, addend_row, addend_column;
  float alpha, beta;
  const void *a, *b, *addend;
  void *out;
} product;

#define DQ_PRODUCT(name, type, multiply_add, scaled)                                                                   \
  static void name(void *argument, int64_t i, int thread) {                                                            \
    const product *p = argument;                                                                                       \
    const type *a = (const type *)p->a + i * p->a_row, *addend = p->addend;                                            \
    type *out = (type *)p->out + i * p->columns;                                                                       \
    (void)thread;                                                                                                      \
    for (int64_t j = 0; j < p->columns; j++) {                                                                         \
      const type *b = (const type *)p->b + j * p->b_column;                                                            \
      type sum = 0;                                                                                                    \
      for (int64_t k = 0; k < p->depth; k++) sum = multiply_add(a[k * p->a_column], b[k * p->b_row], sum);             \
      sum = scaled(sum, p->alpha);                                                                                     \
      if (addend) sum += scaled(addend[i * p->addend_row + j * p->addend_column], p->beta);                            \
      out[j] = sum;                                                                                                    \
    }                                                                                                                  \
  }

// Signed integers are multiplied as unsigned ones of their width, which wrap without being
// undefined.
#define DQ_WRAPPING(x, y, sum) ((x) * (y) + (sum))

static double scale_f64(double value, float factor) { return value * (double)factor; }

// Factors other than 1 go through double; the result is cut to a whole number and saturates.
static int64_t scaled_i64(double value, float factor) {
  double scaled = value * (double)factor;
  if (!(scaled > -0x1p63)) return INT64_MIN;
  return scaled >= 0x1p63 ? INT64_MAX : (int64_t)scaled;
}
static uint32_t scale_u32(uint32_t value, float factor) {
  return factor == 1.0f ? value : (uint32_t)scaled_i64((double)value, factor);
}
static uint32_t scale_i32(uint32_t value, float factor) {
  return factor == 1.0f ? value : (uint32_t)scaled_i64((double)(int32_t)value, factor);
}
static uint64_t scale_i64(uint64_t value, float factor) {
  return factor == 1.0f ? value : (uint64_t)scaled_i64((double)(int64_t)value, factor);
}
static uint64_t scale_u64(uint64_t value, float factor) {
  if (factor == 1.0f) return value;
  double scaled = (double)value * (double)factor;
  if (!(scaled > 0.0)) return 0;
  return scaled >= 0x1p64 ? UINT64_MAX : (uint64_t)scaled;
}

DQ_PRODUCT(product_f64, double, fma, scale_f64)
DQ_PRODUCT(product_u32, uint32_t, DQ_WRAPPING, scale_u32)
DQ_PRODUCT(product_i32, uint32_t, DQ_WRAPPING, scale_i32)
DQ_PRODUCT(product_u64, uint64_t, DQ_WRAPPING, scale_u64)
DQ_PRODUCT(product_i64, uint64_t, DQ_WRAPPING, scale_i64)

static void multiply_plain(const dq_gemm_parameters *g, int type, const void *a, const void *b, const void *addend,
                           void *out, dq_pool *pool) {
  product p = {.columns = g->columns,
               .depth = g->depth,
               .a_row = g->transpose_a ? 1 : g->a_stride,
               .a_column = g->transpose_a ? g->a_stride : 1,
               .b_row = g->transpose_b ? 1 : g->b_stride,
               .b_column = g->transpose_b ? g->b_stride : 1,
               .addend_row = g->addend_row_stride,
               .addend_column = g->addend_column_stride,
               .alpha = g->alpha,
               .beta = g->beta,
               .a = a,
               .b = b,
               .addend = addend,
               .out = out};
  void (*row)(void *, int64_t, int) = type == DQ_F64   ? product_f64
                                      : type == DQ_U32 ? product_u32
                                      : type == DQ_I32 ? product_i32
                                      : type == DQ_U64 ? product_u64
                                                       : product_i64;
  dq_pool_run(pool, g->rows, row, &p);
}

// ---- State of both operators ----

typedef struct gemm_state {
  dq_gemm_parameters parameters;
  void *packed; // NULL: B is not constant or not one matrix
} gemm_state;

// Scratch for one product, and B packed when its elements are known and `single`.
static dq_status prepare_product(dq_op *op, const dq_gemm_parameters *parameters, bool single, dq_arena *arena) {
  unsigned cpu = op->context->cpu;
  DQ_TRY(dq_gemm_check(parameters, op->error));
  gemm_state *state = DQ_NEW(arena, gemm_state);
  if (!state) return dq_fail_memory(op->error, sizeof *state);
  state->parameters = *parameters;
  if (single && dq_op_known(op, 1)) {
    DQ_TRY(dq_op_alloc(op, arena, dq_gemm_f32_packed_bytes(parameters, cpu), &state->packed));
    dq_gemm_f32_pack(parameters, cpu, op->inputs[1]->data, state->packed);
  }
  op->state = state;
  op->scratch_bytes = dq_gemm_f32_scratch_bytes(parameters, cpu, dq_pool_threads(op->context->pool));
  return DQ_OK;
}

static dq_status check_types(const dq_op *op) {
  int type = op->inputs[0]->type;
  for (int i = 1; i < op->input_count; i++)
    if (op->inputs[i] && op->inputs[i]->type != type)
      return dq_op_fail(op, DQ_BAD_INPUT, "input 0 is %s but input %d is %s", dq_dtype_name(type), i,
                        dq_dtype_name(op->inputs[i]->type));
  return DQ_OK;
}

// ---- Gemm ----

static dq_status read_addend(const dq_op *op, dq_gemm_parameters *g) {
  const dq_tensor *c = dq_op_input(op, 2);
  char shape[DQ_SHAPE_TEXT];
  if (!c) return DQ_OK;
  int64_t columns = c->rank > 0 ? c->dims[c->rank - 1] : 1;
  int64_t rows = c->rank > 1 ? c->dims[c->rank - 2] : 1;
  if (c->rank > 2 || (columns != 1 && columns != g->columns) || (rows != 1 && rows != g->rows))
    return dq_op_fail(op, DQ_BAD_INPUT, "input C has shape %s and does not broadcast to %" PRId64 "x%" PRId64,
                      dq_tensor_shape_text(c, shape, sizeof shape), g->rows, g->columns);
  g->addend_row_stride = rows == 1 ? 0 : columns;
  g->addend_column_stride = columns == 1 ? 0 : 1;
  return DQ_OK;
}

static dq_status read_gemm(const dq_op *op, dq_gemm_parameters *g) {
  const dq_tensor *a = op->inputs[0], *b = op->inputs[1];
  char a_text[DQ_SHAPE_TEXT], b_text[DQ_SHAPE_TEXT];
  bool ta = dq_node_int(op->node, "transA", 0) != 0, tb = dq_node_int(op->node, "transB", 0) != 0;
  if (a->rank != 2 || b->rank != 2 || a->dims[!ta] != b->dims[tb])
    return dq_op_fail(op, DQ_BAD_INPUT, "A has shape %s%s and B %s%s, which cannot be multiplied",
                      dq_tensor_shape_text(a, a_text, sizeof a_text), ta ? " transposed" : "",
                      dq_tensor_shape_text(b, b_text, sizeof b_text), tb ? " transposed" : "");
  *g = (dq_gemm_parameters){.rows = a->dims[ta],
                            .columns = b->dims[!tb],
                            .depth = a->dims[!ta],
                            .transpose_a = ta,
                            .transpose_b = tb,
                            .a_stride = a->dims[1],
                            .b_stride = b->dims[1],
                            .out_stride = b->dims[!tb],
                            .alpha = dq_node_float(op->node, "alpha", 1.0f),
                            .beta = dq_node_float(op->node, "beta", 1.0f)};
  return read_addend(op, g);
}

static dq_status infer_gemm(dq_op *op) {
  dq_gemm_parameters g;
  DQ_TRY(check_types(op));
  DQ_TRY(read_gemm(op, &g));
  return dq_op_shape(op, 0, op->inputs[0]->type, 2, (int64_t[]){g.rows, g.columns});
}

static dq_status prepare_gemm(dq_op *op, dq_arena *arena) {
  dq_gemm_parameters g;
  if (op->inputs[0]->type != DQ_F32) return DQ_OK;
  DQ_TRY(read_gemm(op, &g));
  return prepare_product(op, &g, true, arena);
}

// The constant matrix B as [columns][depth].
static dq_status emit_matrix(dq_emission *to, const dq_gemm_parameters *g, int *number) {
  const float *b = to->op->inputs[1]->data;
  float *transposed = DQ_NEW_ARRAY(to->arena, g->columns * g->depth, float);
  if (!transposed) return dq_fail_memory(to->op->error, (size_t)(g->columns * g->depth) * sizeof *transposed);
  for (int64_t j = 0; j < g->columns; j++)
    for (int64_t k = 0; k < g->depth; k++)
      transposed[j * g->depth + k] = g->transpose_b ? b[j * g->b_stride + k] : b[k * g->b_stride + j];
  *number = dq_emit_constant(to, DQ_F32, transposed, g->columns * g->depth);
  return DQ_OK;
}

static dq_status emit_product(dq_emission *to, const dq_gemm_parameters *g, const char *end) {
  dq_emit_product emitted = {.rows = g->rows,
                             .columns = g->columns,
                             .depth = g->depth,
                             .end = end,
                             .row_stride = g->transpose_a ? 1 : g->a_stride,
                             .depth_stride = g->transpose_a ? g->a_stride : 1};
  DQ_TRY(emit_matrix(to, g, &emitted.weights));
  dq_emit_product_body(to, &emitted);
  return DQ_OK;
}

// One product of any operands: in float32 and float64 a chain of fused multiply-adds, integers modulo 2^bits. `end` is
// the result, an expression of `sum`, r and o.
static dq_status emit_any_product(dq_emission *to, const dq_gemm_parameters *g, const char *end) {
  const int type = to->op->inputs[0]->type;
  const bool real = DQ_BIT(type) & DQ_TYPES_FLOAT;
  const dq_emit_matrices matrices = {.a = 0,
                                     .b = 1,
                                     .rows = g->rows,
                                     .columns = g->columns,
                                     .depth = g->depth,
                                     .a_row = g->transpose_a ? 1 : g->a_stride,
                                     .a_column = g->transpose_a ? g->a_stride : 1,
                                     .b_row = g->transpose_b ? 1 : g->b_stride,
                                     .b_column = g->transpose_b ? g->b_stride : 1,
                                     .step = type == DQ_F64 ? "sum = fma(x, y, sum);"
                                             : real         ? "sum = fmaf(x, y, sum);"
                                                            : "sum += (uint64_t)x * (uint64_t)y;"};
  if (real) dq_emit_need(to, DQ_EMIT_MATH);
  dq_emit_matrices_open(to, &matrices);
  dq_emit(to, type == DQ_F64 ? "double sum = 0.0;" : real ? "float sum = 0.0f;" : "uint64_t sum = 0;");
  dq_emit_matrices_sum(to, &matrices);
  dq_emit_assign(to, 0, "place", end);
  dq_emit_close(to, 2);
  return DQ_OK;
}

static bool suits_constant(const dq_op *op) { return op->inputs[0]->type == DQ_F32 && op->inputs[1]->data; }

// The result as dq_gemm_finish has it.
static dq_status emit_gemm(dq_emission *to) {
  const dq_op *op = to->op;
  dq_gemm_parameters g;
  char end[300], index[100], addend[100], alpha[60] = "", beta[60] = "", real[48];
  DQ_TRY(read_gemm(op, &g));
  const bool wide = op->inputs[0]->type == DQ_F64,
             single = DQ_BIT(op->inputs[0]->type) & (DQ_BIT(DQ_F32) | DQ_BIT(DQ_F16));
  if ((g.alpha != 1.0f || g.beta != 1.0f) && !single)
    return dq_op_fail(op, DQ_UNSUPPORTED, "C is written for factors of float32 only");
  if (g.alpha != 1.0f) snprintf(alpha, sizeof alpha, " * %s", dq_emit_real(g.alpha, real));
  if (g.beta != 1.0f) snprintf(beta, sizeof beta, "%s * ", dq_emit_real(g.beta, real));
  const bool factors = *alpha || *beta; // of float32: products are rounded in front of the sum
  int at = snprintf(end, sizeof end, factors ? "(float)(sum%s)" : "sum%s", alpha);
  if (dq_op_input(op, 2) && g.beta != 0.0f) {
    snprintf(index, sizeof index, "r * %" PRId64 " + o * %" PRId64, g.addend_row_stride, g.addend_column_stride);
    dq_emit_element(to, 2, index, addend);
    snprintf(end + at, sizeof end - (size_t)at, factors ? " + (float)(%s%s%s)" : " + %s%s%s", beta,
             single || wide ? "" : "(uint64_t)", addend);
  }
  if (suits_constant(op)) return emit_product(to, &g, end);
  dq_emit(to, "const int32_t a = 0, b = 0, at = 0;");
  return emit_any_product(to, &g, end);
}

static dq_status run_gemm(dq_op *op) {
  const dq_tensor *a = op->inputs[0], *b = op->inputs[1], *c = dq_op_input(op, 2);
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  dq_gemm_parameters g;
  DQ_TRY(read_gemm(op, &g));
  // An addend times 0 is not read, as in BLAS.
  const void *addend = c && g.beta != 0.0f ? c->data : NULL;
  void *out = op->outputs[0]->data;
  if (a->type != DQ_F32) {
    multiply_plain(&g, a->type, a->data, b->data, addend, out, op->context->pool);
    return DQ_OK;
  }
  if (!op->state) return dq_op_run_unprepared(op);
  const gemm_state *state = op->state;
  g.addend = addend;
  dq_gemm_f32(&g, op->context->cpu, a->data, b->data, state->packed, out, op->scratch, op->context->pool);
  return DQ_OK;
}

static int64_t macs_gemm(const dq_op *op) {
  const dq_tensor *a = op->inputs[0], *y = op->outputs[0];
  if (a->rank != 2 || !y || y->rank != 2) return 0;
  int64_t depth = a->dims[dq_node_int(op->node, "transA", 0) ? 0 : 1], macs;
  return dq_mul_i64(dq_tensor_count(y), depth, &macs) ? macs : INT64_MAX;
}

static void describe_gemm(const dq_node *node, dq_product *to) { dq_describe_gemm(node, DQ_FLOAT_OPERANDS(2), to); }

static const dq_attribute_rule gemm_attributes[] = {
    {"alpha", DQ_ATTRIBUTE_FLOAT, false},
    {"beta", DQ_ATTRIBUTE_FLOAT, false},
    {"broadcast", DQ_ATTRIBUTE_INT, false}, // versions 1 and 6; later C always broadcasts
    {"transA", DQ_ATTRIBUTE_INT, false},
    {"transB", DQ_ATTRIBUTE_INT, false},
    {NULL, 0, false}};

enum {
  PRODUCT_TYPES = DQ_BIT(DQ_F32) | DQ_BIT(DQ_F64) | DQ_BIT(DQ_U32) | DQ_BIT(DQ_U64) | DQ_BIT(DQ_I32) | DQ_BIT(DQ_I64)
};

const dq_operator dq_op_Gemm = {
    .name = "Gemm",
    .since = {1, 6, 7, 9, 11, 13},
    .inputs = {2, 3},
    .outputs = {1, 1},
    .types = PRODUCT_TYPES,
    .attributes = gemm_attributes,
    .infer = infer_gemm,
    .run = run_gemm,
    .prepare = prepare_gemm,
    .emit = emit_gemm,
    .product = describe_gemm,
    .macs = macs_gemm,
    .gradient = dq_gradient_gemm,
    .trained = 1 << 1 | 1 << 2,
    .category = DQ_ALLOW,
    .quantization = DQ_QUANTIZE_COMPUTE,
    .flags = DQ_OP_HALF,
    .bound = DQ_BOUND_PRODUCT,
};

// ---- MatMul ----

static dq_gemm_parameters matmul_parameters(const dq_matmul *m) {
  return (dq_gemm_parameters){.rows = m->rows,
                              .columns = m->columns,
                              .depth = m->depth,
                              .a_stride = m->depth,
                              .b_stride = m->columns,
                              .out_stride = m->columns,
                              .alpha = 1.0f,
                              .beta = 1.0f};
}

static dq_status infer_matmul(dq_op *op) {
  DQ_TRY(check_types(op));
  return dq_matmul_infer(op, op->inputs[0], op->inputs[1], op->inputs[0]->type);
}

static dq_status prepare_matmul(dq_op *op, dq_arena *arena) {
  dq_matmul m;
  if (op->inputs[0]->type != DQ_F32) return DQ_OK;
  DQ_TRY(dq_matmul_read(op, op->inputs[0], op->inputs[1], &m));
  dq_gemm_parameters g = matmul_parameters(&m);
  return prepare_product(op, &g, m.batch == 1, arena);
}

static dq_status emit_matmul(dq_emission *to) {
  dq_matmul m;
  DQ_TRY(dq_matmul_read(to->op, to->op->inputs[0], to->op->inputs[1], &m));
  dq_gemm_parameters g = matmul_parameters(&m);
  if (m.batch == 1 && suits_constant(to->op)) return emit_product(to, &g, "sum");
  int stack = dq_emit_stack(to, &m);
  DQ_TRY(emit_any_product(to, &g, "sum"));
  dq_emit(to, "product++;");
  dq_emit_close(to, stack);
  return DQ_OK;
}

static dq_status run_matmul(dq_op *op) {
  const dq_tensor *a = op->inputs[0], *b = op->inputs[1];
  int type = a->type;
  if (!dq_tensor_count(op->outputs[0])) return DQ_OK;
  if (type == DQ_F32 && !op->state) return dq_op_run_unprepared(op);
  dq_matmul m;
  DQ_TRY(dq_matmul_read(op, a, b, &m));
  dq_gemm_parameters g = matmul_parameters(&m);
  const gemm_state *state = op->state;
  int64_t size = (int64_t)dq_dtype_size(type);
  for (int64_t i = 0; i < m.batch; i++) {
    int64_t a_index, b_index;
    dq_matmul_operands(&m, i, &a_index, &b_index);
    const char *left = (const char *)a->data + a_index * m.rows * m.depth * size;
    const char *right = (const char *)b->data + b_index * m.depth * m.columns * size;
    char *out = (char *)op->outputs[0]->data + i * m.rows * m.columns * size;
    if (type == DQ_F32)
      dq_gemm_f32(&g, op->context->cpu, (const float *)(const void *)left, (const float *)(const void *)right,
                  state->packed, (float *)(void *)out, op->scratch, op->context->pool);
    else multiply_plain(&g, type, left, right, NULL, out, op->context->pool);
  }
  return DQ_OK;
}

static int64_t macs_matmul(const dq_op *op) { return dq_matmul_macs(op, op->inputs[0]); }

static void describe_matmul(const dq_node *node, dq_product *to) {
  dq_describe_matmul(node, DQ_FLOAT_OPERANDS(DQ_NO_INPUT), to);
}

const dq_operator dq_op_MatMul = {
    .name = "MatMul",
    .since = {1, 9, 13},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = PRODUCT_TYPES,
    .infer = infer_matmul,
    .run = run_matmul,
    .prepare = prepare_matmul,
    .emit = emit_matmul,
    .product = describe_matmul,
    .macs = macs_matmul,
    .gradient = dq_gradient_matmul,
    .trained = 1 << 0 | 1 << 1,
    .category = DQ_ALLOW,
    .quantization = DQ_QUANTIZE_COMPUTE,
    .flags = DQ_OP_HALF,
    .bound = DQ_BOUND_PRODUCT,
};
