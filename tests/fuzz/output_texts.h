// Texts that say how the outputs of a network are read, as kinds of the target fuzz_settings, and what its kinds share.
#ifndef DQ_TESTS_FUZZ_OUTPUT_TEXTS_H
#define DQ_TESTS_FUZZ_OUTPUT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// One context of one thread with a bound of FUZZ_MEMORY, opened on first use.
const dq_context *fuzz_context(void);
// A function below the interface answered: as fuzz_answer; a success is counted (FUZZ_READ).
void fuzz_status(dq_status status, const dq_error *error, const char *what);
// A graph of the small model, which the caller frees.
dq_graph *fuzz_small_graph(const dq_context *context);
// Writes a picture that can be read.
void fuzz_good_picture(const char *name);

// Kinds; data[size] is 0. What an export says of itself, how boxes are decoded, names of classes, dictionaries.
void fuzz_use_metadata(const uint8_t *data, size_t size);
void fuzz_use_decode(const uint8_t *data, size_t size);
void fuzz_use_names(const uint8_t *data, size_t size);
void fuzz_use_characters(const uint8_t *data, size_t size);

#endif
