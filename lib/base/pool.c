#include "lib/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct job {
  void (*work)(void *argument, int64_t i, int thread);
  void *argument;
  int64_t count;
} job;

typedef struct worker {
  dq_pool *pool;
  pthread_t thread;
  int index;
} worker;

struct dq_pool {
  pthread_mutex_t lock;
  pthread_cond_t begin, done;
  job job;
  unsigned generation; // counts jobs, so that a worker takes each once
  int threads, running;
  bool stop;
  worker *workers; // threads - 1 of them; the caller is thread 0
};

static void run_share(const job *share, int thread, int threads) {
  int64_t from = share->count * thread / threads, to = share->count * (thread + 1) / threads;
  for (int64_t i = from; i < to; i++) share->work(share->argument, i, thread);
}

static void *worker_main(void *argument) {
  worker *self = argument;
  dq_pool *pool = self->pool;
  unsigned seen = 0;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (!pool->stop && pool->generation == seen) pthread_cond_wait(&pool->begin, &pool->lock);
    if (pool->stop) break;
    seen = pool->generation;
    job current = pool->job;
    pthread_mutex_unlock(&pool->lock);
    run_share(&current, self->index, pool->threads);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0) pthread_cond_signal(&pool->done);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
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
  job current = {work, argument, count};
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
  pthread_mutex_lock(&pool->lock);
  while (pool->running) pthread_cond_wait(&pool->done, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

int dq_processors(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  return CPU_COUNT(&set);
}
