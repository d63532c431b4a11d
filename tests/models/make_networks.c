// Writes large networks with random weights: make_networks NAME DIVISOR FILE. The shapes are those of
// vgg16 (Simonyan, Zisserman, ICLR 2015, configuration D), resnet50 and resnet152 (He, Zhang, Ren, Sun, CVPR 2016;
// the stride in the 3x3 as torchvision has it), inception_v3 (Szegedy et al., CVPR 2016, without the
// auxiliary head), efficientnetv2_s (Tan, Le, ICML 2021, table 4) and regnety32gf (Radosavovic et al., CVPR 2020).
// DIVISOR divides all channels.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/random.h"
#include "lib/base/sizes.h"
#include "lib/onnx/onnx.h"

typedef struct network {
  dq_graph *graph;
  dq_random random;
  int64_t divisor;
} network;

// A value with its channels and side.
typedef struct feature {
  dq_value *value;
  int64_t channels, side;
} feature;

static feature apply(network *n, const char *op, int count, dq_value **inputs, int64_t channels, int64_t side,
                     dq_node **made) {
  dq_value *to = dq_graph_fresh_value(n->graph, "v");
  dq_node *node = dq_graph_add_node(n->graph, n->graph->node_count, op, "", count, inputs, 1, &to);
  if (made) *made = node;
  return (feature){to, channels, side};
}

static feature unary(network *n, const char *op, feature x) {
  return apply(n, op, 1, &x.value, x.channels, x.side, NULL);
}

static dq_value *weight(network *n, int rank, const int64_t *dims, float gain) {
  dq_tensor *tensor = dq_tensor_new(n->graph->arena, DQ_F32, rank, dims);
  int64_t fan = rank > 1 ? dq_tensor_product(tensor, 1, rank) : 1;
  float size = gain * sqrtf(6.0f / (float)fan), *elements = tensor->data; // He et al., ICCV 2015
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) elements[i] = size * (2 * dq_random_float(&n->random) - 1);
  return dq_graph_add_constant(n->graph, "w", tensor);
}

typedef struct window {
  int64_t height, width, stride, pad_height, pad_width, group;
  float gain; // of the weights
} window;

static feature conv_to(network *n, feature x, int64_t out, window w) {
  int64_t side = (x.side + 2 * w.pad_height - w.height) / w.stride + 1;
  dq_value *inputs[] = {x.value, weight(n, 4, (int64_t[]){out, x.channels / w.group, w.height, w.width}, w.gain)};
  dq_node *node;
  feature y = apply(n, "Conv", 2, inputs, out, side, &node);
  const int64_t pads[] = {w.pad_height, w.pad_width, w.pad_height, w.pad_width};
  dq_node_set_ints(n->graph, node, "kernel_shape", (int64_t[]){w.height, w.width}, 2);
  dq_node_set_ints(n->graph, node, "strides", (int64_t[]){w.stride, w.stride}, 2);
  dq_node_set_ints(n->graph, node, "pads", pads, 4);
  dq_node_set_int(n->graph, node, "group", w.group);
  return y;
}

// Square kernels with padding that keeps the side, and a Relu.
static feature conv(network *n, feature x, int64_t out, int64_t kernel, int64_t stride) {
  window w = {kernel, kernel, stride, kernel / 2, kernel / 2, 1, 1};
  return unary(n, "Relu", conv_to(n, x, out / n->divisor, w));
}

static feature valid(network *n, feature x, int64_t out, int64_t kernel, int64_t stride) {
  return unary(n, "Relu", conv_to(n, x, out / n->divisor, (window){kernel, kernel, stride, 0, 0, 1, 1}));
}

static feature tall(network *n, feature x, int64_t out, int64_t height, int64_t width) {
  window w = {height, width, 1, height / 2, width / 2, 1, 1};
  return unary(n, "Relu", conv_to(n, x, out / n->divisor, w));
}

static feature pool(network *n, const char *op, feature x, int64_t kernel, int64_t stride, int64_t pad) {
  dq_node *node;
  int64_t side = (x.side + 2 * pad - kernel) / stride + 1;
  feature y = apply(n, op, 1, &x.value, x.channels, side, &node);
  dq_node_set_ints(n->graph, node, "kernel_shape", (int64_t[]){kernel, kernel}, 2);
  dq_node_set_ints(n->graph, node, "strides", (int64_t[]){stride, stride}, 2);
  dq_node_set_ints(n->graph, node, "pads", (int64_t[]){pad, pad, pad, pad}, 4);
  return y;
}

