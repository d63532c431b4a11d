// Cast and CastLike between all computable types.
// float to integer truncates, and saturates where C and ONNX leave it undefined (NaN gives 0);
// integer to integer keeps the low bits; anything but zero is true; float16 rounds once, from the
// number itself, to nearest even with overflow to infinity.
#include "lib/base/half.h"
#include "lib/base/sizes.h"
#include "lib/kernels/array/array.h"
#include "lib/kernels/reference/function.h"
#include "lib/ops/common/elementwise.h"
#include "lib/ops/emit/emit.h"

// A cast goes through one of three wide forms, which hold every element exactly.
typedef enum wide_form { AS_DOUBLE, AS_INT64, AS_UINT64 } wide_form;

enum { CHUNK = 256 };

typedef union wide {
  double number[CHUNK];
  int64_t integer[CHUNK];
  uint64_t natural[CHUNK];
} wide;

static wide_form form_of(int type) {
  if (DQ_TYPES_FLOAT & DQ_BIT(type)) return AS_DOUBLE;
  return type == DQ_U64 ? AS_UINT64 : AS_INT64;
}

#define READ(symbol, type, member, value)                                                                              \
  case DQ_##symbol: {                                                                                                  \
    const type *in = from;                                                                                             \
    for (int64_t i = 0; i < count; i++) to->member[i] = value;                                                         \
    break;                                                                                                             \
  }
#define READ_INTEGER(unused, symbol, type) READ(symbol, type, integer, (int64_t)in[i])

static void read_wide(int type, const void *from, int64_t count, wide *to) {
  switch (type) {
    READ(F32, float, number, (double)in[i])
    READ(F64, double, number, in[i])
    READ(F16, uint16_t, number, (double)dq_half_to_float(in[i]))
    READ(BOOL, uint8_t, integer, in[i] != 0)
    DQ_EACH_INTEGER(READ_INTEGER, )
  }
}

// Truncates towards zero within [lowest, highest]; the ends are compared as doubles, which for
// 64 bits are the powers of two just outside.
#define TRUNCATED(x, type, lowest, highest)                                                                            \
  ((x) != (x) ? 0 : (x) >= (double)(highest) ? highest : (x) <= (double)(lowest) ? lowest : (type)(x))

// binary16 of a double, rounded once: float first, rounded to odd, keeps what the second rounding
// needs (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
static uint16_t double_to_half(double x) {
  float nearest = (float)x;
  if ((double)nearest != x && x == x) {
    uint32_t bits = dq_float_bits(nearest);
    if (fabs((double)nearest) > fabs(x)) bits--;
    nearest = dq_bits_float(bits | 1);
  }
  return dq_float_to_half(nearest);
}

#define WRITE(symbol, type, member, value)                                                                             \
  case DQ_##symbol: {                                                                                                  \
    type *out = to;                                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                                              \
      const __typeof__(from->member[0]) x = from->member[i];                                                           \
      out[i] = value;                                                                                                  \
    }                                                                                                                  \
    break;                                                                                                             \
  }
#define WRITE_LOW_BITS(member, symbol, type) WRITE(symbol, type, member, (type)x)
#define WRITE_TRUNCATED(symbol, type, lowest, highest) WRITE(symbol, type, number, TRUNCATED(x, type, lowest, highest))

static void write_double(int type, const wide *from, int64_t count, void *to) {
  switch (type) {
    WRITE(F32, float, number, (float)x)
    WRITE(F64, double, number, x)
    WRITE(F16, uint16_t, number, double_to_half(x))
    WRITE(BOOL, uint8_t, number, x != 0)
    WRITE_TRUNCATED(I8, int8_t, INT8_MIN, INT8_MAX)
    WRITE_TRUNCATED(I16, int16_t, INT16_MIN, INT16_MAX)
    WRITE_TRUNCATED(I32, int32_t, INT32_MIN, INT32_MAX)
    WRITE_TRUNCATED(I64, int64_t, INT64_MIN, INT64_MAX)
    WRITE_TRUNCATED(U8, uint8_t, 0, UINT8_MAX)
    WRITE_TRUNCATED(U16, uint16_t, 0, UINT16_MAX)
    WRITE_TRUNCATED(U32, uint32_t, 0, UINT32_MAX)
    WRITE_TRUNCATED(U64, uint64_t, 0, UINT64_MAX)
  }
}

