#include "tests/fuzz/small_model.h"

#include "lib/base/dtype.h"
#include "tests/unit/wire.h"

static void add_constant(wire *graph, const char *name, int rank, const int64_t *dims) {
  wire tensor = wire_tensor(name, DQ_F32, rank, dims);
  dq_random random = {(uint64_t)name[0] + (uint64_t)rank};
  float values[12 * 4 * 9];
  size_t count = 1;
  for (int i = 0; i < rank; i++) count *= (size_t)dims[i];
  for (size_t i = 0; i < count; i++) values[i] = rank == 1 ? 1 + 0.1f * (float)i : dq_random_normal(&random);
  wire_bytes(&tensor, 9, values, count * sizeof *values);
  wire_message(graph, 5, &tensor);
}

static wire conv(const char *name, const char *input, const char *weight, const char *output) {
  wire node = wire_node("Conv", name, input, output), pads = {0};
  wire_text(&node, 1, weight);
  wire_text(&pads, 1, "pads");
  for (int i = 0; i < 4; i++) wire_int(&pads, 8, 1);
  wire_int(&pads, 20, 7);
  wire_message(&node, 5, &pads);
  return node;
}

static wire make_model(void) {
  static const char *const statistics[] = {"scale", "bias", "mean", "var"};
  wire graph = {0};
  wire x = wire_declaration("x", 4, (int64_t[]){1, 3, 8, 8}), y = wire_declaration("y", 4, (int64_t[]){1, 12, 8, 8});
  wire_text(&graph, 2, "small");
  wire_message(&graph, 11, &x);
  wire_message(&graph, 12, &y);
  wire first = conv("conv1", "x", "w1", "a"), norm = wire_node("BatchNormalization", "bn", "a", "b");
  wire act = wire_node("Relu", "act", "b", "c"), second = conv("conv2", "c", "w2", "y");
  for (int i = 0; i < 4; i++) {
    wire_text(&norm, 1, statistics[i]);
    add_constant(&graph, statistics[i], 1, (int64_t[]){4});
  }
  wire_message(&graph, 1, &first), wire_message(&graph, 1, &norm);
  wire_message(&graph, 1, &act), wire_message(&graph, 1, &second);
  add_constant(&graph, "w1", 4, (int64_t[]){4, 3, 3, 3});
  add_constant(&graph, "w2", 4, (int64_t[]){12, 4, 3, 3});
  return wire_model(&graph);
}

const uint8_t *fuzz_small_model_bytes(size_t *size) {
  static wire made;
  if (!made.data) made = make_model();
  *size = made.size;
  return made.data;
}

dq_model *fuzz_small_model(void) {
  dq_failure failure;
  dq_model *model = NULL;
  size_t size;
  const uint8_t *data = fuzz_small_model_bytes(&size);
  if (dq_model_load_bytes(&model, fuzz_engine(), data, size, NULL, &failure) != DQ_CODE_OK)
    fuzz_fail("the small model: %s", failure.message);
  return model;
}