static feature add(network *n, feature a, feature b) {
  return apply(n, "Add", 2, (dq_value *[]){a.value, b.value}, a.channels, a.side, NULL);
}

static feature join(network *n, int count, const feature *parts) {
  dq_value *inputs[8];
  int64_t channels = 0;
  for (int i = 0; i < count; i++) inputs[i] = parts[i].value, channels += parts[i].channels;
  dq_node *node;
  feature y = apply(n, "Concat", count, inputs, channels, parts[0].side, &node);
  dq_node_set_int(n->graph, node, "axis", 1);
  return y;
}

static feature dense(network *n, feature x, int64_t out) {
  dq_value *inputs[] = {x.value, weight(n, 2, (int64_t[]){out, x.channels * x.side * x.side}, 1)};
  dq_node *node;
  feature y = apply(n, "Gemm", 2, inputs, out, 1, &node);
  dq_node_set_int(n->graph, node, "transB", 1);
  return y;
}

static feature classify(network *n, feature x) {
  x = unary(n, "GlobalAveragePool", x);
  x.side = 1;
  return dense(n, unary(n, "Flatten", x), 1000 / n->divisor);
}

static feature vgg16(network *n, feature x) {
  static const int blocks[5][2] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  for (int b = 0; b < 5; b++) {
    for (int i = 0; i < blocks[b][0]; i++) x = conv(n, x, blocks[b][1], 3, 1);
    x = pool(n, "MaxPool", x, 2, 2, 0);
  }
  x = unary(n, "Flatten", x);
  for (int i = 0; i < 2; i++) x = unary(n, "Relu", dense(n, x, 4096 / n->divisor));
  return dense(n, x, 1000 / n->divisor);
}

static feature resnet(network *n, feature x, const int depth[4]) {
  x = pool(n, "MaxPool", conv(n, x, 64, 7, 2), 3, 2, 1);
  for (int stage = 0; stage < 4; stage++)
    for (int block = 0; block < depth[stage]; block++) {
      int64_t width = 64 << stage, stride = stage && !block ? 2 : 1;
      int64_t out = 4 * width / n->divisor;
      window point = {1, 1, 1, 0, 0, 1, 1}, shortcut = {1, 1, stride, 0, 0, 1, 1};
      feature y = conv(n, conv(n, x, width, 1, 1), width, 3, stride);
      y = conv_to(n, y, out, point);
      x = unary(n, "Relu", add(n, y, block ? x : conv_to(n, x, out, shortcut)));
    }
  return classify(n, x);
}

static feature resnet50(network *n, feature x) { return resnet(n, x, (const int[]){3, 4, 6, 3}); }

static feature resnet152(network *n, feature x) { return resnet(n, x, (const int[]){3, 8, 36, 3}); }

static feature multiply(network *n, feature x, feature y) {
  return apply(n, "Mul", 2, (dq_value *[]){x.value, y.value}, x.channels, x.side, NULL);
}

static feature silu(network *n, feature x) { return multiply(n, x, unary(n, "Sigmoid", x)); }

// Channels scaled by what their averages say (squeeze and excitation, through `inner` channels).
static feature excite(network *n, feature x, int64_t inner) {
  const window point = {1, 1, 1, 0, 0, 1, 1};
  feature gate = unary(n, "GlobalAveragePool", x);
  gate.side = 1;
  gate = silu(n, conv_to(n, gate, inner, point));
  return multiply(n, x, unary(n, "Sigmoid", conv_to(n, gate, x.channels, point)));
}

