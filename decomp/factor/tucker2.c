// Tucker-2 by the higher-order SVD: unfoldings, factors, balance, reconstruction, cost.
#include "decomp/factor/tucker2.h"

#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/linalg/linalg.h"

static int64_t taps_of(const int64_t dims[4]) { return dims[2] * dims[3]; }

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

static dq_status check_weight(const dq_tensor *weight, int64_t group, dq_error *error) {
  if (!weight || weight->type != DQ_F32)
    return dq_fail(error, DQ_UNSUPPORTED, "weight is %s, expected float32",
                   dq_dtype_name(weight ? weight->type : DQ_UNKNOWN_TYPE));
  if (weight->rank != 4) return dq_fail(error, DQ_UNSUPPORTED, "weight has %d dimensions, expected 4", weight->rank);
  if (group < 1 || weight->dims[0] % group)
    return dq_fail(error, DQ_BAD_INPUT, "group %lld does not divide %lld output channels", (long long)group,
                   (long long)weight->dims[0]);
  char shape[DQ_SHAPE_TEXT];
  if (dq_tensor_count(weight) < 1 || !weight->data)
    return dq_fail(error, DQ_BAD_INPUT, "weight of %s has no elements",
                   dq_tensor_shape_text(weight, shape, sizeof shape));
  const float *values = weight->data;
  for (int64_t i = 0; i < dq_tensor_count(weight); i++)
    if (!isfinite(values[i]))
      return dq_fail(error, DQ_BAD_INPUT, "element %lld of the weight is %g", (long long)i, (double)values[i]);
  return DQ_OK;
}

// `unfoldings`: one size x columns matrix per group.
static dq_status compute_mode(dq_mode *mode, int64_t group, int64_t size, int64_t columns, const double *unfoldings,
                              dq_arena *arena, dq_error *error) {
  int64_t rank = dq_min_i64(size, columns);
  double *values = DQ_NEW_ARRAY(arena, rank, double); // squares until all groups are in
  double *own = DQ_NEW_ARRAY(arena, rank, double);
  double *vectors = DQ_NEW_ARRAY(arena, group * rank * size, double);
  if (!values || !own || !vectors) return dq_fail_memory(error, (size_t)(group * rank * size) * sizeof(double));
  for (int64_t g = 0; g < group; g++) {
    DQ_TRY(dq_left_singular(size, columns, unfoldings + g * size * columns, vectors + g * rank * size, own, error));
    for (int64_t k = 0; k < rank; k++) values[k] += own[k] * own[k];
  }
  for (int64_t k = 0; k < rank; k++) values[k] = sqrt(values[k]);
  *mode = (dq_mode){.size = size, .rank = rank, .values = values, .vectors = vectors};
  return DQ_OK;
}

// Both weights in double: as it is, and scaled per output channel.
static dq_status load_weight(dq_hosvd *hosvd, const dq_tensor *weight, const double *scale, dq_arena *arena,
                             dq_error *error) {
  int64_t count = dq_tensor_count(weight), row = count / weight->dims[0];
  double *values = DQ_NEW_ARRAY(arena, count, double), *scaled = values;
  if (scale) scaled = DQ_NEW_ARRAY(arena, count, double);
  if (!values || !scaled) return dq_fail_memory(error, (size_t)count * sizeof(double));
  for (int64_t i = 0; i < count; i++) values[i] = (double)((const float *)weight->data)[i];
  for (int64_t i = 0; scale && i < count; i++) scaled[i] = values[i] * scale[i / row];
  hosvd->weight = values;
  hosvd->scale = scale;
  hosvd->scaled = scaled;
  hosvd->norm = frobenius(count, values);
  return DQ_OK;
}

