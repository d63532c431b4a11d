#include "lib/multi/arrivals.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/base/clock.h"

// ---- One request ----

typedef struct arrival_run arrival_run;

// Limits of the requests of a source by rate or trace that are in the queue of the networks: their number, and the
// bytes of their outputs. The senders of the source share them, but each sender may have FEWEST_QUEUED. Requests that
// arrive while there are as many are held back and follow in their order. The sources know when these arrived, so that
// they take no memory.
enum { MOST_QUEUED = 8192, FEWEST_QUEUED = 64, QUEUED_BYTES = 64 << 20 };

// A request and whose it is. A source by rate or trace that queues late ones has as many as were ever queued at once.
typedef struct arrival_slot {
  dq_multi_request *request;
  arrival_run *load;
  const dq_source *origin; // sources[source]
  int source, sender, sample;
  int64_t arrival;
  struct arrival_slot *next, *next_free; // of all, and of the free ones of the source
} arrival_slot;

typedef struct arrival_sender { // by source, then by number
  int source;
  int64_t sent, next; // requests so far; the arrival of the next one by rate
  int64_t queued;     // submitted requests that have not ended
  int64_t most;       // of `queued`
  int64_t held,
      line; // the last requests, which are not submitted yet; by trace the line from which on the first stands
} arrival_sender;

struct arrival_run {
  dq_multi *multi;
  dq_arena *arena; // of senders and free_slots
  const dq_source *sources;
  const dq_arrival_options *options;
  dq_source_record *records;
  arrival_sender *senders;
  int sender_count, source_count;
  int64_t start, end;
  atomic_int_least64_t due; // the next arrival by rate or trace; INT64_MAX: there is none before the end
  atomic_bool lasts;        // requests come by rate or trace, if only behind the end, or no network has a sender
  // The lock guards the fields from here on, and the senders.
  pthread_mutex_t lock;
  pthread_cond_t ended;
  arrival_slot *slots, **free_slots; // all, and by source
  int64_t running;                   // submitted requests that have not ended
  int64_t *turns;                    // by source: requests that took a sample
  int64_t traced;                    // lines of the trace that have arrived
  bool closing;
  dq_status status; // the first failure of the load itself
  dq_error error;
};

static uint64_t digest_of(const dq_multi_request *request, int outputs) {
  uint64_t digest = 0;
  for (int i = 0; i < outputs; i++) {
    const dq_tensor *output = &request->outputs[i];
    digest = XXH3_64bits_withSeed(output->data, dq_tensor_bytes(output), digest + (uint64_t)output->rank);
  }
  return digest;
}

static int outputs_of(const dq_multi_request *request) { return dq_multi_outputs(request->multi, request->network); }

// dq_multi_request.prepare
static dq_status read_sample(void *user, dq_plan *plan, dq_error *error) {
  const arrival_slot *slot = user;
  return slot->origin->read(slot->origin->user, slot->sample, plan, error);
}

// Sets the inputs of the request of a slot.
static void set_inputs(arrival_slot *slot, const dq_source *source, int sample) {
  dq_multi_request *request = slot->request;
  slot->origin = source;
  slot->sample = sample;
  request->user = slot;
  request->prepare = source->read ? read_sample : NULL;
  if (source->read) return;
  int inputs = dq_multi_inputs(request->multi, request->network);
  memcpy(request->inputs, source->samples[sample], (size_t)inputs * sizeof *request->inputs);
}

static bool add_time(dq_source_record *record, double time) {
  if (record->count == record->capacity) {
    int64_t capacity = 2 * record->capacity + 1024;
    double *times = realloc(record->times, (size_t)capacity * sizeof *times);
    if (!times) return false;
    record->times = times;
    record->capacity = capacity;
  }
  record->times[record->count++] = time;
  return true;
}

// ---- Alone ----

static dq_status run_once(arrival_slot *slot, const dq_source *source, int sample, dq_error *error) {
  dq_multi_request *request = slot->request;
  set_inputs(slot, source, sample);
  DQ_TRY(dq_multi_submit(request, error));
  dq_multi_wait(request, -1);
  if (request->status != DQ_OK) *error = request->error;
  return request->status;
}

