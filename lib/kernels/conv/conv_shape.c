// The sizes of a convolution: multiply-accumulates, validation.
#include "lib/base/sizes.h"
#include "lib/kernels/conv/conv.h"

int64_t dq_conv_macs(const dq_conv_parameters *p) {
  const int64_t factors[] = {p->out_channels,  p->out_height,  p->out_width, p->in_channels / p->groups,
                             p->kernel_height, p->kernel_width};
  int64_t product = p->batch;
  for (int i = 0; i < DQ_COUNT(factors); i++)
    if (!dq_mul_i64(product, factors[i], &product)) return INT64_MAX;
  return product;
}

enum { LARGEST = INT32_MAX / 4 }; // of every single size, so that sums of a few fit easily

typedef struct conv_axis { // height or width, in elements
  const char *name;
  int64_t in, kernel, stride, dilation, pad_before, pad_after, out;
} conv_axis;

static dq_status check_axis(const conv_axis *a, dq_error *error) {
  const struct {
    const char *name;
    int64_t value, least;
  } sizes[] = {{"input", a->in, 1},          {"kernel", a->kernel, 1},  {"stride", a->stride, 1},
               {"dilation", a->dilation, 1}, {"pad", a->pad_before, 0}, {"pad", a->pad_after, 0},
               {"output", a->out, 1}};
  for (int i = 0; i < DQ_COUNT(sizes); i++)
    if (sizes[i].value < sizes[i].least || sizes[i].value > LARGEST)
      return dq_fail(error, DQ_BAD_INPUT, "convolution %s %s is %lld, expected %lld to %d", a->name, sizes[i].name,
                     (long long)sizes[i].value, (long long)sizes[i].least, LARGEST);
  int64_t reach = a->dilation * (a->kernel - 1) + 1, padded = a->in + a->pad_before + a->pad_after;
  if (reach > padded)
    return dq_fail(error, DQ_BAD_INPUT, "convolution kernel spans %lld, the padded input %s is %lld", (long long)reach,
                   a->name, (long long)padded);
  if ((a->out - 1) * a->stride + reach > padded)
    return dq_fail(error, DQ_BAD_INPUT, "convolution output %s is %lld, at most %lld fit", a->name, (long long)a->out,
                   (long long)((padded - reach) / a->stride + 1));
  return DQ_OK;
}

static bool product_fits(const int64_t *factors, int count) {
  int64_t product = 4; // bytes of the widest element
  for (int i = 0; i < count; i++)
    if (!dq_mul_i64(product, factors[i], &product) || product > INT64_MAX / 16) return false;
  return true;
}

dq_status dq_conv_check(const dq_conv_parameters *p, dq_error *error) {
  if (p->batch < 0 || p->groups < 1 || p->in_channels < 1 || p->out_channels < 1 || p->in_channels > LARGEST ||
      p->out_channels > LARGEST || p->batch > LARGEST)
    return dq_fail(error, DQ_BAD_INPUT,
                   "convolution has batch %lld, %lld input channels, %lld output channels and %lld groups, expected at "
                   "least 0, 1, 1 and 1",
                   (long long)p->batch, (long long)p->in_channels, (long long)p->out_channels, (long long)p->groups);
  if (p->in_channels % p->groups || p->out_channels % p->groups)
    return dq_fail(error, DQ_BAD_INPUT, "%lld groups do not divide %lld input and %lld output channels",
                   (long long)p->groups, (long long)p->in_channels, (long long)p->out_channels);
  const conv_axis height = {"height",           p->in_height, p->kernel_height, p->stride_height,
                            p->dilation_height, p->pad_top,   p->pad_bottom,    p->out_height};
  const conv_axis width = {"width",           p->in_width, p->kernel_width, p->stride_width,
                           p->dilation_width, p->pad_left, p->pad_right,    p->out_width};
  DQ_TRY(check_axis(&height, error));
  DQ_TRY(check_axis(&width, error));
  int64_t batch = p->batch ? p->batch : 1;
  int64_t padded_height = p->in_height + p->pad_top + p->pad_bottom;
  int64_t padded_width = p->in_width + p->pad_left + p->pad_right;
  if (!product_fits((int64_t[]){batch, p->in_channels, padded_height, padded_width}, 4) ||
      !product_fits((int64_t[]){batch, p->out_channels, p->out_height, p->out_width}, 4) ||
      !product_fits((int64_t[]){p->out_channels, p->in_channels, p->kernel_height, p->kernel_width}, 4))
    return dq_fail(error, DQ_BAD_INPUT, "convolution sizes overflow 64 bits");
  return DQ_OK;
}
