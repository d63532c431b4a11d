#ifndef DQ_MULTI_MULTI_INTERNAL_H
#define DQ_MULTI_MULTI_INTERNAL_H

#include <pthread.h>

#include "lib/multi/multi.h"

typedef struct dq_multi_network {
  const dq_session *session;
  dq_arena *arena; // of jobs and idle
  dq_job *jobs;
  int job_count;
  dq_plan **idle; // [frames]: plans that share the operands of session->plan and that no request uses
  int idle_count;
} dq_multi_network;

typedef struct dq_multi_worker {
  dq_multi *multi;
  pthread_t thread;
  int index;
} dq_multi_worker;

struct dq_multi {
  dq_multi_options options;
  dq_context binding, running; // of sessions, and of the plans that requests run: these send no messages
  // Everything from here on is read and changed under the lock.
  pthread_mutex_t lock;
  pthread_cond_t arrived, ended; // a request came, or the workers are to end; a request has ended
  dq_dispatcher dispatcher;
  dq_multi_network *networks;
  int network_count;
  dq_arena *frame_arena; // of the memory of the frames
  void **frames;         // [workers + 1], in frame_arena: those that are free come first
  int free_frames;
  size_t frame_bytes;
  void (*between)(void *user); // dq_multi_set_between
  void *between_user;
  int unfinished; // requests that wait or have begun
  bool closing;
  dq_multi_worker *workers;
  int started;
};

// Runs the next job of a request that has a frame, in a worker and without the lock. Sets request->status; returns
// whether that was the last job.
bool dq_multi_run_job(dq_multi_request *request);
// Frees what dq_multi_add made for a network.
void dq_multi_free_network(dq_multi_network *network);

#endif
