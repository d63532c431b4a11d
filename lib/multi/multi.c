// The queue: workers, and what other threads may do with requests.
#include "lib/multi/multi.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/multi/multi_internal.h"
#include "lib/text/locale.h"

// Counts the tasks that wait for a worker. Called under the lock, after every change of the dispatcher's heaps.
static void count_ready(dq_multi *multi) {
  multi->ready = multi->dispatcher.waiting.count + multi->dispatcher.begun.count;
}

// ---- Requests that end ----

// Ends a request that does not run, under the lock; its frame is no longer its own.
static void finish(dq_multi *multi, dq_multi_request *request) {
  dq_multi_network *network = &multi->networks[request->network];
  if (request->lane) network->idle[network->idle_count++] = request->lane;
  if (request->frame) multi->frames[multi->free_frames++] = request->frame;
  request->lane = NULL;
  request->frame = NULL;
  request->finish = dq_nanoseconds();
  request->state = DQ_REQUEST_ENDED;
  multi->unfinished--;
  pthread_cond_broadcast(&multi->ended);
}

// Cancels a request, under the lock. A request that a worker runs ends after its job, as run_job looks at `cancelled`.
// *at_once: the request has ended.
static bool cancel_waiting(dq_multi *multi, dq_multi_request *request, bool begun_too, bool *at_once) {
  bool there = request->state == DQ_REQUEST_WAITING || (begun_too && request->state == DQ_REQUEST_BEGUN);
  *at_once = there && request->task.place >= 0;
  if (there) request->cancelled = true;
  if (!*at_once) return there;
  dq_dispatcher_remove(&multi->dispatcher, &request->task);
  count_ready(multi);
  request->status = dq_fail(&request->error, DQ_CANCELLED, "the request was cancelled");
  finish(multi, request);
  return true;
}

static bool cancel(dq_multi_request *request, bool begun_too) {
  dq_multi *multi = request->multi;
  bool at_once;
  pthread_mutex_lock(&multi->lock);
  bool cancelled = cancel_waiting(multi, request, begun_too, &at_once);
  void (*ended)(void *, dq_multi_request *) = request->ended;
  pthread_mutex_unlock(&multi->lock);
  if (at_once && ended) ended(request->user, request);
  return cancelled;
}

bool dq_multi_cancel(dq_multi_request *request) { return cancel(request, true); }
bool dq_multi_withdraw(dq_multi_request *request) { return cancel(request, false); }

// ---- Workers ----

static dq_multi_request *request_of(dq_task *task) {
  return (dq_multi_request *)(void *)((char *)task - offsetof(dq_multi_request, task));
}

// The pool of a job that runs; NULL: there is none that could be helped.
static dq_pool *find_helped(const dq_multi *multi, int worker) {
  for (int i = 1; i < multi->started; i++) {
    const dq_multi_lane *lane = multi->workers[(worker + i) % multi->started].lane;
    if (lane) return lane->pool;
  }
  return NULL;
}

static bool is_job_ready(void *user) { return ((dq_multi *)user)->ready > 0; }

// Helps jobs of others until there is a job to run, or sleeps until something happens where there is nothing to help.
// Called under the lock, which is open meanwhile. *starts: how many jobs had begun when the worker looked last.
static void help_or_sleep(dq_multi *multi, int worker, int64_t *starts) {
  dq_pool *pool = *starts < multi->starts ? find_helped(multi, worker) : NULL;
  *starts = multi->starts;
  multi->idle++;
  if (pool) {
    pthread_mutex_unlock(&multi->lock);
    dq_pool_help(pool, worker, is_job_ready, multi);
    pthread_mutex_lock(&multi->lock);
  } else {
    multi->sleeping++;
    pthread_cond_wait(&multi->arrived, &multi->lock);
    multi->sleeping--;
  }
  multi->idle--;
}

// Decides, under the lock, whether others may help a request that begins.
static void choose_threads(dq_multi *multi, dq_multi_request *request) {
  dq_multi_network *network = &multi->networks[request->network];
  request->begun = dq_nanoseconds();
  request->stretch = -1;
  request->helped = network->threads == DQ_THREADS_ALL;
  if (network->threads != DQ_THREADS_AUTO) return;
  int stretch;
  request->helped = dq_thread_choice_begin(&network->choice, &stretch);
  if (multi->idle) request->stretch = stretch;
}

