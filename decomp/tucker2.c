// Tucker-2 by the higher-order SVD: unfoldings, factors, balance, reconstruction, cost.
#include "decomp/tucker2.h"

#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/linalg/linalg.h"

static int64_t taps_of(const int64_t dims[4]) {
  return dims[2] * dims[3];
}

// W[o,i,t] -> W[i,o,t]: the rows are then the unfolding along the input channels.
static void swap_channels(int64_t out, int64_t in, int64_t taps, const double *from, double *to) {
  for (int64_t o = 0; o < out; o++)
    for (int64_t i = 0; i < in; i++)
      memcpy(to + (i * out + o) * taps, from + (o * in + i) * taps, (size_t)taps * sizeof(double));
}

static double frobenius(int64_t count, const double *values) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += values[i] * values[i];
  return sqrt(sum);
}

static dq_status check_weight(const dq_tensor *weight, dq_error *error) {
  if (!weight || weight->type != DQ_F32)
    return dq_fail(error, DQ_UNSUPPORTED, "weight is %s, expected float32",
                   dq_dtype_name(weight ? weight->type : DQ_UNKNOWN_TYPE));
  if (weight->rank != 4)
    return dq_fail(error, DQ_UNSUPPORTED, "weight has %d dimensions, expected 4", weight->rank);
  char shape[DQ_SHAPE_TEXT];
  if (dq_tensor_count(weight) < 1 || !weight->data)
    return dq_fail(error, DQ_BAD_INPUT, "weight of %s has no elements",
                   dq_tensor_shape_text(weight, shape, sizeof shape));
  const float *values = weight->data;
  for (int64_t i = 0; i < dq_tensor_count(weight); i++)
    if (!isfinite(values[i]))
      return dq_fail(error, DQ_BAD_INPUT, "element %lld of the weight is %g", (long long)i,
                     (double)values[i]);
  return DQ_OK;
}

static dq_status compute_mode(dq_mode *mode, int64_t size, int64_t columns, const double *unfolding,
                              dq_arena *arena, dq_error *error) {
  int64_t rank = dq_min_i64(size, columns);
  double *values = DQ_NEW_ARRAY(arena, rank, double);
  double *vectors = dq_arena_array(arena, (size_t)rank * (size_t)size, sizeof(double));
  if (!values || !vectors)
    return dq_fail_memory(error, (size_t)rank * (size_t)size * sizeof(double));
  DQ_TRY(dq_left_singular(size, columns, unfolding, vectors, values, error));
  *mode = (dq_mode){
      .size = size, .rank = rank, .columns = columns, .values = values, .vectors = vectors};
  return DQ_OK;
}

dq_status dq_hosvd_compute(dq_hosvd *hosvd, const dq_tensor *weight, dq_arena *arena,
                           dq_error *error) {
  memset(hosvd, 0, sizeof *hosvd);
  DQ_TRY(check_weight(weight, error));
  int64_t count = dq_tensor_count(weight), out = weight->dims[0], in = weight->dims[1];
  memcpy(hosvd->dims, weight->dims, sizeof hosvd->dims);
  int64_t taps = taps_of(hosvd->dims);
  double *values = DQ_NEW_ARRAY(arena, count, double);
  dq_arena *scratch = dq_arena_new(0);
  double *swapped = scratch ? DQ_NEW_ARRAY(scratch, count, double) : NULL;
  if (!values || !swapped) {
    dq_arena_free(scratch);
    return dq_fail_memory(error, (size_t)count * sizeof(double));
  }
  for (int64_t i = 0; i < count; i++) values[i] = (double)((const float *)weight->data)[i];
  swap_channels(out, in, taps, values, swapped);
  hosvd->weight = values;
  hosvd->norm = frobenius(count, values);
  dq_status status = compute_mode(&hosvd->out, out, in * taps, values, arena, error);
  if (status == DQ_OK) status = compute_mode(&hosvd->in, in, out * taps, swapped, arena, error);
  dq_arena_free(scratch);
  return status;
}

double dq_mode_energy(const dq_mode *mode, int64_t rank) {
  double kept = 0, all = 0;
  for (int64_t k = 0; k < mode->rank; k++) {
    all += mode->values[k] * mode->values[k];
    if (k < rank) kept = all;
  }
  return all > 0 ? kept / all : 1.0;
}

// G = W x_1 U^T x_2 V^T; a mode at rank == size keeps its channels (U = 1 or V = 1). With both so,
// the result is W itself.
static dq_status project(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in, double *core,
                         double *half, dq_error *error) {
  int64_t in = hosvd->dims[1], taps = taps_of(hosvd->dims);
  const double *left = hosvd->weight; // r_out x i x taps
  if (rank_out < hosvd->dims[0]) {
    DQ_TRY(dq_multiply(false, false, rank_out, in * taps, hosvd->dims[0], hosvd->out.vectors,
                       hosvd->weight, half, error));
    left = half;
  }
  if (rank_in == in) {
    memcpy(core, left, (size_t)(rank_out * in * taps) * sizeof(double));
    return DQ_OK;
  }
  for (int64_t a = 0; a < rank_out; a++)
    DQ_TRY(dq_multiply(false, false, rank_in, taps, in, hosvd->in.vectors, left + a * in * taps,
                       core + a * rank_in * taps, error));
  return DQ_OK;
}

