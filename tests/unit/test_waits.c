// What threads wait for a processor.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/base/clock.h"
#include "lib/tune/waits.h"

static const double WORK = 0.02; // seconds of a processor that each call takes

static void keep_busy(void *argument, int64_t i, int thread) {
  (void)argument, (void)i, (void)thread;
  int64_t end = dq_thread_nanoseconds() + (int64_t)(1e9 * WORK);
  while (dq_thread_nanoseconds() < end) {
  }
}

typedef struct fixture {
  cpu_set_t processors; // of this process before
  dq_arena *arena;
  dq_pool *pool; // two threads on one processor
  dq_waits waits;
} fixture;

static int close_fixture(void **state) {
  fixture *f = *state;
  dq_waits_close(&f->waits);
  dq_pool_free(f->pool);
  dq_arena_free(f->arena);
  sched_setaffinity(0, sizeof f->processors, &f->processors);
  return 0;
}

static int open_fixture(void **state) {
  static fixture f;
  cpu_set_t one;
  CPU_ZERO(&one);
  sched_getaffinity(0, sizeof f.processors, &f.processors);
  CPU_SET((unsigned)sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  *state = &f;
  f.arena = dq_arena_new(NULL);
  f.pool = dq_pool_new(2);
  return !f.arena || !f.pool || dq_waits_open(&f.waits, f.pool, f.arena, NULL) != DQ_OK;
}

static void skip_unknown(const dq_waits *waits) {
  if (waits->known) return;
  print_message("not tested: /proc/thread-self/schedstat cannot be read\n");
  skip();
}

// While one of the threads has the processor the other one waits. No thread waits while it runs.
static void two_threads_on_one_processor(void **state) {
  fixture *f = *state;
  skip_unknown(&f->waits);
  dq_waits_begin(&f->waits);
  double begin = dq_seconds();
  dq_pool_run(f->pool, 2, keep_busy, NULL);
  double seconds = dq_seconds() - begin, waited = dq_waits_end(&f->waits) * seconds;
  assert_true(waited > 0.05 * WORK);
  assert_true(waited <= 2 * (dq_seconds() - begin) - 2 * WORK + 0.002);
}

static void one_thread(void **state) {
  fixture *f = *state;
  dq_waits waits;
  assert_int_equal(dq_waits_open(&waits, NULL, f->arena, NULL), DQ_OK);
  dq_waits_begin(&waits);
  double begin = dq_seconds();
  keep_busy(NULL, 0, 0);
  double seconds = dq_seconds() - begin, waited = dq_waits_end(&waits) * seconds;
  dq_waits_close(&waits);
  assert_true(waited >= 0 && waited <= seconds - WORK + 0.002);
}

static void what_is_not_known_is_0(void **state) {
  (void)state;
  dq_waits none = {0};
  dq_waits_begin(&none);
  assert_true(dq_waits_end(&none) == 0);
  dq_waits_close(&none);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(two_threads_on_one_processor, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(one_thread, open_fixture, close_fixture),
      cmocka_unit_test(what_is_not_known_is_0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