// The first run, which touches the memory, does not count. Samples that fail stay without a digest and count nothing;
// when all fail, the status is that of the last.
static dq_status run_alone(dq_multi_request *request, const dq_source *source, double seconds, dq_source_record *record,
                           dq_error *error) {
  int64_t succeeded = 0, sum = 0;
  arrival_slot slot = {.request = request};
  run_once(&slot, source, 0, error);
  const double start = dq_seconds();
  for (int64_t run = 0; run < source->sample_count || dq_seconds() - start < seconds; run++) {
    int sample = (int)(run % source->sample_count);
    dq_status status = run_once(&slot, source, sample, error);
    if (status == DQ_CANCELLED || (status != DQ_OK && !succeeded && run + 1 >= source->sample_count)) return status;
    if (status != DQ_OK) continue;
    sum += request->finish - request->submitted;
    succeeded++;
    record->digests[sample] = digest_of(request, outputs_of(request));
  }
  record->alone = 1e-9 * (double)sum / (double)succeeded;
  return DQ_OK;
}

dq_status dq_arrivals_alone(dq_multi *multi, const dq_source *sources, int count, double seconds,
                            dq_source_record *records, dq_arena *arena, dq_error *error) {
  for (int i = 0; i < count; i++) {
    dq_multi_request *request;
    records[i].digests = DQ_NEW_ARRAY(arena, sources[i].sample_count, uint64_t);
    if (!records[i].digests) return dq_fail_memory(error, 0);
    DQ_TRY(dq_multi_request_open(&request, multi, sources[i].network, error));
    dq_status status = run_alone(request, &sources[i], seconds / count, &records[i], error);
    dq_multi_request_close(request);
    records[i].failed = status != DQ_OK; // the source that the message is about
    if (status != DQ_OK) return status;
    dq_progress(dq_multi_context(multi, false), "measuring alone", i + 1, count);
  }
  return DQ_OK;
}

// ---- Together ----

static void fail(arrival_run *load, dq_status status, const dq_error *error) {
  if (load->status == DQ_OK) load->error = *error;
  if (load->status == DQ_OK) load->status = status;
  load->closing = true;
}

// Submits the request of a slot, under the lock. The slot is the caller's, not a free one; after a failure no more
// requests are sent.
static void submit(arrival_run *load, arrival_slot *slot, int64_t arrival) {
  const dq_source *source = &load->sources[slot->source];
  dq_multi_request *request = slot->request;
  slot->arrival = arrival;
  set_inputs(slot, source, (int)(load->turns[slot->source]++ % source->sample_count));
  request->priority = source->priority;
  request->deadline = source->deadline > 0 ? arrival + (int64_t)(1e9 * source->deadline) : INT64_MAX;
  load->running++;
  load->senders[slot->sender].queued++;
  dq_error error = {0};
  dq_status status = dq_multi_submit(request, &error);
  if (status == DQ_OK) return;
  load->running--;
  load->senders[slot->sender].queued--;
  fail(load, status, &error);
}

static bool may_send(const arrival_run *load, const arrival_sender *sender) {
  return !load->closing && (!load->options->requests || sender->sent < load->options->requests);
}

static void record_request(arrival_run *load, const arrival_slot *slot, uint64_t digest) {
  const dq_multi_request *request = slot->request;
  dq_source_record *record = &load->records[slot->source];
  if (request->status == DQ_CANCELLED) { // withdrawn, or the context was stopped
    record->unfinished++;
    load->closing = true;
  } else if (request->status != DQ_OK) {
    if (!record->failed++) record->error = request->error;
  } else if (add_time(record, 1e-9 * (double)(request->finish - slot->arrival))) {
    record->running += 1e-9 * (double)request->running;
    record->reading += 1e-9 * (double)request->preparing;
    record->helping += 1e-9 * (double)request->helping;
    record->missed += request->finish > request->deadline;
    record->different += digest != record->digests[slot->sample];
  } else {
    dq_error error = {0};
    fail(load, dq_fail_memory(&error, sizeof(double)), &error);
  }
}

