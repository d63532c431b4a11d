// Convolutions. The rules of pointers, scratch and threads are those of kernel_table.h; the parameters stand in
// forms.h.
#ifndef DQ_KERNELS_CONV_H
#define DQ_KERNELS_CONV_H

#include "lib/base/pool.h"
#include "lib/base/status.h"
#include "lib/kernels/conv/conv_counts.h"
#include "lib/kernels/conv/conv_plan.h"

// How to compute a convolution.
typedef enum dq_conv_choice {
  DQ_CONV_SAME_BITS, // by the fastest algorithm whose results have the bits that are defined below
  DQ_CONV_AUTO,      // by the fastest algorithm; docs/NUMERICS.md bounds the errors of Winograd's filtering
// The following choices each name an algorithm of conv_algorithms.def; where it does not fit, they are as DQ_CONV_AUTO.
#define DQ_CONV_ALGORITHM(symbol, name, help) DQ_CONV_##symbol,
#include "lib/kernels/conv/conv_algorithms.def"
  DQ_CONV_CHOICES
} dq_conv_choice;

// "direct" (DQ_CONV_SAME_BITS), "auto" or the name of an algorithm, static; NULL after the last choice.
const char *dq_conv_choice_name(dq_conv_choice choice);
// Whether the results of a choice have the bits that are defined below, whatever the shape and type (in 8 bits those of
// all choices have).
bool dq_conv_same_bits(dq_conv_choice choice);
// Whether dq_conv_tuning.algorithm may be the choice: an algorithm that has a cost and whose results have the bits that
// are defined below.
bool dq_conv_is_candidate(dq_conv_choice choice);

// DQ_BAD_INPUT: a size is below 1 (the batch below 0), pads are negative, groups do not divide the channels, a window
// reaches outside of the padded input, or sizes in bytes overflow.
dq_status dq_conv_check(const dq_conv_parameters *parameters, dq_error *error);

// Multiply-accumulates of the whole batch, those with padding included; INT64_MAX: they do not fit.
int64_t dq_conv_macs(const dq_conv_parameters *parameters);

// Whether the sum of the products of any two input channels 2i and 2i + 1 at one place of the kernel fits int16
// whatever the input, with weights (OIHW) as signed and inputs as unsigned bytes. A plan for such weights may add these
// products in 16 bits. False also when a zero point of the weights is not 0 (int8) or 128 (uint8).
bool dq_conv_pairs_safe(const dq_conv_int8_parameters *parameters, const void *weights);

// The bound on the relative error of an output that Winograd's filtering must keep (docs/NUMERICS.md).
#define DQ_WINOGRAD_ERROR 0.01
// ---- float32 ----
// Bits: every output is one chain of fmaf from +0 over (input channel of the group, kernel row, kernel column),
// ascending, with padding as +0; then + bias (if there is one); then the activation; then + addend and sum_activation
// where the parameters say so.

// Checks the parameters as dq_conv_check does, whose status it returns, and fills *plan, which needs no release.
dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan, dq_error *error);
// Bytes of the packed weights, and of the scratch of a run with `threads` threads; for plans of all types.
size_t dq_conv_packed_bytes(const dq_conv_plan *plan);
size_t dq_conv_scratch_bytes(const dq_conv_plan *plan, int threads);
// Packs weights (OIHW) and bias ([out_channels], or NULL: none) into `packed`; both may be freed afterwards.
void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias, void *packed);
// Computes the whole batch. `addend` has the shape of the output and does not overlap it; NULL where nothing is added.
void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input, const float *addend,
                     float *output, void *scratch, dq_pool *pool);

// ---- binary16: input, weights, bias and output ----
// The bits are those of float32 on widened operands, with a rounded result; a LEAKY activation is applied after the
// rounding, and its result is rounded once more. Bounds of a CLIP must be binary16 numbers. Packed weights stay
// binary16. With half_sums the sums are added in binary16, over 64 words of two channels at a time, or over all taps of
// a depthwise convolution with a usual kernel (docs/NUMERICS.md). That works on any machine, and is fast with
// AVX512-FP16.
dq_status dq_conv_f16_plan(const dq_conv_parameters *parameters, bool half_sums, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error);
void dq_conv_f16_pack(const dq_conv_plan *plan, const uint16_t *weights, const uint16_t *bias, void *packed);
void dq_conv_f16_run(const dq_conv_plan *plan, const void *packed, const uint16_t *input, uint16_t *output,
                     void *scratch, dq_pool *pool);
// Says what is read behind each run of a plan, such as the packed weights of the next convolution: the end of a run may
// prefetch some of it, and changes no result. NULL: nothing is known, as in a new plan. `next` is not read.
void dq_conv_set_next(dq_conv_plan *plan, const void *next);
// The sizes of dq_conv_tuning that the algorithm of a plan reads, as a set of DQ_KNOB_ bits; for plans of all types.
enum { DQ_KNOB_COLUMNS = 1, DQ_KNOB_DEPTH = 2 };
unsigned dq_conv_knobs(const dq_conv_plan *plan);
// The form of a plan with a tuning: two tunings with the same algorithm and sizes run the same kernels on the same
// blocks in the same memory.
typedef struct dq_conv_form {
  const char *algorithm;  // its name, static
  unsigned knobs;         // DQ_KNOB_ bits that it reads
  int64_t columns, depth; // sizes that follow from these, in the algorithm's own measure; 0: there is none
  dq_counts counts;       // of a run, estimated
} dq_conv_form;
// The form of a plan of dq_conv_f32_plan, dq_conv_f16_plan or dq_conv_int8_plan (whose weights and zero points must
// still be there) if it were made with the tuning `tuning` and run by `threads` threads. Nothing is packed.
dq_conv_form dq_conv_form_of(const dq_conv_plan *plan, const dq_conv_tuning *tuning, int threads);
// The name of the algorithm of a plan, static; for all types.
const char *dq_conv_algorithm_name(const dq_conv_plan *plan);

// ---- 8 bits ----
// An output is the sum over taps of (x - input_zero_point) (w - weight_zero_point[output channel]), modulo 2^32.

// Checks the parameters (DQ_BAD_INPUT, also for zero points outside of their type) and fills *plan.
dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                            dq_error *error);
// Packs weights (OIHW, int8 or uint8 as `weight_signed` of the parameters says) of a plan by dq_conv_int8_plan into
// `packed`, of dq_conv_packed_bytes(plan) bytes, aligned to 64; the weights may be freed afterwards. Where the
// parameters have `weights`, these are the same. One pass over the weights, in the caller's thread.
void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed);
// Computes the whole batch. `output` receives int32 sums when `requantization` is NULL, else 8-bit integers.
void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool);

#endif
