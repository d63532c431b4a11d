#include "lib/measure/timeline.h"

#include "lib/base/clock.h"

dq_status dq_timeline_open(dq_timeline *timeline, const dq_context *context, dq_arena *arena, dq_error *error) {
  const int threads = dq_pool_threads(context->pool);
  const size_t bytes = DQ_TIMELINE_MOST * sizeof(dq_timeline_event);
  *timeline = (dq_timeline){.threads = threads};
  timeline->workers = dq_arena_alloc(arena, (size_t)threads * sizeof *timeline->workers);
  timeline->steps.events = dq_arena_alloc(arena, bytes);
  if (!timeline->workers || !timeline->steps.events) return dq_fail_memory(error, bytes);
  for (int t = 0; t < threads; t++) {
    timeline->workers[t] = (dq_timeline_track){.events = dq_arena_alloc(arena, bytes)};
    if (!timeline->workers[t].events) return dq_fail_memory(error, bytes);
  }
  return DQ_OK;
}

static void add_event(dq_timeline_track *track, const dq_timeline *now, int64_t begin, int64_t end) {
  if (track->count < DQ_TIMELINE_MOST)
    track->events[track->count] = (dq_timeline_event){begin, end, now->run, now->step};
  track->count++;
}

// Each thread has a track of its own; run and step change only between two loops.
static void add_share(void *user, int thread, int64_t begin, int64_t end) {
  dq_timeline *timeline = user;
  add_event(&timeline->workers[thread], timeline, begin, end);
}

dq_status dq_timeline_run(dq_timeline *timeline, dq_plan *plan, const dq_context *context, dq_error *error) {
  const int steps = dq_plan_step_count(plan);
  dq_status status = DQ_OK;
  dq_pool_observe(context->pool, add_share, timeline);
  for (int s = 0; s < steps && status == DQ_OK; s++) {
    timeline->step = s;
    int64_t begin = dq_nanoseconds();
    status = dq_plan_run_steps(plan, s, s + 1, error);
    add_event(&timeline->steps, timeline, begin, dq_nanoseconds());
  }
  dq_pool_observe(context->pool, NULL, NULL);
  timeline->run++;
  return status;
}

static int64_t lost_of(const dq_timeline_track *track) {
  return track->count > DQ_TIMELINE_MOST ? track->count - DQ_TIMELINE_MOST : 0;
}

int64_t dq_timeline_lost(const dq_timeline *timeline) {
  int64_t lost = lost_of(&timeline->steps);
  for (int t = 0; t < timeline->threads; t++) lost += lost_of(&timeline->workers[t]);
  return lost;
}
