// What a fuzz target is made of. A target is one file, fuzz_NAME.c, which defines `fuzz_target` and
// LLVMFuzzerTestOneInput; it is linked with libFuzzer's main (make fuzz) or with driver.c, which needs no
// particular compiler. Both mutate by the same functions.
#ifndef DQ_TESTS_FUZZ_FUZZ_H
#define DQ_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/random.h"
#include "lib/dq.h"

enum { FUZZ_LARGEST = 1 << 16 }; // bytes of an input

// Changes data[0...size) in place, to at most `capacity` bytes; returns the new size. `other` is a second
// input to take pieces of. The same arguments give the same bytes.
typedef size_t fuzz_mutator(uint8_t *data, size_t size, size_t capacity, const uint8_t *other, size_t other_size,
                            dq_random *random);

typedef struct fuzz_target_functions {
  const char *name;
  fuzz_mutator *mutate;
  // Seed `index` into data[FUZZ_LARGEST]; 0: there are no more. NULL: all seeds are files.
  size_t (*seed)(int index, uint8_t *data);
} fuzz_target_functions;

extern const fuzz_target_functions fuzz_target;
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// ---- Mutators ----

fuzz_mutator fuzz_mutate_bytes; // bits, numbers at any place, blocks moved, cut, doubled
fuzz_mutator fuzz_mutate_text;  // numbers, words, lines and JSON members; then bytes now and then
fuzz_mutator
    fuzz_mutate_json; // members and elements, so that it stays JSON; as a text now and then, or when it is none
fuzz_mutator fuzz_mutate_model; // the messages of an ONNX model; bytes now and then

// A number on which arithmetic breaks, or a neighbour of `value`; small ones more often than huge ones.
int64_t fuzz_integer(dq_random *random, int64_t value);
double fuzz_real(dq_random *random); // 0, tiny, huge, infinite, NaN, or ordinary

// ---- What targets share ----

enum { FUZZ_MEMORY = 16 << 20 }; // bytes that the engine may take

// One engine of one thread with that bound, opened on first use.
dq_engine *fuzz_engine(void);
// A path in a folder of this process, in memory where the system has /dev/shm; removed at exit. Holds until
// the eighth call after it.
const char *fuzz_path(const char *name);
void fuzz_write(const char *path, const void *data, size_t size);
// The bytes of a file, malloc'ed with a zero behind; ends the program when it cannot be read.
uint8_t *fuzz_read(const char *path, size_t *size);

// Ends the program by abort(), which every driver counts as a finding.
void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
// A call answered: its code must be one of dq_code, and with a failure there must be one line that says
// why. Returns whether it is DQ_CODE_OK.
int fuzz_answer(dq_code code, const dq_failure *failure, const char *what);

// How many inputs got how far; driver.c prints it behind the cases, so that one sees what was tried at all.
typedef enum fuzz_stage { FUZZ_READ, FUZZ_RUN, FUZZ_CHANGED, FUZZ_STAGES } fuzz_stage;
extern int64_t *fuzz_reached; // [FUZZ_STAGES], of all processes
void fuzz_reach(fuzz_stage stage);

// Saves the model, loads what was saved, and saves that: both files must have the same bytes.
void fuzz_round_trip(const dq_model *model, const char *what);
// Whether nothing is known against running the model in about a millisecond: no more products than that are
// counted. Models that are refused count as small, as they must be refused by whatever opens them too.
int fuzz_is_small(dq_model *model, int64_t products);
// Opens the model, fills its inputs and runs it once. DQ_CODE_OK, or why it could not be opened or run.
dq_code fuzz_run(dq_model *model);

#endif
