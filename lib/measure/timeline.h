// Timelines of runs of a plan: when each step runs, and when each thread of the pool works for it.
#ifndef DQ_MEASURE_TIMELINE_H
#define DQ_MEASURE_TIMELINE_H

#include "lib/exec/plan.h"

typedef struct dq_timeline_event {
  int64_t begin, end; // nanoseconds of dq_nanoseconds
  int run, step;      // numbers from 0: the run, and the step of the plan
} dq_timeline_event;

// Events of one kind in the order of time, which do not overlap.
typedef struct dq_timeline_track {
  dq_timeline_event *events; // [min(count, DQ_TIMELINE_MOST)]
  int64_t count;             // of events, also of those that were not kept
  char apart[48];            // the counts of two threads are never in one cache line
} dq_timeline_track;

enum { DQ_TIMELINE_MOST = 1 << 15 }; // events that a track keeps, 24 bytes each

typedef struct dq_timeline {
  int threads;                // of the pool
  dq_timeline_track steps;    // one event for each step: from its start to its end, in the thread that runs the plan
  dq_timeline_track *workers; // [threads]: one event for each loop of a step that the threads share, from the first to
                              // the last index that the thread ran. Between them a thread waits, or, if it is the one
                              // that runs the plan, works alone. Empty for one thread
  int run, step;              // those that run now
} dq_timeline;

// Allocates a timeline for the pool of the context, in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_timeline_open(dq_timeline *timeline, const dq_context *context, dq_arena *arena, dq_error *error);

// Runs the plan once, as dq_plan_run, and adds its events. `context` is that of the plan. A run takes longer than
// without a timeline by reading the clock, some 50 ns for each event. Statuses as dq_plan_run.
dq_status dq_timeline_run(dq_timeline *timeline, dq_plan *plan, const dq_context *context, dq_error *error);

// The number of events that were not kept because a track was full.
int64_t dq_timeline_lost(const dq_timeline *timeline);

#endif
