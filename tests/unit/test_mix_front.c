// The front of dq-mix: by hand on a chain and on a diamond, and against every choice of small graphs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/base/random.h"
#include "quant/search/mix_front.h"

enum { MOST = 1 << 20, UNITS = 12, PRECISIONS = 3 };

static dq_arena *arena;
static dq_error error;

static int set_up(void **state) {
  (void)state;
  arena = dq_arena_new(NULL);
  return !arena;
}

static int tear_down(void **state) {
  (void)state;
  dq_arena_free(arena);
  return 0;
}

// ---- By hand ----

// Three units in a chain, precisions 0 and 1. Precision 1 is faster by 10 in units 0 and 2, and as fast in unit 1; each
// loses 1 there, and a conversion takes 4.
static const dq_mix_cost chain_costs[] = {{20, 0, 8}, {10, 1, 4}, {20, 0, 8}, {20, 1, 4}, {20, 0, 8}, {10, 1, 4}};
static const int reader_of_0[] = {1}, reader_of_1[] = {2};
static const dq_mix_value chain_values[] = {
    {0, reader_of_0, 1, {{{0}, {4, 0, 0}}, {{4, 0, 0}, {0}}}},
    {1, reader_of_1, 1, {{{0}, {4, 0, 0}}, {{4, 0, 0}, {0}}}},
};
static const dq_mix_table chain = {2, 3, 2, chain_costs, chain_values};

static void chain_by_hand(void **state) {
  (void)state;
  dq_mix_front front;
  uint8_t choice[3];
  assert_int_equal(dq_mix_front_find(&front, &chain, MOST, arena, &error), DQ_OK);
  // 111 takes 40 and loses 3; 101 takes 10 + 4 + 20 + 4 + 10 = 48, loses 2 and has the bytes 4 + 8 + 4; 100 and 001
  // take 10 + 4 + 20 + 20 = 54 and lose 1; 110 takes 10 + 20 + 4 + 20 = 54, loses 2 and has 4 + 4 + 8 bytes, so that
  // 101 is better; 000 takes 60.
  const dq_mix_cost expected[] = {{40, 3, 12}, {48, 2, 16}, {54, 1, 20}, {60, 0, 24}};
  assert_int_equal(front.count, 4);
  assert_memory_equal(front.costs, expected, sizeof expected);
  assert_int_equal(front.time_gap, 0);
  assert_int_equal(front.widest, 1);
  dq_mix_front_choice(&front, 1, choice);
  assert_memory_equal(choice, ((uint8_t[]){1, 0, 1}), 3);
}

// Unit 0 is read by 1 and 2, which 3 joins. With 0 in precision 0 and both readers in precision 1 its value is
// converted once: 10 + 5 + 2 + 2 + 3 + 3 + 10, as the join is in precision 0 and both of its operands are converted.
static void shared_conversion(void **state) {
  (void)state;
  const dq_mix_cost costs[] = {{10, 0, 0}, {-1, 0, 0}, {-1, 0, 0}, {2, 0, 0},
                               {-1, 0, 0}, {2, 0, 0},  {10, 0, 0}, {-1, 0, 0}};
  const int both[] = {1, 2}, join[] = {3};
  const dq_mix_value values[] = {{0, both, 2, {{{0}, {5, 0, 0}}, {{0}, {0}}}},
                                 {1, join, 1, {{{0}, {0}}, {{3, 0, 0}, {0}}}},
                                 {2, join, 1, {{{0}, {0}}, {{3, 0, 0}, {0}}}}};
  const dq_mix_table table = {2, 4, 3, costs, values};
  dq_mix_front front;
  assert_int_equal(dq_mix_front_find(&front, &table, MOST, arena, &error), DQ_OK);
  assert_int_equal(front.count, 1);
  assert_int_equal(front.costs[0].time, 35);
  assert_int_equal(dq_mix_cost_of(&table, (uint8_t[]){0, 1, 1, 0}).time, 35);
  assert_int_equal(front.widest, 2);
}

static void no_precision(void **state) {
  (void)state;
  const dq_mix_cost costs[] = {{1, 0, 0}, {-1, 0, 0}};
  const dq_mix_table table = {1, 2, 0, costs, NULL};
  dq_mix_front front;
  assert_int_equal(dq_mix_front_find(&front, &table, MOST, arena, &error), DQ_UNSUPPORTED);
  assert_string_equal(error.message, "unit 1 can have no precision");
}