// The request whose job runs next, with a frame; NULL: the workers are to end.
static dq_multi_request *wait_for_job(dq_multi *multi, int worker) {
  dq_task *task;
  int64_t starts = 0;
  dq_worker_slice *slice = &multi->workers[worker].slice;
  while (!(task = dq_dispatcher_next(&multi->dispatcher, slice)) && !multi->closing)
    help_or_sleep(multi, worker, &starts);
  if (!task) return NULL;
  count_ready(multi);
  dq_multi_request *request = request_of(task);
  if (request->state == DQ_REQUEST_BEGUN) return request;
  dq_multi_network *network = &multi->networks[request->network];
  request->state = DQ_REQUEST_BEGUN;
  request->frame = multi->frames[--multi->free_frames];
  if (network->idle_count) request->lane = network->idle[--network->idle_count];
  choose_threads(multi, request);
  return request;
}

// Lets others help the job that the worker is about to run, if some have nothing else to do. Called under the lock.
static void offer(dq_multi *multi, const dq_multi_request *request, int worker) {
  dq_multi_lane *lane = request->job == DQ_JOB_PREPARE ? NULL : request->lane;
  if (!lane) return;
  lane->context.pool = request->helped && multi->idle ? lane->pool : NULL;
  if (!lane->context.pool) return;
  multi->workers[worker].lane = lane;
  multi->starts++;
  if (multi->sleeping) pthread_cond_broadcast(&multi->arrived);
}

// Runs a job. Called under the lock, which is open while the job runs. Returns whether the request has ended.
static bool run_job(dq_multi *multi, dq_multi_request *request, int worker) {
  const int job = request->job;
  void (*between)(void *) = multi->between;
  void *between_user = multi->between_user;
  offer(multi, request, worker);
  pthread_mutex_unlock(&multi->lock);
  int64_t begin = dq_nanoseconds();
  bool last = dq_multi_run_job(request, worker);
  int64_t end = dq_nanoseconds();
  request->running += end - begin;
  if (job == DQ_JOB_PREPARE) request->preparing = end - begin;
  if (multi->options.job_done) multi->options.job_done(multi->options.user, worker, request, job, begin, end);
  if (between) between(between_user);
  pthread_mutex_lock(&multi->lock);
  multi->workers[worker].lane = NULL;
  if (!last && request->cancelled)
    request->status = dq_fail(&request->error, DQ_CANCELLED, "the request was cancelled");
  if (!last && !request->cancelled) {
    dq_dispatcher_return(&multi->dispatcher, &request->task);
    count_ready(multi);
    return false;
  }
  multi->networks[request->network].preparing = request->preparing;
  finish(multi, request);
  if (request->stretch >= 0 && request->status == DQ_OK)
    dq_thread_choice_end(&multi->networks[request->network].choice, request->stretch, request->finish - request->begun);
  dq_dispatcher_end(&multi->dispatcher, &request->task, request->finish);
  return true;
}

static void *worker_main(void *argument) {
  dq_multi_worker *self = argument;
  dq_multi *multi = self->multi;
  const locale_t before = dq_locale_enter();
  pthread_mutex_lock(&multi->lock);
  for (dq_multi_request *request; (request = wait_for_job(multi, self->index));) {
    void (*ended)(void *, dq_multi_request *) = request->ended;
    if (!run_job(multi, request, self->index) || !ended) continue;
    multi->calling++;
    pthread_mutex_unlock(&multi->lock);
    ended(request->user, request);
    pthread_mutex_lock(&multi->lock);
    multi->calling--;
  }
  pthread_mutex_unlock(&multi->lock);
  dq_locale_leave(before);
  return NULL;
}

// ---- The queue ----

static dq_status start_workers(dq_multi *multi, dq_error *error) {
  const int count = multi->options.workers;
  multi->workers = calloc((size_t)count, sizeof *multi->workers);
  if (!multi->workers) return dq_fail_memory(error, (size_t)count * sizeof *multi->workers);
  for (int w = 0; w < count; w++) {
    multi->workers[w] = (dq_multi_worker){.multi = multi, .index = w};
    if (pthread_create(&multi->workers[w].thread, NULL, worker_main, &multi->workers[w]))
      return dq_fail(error, DQ_SYSTEM, "cannot start %d threads", count);
    multi->started++;
  }
  return DQ_OK;
}

dq_status dq_multi_open(dq_multi **result, const dq_multi_options *options, const dq_context *context,
                        dq_error *error) {
  *result = NULL;
  dq_multi *multi = calloc(1, sizeof *multi);
  if (!multi) return dq_fail_memory(error, sizeof *multi);
  multi->options = *options;
  multi->binding = *context;
  multi->binding.pool = NULL;
  multi->binding_all = multi->running = multi->binding;
  multi->running.message = NULL;
  multi->running.progress = NULL;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&multi->lock, NULL);
  pthread_cond_init(&multi->arrived, NULL);
  pthread_cond_init(&multi->ended, &monotonic);
  pthread_condattr_destroy(&monotonic);
  multi->binding_all.pool = dq_pool_new_open(options->workers);
  dq_status status = multi->binding_all.pool ? DQ_OK : dq_fail_memory(error, 0);
  if (status == DQ_OK)
    status = dq_dispatcher_open(&multi->dispatcher, options->policy, (int64_t)(1e9 * options->slice),
                                dq_multi_frames(multi), error);
  if (status == DQ_OK) status = start_workers(multi, error);
  if (status == DQ_OK) *result = multi;
  else dq_multi_close(multi);
  return status;
}

