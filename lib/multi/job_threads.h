// How many threads the jobs of a network run in.
#ifndef DQ_MULTI_JOB_THREADS_H
#define DQ_MULTI_JOB_THREADS_H

#include "lib/multi/multi.h"

typedef enum dq_job_threads {
  DQ_THREADS_ONE,
  DQ_THREADS_ALL, // workers without a job help
  DQ_THREADS_AUTO // what is faster in dq_job_threads_choose
} dq_job_threads;

// "one", "all" or "auto"; -1: the name is another one.
int dq_job_threads_find(const char *name);

typedef struct dq_thread_choice {
  bool all_threads;
  double one, all; // median seconds of a run on noise in one thread, and in all; 0: not measured
} dq_thread_choice;

// Decides for a network, which with DQ_THREADS_AUTO is run on noise in one thread and in as many as `multi` has
// workers, in turns, for half a second or three rounds, whichever ends later, but for at most 50 rounds. All threads
// are chosen where the median of the ratios of the two times is below 1 and so is the ratio of their sums: where other
// programs have the processors, a thread that waits for one delays the others now and then, which a median does not
// show. One worker: nothing is measured. The session of the network, which the caller opens later with
// dq_multi_context(multi, choice->all_threads), is not touched, and `options` are those of its dq_session_open, whose
// statuses this returns too. No request may be on its way.
dq_status dq_job_threads_choose(dq_thread_choice *choice, dq_job_threads rule, const dq_multi *multi,
                                const dq_graph *graph, const dq_session_options *options, dq_error *error);

#endif
