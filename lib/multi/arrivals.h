// Sends requests to a queue of networks, by a clock, from a trace, or as fast as they are answered, and records what
// became of them.
#ifndef DQ_MULTI_ARRIVALS_H
#define DQ_MULTI_ARRIVALS_H

#include "lib/multi/arrival_trace.h"
#include "lib/multi/multi.h"

typedef enum dq_late_rule {
  DQ_LATE_QUEUE, // a request that comes while the one before has not ended waits in the queue
  DQ_LATE_DROP   // it is dropped
} dq_late_rule;

// A network and who sends it requests.
typedef struct dq_source {
  int network;           // index in the queue
  int senders;           // 0: the network is in the queue, and nobody sends it requests
  double rate;           // requests that each sender sends in a second, 1e-9 to 1e6; 0: a sender sends the next request
                         // when its last one has ended, or requests arrive by a trace
  dq_late_rule late;     // of requests by rate or trace
  int priority;          // as in dq_rank_facts
  double deadline;       // seconds from the arrival of a request to its deadline; 0: none
  const void ***samples; // [sample_count][inputs]: the elements of the inputs of requests, which take them by turns
  int sample_count;
  // Writes the inputs of sample `sample` to a plan as a job of the request (dq_multi_request.prepare), in place of
  // `samples`; NULL: these are read where they are.
  dq_status (*read)(void *user, int sample, dq_plan *plan, dq_error *error);
  void *user; // of `read`
} dq_source;

typedef struct dq_arrival_options {
  double duration;  // seconds in which requests arrive; 0: no limit
  int64_t requests; // largest number that each sender sends; 0: no limit
  // Requests of sources without a rate, `source` being the index of a source; NULL: these sources send the next request
  // when the last has ended.
  const dq_arrival_trace *trace;
} dq_arrival_options;

// The results of the requests of a source. Times are in seconds.
typedef struct dq_source_record {
  double alone;       // mean time of a request from arrival to end while the queue has no other one
  uint64_t *digests;  // [sample_count]: hashes of the outputs alone
  double *times;      // [count]: from arrival to end of the requests that succeeded, in the order in which they ended
  double running;     // sum over these of the time that workers worked for them
  double reading;     // sum over these of the time of dq_source.read
  double helping;     // sum over these of the time that other workers worked for them
  int64_t count;      // of requests that succeeded
  int64_t sent;       // requests that arrived
  int64_t dropped;    // by the rule on late ones
  int64_t missed;     // succeeded after their deadline
  int64_t different;  // requests whose outputs differ from those of the same sample alone
  int64_t failed;     // ended with a status other than DQ_OK; `error` is that of the first
  int64_t unfinished; // still waited for their first job when the duration was over, and were taken out of the queue
  dq_error error;     // of the first failure; valid with failed > 0
  int64_t capacity;   // of times
} dq_source_record;

// Runs the samples of each source alone, one request after the other, each sample once and then again until `seconds`
// have passed for all sources together, and sets `alone` and `digests` of records[count], which the caller has zeroed.
// Arrays are in the arena. Samples whose requests fail do not count. Where all requests of a source fail, the function
// returns the status of such a request and sets `failed` of the record to 1. DQ_SYSTEM: there is no memory.
dq_status dq_arrivals_alone(dq_multi *multi, const dq_source *sources, int count, double seconds,
                            dq_source_record *records, dq_arena *arena, dq_error *error);

// Sends requests of all sources at the same time until the duration has passed, all senders have sent `requests`
// requests, or the trace is over, and waits for the requests that have begun. Sets the other fields of records[count],
// and *elapsed to the seconds from the first arrival to the last end. A request that fails does not end the others. The
// caller frees the records by dq_source_records_free, also after a failure. DQ_CANCELLED: the context of the queue was
// stopped; DQ_SYSTEM: there is no memory.
dq_status dq_arrivals_run(dq_multi *multi, const dq_source *sources, int count, const dq_arrival_options *options,
                          dq_source_record *records, double *elapsed, dq_error *error);
void dq_source_records_free(dq_source_record *records, int count);

#endif
