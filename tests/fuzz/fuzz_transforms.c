// The transforms on models: each model meets one of them, with options that its bytes choose. What comes out
// must load, have the same bytes when it is saved again, and run where the model did.
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "datasets/npy.h"
#include "tests/fuzz/fuzz.h"

enum { PRODUCTS = 200000, PICTURES = 2 };

const fuzz_target_functions fuzz_target = {"transforms", fuzz_mutate_model, NULL};

static dq_code amp(dq_model *model, uint64_t choice, dq_failure *failure) {
  static const char *const deny[] = {"Conv", NULL}, *const follow[] = {"Gemm", "Add", NULL};
  dq_model_amp_options options;
  dq_model_amp_defaults(&options, sizeof options);
  options.half_io = choice & 1;
  options.nearest = choice >> 1 & 1;
  if (choice & 4) options.deny = deny;
  if (choice & 8) options.follow = follow;
  return dq_model_amp(model, &options, NULL, failure);
}

static dq_code tucker(dq_model *model, uint64_t choice, dq_failure *failure) {
  dq_model_tucker_options options;
  dq_model_tucker_defaults(&options, sizeof options);
  switch (choice & 3) {
  case 0: options.ratio = 0.5; break;
  case 1: options.energy = 0.8; break;
  case 2: options.macs = 0.7; break;
  default: options.ratio = 1;
  }
  options.multiple = 1 + (int64_t)(choice >> 2 & 3);
  options.plain = choice >> 4 & 1;
  options.force = choice >> 5 & 1;
  return dq_model_tucker(model, &options, NULL, failure);
}

// Pictures of the model's first input, where it can be opened.
static void write_pictures(dq_model *model, const char *path) {
  dq_array array = {.rank = 4, .dims = {1, 3, 6, 6}};
  dq_network *network = NULL;
  dq_error error = {0};
  if (dq_network_open(&network, model, NULL, NULL) == DQ_CODE_OK) dq_network_input(network, 0, &array);
  dq_network_close(network);
  dq_arena *arena = dq_arena_new(NULL);
  if (array.rank < 1) array.rank = 1;
  array.dims[0] = PICTURES;
  dq_tensor *tensor = dq_tensor_new(arena, DQ_F32, array.rank, array.dims);
  if (!tensor) fuzz_fail("no memory for pictures");
  dq_random random = {1};
  for (int64_t i = 0; i < dq_tensor_count(tensor); i++) dq_tensor_set(tensor, i, (double)dq_random_normal(&random));
  if (dq_npy_write(path, tensor, &error) != DQ_OK) fuzz_fail("%s", error.message);
  dq_arena_free(arena);
}

static dq_code int8(dq_model *model, uint64_t choice, dq_failure *failure) {
  static const char *const methods[] = {"minmax", "percentile", "mse", "entropy"};
  char spec[160] = "npy:";
  dq_model_int8_options options;
  dq_dataset *dataset = NULL;
  const char *pictures = fuzz_path("pictures.npy");
  write_pictures(model, pictures);
  strcat(spec, pictures);
  dq_code code = dq_dataset_open(&dataset, fuzz_engine(), spec, NULL, failure);
  if (code != DQ_CODE_OK) return code;
  dq_model_int8_defaults(&options, sizeof options);
  options.method = methods[choice & 3];
  options.per_tensor = choice >> 2 & 1;
  options.signed_activations = choice >> 3 & 1;
  options.symmetric = choice >> 4 & 1;
  options.equalize = (dq_choice)((choice >> 5 & 3) % 3);
  options.bias_correction = (dq_choice)((choice >> 7 & 3) % 3);
  options.sums = (dq_sums)(choice >> 9 & 3);
  options.rounding = (choice >> 11 & 7) == 0 ? "adaptive" : NULL;
  code = dq_model_int8(model, dataset, &options, NULL, failure);
  dq_dataset_close(dataset);
  return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct {
    const char *name;
    dq_code (*apply)(dq_model *model, uint64_t choice, dq_failure *failure);
  } transforms[] = {{"amp", amp}, {"int8", int8}, {"tucker", tucker}};
  dq_failure failure;
  dq_model *model = NULL;
  uint64_t choice = XXH64(data, size, 0);
  unsigned which = (unsigned)(choice >> 40) % 3;
  dq_code code = dq_model_load_bytes(&model, fuzz_engine(), data, size, "/nonexistent", &failure);
  if (!fuzz_answer(code, &failure, "loading")) return 0;
  fuzz_reach(FUZZ_READ);
  bool small = fuzz_is_small(model, PRODUCTS), runs = small && fuzz_run(model) == DQ_CODE_OK;
  if (small) {
    code = transforms[which].apply(model, choice, &failure);
    if (fuzz_answer(code, &failure, transforms[which].name)) {
      fuzz_reach(FUZZ_CHANGED);
      fuzz_round_trip(model, transforms[which].name);
      if (runs && (code = fuzz_run(model)) != DQ_CODE_OK && code != DQ_CODE_SYSTEM)
        fuzz_fail("%s: the model ran before, and does not now: %d", transforms[which].name, (int)code);
    }
  }
  dq_model_free(model);
  return 0;
}