dq_status dq_hosvd_compute(dq_hosvd *hosvd, const dq_tensor *weight, int64_t group, const double *scale,
                           dq_arena *arena, dq_error *error) {
  memset(hosvd, 0, sizeof *hosvd);
  DQ_TRY(check_weight(weight, group, error));
  DQ_TRY(load_weight(hosvd, weight, scale, arena, error));
  memcpy(hosvd->dims, weight->dims, sizeof hosvd->dims);
  hosvd->group = group;
  int64_t count = dq_tensor_count(weight), out = weight->dims[0] / group, in = weight->dims[1];
  int64_t taps = taps_of(hosvd->dims);
  dq_arena *scratch = dq_arena_beside(arena);
  double *swapped = scratch ? DQ_NEW_ARRAY(scratch, count, double) : NULL;
  if (!swapped) {
    dq_arena_free(scratch);
    return dq_fail_memory(error, (size_t)count * sizeof(double));
  }
  for (int64_t g = 0; g < group; g++)
    swap_channels(out, in, taps, hosvd->scaled + g * out * in * taps, swapped + g * out * in * taps);
  dq_status status = compute_mode(&hosvd->out, group, out, in * taps, hosvd->scaled, arena, error);
  if (status == DQ_OK) status = compute_mode(&hosvd->in, group, in, out * taps, swapped, arena, error);
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

// A mode that keeps its channels has no factor.
static bool is_whole(const dq_hosvd *hosvd, const dq_mode *mode, int64_t rank) {
  return rank == mode->size && !(hosvd->square && mode->rank == mode->size);
}

// G = W x_1 U^T x_2 V^T of one group; a mode that stays whole keeps its channels (U = 1 or V = 1).
// With both so, the result is W itself. U belongs to the scaled weight; without it the scale has no
// place to be taken back, and is not applied.
static dq_status project(const dq_hosvd *hosvd, int64_t group, int64_t rank_out, int64_t rank_in, double *core,
                         double *half, dq_error *error) {
  const dq_mode *out = &hosvd->out, *in = &hosvd->in;
  int64_t taps = taps_of(hosvd->dims);
  const double *u = out->vectors + group * out->rank * out->size;
  const double *v = in->vectors + group * in->rank * in->size;
  bool cut = !is_whole(hosvd, out, rank_out);
  const double *left = cut ? hosvd->scaled : hosvd->weight; // r_out x i x taps
  left += group * out->size * in->size * taps;
  if (cut) {
    DQ_TRY(dq_multiply(dq_matrix_tight(rank_out, out->size, u), dq_matrix_tight(out->size, in->size * taps, left), half,
                       error));
    left = half;
  }
  if (is_whole(hosvd, in, rank_in)) {
    memcpy(core, left, (size_t)(rank_out * rank_in * taps) * sizeof(double));
    return DQ_OK;
  }
  for (int64_t a = 0; a < rank_out; a++)
    DQ_TRY(dq_multiply(dq_matrix_tight(rank_in, in->size, v),
                       dq_matrix_tight(in->size, taps, left + a * in->size * taps), core + a * rank_in * taps, error));
  return DQ_OK;
}

static dq_status project_all(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in, dq_arena *scratch, double **core,
                             dq_error *error) {
  int64_t taps = taps_of(hosvd->dims), one = rank_out * rank_in * taps;
  *core = DQ_NEW_ARRAY(scratch, hosvd->group * one, double);
  double *half = DQ_NEW_ARRAY(scratch, rank_out * hosvd->in.size * taps, double);
  if (!*core || !half) return dq_fail_memory(error, (size_t)(hosvd->group * one) * sizeof(double));
  for (int64_t g = 0; g < hosvd->group; g++) DQ_TRY(project(hosvd, g, rank_out, rank_in, *core + g * one, half, error));
  return DQ_OK;
}

// The exponents of the powers of two that bring the factors' Frobenius norms together: each to the
// geometric mean of all. A norm of 0: there is no such factor.
typedef struct balance {
  int input, core, output;
} balance;

static balance balance_norms(double core_norm, double output_norm, double input_norm) {
  if (!(core_norm > 0)) return (balance){0};
  double core = log2(core_norm);
  double output = output_norm > 0 ? log2(output_norm) : 0;
  double input = input_norm > 0 ? log2(input_norm) : 0;
  double mean = (core + output + input) / (1.0 + (output_norm > 0) + (input_norm > 0));
  balance result = {.input = input_norm > 0 ? (int)lround(mean - input) : 0,
                    .output = output_norm > 0 ? (int)lround(mean - output) : 0};
  result.core = -result.input - result.output;
  return result;
}

static void store_scaled(int64_t count, const double *from, int exponent, float *to) {
  double scale = ldexp(1.0, exponent);
  for (int64_t i = 0; i < count; i++) to[i] = (float)(from[i] * scale);
}

static dq_tensor *new_weight(dq_arena *arena, int64_t out, int64_t in, int64_t height, int64_t width) {
  return dq_tensor_new(arena, DQ_F32, 4, (int64_t[]){out, in, height, width});
}

// U / scale, o x r_out, group after group: the columns of U are the vectors.
static double *output_factor(const dq_hosvd *hosvd, int64_t rank, dq_arena *arena) {
  const dq_mode *mode = &hosvd->out;
  double *factor = DQ_NEW_ARRAY(arena, hosvd->dims[0] * rank, double);
  for (int64_t o = 0; factor && o < hosvd->dims[0]; o++)
    for (int64_t a = 0; a < rank; a++) {
      double u = mode->vectors[(o / mode->size * mode->rank + a) * mode->size + o % mode->size];
      factor[o * rank + a] = hosvd->scale ? u / hosvd->scale[o] : u;
    }
  return factor;
}

// V^T, r_in x i, group after group.
static double *input_factor(const dq_hosvd *hosvd, int64_t rank, dq_arena *arena) {
  const dq_mode *mode = &hosvd->in;
  double *factor = DQ_NEW_ARRAY(arena, hosvd->group * rank * mode->size, double);
  for (int64_t g = 0; factor && g < hosvd->group; g++)
    memcpy(factor + g * rank * mode->size, mode->vectors + g * mode->rank * mode->size,
           (size_t)(rank * mode->size) * sizeof(double));
  return factor;
}

// Spreads the channels between the factors, which are changed, and stores them.
static dq_status store_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, double *input, double *core, double *output,
                               dq_arena *arena, dq_error *error) {
  const int64_t *dims = hosvd->dims, group = hosvd->group;
  int64_t rank_out = factors->rank_out, rank_in = factors->rank_in;
  int64_t core_count = group * rank_out * rank_in * taps_of(dims), out_count = dims[0] * rank_out;
  int64_t in_count = group * rank_in * dims[1];
  factors->core = new_weight(arena, group * rank_out, rank_in, dims[2], dims[3]);
  if (input) factors->input = new_weight(arena, group * rank_in, dims[1], 1, 1);
  if (output) factors->output = new_weight(arena, dims[0], rank_out, 1, 1);
  if (!factors->core || (input && !factors->input) || (output && !factors->output))
    return dq_fail_memory(error, (size_t)core_count * sizeof(float));
  DQ_TRY(dq_tucker2_spread(factors, dims, input, core, output, error));
  balance scale = balance_norms(frobenius(core_count, core), output ? frobenius(out_count, output) : 0,
                                input ? frobenius(in_count, input) : 0);
  store_scaled(core_count, core, scale.core, factors->core->data);
  if (input) store_scaled(in_count, input, scale.input, factors->input->data);
  if (output) store_scaled(out_count, output, scale.output, factors->output->data);
  return DQ_OK;
}

