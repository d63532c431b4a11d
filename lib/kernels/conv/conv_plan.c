// Convolution: the choice of an algorithm, and calls into it.
#include "lib/kernels/conv/conv_algorithm.h"

static const dq_conv_algorithm *const algorithms[DQ_CONV_CHOICES] = {
#define DQ_CONV_ALGORITHM(symbol, name, help) [DQ_CONV_##symbol] = &dq_conv_##symbol,
#include "lib/kernels/conv/conv_algorithms.def"
};

const char *dq_conv_choice_name(dq_conv_choice choice) {
  if (choice == DQ_CONV_SAME_BITS) return "direct";
  if (choice == DQ_CONV_AUTO) return "auto";
  return choice >= DQ_CONV_CHOICES || !algorithms[choice] ? NULL : algorithms[choice]->name;
}

bool dq_conv_same_bits(dq_conv_choice choice) {
  return choice == DQ_CONV_SAME_BITS || (algorithms[choice] && algorithms[choice]->same_bits);
}

bool dq_conv_is_candidate(dq_conv_choice choice) {
  const dq_conv_algorithm *row = algorithms[choice];
  return row && row->same_bits && row->cost;
}

// Whether an algorithm gives the bits that are defined: in 8 bits all do, as their sums are exact.
static bool has_same_bits(const dq_conv_algorithm *one, const dq_conv_plan *plan) {
  return one->same_bits || !plan->float32;
}

// The least cost of those that fit; the tiles always do.
static const dq_conv_algorithm *cheapest(const dq_conv_plan *plan, bool same_bits) {
  const dq_conv_algorithm *best = NULL;
  double least = 0;
  for (int i = 0; i < DQ_CONV_CHOICES; i++) {
    const dq_conv_algorithm *one = algorithms[i];
    if (!one || !one->cost || (same_bits && !has_same_bits(one, plan)) || !one->applicable(plan)) continue;
    double cost = one->cost(plan);
    if (best && cost >= least) continue;
    best = one;
    least = cost;
  }
  return best;
}

// The algorithm that the tuning names, where it gives the bits of the usual one. Of sums in binary16 algorithms have
// orders of their own.
static const dq_conv_algorithm *tuned(const dq_conv_plan *plan, const dq_conv_algorithm *usual) {
  const dq_conv_algorithm *named = algorithms[plan->shape.tuning.algorithm];
  bool same = dq_conv_is_candidate((dq_conv_choice)plan->shape.tuning.algorithm) && has_same_bits(usual, plan) &&
              !plan->half_sums;
  return same && named->applicable(plan) ? named : usual;
}

static void choose(dq_conv_plan *plan) {
  plan->flat = dq_conv_is_pointwise(&plan->shape);
  dq_conv_choice choice = (dq_conv_choice)plan->shape.algorithm;
  const dq_conv_algorithm *asked = algorithms[choice];
  if (asked) plan->shape.tuning = (dq_conv_tuning){0};
  plan->algorithm = asked && asked->applicable(plan) ? asked : tuned(plan, cheapest(plan, choice == DQ_CONV_SAME_BITS));
  if (plan->algorithm->prepare) plan->algorithm->prepare(plan);
}

// What kernels do at the end of their sums stays the shape's activation, the rest follows.
static void part_tail(dq_conv_plan *plan) {
  dq_activation *activation = &plan->shape.activation;
  plan->tail.silu = activation->kind == DQ_ACTIVATION_SILU;
  plan->tail.adds = plan->shape.adds;
  if (plan->tail.adds) plan->tail.activation = plan->shape.sum_activation;
  if (plan->tail.silu) activation->kind = DQ_ACTIVATION_NONE;
  if (plan->tail.silu || plan->tail.adds) plan->tail.kernel = dq_kernel_find(DQ_OPERATION_f32_tail, plan->cpu);
}

dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan, dq_error *error) {
  DQ_TRY(dq_conv_check(parameters, error));
  *plan = (dq_conv_plan){.shape = *parameters, .cpu = cpu, .float32 = true};
  part_tail(plan);
  choose(plan);
  return DQ_OK;
}

dq_status dq_conv_f16_plan(const dq_conv_parameters *parameters, bool half_sums, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error) {
  DQ_TRY(dq_conv_check(parameters, error));
  *plan = (dq_conv_plan){.shape = *parameters, .cpu = cpu, .float32 = true, .half = true, .half_sums = half_sums};
  plan->widen = dq_kernel_find(DQ_OPERATION_f16_to_f32, cpu);
  bool leaky = parameters->activation.kind == DQ_ACTIVATION_LEAKY;
  plan->narrow = dq_kernel_find(leaky ? DQ_OPERATION_f32_to_f16_leaky : DQ_OPERATION_f32_to_f16, cpu);
  choose(plan);
  return DQ_OK;
}