// The exponents of the powers of two that bring the factors' Frobenius norms together: each to the
// geometric mean of all. Orthonormal factors have norm sqrt(rank), the core about that of W.
typedef struct balance {
  int input, core, output;
} balance;

static balance balance_norms(double core_norm, int64_t rank_out, int64_t rank_in, bool has_output,
                             bool has_input) {
  if (!(core_norm > 0) || (!has_output && !has_input)) return (balance){0};
  double core = log2(core_norm);
  double output = has_output ? 0.5 * log2((double)rank_out) : 0;
  double input = has_input ? 0.5 * log2((double)rank_in) : 0;
  double mean = (core + output + input) / (1.0 + has_output + has_input);
  balance result = {.input = has_input ? (int)lround(mean - input) : 0,
                    .output = has_output ? (int)lround(mean - output) : 0};
  result.core = -result.input - result.output;
  return result;
}

static void store_scaled(int64_t count, const double *from, int exponent, float *to) {
  double scale = ldexp(1.0, exponent);
  for (int64_t i = 0; i < count; i++) to[i] = (float)(from[i] * scale);
}

static dq_tensor *new_weight(dq_arena *arena, int64_t out, int64_t in, int64_t height,
                             int64_t width) {
  return dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){out, in, height, width});
}

static dq_status store_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, const double *core,
                               dq_arena *arena, dq_error *error) {
  const int64_t *dims = hosvd->dims, out = dims[0], in = dims[1];
  int64_t rank_out = factors->rank_out, rank_in = factors->rank_in;
  bool has_output = rank_out < out, has_input = rank_in < in;
  factors->core = new_weight(arena, rank_out, rank_in, dims[2], dims[3]);
  if (has_input) factors->input = new_weight(arena, rank_in, in, 1, 1);
  if (has_output) factors->output = new_weight(arena, out, rank_out, 1, 1);
  int64_t core_count = rank_out * rank_in * taps_of(dims);
  if (!factors->core || (has_input && !factors->input) || (has_output && !factors->output))
    return dq_fail_memory(error, (size_t)core_count * sizeof(float));
  balance scale =
      balance_norms(frobenius(core_count, core), rank_out, rank_in, has_output, has_input);
  store_scaled(core_count, core, scale.core, factors->core->data);
  if (has_input) store_scaled(rank_in * in, hosvd->in.vectors, scale.input, factors->input->data);
  if (!has_output) return DQ_OK;
  float *output = factors->output->data;
  double output_scale = ldexp(1.0, scale.output);
  for (int64_t o = 0; o < out; o++)
    for (int64_t a = 0; a < rank_out; a++)
      output[o * rank_out + a] = (float)(hosvd->out.vectors[a * out + o] * output_scale);
  return DQ_OK;
}

static double *to_double(dq_arena *arena, const dq_tensor *tensor) {
  int64_t count = dq_tensor_count(tensor);
  double *values = DQ_NEW_ARRAY(arena, count, double);
  for (int64_t i = 0; values && i < count; i++) values[i] = (double)((float *)tensor->data)[i];
  return values;
}

static dq_status reconstruct(const dq_tucker2 *factors, double *weight, dq_arena *scratch,
                             dq_error *error) {
  const dq_tensor *core = factors->core, *input = factors->input, *output = factors->output;
  int64_t rank_out = core->dims[0], rank_in = core->dims[1], taps = core->dims[2] * core->dims[3];
  int64_t out = output ? output->dims[0] : rank_out, in = input ? input->dims[1] : rank_in;
  double *half = DQ_NEW_ARRAY(scratch, out * rank_in * taps, double); // o x r_in x taps
  double *g = to_double(scratch, core);
  double *u = output ? to_double(scratch, output) : NULL;
  double *v = input ? to_double(scratch, input) : NULL;
  if (!half || !g || (output && !u) || (input && !v))
    return dq_fail_memory(error, (size_t)(out * rank_in * taps) * sizeof(double));
  if (output) DQ_TRY(dq_multiply(false, false, out, rank_in * taps, rank_out, u, g, half, error));
  else memcpy(half, g, (size_t)(out * rank_in * taps) * sizeof(double));
  if (!input) {
    memcpy(weight, half, (size_t)(out * in * taps) * sizeof(double));
    return DQ_OK;
  }
  for (int64_t o = 0; o < out; o++)
    DQ_TRY(dq_multiply(true, false, in, taps, rank_in, v, half + o * rank_in * taps,
                       weight + o * in * taps, error));
  return DQ_OK;
}