// A block of EfficientNetV2: widened by a 3x3 (fused) or by a 1x1 and a depthwise 3x3, then narrowed. What is added
// is small (Zhang, Dauphin, Ma, "Fixup initialization", ICLR 2019, section 3), or values would grow from block to
// block, and sigmoids of them become subnormal numbers, which no trained network is full of.
static feature bottleneck(network *n, feature x, int64_t out, int64_t expansion, int64_t stride, bool fused) {
  const bool adds = stride == 1 && x.channels == out;
  const window point = {1, 1, 1, 0, 0, 1, 1}, last = {1, 1, 1, 0, 0, 1, adds ? 0.2f : 1};
  int64_t wide = x.channels * expansion;
  window full = {3, 3, stride, 1, 1, 1, 1}, depthwise = {3, 3, stride, 1, 1, wide, 1};
  feature y;
  if (fused) {
    y = silu(n, conv_to(n, x, expansion == 1 ? out : wide, full));
  } else {
    y = silu(n, conv_to(n, silu(n, conv_to(n, x, wide, point)), wide, depthwise));
    y = excite(n, y, (x.channels + 3) / 4);
  }
  if (!fused || expansion > 1) y = conv_to(n, y, out, last);
  return adds ? add(n, y, x) : y;
}

static feature efficientnetv2_s(network *n, feature x) {
  static const struct {
    int expansion, channels, blocks, stride;
    bool fused;
  } stages[6] = {{1, 24, 2, 1, true},   {4, 48, 4, 2, true},   {4, 64, 4, 2, true},
                 {4, 128, 6, 2, false}, {6, 160, 9, 1, false}, {6, 256, 15, 2, false}};
  x = silu(n, conv_to(n, x, 24 / n->divisor, (window){3, 3, 2, 1, 1, 1, 1}));
  for (int s = 0; s < 6; s++)
    for (int b = 0; b < stages[s].blocks; b++)
      x = bottleneck(n, x, stages[s].channels / n->divisor, stages[s].expansion, b ? 1 : stages[s].stride,
                     stages[s].fused);
  return classify(n, silu(n, conv_to(n, x, 1280 / n->divisor, (window){1, 1, 1, 0, 0, 1, 1})));
}

static feature regnety32gf(network *n, feature x) {
  static const int depth[4] = {2, 5, 12, 1}, widths[4] = {232, 696, 1392, 3712};
  x = conv(n, x, 32, 3, 2);
  for (int stage = 0; stage < 4; stage++)
    for (int block = 0; block < depth[stage]; block++) {
      int64_t width = widths[stage], stride = block ? 1 : 2, out = width / n->divisor;
      window point = {1, 1, 1, 0, 0, 1, 1}, shortcut = {1, 1, stride, 0, 0, 1, 1};
      window grouped = {3, 3, stride, 1, 1, width / 232, 1};
      feature y = unary(n, "Relu", conv_to(n, conv(n, x, width, 1, 1), out, grouped));
      feature gate = unary(n, "GlobalAveragePool", y);
      gate.side = 1;
      gate = unary(n, "Relu", conv_to(n, gate, (x.channels + 2) / 4, point));
      gate = unary(n, "Sigmoid", conv_to(n, gate, out, point));
      y = apply(n, "Mul", 2, (dq_value *[]){y.value, gate.value}, out, y.side, NULL);
      y = conv_to(n, y, out, point);
      x = unary(n, "Relu", add(n, y, block ? x : conv_to(n, x, out, shortcut)));
    }
  return classify(n, x);
}

static feature average(network *n, feature x, int64_t out) {
  return conv(n, pool(n, "AveragePool", x, 3, 1, 1), out, 1, 1);
}

static feature inception_c(network *n, feature x, int64_t c) {
  feature a = tall(n, conv(n, x, c, 1, 1), c, 1, 7);
  feature b = tall(n, tall(n, conv(n, x, c, 1, 1), c, 7, 1), c, 1, 7);
  b = tall(n, tall(n, b, c, 7, 1), 192, 1, 7);
  const feature parts[] = {conv(n, x, 192, 1, 1), tall(n, a, 192, 7, 1), b, average(n, x, 192)};
  return join(n, 4, parts);
}

static feature inception_e(network *n, feature x) {
  feature a = conv(n, x, 384, 1, 1), b = conv(n, conv(n, x, 448, 1, 1), 384, 3, 1);
  const feature parts[] = {conv(n, x, 320, 1, 1), tall(n, a, 384, 1, 3), tall(n, a, 384, 3, 1),
                           tall(n, b, 384, 1, 3), tall(n, b, 384, 3, 1), average(n, x, 192)};
  return join(n, 6, parts);
}

