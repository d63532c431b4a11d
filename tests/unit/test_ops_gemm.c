// Gemm, MatMul and Einsum: hand-computed cases in every type, broadcasting, what is refused.
#include "tests/unit/operator_harness.h"

static const int types[] = {DQ_F32, DQ_F64, DQ_F16, DQ_I32, DQ_I64, DQ_U32, DQ_U64};
enum { TYPE_COUNT = sizeof types / sizeof *types };

static dq_tensor *numbers(harness *h, int type, int rank, const int64_t *dims) {
  dq_tensor *t = harness_input(h, type, rank, dims, NULL);
  for (int64_t i = 0; i < dq_tensor_count(t); i++) dq_tensor_set(t, i, (double)(i + 1));
  return t;
}

static void test_gemm(void **state) {
  (void)state;
  for (int t = 0; t < TYPE_COUNT; t++)
    for (int transposed = 0; transposed < 4; transposed++) {
      harness h;
      harness_open(&h, "", "Gemm", 13);
      int ta = transposed & 1, tb = transposed >> 1;
      numbers(&h, types[t], 2, ta ? (int64_t[]){3, 2} : (int64_t[]){2, 3});
      numbers(&h, types[t], 2, tb ? (int64_t[]){1, 3} : (int64_t[]){3, 1});
      dq_node_set_int(h.graph, h.node, "transA", ta);
      dq_node_set_int(h.graph, h.node, "transB", tb);
      harness_gives(&h, types[t], DIMS(2, 1), ta ? DOUBLES(22, 28) : DOUBLES(14, 32));
      assert_int_equal(h.op.row->macs(&h.op), 6);
      numbers(&h, types[t], DIMS(2, 1));
      dq_node_set_float(h.graph, h.node, "alpha", 2);
      dq_node_set_float(h.graph, h.node, "beta", 10);
      harness_gives(&h, types[t], DIMS(2, 1), ta ? DOUBLES(54, 76) : DOUBLES(38, 84));
      dq_node_set_float(h.graph, h.node, "beta", 0);
      harness_gives(&h, types[t], DIMS(2, 1), ta ? DOUBLES(44, 56) : DOUBLES(28, 64));
      harness_close(&h);
    }
}

