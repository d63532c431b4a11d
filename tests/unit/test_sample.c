// Pictures that are drawn at random.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "datasets/datasets.h"

enum { PICTURES = 5, DRAWN = 2, PAIRS = 10, SEEDS = 2000 };

// Opens DRAWN of PICTURES generated pictures, and stores their numbers.
static void draw(uint64_t seed, int64_t limit, int numbers[PICTURES]) {
  dq_data *data;
  dq_error error;
  dq_sample_info info;
  const dq_data_options options = {
      .spec = "synth:shapes,count=5", .limit = limit, .random = true, .seed = seed, .fewer = true};
  if (dq_data_open(&data, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  for (int64_t i = 0; i < dq_data_count(data); i++) {
    assert_int_equal(dq_data_read(data, i, NULL, &info, &error), DQ_OK);
    numbers[i] = atoi(strchr(info.name, '#') + 1);
  }
  dq_data_free(data);
}

// Each of the 10 pairs of 5 pictures is as likely as any other: of 2000 draws 200, with a deviation of sqrt(2000 * 0.1
// * 0.9) = 13.4, five of which are allowed.
static void every_choice_is_as_likely(void **state) {
  (void)state;
  int counts[PICTURES][PICTURES] = {{0}}, numbers[PICTURES], pairs = 0;
  for (uint64_t seed = 0; seed < SEEDS; seed++) {
    draw(seed, DRAWN, numbers);
    assert_true(numbers[0] >= 0 && numbers[0] < numbers[1] && numbers[1] < PICTURES);
    counts[numbers[0]][numbers[1]]++;
  }
  for (int i = 0; i < PICTURES; i++)
    for (int j = i + 1; j < PICTURES; j++) {
      assert_in_range(counts[i][j], SEEDS / PAIRS - 67, SEEDS / PAIRS + 67);
      pairs++;
    }
  assert_int_equal(pairs, PAIRS);
}

static void a_seed_draws_the_same(void **state) {
  (void)state;
  int first[PICTURES], second[PICTURES];
  draw(3, 4, first);
  draw(3, 4, second);
  assert_memory_equal(first, second, 4 * sizeof *first);
  for (int64_t limit = 0; limit < 12; limit += 5) { // none, as many as there are, and more
    draw(7, limit, first);
    for (int i = 0; i < PICTURES; i++) assert_int_equal(first[i], i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_choice_is_as_likely),
                                     cmocka_unit_test(a_seed_draws_the_same)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