static feature inception_v3(network *n, feature x) {
  static const int pools[3] = {32, 64, 64}, sevens[4] = {128, 160, 160, 192};
  x = conv(n, valid(n, valid(n, x, 32, 3, 2), 32, 3, 1), 64, 3, 1);
  x = valid(n, conv(n, pool(n, "MaxPool", x, 3, 2, 0), 80, 1, 1), 192, 3, 1);
  x = pool(n, "MaxPool", x, 3, 2, 0);
  for (int i = 0; i < 3; i++) {
    feature a = conv(n, conv(n, x, 48, 1, 1), 64, 5, 1);
    feature b = conv(n, conv(n, conv(n, x, 64, 1, 1), 96, 3, 1), 96, 3, 1);
    const feature parts[] = {conv(n, x, 64, 1, 1), a, b, average(n, x, pools[i])};
    x = join(n, 4, parts);
  }
  feature deep = valid(n, conv(n, conv(n, x, 64, 1, 1), 96, 3, 1), 96, 3, 2);
  const feature b[] = {valid(n, x, 384, 3, 2), deep, pool(n, "MaxPool", x, 3, 2, 0)};
  x = join(n, 3, b);
  for (int i = 0; i < 4; i++) x = inception_c(n, x, sevens[i]);
  deep = tall(n, tall(n, conv(n, x, 192, 1, 1), 192, 1, 7), 192, 7, 1);
  const feature d[] = {valid(n, conv(n, x, 192, 1, 1), 320, 3, 2), valid(n, deep, 192, 3, 2),
                       pool(n, "MaxPool", x, 3, 2, 0)};
  x = join(n, 3, d);
  return classify(n, inception_e(n, inception_e(n, x)));
}

static const struct {
  const char *name;
  int64_t side;
  feature (*make)(network *n, feature x);
} networks[] = {{"vgg16", 224, vgg16},
                {"resnet50", 224, resnet50},
                {"resnet152", 224, resnet152},
                {"efficientnetv2_s", 224, efficientnetv2_s},
                {"inception_v3", 299, inception_v3},
                {"regnety32gf", 224, regnety32gf}};

static dq_value *declare(network *n, dq_value *value, int rank, const int64_t *sizes) {
  dq_dimension *dims = DQ_NEW_ARRAY(n->graph->arena, rank, dq_dimension);
  for (int i = 0; i < rank; i++) dims[i].size = sizes[i];
  value->type = DQ_F32, value->rank = rank, value->dims = dims;
  return value;
}

static dq_status make(int which, int64_t divisor, const char *path, dq_error *error) {
  network n = {dq_graph_new(0), {0}, divisor};
  DQ_TRY(dq_graph_set_opset(n.graph, "", 13, error));
  n.graph->ir_version = 7;
  n.graph->name = networks[which].name;
  int64_t side = networks[which].side;
  feature x = {dq_graph_add_value(n.graph, "x"), 3, side};
  n.graph->inputs = DQ_NEW_ARRAY(n.graph->arena, 1, dq_value *);
  n.graph->outputs = DQ_NEW_ARRAY(n.graph->arena, 1, dq_value *);
  n.graph->inputs[0] = declare(&n, x.value, 4, (int64_t[]){1, 3, side, side});
  n.graph->input_count = 1, x.value->is_input = true;
  feature y = networks[which].make(&n, x);
  n.graph->outputs[0] = declare(&n, y.value, 2, (int64_t[]){1, y.channels});
  n.graph->output_count = 1, y.value->is_output = true;
  DQ_TRY(dq_graph_index(n.graph, false, error));
  dq_status status = dq_onnx_save(n.graph, path, error);
  dq_graph_free(n.graph);
  return status;
}

int main(int argc, char **argv) {
  dq_error error = {0};
  for (int i = 0; argc == 4 && i < (int)(sizeof networks / sizeof *networks); i++) {
    if (strcmp(argv[1], networks[i].name) != 0) continue;
    dq_status status = make(i, dq_max_i64(1, atoll(argv[2])), argv[3], &error);
    if (status != DQ_OK) fprintf(stderr, "%s\n", error.message);
    return (int)status;
  }
  fprintf(stderr,
          "usage: make_networks vgg16|resnet50|resnet152|efficientnetv2_s|inception_v3|regnety32gf DIVISOR FILE\n");
  return 2;
}
