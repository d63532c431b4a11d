// The verdict on a converted network: what was lost at its outputs against the float network, by output and by part of
// an output, and whether that is too much.
#ifndef DQ_VERDICT_VERDICT_H
#define DQ_VERDICT_VERDICT_H

#include "lib/verdict/evaluator.h"
#include "lib/verdict/interval.h"

// What a verdict was measured on.
typedef enum dq_verdict_data {
  DQ_VERDICT_OTHER_PICTURES,  // pictures that nothing was fitted to
  DQ_VERDICT_FITTED_PICTURES, // pictures that the conversion was fitted to, which shows too little loss
  DQ_VERDICT_GIVEN_PICTURES,  // pictures of which nothing is known
  DQ_VERDICT_NOISE,           // random numbers, as there were no pictures
} dq_verdict_data;

// A part of an output (dq_output_error_parts).
typedef struct dq_verdict_part {
  const char *output;      // its name
  const char *function;    // that computes it, and whose argument was compared; NULL: the output was
  int64_t first, channels; // the part's channels are first to first + channels - 1
  bool whole;              // they are all of the output
  double sqnr;             // dB; INFINITY: equal; -INFINITY: an element is broken
  dq_interval others;      // of `sqnr` on other pictures, dB
  dq_answers answers;      // of the whole output, in its first part; in others DQ_ANSWER_NONE
  dq_interval kept;        // of their agreement on other pictures, percent
} dq_verdict_part;

typedef struct dq_verdict {
  dq_verdict_part *parts; // in the order of the outputs
  int count;              // 0: there is no verdict
  int64_t pictures;
  dq_verdict_data data;
  int64_t broken; // pictures on which the converted network has NaN or infinity where the float network has neither
  bool is_broken; // the converted network cannot run where the float network can
} dq_verdict;

// Fills *verdict from the errors of pictures that forms of the evaluator's network had (evaluator->errors: those of the
// last dq_evaluate). The arena owns the parts and the names in them. DQ_SYSTEM: there is no memory.
dq_status dq_verdict_of(dq_verdict *verdict, const dq_evaluator *evaluator, const dq_picture_errors *errors,
                        dq_arena *arena, dq_error *error);

// The deviation in dB of the SQNR of a file from that of networks with ranges of some of its pictures, each judged on
// others, beyond what few pictures explain: by chance of ranges, and as pictures for calibration, often of the training
// set, are not quite those that a network meets. Measured (docs/NUMERICS.md).
#define DQ_STAND_IN_DEVIATION 0.5
// Widens the intervals of SQNRs for a verdict on such networks in the file's place: the distance of each end from the
// figure becomes the root of the sum of its square and that of 1.96 deviations.
void dq_verdict_of_stand_in(dq_verdict *verdict);

// Copies a verdict; the arena owns the copy. DQ_SYSTEM: there is no memory.
dq_status dq_verdict_copy(dq_verdict *copy, const dq_verdict *verdict, dq_arena *arena, dq_error *error);

// Runs both networks on the pictures of the options and compares their outputs, a few pictures at a time. The arena
// owns the result; verdict->data is DQ_VERDICT_OTHER_PICTURES. options->other is not read. DQ_BAD_INPUT with
// verdict->is_broken: the converted network does not run where the float network does. Other statuses as
// dq_evaluator_open and dq_evaluate.
dq_status dq_verdict_measure(dq_verdict *verdict, const dq_graph *converted, const dq_evaluator_options *options,
                             const dq_context *context, dq_arena *arena, dq_error *error);

// The number of pictures that the verdict on a conversion is measured on: all, at most 64.
int64_t dq_verdict_pictures(dq_data *data);

// Samples of noise for the verdict on a conversion that takes no longer than some runs of the network.
enum { DQ_VERDICT_FEW_SAMPLES = 2 };

