// Integer steps that execution copies contain where a file has DequantizeLinear, Conv, Gemm or MatMul, and
// QuantizeLinear: the operators QLinearConv and QLinearMatMul with bounds for a Relu or Clip. Without
// QuantizeLinear the result's scale and zero point are left out, and the result is float32.
#include "lib/ops/common/quantized.h"
#include "lib/ops/common/window.h"
#include "lib/ops/emit/emit.h"

static const dq_attribute_rule conv_attributes[] = {DQ_WINDOW_ATTRIBUTES(false),
                                                    {"clamp_high", DQ_ATTRIBUTE_INT, false},
                                                    {"clamp_low", DQ_ATTRIBUTE_INT, false},
                                                    {"group", DQ_ATTRIBUTE_INT, false},
                                                    {0}};

const dq_operator dq_op_QConv = {
    .name = "QConv",
    .domain = "dq",
    .since = {1},
    .inputs = {6, 9},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = conv_attributes,
    .infer = dq_qlinear_conv_infer,
    .run = dq_qlinear_conv_run,
    .prepare = dq_qlinear_conv_prepare,
    .emit = dq_emit_qlinear_conv,
    .product = dq_qlinear_conv_product,
    .macs = dq_qlinear_conv_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

// The Gemm it was made from keeps alpha and beta of 1 and transA of 0.
static const dq_attribute_rule gemm_attributes[] = {
    {"alpha", DQ_ATTRIBUTE_FLOAT, false},   {"beta", DQ_ATTRIBUTE_FLOAT, false},
    {"broadcast", DQ_ATTRIBUTE_INT, false}, {"clamp_high", DQ_ATTRIBUTE_INT, false},
    {"clamp_low", DQ_ATTRIBUTE_INT, false}, {"transA", DQ_ATTRIBUTE_INT, false},
    {"transB", DQ_ATTRIBUTE_INT, false},    {NULL, 0, false}};

const dq_operator dq_op_QGemm = {
    .name = "QGemm",
    .domain = "dq",
    .since = {1},
    .inputs = {6, 9},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = gemm_attributes,
    .infer = dq_qlinear_matmul_infer,
    .run = dq_qlinear_matmul_run,
    .prepare = dq_qlinear_matmul_prepare,
    .emit = dq_emit_qlinear_matmul,
    .product = dq_qlinear_gemm_product,
    .macs = dq_qlinear_matmul_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};

static const dq_attribute_rule matmul_attributes[] = {
    {"clamp_high", DQ_ATTRIBUTE_INT, false}, {"clamp_low", DQ_ATTRIBUTE_INT, false}, {NULL, 0, false}};

const dq_operator dq_op_QMatMul = {
    .name = "QMatMul",
    .domain = "dq",
    .since = {1},
    .inputs = {6, 8},
    .outputs = {1, 1},
    .types = DQ_TYPES_8_BIT,
    .attributes = matmul_attributes,
    .infer = dq_qlinear_matmul_infer,
    .run = dq_qlinear_matmul_run,
    .prepare = dq_qlinear_matmul_prepare,
    .emit = dq_emit_qlinear_matmul,
    .product = dq_qlinear_matmul_product,
    .macs = dq_qlinear_matmul_macs,
    .category = DQ_DENY,
    .quantization = DQ_QUANTIZE_NOT,
};
