// Convolution: validation, the choice of an algorithm, and calls into it.
#include "lib/kernels/conv_internal.h"

int64_t dq_conv_output_size(int64_t in, int64_t kernel, int64_t stride, int64_t dilation,
                            int64_t pad_before, int64_t pad_after) {
  int64_t space = in + pad_before + pad_after - dilation * (kernel - 1) - 1;
  return space < 0 ? 0 : space / stride + 1;
}

int64_t dq_conv_macs(const dq_conv_parameters *p) {
  const int64_t factors[] = {p->out_channels,  p->out_height,
                             p->out_width,     p->in_channels / p->groups,
                             p->kernel_height, p->kernel_width};
  int64_t product = p->batch;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    if (!dq_mul_i64(product, factors[i], &product)) return INT64_MAX;
  return product;
}

enum { LARGEST = INT32_MAX / 4 }; // of every single size, so that sums of a few fit easily

static dq_status check_axis(const char *axis, int64_t in, int64_t kernel, int64_t stride,
                            int64_t dilation, int64_t before, int64_t after, int64_t out,
                            dq_error *error) {
  const struct {
    const char *name;
    int64_t value, least;
  } sizes[] = {{"input", in, 1},          {"kernel", kernel, 1}, {"stride", stride, 1},
               {"dilation", dilation, 1}, {"pad", before, 0},    {"pad", after, 0},
               {"output", out, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].value < sizes[i].least || sizes[i].value > LARGEST)
      return dq_fail(error, DQ_BAD_INPUT, "convolution %s %s is %lld, expected %lld to %d", axis,
                     sizes[i].name, (long long)sizes[i].value, (long long)sizes[i].least, LARGEST);
  int64_t reach = dilation * (kernel - 1) + 1, padded = in + before + after;
  if (reach > padded)
    return dq_fail(error, DQ_BAD_INPUT,
                   "convolution kernel spans %lld, the padded input %s is %lld", (long long)reach,
                   axis, (long long)padded);
  if ((out - 1) * stride + reach > padded)
    return dq_fail(error, DQ_BAD_INPUT, "convolution output %s is %lld, at most %lld fit", axis,
                   (long long)out, (long long)((padded - reach) / stride + 1));
  return DQ_OK;
}

static bool product_fits(const int64_t *factors, int count) {
  int64_t product = 4; // bytes of the widest element
  for (int i = 0; i < count; i++)
    if (!dq_mul_i64(product, factors[i], &product) || product > INT64_MAX / 16) return false;
  return true;
}

dq_status dq_conv_check(const dq_conv_parameters *p, dq_error *error) {
  if (p->batch < 0 || p->groups < 1 || p->in_channels < 1 || p->out_channels < 1 ||
      p->in_channels > LARGEST || p->out_channels > LARGEST || p->batch > LARGEST)
    return dq_fail(error, DQ_BAD_INPUT,
                   "convolution of batch %lld, channels %lld to %lld in %lld groups has no meaning",
                   (long long)p->batch, (long long)p->in_channels, (long long)p->out_channels,
                   (long long)p->groups);
  if (p->in_channels % p->groups || p->out_channels % p->groups)
    return dq_fail(error, DQ_BAD_INPUT,
                   "%lld groups do not divide %lld input and %lld output channels",
                   (long long)p->groups, (long long)p->in_channels, (long long)p->out_channels);
  DQ_TRY(check_axis("height", p->in_height, p->kernel_height, p->stride_height, p->dilation_height,
                    p->pad_top, p->pad_bottom, p->out_height, error));
  DQ_TRY(check_axis("width", p->in_width, p->kernel_width, p->stride_width, p->dilation_width,
                    p->pad_left, p->pad_right, p->out_width, error));
  int64_t batch = p->batch ? p->batch : 1;
  int64_t height = p->in_height + p->pad_top + p->pad_bottom;
  int64_t width = p->in_width + p->pad_left + p->pad_right;
  if (!product_fits((int64_t[]){batch, p->in_channels, height, width}, 4) ||
      !product_fits((int64_t[]){batch, p->out_channels, p->out_height, p->out_width}, 4) ||
      !product_fits((int64_t[]){p->out_channels, p->in_channels, p->kernel_height, p->kernel_width},
                    4))
    return dq_fail(error, DQ_BAD_INPUT, "convolution sizes overflow");
  return DQ_OK;
}

static const dq_conv_algorithm *const algorithms[DQ_CONV_CHOICES] = {
#define DQ_CONV_ALGORITHM(symbol, name, help) [DQ_CONV_##symbol] = &dq_conv_##symbol,
#include "lib/kernels/conv_algorithms.def"
};

const char *dq_conv_choice_name(dq_conv_choice choice) {
  if (choice == DQ_CONV_SAME_BITS) return "direct";
  if (choice == DQ_CONV_AUTO) return "auto";
  return choice >= DQ_CONV_CHOICES || !algorithms[choice] ? NULL : algorithms[choice]->name;
}

