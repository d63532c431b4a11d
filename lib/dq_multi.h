// dq.h: several networks at once.
#ifndef DQ_MULTI_H
#define DQ_MULTI_H

#include "dq_base.h"
#include "dq_network.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// ---- Several networks at once ----

// A queue has threads of its own, which run requests of all its networks: each network is cut into jobs of consecutive
// steps, and after each job a thread takes the next job of the most urgent request. The weights of a network are in
// memory once, for all its requests. Requests give what dq_network_run gives for the same inputs, bit by bit, whatever
// else the queue runs. docs/guide/cameras.c is an example.
//
// Threads. dq_queue_open, dq_queue_add and dq_queue_close belong to the thread that uses the engine. Everything else
// may be called from any thread, for different requests at the same time, and for one request by one thread at a time;
// dq_request_cancel may be called beside any other function on the request but dq_request_close. The engine may be used
// for other work while requests run, by its own thread. dq_engine_stop, from any thread, ends all requests. A request
// is "on its way" from dq_request_submit until it has ended.
typedef struct dq_queue dq_queue;
typedef struct dq_request dq_request;

typedef struct dq_queue_options {
  size_t size;
  int workers;        // threads that run jobs, 1 to 1024; 0 (default): as many as the engine has
  const char *policy; // whose job runs next: "fifo" (default, also NULL), "round-robin" (the networks by turns),
                      // "priority" or "edf" (earliest deadline first)
  double job_time;    // seconds that a job should take at most, above 0; default 0.001
  // What jobs of a network run in: "one" thread (default, also NULL); "all": threads that have no job help, so that a
  // network which is alone is as fast as with all threads; "auto": what is faster of the two, which the queue measures
  // for each network on its requests while they run, at first in one thread.
  const char *threads;
  // The time slice, seconds: a thread that has ended a request runs the next one of the same network, whose weights its
  // processor has in the cache, in place of one that came before it and is as urgent, for up to this time, while no
  // request waits that has a deadline; default 0.01, 0: never.
  double slice;
  // How many different priorities requests have, 1 to 1024; default 2. With "priority" the queue has memory for the
  // values of as many requests of each priority as it has threads, so that a request waits for a job of those of lower
  // priorities, not for the end of one; further priorities share this memory.
  int priorities;
} dq_queue_options;

void dq_queue_defaults(dq_queue_options *options, size_t size);
// Starts the threads of the queue, which sleep while there are no requests. DQ_CODE_USAGE: an option is not valid.
dq_code dq_queue_open(dq_queue **queue, dq_engine *engine, const dq_queue_options *options, dq_failure *failure);
// Ends the threads. Close the requests of the queue before it, and the queue before its models; NULL is allowed.
void dq_queue_close(dq_queue *queue);
// Makes the model ready to run in the queue, as dq_network_open does, and runs it on noise up to five times to measure
// its steps. *network receives its number: 0, 1, ... DQ_CODE_USAGE: an option is not valid, or a request of the queue
// has not ended; else codes as dq_network_open and dq_network_run. After a failure the queue is as it was.
dq_code dq_queue_add(dq_queue *queue, dq_model *model, const dq_network_options *options, int *network,
                     dq_failure *failure);

// Opens a request for a network of the queue, with memory for its inputs, which are 0, and for its outputs. A request
// can be submitted again and again; a program opens one for each that is to be on its way at the same time.
// DQ_CODE_USAGE: the queue has no such network.
dq_code dq_request_open(dq_request **request, dq_queue *queue, int network, dq_failure *failure);
// Cancels the request and waits until it has ended before it frees it; NULL is allowed.
void dq_request_close(dq_request *request);
// Both fill *array as dq_network_input and dq_network_output do, and return 1, or return 0 when there is none. Write
// inputs while the request is not on its way; they stay as they are. The outputs are those of the last time that the
// request succeeded, and hold until it is submitted again.
int dq_request_input(dq_request *request, int index, dq_array *array);
int dq_request_output(const dq_request *request, int index, dq_array *array);

typedef struct dq_request_options {
  size_t size;
  int priority;    // for "priority": larger is more urgent; default 0
  double deadline; // for "edf": seconds from now by which the request should end, above 0; 0 (default): no deadline
} dq_request_options;

void dq_request_defaults(dq_request_options *options, size_t size);
// Puts the request into the queue and returns. DQ_CODE_USAGE: an option is not valid, or the request is on its way.
dq_code dq_request_submit(dq_request *request, const dq_request_options *options, dq_failure *failure);
// Waits until the request has ended, at most `seconds`: 0 and NAN only look, less than 0 waits without limit. Returns 1
// when it has ended or was never submitted, else 0.
int dq_request_wait(dq_request *request, double seconds);
// Ends a request on its way: one that waits at once, one that has begun after the job that runs. It then has the result
// DQ_CODE_CANCELLED. Returns 1, or 0 when the request was not on its way.
int dq_request_cancel(dq_request *request);

typedef struct dq_request_facts {
  size_t size;
  double seconds; // from the submission to the end
  double running; // of these, the time that a thread worked for the request
} dq_request_facts;

// The result of a request that has ended: DQ_CODE_OK: it has outputs, and *facts (may be NULL) are written;
// DQ_CODE_USAGE: it is on its way, or was never submitted; DQ_CODE_CANCELLED: it was cancelled; else a code of
// dq_network_run. A failure of one request changes nothing for others.
dq_code dq_request_result(const dq_request *request, dq_request_facts *facts, dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