dq_status dq_tucker2_reconstruct(const dq_tucker2 *factors, double *weight, dq_error *error) {
  dq_arena *scratch = dq_arena_new(0);
  if (!scratch) return dq_fail_memory(error, sizeof(double));
  dq_status status = reconstruct(factors, weight, scratch, error);
  dq_arena_free(scratch);
  return status;
}

// Relative to the norm of W; 0 for W = 0, whose factors are exact.
static dq_status measure_error(dq_tucker2 *factors, const dq_hosvd *hosvd, dq_arena *scratch,
                               dq_error *error) {
  int64_t count = hosvd->dims[0] * hosvd->dims[1] * taps_of(hosvd->dims);
  double *difference = DQ_NEW_ARRAY(scratch, count, double);
  if (!difference) return dq_fail_memory(error, (size_t)count * sizeof(double));
  DQ_TRY(reconstruct(factors, difference, scratch, error));
  for (int64_t i = 0; i < count; i++) difference[i] -= hosvd->weight[i];
  factors->error = hosvd->norm > 0 ? frobenius(count, difference) / hosvd->norm : 0;
  return DQ_OK;
}

// Between 1 and the full rank, or the channels of a mode that stays whole.
static bool rank_fits(const dq_mode *mode, int64_t rank) {
  return rank >= 1 && (rank <= mode->rank || rank == mode->size);
}

bool dq_tucker2_ranks_fit(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in) {
  return rank_fits(&hosvd->out, rank_out) && rank_fits(&hosvd->in, rank_in);
}

dq_status dq_tucker2_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, int64_t rank_out,
                             int64_t rank_in, dq_arena *arena, dq_error *error) {
  if (!dq_tucker2_ranks_fit(hosvd, rank_out, rank_in))
    return dq_fail(error, DQ_USAGE, "ranks %lld and %lld, expected 1 to %lld and 1 to %lld",
                   (long long)rank_out, (long long)rank_in, (long long)hosvd->out.rank,
                   (long long)hosvd->in.rank);
  *factors = (dq_tucker2){.rank_out = rank_out,
                          .rank_in = rank_in,
                          .energy_out = dq_mode_energy(&hosvd->out, rank_out),
                          .energy_in = dq_mode_energy(&hosvd->in, rank_in)};
  int64_t taps = taps_of(hosvd->dims);
  dq_arena *scratch = dq_arena_new(0);
  double *core = scratch ? DQ_NEW_ARRAY(scratch, rank_out * rank_in * taps, double) : NULL;
  double *half = core ? DQ_NEW_ARRAY(scratch, rank_out * hosvd->dims[1] * taps, double) : NULL;
  dq_status status = half ? project(hosvd, rank_out, rank_in, core, half, error)
                          : dq_fail_memory(error, (size_t)(rank_out * taps) * sizeof(double));
  if (status == DQ_OK) status = store_factors(factors, hosvd, core, arena, error);
  if (status == DQ_OK) status = measure_error(factors, hosvd, scratch, error);
  dq_arena_free(scratch);
  return status;
}

static int64_t saturating_product(const int64_t *values, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; i++)
    if (!dq_mul_i64(product, values[i], &product)) return INT64_MAX;
  return product;
}

static int64_t saturating_sum(int64_t a, int64_t b) {
  int64_t sum;
  return dq_add_i64(a, b, &sum) ? sum : INT64_MAX;
}

dq_conv_cost dq_conv_cost_whole(const int64_t dims[4], bool bias, int64_t out_positions) {
  int64_t weights = saturating_product(dims, 4);
  return (dq_conv_cost){.macs = saturating_product((int64_t[]){weights, out_positions}, 2),
                        .parameters = saturating_sum(weights, bias ? dims[0] : 0)};
}

dq_conv_cost dq_conv_cost_tucker2(const int64_t dims[4], bool bias, int64_t in_positions,
                                  int64_t out_positions, int64_t rank_out, int64_t rank_in) {
  const int64_t core[4] = {rank_out, rank_in, dims[2], dims[3]};
  const int64_t input[4] = {rank_in, dims[1], 1, 1}, output[4] = {dims[0], rank_out, 1, 1};
  dq_conv_cost total = dq_conv_cost_whole(core, false, out_positions);
  dq_conv_cost first = {0}, last = {0};
  if (rank_in < dims[1]) first = dq_conv_cost_whole(input, false, in_positions);
  if (rank_out < dims[0]) last = dq_conv_cost_whole(output, false, out_positions);
  total.macs = saturating_sum(total.macs, saturating_sum(first.macs, last.macs));
  total.parameters =
      saturating_sum(total.parameters, saturating_sum(first.parameters, last.parameters));
  total.parameters = saturating_sum(total.parameters, bias ? dims[0] : 0);
  return total;
}