// When the first request that the sender holds back arrived; the next one is the first then.
static int64_t take_held(arrival_run *load, arrival_sender *from) {
  const dq_arrival_trace *trace = load->options->trace;
  const double rate = load->sources[from->source].rate;
  const int64_t first = from->sent - from->held--;
  if (rate > 0) return load->start + (int64_t)(1e9 * (double)first / rate);
  while (trace->arrivals[from->line].source != from->source) from->line++;
  return load->start + (int64_t)(1e9 * trace->arrivals[from->line++].seconds);
}

// A request of the sender has ended: its slot takes the next one, or is free. Under the lock.
static void go_on(arrival_run *load, arrival_sender *from, arrival_slot *slot) {
  const bool sends = load->sources[slot->source].rate == 0 && !load->options->trace && may_send(load, from);
  if (sends) {
    from->sent++;
    load->records[slot->source].sent++;
    submit(load, slot, dq_nanoseconds());
  } else if (from->held && !load->closing) {
    submit(load, slot, take_held(load, from));
  } else {
    slot->next_free = load->free_slots[slot->source];
    load->free_slots[slot->source] = slot;
  }
}

// Runs in a worker, or in the thread that takes the request out of the queue.
static void request_ended(void *user, dq_multi_request *request) {
  arrival_slot *slot = user;
  arrival_run *load = slot->load;
  uint64_t digest = request->status == DQ_OK ? digest_of(request, outputs_of(request)) : 0;
  pthread_mutex_lock(&load->lock);
  record_request(load, slot, digest);
  load->running--;
  arrival_sender *from = &load->senders[slot->sender];
  from->queued--;
  go_on(load, from, slot);
  if (!load->running) pthread_cond_broadcast(&load->ended);
  pthread_mutex_unlock(&load->lock);
}

// A free slot of the source, under the lock; NULL: there is no memory.
static arrival_slot *find_slot(arrival_run *load, int source) {
  arrival_slot *found = load->free_slots[source];
  if (found) {
    load->free_slots[source] = found->next_free;
    return found;
  }
  dq_error error = {0};
  found = calloc(1, sizeof *found);
  dq_status status = found ? DQ_OK : dq_fail_memory(&error, sizeof *found);
  if (status == DQ_OK)
    status = dq_multi_request_open(&found->request, load->multi, load->sources[source].network, &error);
  if (status != DQ_OK) {
    free(found);
    fail(load, status, &error);
    return NULL;
  }
  found->load = load, found->source = source;
  found->request->ended = request_ended;
  found->next = load->slots;
  return load->slots = found;
}

// Submits, holds back or drops a request of the sender that arrives at the time `arrival`. Under the lock.
static void arrive(arrival_run *load, arrival_sender *from, int64_t arrival) {
  dq_source_record *record = &load->records[from->source];
  const bool late = from->queued && load->sources[from->source].late == DQ_LATE_DROP;
  const bool holds = !late && from->queued >= from->most;
  from->sent++;
  record->sent++;
  record->dropped += late;
  if (holds && !from->held++) from->line = load->traced;
  if (late || holds) return;
  arrival_slot *slot = find_slot(load, from->source);
  if (!slot) return;
  slot->sender = (int)(from - load->senders);
  submit(load, slot, arrival);
}

// ---- The clock ----

static arrival_sender *sender_of(const arrival_run *load, int source) { // the first
  int i = 0;
  while (load->senders[i].source != source) i++;
  return &load->senders[i];
}

