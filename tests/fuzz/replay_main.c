// Runs a fuzz target without a fuzzing engine: on files, on every truncation of the small ones, and on
// copies of them with random bits flipped. A crash or a sanitizer report fails by ending the program.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRUNCATED_SIZE = 4096 };

static int run_variants(const dq_file *file, int flips, uint64_t seed) {
  int runs = 1;
  uint8_t *copy = malloc(file->size + 1);
  if (!copy) return -1;
  LLVMFuzzerTestOneInput(file->data, file->size);
  for (size_t size = 0; file->size <= TRUNCATED_SIZE && size < file->size; size++, runs++) {
    memcpy(copy, file->data, size); // its own allocation ends where the data ends
    uint8_t *exact = malloc(size + 1);
    if (!exact) break;
    memcpy(exact, copy, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
  }
  dq_random random = {seed};
  for (int i = 0; i < flips && file->size; i++, runs++) {
    memcpy(copy, file->data, file->size);
    int bits = 1 + (int)dq_random_below(&random, 4);
    for (int b = 0; b < bits; b++)
      copy[dq_random_below(&random, file->size)] ^= (uint8_t)(1u << dq_random_below(&random, 8));
    LLVMFuzzerTestOneInput(copy, file->size);
  }
  free(copy);
  return runs;
}

// usage: replay FLIPS FILE...
int main(int argc, char **argv) {
  int flips = argc > 1 ? atoi(argv[1]) : 0, passed = 0, failed = 0;
  for (int i = 2; i < argc; i++) {
    dq_file file;
    dq_error error = {0};
    if (dq_file_open(&file, argv[i], &error) != DQ_OK) {
      printf("%s\n", error.message);
      failed++;
      continue;
    }
    int runs = run_variants(&file, flips, (uint64_t)i);
    if (runs > 0) passed += runs;
    else failed++;
    dq_file_close(&file);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
