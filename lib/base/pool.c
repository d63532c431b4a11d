// Between two jobs of a network pass a few microseconds, and the system takes longer to wake a thread: so those that
// wait look around for a moment before they sleep.
#include "lib/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { LOOKS = 4000 }; // 50 to 200 microseconds, as long as the processor makes a pause

typedef struct job {
  void (*work)(void *argument, int64_t i, int thread);
  void *argument;
  int64_t count;
  int processor; // the caller's
} job;

typedef struct worker {
  dq_pool *pool;
  pthread_t thread;
  int index;
} worker;

struct dq_pool {
  pthread_mutex_t lock;
  pthread_cond_t begin, done;
  job job; // written before the generation, read behind it
  atomic_uint generation; // counts jobs, so that a worker takes each once
  atomic_int running;
  atomic_bool stop;
  int threads, looks; // looks: 0 where threads have to share processors
  worker *workers; // threads - 1 of them; the caller is thread 0
};

static void run_share(const job *share, int thread, int threads) {
  int64_t from = share->count * thread / threads, to = share->count * (thread + 1) / threads;
  for (int64_t i = from; i < to; i++) share->work(share->argument, i, thread);
}

// What a waiting processor does not spend on its neighbour's cost.
static void rest(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

static bool is_called(dq_pool *pool, unsigned seen) { return pool->generation != seen || pool->stop; }

static void wait_for_job(dq_pool *pool, unsigned seen) {
  for (int i = 0; i < pool->looks && !is_called(pool, seen); i++) rest();
  if (is_called(pool, seen)) return;
  pthread_mutex_lock(&pool->lock);
  while (!is_called(pool, seen)) pthread_cond_wait(&pool->begin, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

static void wait_for_workers(dq_pool *pool) {
  for (int i = 0; i < pool->looks && pool->running; i++) rest();
  if (!pool->running) return;
  pthread_mutex_lock(&pool->lock);
  while (pool->running) pthread_cond_wait(&pool->done, &pool->lock);
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

static void *worker_main(void *argument) {
  worker *self = argument;
  dq_pool *pool = self->pool;
  for (unsigned seen = 0;;) {
    wait_for_job(pool, seen);
    if (pool->stop) return NULL;
    seen = pool->generation;
    job current = pool->job;
    if (pool->looks) part_from(current.processor);
    run_share(&current, self->index, pool->threads);
    if (--pool->running) continue;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
  }
}

static void stop_workers(dq_pool *pool, int started) {
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->begin);
  pthread_mutex_unlock(&pool->lock);
  for (int i = 0; i < started; i++) pthread_join(pool->workers[i].thread, NULL);
  pthread_mutex_destroy(&pool->lock);
  pthread_cond_destroy(&pool->begin);
  pthread_cond_destroy(&pool->done);
  free(pool->workers);
  free(pool);
}

dq_pool *dq_pool_new(int threads) {
  dq_pool *pool = calloc(1, sizeof *pool);
  if (!pool) return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->begin, NULL);
  pthread_cond_init(&pool->done, NULL);
  pool->threads = threads;
  pool->looks = threads <= dq_processors() ? LOOKS : 0;
  pool->workers = calloc((size_t)threads, sizeof *pool->workers);
  int started = 0;
  while (pool->workers && started < threads - 1) {
    worker *next = &pool->workers[started];
    *next = (worker){.pool = pool, .index = started + 1};
    if (pthread_create(&next->thread, NULL, worker_main, next)) break;
    started++;
  }
  if (pool->workers && started == threads - 1) return pool;
  stop_workers(pool, started);
  return NULL;
}

void dq_pool_free(dq_pool *pool) {
  if (pool) stop_workers(pool, pool->threads - 1);
}

int dq_pool_threads(const dq_pool *pool) { return pool ? pool->threads : 1; }

void dq_pool_run(dq_pool *pool, int64_t count, void (*work)(void *, int64_t, int), void *argument) {
  job current = {work, argument, count, sched_getcpu()};
  if (!pool || pool->threads == 1 || count <= 1) {
    run_share(&current, 0, 1);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->job = current;
  pool->running = pool->threads - 1;
  pool->generation++;
  pthread_cond_broadcast(&pool->begin);
  pthread_mutex_unlock(&pool->lock);
  run_share(&current, 0, pool->threads);
  wait_for_workers(pool);
}

int dq_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  return CPU_COUNT(&set);
}
