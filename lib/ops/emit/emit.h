// C source of operators: what the function `emit` of a row prints, and what these functions share.
//
// A step of a network becomes a function of its own, whose parameters are named x0, x1, ... (inputs that are computed,
// by position), y0, y1, ... (outputs), c0, c1, ... (arrays of constants, in the order in which they were added) and
// scratch. `emit` prints the body of that function. Steps with equal bodies and parameters share one function.
#ifndef DQ_OPS_EMIT_H
#define DQ_OPS_EMIT_H

#include <stdio.h>

#include "lib/kernels/reference/forms.h"
#include "lib/ops/table/operator.h"

// Functions in C that bodies call, the rows of helpers.def; the source defines those that any step asked for.
typedef enum dq_emit_helper {
  DQ_EMIT_NONE,
#define DQ_EMIT_HELPER(id, ...) DQ_EMIT_##id,
#include "lib/ops/emit/helpers.def"
#undef DQ_EMIT_HELPER
  DQ_EMIT_HELPERS
} dq_emit_helper;

// What a helper computes with: numbers without products of floats; with them; also with functions of <math.h>.
typedef enum dq_emit_kind { DQ_EMIT_INTEGERS, DQ_EMIT_FLOATS, DQ_EMIT_LIBRARY } dq_emit_kind;

// The instructions that the C may use.
typedef enum dq_emit_target {
  DQ_EMIT_GENERIC, // those of C99
  DQ_EMIT_DSP      // also the SIMD instructions of Armv7E-M, by <arm_acle.h>
} dq_emit_target;

typedef struct dq_emit_array {
  int type; // dq_dtype
  int64_t count;
  const void *data;
} dq_emit_array;

enum { DQ_EMIT_ARRAYS = 32 };

struct dq_emission {
  const dq_op *op; // shapes are final, constants have elements; not prepared
  dq_arena *arena; // owns what outlives the step
  dq_emit_target target;
  FILE *body;
  int depth; // of braces, for the indentation
  dq_emit_array arrays[DQ_EMIT_ARRAYS];
  int array_count;
  bool helpers[DQ_EMIT_HELPERS]; // those that the step calls
  bool too_many;                 // there were more arrays than DQ_EMIT_ARRAYS; emitting the step then fails
  bool plain;                    // no result of a product of floats is added to another float
  const bool *placed;    // [op->input_count]: the input lies where its part of output 0 lies (DQ_OP_JOIN, DQ_OP_VIEW)
  size_t scratch_bytes;  // that the step needs beside its results
  int64_t channels;      // whose sums are requantized
  int64_t slow_channels; // of these: by float32, as no fixed-point form was proven
  int64_t exceptions;    // of the fixed-point forms
  int sum_bits;          // two's complement bits that hold every sum; 0: the step has no integer sums
};