// The factors of the higher-order SVD at the ranks of `factors`.
static dq_status truncate(dq_tucker2 *factors, const dq_hosvd *hosvd, dq_arena *scratch, dq_arena *arena,
                          dq_error *error) {
  int64_t rank_out = factors->rank_out, rank_in = factors->rank_in;
  bool has_output = !is_whole(hosvd, &hosvd->out, rank_out);
  bool has_input = !is_whole(hosvd, &hosvd->in, rank_in);
  double *core = NULL;
  DQ_TRY(project_all(hosvd, rank_out, rank_in, scratch, &core, error));
  double *output = has_output ? output_factor(hosvd, rank_out, scratch) : NULL;
  double *input = has_input ? input_factor(hosvd, rank_in, scratch) : NULL;
  if ((has_output && !output) || (has_input && !input))
    return dq_fail_memory(error, (size_t)(hosvd->dims[0] * rank_out) * sizeof(double));
  return store_factors(factors, hosvd, input, core, output, arena, error);
}

static double *to_double(dq_arena *arena, const dq_tensor *tensor) {
  int64_t count = dq_tensor_count(tensor);
  double *values = DQ_NEW_ARRAY(arena, count, double);
  for (int64_t i = 0; values && i < count; i++) values[i] = (double)((float *)tensor->data)[i];
  return values;
}

