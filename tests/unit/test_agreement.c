// Answers that two networks share, counted by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "quant/search/agreement.h"

static dq_tensor *tensor(dq_arena *arena, int rank, const int64_t *dims, const float *elements) {
  dq_tensor *it = dq_tensor_new(arena, DQ_F32, rank, dims);
  memcpy(it->data, elements, dq_tensor_bytes(it));
  return it;
}

static void check(int rank, const int64_t *dims, const float *exact, const float *other, int64_t answers,
                  int64_t equal) {
  dq_arena *arena = dq_arena_new(0);
  dq_agreement agreement = {0};
  dq_error error;
  assert_int_equal(
      dq_agreement_add(&agreement, tensor(arena, rank, dims, exact), tensor(arena, rank, dims, other), &error), DQ_OK);
  assert_int_equal(agreement.answers, answers);
  assert_int_equal(agreement.equal, equal);
  dq_arena_free(arena);
}

// Three points of two channels: 1, 0, 0 (the first of equal ones) against 1, 1, 1.
static void classes_of_points(void **state) {
  (void)state;
  check(4, (int64_t[]){1, 2, 1, 3}, (float[]){1, 5, 3, 2, 4, 3}, (float[]){1, 5, 2, 2, 6, 3}, 3, 1);
}

static void class_of_a_picture(void **state) {
  (void)state;
  check(2, (int64_t[]){1, 3}, (float[]){1, 2, 3}, (float[]){5, 2, 9}, 1, 1);
}

static void one_channel(void **state) {
  (void)state;
  check(4, (int64_t[]){1, 1, 2, 2}, (float[]){0.4f, 0.6f, 0.5f, 1}, (float[]){0.6f, 0.7f, 0.2f, 0.9f}, 4, 3);
}

// A channel that is NaN or infinite in the second alone: no answer of its point counts, whichever channel is highest.
// NaN in both: the other channels decide. Nothing but NaN in both is no answer either.
static void not_finite(void **state) {
  (void)state;
  check(2, (int64_t[]){1, 3}, (float[]){1, 2, 3}, (float[]){NAN, 2, 3}, 1, 0);
  check(2, (int64_t[]){1, 3}, (float[]){1, 2, 3}, (float[]){1, 2, INFINITY}, 1, 0);
  check(2, (int64_t[]){1, 3}, (float[]){1, 2, 3}, (float[]){-INFINITY, 2, 3}, 1, 0);
  check(2, (int64_t[]){1, 3}, (float[]){NAN, 2, 3}, (float[]){NAN, 2, 3}, 1, 1);
  check(2, (int64_t[]){1, 2}, (float[]){NAN, NAN}, (float[]){NAN, NAN}, 1, 0);
  check(4, (int64_t[]){1, 1, 1, 3}, (float[]){0.6f, 0.4f, 0.7f}, (float[]){INFINITY, NAN, 0.7f}, 3, 1);
  // One channel of a map is infinite: 100 % of nothing.
  check(4, (int64_t[]){1, 2, 1, 2}, (float[]){1, 2, 5, 6}, (float[]){1, 2, INFINITY, INFINITY}, 2, 0);
}

static void outputs_without_answers(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  dq_agreement agreement = {0};
  dq_error error;
  const dq_tensor *boxes = tensor(arena, 3, (int64_t[]){1, 1, 6}, (float[6]){0});
  assert_int_equal(dq_agreement_add(&agreement, boxes, boxes, &error), DQ_UNSUPPORTED);
  assert_string_equal(error.message, "the first output is 1x1x6, expected float32 scores NxC or NxCxHxW");
  dq_arena_free(arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classes_of_points), cmocka_unit_test(class_of_a_picture),      cmocka_unit_test(one_channel),
      cmocka_unit_test(not_finite),        cmocka_unit_test(outputs_without_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