bool dq_conv_same_bits(dq_conv_choice choice) {
  return choice == DQ_CONV_SAME_BITS || (algorithms[choice] && algorithms[choice]->same_bits);
}

// The least cost of those that fit; the tiles always do.
static const dq_conv_algorithm *cheapest(const dq_conv_plan *plan, bool same_bits) {
  const dq_conv_algorithm *best = NULL;
  double least = 0;
  for (int i = 0; i < DQ_CONV_CHOICES; i++) {
    const dq_conv_algorithm *one = algorithms[i];
    if (!one || !one->cost || (same_bits && !one->same_bits) || !one->applicable(plan)) continue;
    double cost = one->cost(plan);
    if (best && cost >= least) continue;
    best = one;
    least = cost;
  }
  return best;
}

static void choose(dq_conv_plan *plan) {
  dq_conv_choice choice = plan->shape.algorithm;
  const dq_conv_algorithm *asked = algorithms[choice];
  plan->algorithm = asked && asked->applicable(plan) ? asked : cheapest(plan, choice == DQ_CONV_SAME_BITS);
  plan->algorithm->prepare(plan);
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

dq_status dq_conv_f32_plan(const dq_conv_parameters *parameters, unsigned cpu, dq_conv_plan *plan,
                           dq_error *error) {
  DQ_TRY(dq_conv_check(parameters, error));
  *plan = (dq_conv_plan){.shape = *parameters, .cpu = cpu, .float32 = true};
  part_tail(plan);
  choose(plan);
  return DQ_OK;
}

dq_status dq_conv_f16_plan(const dq_conv_parameters *parameters, bool half_sums, unsigned cpu,
                           dq_conv_plan *plan, dq_error *error) {
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

static dq_status check_zero_point(const char *what, int32_t zero_point, bool is_signed,
                                  dq_error *error) {
  int low = is_signed ? -128 : 0, high = is_signed ? 127 : 255;
  if (zero_point >= low && zero_point <= high) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "zero point of the %s is %d, expected %d to %d", what,
                 zero_point, low, high);
}

dq_status dq_conv_int8_plan(const dq_conv_int8_parameters *parameters, unsigned cpu,
                            dq_conv_plan *plan, dq_error *error) {
  DQ_TRY(dq_conv_check(&parameters->shape, error));
  DQ_TRY(check_zero_point("input", parameters->input_zero_point, parameters->input_signed, error));
  int64_t count = parameters->weight_zero_point_count;
  if (count != 0 && count != 1 && count != parameters->shape.out_channels)
    return dq_fail(error, DQ_BAD_INPUT, "%lld zero points of the weights, expected 1 or %lld",
                   (long long)count, (long long)parameters->shape.out_channels);
  for (int64_t i = 0; i < count; i++)
    DQ_TRY(check_zero_point("weights", parameters->weight_zero_points[i], parameters->weight_signed,
                            error));
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

const char *dq_conv_algorithm_name(const dq_conv_plan *plan) {
  return plan->algorithm->name;
}

void dq_conv_f32_pack(const dq_conv_plan *plan, const float *weights, const float *bias,
                      void *packed) {
  plan->algorithm->pack(plan, weights, bias, packed);
}

void dq_conv_f16_pack(const dq_conv_plan *plan, const uint16_t *weights, const uint16_t *bias,
                      void *packed) {
  plan->algorithm->pack(plan, weights, bias, packed);
}

void dq_conv_int8_pack(const dq_conv_plan *plan, const void *weights, void *packed) {
  plan->algorithm->pack(plan, weights, NULL, packed);
}

static void end_channel(void *argument, int64_t channel, int thread) {
  const dq_conv_call *call = argument;
  int64_t plane = call->plan->shape.out_height * call->plan->shape.out_width;
  (void)thread;
  dq_conv_end(call, channel * plane, plane);
}

void dq_conv_f32_run(const dq_conv_plan *plan, const void *packed, const float *input,
                     const float *addend, float *output, void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, addend, output, NULL, scratch, pool};
  plan->algorithm->run(&call);
  if (plan->tail.kernel && !plan->algorithm->ends)
    dq_pool_run(pool, plan->shape.batch * plan->shape.out_channels, end_channel, &call);
}

void dq_conv_f16_run(const dq_conv_plan *plan, const void *packed, const uint16_t *input,
                     uint16_t *output, void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, NULL, output, NULL, scratch, pool};
  plan->algorithm->run(&call);
}

void dq_conv_int8_run(const dq_conv_plan *plan, const void *packed, const void *input, void *output,
                      const dq_requantization *requantization, void *scratch, dq_pool *pool) {
  dq_conv_call call = {plan, packed, input, NULL, output, requantization, scratch, pool};
  plan->algorithm->run(&call);
}