bool dq_conv_pairs_safe(const dq_conv_int8_parameters *q, const void *weights) {
  enum { MOST = 128 }; // 255 * 128 fits int16, 255 * 129 does not
  int64_t window = q->shape.kernel_height * q->shape.kernel_width;
  int64_t channels = q->shape.in_channels / q->shape.groups;
  if (!dq_natural_zero_points(q->weight_zero_points, q->weight_zero_point_count, q->weight_signed)) return false;
  const uint8_t *filter = weights;
  int shift = q->weight_signed ? 0 : 128;
  for (int64_t o = 0; o < q->shape.out_channels; o++, filter += channels * window)
    for (int64_t c = 0; c + 1 < channels; c += 2)
      for (int64_t k = c * window; k < (c + 1) * window; k++) {
        int sum = dq_int8_value(filter[k], q->weight_signed) - shift +
                  dq_int8_value(filter[k + window], q->weight_signed) - shift;
        if (sum < -MOST || sum > MOST) return false;
      }
  return true;
}

static dq_status check_zero_point(const char *what, int32_t zero_point, bool is_signed, dq_error *error) {
  int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  if (zero_point >= low && zero_point <= high) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "zero point of the %s is %d, expected %d to %d", what, zero_point, low, high);
}

dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                            dq_error *error) {
  DQ_TRY(dq_conv_check(&parameters->shape, error));
  DQ_TRY(check_zero_point("input", parameters->input_zero_point, parameters->input_signed, error));
  int64_t count = parameters->weight_zero_point_count;
  if (count != 0 && count != 1 && count != parameters->shape.out_channels)
    return dq_fail(error, DQ_BAD_INPUT, "%lld zero points of the weights, expected 1 or %lld", (long long)count,
                   (long long)parameters->shape.out_channels);
  for (int64_t i = 0; i < count; i++)
    DQ_TRY(check_zero_point("weights", parameters->weight_zero_points[i], parameters->weight_signed, error));
  *plan = (dq_conv_plan){.shape = parameters->shape, .int8 = *parameters, .cpu = cpu};
  choose(plan);
  return DQ_OK;
}

size_t dq_conv_packed_bytes(const dq_conv_plan *plan) {
  return dq_round_up(plan->algorithm->packed_words(plan) * 4, DQ_KERNEL_ALIGNMENT);
}

size_t dq_conv_scratch_bytes(const dq_conv_plan *plan, int threads) {
  size_t bytes = plan->algorithm->scratch_words(plan, threads) * 4;
  return dq_round_up(bytes ? bytes : 1, DQ_KERNEL_ALIGNMENT);
}

void dq_conv_set_next(dq_conv_plan *plan, const void *next) { plan->next = next; }

unsigned dq_conv_knobs(const dq_conv_plan *plan) { return plan->algorithm->knobs; }

dq_conv_form dq_conv_form_of(const dq_conv_plan *plan, const dq_conv_tuning *tuning, int threads) {
  dq_conv_plan other = {.shape = plan->shape,
                        .int8 = plan->int8,
                        .cpu = plan->cpu,
                        .float32 = plan->float32,
                        .half = plan->half,
                        .half_sums = plan->half_sums,
                        .tail = plan->tail,
                        .widen = plan->widen,
                        .narrow = plan->narrow};
  other.shape.tuning = *tuning;
  choose(&other);
  dq_block_sizes sizes = {0, 0};
  if (other.algorithm->blocks) sizes = other.algorithm->blocks(&other, threads);
  return (dq_conv_form){other.algorithm->name, other.algorithm->knobs, sizes.columns, sizes.depth,
                        dq_conv_counts(&other, threads)};
}

const char *dq_conv_algorithm_name(const dq_conv_plan *plan) { return plan->algorithm->name; }

void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias, void *packed) {
  plan->algorithm->pack(plan, weights, bias, packed);
}

void dq_conv_f16_pack(const dq_conv_plan *plan, const uint16_t *weights, const uint16_t *bias, void *packed) {
  plan->algorithm->pack(plan, weights, bias, packed);
}

void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed) {
  plan->algorithm->pack(plan, weights, NULL, packed);
}

dq_requantize_rows dq_conv_requantize_form(const dq_conv_call *call, int64_t image, int64_t channel) {
  const dq_conv_parameters *p = &call->plan->shape;
  const dq_requantization *r = call->requantization;
  int64_t plane = p->out_height * p->out_width;
  bool own = r->multiplier_count != 1; // a multiplier of each channel
  return (dq_requantize_rows){.bias = r->bias ? r->bias + channel : NULL,
                              .bias_row = 1,
                              .multipliers = r->multipliers + (own ? channel : 0),
                              .multiplier_row = own,
                              .output = (uint8_t *)call->output + (image * p->out_channels + channel) * plane,
                              .output_stride = plane,
                              .zero_point = r->zero_point,
                              .low = r->low,
                              .high = r->high};
}

static void end_channel(void *argument, int64_t channel, int thread) {
  const dq_conv_call *call = argument;
  int64_t plane = call->plan->shape.out_height * call->plan->shape.out_width;
  (void)thread;
  dq_conv_end(call, channel * plane, plane);
}

void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input, const float *addend,
                     float *output, void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, addend, output, NULL, scratch, pool};
  plan->algorithm->run(&call);
  if (plan->tail.kernel && !plan->algorithm->ends)
    dq_pool_run(pool, plan->shape.batch * plan->shape.out_channels, end_channel, &call);
}

void dq_conv_f16_run(const dq_conv_plan *plan, const void *packed, const uint16_t *input, uint16_t *output,
                     void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, NULL, output, NULL, scratch, pool};
  plan->algorithm->run(&call);
}

void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, NULL, output, requantization, scratch, pool};
  plan->algorithm->run(&call);
}
