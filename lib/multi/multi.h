// Several networks in one process: requests wait in one queue, and worker threads run their jobs (job_cut.h), whose
// order a policy decides (dispatcher.h). Between two jobs of a request the worker may run those of others, so that no
// request waits for a whole network.
//
// A job is run by one worker. Workers that have no job to run help it, if its network is for all threads: they take
// part in its loops (dq_pool_help) and leave as soon as there is a job, so that nothing waits for them. A network that
// is alone is as fast as in a pool of as many threads as there are workers; where there are enough jobs, every worker
// runs its own in one thread. For a network of DQ_THREADS_AUTO the way is chosen by the measured times of its requests.
//
// All requests of a network read the same packed weights (dq_plan_share). The values of a request live in a frame, a
// block that is large enough for every network; their number is such that a more urgent request finds a free one
// (dq_dispatcher_frames). The results do not depend on workers, policy and jobs: they are those of the network alone.
#ifndef DQ_MULTI_MULTI_H
#define DQ_MULTI_MULTI_H

#include "lib/multi/dispatcher.h"
#include "lib/multi/job_cut.h"
#include "lib/multi/job_threads.h"
#include "lib/session/session.h"

typedef struct dq_multi dq_multi;
typedef struct dq_multi_request dq_multi_request;

enum { DQ_JOB_PREPARE = -1 }; // the number of the job that prepares the inputs of a request

// Called by the worker `worker` after it has run job `job` (or DQ_JOB_PREPARE) of a request, from `begin` to `end` in
// nanoseconds of dq_nanoseconds. Workers call it at the same time.
typedef void dq_multi_job_done(void *user, int worker, const dq_multi_request *request, int job, int64_t begin,
                               int64_t end);

typedef struct dq_multi_options {
  int workers;                 // threads that run jobs, 1 to 1024
  const dq_job_policy *policy; // a row of the table
  double job_time;             // seconds that a job should take at most, > 0
  double slice;                // seconds that a worker prefers requests of one network for (dispatcher.h), >= 0
  dq_multi_job_done *job_done; // NULL: none
  void *user;                  // first argument of job_done
  int priorities;              // number of different priorities of requests, 1 to 1024, for dq_dispatcher_frames
} dq_multi_options;

// Starts the workers, which sleep until there are requests. `context` must outlive *multi, which the caller closes; its
// pool is not used. DQ_SYSTEM: there is no memory, or a thread cannot be started.
dq_status dq_multi_open(dq_multi **multi, const dq_multi_options *options, const dq_context *context, dq_error *error);
// Ends the workers and frees everything. All requests must have been closed; NULL is allowed.
void dq_multi_close(dq_multi *multi);

// Sets a function that workers call after each job, holding no lock: for work that is due at certain times, such as
// sending requests, where no other thread may get a processor. `between` NULL: none. No worker calls the function for a
// request after that request has ended.
void dq_multi_set_between(dq_multi *multi, void (*between)(void *user), void *user);

// The context for the sessions of networks: that of dq_multi_open with the instruction sets, the budget and the rest,
// for one thread or for as many as there are workers. Owned by `multi`.
const dq_context *dq_multi_context(const dq_multi *multi, bool all_threads);

// Adds a network, whose index is the number of networks before, and cuts it into jobs by measured time: the network
// runs on noise in one thread, once, and up to four times more within 0.1 s; the least time of each step counts.
// `session` was opened with `lent` and dq_multi_context(multi, threads != DQ_THREADS_ONE), and must outlive `multi`.
// DQ_USAGE: a request has not ended; DQ_SYSTEM: there is no memory for the frames; also statuses of a run. After a
// failure the queue is as it was. No other function may be called at the same time.
dq_status dq_multi_add(dq_multi *multi, const dq_session *session, dq_job_threads threads, dq_error *error);
int dq_multi_networks(const dq_multi *multi);
// The jobs of a network, which owns the array; *count receives their number.
const dq_job *dq_multi_jobs(const dq_multi *multi, int network, int *count);
// The threads that jobs of a network may run in: 1, or the number of workers; with DQ_THREADS_AUTO those of the way
// that is chosen now. *choice receives the state of the choice; NULL: threads are not DQ_THREADS_AUTO. No request of
// the network may wait or have begun.
int dq_multi_threads(const dq_multi *multi, int network, const dq_thread_choice **choice);
int dq_multi_inputs(const dq_multi *multi, int network);  // number of inputs of a network
int dq_multi_outputs(const dq_multi *multi, int network); // number of outputs of a network
// Bytes of the outputs of a request; an output whose shape is not known before a run counts 0.
int64_t dq_multi_output_bytes(const dq_multi *multi, int network);
size_t dq_multi_frame_bytes(const dq_multi *multi); // bytes of one frame: the most that a network needs
int dq_multi_frames(const dq_multi *multi);         // number of frames: dq_dispatcher_frames

