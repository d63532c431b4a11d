// How close outputs come to those in float, when their channels are of unlike range: boxes and scores
// of a detector, classes of a segmentation.
#ifndef DQ_QUANT_OUTPUT_ERROR_H
#define DQ_QUANT_OUTPUT_ERROR_H

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_output_error {
  double *signal, *noise; // sums of squares by channel; of the whole where there are no channels
  int64_t channels;       // 0: nothing was added yet
} dq_output_error;

// Adds one output of one picture, float32; shapes are the same in all calls.
dq_status dq_output_error_add(dq_output_error *output_error, const dq_tensor *shape, const float *exact,
                              const float *other, dq_arena *arena, dq_error *error);
void dq_output_error_clear(dq_output_error *output_error);

// Mean over the channels of all outputs of 10 log10(signal / noise), in dB, each at most 100;
// channels that are 0 do not count. -INFINITY when an element is broken (dq_is_broken). Channels run along axis 1 of
// four or more dimensions and along the shorter of the last two of three; the rest is one.
double dq_output_error_sqnr(const dq_output_error *outputs, int count);

// What share of the squares of an output the squares of its error are; 0 when they are 0, infinite when an element is
// broken.
double dq_relative_noise(const float *exact, const float *other, int64_t count);

// How the noise of pictures changed from one trial to another. Ratios, as a few pictures make most of the noise; noise
// that is none counts as a 1e-9th of all. Where the pictures of infinite noise become fewer `mean` and `fell` are
// INFINITY, where they become more -INFINITY; as many are left out.
typedef struct dq_noise_change {
  double mean, deviation; // of ln(before / after) over the pictures, and the standard error of that mean
  double fell;            // how much less noise there is in all
  int64_t pictures;
} dq_noise_change;

dq_noise_change dq_noise_compare(const double *before, const double *after, int64_t pictures);

// Whether there is less noise, and how surely: there is less in all, and the mean is more than `confidence` times its
// standard error. With one picture there is no standard error, and less is enough.
bool dq_noise_is_less(const dq_noise_change *change, double confidence);
// Why, or why not, for a person.
const char *dq_noise_reason(const dq_noise_change *change, double confidence, char *text, size_t size);

double dq_noise_ratio(const double *before, const double *after, int64_t pictures); // the mean
bool dq_noise_fell(const double *before, const double *after, int64_t pictures, double confidence);
#define DQ_HALF_STANDARD_ERROR 0.5
#define DQ_TWO_STANDARD_ERRORS 2.0 // by chance in one of 40

#endif
