#include "calib/margin.h"

#include <float.h>
#include <math.h>

#include "calib/calib.h"
#include "calib/elements.h"

enum { LAST = DQ_PICTURE_ENDS - 1 };

// ---- Ends of pictures ----

int64_t dq_channels_of(const dq_tensor *tensor) { return tensor->rank == 2 || tensor->rank > 3 ? tensor->dims[1] : 1; }

size_t dq_value_ends_bytes(int64_t channels) { return (size_t)channels * 2 * sizeof(dq_picture_ends); }

void dq_value_ends_init(dq_value_ends *ends, int64_t channels, void *memory) {
  *ends = (dq_value_ends){.channels = channels, .high = memory};
  ends->low = ends->high + channels;
  for (int64_t c = 0; c < 2 * channels; c++)
    for (int i = 0; i < DQ_PICTURE_ENDS; i++) ends->high[c].of[i] = -INFINITY;
}

// The numbers of a picture: the ends of x of all channels, those of -x, and the number of elements.
typedef struct picture_numbers {
  double *of;
  int64_t channels;
} picture_numbers;

static void record(void *argument, int64_t c, const float *plane, int64_t count, unsigned cpu) {
  const picture_numbers *numbers = argument;
  double *high = &numbers->of[c], *low = &numbers->of[numbers->channels + c];
  dq_extremes seen = dq_extremes_of(plane, count, cpu);
  *high = fmax(*high, (double)seen.high);
  *low = fmax(*low, -(double)seen.low);
}

static void insert(dq_picture_ends *ends, float end) {
  if (!(end > ends->of[LAST])) return;
  int at = LAST;
  for (; at && end > ends->of[at - 1]; at--) ends->of[at] = ends->of[at - 1];
  ends->of[at] = end;
}

void dq_value_ends_of(const dq_tensor *tensor, int64_t channels, double *numbers, const dq_context *context) {
  picture_numbers picture = {numbers, channels};
  const int64_t elements = dq_tensor_count(tensor);
  for (int64_t c = 0; c < 2 * channels; c++) numbers[c] = -INFINITY;
  if (channels > 1) dq_each_plane(context, tensor, record, &picture);
  else record(&picture, 0, tensor->data, elements, context ? context->cpu : 0);
  numbers[2 * channels] = (double)elements;
}

void dq_value_ends_add(dq_value_ends *ends, const double *numbers, int64_t channels) {
  const bool same = channels == ends->channels;
  for (int64_t c = 0; same && c < 2 * channels; c++) insert(&ends->high[c], (float)numbers[c]);
  if (!same) {
    double high = -INFINITY, low = -INFINITY;
    for (int64_t c = 0; c < channels; c++) high = fmax(high, numbers[c]), low = fmax(low, numbers[channels + c]);
    insert(&ends->high[0], (float)high);
    insert(&ends->low[0], (float)low);
  }
  ends->elements = (int64_t)numbers[2 * channels];
  ends->pictures++;
}

// ---- Margins ----

enum { STEPS = 64, STEPS_OF_SEEN = 32 };

// The mean excess, from the gaps between the ends that are known; 0 below.
static double mean_excess(const dq_picture_ends *ends, int64_t pictures) {
  int known = pictures < DQ_PICTURE_ENDS ? (int)pictures : DQ_PICTURE_ENDS;
  double sum = 0;
  for (int i = 1; i < known; i++) sum += i * ((double)fmaxf(ends->of[i - 1], 0) - (double)fmaxf(ends->of[i], 0));
  return sum / (known - 1);
}

// Adds to costs[k] what a channel is expected to lose above seen (1 + k / STEPS_OF_SEEN).
static void add_excess(const dq_picture_ends *ends, int64_t pictures, double seen, double *costs) {
  double mean = mean_excess(ends, pictures);
  if (!(mean > 0)) return;
  double excess = 2 * mean * mean / ((double)pictures + 1) * exp(-(seen - (double)ends->of[0]) / mean);
  double ratio = exp(-seen / STEPS_OF_SEEN / mean);
  for (int k = 0; k <= STEPS; k++, excess *= ratio) costs[k] += excess;
}

double dq_end_with_margin(const dq_picture_ends *ends, int64_t channels, double elements, int64_t pictures,
                          double other) {
  double costs[STEPS + 1], seen = 0;
  int best = 0;
  for (int64_t c = 0; c < channels; c++) seen = fmax(seen, (double)ends[c].of[0]);
  if (pictures < 2 || !(seen > 0)) return seen;
  for (int k = 0; k <= STEPS; k++) {
    double step = (seen * (1 + (double)k / STEPS_OF_SEEN) + other) / DQ_ACTIVATION_STEPS;
    costs[k] = elements * step * step / 12;
  }
  for (int64_t c = 0; c < channels; c++) add_excess(&ends[c], pictures, seen, costs);
  for (int k = 1; k <= STEPS; k++)
    if (costs[k] < costs[best]) best = k;
  return seen * (1 + (double)best / STEPS_OF_SEEN);
}

static double scale_of(double end, double seen, const dq_picture_ends *ends, const dq_value_ends *value, double other) {
  static const double KEPT = 0.97;
  if (!(seen > 0) || end < KEPT * seen) return 1;
  return dq_end_with_margin(ends, value->channels, (double)value->elements, value->pictures, fmax(0, other)) / seen;
}

dq_range_pair dq_range_with_margins(dq_range_pair range, const dq_histogram *histogram, const dq_value_ends *ends) {
  double low = (double)range.low, high = (double)range.high;
  double up = scale_of(high, (double)histogram->maximum, ends->high, ends, -low);
  double down = scale_of(-low, -(double)histogram->minimum, ends->low, ends, high);
  return (dq_range_pair){(float)fmax(down * low, -(double)FLT_MAX), (float)fmin(up * high, (double)FLT_MAX)};
}