typedef enum dq_request_state {
  DQ_REQUEST_IDLE,    // was not submitted yet
  DQ_REQUEST_WAITING, // waits for its first job
  DQ_REQUEST_BEGUN,   // has begun: runs, or waits for its next job
  DQ_REQUEST_ENDED    // has ended, see `status`
} dq_request_state;

// A request, which may be submitted again after it has ended. The caller sets the fields of the first part while it is
// idle or has ended, and reads those of the second part after it has ended.
struct dq_multi_request {
  int priority;        // as in dq_rank_facts; 0 at first
  int64_t deadline;    // in nanoseconds of dq_nanoseconds, INT64_MAX (at first): none
  const void **inputs; // [inputs of the plan]: the elements of each, which workers read until the request has ended
  // Writes the elements of the inputs of `plan` (dq_plan_input), which then has memory for them. A worker calls it as a
  // job of its own (DQ_JOB_PREPARE) in front of the others, for several requests at the same time; a status other than
  // DQ_OK is that of the request. NULL, at first: `inputs` are read.
  dq_status (*prepare)(void *user, dq_plan *plan, dq_error *error);
  // Called by the worker when the request has ended; it may submit the request again. NULL: none. With `ended` no other
  // thread may wait for the request, and the caller may use it again when `ended` has returned. The function must be
  // short: this worker runs one of the waiting requests afterwards, and no other worker is woken for that one.
  void (*ended)(void *user, dq_multi_request *request);
  void *user; // of `prepare` and `ended`

  dq_status status;          // DQ_CANCELLED: dq_multi_cancel, or the context was stopped; else as dq_plan_run
  dq_error error;            // of a status other than DQ_OK
  dq_tensor *outputs;        // [outputs of the plan]: copies, which hold until the request is submitted again
  int64_t submitted, finish; // dq_nanoseconds when it was submitted, and when it ended
  int64_t running;           // nanoseconds that workers worked for it, without those of helpers
  int64_t preparing;         // of these, those of `prepare`
  int64_t helping;           // nanoseconds that other workers worked for it, all together
  int network;               // index

  dq_multi *multi; // this and the rest only the queue uses
  dq_task task;
  dq_request_state state;
  struct dq_multi_lane *lane; // while begun
  void *frame;
  int job; // the next one
  bool cancelled;
  bool helped;   // jobs run in all threads
  int stretch;   // of dq_thread_choice; -1: its time does not count
  int64_t begun; // dq_nanoseconds when it got its frame
};

// Opens a request for a network. The caller closes *request before `multi`, while the request is idle or has ended.
// DQ_SYSTEM: there is no memory.
dq_status dq_multi_request_open(dq_multi_request **request, dq_multi *multi, int network, dq_error *error);
void dq_multi_request_close(dq_multi_request *request); // NULL is allowed

// The following functions may be called from any thread, for one request by one thread at a time; dq_multi_cancel may
// be called beside the others.

// Puts a request into the queue and returns. DQ_USAGE: the request waits or has begun already, or an input is NULL;
// DQ_SYSTEM: there is no memory.
dq_status dq_multi_submit(dq_multi_request *request, dq_error *error);
// Waits until the request has ended, at most `seconds` (< 0: without limit), and returns whether it has; true for a
// request that was never submitted.
bool dq_multi_wait(dq_multi_request *request, double seconds);
// Whether the request has ended since it was submitted last; false for one that was never submitted.
bool dq_multi_is_ended(dq_multi_request *request);
// Ends a request: at once when it waits for its first job, after the job that runs when it has begun. True: the request
// waited or had begun; false: it was idle or had ended, and nothing changes. `ended` is called in the calling thread
// where the request ends at once.
bool dq_multi_cancel(dq_multi_request *request);
// Ends a request that waits for its first job, as dq_multi_cancel does. False: the request has begun, or is not in the
// queue, and nothing changes.
bool dq_multi_withdraw(dq_multi_request *request);

#endif
