// How many threads the jobs of a network run in, and a choice of it that is made while its requests run: nothing here
// reads a clock or knows a thread.
//
// Requests run the chosen way, at first in one thread. Now and then a stretch of them runs the other way, and the mean
// times of both are compared. The other way is chosen where the 99 % confidence interval of the mean difference of
// three to eight stretches (Student's t distribution) lies below 0. Single requests would not show that: where other
// programs use the processors, a thread that waits for a processor delays some requests by more than it saves in all
// others. Until a comparison is decided, every second stretch runs the other way; then such stretches become rare, and
// frequent again when two of them contradict those before.
#ifndef DQ_MULTI_JOB_THREADS_H
#define DQ_MULTI_JOB_THREADS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum dq_job_threads {
  DQ_THREADS_ONE,
  DQ_THREADS_ALL, // workers without a job help
  DQ_THREADS_AUTO // as dq_thread_choice says
} dq_job_threads;

// The dq_job_threads of the name "one", "all" or "auto"; -1: another name.
int dq_job_threads_find(const char *name);

enum { DQ_THREAD_STRETCHES = 8 };

// The times of the requests that were measured in one way: their sum in nanoseconds, and their number.
typedef struct dq_thread_way {
  int64_t sum, count;
} dq_thread_way;

// The state of the choice for one network; zeroed at first.
typedef struct dq_thread_choice {
  bool all;                                // the chosen way: all threads
  dq_thread_way ways[2];                   // requests in one thread, and in all
  bool measuring;                          // the stretch runs the other way; this and the rest only job_threads.c uses
  int stretch;                             // number of the stretch
  int64_t elapsed;                         // nanoseconds of its requests
  dq_thread_way measured;                  // the requests of it that count
  double usual;                            // mean of the last stretch that ran the chosen way
  double differences[DQ_THREAD_STRETCHES]; // mean of a stretch of the other way less that of the stretch before it
  int known;                               // number of `differences`, the last one behind
  int64_t cost;                            // elapsed of the last stretch that ran the other way
  int gap;                                 // length of a stretch of the chosen way over one of the other way
  int length;                              // length of stretches over their least length
} dq_thread_choice;

// Whether a request that begins now runs in all threads. *stretch receives the number for dq_thread_choice_end.
bool dq_thread_choice_begin(const dq_thread_choice *choice, int *stretch);
// Records that a request that began in stretch `stretch`, when some worker had no job, has ended after `nanoseconds`.
// Requests that run across the end of a stretch, and those of its first half a millisecond, do not count.
void dq_thread_choice_end(dq_thread_choice *choice, int stretch, int64_t nanoseconds);

#endif