#define WRITE_FROM_INTEGER(member)                                                                                     \
  switch (type) {                                                                                                      \
    WRITE(F32, float, member, (float)x)                                                                                \
    WRITE(F64, double, member, (double)x)                                                                              \
    WRITE(F16, uint16_t, member, double_to_half((double)x))                                                            \
    WRITE(BOOL, uint8_t, member, x != 0)                                                                               \
    DQ_EACH_INTEGER(WRITE_LOW_BITS, member)                                                                            \
  }

static void write_integer(int type, const wide *from, int64_t count, void *to) { WRITE_FROM_INTEGER(integer) }
static void write_natural(int type, const wide *from, int64_t count, void *to) { WRITE_FROM_INTEGER(natural) }

typedef struct cast_job {
  const dq_tensor *input;
  dq_tensor *output;
  unsigned cpu;
} cast_job;

static void cast_span(void *argument, int64_t from, int64_t to) {
  static void (*const writers[])(int, const wide *, int64_t, void *) = {
      [AS_DOUBLE] = write_double, [AS_INT64] = write_integer, [AS_UINT64] = write_natural};
  const cast_job *job = argument;
  int source = job->input->type, target = job->output->type;
  const char *in = (const char *)job->input->data + (size_t)from * dq_dtype_size(source);
  char *out = (char *)job->output->data + (size_t)from * dq_dtype_size(target);
  if (source == target) {
    memcpy(out, in, (size_t)(to - from) * dq_dtype_size(source));
  } else if (source == DQ_F32 && target == DQ_F16) {
    dq_convert_f32_f16(job->cpu, (const float *)(const void *)in, (uint16_t *)(void *)out, to - from);
  } else if (source == DQ_F16 && target == DQ_F32) {
    dq_convert_f16_f32(job->cpu, (const uint16_t *)(const void *)in, (float *)(void *)out, to - from);
  } else {
    wide chunk;
    for (int64_t count; from < to; from += count) {
      count = to - from < CHUNK ? to - from : CHUNK;
      read_wide(source, in, count, &chunk);
      writers[form_of(source)](target, &chunk, count, out);
      in += (size_t)count * dq_dtype_size(source);
      out += (size_t)count * dq_dtype_size(target);
    }
  }
}

static dq_status run_cast(dq_op *op) {
  cast_job job = {op->inputs[0], op->outputs[0], op->context ? op->context->cpu : 0};
  if (!dq_dtype_computable(job.output->type))
    return dq_op_fail(op, DQ_UNSUPPORTED, "a cast to %s is not supported", dq_dtype_name(job.output->type));
  dq_spans(op->context, dq_tensor_count(job.output), DQ_GRAIN, cast_span, &job);
  return DQ_OK;
}

static dq_status infer_Cast(dq_op *op) {
  int64_t to = dq_node_int(op->node, "to", 0);
  if (to <= 0 || to > INT32_MAX)
    return dq_op_fail(op, DQ_BAD_INPUT, "attribute 'to' is %lld, which is no type of elements", (long long)to);
  return dq_op_shape(op, 0, (int)to, op->inputs[0]->rank, op->inputs[0]->dims);
}

static dq_status infer_CastLike(dq_op *op) {
  return dq_op_shape(op, 0, op->inputs[1]->type, op->inputs[0]->rank, op->inputs[0]->dims);
}

static const dq_attribute_rule cast_attributes[] = {{"to", DQ_ATTRIBUTE_INT, true},
                                                    {"round_mode", DQ_ATTRIBUTE_STRING, false}, // of float8e8m0
                                                    {"saturate", DQ_ATTRIBUTE_INT, false},
                                                    {0}};

