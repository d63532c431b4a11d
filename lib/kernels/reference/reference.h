// Kernels in plain C, which need nothing but the C library. All other kernels must give the same bits. A program that
// dq writes can ship the files of this folder as they are.
#ifndef DQ_KERNELS_REFERENCE_H
#define DQ_KERNELS_REFERENCE_H

#include "lib/kernels/reference/forms.h"
#include "lib/kernels/reference/forms_f64.h"

// Convolutions and matrix products (conv_gemm.c) by plain loops, without packing, in one thread. Operands and results
// are those of dq_conv_f32_run, dq_conv_int8_run, dq_gemm_f32 and dq_gemm_int8; weights are OIHW, `bias` and `addend`
// may be NULL (none), and requantization NULL gives int32 sums. The parameters must have been checked.
void dq_conv_f32_reference(const dq_conv_parameters *parameters, const float *weights, const float *bias,
                           const float *input, const float *addend, float *output);
void dq_conv_int8_reference(const dq_conv_int8_parameters *parameters, const void *weights, const void *input,
                            void *output, const dq_requantization *requantization);
void dq_gemm_f32_reference(const dq_gemm_parameters *parameters, const float *a, const float *b, float *out);
void dq_gemm_int8_reference(const dq_gemm_int8_parameters *parameters, const void *a, const void *b, void *out,
                            const dq_requantization *requantization);

// The rows of kernels.def for any machine; what each does stands at its struct or function type in forms.h.
dq_f32_tile_function dq_f32_tile_c;
dq_i16_tile_function dq_i16_tile_c;
dq_f16_tile_function dq_f16_tile_c;
dq_f32_correlate_function dq_f32_correlate_c;
dq_f32_window_function dq_f32_window_c;
dq_f32_taps_function dq_f32_taps_c;
dq_plane_sums_function dq_plane_sums_c;
dq_f16_window_function dq_f16_window_c;
dq_i16_correlate_function dq_i16_correlate_c;
dq_winograd_input_function dq_winograd_input_c;
dq_winograd_output_function dq_winograd_output_c;
dq_i16_winograd_input_function dq_i16_winograd_input_c;
dq_i16_winograd_weights_function dq_i16_winograd_weights_c;
dq_i32_winograd_output_function dq_i32_winograd_output_c;
dq_f32_columns_function dq_f32_columns_c;
dq_f32_expand_function dq_f32_expand_c;
dq_f16_expand_function dq_f16_expand_c;
dq_f16_pairs_expand_function dq_f16_pairs_expand_c;
dq_i16_expand_function dq_i16_expand_c;
dq_u8s8_expand_function dq_u8s8_expand_c;
dq_copy_rows_function dq_copy_rows_c;
dq_requantize_function dq_requantize_c;
dq_f32_to_f16_function dq_f32_to_f16_c;
dq_f16_to_f32_function dq_f16_to_f32_c;
dq_round_f16_function dq_round_f16_c;
dq_f32_to_f16_leaky_function dq_f32_to_f16_leaky_c;
dq_quantize_function dq_quantize_c;
dq_dequantize_function dq_dequantize_c;
dq_lookup_function dq_lookup_c;
dq_ramps_function dq_ramps_c;
dq_maximum_8_function dq_maximum_8_c;
dq_maximum_f32_function dq_maximum_f32_c;
dq_maximum_f16_function dq_maximum_f16_c;
dq_add_8_function dq_add_8_c;
dq_multiply_8_function dq_multiply_8_c;
dq_range_function dq_range_c;
dq_exp_f32_function dq_exp_f32_c;
dq_sigmoid_f32_function dq_sigmoid_f32_c;
dq_tanh_f32_function dq_tanh_f32_c;
dq_expm1_f32_function dq_expm1_f32_c;
dq_softplus_f32_function dq_softplus_f32_c;
dq_erf_f32_function dq_erf_f32_c;
dq_f32_tail_function dq_f32_tail_c;

#endif
