// Networks of a queue: measured, cut into jobs, and with frames that are large enough.
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/measure/feed.h"
#include "lib/multi/multi_internal.h"

enum { MEASURED_RUNS = 5, ALIGNED_BYTES = 4096 }; // from there on memory of an arena is aligned to 64 bytes
static const double MEASURED_SECONDS = 0.1;

dq_status dq_multi_run_noise(dq_plan *plan, uint64_t seed, dq_error *error) {
  dq_random random = dq_random_start(seed, 0);
  for (int i = 0; i < dq_plan_input_count(plan); i++) dq_feed_noise(dq_plan_input(plan, i), &random);
  return dq_plan_run(plan, error);
}

// The least time of each step, in seconds.
static dq_status measure_steps(dq_plan *plan, uint64_t seed, double *seconds, dq_error *error) {
  const int steps = dq_plan_step_count(plan);
  const double start = dq_seconds();
  dq_status status = DQ_OK;
  dq_plan_set_timing(plan, true);
  for (int run = 0; run < MEASURED_RUNS && status == DQ_OK; run++) {
    if (run && dq_seconds() - start > MEASURED_SECONDS) break;
    status = dq_multi_run_noise(plan, seed, error);
    for (int s = 0; s < steps; s++) {
      int64_t nanoseconds;
      dq_plan_step(plan, s, &nanoseconds);
      if (!run || (double)nanoseconds * 1e-9 < seconds[s]) seconds[s] = (double)nanoseconds * 1e-9;
    }
  }
  dq_plan_set_timing(plan, false);
  return status;
}

static dq_status cut(dq_multi_network *network, const dq_multi *multi, dq_error *error) {
  dq_plan *plan = network->session->plan;
  const int steps = dq_plan_step_count(plan);
  double *seconds = DQ_NEW_ARRAY(network->arena, steps + 1, double);
  bool *joined = DQ_NEW_ARRAY(network->arena, steps + 1, bool);
  network->jobs = DQ_NEW_ARRAY(network->arena, steps + 1, dq_job);
  network->idle = DQ_NEW_ARRAY(network->arena, dq_multi_frames(multi), dq_multi_lane *);
  if (!seconds || !joined || !network->jobs || !network->idle) return dq_fail_memory(error, (size_t)steps);
  dq_plan_lend(plan, multi->frames[0]);
  DQ_TRY(measure_steps(plan, multi->binding.seed, seconds, error));
  dq_join_decomposed(plan, joined);
  network->job_count = dq_cut_jobs(network->jobs, seconds, joined, steps, multi->options.job_time);
  for (int j = 0; j < network->job_count; j++) network->cost += (int64_t)(1e9 * network->jobs[j].seconds);
  if (!network->job_count) network->job_count = 1; // outputs that no step computes: one job without steps
  return DQ_OK;
}

// Frames are allocated anew: no request has one.
static dq_status grow_frames(dq_multi *multi, size_t bytes, dq_error *error) {
  const int count = dq_multi_frames(multi);
  if (bytes < ALIGNED_BYTES) bytes = ALIGNED_BYTES;
  if (bytes <= multi->frame_bytes) return DQ_OK;
  DQ_TRY(dq_check_memory(&multi->binding, (size_t)count * (bytes - multi->frame_bytes), "running several networks",
                         error));
  dq_arena *arena = dq_context_arena(&multi->binding);
  void **frames = arena ? DQ_NEW_ARRAY(arena, count, void *) : NULL;
  bool complete = frames != NULL;
  for (int f = 0; complete && f < count; f++) complete = (frames[f] = dq_arena_alloc(arena, bytes)) != NULL;
  if (!complete) {
    dq_arena_free(arena);
    return dq_fail_memory(error, bytes);
  }
  dq_arena_free(multi->frame_arena);
  multi->frame_arena = arena;
  multi->frames = frames;
  multi->free_frames = count;
  multi->frame_bytes = bytes;
  return DQ_OK;
}

// dq_pool_share_done: threads of a pool have the numbers of the workers.
static void add_help(void *user, int worker, int64_t begin, int64_t end) {
  dq_multi_lane *lane = user;
  if (worker != lane->caller) atomic_fetch_add(&lane->helping, end - begin);
}

static dq_status fill_lane(dq_multi_lane *lane, const dq_multi *multi, const dq_multi_network *network,
                           dq_error *error) {
  lane->context = multi->running;
  if (network->threads != DQ_THREADS_ONE && !(lane->pool = dq_pool_new_open(multi->options.workers)))
    return dq_fail_memory(error, 0);
  lane->context.pool = lane->pool;
  dq_pool_observe(lane->pool, add_help, lane);
  return dq_plan_share(&lane->plan, network->session->plan, &lane->context, error);
}