// A float16 result of `value`, an expression of float32 (`single`) or float64.
static void to_half(dq_emission *to, bool single, const char *value, char text[160]) {
  dq_emit_need(to, DQ_EMIT_TO_HALF);
  if (!single) dq_emit_need(to, DQ_EMIT_ODD_HALF);
  snprintf(text, 160, single ? "dq_float_to_half(%s)" : "dq_double_to_half((double)%s)", value);
}

// An integer of `type` of the float number `value`, as TRUNCATED has it.
static void truncated(dq_emission *to, int type, const char *value, char text[160]) {
  static const struct {
    int type;
    const char *low, *high;
  } ends[] = {{DQ_I8, "INT8_MIN", "INT8_MAX"},    {DQ_I16, "INT16_MIN", "INT16_MAX"},
              {DQ_I32, "INT32_MIN", "INT32_MAX"}, {DQ_I64, "INT64_MIN", "INT64_MAX"},
              {DQ_U8, "0", "UINT8_MAX"},          {DQ_U16, "0", "UINT16_MAX"},
              {DQ_U32, "0", "UINT32_MAX"}};
  dq_emit_need(to, type == DQ_U64 ? DQ_EMIT_NARROW_64 : DQ_EMIT_NARROW);
  if (type == DQ_U64) snprintf(text, 160, "dq_natural((double)%s)", value);
  for (int i = 0; i < DQ_COUNT(ends); i++)
    if (ends[i].type == type)
      snprintf(text, 160, "(%s)dq_truncate((double)%s, %s, %s)", dq_emit_type(type), value, ends[i].low, ends[i].high);
}

static dq_status emit(dq_emission *to) {
  const int from = to->op->inputs[0]->type, type = to->op->outputs[0]->type;
  const bool real = DQ_BIT(from) & DQ_TYPES_FLOAT;
  char text[160], name[16], value[60];
  dq_emit_input(to, 0, name);
  snprintf(value, sizeof value,
           from == DQ_F16 && type != DQ_F16 ? "dq_half_to_float(%s[i])"
           : from == DQ_BOOL                ? "(%s[i] != 0)"
                                            : "%s[i]",
           name);
  if (!dq_dtype_computable(type))
    return dq_op_fail(to->op, DQ_UNSUPPORTED, "a cast to %s is not supported", dq_dtype_name(type));
  if (from == DQ_F16 && type != DQ_F16) dq_emit_need(to, DQ_EMIT_FROM_HALF);
  if (from == type) strcpy(text, value);
  else if (type == DQ_F16) to_half(to, from == DQ_F32, value, text);
  else if (type == DQ_BOOL) snprintf(text, sizeof text, "%s != 0", value);
  else if (real && DQ_BIT(type) & DQ_TYPES_INTEGER) truncated(to, type, value, text);
  else snprintf(text, sizeof text, "(%s)%s", dq_emit_type(type), value);
  dq_emit(to, "for (int32_t i = 0; i < %lld; i++) {", (long long)dq_tensor_count(to->op->inputs[0]));
  dq_emit(to, "y0[i] = %s;", text);
  dq_emit_close(to, 1);
  return DQ_OK;
}

const dq_operator dq_op_Cast = {
    .name = "Cast",
    .since = {6, 9, 13, 19, 21, 23, 24, 25},
    .inputs = {1, 1},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = cast_attributes,
    .infer = infer_Cast,
    .run = run_cast,
    .emit = emit,
    .category = DQ_FOLLOW,
    .quantization = DQ_QUANTIZE_NOT,
};

const dq_operator dq_op_CastLike = {
    .name = "CastLike",
    .since = {15, 19, 21, 23, 24, 25},
    .inputs = {2, 2},
    .outputs = {1, 1},
    .types = DQ_TYPES_ALL,
    .attributes = cast_attributes + 1,
    .infer = infer_CastLike,
    .run = run_cast,
    .emit = emit,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
