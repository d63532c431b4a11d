// Elementwise computing for operator files: loops over rows of elements, tables of them by element
// type, and the one iterator that broadcasts, splits and threads.
#ifndef DQ_OPS_ELEMENTWISE_H
#define DQ_OPS_ELEMENTWISE_H

#include <math.h>
#include <string.h>

#include "lib/kernels/reference/function.h"
#include "lib/ops/table/operator.h"

// `count` elements of the output with the inputs at hand: input k advances by strides[k]
// elements (1, or 0 where it is broadcast). The output may lie where an input lies.
typedef struct dq_lane {
  const void *inputs[3];
  int64_t strides[3]; // in elements
  void *output;       // elements without gaps
  int64_t count;
  const double *parameters; // those of dq_broadcast_run; at least two
  unsigned cpu;             // set of features (lib/base/cpu.h) that kernels may use
} dq_lane;

typedef void dq_loop(const dq_lane *lane);

enum {
  DQ_LOOP_TYPES = DQ_U64 + 1, // size of tables of loops by element type
  // Numbers of elements for which it pays to wake a thread.
  DQ_GRAIN = 32768,         // of arithmetic
  DQ_GRAIN_FUNCTION = 2048, // of functions such as exp
};

// Splits the indices 0 to count - 1 into spans of `grain` and calls work(argument, from, to) for each, `to` not
// included, on the pool of the context (NULL: one thread).
typedef void dq_span_work(void *argument, int64_t from, int64_t to);
void dq_spans(const dq_context *context, int64_t count, int64_t grain, dq_span_work *work, void *argument);

// Runs `loop` over all elements of `output`, with `count` (1 to 3) inputs broadcast to its shape, which inference has
// checked. The output may be one of the inputs of its shape. `parameters` NULL: zeros. `grain`: elements of one piece
// of work.
void dq_broadcast_run(const dq_context *context, int count, const dq_tensor *const *inputs, dq_tensor *output,
                      dq_loop *loop, const double *parameters, int64_t grain);

// Runs loops[type of input 0] over all inputs of the op into output 0, as dq_broadcast_run. `loops` has DQ_LOOP_TYPES
// entries. DQ_UNSUPPORTED: there is no loop for the type; DQ_BAD_INPUT: another input has another type.
dq_status dq_elementwise(dq_op *op, dq_loop *const *loops, const double *parameters, int64_t grain);

// DQ_BAD_INPUT: an input behind input `from` has another type than input `from`.
dq_status dq_op_same_types(const dq_op *op, int from);

// dq_infer_binary does what dq_infer_broadcast does, and dq_infer_comparison what dq_infer_compare does, after a check
// that all inputs have one type (DQ_BAD_INPUT).
dq_status dq_infer_binary(dq_op *op);
dq_status dq_infer_comparison(dq_op *op);
// Sets output 0 to the type and shape of input 0. DQ_BAD_INPUT: another input has another type, or does not broadcast
// to the shape of input 0.
dq_status dq_infer_unidirectional(dq_op *op);

// The row of an operator of inputs and one output that run_NAME computes: versions and numbers of inputs in
// parentheses, then what else the row says, as designated fields.
#define DQ_ELEMENTWISE_ROW(NAME, VERSIONS, INPUTS, TYPES, ATTRIBUTES, INFER, ...)                                      \
  const dq_operator dq_op_##NAME = {.name = #NAME,                                                                     \
                                    .since = DQ_VERSIONS VERSIONS,                                                     \
                                    .inputs = DQ_VERSIONS INPUTS,                                                      \
                                    .outputs = {1, 1},                                                                 \
                                    .types = TYPES,                                                                    \
                                    .attributes = ATTRIBUTES,                                                          \
                                    .infer = INFER,                                                                    \
                                    .run = run_##NAME,                                                                 \
                                    __VA_ARGS__};

// ---- Writing loops ----

// An expression of x and y that a macro names, as the text of a formula, so that loop and formula are one.
#define DQ_FORMULA(...) DQ_FORMULA_TEXT(__VA_ARGS__)
#define DQ_FORMULA_TEXT(...) #__VA_ARGS__

// X(name, type symbol, C type, rest...) for each type of a class.
#define DQ_EACH_FLOAT(X, ...) X(__VA_ARGS__, F32, float) X(__VA_ARGS__, F64, double)
#define DQ_EACH_SIGNED(X, ...)                                                                                         \
  X(__VA_ARGS__, I8, int8_t) X(__VA_ARGS__, I16, int16_t) X(__VA_ARGS__, I32, int32_t) X(__VA_ARGS__, I64, int64_t)
#define DQ_EACH_UNSIGNED(X, ...)                                                                                       \
  X(__VA_ARGS__, U8, uint8_t) X(__VA_ARGS__, U16, uint16_t) X(__VA_ARGS__, U32, uint32_t) X(__VA_ARGS__, U64, uint64_t)
#define DQ_EACH_INTEGER(X, ...) DQ_EACH_SIGNED(X, __VA_ARGS__) DQ_EACH_UNSIGNED(X, __VA_ARGS__)
#define DQ_EACH_NUMBER(X, ...) DQ_EACH_FLOAT(X, __VA_ARGS__) DQ_EACH_INTEGER(X, __VA_ARGS__)

// The entry of a table of loops made by the macros below.
#define DQ_LOOP_ENTRY(name, symbol, type) [DQ_##symbol] = name##_##symbol,