void dq_multi_close(dq_multi *multi) {
  if (!multi) return;
  pthread_mutex_lock(&multi->lock);
  multi->closing = true;
  pthread_cond_broadcast(&multi->arrived);
  pthread_mutex_unlock(&multi->lock);
  for (int w = 0; w < multi->started; w++) pthread_join(multi->workers[w].thread, NULL);
  for (int n = 0; n < multi->network_count; n++) dq_multi_free_network(&multi->networks[n]);
  dq_dispatcher_close(&multi->dispatcher);
  dq_pool_free(multi->binding_all.pool);
  dq_arena_free(multi->frame_arena);
  free(multi->networks);
  free(multi->workers);
  pthread_mutex_destroy(&multi->lock);
  pthread_cond_destroy(&multi->arrived);
  pthread_cond_destroy(&multi->ended);
  free(multi);
}

void dq_multi_set_between(dq_multi *multi, void (*between)(void *user), void *user) {
  pthread_mutex_lock(&multi->lock);
  multi->between = between;
  multi->between_user = user;
  pthread_mutex_unlock(&multi->lock);
}

const dq_context *dq_multi_context(const dq_multi *multi, bool all_threads) {
  return all_threads ? &multi->binding_all : &multi->binding;
}

// ---- Other threads ----

static dq_status check(const dq_multi_request *request, dq_error *error) {
  if (request->state == DQ_REQUEST_WAITING || request->state == DQ_REQUEST_BEGUN)
    return dq_fail(error, DQ_USAGE, "the request has not ended yet; wait for it, or open another one");
  const dq_plan *plan = request->multi->networks[request->network].session->plan;
  for (int i = 0; !request->prepare && i < dq_plan_input_count(plan); i++)
    if (!request->inputs[i])
      return dq_fail(error, DQ_USAGE, "input '%s' of the request is not set", dq_plan_input_name(plan, i));
  return DQ_OK;
}

static dq_status submit(dq_multi *multi, dq_multi_request *request, dq_error *error) {
  DQ_TRY(check(request, error));
  dq_task *task = &request->task;
  task->network = request->network;
  task->priority = request->priority;
  task->deadline = request->deadline;
  task->cost = multi->networks[request->network].cost + multi->networks[request->network].preparing;
  task->arrival = dq_nanoseconds();
  DQ_TRY(dq_dispatcher_add(&multi->dispatcher, task, error));
  count_ready(multi);
  request->status = DQ_OK;
  request->error = (dq_error){0};
  request->submitted = task->arrival;
  request->running = request->preparing = request->helping = 0;
  request->job = request->prepare ? DQ_JOB_PREPARE : 0;
  request->cancelled = false;
  request->state = DQ_REQUEST_WAITING;
  multi->unfinished++;
  if (multi->ready > multi->calling) pthread_cond_signal(&multi->arrived);
  return DQ_OK;
}

dq_status dq_multi_submit(dq_multi_request *request, dq_error *error) {
  dq_multi *multi = request->multi;
  pthread_mutex_lock(&multi->lock);
  dq_status status = submit(multi, request, error);
  pthread_mutex_unlock(&multi->lock);
  return status;
}

static bool is_ended(const dq_multi_request *request) {
  return request->state == DQ_REQUEST_IDLE || request->state == DQ_REQUEST_ENDED;
}

bool dq_multi_wait(dq_multi_request *request, double seconds) {
  dq_multi *multi = request->multi;
  const double most = 1e9, limited = seconds < 0 ? 0 : seconds < most ? seconds : most; // so that the sum below fits
  int64_t limit = dq_nanoseconds() + (int64_t)(1e9 * limited);
  struct timespec until = {.tv_sec = limit / 1000000000, .tv_nsec = limit % 1000000000};
  pthread_mutex_lock(&multi->lock);
  int waited = 0;
  while (!is_ended(request) && waited != ETIMEDOUT)
    waited = seconds < 0 ? pthread_cond_wait(&multi->ended, &multi->lock)
                         : pthread_cond_timedwait(&multi->ended, &multi->lock, &until);
  bool ended = is_ended(request);
  pthread_mutex_unlock(&multi->lock);
  return ended;
}

bool dq_multi_is_ended(dq_multi_request *request) {
  dq_multi *multi = request->multi;
  pthread_mutex_lock(&multi->lock);
  bool ended = request->state == DQ_REQUEST_ENDED;
  pthread_mutex_unlock(&multi->lock);
  return ended;
}
