// Reshape, Flatten, Squeeze, Unsqueeze and Shape: shapes at both sides of each rule, and what is refused.
#include <string.h>

#include "tests/unit/operator_harness.h"

enum { NONE = -99 }; // no shape is expected: the reason is

typedef struct view {
  int opset, rank;
  int64_t dims[9];
  int count;
  int64_t list[9]; // the shape, or the axes; -99 alone: none is given
  int64_t attribute;
  int result_rank;
  int64_t result[9];
  const char *words; // of the failure
} view;

static void check(const char *op_type, const char *attribute, bool has_list, const view *views, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const view *v = &views[i];
    harness h;
    harness_open(&h, "", op_type, v->opset);
    harness_input(&h, DQ_F32, v->rank, v->dims, NULL);
    int64_t length = v->count;
    if (has_list && v->list[0] != NONE) harness_input(&h, DQ_I64, 1, &length, v->list);
    if (attribute) dq_node_set_int(h.graph, h.node, attribute, v->attribute);
    if (v->words) {
      dq_status status = harness_infer(&h);
      if (status == DQ_OK || !strstr(h.error.message, v->words)) fail_msg("%s %zu: %s", op_type, i, h.error.message);
    } else {
      if (harness_infer(&h) != DQ_OK) fail_msg("%s %zu: %s", op_type, i, h.error.message);
      assert_int_equal(h.output->rank, v->result_rank);
      for (int d = 0; d < v->result_rank; d++)
        if (h.output->dims[d] != v->result[d]) fail_msg("%s %zu: dimension %d", op_type, i, d);
    }
    harness_close(&h);
  }
}
#define CHECK(op_type, attribute, has_list, views)                                                                     \
  check(op_type, attribute, has_list, views, sizeof views / sizeof *views)

static void reshapes(void **state) {
  (void)state;
  static const view views[] = {
      {14, 2, {2, 3}, 2, {-1, 2}, 0, 2, {3, 2}, NULL},
      {14, 2, {1, 1}, 2, {-1, 1}, 0, 2, {1, 1}, NULL},
      {14, 1, {1}, 0, {0}, 0, 0, {0}, NULL},
      {14, 0, {0}, 1, {-1}, 0, 1, {1}, NULL},
      {14, 0, {0}, 1, {0}, 0, 0, {0}, "shape has 0 at 0, but the input has 0 dimensions"},
      // -1 beside a 0 is what is left of no elements, unless the 0 is a dimension of 0
      {14, 2, {0, 3}, 2, {0, -1}, 0, 2, {0, 0}, NULL},
      {14, 2, {0, 3}, 2, {0, -1}, 1, 0, {0}, "shape has -1 beside a dimension of 0"},
      {14, 2, {1, 1}, 2, {0, -1}, 1, 0, {0}, "shape has -1 beside a dimension of 0"},
      {14, 2, {2, 1}, 2, {0, -1}, 1, 0, {0}, "shape has -1 beside a dimension of 0"},
      {13, 2, {0, 3}, 2, {0, -1}, 1, 2, {0, 0}, NULL}, // which opset 13 does not know
      {14, 2, {2, 3}, 1, {6}, 1, 1, {6}, NULL},
      {14, 2, {2, 3}, 2, {0, 0}, 0, 2, {2, 3}, NULL},
      {14, 2, {2, 3}, 3, {0, 0, 0}, 0, 0, {0}, "shape has 0 at 2, but the input has 2 dimensions"},
      {14, 2, {2, 3}, 2, {-1, -1}, 0, 0, {0}, "shape holds -1 at 1, expected 0 or more, or -1 once"},
      {14, 2, {2, 3}, 2, {6, -2}, 0, 0, {0}, "shape holds -2 at 1"},
      {14, 2, {2, 3}, 2, {-1, 4}, 0, 0, {0}, "shape asks for 4 elements, the input has 6"},
      {14, 2, {2, 3}, 1, {5}, 0, 0, {0}, "shape asks for 5 elements, the input has 6"},
      {14, 2, {2, 3}, 2, {INT64_MAX, 2}, 0, 0, {0}, "the product of the dimensions overflows 64 bits"},
      {14, 1, {1}, 8, {1, 1, 1, 1, 1, 1, 1, 1}, 0, 8, {1, 1, 1, 1, 1, 1, 1, 1}, NULL},
      {14, 1, {1}, 9, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0, 0, {0}, "9 dimensions, at most 8 are supported"},
  };
  // allowzero is an attribute from opset 14 on
  for (size_t i = 0; i < sizeof views / sizeof *views; i++)
    check("Reshape", views[i].opset < 14 ? NULL : "allowzero", true, &views[i], 1);
}