// A unit reads the values of all others: as many are open, and there are 3^n combinations of their precisions.
static void open_values(void **state) {
  (void)state;
  enum { MANY = 13 };
  static dq_mix_cost costs[(MANY + 1) * PRECISIONS];
  static dq_mix_value values[MANY];
  const int last[] = {MANY};
  dq_mix_front front;
  for (int u = 0; u < MANY; u++) values[u] = (dq_mix_value){.producer = u, .readers = last, .reader_count = 1};
  const dq_mix_table wide = {PRECISIONS, MANY + 1, MANY, costs, values};
  assert_int_equal(dq_mix_front_find(&front, &wide, MOST, arena, &error), DQ_UNSUPPORTED);
  assert_non_null(strstr(error.message, "values are open at a time"));
}

// ---- Every choice of small graphs ----

typedef struct network {
  dq_mix_table table;
  dq_mix_cost costs[UNITS * PRECISIONS];
  dq_mix_value values[UNITS];
  int readers[UNITS][UNITS];
} network;

static dq_mix_cost draw_cost(dq_random *random, uint64_t most, bool bytes) {
  return (dq_mix_cost){(int64_t)dq_random_below(random, most), (int64_t)dq_random_below(random, most),
                       bytes ? (int64_t)dq_random_below(random, 4) : 0};
}

// Each unit reads the one before it or an earlier one, and every third one a second value: joins, and values with
// several readers. Some units have fewer precisions.
static void draw(network *drawn, dq_random *random, int units, bool bytes) {
  *drawn = (network){.table = {PRECISIONS, units, units, drawn->costs, drawn->values}};
  for (int u = 0; u < units; u++) {
    drawn->values[u] = (dq_mix_value){.producer = u, .readers = drawn->readers[u]};
    for (int p = 0; p < PRECISIONS; p++) {
      drawn->costs[u * PRECISIONS + p] = draw_cost(random, 40, bytes);
      if (p && !dq_random_below(random, 8)) drawn->costs[u * PRECISIONS + p].time = -1;
      for (int q = 0; q < PRECISIONS; q++) drawn->values[u].conversions[p][q] = draw_cost(random, 12, false);
    }
    for (int operand = 0; u && operand < 1 + (u % 3 == 2); operand++) {
      int from = dq_random_below(random, 2) ? u - 1 : (int)dq_random_below(random, (uint64_t)u);
      dq_mix_value *value = &drawn->values[from];
      if (value->reader_count && value->readers[value->reader_count - 1] == u) continue;
      drawn->readers[from][value->reader_count++] = u;
    }
  }
}

static bool is_as_good(const dq_mix_cost *a, const dq_mix_cost *b) {
  return a->time <= b->time && a->loss <= b->loss && a->bytes <= b->bytes;
}

static bool front_has(const dq_mix_front *front, const dq_mix_cost *cost) {
  for (int i = 0; i < front->count; i++)
    if (is_as_good(&front->costs[i], cost)) return true;
  return false;
}

static bool next_choice(uint8_t *choice, int units) {
  for (int u = 0; u < units; u++) {
    if (++choice[u] < PRECISIONS) return true;
    choice[u] = 0;
  }
  return false;
}

// Every choice has a point as good on the front, every point is the cost of its choice, and none is worse than another.
static void check_front(const network *drawn, const dq_mix_front *front) {
  uint8_t choice[UNITS] = {0};
  do {
    dq_mix_cost cost = dq_mix_cost_of(&drawn->table, choice);
    if (cost.time >= 0) assert_true(front_has(front, &cost));
  } while (next_choice(choice, drawn->table.units));
  for (int i = 0; i < front->count; i++) {
    dq_mix_front_choice(front, i, choice);
    dq_mix_cost cost = dq_mix_cost_of(&drawn->table, choice);
    assert_memory_equal(&cost, &front->costs[i], sizeof cost);
    for (int k = 0; k < front->count; k++) assert_true(k == i || !is_as_good(&front->costs[k], &front->costs[i]));
  }
}

static void brute_force(void **state) {
  (void)state;
  dq_random random = dq_random_start(26, 1);
  for (int round = 0; round < 60; round++) {
    network drawn;
    dq_mix_front front;
    int units = round < 3 ? UNITS : 2 + round % 7;
    draw(&drawn, &random, units, round % 2);
    assert_int_equal(dq_mix_front_find(&front, &drawn.table, MOST, arena, &error), DQ_OK);
    assert_int_equal(front.time_gap + front.bytes_gap, 0);
    check_front(&drawn, &front);
  }
}

// Five choices of one unit where four are allowed: windows of half the times, 40 / 2 + 1 wide, and of eight times the
// bytes. Times 0 to 20 share a window, 30 and 40 the next one, and the least loss of each stays.
static void windows_by_hand(void **state) {
  (void)state;
  enum { CHOICES = DQ_MIX_MOST_PRECISIONS };
  dq_mix_cost costs[CHOICES];
  for (int i = 0; i < CHOICES; i++) costs[i] = (dq_mix_cost){10 * i, CHOICES - i, 3 * i};
  const dq_mix_table table = {CHOICES, 1, 0, costs, NULL};
  dq_mix_front front;
  assert_int_equal(dq_mix_front_find(&front, &table, 4, arena, &error), DQ_OK);
  const dq_mix_cost expected[] = {{20, 3, 6}, {40, 1, 12}};
  assert_int_equal(front.count, 2);
  assert_memory_equal(front.costs, expected, sizeof expected);
  assert_int_equal(front.time_gap, 20);
  assert_int_equal(front.bytes_gap, 8 * 12);
}

