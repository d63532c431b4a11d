// The versions of operators and their least and largest numbers of inputs and outputs, as the schemas of onnx 1.23 have
// them. Left out are versions that dq does not run: those before opset 7 of operators whose broadcasting was another,
// Cast 28, and Scatter and Upsample where they are deprecated.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/ops/table/operator.h"

enum { MANY = DQ_ANY_NUMBER };

typedef struct schema {
  const char *name;
  int since[DQ_MAX_VERSIONS];
  int inputs[2], outputs[2];
} schema;

// clang-format off
static const schema schemas[] = {
    {"Abs", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Acos", {7, 22}, {1, 1}, {1, 1}},
    {"Acosh", {9, 22}, {1, 1}, {1, 1}},
    {"Add", {7, 13, 14}, {2, 2}, {1, 1}},
    {"AffineGrid", {20}, {2, 2}, {1, 1}},
    {"And", {7}, {2, 2}, {1, 1}},
    {"ArgMax", {1, 11, 12, 13}, {1, 1}, {1, 1}},
    {"ArgMin", {1, 11, 12, 13}, {1, 1}, {1, 1}},
    {"Asin", {7, 22}, {1, 1}, {1, 1}},
    {"Asinh", {9, 22}, {1, 1}, {1, 1}},
    {"Atan", {7, 22}, {1, 1}, {1, 1}},
    {"Atanh", {9, 22}, {1, 1}, {1, 1}},
    {"AveragePool", {1, 7, 10, 11, 19, 22}, {1, 1}, {1, 1}},
    {"BatchNormalization", {1, 6, 7, 9, 14, 15}, {5, 5}, {1, 5}},
    {"BitShift", {11, 28}, {2, 2}, {1, 1}},
    {"BitwiseAnd", {18}, {2, 2}, {1, 1}},
    {"BitwiseNot", {18}, {1, 1}, {1, 1}},
    {"BitwiseOr", {18}, {2, 2}, {1, 1}},
    {"BitwiseXor", {18}, {2, 2}, {1, 1}},
    {"Cast", {6, 9, 13, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"CastLike", {15, 19, 21, 23, 24, 25}, {2, 2}, {1, 1}},
    {"Ceil", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Celu", {12, 28}, {1, 1}, {1, 1}},
    {"CenterCropPad", {18}, {2, 2}, {1, 1}},
    {"Clip", {1, 6, 11, 12, 13}, {1, 3}, {1, 1}},
    {"Col2Im", {18}, {3, 3}, {1, 1}},
    {"Compress", {9, 11, 28}, {2, 2}, {1, 1}},
    {"Concat", {1, 4, 11, 13}, {1, MANY}, {1, 1}},
    {"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}, {0, 0}, {1, 1}},
    {"ConstantOfShape", {9, 20, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"Conv", {1, 11, 22}, {2, 3}, {1, 1}},
    {"ConvInteger", {10}, {2, 4}, {1, 1}},
    {"ConvTranspose", {1, 11, 22}, {2, 3}, {1, 1}},
    {"Cos", {7, 22}, {1, 1}, {1, 1}},
    {"Cosh", {9, 22}, {1, 1}, {1, 1}},
    {"CumSum", {11, 14}, {2, 2}, {1, 1}},
    {"DeformConv", {19, 22}, {3, 5}, {1, 1}},
    {"DepthToSpace", {1, 11, 13, 28}, {1, 1}, {1, 1}},
    {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, {2, 3}, {1, 1}},
    {"Div", {7, 13, 14}, {2, 2}, {1, 1}},
    {"Dropout", {1, 6, 7, 10, 12, 13, 22}, {1, 3}, {1, 2}},
    {"DynamicQuantizeLinear", {11}, {1, 1}, {3, 3}},
    {"Einsum", {12, 28}, {1, MANY}, {1, 1}},
    {"Elu", {1, 6, 22}, {1, 1}, {1, 1}},
    {"Equal", {7, 11, 13, 19}, {2, 2}, {1, 1}},
    {"Erf", {9, 13}, {1, 1}, {1, 1}},
    {"Exp", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Expand", {8, 13}, {2, 2}, {1, 1}},
    {"EyeLike", {9, 22}, {1, 1}, {1, 1}},
    {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"Floor", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Gather", {1, 11, 13}, {2, 2}, {1, 1}},
    {"GatherElements", {11, 13}, {2, 2}, {1, 1}},
    {"GatherND", {11, 12, 13}, {2, 2}, {1, 1}},
    {"Gelu", {20}, {1, 1}, {1, 1}},
    {"Gemm", {1, 6, 7, 9, 11, 13}, {2, 3}, {1, 1}},
    {"GlobalAveragePool", {1, 22}, {1, 1}, {1, 1}},
    {"GlobalLpPool", {2, 22}, {1, 1}, {1, 1}},
    {"GlobalMaxPool", {1, 22}, {1, 1}, {1, 1}},
    {"Greater", {7, 9, 13}, {2, 2}, {1, 1}},
    {"GreaterOrEqual", {12, 16}, {2, 2}, {1, 1}},
    {"GridSample", {16, 20, 22}, {2, 2}, {1, 1}},
    {"GroupNormalization", {18, 21}, {3, 3}, {1, 1}},
    {"HardSigmoid", {1, 6, 22}, {1, 1}, {1, 1}},
    {"HardSwish", {14, 22}, {1, 1}, {1, 1}},
    {"Hardmax", {1, 11, 13}, {1, 1}, {1, 1}},
    {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"InstanceNormalization", {1, 6, 22}, {3, 3}, {1, 1}},
    {"IsInf", {10, 20}, {1, 1}, {1, 1}},
    {"IsNaN", {9, 13, 20}, {1, 1}, {1, 1}},
    {"LRN", {1, 13}, {1, 1}, {1, 1}},
    {"LayerNormalization", {17}, {2, 3}, {1, 3}},
    {"LeakyRelu", {1, 6, 16}, {1, 1}, {1, 1}},
    {"Less", {7, 9, 13}, {2, 2}, {1, 1}},
    {"LessOrEqual", {12, 16}, {2, 2}, {1, 1}},
    {"Log", {1, 6, 13}, {1, 1}, {1, 1}},
    {"LogSoftmax", {1, 11, 13}, {1, 1}, {1, 1}},
    {"LpNormalization", {1, 22}, {1, 1}, {1, 1}},
    {"LpPool", {2, 11, 18, 22}, {1, 1}, {1, 1}},
    {"MatMul", {1, 9, 13}, {2, 2}, {1, 1}},
    {"MatMulInteger", {10}, {2, 4}, {1, 1}},
    {"Max", {1, 6, 8, 12, 13}, {1, MANY}, {1, 1}},
    {"MaxPool", {1, 8, 10, 11, 12, 22}, {1, 1}, {1, 2}},
    {"MaxUnpool", {9, 11, 22}, {2, 3}, {1, 1}},
    {"Mean", {1, 6, 8, 13}, {1, MANY}, {1, 1}},
    {"MeanVarianceNormalization", {9, 13}, {1, 1}, {1, 1}},
    {"Min", {1, 6, 8, 12, 13}, {1, MANY}, {1, 1}},
    {"Mish", {18, 22}, {1, 1}, {1, 1}},
    {"Mod", {10, 13, 28}, {2, 2}, {1, 1}},
    {"Mul", {7, 13, 14}, {2, 2}, {1, 1}},
    {"Neg", {1, 6, 13}, {1, 1}, {1, 1}},
    {"NonMaxSuppression", {10, 11}, {2, 5}, {1, 1}},
    {"NonZero", {9, 13}, {1, 1}, {1, 1}},
    {"Not", {1}, {1, 1}, {1, 1}},
    {"OneHot", {9, 11, 28}, {3, 3}, {1, 1}},
    {"Or", {7}, {2, 2}, {1, 1}},
    {"PRelu", {7, 9, 16}, {2, 2}, {1, 1}},
    {"Pad", {1, 2, 11, 13, 18, 19, 21, 23, 24, 25}, {1, 4}, {1, 1}},
    {"Pow", {7, 12, 13, 15}, {2, 2}, {1, 1}},
    {"QLinearConv", {10}, {8, 9}, {1, 1}},
    {"QLinearMatMul", {10, 21}, {8, 8}, {1, 1}},
    {"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}, {2, 3}, {1, 1}},
    {"Range", {11, 27}, {3, 3}, {1, 1}},
    {"Reciprocal", {1, 6, 13}, {1, 1}, {1, 1}},
    {"ReduceL1", {1, 11, 13, 18}, {1, 2}, {1, 1}},
    {"ReduceL2", {1, 11, 13, 18}, {1, 2}, {1, 1}},
    {"ReduceLogSum", {1, 11, 13, 18, 28}, {1, 2}, {1, 1}},
    {"ReduceLogSumExp", {1, 11, 13, 18, 28}, {1, 2}, {1, 1}},
    {"ReduceMax", {1, 11, 12, 13, 18, 20}, {1, 2}, {1, 1}},
    {"ReduceMean", {1, 11, 13, 18}, {1, 2}, {1, 1}},
    {"ReduceMin", {1, 11, 12, 13, 18, 20}, {1, 2}, {1, 1}},
    {"ReduceProd", {1, 11, 13, 18}, {1, 2}, {1, 1}},
    {"ReduceSum", {1, 11, 13}, {1, 2}, {1, 1}},
    {"ReduceSumSquare", {1, 11, 13, 18}, {1, 2}, {1, 1}},
    {"Relu", {1, 6, 13, 14}, {1, 1}, {1, 1}},
    {"Reshape", {1, 5, 13, 14, 19, 21, 23, 24, 25}, {1, 2}, {1, 1}},
    {"Resize", {10, 11, 13, 18, 19}, {1, 4}, {1, 1}},
    {"ReverseSequence", {10, 28}, {2, 2}, {1, 1}},
    {"RoiAlign", {10, 16, 22}, {3, 3}, {1, 1}},
    {"Round", {11, 22}, {1, 1}, {1, 1}},
    {"Scatter", {9}, {3, 3}, {1, 1}},
    {"ScatterElements", {11, 13, 16, 18}, {3, 3}, {1, 1}},
    {"ScatterND", {11, 13, 16, 18}, {3, 3}, {1, 1}},
    {"Selu", {1, 6, 22}, {1, 1}, {1, 1}},
    {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"Shrink", {9}, {1, 1}, {1, 1}},
    {"Sigmoid", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Sign", {9, 13}, {1, 1}, {1, 1}},
    {"Sin", {7, 22}, {1, 1}, {1, 1}},
    {"Sinh", {9, 22}, {1, 1}, {1, 1}},
    {"Size", {1, 13, 19, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"Slice", {1, 10, 11, 13}, {1, 5}, {1, 1}},
    {"Softmax", {1, 11, 13}, {1, 1}, {1, 1}},
    {"Softplus", {1, 22}, {1, 1}, {1, 1}},
    {"Softsign", {1, 22}, {1, 1}, {1, 1}},
    {"SpaceToDepth", {1, 13, 28}, {1, 1}, {1, 1}},
    {"Split", {1, 2, 11, 13, 18}, {1, 2}, {1, MANY}},
    {"Sqrt", {1, 6, 13}, {1, 1}, {1, 1}},
    {"Squeeze", {1, 11, 13, 21, 23, 24, 25}, {1, 2}, {1, 1}},
    {"Sub", {7, 13, 14}, {2, 2}, {1, 1}},
    {"Sum", {1, 6, 8, 13}, {1, MANY}, {1, 1}},
    {"Swish", {24}, {1, 1}, {1, 1}},
    {"Tan", {7, 22}, {1, 1}, {1, 1}},
    {"Tanh", {1, 6, 13}, {1, 1}, {1, 1}},
    {"ThresholdedRelu", {10, 22}, {1, 1}, {1, 1}},
    {"Tile", {6, 13}, {2, 2}, {1, 1}},
    {"TopK", {1, 10, 11, 24}, {1, 2}, {2, 2}},
    {"Transpose", {1, 13, 21, 23, 24, 25}, {1, 1}, {1, 1}},
    {"Trilu", {14}, {1, 2}, {1, 1}},
    {"Unique", {11, 28}, {1, 1}, {1, 4}},
    {"Unsqueeze", {1, 11, 13, 21, 23, 24, 25}, {1, 2}, {1, 1}},
    {"Upsample", {7, 9}, {1, 2}, {1, 1}},
    {"Where", {9, 16}, {3, 3}, {1, 1}},
    {"Xor", {7}, {2, 2}, {1, 1}},
};
// clang-format on

enum { SCHEMAS = sizeof schemas / sizeof *schemas };

static void rows(void **state) {
  (void)state;
  int found = 0;
  for (int r = 0; dq_operator_at(r); r++) {
    const dq_operator *row = dq_operator_at(r);
    if (row->domain) continue;
    const schema *as = schemas;
    while (as < schemas + SCHEMAS && strcmp(as->name, row->name)) as++;
    if (as == schemas + SCHEMAS) fail_msg("%s is not in the table of the test", row->name);
    if (memcmp(row->since, as->since, sizeof row->since)) fail_msg("%s has other versions", row->name);
    if (memcmp(row->inputs, as->inputs, sizeof row->inputs)) fail_msg("%s has other inputs", row->name);
    if (memcmp(row->outputs, as->outputs, sizeof row->outputs)) fail_msg("%s has other outputs", row->name);
    found++;
  }
  assert_int_equal(found, SCHEMAS);
}

// An opset selects the last version that is not newer; before the first there is none.
static void versions(void **state) {
  (void)state;
  for (int s = 0; s < SCHEMAS; s++) {
    const dq_operator *row = dq_operator_find("", schemas[s].name);
    for (int64_t opset = 1, i = 0, version = 0; opset <= 28; opset++) {
      if (i < DQ_MAX_VERSIONS && schemas[s].since[i] == opset) version = opset, i++;
      assert_int_equal(dq_operator_version(row, opset), version);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows), cmocka_unit_test(versions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
