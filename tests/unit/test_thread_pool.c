// Pools of threads, with threads of their own and open ones.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/base/pool.h"

typedef struct tally {
  int threads, thread[1000];
  int8_t done[1000];
} tally;

static void count_one(void *argument, int64_t i, int thread) {
  tally *t = argument;
  t->done[i]++;
  t->thread[i] = thread;
}

static void pools(void **state) {
  (void)state;
  for (int threads = 1; threads <= 4; threads++) {
    dq_pool *pool = dq_pool_new(threads);
    assert_non_null(pool);
    assert_int_equal(dq_pool_threads(pool), threads);
    static const int64_t counts[] = {0, 1, 2, 3, 7, 1000};
    for (int c = 0; c < 6; c++) {
      tally t = {0};
      dq_pool_run(pool, counts[c], count_one, &t);
      for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(t.done[i], i < counts[c]);
        if (i < counts[c]) assert_in_range(t.thread[i], 0, threads - 1);
      }
    }
    dq_pool_free(pool);
  }
  tally t = {0};
  dq_pool_run(NULL, 3, count_one, &t);
  assert_int_equal(t.done[2], 1);
  assert_int_equal(dq_pool_threads(NULL), 1);
  dq_pool_free(NULL);
}

// Jobs one behind the other and, now and then, far enough apart for the workers to fall asleep.
static void pool_sleeps_and_wakes(void **state) {
  (void)state;
  for (int threads = 2; threads <= 4; threads++) {
    dq_pool *pool = dq_pool_new(threads);
    assert_non_null(pool);
    for (int job = 0; job < 2000; job++) {
      tally t = {0};
      dq_pool_run(pool, 1 + job % 5, count_one, &t);
      for (int i = 0; i < 5; i++) assert_int_equal(t.done[i], i < 1 + job % 5);
      if (job % 200 == 0) nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    }
    dq_pool_free(pool);
  }
}

typedef struct helper {
  dq_pool *pool;
  int thread;
  atomic_bool *end;
  pthread_t system;
} helper;

static bool has_ended(void *end) { return *(atomic_bool *)end; }

static void *help_until_end(void *argument) {
  const helper *self = argument;
  while (!dq_pool_help(self->pool, self->thread, has_ended, self->end)) continue;
  return NULL;
}

static void count_slowly(void *argument, int64_t i, int thread) {
  nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  count_one(argument, i, thread);
}

// Threads of the test help, whatever the number of the caller; without them the caller does everything.
static void open_pools_are_helped(void **state) {
  (void)state;
  for (int caller = 0; caller < 3; caller++) {
    atomic_bool end = false;
    dq_pool *pool = dq_pool_new_open(3);
    assert_non_null(pool);
    dq_pool_set_caller(pool, caller);
    tally alone = {0};
    dq_pool_run(pool, 100, count_one, &alone);
    for (int i = 0; i < 100; i++) assert_true(alone.done[i] == 1 && alone.thread[i] == caller);
    helper helpers[2] = {{pool, (caller + 1) % 3, &end, 0}, {pool, (caller + 2) % 3, &end, 0}};
    for (int h = 0; h < 2; h++) pthread_create(&helpers[h].system, NULL, help_until_end, &helpers[h]);
    bool seen[3] = {false};
    for (int loop = 0; loop < 100 || !(seen[0] && seen[1] && seen[2]); loop++) {
      assert_true(loop < 20000); // a busy machine may let helpers wait
      tally t = {0};
      const int count = 1 + loop % 30;
      dq_pool_run(pool, count, loop % 2 ? count_one : count_slowly, &t);
      for (int i = 0; i < count; i++) {
        assert_int_equal(t.done[i], 1);
        seen[t.thread[i]] = true;
      }
    }
    end = true;
    for (int h = 0; h < 2; h++) pthread_join(helpers[h].system, NULL);
    assert_false(dq_pool_help(pool, (caller + 1) % 3, has_ended, &(atomic_bool){false})); // no loop comes
    dq_pool_free(pool);
  }
}

typedef struct observed {
  int calls[3]; // by thread
  int64_t first;
} observed;

static void note_share(void *user, int thread, int64_t begin, int64_t end) {
  observed *o = user;
  o->calls[thread]++; // a thread writes its own only
  assert_true(o->first <= begin && begin <= end);
}

// What threads report is complete when dq_pool_run returns: at most once a job and thread, and once at least.
static void pools_are_observed(void **state) {
  (void)state;
  dq_pool *pool = dq_pool_new(3);
  assert_non_null(pool);
  for (int job = 0; job < 500; job++) {
    observed o = {.first = dq_nanoseconds()};
    tally t = {0};
    dq_pool_observe(pool, note_share, &o);
    dq_pool_run(pool, 100, count_one, &t);
    dq_pool_observe(pool, NULL, NULL);
    bool worked[3] = {false};
    for (int i = 0; i < 100; i++) worked[t.thread[i]] = true;
    for (int thread = 0; thread < 3; thread++) assert_int_equal(o.calls[thread], worked[thread]);
    dq_pool_run(pool, 100, count_one, &t);
    for (int thread = 0; thread < 3; thread++) assert_int_equal(o.calls[thread], worked[thread]);
  }
  dq_pool_free(pool);
  dq_pool_observe(NULL, note_share, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pools),
      cmocka_unit_test(pool_sleeps_and_wakes),
      cmocka_unit_test(open_pools_are_helped),
      cmocka_unit_test(pools_are_observed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