dq_status dq_multi_open_lane(dq_multi_lane **result, const dq_multi *multi, const dq_multi_network *network,
                             dq_error *error) {
  dq_multi_lane *lane = *result = dq_context_alloc(&multi->running, sizeof *lane);
  if (!lane) return dq_fail_memory(error, sizeof *lane);
  dq_status status = fill_lane(lane, multi, network, error);
  if (status == DQ_OK) return DQ_OK;
  dq_multi_free_lane(lane);
  *result = NULL;
  return status;
}

void dq_multi_free_lane(dq_multi_lane *lane) {
  if (!lane) return;
  dq_plan_free(lane->plan);
  dq_pool_free(lane->pool);
  dq_budget_free(lane);
}

void dq_multi_free_network(dq_multi_network *network) {
  while (network->idle_count) dq_multi_free_lane(network->idle[--network->idle_count]);
  dq_arena_free(network->arena);
}

// Room for one more network: that of a power of 2.
static dq_status reserve_network(dq_multi *multi, dq_error *error) {
  const int count = multi->network_count;
  if (count & (count - 1)) return DQ_OK;
  size_t bytes = (count ? 2 * (size_t)count : 1) * sizeof *multi->networks;
  dq_multi_network *networks = realloc(multi->networks, bytes);
  if (!networks) return dq_fail_memory(error, bytes);
  multi->networks = networks;
  return DQ_OK;
}

static dq_status add(dq_multi *multi, const dq_session *session, dq_job_threads threads, dq_error *error) {
  if (multi->unfinished)
    return dq_fail(error, DQ_USAGE, "%d requests have not ended; networks are added while there is none",
                   multi->unfinished);
  if (multi->options.workers == 1) threads = DQ_THREADS_ONE;
  dq_multi_network network = {.session = session, .threads = threads, .arena = dq_context_arena(&multi->binding)};
  dq_status status = network.arena ? reserve_network(multi, error) : dq_fail_memory(error, 0);
  if (status == DQ_OK) status = grow_frames(multi, dq_plan_lent_bytes(session->plan), error);
  if (status == DQ_OK) status = cut(&network, multi, error);
  if (status == DQ_OK) status = dq_dispatcher_add_network(&multi->dispatcher, error);
  if (status == DQ_OK) multi->networks[multi->network_count++] = network;
  else dq_multi_free_network(&network);
  return status;
}

dq_status dq_multi_add(dq_multi *multi, const dq_session *session, dq_job_threads threads, dq_error *error) {
  pthread_mutex_lock(&multi->lock);
  dq_status status = add(multi, session, threads, error);
  pthread_mutex_unlock(&multi->lock);
  return status;
}

int dq_multi_networks(const dq_multi *multi) { return multi->network_count; }

const dq_job *dq_multi_jobs(const dq_multi *multi, int network, int *count) {
  *count = multi->networks[network].job_count;
  return multi->networks[network].jobs;
}

int dq_multi_threads(const dq_multi *multi, int network, const dq_thread_choice **choice) {
  const dq_multi_network *of = &multi->networks[network];
  *choice = of->threads == DQ_THREADS_AUTO ? &of->choice : NULL;
  const bool all = *choice ? of->choice.all : of->threads == DQ_THREADS_ALL;
  return all ? multi->options.workers : 1;
}

int dq_multi_inputs(const dq_multi *multi, int network) {
  return dq_plan_input_count(multi->networks[network].session->plan);
}
int dq_multi_outputs(const dq_multi *multi, int network) {
  return dq_plan_output_count(multi->networks[network].session->plan);
}

int64_t dq_multi_output_bytes(const dq_multi *multi, int network) {
  const dq_plan *plan = multi->networks[network].session->plan;
  int64_t bytes = 0;
  for (int i = 0; i < dq_plan_output_count(plan); i++)
    if (dq_plan_output_fixed(plan, i)) bytes += (int64_t)dq_tensor_bytes(dq_plan_output(plan, i));
  return bytes;
}

size_t dq_multi_frame_bytes(const dq_multi *multi) { return multi->frame_bytes; }
int dq_multi_frames(const dq_multi *multi) {
  return dq_dispatcher_frames(multi->options.policy, multi->options.workers, multi->options.priorities);
}