// output = expression of x, in the type `element`; a and b are the parameters in that type.
// Iterations touch one element each, so an output lying on the input is no dependence (ivdep).
#define DQ_LOOP1_TO(to, name, expression, symbol, type)                                                                \
  static void name##_##symbol(const dq_lane *lane) {                                                                   \
    typedef type element __attribute__((unused));                                                                      \
    const type *in = lane->inputs[0];                                                                                  \
    to *out = lane->output;                                                                                            \
    const type a = (type)lane->parameters[0], b = (type)lane->parameters[1];                                           \
    const int64_t n = lane->count;                                                                                     \
    (void)a, (void)b;                                                                                                  \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                             \
      const type x = in[i];                                                                                            \
      out[i] = (to)(expression);                                                                                       \
    }                                                                                                                  \
  }
#define DQ_LOOP1(name, expression, symbol, type) DQ_LOOP1_TO(type, name, expression, symbol, type)

// The loop that is a kernel of lib/kernels: function(cpu, input, output, count).
#define DQ_KERNEL_LOOP(name, function)                                                                                 \
  static void name(const dq_lane *lane) { function(lane->cpu, lane->inputs[0], lane->output, lane->count); }

// output = expression of x in float32 and of f, the function that a kernel, function(cpu, input, output, count), makes
// of `argument`, an expression of x; in blocks, as output may lie on the input.
#define DQ_KERNEL_LOOP1(name, argument, function, expression)                                                          \
  static void name##_F32(const dq_lane *lane) {                                                                        \
    typedef float element __attribute__((unused));                                                                     \
    enum { BLOCK = 512 };                                                                                              \
    const float *in = lane->inputs[0], a = (float)lane->parameters[0], b = (float)lane->parameters[1];                 \
    float *out = lane->output, values[BLOCK];                                                                          \
    (void)a, (void)b;                                                                                                  \
    for (int64_t from = 0; from < lane->count; from += BLOCK, in += BLOCK, out += BLOCK) {                             \
      const int64_t count = lane->count - from < BLOCK ? lane->count - from : BLOCK;                                   \
      for (int64_t i = 0; i < count; i++) {                                                                            \
        const float x = in[i];                                                                                         \
        values[i] = argument;                                                                                          \
      }                                                                                                                \
      function(lane->cpu, values, values, count);                                                                      \
      for (int64_t i = 0; i < count; i++) {                                                                            \
        const float x = in[i], f = values[i];                                                                          \
        out[i] = expression;                                                                                           \
      }                                                                                                                \
    }                                                                                                                  \
  }

// output = expression of x and y, any strides.
#define DQ_LOOP2_TO(to, name, expression, symbol, type)                                                                \
  static void name##_##symbol(const dq_lane *lane) {                                                                   \
    typedef type element __attribute__((unused));                                                                      \
    const type *p = lane->inputs[0], *q = lane->inputs[1];                                                             \
    const int64_t s = lane->strides[0], t = lane->strides[1], n = lane->count;                                         \
    to *out = lane->output;                                                                                            \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                             \
      const type x = p[i * s], y = q[i * t];                                                                           \
      (void)x, (void)y;                                                                                                \
      out[i] = (to)(expression);                                                                                       \
    }                                                                                                                  \
  }
#define DQ_LOOP2(name, expression, symbol, type) DQ_LOOP2_TO(type, name, expression, symbol, type)

// The same with loops of their own for the strides that matter: for hot operators.
#define DQ_LOOP2_FAST(name, expression, symbol, type)                                                                  \
  static void name##_##symbol(const dq_lane *lane) {                                                                   \
    typedef type element __attribute__((unused));                                                                      \
    const type *p = lane->inputs[0], *q = lane->inputs[1];                                                             \
    const int64_t s = lane->strides[0], t = lane->strides[1], n = lane->count;                                         \
    type *out = lane->output;                                                                                          \
    if (s && t) {                                                                                                      \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                           \
        const type x = p[i], y = q[i];                                                                                 \
        out[i] = (type)(expression);                                                                                   \
      }                                                                                                                \
    } else if (s) {                                                                                                    \
      const type y = *q;                                                                                               \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                           \
        const type x = p[i];                                                                                           \
        out[i] = (type)(expression);                                                                                   \
      }                                                                                                                \
    } else {                                                                                                           \
      const type x = *p;                                                                                               \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                                           \
        const type y = q[i * t];                                                                                       \
        out[i] = (type)(expression);                                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
  }

// Versions travel through macros as one parenthesised argument: .since = DQ_VERSIONS (1, 6).
#define DQ_VERSIONS(...)                                                                                               \
  { __VA_ARGS__ }

// Gives a row its run function: static loops table_##name must exist.
#define DQ_RUN_LOOPS(name, grain)                                                                                      \
  static dq_status run_##name(dq_op *op) { return dq_elementwise(op, loops_##name, NULL, grain); }

// Old versions of many operators have this attribute, which means nothing.
extern const dq_attribute_rule dq_consumed_inputs[];
#define DQ_CONSUMED_INPUTS                                                                                             \
  { "consumed_inputs", DQ_ATTRIBUTE_INTS, false }

// exp in the type of its argument.
#define DQ_EXP(x) _Generic((x), float : dq_exp_one, default : exp)(x)

#endif
