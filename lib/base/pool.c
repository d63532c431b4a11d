// A job is cut into pieces. Every thread has a share of its own, neighbouring pieces, which it takes from the front;
// when it has none left it takes those of others from the back, so that nobody waits for a processor that is
// disturbed, or for a thread that is still asleep.
//
// Between two jobs of a network pass a few microseconds, and the system takes longer to wake a thread: so those that
// wait look around for a moment before they sleep.
#include "lib/base/pool.h"

#include "lib/base/clock.h"
#include "lib/text/locale.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
  PIECES = 16, // of a job, for each thread
  LINE = 64,   // bytes that processors share as one
  LOOKS = 64,  // between two looks at the clock
};

static const double PATIENCE = 100e-6; // seconds of looking around

// What is left of a thread's share: number of the job (32 bits), first piece (16), end (16).
typedef struct share {
  _Alignas(LINE) atomic_uint_least64_t span;
} share;

typedef struct worker {
  dq_pool *pool;
  pthread_t thread;
  int index;
} worker;

// What one thread writes and another looks at meanwhile has a line of its own: otherwise each of the caller's stores
// would wait for the line to come back.
struct dq_pool {
  _Alignas(LINE) atomic_uint number; // of the job, written last; workers look at it while they wait
  // The job. All is atomic as a thread may look at one that is over; it then gets no piece of it.
  _Alignas(LINE) _Atomic(dq_pool_work *) work;
  _Atomic(void *) argument;
  atomic_int_least64_t count;
  atomic_int processor; // the caller's
  // NULL: nobody observes. Atomic as a thread may look at a job that is over.
  _Atomic(dq_pool_share_done *) share_done;
  _Atomic(void *) share_user;
  _Alignas(LINE) atomic_int left;   // pieces that are not done
  _Alignas(LINE) atomic_int asleep; // workers
  atomic_bool caller_asleep, stop;
  share *shares;
  pthread_mutex_t lock; // only to sleep and to wake
  pthread_cond_t begin, done;
  int threads;
  int caller;      // the number of the thread that calls, the only one that reads this
  bool looks;      // not where threads have to share processors
  worker *workers; // threads - 1 of them, the caller being thread 0; NULL: the pool is open
};

static int piece_count(int64_t count, int threads) {
  int64_t most = (int64_t)PIECES * threads;
  return (int)(count < most ? count : most < UINT16_MAX ? most : UINT16_MAX);
}

// The next piece of a share, or its last; false when there is none, or it is of another job.
static bool claim_piece(share *from, unsigned number, bool last, int *piece) {
  uint_least64_t span = from->span;
  for (;;) {
    unsigned first = span >> 16 & UINT16_MAX, end = span & UINT16_MAX;
    if (span >> 32 != number || first == end) return false;
    *piece = (int)(last ? end - 1 : first);
    if (atomic_compare_exchange_weak(&from->span, &span, last ? span - 1 : span + (1 << 16))) return true;
  }
}

// Does what it can get of a job; true when nothing of it is left to do.
static bool run_share(dq_pool *pool, unsigned number, int thread) {
  int64_t begin = pool->share_done ? dq_nanoseconds() : 0;
  dq_pool_work *work = pool->work;
  void *argument = pool->argument;
  int64_t count = pool->count;
  int pieces = piece_count(count, pool->threads), done = 0, piece;
  for (int other = 0; other < pool->threads; other++) {
    share *from = &pool->shares[(thread + other) % pool->threads];
    while (claim_piece(from, number, other > 0, &piece)) {
      int64_t end = count * (piece + 1) / pieces;
      for (int64_t i = count * piece / pieces; i < end; i++) work(argument, i, thread);
      done++;
    }
  }
  if (!done) return false;
  dq_pool_share_done *share_done = pool->share_done;
  if (share_done) share_done(pool->share_user, thread, begin, dq_nanoseconds());
  return atomic_fetch_sub(&pool->left, done) == done;
}

// What a waiting processor does not spend on its neighbour's cost.
static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

static bool is_called(dq_pool *pool, unsigned seen) { return pool->number != seen || pool->stop; }
static bool is_done(dq_pool *pool, unsigned number) { return (void)number, !pool->left; }

// Looks around for a while; whether it has come.
static bool look_for(dq_pool *pool, bool (*come)(dq_pool *, unsigned), unsigned number) {
  if (!pool->looks) return come(pool, number);
  double end = dq_seconds() + PATIENCE;
  do {
    for (int i = 0; i < LOOKS; i++, rest())
      if (come(pool, number)) return true;
  } while (dq_seconds() < end);
  return false;
}

static void wait_for_job(dq_pool *pool, unsigned seen) {
  if (look_for(pool, is_called, seen)) return;
  pthread_mutex_lock(&pool->lock);
  pool->asleep++;
  while (!is_called(pool, seen)) pthread_cond_wait(&pool->begin, &pool->lock);
  pool->asleep--;
  pthread_mutex_unlock(&pool->lock);
}

static void wait_for_others(dq_pool *pool) {
  if (look_for(pool, is_done, 0)) return;
  pthread_mutex_lock(&pool->lock);
  pool->caller_asleep = true;
  while (pool->left) pthread_cond_wait(&pool->done, &pool->lock);
  pool->caller_asleep = false;
  pthread_mutex_unlock(&pool->lock);
}

static void wake(dq_pool *pool, pthread_cond_t *sleepers) {
  pthread_mutex_lock(&pool->lock);
  pthread_cond_broadcast(sleepers);
  pthread_mutex_unlock(&pool->lock);
}