static void flattens(void **state) {
  (void)state;
  static const view views[] = {
      {13, 3, {2, 3, 5}, 0, {0}, 0, 2, {1, 30}, NULL},
      {13, 3, {2, 3, 5}, 0, {0}, 1, 2, {2, 15}, NULL},
      {13, 3, {2, 3, 5}, 0, {0}, 3, 2, {30, 1}, NULL},
      {13, 3, {2, 3, 5}, 0, {0}, -1, 2, {6, 5}, NULL},
      {13, 3, {2, 3, 5}, 0, {0}, -3, 2, {1, 30}, NULL},
      {13, 0, {0}, 0, {0}, 0, 2, {1, 1}, NULL},
      {13, 3, {2, 3, 5}, 0, {0}, 4, 0, {0}, "axis 4 is outside the 3 dimensions"},
      {13, 3, {2, 3, 5}, 0, {0}, -4, 0, {0}, "axis -4 is outside the 3 dimensions"},
  };
  CHECK("Flatten", "axis", false, views);
}

static void squeezes(void **state) {
  (void)state;
  static const view views[] = {
      {13, 4, {1, 2, 1, 1}, 1, {NONE}, 0, 1, {2}, NULL},
      {13, 2, {1, 1}, 1, {NONE}, 0, 0, {0}, NULL},
      {13, 4, {1, 2, 1, 1}, 1, {0}, 0, 3, {2, 1, 1}, NULL},
      {13, 4, {1, 2, 1, 1}, 2, {-1, 0}, 0, 2, {2, 1}, NULL},
      {13, 4, {1, 2, 1, 1}, 0, {0}, 0, 4, {1, 2, 1, 1}, NULL}, // an empty list is no axis
      {13, 4, {1, 2, 1, 1}, 1, {1}, 0, 0, {0}, "axis 1 has size 2, expected 1"},
      {13, 4, {1, 2, 1, 1}, 2, {2, -2}, 0, 0, {0}, "axis 2 is given twice"},
      {13, 4, {1, 2, 1, 1}, 1, {4}, 0, 0, {0}, "4"},
      {13, 4, {1, 2, 1, 1}, 1, {-5}, 0, 0, {0}, "-5"},
      {13, 2, {1, 0}, 1, {NONE}, 0, 1, {0}, NULL},
  };
  CHECK("Squeeze", NULL, true, views);
}

static void unsqueezes(void **state) {
  (void)state;
  static const view views[] = {
      {13, 2, {2, 3}, 1, {0}, 0, 3, {1, 2, 3}, NULL},
      {13, 2, {2, 3}, 1, {2}, 0, 3, {2, 3, 1}, NULL},
      {13, 2, {2, 3}, 1, {-1}, 0, 3, {2, 3, 1}, NULL},
      {13, 2, {2, 3}, 2, {3, 1}, 0, 4, {2, 1, 3, 1}, NULL},
      {13, 2, {2, 3}, 2, {-4, 3}, 0, 4, {1, 2, 3, 1}, NULL},
      {13, 2, {2, 3}, 0, {0}, 0, 2, {2, 3}, NULL},
      {13, 2, {2, 3}, 1, {3}, 0, 0, {0}, "3"},
      {13, 2, {2, 3}, 1, {-4}, 0, 0, {0}, "-4"},
      {13, 2, {2, 3}, 2, {0, -4}, 0, 0, {0}, "axis 0 is given twice"},
      {13, 7, {1, 1, 1, 1, 1, 1, 1}, 1, {0}, 0, 8, {1, 1, 1, 1, 1, 1, 1, 1}, NULL},
      {13, 8, {1, 1, 1, 1, 1, 1, 1, 1}, 1, {0}, 0, 0, {0}, "9 dimensions, at most 8 are supported"},
  };
  CHECK("Unsqueeze", NULL, true, views);
}

// ONNX, Shape-15: negative numbers count from the end, and both are then limited to 0 to the rank. 4: not given.
static void parts_of_a_shape(void **state) {
  (void)state;
  enum { RANK = 3, NOT_GIVEN = 4 };
  static const int64_t dims[] = {2, 3, 5};
  for (int start = -5; start <= NOT_GIVEN; start++)
    for (int end = -5; end <= NOT_GIVEN; end++) {
      harness h;
      harness_open(&h, "", "Shape", 15);
      harness_input(&h, DQ_F32, RANK, dims, NULL);
      if (start != NOT_GIVEN) dq_node_set_int(h.graph, h.node, "start", start);
      if (end != NOT_GIVEN) dq_node_set_int(h.graph, h.node, "end", end);
      double expected[RANK];
      int64_t count = 0;
      for (int d = 0; d < RANK; d++) {
        bool behind_start = start == NOT_GIVEN || (start < 0 ? d - RANK >= start : d >= start);
        bool before_end = end == NOT_GIVEN || (end < 0 ? d - RANK < end : d < end);
        if (behind_start && before_end) expected[count++] = (double)dims[d];
      }
      harness_gives(&h, DQ_I64, 1, &count, expected);
      harness_close(&h);
    }
  harness h;
  harness_open(&h, "", "Size", 13);
  harness_input(&h, DQ_F32, RANK, dims, NULL);
  harness_gives(&h, DQ_I64, 0, NULL, DOUBLES(30));
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reshapes), cmocka_unit_test(flattens), cmocka_unit_test(squeezes),
                                     cmocka_unit_test(unsqueezes), cmocka_unit_test(parts_of_a_shape)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
