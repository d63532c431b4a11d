// How close outputs come to those in float.
#include "lib/verdict/output_error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/eval/eval.h"
#include "lib/verdict/interval.h"

static int channel_axis(const dq_tensor *tensor) {
  if (tensor->rank > 3) return 1;
  if (tensor->rank < 3) return -1;
  return tensor->dims[2] < tensor->dims[1] ? 2 : 1;
}

static dq_status open_channels(dq_output_error *output_error, int64_t channels, dq_arena *arena, dq_error *error) {
  if (output_error->channels) return DQ_OK;
  *output_error =
      (dq_output_error){DQ_NEW_ARRAY(arena, channels, double), DQ_NEW_ARRAY(arena, channels, double), channels};
  return output_error->signal && output_error->noise ? DQ_OK : dq_fail_memory(error, 0);
}

dq_status dq_output_error_add(dq_output_error *output_error, const dq_tensor *shape, const float *exact,
                              const float *other, dq_arena *arena, const dq_context *context, dq_error *error) {
  int axis = channel_axis(shape);
  int64_t channels = axis < 0 ? 1 : shape->dims[axis];
  int64_t inner = axis < 0 ? dq_tensor_count(shape) : dq_tensor_product(shape, axis + 1, shape->rank);
  int64_t outer = axis < 0 ? 1 : dq_tensor_product(shape, 0, axis);
  DQ_TRY(open_channels(output_error, channels, arena, error));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < channels; c++, exact += inner, other += inner)
      dq_add_squares(exact, other, inner, context, &output_error->signal[c], &output_error->noise[c]);
  return DQ_OK;
}

dq_status dq_output_error_join(dq_output_error *output_error, const dq_output_error *other, dq_arena *arena,
                               dq_error *error) {
  if (!other->channels) return DQ_OK;
  DQ_TRY(open_channels(output_error, other->channels, arena, error));
  for (int64_t c = 0; c < other->channels; c++) {
    output_error->signal[c] += other->signal[c];
    output_error->noise[c] += other->noise[c];
  }
  return DQ_OK;
}

void dq_output_error_clear(dq_output_error *output_error) {
  size_t bytes = (size_t)output_error->channels * sizeof *output_error->signal;
  if (!bytes) return;
  memset(output_error->signal, 0, bytes);
  memset(output_error->noise, 0, bytes);
}

double dq_output_error_sqnr(const dq_output_error *outputs, int count) {
  static const double MOST = 100;
  double sum = 0;
  int64_t channels = 0;
  for (int o = 0; o < count; o++)
    for (int64_t c = 0; c < outputs[o].channels; c++) {
      double signal = outputs[o].signal[c], noise = outputs[o].noise[c];
      if (!(signal > 0) && noise < INFINITY) continue;
      sum += noise > 0 ? fmin(10 * log10(signal / noise), MOST) : MOST;
      channels++;
    }
  return channels ? sum / (double)channels : MOST;
}

// ---- Parts ----

// log10 of the root of the mean square of a channel, relative to the widest one: -4 to 0. The floor keeps channels that
// are nearly silent, such as the scores of rare classes, from deciding.
static double level_of(const dq_output_error *output_error, int64_t channel, double widest) {
  static const double FLOOR = -4;
  double signal = output_error->signal[channel];
  return signal > 0 ? fmax(log10(signal / widest) / 2, FLOOR) : FLOOR;
}

static double sqnr_of(const dq_output_error *output_error, int64_t first, int64_t count) {
  double signal = 0, noise = 0;
  for (int64_t c = first; c < first + count; c++) {
    signal += output_error->signal[c];
    noise += output_error->noise[c];
  }
  if (noise == 0) return INFINITY;
  return 10 * log10(signal / noise);
}

// Where the second part begins: the squared distances of levels from the mean of their part are least there. 0: the
// levels of both parts differ by less than 1.
static int64_t find_border(const dq_output_error *output_error, double widest) {
  static const double LEAST = 1; // a factor of 10
  double whole = 0, left = 0, best = 0, apart = 0;
  int64_t channels = output_error->channels, border = 0;
  for (int64_t c = 0; c < channels; c++) whole += level_of(output_error, c, widest);
  for (int64_t c = 1; c < channels; c++) {
    left += level_of(output_error, c - 1, widest);
    double distance = left / (double)c - (whole - left) / (double)(channels - c);
    double gain = distance * distance * (double)c * (double)(channels - c); // of squares, over the number of channels
    if (gain > best) best = gain, border = c, apart = fabs(distance);
  }
  return apart >= LEAST ? border : 0;
}

int dq_output_error_parts(const dq_output_error *output_error, dq_output_part parts[2]) {
  double widest = 0, noise = 0;
  int64_t channels = output_error->channels;
  for (int64_t c = 0; c < channels; c++) {
    widest = fmax(widest, output_error->signal[c]);
    noise += output_error->noise[c];
  }
  if (!(widest > 0) && noise < INFINITY) return 0;
  int64_t border = widest > 0 ? find_border(output_error, widest) : 0;
  parts[0] = (dq_output_part){0, border ? border : channels, 0};
  parts[1] = (dq_output_part){border, channels - border, 0};
  int count = border ? 2 : 1;
  for (int p = 0; p < count; p++) parts[p].sqnr = sqnr_of(output_error, parts[p].first, parts[p].count);
  return count;
}

