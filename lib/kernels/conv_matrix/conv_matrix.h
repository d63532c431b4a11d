// Convolution as a product of the weights with a matrix of the input: what the algorithms of the forms im2col and
// im2row share. Functions below whose name ends as that of a function of dq_conv_algorithm serve as that function;
// sizes are in words of 32 bits.
#ifndef DQ_KERNELS_CONV_MATRIX_H
#define DQ_KERNELS_CONV_MATRIX_H

#include "lib/kernels/conv/conv_algorithm.h"

// The product out[rows][columns] = activation(a[rows][depth] b + bias of the row), where b is [depth][columns] (im2col)
// or, transposed, [columns][depth] (im2row).
typedef struct dq_matrix_product {
  const dq_conv_plan *plan;
  dq_pool *pool;             // that shares the product
  const float *a, *b, *bias; // bias NULL: none
  int64_t rows, columns, depth;
  bool transposed;
  float *out;
  int64_t out_stride;
  void *scratch; // scratch of the product alone
} dq_matrix_product;
typedef void dq_matrix_multiply(const dq_matrix_product *product);
// Words of scratch that dq_matrix_multiply needs for a product with `columns` columns.
typedef size_t dq_matrix_product_scratch(const dq_conv_plan *plan, int64_t columns, bool transposed, int threads);

// Products in one sum.
static inline int64_t dq_matrix_depth(const dq_conv_plan *plan) {
  const dq_conv_parameters *p = &plan->shape;
  return p->in_channels / p->groups * p->kernel_height * p->kernel_width;
}

bool dq_matrix_applicable(const dq_conv_plan *plan); // whether the plan is of float32

// im2col (conv_matrix.c). Both pack functions read weights as OIHW and the bias as [out_channels] (NULL: none), and
// write the words that the packed_words function of their form counts.
size_t dq_matrix_packed_words(const dq_conv_plan *plan);
size_t dq_matrix_words(const dq_conv_plan *plan); // words of the matrix of one group
size_t dq_matrix_scratch_words(const dq_conv_plan *plan, int threads, dq_matrix_product_scratch *product_scratch);
void dq_matrix_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed);
// Fills matrix[depth][out_height * out_width] (dq_matrix_words; rows in the order channel, kernel row, kernel column;
// padding is 0) for one group of one image, on the pool of the call, of which only plan and pool are read. `input` is
// the first plane of the group; its other planes follow. Not for plans whose dq_matrix_words is 0.
void dq_matrix_fill(const dq_conv_call *call, const float *input, float *matrix);
// The product for a group of an image; its b is the input itself, as a 1x1 convolution without strides needs no matrix.
dq_matrix_product dq_matrix_group(const dq_conv_call *call, int64_t image, int64_t group);
void dq_matrix_run(const dq_conv_call *call, dq_matrix_multiply *multiply, dq_matrix_product_scratch *product_scratch);

// im2row (conv_rows.c): fills and multiplies the matrix of a strip (some outputs in row-major order), then that of the
// next strip. dq_rows_pack adds to the words of dq_matrix_pack the offsets of the taps, unless the plan is flat.
void dq_rows_prepare(dq_conv_plan *plan);
size_t dq_rows_packed_words(const dq_conv_plan *plan);
size_t dq_rows_scratch_words(const dq_conv_plan *plan, int threads, dq_matrix_product_scratch *product_scratch);
void dq_rows_pack(const dq_conv_plan *plan, const void *weights, const void *bias, uint32_t *packed);
void dq_rows_run(const dq_conv_call *call, dq_matrix_multiply *multiply, dq_matrix_product_scratch *product_scratch);

#define DQ_MATRIX_PREPARE_matrix NULL
#define DQ_MATRIX_PREPARE_rows dq_rows_prepare
// Defines an algorithm of either form (`matrix` or `rows`) with the functions `multiply` and `scratch_words` of the
// including file; `fits` tells whether a plan may take it, and the statement `first` runs before every convolution.
#define DQ_MATRIX_ALGORITHM(symbol, text, form, bits, fits, first)                                                     \
  static size_t form##_scratch(const dq_conv_plan *plan, int threads) {                                                \
    return dq_##form##_scratch_words(plan, threads, scratch_words);                                                    \
  }                                                                                                                    \
  static void form##_run(const dq_conv_call *call) {                                                                   \
    first;                                                                                                             \
    dq_##form##_run(call, multiply, scratch_words);                                                                    \
  }                                                                                                                    \
  const dq_conv_algorithm symbol = {.name = text,                                                                      \
                                    .applicable = fits,                                                                \
                                    .same_bits = bits,                                                                 \
                                    .prepare = DQ_MATRIX_PREPARE_##form,                                               \
                                    .packed_words = dq_##form##_packed_words,                                          \
                                    .scratch_words = form##_scratch,                                                   \
                                    .pack = dq_##form##_pack,                                                          \
                                    .run = form##_run};

#endif