static void test_gemm_addends(void **state) {
  (void)state;
  static const struct {
    int rank;
    int64_t dims[2];
    double expected[4];
  } cases[] = {{0, {0}, {4, 5, 4, 5}},    {1, {1}, {4, 5, 4, 5}},    {1, {2}, {4, 6, 4, 6}},
               {2, {1, 2}, {4, 6, 4, 6}}, {2, {2, 1}, {4, 5, 5, 6}}, {2, {2, 2}, {4, 6, 6, 8}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    harness_open(&h, "", "Gemm", 7);
    harness_input(&h, DQ_F32, DIMS(2, 1), FLOATS(1, 1));
    harness_input(&h, DQ_F32, DIMS(1, 2), FLOATS(3, 4));
    numbers(&h, DQ_F32, cases[i].rank, cases[i].dims);
    harness_gives(&h, DQ_F32, DIMS(2, 2), cases[i].expected);
    harness_close(&h);
  }
}

typedef struct product {
  int a_rank, b_rank, y_rank;
  int64_t a[4], b[4], y[4];
  double expected[8];
  int64_t macs;
} product;

static void test_matmul(void **state) {
  (void)state;
  static const product cases[] = {
      {1, 1, 0, {2}, {2}, {0}, {5}, 2},
      {1, 2, 1, {2}, {2, 2}, {2}, {7, 10}, 4},
      {2, 1, 1, {2, 2}, {2}, {2}, {5, 11}, 4},
      {3, 2, 3, {2, 1, 2}, {2, 1}, {2, 1, 1}, {5, 11}, 4},
      {3, 3, 3, {2, 1, 2}, {2, 2, 1}, {2, 1, 1}, {5, 25}, 4},
      {4, 3, 4, {2, 1, 1, 2}, {2, 2, 1}, {2, 2, 1, 1}, {5, 11, 11, 25}, 8},
      {2, 2, 2, {2, 0}, {0, 2}, {2, 2}, {0, 0, 0, 0}, 0},
      {3, 2, 3, {0, 2, 2}, {2, 2}, {0, 2, 2}, {0}, 0},
  };
  for (int t = 0; t < TYPE_COUNT; t++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      harness h;
      harness_open(&h, "", "MatMul", 13);
      numbers(&h, types[t], cases[i].a_rank, cases[i].a);
      numbers(&h, types[t], cases[i].b_rank, cases[i].b);
      harness_gives(&h, types[t], cases[i].y_rank, cases[i].y, cases[i].expected);
      assert_int_equal(h.op.row->macs(&h.op), cases[i].macs);
      harness_close(&h);
    }
}

static void test_einsum(void **state) {
  (void)state;
  static const struct {
    const char *equation;
    int inputs, rank;
    int64_t dims[3][3]; // of the inputs, elements 1, 2, 3, ..., and of the output; ends at 0
    double expected[8];
  } cases[] = {{"ij,jk->ik", 2, 2, {{2, 3}, {3, 2}, {2, 2}}, {22, 28, 49, 64}},
               {" i j , j k ", 2, 2, {{2, 3}, {3, 2}, {2, 2}}, {22, 28, 49, 64}}, // labels that occur once, sorted
               {"ba", 1, 2, {{2, 3}, {3, 2}}, {1, 4, 2, 5, 3, 6}},
               {"ii->i", 1, 1, {{3, 3}, {3}}, {1, 5, 9}},
               {"ii", 1, 0, {{3, 3}, {0}}, {15}},
               {"ij->", 1, 0, {{2, 3}, {0}}, {21}},
               {"i,j->ji", 2, 2, {{2}, {3}, {3, 2}}, {1, 2, 2, 4, 3, 6}},
               {"...ij,...jk->...ik", 2, 3, {{2, 1, 2}, {1, 2, 1}, {2, 1, 1}}, {5, 11}}, // the second repeats
               {"...a,a", 2, 1, {{2, 2}, {2}, {2}}, {5, 11}},
               {"i,i,i->i", 3, 1, {{2}, {2}, {2}}, {1, 8}},
               {"i,j,k->", 3, 0, {{2}, {3}, {2}}, {3 * 6 * 3}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int t = 0; t < 3; t++) {
      const int types_of[] = {DQ_F32, DQ_F64, DQ_I32};
      harness h;
      harness_open(&h, "", "Einsum", 12);
      for (int k = 0; k < cases[i].inputs; k++) {
        int rank = 0;
        while (rank < 3 && cases[i].dims[k][rank]) rank++;
        numbers(&h, types_of[t], rank, cases[i].dims[k]);
      }
      dq_node_set_string(h.graph, h.node, "equation", cases[i].equation);
      const int64_t scalar[1] = {0}, *dims = cases[i].inputs < 3 ? cases[i].dims[cases[i].inputs] : (int64_t[]){2};
      harness_gives(&h, types_of[t], cases[i].rank, cases[i].rank ? dims : scalar, cases[i].expected);
      harness_close(&h);
    }
}

static void test_einsum_refuses(void **state) {
  (void)state;
  static const struct {
    const char *equation, *words;
  } cases[] = {{"ij,jk->il", "output label 'l' is unknown or given twice"},
               {"ij,jk->ii", "output label 'i' is unknown or given twice"},
               {"ij,j$->ik", "the equation has '$'"},
               {"ij", "fewer terms than the node inputs"},
               {"ij,jk=ik", "the equation has '='"},
               {"ij,jk-ik", "does not end in '->' and the output"},
               {"ij,jk->ik,", "more after the output"},
               {"ij,ik->jk", "label 'i' has the sizes 2 and 3"},
               {"ijk,jk->ik", "a term of the equation has 3 labels for an input of 2 dimensions"},
               {"i,jk->ik", "a term of the equation has 1 labels for an input of 2 dimensions"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    harness_open(&h, "", "Einsum", 12);
    numbers(&h, DQ_F32, DIMS(2, 3));
    numbers(&h, DQ_F32, DIMS(3, 2));
    dq_node_set_string(h.graph, h.node, "equation", cases[i].equation);
    harness_refuses(&h, DQ_BAD_INPUT, cases[i].words);
    harness_close(&h);
  }
}

static void test_refuses(void **state) {
  (void)state;
  static const struct {
    const char *op_type;
    int a_rank, b_rank, c_rank; // c_rank -1: none
    int64_t a[3], b[3], c[3];
    const char *words;
  } cases[] = {
      {"MatMul", 2, 2, -1, {2, 3}, {2, 3}, {0}, "shapes 2x3 and 2x3 cannot be multiplied"},
      {"MatMul", 0, 2, -1, {0}, {2, 3}, {0}, "cannot be multiplied"},
      {"MatMul", 3, 3, -1, {2, 1, 1}, {3, 1, 1}, {0}, "shapes 2x1x1 and 3x1x1"},
      {"Gemm", 2, 2, -1, {2, 3}, {2, 3}, {0}, "A has shape 2x3 and B 2x3"},
      {"Gemm", 3, 2, -1, {1, 2, 3}, {3, 2}, {0}, "A has shape 1x2x3"},
      {"Gemm", 2, 2, 1, {2, 3}, {3, 4}, {3}, "C has shape 3 and does not broadcast to 2x4"},
      {"Gemm", 2, 2, 2, {2, 3}, {3, 4}, {3, 4}, "C has shape 3x4"},
      {"Gemm", 2, 2, 3, {2, 3}, {3, 4}, {1, 2, 4}, "C has shape 1x2x4"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    harness h;
    harness_open(&h, "", cases[i].op_type, 13);
    numbers(&h, DQ_F32, cases[i].a_rank, cases[i].a);
    numbers(&h, DQ_F32, cases[i].b_rank, cases[i].b);
    if (cases[i].c_rank >= 0) numbers(&h, DQ_F32, cases[i].c_rank, cases[i].c);
    harness_refuses(&h, DQ_BAD_INPUT, cases[i].words);
    harness_close(&h);
  }
  harness h;
  harness_open(&h, "", "MatMul", 13);
  numbers(&h, DQ_F32, DIMS(1, 1));
  numbers(&h, DQ_F64, DIMS(1, 1));
  harness_refuses(&h, DQ_BAD_INPUT, "input 0 is float32 but input 1 is float64");
  harness_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gemm),   cmocka_unit_test(test_gemm_addends),   cmocka_unit_test(test_matmul),
      cmocka_unit_test(test_einsum), cmocka_unit_test(test_einsum_refuses), cmocka_unit_test(test_refuses),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