double dq_output_error_share(const dq_output_error *one, const dq_output_error *all) {
  dq_output_part parts[2];
  double sum = 0;
  for (int p = 0, count = dq_output_error_parts(all, parts); p < count; p++) {
    double signal = 0, noise = 0;
    for (int64_t c = parts[p].first; c < parts[p].first + parts[p].count; c++) {
      signal += all->signal[c];
      noise += one->noise[c];
    }
    if (noise > 0) sum += noise / signal;
  }
  return sum;
}

double dq_output_error_relative(const dq_output_error *output_error) {
  return dq_output_error_share(output_error, output_error);
}

// ---- Pictures ----

double dq_output_error_noise(const dq_output_error *output_error) {
  double noise = 0, power = 0;
  for (int64_t c = 0; c < output_error->channels; c++) {
    power += output_error->signal[c];
    noise += output_error->noise[c];
  }
  return power > 0 ? noise / power : noise < INFINITY ? 0 : INFINITY;
}

double dq_relative_noise(const float *exact, const float *other, int64_t count, const dq_context *context) {
  double noise = 0, power = 0;
  dq_add_squares(exact, other, count, context, &power, &noise);
  return dq_output_error_noise(&(dq_output_error){&power, &noise, 1});
}

static bool is_finite_in_both(const double *before, const double *after, int64_t picture) {
  return before[picture] < INFINITY && after[picture] < INFINITY;
}

// Pictures of infinite noise that there are less of now.
static int64_t fewer_infinite(const double *before, const double *after, int64_t pictures) {
  int64_t fewer = 0;
  for (int64_t p = 0; p < pictures; p++) fewer += !(before[p] < INFINITY) - !(after[p] < INFINITY);
  return fewer;
}

dq_noise_change dq_noise_compare(const double *before, const double *after, int64_t pictures) {
  int64_t fewer = fewer_infinite(before, after, pictures);
  if (fewer > 0) return (dq_noise_change){.mean = INFINITY, .fell = INFINITY, .pictures = pictures};
  if (fewer < 0)
    return (dq_noise_change){
        .mean = -INFINITY, .fell = -INFINITY, .pictures = pictures}; // nothing that the others gain makes up for it
  double fell = 0, all = 0, sum = 0, squares = 0, count = 0;
  for (int64_t p = 0; p < pictures; p++) {
    if (!is_finite_in_both(before, after, p)) continue;
    fell += before[p] - after[p];
    all += before[p] + after[p];
    count++;
  }
  if (!(all > 0)) return (dq_noise_change){.pictures = pictures};
  double least = 1e-9 * all / count; // noise that is none has a logarithm too
  for (int64_t p = 0; p < pictures; p++) {
    if (!is_finite_in_both(before, after, p)) continue;
    double ratio = log((before[p] + least) / (after[p] + least));
    sum += ratio;
    squares += ratio * ratio;
  }
  double mean = sum / count, variance = count > 1 ? (squares - sum * mean) / (count - 1) : 0;
  return (dq_noise_change){mean, sqrt(fmax(0, variance) / count), fell, pictures, false};
}

// ---- Confidence ----

double dq_required_errors(double confidence, int64_t pictures) {
  enum { USUAL = 24 };
  if (pictures >= USUAL || pictures < 2 || confidence <= 0) return confidence;
  return dq_student_quantile(dq_student_tail(confidence, USUAL - 1), pictures - 1);
}

bool dq_noise_is_less(const dq_noise_change *change, double confidence) {
  if (!change->by_picture && !(change->fell > 0)) return false;
  if (change->pictures < 2) return isinf(change->fell) || confidence <= DQ_HALF_STANDARD_ERROR;
  return change->mean > dq_required_errors(confidence, change->pictures) * change->deviation;
}

const char *dq_noise_reason(const dq_noise_change *change, double confidence, char *text, size_t size) {
  static const double DECIBELS = 4.342944819032518; // 10 / ln 10
  if (isinf(change->fell))
    snprintf(text, size, "%s pictures have answers that are not finite", change->fell > 0 ? "fewer" : "more");
  else if (!change->by_picture && !(change->fell > 0)) snprintf(text, size, "the pictures together have no less noise");
  else if (change->pictures < 2)
    snprintf(text, size, "the only picture has less noise%s",
             dq_noise_is_less(change, confidence) ? "" : ", which may be chance");
  else
    snprintf(text, size,
             "the pictures gain %.2f dB in the mean with a standard error of %.2f, asked for are %.1f of these",
             DECIBELS * change->mean, DECIBELS * change->deviation, dq_required_errors(confidence, change->pictures));
  return text;
}

double dq_noise_ratio(const double *before, const double *after, int64_t pictures) {
  return dq_noise_compare(before, after, pictures).mean;
}

bool dq_noise_fell(const double *before, const double *after, int64_t pictures, double confidence) {
  dq_noise_change change = dq_noise_compare(before, after, pictures);
  return dq_noise_is_less(&change, confidence);
}
