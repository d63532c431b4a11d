// What the tests of the public interface share: an engine, a small model, pictures.
#ifndef TESTS_UNIT_API_HARNESS_H
#define TESTS_UNIT_API_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/dq.h"

extern dq_engine *api_engine;  // with two threads; opened by api_enter
extern dq_failure api_failure; // of the last call
extern const char *api_small;  // path of small.onnx, which lies beside the tests
extern int api_notices;        // messages of the engine so far

// Set-up and tear-down of a group of tests. The program then has the locale tr_TR.ISO-8859-9 of the build folder, where
// a number has a decimal comma and the lower case of I is not i; a message says where it is missing.
int api_enter(void **state);
int api_leave(void **state);

// Whether the program has the locale.
bool api_has_locale(void);

dq_model *api_load(void); // small.onnx; skips the test where it is not there
dq_dataset *api_pictures(const char *spec);
// Fails the test unless the call gave `expected`, and api_failure says so with `word` in its message.
void api_expect(dq_code code, dq_code expected, const char *word);
// Fails the test unless the files have the same bytes, at least one and less than 1 MiB.
void api_assert_same_files(const char *one, const char *other);

#endif