// The sender of the next request by rate or trace, and its arrival; NULL: there is none any more.
static arrival_sender *next_arrival(arrival_run *load, int64_t *arrival) {
  const dq_arrival_trace *trace = load->options->trace;
  arrival_sender *first = NULL;
  *arrival = INT64_MAX;
  for (int i = 0; i < load->sender_count; i++) {
    arrival_sender *from = &load->senders[i];
    if (!(load->sources[from->source].rate > 0)) continue; // workers send for it
    bool open = !load->options->requests || from->sent < load->options->requests;
    if (open && from->next < *arrival) first = from, *arrival = from->next;
  }
  if (!trace || load->traced == trace->count) return first;
  const dq_arrival *line = &trace->arrivals[load->traced];
  int64_t time = load->start + (int64_t)(1e9 * line->seconds);
  if (time >= *arrival) return first;
  *arrival = time;
  return sender_of(load, line->source);
}

static void advance(arrival_run *load, arrival_sender *from) {
  double rate = load->sources[from->source].rate;
  if (rate > 0) from->next = load->start + (int64_t)(1e9 * (double)from->sent / rate);
  else load->traced++;
}

// Sends what is due, under the lock. Returns whether the run goes on: requests are still to come by rate or trace, or
// behind those that have not ended, or no network has a sender.
static bool send_due(arrival_run *load) {
  for (;;) {
    int64_t arrival = INT64_MAX;
    arrival_sender *next = load->closing ? NULL : next_arrival(load, &arrival);
    load->due = next && arrival < load->end ? arrival : INT64_MAX;
    load->lasts = next || (!load->sender_count && load->end < INT64_MAX);
    if (load->due > dq_nanoseconds()) return load->lasts || (load->end < INT64_MAX && load->running);
    arrive(load, next, arrival);
    advance(load, next);
  }
}

// Workers look for what is due as well: the thread that keeps the clock may wait for a processor for longer than a job.
static void send_between(void *user) {
  arrival_run *load = user;
  if (load->due > dq_nanoseconds()) return;
  pthread_mutex_lock(&load->lock);
  send_due(load);
  pthread_mutex_unlock(&load->lock);
}

// Sleeps until `time`, or until no request runs any more where nothing else makes the run last.
static void sleep_until(arrival_run *load, int64_t time) {
  struct timespec until = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
  if (load->lasts) { // a signal, such as that which asks to stop, ends this sleep
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return;
  }
  pthread_mutex_lock(&load->lock);
  int waited = 0;
  while (load->running && waited != ETIMEDOUT) waited = pthread_cond_timedwait(&load->ended, &load->lock, &until);
  pthread_mutex_unlock(&load->lock);
}

enum { LOOK = 500000000 }; // nanoseconds between two looks at whether the work was stopped by something else

static void run_clock(arrival_run *load) {
  const dq_context *context = dq_multi_context(load->multi, false);
  while (!dq_is_stopped(context)) {
    pthread_mutex_lock(&load->lock);
    bool open = send_due(load) && !load->closing;
    pthread_mutex_unlock(&load->lock);
    int64_t now = dq_nanoseconds(), due = load->due, next = due < load->end ? due : load->end;
    if (!open || (now >= load->end && due == INT64_MAX)) return;
    if (load->end < INT64_MAX) dq_progress(context, "running", now - load->start, load->end - load->start);
    if (next > now) sleep_until(load, next - now > LOOK ? now + LOOK : next);
  }
}

// ---- The whole ----

// How many requests of one sender may be queued at a time.
static int64_t most_queued(const arrival_run *load, const dq_source *source) {
  const int64_t bytes = dq_multi_output_bytes(load->multi, source->network) + 1, fit = QUEUED_BYTES / bytes;
  const int64_t most = (fit < MOST_QUEUED ? fit : MOST_QUEUED) / source->senders;
  return most > FEWEST_QUEUED ? most : FEWEST_QUEUED;
}