// Compares a converted network with the original, options->graph, at the end of the conversion: on the first
// dq_verdict_pictures of options->data, where verdict->data becomes `kind`. Without data on noise from context->seed,
// on options->pictures samples (0: all of dq_noise_open), at sizes that are assumed where nothing gives them
// (dq_sizes_assume); a network that cannot be run on noise, or not in the memory that is left, has no verdict (count
// 0), which a note reports and which is no failure. DQ_UNSUPPORTED: the converted network does not run on noise on
// which the float network does. options->first is not read. Other statuses as dq_verdict_measure.
dq_status dq_verdict_conclude(dq_verdict *verdict, dq_verdict_data kind, const dq_graph *converted,
                              const dq_evaluator_options *options, const dq_context *context, dq_arena *arena,
                              dq_error *error);

// Whether the intervals of the parts tell what the figures are on other pictures.
bool dq_verdict_tells_of_others(const dq_verdict *verdict);
// The lowest SQNR of a part in dB, and the lowest agreement of an output in percent. NAN: there is no part; no output
// stands for answers that can be compared.
double dq_verdict_sqnr(const dq_verdict *verdict);
double dq_verdict_agreement(const dq_verdict *verdict);
// The lowest that these figures are on other pictures: the lower ends of their 95 % intervals, where the pictures are
// DQ_VERDICT_OTHER_PICTURES. Of noise, of pictures that the conversion was fitted to, which tell nothing of others, and
// of those that are given to be measured the figures themselves. NAN as above;
// dq_verdict_least_sqnr gives -INFINITY where a single picture has no interval.
double dq_verdict_least_sqnr(const dq_verdict *verdict);
double dq_verdict_least_agreement(const dq_verdict *verdict);
// The lowest agreement in percent of an output that stands for sequences of classes (texts). NAN: none does.
double dq_verdict_sequences(const dq_verdict *verdict);

// What a verdict must reach on other pictures (dq_verdict_least_sqnr); -INFINITY: no bound.
typedef struct dq_verdict_bounds {
  double sqnr;                                // dB, of every part
  double agreement;                           // percent, of every output that stands for answers
  const char *sqnr_option, *agreement_option; // what messages call the bounds that are given
} dq_verdict_bounds;

extern const dq_verdict_bounds dq_no_bounds;
// The bounds below which a conversion is called ruinous: 10 dB, where the noise is a tenth of the signal's power.
extern const dq_verdict_bounds dq_ruinous_bounds;
// Whether a part is below 10 dB, or an output keeps fewer than 90 % of its answers (not of guessed ones) and a part is
// below 20 dB: answers between nearly equal scores change without much noise.
bool dq_verdict_is_ruinous(const dq_verdict *verdict);
// Whether the SQNR of any part is below 20 dB.
bool dq_verdict_is_doubtful(const dq_verdict *verdict);
// Whether an output keeps fewer than 95 % of its sequences: a text is wrong with its first wrong symbol, so that texts
// are lost at SQNRs that are good enough for classes.
bool dq_verdict_loses_sequences(const dq_verdict *verdict);
// Whether no picture is broken and the verdict reaches the bounds on other pictures. A bound is not reached where the
// verdict has no part or no answers to compare with it.
bool dq_verdict_holds(const dq_verdict *verdict, const dq_verdict_bounds *bounds);
// Whether a conversion may end its search for layers in float: without bounds no part is below 20 dB and no picture is
// broken; with bounds these hold, and the verdict is not ruinous.
bool dq_verdict_is_enough(const dq_verdict *verdict, const dq_verdict_bounds *bounds);
// DQ_CONDITION, whatever the bounds are, when a picture is broken. Else it names the part with the lowest SQNR when
// that is below its bound, else the output with the lowest agreement, and how many pictures it would take where the
// figure itself reaches the bound; `path` is what messages call the converted model.
// DQ_UNSUPPORTED: the verdict has no part or no answers to compare with a bound.
dq_status dq_verdict_check(const dq_verdict *verdict, const dq_verdict_bounds *bounds, const char *path,
                           dq_error *error);

// Writes one sentence for a person with the lowest figures into `text` and returns `text`.
const char *dq_verdict_text(const dq_verdict *verdict, char *text, size_t size);

#endif
