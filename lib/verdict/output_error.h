// The output error of a converted network against the float network, for outputs whose channels have different ranges:
// boxes and scores of a detector, classes of a segmentation. Each channel counts alike.
#ifndef DQ_VERDICT_OUTPUT_ERROR_H
#define DQ_VERDICT_OUTPUT_ERROR_H

#include "lib/base/context.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/tensor.h"

typedef struct dq_output_error {
  double *signal, *noise; // [channels]: sums of dq_squared_signal and dq_squared_error
  int64_t channels;       // 0: no picture was added yet; 1 for outputs without channels
} dq_output_error;

// Adds one output of one picture. `exact` (the float network) and `other` have the float32 elements of the shape, which
// is the same in all calls. Channels are along axis 1 of four or more dimensions, and along the shorter of the last two
// of three dimensions; an output of fewer dimensions is one channel. The first call on a zeroed struct allocates the
// sums in the arena. The context (NULL is allowed) does not change the bits. DQ_SYSTEM: there is no memory.
dq_status dq_output_error_add(dq_output_error *output_error, const dq_tensor *shape, const float *exact,
                              const float *other, dq_arena *arena, const dq_context *context, dq_error *error);
// Adds the sums of another one, which has the same channels or none. The first call on a zeroed struct allocates in the
// arena. DQ_SYSTEM: there is no memory.
dq_status dq_output_error_join(dq_output_error *output_error, const dq_output_error *other, dq_arena *arena,
                               dq_error *error);
// Sets the sums to 0, so that other pictures can be added.
void dq_output_error_clear(dq_output_error *output_error);

// The mean SQNR in dB over the channels of `count` outputs; the higher, the smaller the error. The SQNR of a channel
// counts as at most 100 dB, and channels without signal are left out. -INFINITY when an element is broken
// (dq_is_broken).
double dq_output_error_sqnr(const dq_output_error *outputs, int count);

// A run of channels with like signals, such as the boxes or the scores of a detector that has both in one output.
typedef struct dq_output_part {
  int64_t first, count; // channels first to first + count - 1
  double sqnr;          // dB, sums over all of them; INFINITY: no noise; -INFINITY: an element is broken
} dq_output_part;

// Divides an output in at most two parts, so that wide channels do not hide the error of narrow ones: where the
// magnitudes of the channels (log10 of the root of the mean square, at least 1e-4 of the widest) differ least from the
// mean of their part, if these means differ by a factor of 10 or more. Returns the number of parts: 0 when no channel
// has a signal and no element is broken.
int dq_output_error_parts(const dq_output_error *output_error, dq_output_part parts[2]);

// The sum over the parts of noise / signal; 0 when there is none, infinite when an element is broken.
double dq_output_error_relative(const dq_output_error *output_error);
// The same for the noise of one picture beside the signals of `all` pictures, which decide on the parts: the sum over
// these parts of noise of `one` / signal of `all`.
double dq_output_error_share(const dq_output_error *one, const dq_output_error *all);

// The noise of an output as a share of its signal over all channels: sum (exact - other)^2 / sum exact^2. 0 for an
// output of zeros, infinite when an element is broken.
double dq_output_error_noise(const dq_output_error *output_error);
// The same for the elements of one output. The context (NULL is allowed) does not change the bits.
double dq_relative_noise(const float *exact, const float *other, int64_t count, const dq_context *context);

// The change of the noise of pictures from one trial to another. Ratios are compared, because otherwise the few
// pictures with most of the noise would decide alone; a noise of 0 counts as 1e-9 of the mean noise. When fewer
// pictures than before have infinite noise, `mean` and `fell` are INFINITY, when more have, -INFINITY; when their
// number is the same, they are left out.
typedef struct dq_noise_change {
  double mean, deviation; // mean of ln(before / after) over the pictures, and its standard error
  double fell;            // sum of before - after over the pictures
  int64_t pictures;
  bool by_picture; // false; where the caller sets it, `mean` decides alone, and `fell` does not count
} dq_noise_change;

// `before` and `after` have the noise of each picture, 0 or more.
dq_noise_change dq_noise_compare(const double *before, const double *after, int64_t pictures);

// The number of standard errors by which a mean over `pictures` (2 or more) must lie above 0 to have the same
// confidence level as a mean over 24 pictures that lies `confidence` (0 or more) standard errors above 0: a quantile of
// Student's t distribution, as the standard error of few pictures is itself uncertain. `confidence` itself for 24
// pictures and more.
double dq_required_errors(double confidence, int64_t pictures);
// Whether there is less noise with a confidence of `confidence` (finite, 0 or more) standard errors: the sum over the
// pictures fell, and the mean of the logarithms is more than dq_required_errors times its standard error. With a single
// picture there is no standard error: a lower sum is enough where `confidence` is at most DQ_HALF_STANDARD_ERROR; with
// a higher one the result is false.
bool dq_noise_is_less(const dq_noise_change *change, double confidence);
// Writes why dq_noise_is_less is true or false, as a part of a sentence, into `text` of `size` bytes (160 are enough,
// less cut the text off) and returns `text`: "the pictures gain 0.42 dB in the mean with a standard error of 0.10,
// asked for are 2.0 of these".
const char *dq_noise_reason(const dq_noise_change *change, double confidence, char *text, size_t size);

// The member `mean` of dq_noise_compare: mean of ln(before / after) over the pictures.
double dq_noise_ratio(const double *before, const double *after, int64_t pictures);
// The result of dq_noise_is_less for the change that dq_noise_compare gives for these arrays.
bool dq_noise_fell(const double *before, const double *after, int64_t pictures, double confidence);

// Values for `confidence`. If the noise did not change, a mean would lie above two standard errors by chance in one of
// 40 trials (normal distribution), and above half a standard error in one of 3.
#define DQ_HALF_STANDARD_ERROR 0.5
#define DQ_TWO_STANDARD_ERRORS 2.0

#endif