// Schedulers like to wake a thread where its waker runs, and then see two that are busy by turns: it goes elsewhere.
static void part_from(int processor) {
  cpu_set_t all, others;
  if (sched_getcpu() != processor || sched_getaffinity(0, sizeof all, &all)) return;
  others = all;
  CPU_CLR((unsigned)processor, &others);
  if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others)) sched_setaffinity(0, sizeof all, &all);
}

static void wake_caller(dq_pool *pool) {
  if (pool->caller_asleep) wake(pool, &pool->done);
}

static void *worker_main(void *argument) {
  worker *self = argument;
  dq_pool *pool = self->pool;
  const locale_t before = dq_locale_enter();
  for (unsigned seen = 0;;) {
    wait_for_job(pool, seen);
    if (pool->stop) break;
    seen = pool->number;
    if (pool->looks) part_from(pool->processor);
    if (run_share(pool, seen, self->index)) wake_caller(pool);
  }
  dq_locale_leave(before);
  return NULL;
}

static void stop_workers(dq_pool *pool, int started) {
  pool->stop = true;
  wake(pool, &pool->begin);
  for (int i = 0; i < started; i++) pthread_join(pool->workers[i].thread, NULL);
  pthread_mutex_destroy(&pool->lock);
  pthread_cond_destroy(&pool->begin);
  pthread_cond_destroy(&pool->done);
  free(pool->workers);
  free(pool->shares);
  free(pool);
}

dq_pool *dq_pool_new_open(int threads) {
  dq_pool *pool = aligned_alloc(LINE, sizeof *pool);
  if (!pool) return NULL;
  *pool = (dq_pool){.threads = threads, .looks = threads <= dq_processors()};
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->begin, NULL);
  pthread_cond_init(&pool->done, NULL);
  pool->shares = aligned_alloc(LINE, (size_t)threads * sizeof *pool->shares);
  for (int t = 0; pool->shares && t < threads; t++) pool->shares[t].span = 0;
  if (pool->shares) return pool;
  stop_workers(pool, 0);
  return NULL;
}

dq_pool *dq_pool_new(int threads) {
  dq_pool *pool = dq_pool_new_open(threads);
  if (!pool) return NULL;
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  bool ready = pool->workers;
  int started = 0;
  while (ready && started < threads - 1) {
    worker *next = &pool->workers[started];
    *next = (worker){.pool = pool, .index = started + 1};
    if (pthread_create(&next->thread, NULL, worker_main, next)) break;
    started++;
  }
  if (ready && started == threads - 1) return pool;
  stop_workers(pool, started);
  return NULL;
}

void dq_pool_free(dq_pool *pool) {
  if (pool) stop_workers(pool, pool->workers ? pool->threads - 1 : 0);
}

void dq_pool_set_caller(dq_pool *pool, int thread) { pool->caller = thread; }

// Looks around for a loop after loop `seen`, at least once; whether there is one.
static bool look_for_loop(dq_pool *pool, unsigned seen, bool (*wanted)(void *user), void *user) {
  double end = dq_seconds() + PATIENCE;
  do {
    for (int i = 0; i < LOOKS; i++, rest())
      if (is_called(pool, seen) || wanted(user)) return is_called(pool, seen);
  } while (pool->looks && dq_seconds() < end);
  return false;
}

bool dq_pool_help(dq_pool *pool, int thread, bool (*wanted)(void *user), void *user) {
  unsigned seen = pool->number - 1; // the present loop may not be over
  while (!wanted(user)) {
    if (!look_for_loop(pool, seen, wanted, user)) return wanted(user);
    seen = pool->number;
    if (pool->looks) part_from(pool->processor);
    if (run_share(pool, seen, thread)) wake_caller(pool);
  }
  return true;
}

int dq_pool_threads(const dq_pool *pool) { return pool ? pool->threads : 1; }

void dq_pool_run(dq_pool *pool, int64_t count, dq_pool_work *work, void *argument) {
  if (!pool || pool->threads == 1 || count <= 1) {
    for (int64_t i = 0; i < count; i++) work(argument, i, pool ? pool->caller : 0);
    return;
  }
  const memory_order relaxed = memory_order_relaxed; // what threads see when they have seen the number
  unsigned number = pool->number + 1;
  unsigned pieces = (unsigned)piece_count(count, pool->threads), threads = (unsigned)pool->threads;
  atomic_store_explicit(&pool->work, work, relaxed);
  atomic_store_explicit(&pool->argument, argument, relaxed);
  atomic_store_explicit(&pool->count, count, relaxed);
  atomic_store_explicit(&pool->processor, sched_getcpu(), relaxed);
  atomic_store_explicit(&pool->left, (int)pieces, relaxed);
  for (unsigned t = 0; t < threads; t++) {
    uint_least64_t first = pieces * t / threads, end = pieces * (t + 1) / threads;
    atomic_store_explicit(&pool->shares[t].span, (uint_least64_t)number << 32 | first << 16 | end, relaxed);
  }
  pool->number = number;
  if (pool->asleep) wake(pool, &pool->begin);
  if (!run_share(pool, number, pool->caller)) wait_for_others(pool);
}

void dq_pool_observe(dq_pool *pool, dq_pool_share_done *done, void *user) {
  if (!pool) return;
  pool->share_user = user;
  pool->share_done = done;
}

int dq_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  return CPU_COUNT(&set);
}
