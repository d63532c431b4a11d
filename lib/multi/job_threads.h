// How many threads the jobs of a network run in, and a choice of it that is made while its requests run: nothing here
// reads a clock or knows a thread.
//
// Requests run the chosen way, at first in one thread. Now and then a stretch of them runs the other way, and the mean
// times of both are compared. The other way is chosen where the differences of three to eight stretches leave no doubt,
// by the interval of Student's t distribution with 99 %: where other programs have the processors, a thread that waits
// for one delays a request now and then by more than it saves, which only means over many requests show. Until a
// comparison is clear every second stretch is for it; then they become rare, and frequent again when two of them say
// the opposite of those before.
#ifndef DQ_MULTI_JOB_THREADS_H
#define DQ_MULTI_JOB_THREADS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum dq_job_threads {
  DQ_THREADS_ONE,
  DQ_THREADS_ALL, // workers without a job help
  DQ_THREADS_AUTO // as dq_thread_choice says
} dq_job_threads;

// "one", "all" or "auto"; -1: the name is another one.
int dq_job_threads_find(const char *name);

enum { DQ_THREAD_STRETCHES = 8 };

// Requests that were measured in one way.
typedef struct dq_thread_way {
  int64_t sum, count; // nanoseconds
} dq_thread_way;

// Zeroed at first.
typedef struct dq_thread_choice {
  bool all;                                // the chosen way: all threads
  dq_thread_way ways[2];                   // requests in one thread, and in all
  bool measuring;                          // the stretch runs the other way; from here on of the choice alone
  int stretch;                             // its number
  int64_t elapsed;                         // nanoseconds of its requests
  dq_thread_way measured;                  // those of them that count
  double usual;                            // mean of the last stretch that ran the chosen way
  double differences[DQ_THREAD_STRETCHES]; // the last means of the other way less those of the chosen one in front
  int known;                               // of these, the last ones behind
  int64_t cost;                            // elapsed of the last stretch that ran the other way
  int gap;                                 // so many times as long stretches of the chosen way are
  int length;                              // of stretches, times their least time
} dq_thread_choice;

// Whether a request that begins runs in all threads; *stretch is to be given to dq_thread_choice_end.
bool dq_thread_choice_begin(const dq_thread_choice *choice, int *stretch);
// A request that began in that stretch, when some worker had no job, has ended after `nanoseconds`. What runs across
// the end of a stretch, and the first half a millisecond of each, does not count.
void dq_thread_choice_end(dq_thread_choice *choice, int stretch, int64_t nanoseconds);

#endif