// One group: U G V^T from the factors' elements; NULL for a factor that is the identity.
typedef struct group_factors {
  const double *u, *g, *v;
  int64_t out, in, rank_out, rank_in, taps;
} group_factors;

static dq_status reconstruct_group(const group_factors *f, double *half, double *weight, dq_error *error) {
  const double *left = f->g; // o x r_in x taps
  if (f->u) {
    DQ_TRY(dq_multiply(dq_matrix_tight(f->out, f->rank_out, f->u),
                       dq_matrix_tight(f->rank_out, f->rank_in * f->taps, f->g), half, error));
    left = half;
  }
  if (!f->v) {
    memcpy(weight, left, (size_t)(f->out * f->in * f->taps) * sizeof(double));
    return DQ_OK;
  }
  dq_matrix v = dq_matrix_tight(f->rank_in, f->in, f->v);
  for (int64_t o = 0; o < f->out; o++) {
    dq_matrix core = dq_matrix_tight(f->rank_in, f->taps, left + o * f->rank_in * f->taps);
    dq_matrix taps = dq_matrix_tight(f->in, f->taps, weight + o * f->in * f->taps);
    DQ_TRY(dq_matrix_multiply(true, &v, false, &core, DQ_PRODUCT_STORE, &taps, error));
  }
  return DQ_OK;
}

