// The target's mutator as libFuzzer calls it.
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t capacity, unsigned seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
  dq_random random = {seed};
  return fuzz_target.mutate(data, size, capacity, NULL, 0, &random);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t capacity, unsigned seed) {
  dq_random random = {seed};
  if (size > capacity) size = capacity;
  memcpy(out, data, size);
  return fuzz_target.mutate(out, size, capacity, other, other_size, &random);
}
