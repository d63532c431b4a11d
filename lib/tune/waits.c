// The system updates what a thread waited when the thread has a processor again. So each thread reads its own, and all
// of them meet: a loop with an index for each thread, which no thread leaves before every other one has come.
#include "lib/tune/waits.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"

typedef struct meeting {
  dq_waits *waits;
  bool reads_last; // when all have come, so that what threads wait in the meeting does not count
  atomic_int came;
} meeting;

// Seconds that a thread spins in a meeting before it yields its processor.
static const double SPIN = 100e-6;

static void wait_for_all(meeting *m) {
  int threads = dq_pool_threads(m->waits->pool);
  double end = dq_seconds() + SPIN;
  m->came++;
  while (m->came < threads)
    if (dq_seconds() > end) sched_yield();
}

// The line has the time on processors, the time of waiting for one (both in nanoseconds), and a number of turns:
// Linux, Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat.
static void read_thread(dq_wait_thread *thread) {
  char line[96];
  ssize_t length = thread->file < 0 ? -1 : pread(thread->file, line, sizeof line - 1, 0);
  if (length < 0) return;
  line[length] = 0;
  char *end;
  strtoll(line, &end, 10);
  thread->nanoseconds = strtoll(end, NULL, 10);
}

static void meet(void *argument, int64_t i, int thread) {
  (void)i;
  meeting *m = argument;
  if (m->reads_last) wait_for_all(m);
  read_thread(&m->waits->threads[thread]);
  if (!m->reads_last) wait_for_all(m);
}

static void open_thread(void *argument, int64_t i, int thread) {
  (void)i;
  meeting *m = argument;
  m->waits->threads[thread].file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  wait_for_all(m);
}

static void hold(dq_waits *waits, dq_pool_work *work, bool reads_last) {
  meeting m = {.waits = waits, .reads_last = reads_last};
  dq_pool_run(waits->pool, dq_pool_threads(waits->pool), work, &m);
}

static int64_t sum(const dq_waits *waits) {
  int64_t nanoseconds = 0;
  for (int t = 0; t < dq_pool_threads(waits->pool); t++) nanoseconds += waits->threads[t].nanoseconds;
  return nanoseconds;
}

dq_status dq_waits_open(dq_waits *waits, dq_pool *pool, dq_arena *arena, dq_error *error) {
  int threads = dq_pool_threads(pool);
  *waits = (dq_waits){.pool = pool};
  dq_wait_thread *all = DQ_NEW_ARRAY(arena, threads, dq_wait_thread);
  if (!all) return dq_fail_memory(error, (size_t)threads * sizeof *all);
  waits->threads = all;
  hold(waits, open_thread, false);
  waits->known = true;
  for (int t = 0; t < threads; t++) waits->known = waits->known && all[t].file >= 0;
  return DQ_OK;
}

void dq_waits_close(dq_waits *waits) {
  for (int t = 0; waits->threads && t < dq_pool_threads(waits->pool); t++)
    if (waits->threads[t].file >= 0) close(waits->threads[t].file);
  *waits = (dq_waits){0};
}

void dq_waits_begin(dq_waits *waits) {
  if (!waits->known) return;
  hold(waits, meet, true);
  waits->begin = dq_nanoseconds();
}

double dq_waits_end(dq_waits *waits) {
  if (!waits->known) return 0;
  int64_t before = sum(waits), passed = dq_nanoseconds() - waits->begin;
  hold(waits, meet, false);
  return (double)(sum(waits) - before) / (double)(passed > 0 ? passed : 1);
}