// The same where conversions let a unit be faster: -20 and -10 share a window, 0, 10 and 20 the next one.
static void windows_below_zero(void **state) {
  (void)state;
  enum { CHOICES = DQ_MIX_MOST_PRECISIONS };
  dq_mix_cost costs[2 * CHOICES] = {{0, 0, 0}};
  const int reader[] = {1};
  dq_mix_value value = {.producer = 0, .readers = reader, .reader_count = 1};
  for (int i = 1; i < CHOICES; i++) costs[i].time = -1;
  for (int i = 0; i < CHOICES; i++) costs[CHOICES + i].loss = CHOICES - (i + CHOICES - 1) % CHOICES;
  costs[CHOICES].time = 20;
  for (int i = 1; i < CHOICES; i++) value.conversions[0][i].time = 10 * i - 30;
  const dq_mix_table table = {CHOICES, 2, 1, costs, &value};
  dq_mix_front front;
  assert_int_equal(dq_mix_front_find(&front, &table, 4, arena, &error), DQ_OK);
  const dq_mix_cost expected[] = {{-10, 4, 0}, {20, 1, 0}};
  assert_int_equal(front.count, 2);
  assert_memory_equal(front.costs, expected, sizeof expected);
  assert_int_equal(front.time_gap, 20);
}

// With few labels no choice is better than the front by more than the gaps.
static void gap(void **state) {
  (void)state;
  dq_random random = dq_random_start(26, 2);
  int64_t gaps = 0;
  for (int round = 0; round < 20; round++) {
    network drawn;
    dq_mix_front exact, thin;
    draw(&drawn, &random, UNITS, round % 2);
    assert_int_equal(dq_mix_front_find(&exact, &drawn.table, MOST, arena, &error), DQ_OK);
    assert_int_equal(dq_mix_front_find(&thin, &drawn.table, 60, arena, &error), DQ_OK);
    gaps += thin.time_gap;
    for (int i = 0; i < exact.count; i++) {
      const dq_mix_cost *cost = &exact.costs[i];
      const dq_mix_cost allowed = {cost->time + thin.time_gap, cost->loss, cost->bytes + thin.bytes_gap};
      assert_true(front_has(&thin, &allowed));
    }
  }
  assert_true(gaps > 0);
}

// A chain of 4000 units, each of which takes 1 less and loses 1 in precision 1: all 4001 sums are on the front, of
// which no more labels stay than there is memory for. The fastest and the one that loses least stay, and each has a
// choice.
static void many_units(void **state) {
  (void)state;
  enum { MANY = 4000 };
  static dq_mix_cost costs[2 * MANY];
  static uint8_t choice[MANY];
  dq_mix_front front;
  for (int u = 0; u < MANY; u++) costs[2 * u] = (dq_mix_cost){2, 0, 0}, costs[2 * u + 1] = (dq_mix_cost){1, 1, 0};
  const dq_mix_table table = {2, MANY, 0, costs, NULL};
  assert_int_equal(dq_mix_front_find(&front, &table, 60000, arena, &error), DQ_OK);
  assert_true(front.count > 32 && front.count <= 983); // 60000 (512 / 4000)^2
  assert_true(front.costs[0].time == MANY && front.costs[front.count - 1].loss == 0);
  for (int p = 0; p < front.count; p += 31) {
    dq_mix_front_choice(&front, p, choice);
    const dq_mix_cost cost = dq_mix_cost_of(&table, choice);
    assert_memory_equal(&cost, &front.costs[p], sizeof cost);
  }
  assert_true(dq_arena_bytes(arena) < (size_t)MANY * 983 * 8 + (1 << 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(chain_by_hand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(shared_conversion, set_up, tear_down),
      cmocka_unit_test_setup_teardown(no_precision, set_up, tear_down),
      cmocka_unit_test_setup_teardown(open_values, set_up, tear_down),
      cmocka_unit_test_setup_teardown(brute_force, set_up, tear_down),
      cmocka_unit_test_setup_teardown(windows_by_hand, set_up, tear_down),
      cmocka_unit_test_setup_teardown(windows_below_zero, set_up, tear_down),
      cmocka_unit_test_setup_teardown(gap, set_up, tear_down),
      cmocka_unit_test_setup_teardown(many_units, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