// Prints one line (printf style), indented by the braces that are open.
void dq_emit(dq_emission *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Closes `count` braces, a line each.
void dq_emit_close(dq_emission *to, int count);

// ---- Helpers (emit_helpers.c) ----

void dq_emit_need(dq_emission *to, dq_emit_helper helper); // adds a helper to those that the source defines
// The helper whose function has the name `word`, of `length` letters, with in *wide the function that formulas of
// float64 call in its place: "": there is none; NULL: the same. DQ_EMIT_NONE, and *wide is not set: no helper has it.
dq_emit_helper dq_emit_helper_named(const char *word, size_t length, const char **wide);
// Adds to a set, [DQ_EMIT_HELPERS], what its helpers need.
void dq_emit_add_needs(bool *helpers);
// Whether a set has a helper of this kind; with `printed` only one that has a text.
bool dq_emit_has_kind(const bool *helpers, dq_emit_kind kind, bool printed);
// Prints the definitions of the helpers of a set that has what they need: those of DQ_EMIT_INTEGERS, or all others.
void dq_emit_print_helpers(FILE *to, const bool *helpers, bool integers);

// Adds an array of constants and returns the number in its name c0, c1, ...; -1: there are DQ_EMIT_ARRAYS already.
// `data` must outlive the emission.
int dq_emit_constant(dq_emission *to, int type, const void *data, int64_t count);
// Writes the name of input `i` into name[16]: "x0", or that of a new array where its elements are constant.
const char *dq_emit_input(dq_emission *to, int i, char name[16]);

const char *dq_emit_type(int type); // "float", "int8_t", ...; of a computable type
// All write `value`, which may be infinite or NaN, to `text` and return `text`: dq_emit_literal and
// dq_emit_wide_literal as a constant that initializes a float or a double, dq_emit_real as an expression of type float,
// which is exactly the value also where the compiler computes with more digits than those of the type
// (FLT_EVAL_METHOD). A NaN becomes one of other bits.
const char *dq_emit_literal(float value, char text[48]);
const char *dq_emit_wide_literal(double value, char text[48]);
const char *dq_emit_real(float value, char text[48]);

// Loops over all elements of a shape, for operands that have a stride in elements along each dimension (0: broadcast).
enum { DQ_EMIT_OPERANDS = 17 };
typedef struct dq_emit_nest {
  int rank, operands;
  int64_t dims[DQ_MAX_RANK], strides[DQ_EMIT_OPERANDS][DQ_MAX_RANK];
} dq_emit_nest;
// A nest over a shape whose operand 0 lies in row-major order.
dq_emit_nest dq_emit_nest_of(int rank, const int64_t *dims);
// Adds an operand that broadcasts to the shape of the nest.
void dq_emit_broadcast(dq_emit_nest *nest, const dq_tensor *operand);
// Opens the loops, dimensions that every operand walks through without a gap joined to one, and stores the index of
// each operand in index[operand][160], an expression of the loops' variables. Returns the number of loops, which the
// caller closes.
int dq_emit_loops(dq_emission *to, dq_emit_nest *nest, char index[][160]);

// How the integer sums of a step become its result. A sum begins with the addend of its channel, to which the products
// of weights (less their zero points) and stored data are added. The addend holds the bias less what the zero point of
// the data contributes, so a sum with its addend is the `sum + bias` of dq_requantization, and nothing adds
// requantization->bias again.
//
// A fixed-point form (lib/ops/common/fixed_point.h) is one multiplier and one shift of a channel that give the 8-bit
// result without float32; an exception of it is a sum whose result by the form is 1 too low or too high and is
// corrected.
typedef struct dq_emit_sums {
  // Set by the caller, at first: multipliers, zero point and bounds of the result; `floats`; `spare`.
  const dq_requantization *requantization;
  bool floats; // the result is float32, sum * multiplier
  int spare;   // elements more that `addends` has, for bodies that read whole blocks of channels
  // Set by the caller or by dq_emit_weights_prepare.
  int64_t channels;
  int32_t *addends;      // [channels + spare], in to->arena
  int64_t *least, *most; // [channels]: bounds of the sums with addend, whatever the data
  // Set by dq_emit_sums_prepare.
  int first;           // number of the first array: factors, behind which stand the addends
  bool in_float;       // a channel has no fixed-point form, so all are requantized by float32
  int shift;           // of the fixed-point forms of all channels; 0: each has its own
  int64_t exceptions;  // of the fixed-point forms of all channels
  int first_exception; // number of the array of their channels
  bool high;           // every shift is above 32: the upper half of a product is enough
} dq_emit_sums;
// Finds how the sums are requantized and adds the arrays for it to the step: factors, addends, where needed shifts, and
// the list of exceptions. All fields above "Set by dq_emit_sums_prepare" are set before (dq_emit_weights_prepare sets
// channels, addends, least and most), and to->sum_bits. A fixed-point form is searched for up to three times for each
// channel, each time by some 256 bisections over the range of its sums; with `floats` nothing is searched. Adds to the
// counts of `to`: channels, slow_channels, exceptions. DQ_UNSUPPORTED: to->sum_bits is above 32. More arrays than
// DQ_EMIT_ARRAYS are no failure here (to->too_many).
dq_status dq_emit_sums_prepare(dq_emission *to, dq_emit_sums *sums);
// A body prints, in this order: dq_emit_first_exception, a declaration, in front of a loop over ascending channels; in
// the loop dq_emit_factors, the declarations of the factors of the channel, and dq_emit_next_exception, a loop that
// finds its first exception; then dq_emit_result, statements that store the result of a sum. `channel` is an expression
// of the index of the channel; `sum` is the name of an int32_t variable that holds the sum with its addend; `target` is
// an assignable expression without side effects (it is printed up to three times) of the type of output 0, such as
// "y[0]".
void dq_emit_first_exception(dq_emission *to, const dq_emit_sums *sums);
void dq_emit_factors(dq_emission *to, const dq_emit_sums *sums, const char *channel);
void dq_emit_next_exception(dq_emission *to, const dq_emit_sums *sums, const char *channel);
void dq_emit_result(dq_emission *to, const dq_emit_sums *sums, const char *channel, const char *target,
                    const char *sum);
// The parts of dq_emit_result, for rows of sums. dq_emit_store prints the statement that stores the result but for
// exceptions. Only where sums->exceptions is above 0: dq_emit_exceptions prints the head of a loop over the exceptions
// of the channel, whose variable is `e` and which the caller closes; in it, dq_emit_correct prints an if statement that
// adds the correction of exception `e` to `target` where `sum` is the sum of that exception.
void dq_emit_store(dq_emission *to, const dq_emit_sums *sums, const char *target, const char *sum);
void dq_emit_exceptions(dq_emission *to, const dq_emit_sums *sums, const char *channel);
void dq_emit_correct(dq_emission *to, const dq_emit_sums *sums, const char *target, const char *sum);

// The operands of a product of integers: weights of `channels` sums of `depth` products each.
typedef struct dq_emit_weights {
  const dq_tensor *weights; // int8 or uint8; weight k of channel c is element c * channel_stride + k * depth_stride
  int64_t channels, depth, channel_stride, depth_stride;
  const int32_t *zero_points; // of the weights: 0 (all zero), 1 or `channels`
  int64_t zero_point_count;
  int32_t data_zero_point;
  bool data_signed;
  int64_t stride; // elements of a channel in the array, at least `depth`; those behind `depth` are 0. 0: `depth`
  // Above 0: weights that fit int8 lie in blocks of four channels of a group, which has so many. A block is `stride`
  // words; two words hold, from the lowest byte on, weight k of channels 0 and 1, weight k + 1 of these, and the same
  // of channels 2 and 3.
  int64_t block_outputs;
} dq_emit_weights;
// Adds the array [channels][stride] of the weights less their zero points (int8, or int16 where these need it), stores
// its number in *number, and fills sums->channels, addends, least and most, with the bias of sums->requantization, for
// which the caller has set sums->requantization and spare. Raises to->sum_bits to the width of the widest sum, with and
// without its addend.
dq_status dq_emit_weights_prepare(dq_emission *to, const dq_emit_weights *weights, dq_emit_sums *sums, int *number);

// A convolution of x0 into y0 over one or two axes, of 8 bits, float32, or float16 with sums in float32.
// dq_emit_convolution_body prints loops that add up to DQ_EMIT_TAPS taps at once, row by row of the output, and returns
// DQ_OK; DQ_UNSUPPORTED: weights of floats are not finite, and there is padding.
typedef struct dq_emit_convolution {
  dq_conv_parameters shape;
  int weights;              // number of the array of the weights, OIHW
  const dq_emit_sums *sums; // of integers, prepared (dq_emit_sums_prepare); NULL: float32
  int32_t padding;          // integers: the stored number that stands for 0
  int bias;                 // float32: number of the array, [out_channels]; -1: none
  const char *addend;       // float32: name of the operand that is added at the end; NULL: none
} dq_emit_convolution;
dq_status dq_emit_convolution_body(dq_emission *to, const dq_emit_convolution *convolution);

// Whether a convolution of integers is better computed column by column: all products of an output pixel at once, for
// two pixels and several output channels at a time, from a copy of the inputs of all taps.
bool dq_emit_suits_columns(const dq_emission *to, const dq_conv_parameters *shape);
// Sets stride and block_outputs of the weights of such a convolution, and sums->spare, before dq_emit_weights_prepare.
void dq_emit_columns_layout(const dq_emission *to, const dq_conv_parameters *shape, dq_emit_weights *weights,
                            dq_emit_sums *sums);
// Prints the body of such a convolution of x0 into y0. Weights and sums are prepared. Returns DQ_OK.
dq_status dq_emit_columns_body(dq_emission *to, const dq_emit_convolution *convolution);

// Whether dq_emit_planes_body can print a convolution of integers: one input channel for each group (any number of
// output channels of it), a 3x3 kernel without dilation, a horizontal stride of 1 or 2, any vertical stride and any
// padding. Where dq_emit_suits_columns holds as well, that way is used.
bool dq_emit_suits_planes(const dq_conv_parameters *shape);
// Prints the body of such a convolution of x0 into y0: each plane is copied with its padding into the scratch, so that
// no output is a special case, and its sums are requantized. Sets to->scratch_bytes to the size of one padded plane.
// Weights, as [channels][9], and sums are prepared. Returns DQ_OK.
dq_status dq_emit_planes_body(dq_emission *to, const dq_emit_convolution *convolution);

// A product of a rows x depth matrix x0 and a constant matrix, which lies as [columns][depth].
typedef struct dq_emit_product {
  int64_t rows, columns, depth;
  int64_t row_stride, depth_stride; // of x0, in elements
  int weights;                      // number of the array
  const dq_emit_sums *sums;         // of integers; NULL: float32
  const char *end;                  // float32: an expression of `sum`, `r` and `o` that the result is
} dq_emit_product;
// Loops over the products of two stacks of matrices, what dq_matmul_operands walks through, with a line for each
// product of the loops: `a` and `b` are the first elements of the matrices, `at` that of the result. Returns the number
// of braces.
struct dq_matmul;
int dq_emit_stack(dq_emission *to, const struct dq_matmul *matmul);
// Products of two matrices of any operands, row by row.
typedef struct dq_emit_matrices {
  int a, b; // inputs
  int64_t rows, columns, depth;
  int64_t a_row, a_column, b_row, b_column; // strides in elements
  const char *step;                         // what is done for elements x and y of the operands
} dq_emit_matrices;
// dq_emit_matrices_open opens two loops over the elements of the result, with the row `r`, the column `o` and the index
// `place` as variables; dq_emit_matrices_sum prints the loop over the products of an element. Between both calls the
// caller declares the variables that matrices->step changes.
void dq_emit_matrices_open(dq_emission *to, const dq_emit_matrices *matrices);
void dq_emit_matrices_sum(dq_emission *to, const dq_emit_matrices *matrices);
// Prints the body of a dq_emit_product into y0.
void dq_emit_product_body(dq_emission *to, const dq_emit_product *product);

// Writes the activation of the float32 variable `name` as an expression into `text` and returns `text`.
const char *dq_emit_activation(dq_emission *to, const dq_activation *activation, const char *name, char text[300]);

// Prints a loop over `count` elements of x0 that stores QuantizeLinear of each (scale, zero point `zero`, bounds low <=
// high of the integer) in y0, by a table of the float32 bits at which each integer begins and a product that says where
// to look, proven at both ends of every entry. Adds the table as an array. False: nothing was printed, as the table was
// not proven: the scale is not normal or not above 0, the integers on one side of zero are less than 2 or more than
// 255, their magnitudes span too many powers of 2, or there is no memory.
bool dq_emit_levels(dq_emission *to, int64_t count, float scale, int32_t zero, int32_t low, int32_t high);

// For rows (dq_operator.emit): dq_emit_qlinear_conv prints the body of QLinearConv and dq QConv, dq_emit_qlinear_matmul
// that of QLinearMatMul, dq QMatMul and dq QGemm. DQ_UNSUPPORTED: the form of the node has no C; DQ_SYSTEM: there is no
// memory.
dq_status dq_emit_qlinear_conv(dq_emission *to);
dq_status dq_emit_qlinear_matmul(dq_emission *to);

// Opens a loop over the positions k<axis> of a kernel along an axis of a window that lie inside of its input for output
// position o<axis>; p<axis> is the input's position.
struct dq_window;
void dq_emit_positions(dq_emission *to, const struct dq_window *window, int axis);

// For rows (dq_operator.emit): print the bodies of MaxPool, AveragePool and LpPool. DQ_UNSUPPORTED: the form of the
// node has no C.
dq_status dq_emit_max_pool(dq_emission *to);
dq_status dq_emit_average_pool(dq_emission *to);
dq_status dq_emit_lp_pool(dq_emission *to);

// ---- Functions of elements: lib/ops/emit/emit_elements.c ----

enum { DQ_EMIT_FORMULA = 700 };
// Writes a formula (dq_operator.formula) for elements of a type into a text: attributes, names and numbers filled in.
// False: the type has no such function, or the text is too long.
bool dq_emit_fill(dq_emission *to, const char *formula, int type, char text[DQ_EMIT_FORMULA]);
// The formula of a row for a type of input 0; NULL: there is none.
const char *dq_emit_formula_for(const dq_operator *row, int type);
// Whether a name stands in a text as a word.
bool dq_emit_mentions(const char *text, const char *name);
// Whether a tensor has float16 elements that the operator computes in float32.
bool dq_emit_is_half(const dq_emission *to, const dq_tensor *tensor);
// dq_emit_load declares `variable` with the element of input `i` at the expression `index`, as float where
// dq_emit_is_half; dq_emit_assign assigns the expression `value` to the element of output `o` at `index`.
void dq_emit_load(dq_emission *to, int i, const char *variable, const char *index);
void dq_emit_assign(dq_emission *to, int o, const char *index, const char *value);
// Writes the element of input `i` at the expression `index` as an expression into `text`: float where dq_emit_is_half,
// 0 or 1 for bool.
void dq_emit_element(dq_emission *to, int i, const char *index, char text[100]);
// Prints loops that store a formula of up to three inputs, which broadcast, in output 0. DQ_UNSUPPORTED: the formula is
// NULL, or has no form for the type.
dq_status dq_emit_elements(dq_emission *to, const char *formula);
// For rows (dq_operator.emit): dq_emit_elements with the formula of the row for the type, or with that of its clamp or
// slope.
dq_status dq_emit_formula(dq_emission *to);
// Prints loops that apply the formula of the row to one input after the other, x being the result so far, and store
// `end`, an expression of x, in output 0. Statuses as dq_emit_elements.
dq_status dq_emit_fold(dq_emission *to, const char *end);

// For rows of operators that move elements: runs the row on the numbers of the elements to find which one each element
// of an output is, and prints loops that copy them. This is done for each output anew and takes 4 bytes for an element
// of input 0 and 12 for one of an output, in to->arena. Input 0 is computed in the run, all other inputs are known.
// DQ_UNSUPPORTED: input 0 is constant, another input is computed, an element is no element of input 0 (padding), input
// 0 has more than 2^24 elements, or there are more than 16 inputs or 17 outputs.
dq_status dq_emit_move(dq_emission *to);

#endif
