// The choice of one thread or all while requests run, by a simulated clock: a sender that waits for its requests.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/random.h"
#include "lib/multi/job_threads.h"

// How long requests take, in nanoseconds: means of both ways, the deviation of each request from it as a share, and how
// many of 1000 requests in all threads take `stall` longer, as one does that waits for a processor.
typedef struct load {
  double one, all, deviation, stall;
  int stalls;
} load;

typedef struct sender {
  dq_thread_choice choice;
  dq_random random;
  double now;
  int64_t all, count; // requests in all threads, and together
} sender;

static double time_of(const load *l, bool all, dq_random *random) {
  double time = (all ? l->all : l->one) * exp(l->deviation * dq_random_normal(random));
  bool stalls = (int)dq_random_below(random, 1000) < l->stalls;
  return all && stalls ? time + l->stall : time;
}

// Requests for that many seconds; returns how many there were.
static int64_t send(sender *s, const load *l, double seconds) {
  const double end = s->now + 1e9 * seconds;
  int64_t before = s->count;
  while (s->now < end) {
    int stretch;
    bool all = dq_thread_choice_begin(&s->choice, &stretch);
    int64_t time = (int64_t)time_of(l, all, &s->random);
    dq_thread_choice_end(&s->choice, stretch, time);
    s->now += (double)time;
    s->all += all;
    s->count++;
  }
  return s->count - before;
}

// Requests in a second with the better of both ways.
static double rate_of(const load *l) {
  double all = l->all + l->stall * l->stalls / 1000;
  return 1e9 / ((all < l->one ? all : l->one) * exp(l->deviation * l->deviation / 2));
}

// Requests for that many seconds over those with the better of both ways.
static double share_of(sender *s, const load *l, double seconds) {
  return (double)send(s, l, seconds) / (seconds * rate_of(l));
}

static sender *sender_of(uint64_t seed) {
  static sender s;
  return memset(&s, 0, sizeof s), s.random.state = seed, &s;
}

static const double times[] = {0.02e6, 0.3e6, 3e6, 20e6};
enum { TIMES = sizeof times / sizeof *times, SEEDS = 10 };

static void the_better_way_is_found(void **state) {
  (void)state;
  static const double ratios[] = {0.5, 0.8, 1.3, 3}, deviations[] = {0.02, 0.1};
  for (int i = 0; i < TIMES * 4 * 2; i++)
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      const double one = times[i / 8], ratio = ratios[i / 2 % 4];
      const load l = {.one = one, .all = one * ratio, .deviation = deviations[i % 2]};
      sender *s = sender_of(seed);
      assert_true(share_of(s, &l, 1) > (one > 10e6 ? 0.75 : 0.9));
      assert_true(share_of(s, &l, 4) > 0.95);
      assert_int_equal(s->choice.all, ratio < 1);
      const dq_thread_way *ways = s->choice.ways;
      const double mean_one = (double)ways[0].sum / (double)ways[0].count;
      const double mean_all = (double)ways[1].sum / (double)ways[1].count;
      assert_true(fabs(mean_all / mean_one / ratio - 1) < 0.15);
    }
}

// One thread is what requests begin with and stay with where both ways take as long, and measurements become rare: a
// 65th part of the time.
static void one_thread_without_evidence(void **state) {
  (void)state;
  for (int i = 0; i < TIMES; i++) {
    const load l = {.one = times[i], .all = times[i]};
    sender *s = sender_of(1);
    int stretch;
    assert_false(dq_thread_choice_begin(&s->choice, &stretch));
    send(s, &l, 20);
    const int64_t count = s->count, all = s->all;
    send(s, &l, 60);
    assert_false(s->choice.all);
    assert_true(s->all > all && (s->all - all) * 50 < s->count - count);
  }
}

// Other programs have the processors: most requests in all threads take 0.6 times as long, and 6 in 100 wait for a
// thread that has lost its processor, which makes 1.2 times in the mean.
static void a_mean_counts(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= SEEDS; seed++) {
    const load l = {.one = 0.3e6, .all = 0.18e6, .deviation = 0.05, .stall = 3e6, .stalls = 60};
    assert_true(share_of(sender_of(seed), &l, 5) > 0.94);
  }
}

// Both ways take longer from a time on, and the other one is better; then as before.
static void a_changed_load_is_seen(void **state) {
  (void)state;
  for (int i = 0; i < 3; i++)
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
      const double one = times[i];
      const load calm = {.one = one, .all = 0.6 * one, .deviation = 0.05};
      const load busy = {.one = 2 * one, .all = 5 * one, .deviation = 0.05};
      sender *s = sender_of(seed);
      send(s, &calm, 3);
      assert_true(s->choice.all);
      send(s, &busy, 1);
      assert_false(s->choice.all);
      assert_true(share_of(s, &busy, 2) > 0.95);
      send(s, &calm, 1);
      assert_true(s->choice.all);
      assert_true(share_of(s, &calm, 2) > 0.95);
    }
}

// Requests that began before the way changed, and the first ones behind, do not count.
static void what_runs_across_does_not_count(void **state) {
  (void)state;
  dq_thread_choice choice = {0};
  int first, second;
  assert_false(dq_thread_choice_begin(&choice, &first));
  dq_thread_choice_end(&choice, first, 400000);
  dq_thread_choice_end(&choice, first, 400000);
  assert_int_equal(choice.ways[0].count, 0);
  for (int i = 0; i < 4; i++) dq_thread_choice_end(&choice, first, 1000000);
  assert_int_equal(choice.ways[0].count, 4);
  assert_true(dq_thread_choice_begin(&choice, &second));
  dq_thread_choice_end(&choice, first, 9000000);
  assert_int_equal(choice.ways[0].count, 4);
  assert_int_equal(choice.ways[1].count, 0);
  dq_thread_choice_end(&choice, second, 9000000); // long enough to count at once
  assert_int_equal(choice.ways[1].sum, 9000000);
}

static void ways_have_names(void **state) {
  (void)state;
  assert_int_equal(dq_job_threads_find("one"), DQ_THREADS_ONE);
  assert_int_equal(dq_job_threads_find("all"), DQ_THREADS_ALL);
  assert_int_equal(dq_job_threads_find("auto"), DQ_THREADS_AUTO);
  assert_int_equal(dq_job_threads_find("two"), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_better_way_is_found),
      cmocka_unit_test(one_thread_without_evidence),
      cmocka_unit_test(a_mean_counts),
      cmocka_unit_test(a_changed_load_is_seen),
      cmocka_unit_test(what_runs_across_does_not_count),
      cmocka_unit_test(ways_have_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
