// The state of a queue of networks, shared by the files of lib/multi.
#ifndef DQ_MULTI_MULTI_INTERNAL_H
#define DQ_MULTI_MULTI_INTERNAL_H

#include <pthread.h>

#include "lib/multi/multi.h"

// A plan that requests of a network use by turns. It shares the operands of session->plan.
typedef struct dq_multi_lane {
  dq_plan *plan;
  dq_pool *pool;                // open; NULL: the network is for one thread
  dq_context context;           // of the plan. Its pool is `pool` while others may help the job, else NULL
  int caller;                   // the worker that runs the job
  atomic_int_least64_t helping; // nanoseconds of others since the job began
} dq_multi_lane;

typedef struct dq_multi_network {
  const dq_session *session;
  dq_job_threads threads;
  dq_thread_choice choice; // with DQ_THREADS_AUTO
  dq_arena *arena;         // of jobs and idle
  dq_job *jobs;
  int job_count;
  int64_t cost;         // nanoseconds of all jobs
  int64_t preparing;    // nanoseconds that dq_multi_request.prepare took last
  dq_multi_lane **idle; // [frames]: those that no request uses
  int idle_count;
} dq_multi_network;

typedef struct dq_multi_worker {
  dq_multi *multi;
  pthread_t thread;
  int index;
  dq_worker_slice slice;
  dq_multi_lane *lane; // that it runs a job of, and that others may help; NULL: none
} dq_multi_worker;

struct dq_multi {
  dq_multi_options options;
  dq_context binding, binding_all, running; // of sessions, and of the plans that requests run: these send no messages
  atomic_int ready;                         // requests that wait for a job; written under the lock
  // Everything from here on is read and changed under the lock.
  pthread_mutex_t lock;
  pthread_cond_t arrived, ended; // a request came, or the workers are to end; a request has ended
  dq_dispatcher dispatcher;
  dq_multi_network *networks;
  int network_count;
  dq_arena *frame_arena; // of the memory of the frames
  void **frames;         // [frames], in frame_arena: those that are free come first
  int free_frames;
  size_t frame_bytes;
  void (*between)(void *user); // dq_multi_set_between
  void *between_user;
  int unfinished; // requests that wait or have begun
  int sleeping;   // workers
  int idle;       // workers that have no job: they sleep or help
  int calling;    // workers that call dq_multi_request.ended, and then look for a job
  int64_t starts; // jobs that could be helped
  bool closing;
  dq_multi_worker *workers;
  int started;
};

// Opens a lane of the network: a plan that shares the operands of its session; the caller frees it by
// dq_multi_free_lane. DQ_SYSTEM: there is no memory.
dq_status dq_multi_open_lane(dq_multi_lane **lane, const dq_multi *multi, const dq_multi_network *network,
                             dq_error *error);
void dq_multi_free_lane(dq_multi_lane *lane); // NULL is allowed
// Runs the next job of a request that has a frame, in a worker and without the lock. Sets request->status; returns
// whether that was the last job. `worker` is the number of the worker.
bool dq_multi_run_job(dq_multi_request *request, int worker);
// Runs a plan once on noise of that seed. Statuses as dq_plan_run.
dq_status dq_multi_run_noise(dq_plan *plan, uint64_t seed, dq_error *error);
// Frees what dq_multi_add made for a network.
void dq_multi_free_network(dq_multi_network *network);

#endif