static dq_status open_load(arrival_run *load, dq_error *error) {
  for (int i = 0; i < load->source_count; i++) load->sender_count += load->sources[i].senders;
  load->arena = dq_context_arena(dq_multi_context(load->multi, false));
  if (!load->arena) return dq_fail_memory(error, 0);
  load->senders = DQ_NEW_ARRAY(load->arena, load->sender_count, arrival_sender);
  load->free_slots = DQ_NEW_ARRAY(load->arena, load->source_count, arrival_slot *);
  load->turns = DQ_NEW_ARRAY(load->arena, load->source_count, int64_t);
  if (!load->senders || !load->free_slots || !load->turns) return dq_fail_memory(error, 0);
  int number = 0;
  for (int i = 0; i < load->source_count; i++)
    for (int s = 0; s < load->sources[i].senders; s++)
      load->senders[number++] = (arrival_sender){.source = i, .most = most_queued(load, &load->sources[i])};
  return DQ_OK;
}

static void start(arrival_run *load) {
  const dq_arrival_options *options = load->options;
  const dq_arrival_trace *trace = options->trace;
  double duration = options->duration;
  bool rates = false;
  for (int i = 0; i < load->source_count; i++) rates |= load->sources[i].rate > 0;
  bool by_trace = !(duration > 0) && trace && rates && !options->requests;
  if (by_trace) duration = trace->arrivals[trace->count - 1].seconds;
  load->start = dq_nanoseconds();
  load->end = duration > 0 ? load->start + (int64_t)(1e9 * duration) : INT64_MAX;
  if (by_trace) load->end++; // its last line arrives
  for (int i = 0; i < load->sender_count; i++) {
    arrival_sender *from = &load->senders[i];
    from->next = load->start;
    pthread_mutex_lock(&load->lock);
    if (load->sources[from->source].rate == 0 && !trace) arrive(load, from, dq_nanoseconds());
    pthread_mutex_unlock(&load->lock);
  }
}

// Takes what has not begun out of the queue when the duration is over or the load has failed.
static void withdraw(arrival_run *load) {
  pthread_mutex_lock(&load->lock);
  arrival_slot *slots = load->slots;
  bool over = load->end != INT64_MAX || load->status != DQ_OK;
  load->closing = load->closing || over;
  for (int i = 0; i < load->sender_count && load->closing; i++)
    load->records[load->senders[i].source].unfinished += load->senders[i].held;
  pthread_mutex_unlock(&load->lock);
  for (arrival_slot *slot = over ? slots : NULL; slot; slot = slot->next) dq_multi_withdraw(slot->request);
}

static void wait_for_end(arrival_run *load) {
  pthread_mutex_lock(&load->lock);
  while (load->running) pthread_cond_wait(&load->ended, &load->lock);
  load->closing = true;
  pthread_mutex_unlock(&load->lock);
}

static void close_load(arrival_run *load) {
  for (arrival_slot *slot = load->slots, *next; slot; slot = next) {
    next = slot->next;
    dq_multi_request_close(slot->request);
    free(slot);
  }
  dq_arena_free(load->arena);
  pthread_mutex_destroy(&load->lock);
  pthread_cond_destroy(&load->ended);
}

static void init_ended(arrival_run *load) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&load->ended, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

dq_status dq_arrivals_run(dq_multi *multi, const dq_source *sources, int count, const dq_arrival_options *options,
                          dq_source_record *records, double *elapsed, dq_error *error) {
  arrival_run load = {.multi = multi,
                      .sources = sources,
                      .source_count = count,
                      .options = options,
                      .records = records,
                      .due = INT64_MAX};
  pthread_mutex_init(&load.lock, NULL);
  init_ended(&load);
  dq_status status = open_load(&load, error);
  if (status == DQ_OK) {
    start(&load);
    dq_multi_set_between(multi, send_between, &load);
    run_clock(&load);
    withdraw(&load);
    wait_for_end(&load);
    dq_multi_set_between(multi, NULL, NULL);
    *elapsed = 1e-9 * (double)(dq_nanoseconds() - load.start);
    status = load.status;
    if (status != DQ_OK && error) *error = load.error;
  }
  close_load(&load);
  return status == DQ_OK ? dq_check_stop(dq_multi_context(multi, false), error) : status;
}

void dq_source_records_free(dq_source_record *records, int count) {
  for (int i = 0; i < count; i++) free(records[i].times);
}
