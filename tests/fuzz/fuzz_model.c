// Models: loading, cost, opening (passes and plan), running, saving and loading again.
#include "tests/fuzz/fuzz.h"

enum { PRODUCTS = 1000000 };

const fuzz_target_functions fuzz_target = {"model", fuzz_mutate_model, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  dq_failure failure;
  dq_model *model = NULL;
  dq_code code = dq_model_load_bytes(&model, fuzz_engine(), data, size, "/nonexistent", &failure);
  if (!fuzz_answer(code, &failure, "loading")) return 0;
  fuzz_reach(FUZZ_READ);
  if (fuzz_is_small(model, PRODUCTS)) fuzz_run(model);
  fuzz_round_trip(model, "model");
  dq_model_free(model);
  return 0;
}
