// Decides which request runs its next job. Nothing here reads a clock or knows a thread: the caller says when a request
// arrives and when a job has ended, so that a simulated clock can drive it.
//
// A request that has begun holds a frame, the memory that its values live in between two jobs, and there are only so
// many frames. A request that has not begun can run only where a frame is free.
//
// A worker that has ended a request runs the next one of the same network in place of one that came before it and has
// the same rank, for as long as a time slice, while no request that has a deadline waits: the weights are in the cache
// of its processor then (M. S. Squillante, E. D. Lazowska, Using Processor-Cache Affinity Information in Shared-Memory
// Multiprocessor Scheduling, IEEE Transactions on Parallel and Distributed Systems 4(2), 1993).
//
// Where there is no time slice, because requests have deadlines or take longer, a request also runs in place of one of
// the same rank that came before it, but not by more than twice the cost of the one that came before, if its network
// was slowed down more, by more than 5 %. (Networks whose requests come equally often keep the order of their arrival
// in every round, so that with first come, first served the same network would wait each time.) Where all requests have
// the same rank one with a deadline may run between the jobs of another one; elsewhere the frame for that is kept for a
// smaller rank.
#ifndef DQ_MULTI_DISPATCHER_H
#define DQ_MULTI_DISPATCHER_H

#include <stdbool.h>

#include "lib/base/status.h"
#include "lib/multi/job_policy.h"

// A request as the dispatcher sees it.
typedef struct dq_task {
  int network;      // index, from 0: whose turn its jobs take
  int priority;     // as in dq_rank_facts
  int64_t deadline; // as in dq_rank_facts
  int64_t arrival;  // when it arrived, in the unit of the time slice; not before that of the task that came before it
  int64_t cost;     // the time that its jobs are expected to take, in that unit; >= 0
  // The following are the dispatcher's.
  int64_t number, turn, rank;     // number by arrival; turn of its network; rank by the policy
  int64_t order;                  // among equal ranks: its number, or < 0 where it has passed by another one
  int place;                      // index in its heap; -1: in none, because it runs, has ended or was removed
  bool begun;                     // it holds a frame
  struct dq_task *before, *after; // of the same network, by arrival, while it has not begun
} dq_task;

// The state of a worker in the dispatcher; zeroed at first.
typedef struct dq_worker_slice {
  int network;    // that it ran last, + 1; 0: none
  int64_t passed; // cost of the requests of it that ran in place of others since
} dq_worker_slice;

// A network as the dispatcher sees it.
typedef struct dq_dispatched_network {
  int64_t turn;           // the last that a task of it was given
  double slowdown;        // of tasks that have ended: time from arrival to end over cost, a moving mean; 0: of none
  dq_task *oldest, *last; // of its tasks that have not begun, by arrival
} dq_dispatched_network;

// A binary heap of tasks, the next one first.
typedef struct dq_task_heap {
  dq_task **tasks;
  int count, capacity;
} dq_task_heap;

// All functions that take a dispatcher change it, so a caller with several threads lets one of them in at a time.
typedef struct dq_dispatcher {
  const dq_job_policy *policy;
  int64_t slice;                   // the time slice, >= 0
  int frames;                      // that are free
  dq_task_heap waiting, begun;     // tasks that do not run: without a frame, and with one
  dq_dispatched_network *networks; // [network_count]
  int network_count;
  int64_t turn, number; // the turn of the task that ran last; the number of the next task
  int with_deadline;    // tasks that have not begun and have a deadline
  int64_t preferred;    // the order of the last task that passed by another one; 0: none has
} dq_dispatcher;

// The number of frames for `workers` (1 to 1024) workers and requests of `priorities` (1 to 1024) different priorities:
// one more than workers. Where the policy is by priority there are at least as many as workers for each priority: of
// each no more requests than workers have begun at once, so that one of a higher priority always finds a frame and
// waits for a job of those of lower ones, not for the end of a request.
int dq_dispatcher_frames(const dq_job_policy *policy, int workers, int priorities);
// Opens a dispatcher with `frames` (>= 1) frames and no networks. `policy` is a row of the table, `slice` the time
// slice in a unit of the caller's. The caller closes it. DQ_SYSTEM: there is no memory.
dq_status dq_dispatcher_open(dq_dispatcher *dispatcher, const dq_job_policy *policy, int64_t slice, int frames,
                             dq_error *error);
void dq_dispatcher_close(dq_dispatcher *dispatcher); // allowed on a zeroed struct
// Adds a network; its index is the number of networks before. DQ_SYSTEM: there is no memory.
dq_status dq_dispatcher_add_network(dq_dispatcher *dispatcher, dq_error *error);

// Adds the task of a request that arrives; the caller has set network, priority, deadline, arrival and cost. The task
// must live until it has ended or was removed. DQ_SYSTEM: there is no memory, and the task was not added.
dq_status dq_dispatcher_add(dq_dispatcher *dispatcher, dq_task *task, dq_error *error);
// The task whose next job a worker runs now; NULL: no task can run. The task leaves its heap, and takes a free frame
// where it begins; the caller runs one job of it and then calls dq_dispatcher_return or dq_dispatcher_end. *slice is
// what the dispatcher knows of this worker: its network becomes that of the task, and the cost of a request that runs
// in place of one that came before it is added to `passed`, which else becomes 0 when a request begins. Takes
// logarithmic time in the number of tasks, and where networks are to be slowed down alike it looks at up to 64 tasks of
// each heap.
dq_task *dq_dispatcher_next(dq_dispatcher *dispatcher, dq_worker_slice *slice);
// Lets the task wait again: a job of it has ended and another one follows.
void dq_dispatcher_return(dq_dispatcher *dispatcher, dq_task *task);
// Ends a task whose last job has ended at the time `now`, in the unit of dq_task.arrival: its frame becomes free.
void dq_dispatcher_end(dq_dispatcher *dispatcher, dq_task *task, int64_t now);
// Removes a task that does not run (place >= 0); its frame, if it has one, becomes free.
void dq_dispatcher_remove(dq_dispatcher *dispatcher, dq_task *task);

#endif
