#include "lib/multi/job_threads.h"

#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

enum {
  SKIPPED = 500000,    // nanoseconds at the start of a stretch, in which caches and helpers are those of the other way
  LONG = 10 * SKIPPED, // what takes longer counts, whatever it found
  STRETCH = 4000000,   // nanoseconds of requests that count, at least
  LEAST = 3,           // differences
  DOUBTFUL = 4,        // gaps
  RARE = 64,
  LONGEST = 64 // length
};

// Quantiles 0.995 of Student's t distribution, by number of values.
static const double quantiles[DQ_THREAD_STRETCHES + 1] = {0, 0, 0, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499};

static const char *const names[] = {"one", "all", "auto"};

int dq_job_threads_find(const char *name) { return dq_find_row(name, names, sizeof *names, DQ_COUNT(names)); }

static double mean_of(const double *values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

// Half of the interval that holds the mean.
static double doubt_of(const double *values, int count) {
  double mean = mean_of(values, count), squares = 0;
  for (int i = 0; i < count; i++) squares += (values[i] - mean) * (values[i] - mean);
  return quantiles[count] * sqrt(squares / (count - 1) / count);
}

// The last `count` differences remain.
static void forget(dq_thread_choice *choice, int count) {
  memmove(choice->differences, choice->differences + choice->known - count, (size_t)count * sizeof(double));
  choice->known = count;
}

// How far apart the next stretches of the other way are. `clear`: by the interval the chosen way is the better one.
static void set_gap(dq_thread_choice *choice, bool clear) {
  const bool opposite = choice->differences[choice->known - 1] < 0;
  if (!clear && choice->known < DQ_THREAD_STRETCHES) choice->gap = 1;
  else if (choice->gap < RARE) choice->gap *= 2;
  else if (choice->length > 1) choice->length /= 2;
  if (opposite && choice->gap > DOUBTFUL) choice->gap = DOUBTFUL;
}

// Decides after a stretch of the other way, whose difference is the last one, whether that way becomes the chosen one.
static void judge(dq_thread_choice *choice) {
  const int before = choice->known - 2; // the last two
  if (choice->known > LEAST && choice->differences[before] < 0 && choice->differences[before + 1] < 0 &&
      mean_of(choice->differences, before) > 0)
    forget(choice, 2);
  const bool enough = choice->known >= LEAST;
  const double mean = mean_of(choice->differences, choice->known);
  const double doubt = enough ? doubt_of(choice->differences, choice->known) : 0;
  if (!enough || mean + doubt >= 0) {
    set_gap(choice, enough && mean - doubt > 0);
    return;
  }
  choice->all = !choice->all;
  choice->known = 0;
  choice->gap = DOUBTFUL;
  if (choice->length < LONGEST) choice->length *= 2;
}

static void end_stretch(dq_thread_choice *choice) {
  const double mean = (double)choice->measured.sum / (double)choice->measured.count;
  if (choice->measuring) {
    if (choice->known == DQ_THREAD_STRETCHES) forget(choice, DQ_THREAD_STRETCHES - 1);
    choice->differences[choice->known++] = mean - choice->usual;
    choice->cost = choice->elapsed;
    choice->measuring = false;
    judge(choice);
  } else {
    choice->usual = mean;
    choice->measuring = true;
  }
  choice->stretch++;
  choice->elapsed = 0;
  choice->measured = (dq_thread_way){0};
}

// Nanoseconds that a stretch of the chosen way has to have. One that takes longer or shorter than the last one by a
// quarter is a sign that the load has changed.
static int64_t least_stretch(const dq_thread_choice *choice) {
  const double mean = (double)choice->measured.sum / (double)choice->measured.count;
  const bool changed = fabs(mean - choice->usual) > choice->usual / 4;
  return (changed && choice->gap > DOUBTFUL ? DOUBTFUL : choice->gap) * choice->cost;
}

bool dq_thread_choice_begin(const dq_thread_choice *choice, int *stretch) {
  *stretch = choice->stretch;
  return choice->all != choice->measuring;
}

void dq_thread_choice_end(dq_thread_choice *choice, int stretch, int64_t nanoseconds) {
  if (stretch != choice->stretch) return;
  const int64_t before = choice->elapsed;
  choice->elapsed += nanoseconds;
  if (before < SKIPPED && nanoseconds < LONG) return;
  dq_thread_way *way = &choice->ways[choice->all != choice->measuring];
  way->sum += nanoseconds, way->count++;
  choice->measured.sum += nanoseconds, choice->measured.count++;
  if (!choice->length) choice->length = choice->gap = 1;
  if (choice->measured.sum < choice->length * STRETCH) return;
  if (choice->measuring || choice->measured.sum >= least_stretch(choice)) end_stretch(choice);
}
