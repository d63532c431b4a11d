// A pool of threads that share the indices of a loop. Which thread calls which index depends on the speed of the
// threads. The work must therefore give the same result in every order and on every thread.
#ifndef DQ_BASE_POOL_H
#define DQ_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dq_pool dq_pool;

// Starts threads - 1 threads; the caller of dq_pool_run is the last one. NULL when there is no memory or a thread
// cannot be started.
dq_pool *dq_pool_new(int threads);
void dq_pool_free(dq_pool *pool);         // ends the threads; NULL is allowed
int dq_pool_threads(const dq_pool *pool); // with the caller; 1 for NULL

// A pool that starts no thread: threads of the program take part in its loops by dq_pool_help, when they have nothing
// else to do. A loop does not wait for helpers; its caller does what they leave. NULL when there is no memory.
dq_pool *dq_pool_new_open(int threads);
// Sets the number that the caller of the next loops of an open pool has, 0 to threads - 1; 0 at first.
void dq_pool_set_caller(dq_pool *pool, int thread);
// Takes part in the loops of an open pool as thread `thread`, a number that neither another helper nor the caller has.
// Returns true when wanted(user), which is called between loops, has returned true, and false when about 100 us have
// passed without a loop. May be called at any time, also while there is no loop; the pool must outlive the call.
bool dq_pool_help(dq_pool *pool, int thread, bool (*wanted)(void *user), void *user);

// Calls work(argument, i, thread) once for every i in [0, count) and returns when all calls have returned. `thread` is
// in [0, threads), 0 for the caller (dq_pool_set_caller); no two calls that run at the same time have the same number.
// A thread begins with the same part of [0, count) in every run, so that data of the last run may still be in its
// cache. A NULL pool runs everything in the caller. One loop at a time: neither `work` nor another thread may call
// dq_pool_run on the same pool meanwhile.
typedef void dq_pool_work(void *argument, int64_t i, int thread);
void dq_pool_run(dq_pool *pool, int64_t count, dq_pool_work *work, void *argument);

// Called by a thread that has run some of the indices of a dq_pool_run, before that returns: the thread worked for it
// from `begin` to `end`, in nanoseconds of dq_nanoseconds. Threads call it at the same time, each with its own number.
typedef void dq_pool_share_done(void *user, int thread, int64_t begin, int64_t end);
// Sets what threads call and its first argument, in place of what was set before; `done` NULL: nothing. Call it while
// no dq_pool_run runs; nothing happens for a NULL pool. Loops that the caller runs alone (a pool of one thread, a count
// of 1) are not reported.
void dq_pool_observe(dq_pool *pool, dq_pool_share_done *done, void *user);

int dq_processors(void); // number of processors that this process may run on

#endif