static dq_status reconstruct(const dq_tucker2 *factors, double *weight, dq_arena *scratch, dq_error *error) {
  const dq_tensor *core = factors->core, *input = factors->input, *output = factors->output;
  int64_t group = factors->group;
  group_factors f = {
      .rank_out = core->dims[0] / group, .rank_in = core->dims[1], .taps = core->dims[2] * core->dims[3]};
  f.out = output ? output->dims[0] / group : f.rank_out;
  f.in = input ? input->dims[1] : f.rank_in;
  double *half = DQ_NEW_ARRAY(scratch, f.out * f.rank_in * f.taps, double);
  f.g = to_double(scratch, core);
  if (output) f.u = to_double(scratch, output);
  if (input) f.v = to_double(scratch, input);
  if (!half || !f.g || (output && !f.u) || (input && !f.v))
    return dq_fail_memory(error, (size_t)(f.out * f.rank_in * f.taps) * sizeof(double));
  for (int64_t n = 0; n < group; n++) {
    DQ_TRY(reconstruct_group(&f, half, weight, error));
    weight += f.out * f.in * f.taps;
    f.g += f.rank_out * f.rank_in * f.taps;
    if (f.u) f.u += f.out * f.rank_out;
    if (f.v) f.v += f.rank_in * f.in;
  }
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
static dq_status measure_error(dq_tucker2 *factors, const dq_hosvd *hosvd, dq_arena *scratch, dq_error *error) {
  int64_t count = hosvd->dims[0] * hosvd->dims[1] * taps_of(hosvd->dims);
  double *difference = DQ_NEW_ARRAY(scratch, count, double);
  if (!difference) return dq_fail_memory(error, (size_t)count * sizeof(double));
  DQ_TRY(reconstruct(factors, difference, scratch, error));
  for (int64_t i = 0; i < count; i++) difference[i] -= hosvd->weight[i];
  factors->error = hosvd->norm > 0 ? frobenius(count, difference) / hosvd->norm : 0;
  return DQ_OK;
}

// Whether a rank lies between 1 and the full rank, or is the number of channels, so that the mode stays whole.
static bool rank_fits(const dq_mode *mode, int64_t rank) {
  return rank >= 1 && (rank <= mode->rank || rank == mode->size);
}

bool dq_tucker2_ranks_fit(const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in) {
  return rank_fits(&hosvd->out, rank_out) && rank_fits(&hosvd->in, rank_in);
}

dq_status dq_tucker2_factors(dq_tucker2 *factors, const dq_hosvd *hosvd, int64_t rank_out, int64_t rank_in,
                             dq_arena *arena, dq_error *error) {
  if (!dq_tucker2_ranks_fit(hosvd, rank_out, rank_in))
    return dq_fail(error, DQ_USAGE, "ranks %lld and %lld, expected 1 to %lld and 1 to %lld", (long long)rank_out,
                   (long long)rank_in, (long long)hosvd->out.rank, (long long)hosvd->in.rank);
  *factors = (dq_tucker2){.group = hosvd->group,
                          .rank_out = rank_out,
                          .rank_in = rank_in,
                          .energy_out = dq_mode_energy(&hosvd->out, rank_out),
                          .energy_in = dq_mode_energy(&hosvd->in, rank_in)};
  dq_arena *scratch = dq_arena_beside(arena);
  if (!scratch) return dq_fail_memory(error, sizeof(double));
  dq_status status = truncate(factors, hosvd, scratch, arena, error);
  if (status == DQ_OK) status = measure_error(factors, hosvd, scratch, error);
  dq_arena_free(scratch);
  return status;
}

dq_status dq_tucker2_store(dq_tucker2 *factors, const dq_hosvd *hosvd, const dq_tucker2_exact *exact, dq_arena *arena,
                           dq_error *error) {
  *factors = (dq_tucker2){.group = hosvd->group,
                          .rank_out = exact->rank_out,
                          .rank_in = exact->rank_in,
                          .energy_out = dq_mode_energy(&hosvd->out, exact->rank_out),
                          .energy_in = dq_mode_energy(&hosvd->in, exact->rank_in)};
  DQ_TRY(store_factors(factors, hosvd, exact->input, exact->core, exact->output, arena, error));
  dq_arena *scratch = dq_arena_beside(arena);
  if (!scratch) return dq_fail_memory(error, sizeof(double));
  dq_status status = measure_error(factors, hosvd, scratch, error);
  dq_arena_free(scratch);
  return status;
}

static int64_t saturating_product(const int64_t *values, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; i++)
    if (!dq_mul_i64(product, values[i], &product)) return INT64_MAX;
  return product;
}

dq_conv_cost dq_conv_cost_whole(const int64_t dims[4], bool bias, int64_t positions) {
  int64_t weights = saturating_product(dims, 4);
  return (dq_conv_cost){.macs = saturating_product((int64_t[]){weights, positions}, 2),
                        .parameters = dq_add_clamped_i64(weights, bias ? dims[0] : 0)};
}

dq_conv_cost dq_conv_cost_tucker2(const int64_t dims[4], int64_t group, bool bias, const dq_conv_positions *positions,
                                  int64_t rank_out, int64_t rank_in, bool square) {
  int64_t outs = saturating_product((int64_t[]){group, rank_out}, 2);
  int64_t ins = saturating_product((int64_t[]){group, rank_in}, 2);
  const int64_t core[4] = {outs, rank_in, dims[2], dims[3]};
  const int64_t input[4] = {ins, dims[1], 1, 1}, output[4] = {dims[0], rank_out, 1, 1};
  dq_conv_cost total = dq_conv_cost_whole(core, false, positions->core);
  dq_conv_cost first = {0}, last = {0};
  if (rank_in < dims[1] || square) first = dq_conv_cost_whole(input, false, positions->in);
  if (outs < dims[0] || square) last = dq_conv_cost_whole(output, false, positions->out);
  total.macs = dq_add_clamped_i64(total.macs, dq_add_clamped_i64(first.macs, last.macs));
  total.parameters = dq_add_clamped_i64(total.parameters, dq_add_clamped_i64(first.parameters, last.parameters));
  total.parameters = dq_add_clamped_i64(total.parameters, bias ? dims[0] : 0);
  return total;
}
