// The ground everything stands on: arenas, sizes, outputs, threads, instruction-set masks.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/context.h"
#include "lib/base/file.h"
#include "lib/base/poison.h"
#include "lib/base/sizes.h"
#include "lib/base/tensor.h"

// Budgets count what arenas and buffers hold together, and all of it is given back.
static void budgets(void **state) {
  (void)state;
  dq_budget budget = {.limit = 1 << 20};
  dq_arena *arena = dq_arena_new(&budget), *beside = dq_arena_beside(arena);
  assert_non_null(dq_arena_alloc(arena, 500 << 10));
  assert_non_null(dq_arena_alloc(beside, 400 << 10));
  assert_false(dq_arena_exhausted(arena));
  assert_int_equal(budget.refused, 0);
  assert_null(dq_arena_alloc(arena, 300 << 10)); // the bound holds for the sum
  assert_true(dq_arena_exhausted(arena));
  assert_true(budget.refused >= 300 << 10);
  assert_null(dq_budget_alloc(&budget, 300 << 10));
  assert_null(dq_budget_alloc(&budget, SIZE_MAX - 8));
  dq_arena_free(beside);
  char *buffer = dq_budget_alloc(&budget, 100 << 10);
  assert_non_null(buffer);
  assert_int_equal(buffer[0] | buffer[(100 << 10) - 1], 0);
  buffer[7] = 'x';
  assert_null(dq_budget_realloc(buffer, 600 << 10));
  assert_non_null(buffer = dq_budget_realloc(buffer, 200 << 10));
  assert_int_equal(buffer[7], 'x');
  assert_true(budget.used >= 700 << 10);
  dq_budget_free(buffer);
  dq_budget_free(NULL);
  dq_arena_free(arena);
  assert_int_equal(budget.used, 0);
}

// Large and small blocks begin anywhere in a page, in units of 64 bytes, zeroed to the end, and count as they would
// without; NULL ends that.
static void scattered_arenas(void **state) {
  (void)state;
  enum { TIMES = 64, PAGE = 4096, LARGE = (4 << 20) + 64 };
  dq_budget budget = {0};
  dq_random places = dq_random_start(1, 0);
  bool seen[2][PAGE / 64] = {{0}};
  int different[2] = {0};
  for (int i = 0; i < TIMES; i++) {
    dq_arena *arena = dq_arena_new(&budget);
    dq_arena_scatter(arena, &places);
    uint8_t *blocks[2] = {dq_arena_alloc(arena, 3 * PAGE), dq_arena_alloc(arena, LARGE)};
    assert_true(blocks[0] && blocks[1]);
    assert_int_equal(budget.used, 3 * PAGE + LARGE);
    assert_int_equal(blocks[1][LARGE - 1], 0);
    memset(blocks[0], 1, 3 * PAGE);
    memset(blocks[1], 1, LARGE);
    for (int b = 0; b < 2; b++) {
      assert_int_equal((uintptr_t)blocks[b] % 64, 0);
      bool *place = &seen[b][(uintptr_t)blocks[b] % PAGE / 64];
      different[b] += !*place;
      *place = true;
    }
    dq_arena_release(arena, blocks[0]);
    dq_arena_scatter(arena, NULL);
    assert_int_equal((uintptr_t)dq_arena_alloc(arena, LARGE) % PAGE, 0);
    dq_arena_free(arena);
    assert_int_equal(budget.used, 0);
  }
  assert_true(different[0] > 16 && different[1] > 16); // 40 of 64 are to be expected
}

static void arenas(void **state) {
  (void)state;
  dq_arena *arena = dq_arena_new(0);
  uint8_t *first = dq_arena_alloc(arena, 100);
  assert_non_null(first);
  for (int i = 0; i < 100; i++) assert_int_equal(first[i], 0);
  assert_int_equal((uintptr_t)first % 16, 0);
  assert_non_null(dq_arena_alloc(arena, 0));
  dq_arena_free(arena);
  arena = dq_arena_new(0);
  assert_null(dq_arena_array(arena, SIZE_MAX / 2, 4));
  assert_null(dq_arena_alloc(arena, SIZE_MAX));
  assert_int_equal((uintptr_t)dq_arena_alloc(arena, 100000) % 64, 0);
  assert_string_equal(dq_arena_strndup(arena, "abcdef", 3), "abc");
  assert_string_equal(dq_arena_printf(arena, "%d-%s", 7, "x"), "7-x");
  uint8_t *pages = dq_arena_alloc(arena, (5 << 20) + 1); // on a page of 2 MB, and zeroed to its end
  assert_int_equal((uintptr_t)pages % (2 << 20), 0);
  assert_int_equal(pages[0] | pages[5 << 20], 0);
  dq_arena_release(arena, pages);
  void *small = dq_arena_alloc(arena, 100), *large = dq_arena_alloc(arena, 8192);
  size_t before = dq_arena_bytes(arena);
  dq_arena_release(arena, small);
  assert_int_equal(dq_arena_bytes(arena), before);
  dq_arena_release(arena, large);
  assert_int_equal(dq_arena_bytes(arena), before - 8192);
  dq_arena_release(arena, large); // nothing of this arena any more
  assert_int_equal(dq_arena_bytes(arena), before - 8192);
  dq_arena_free(arena);
  dq_arena_free(NULL);
}

// Of very many large allocations each one is found, once, whatever the order.
static void released_of_many(void **state) {
  (void)state;
  enum { COUNT = 5000, BYTES = 4096, STEP = 1777 }; // STEP: without a common factor with COUNT
  static void *memory[COUNT];
  dq_arena *arena = dq_arena_new(0);
  for (int i = 0; i < COUNT; i++) assert_non_null(memory[i] = dq_arena_alloc(arena, BYTES));
  for (int i = 0; i < COUNT; i++) {
    dq_arena_release(arena, memory[(int64_t)i * STEP % COUNT]);
    assert_int_equal(dq_arena_bytes(arena), (size_t)(COUNT - 1 - i) * BYTES);
  }
  dq_arena_free(arena);
}

// Under AddressSanitizer an allocation of an arena is guarded to the byte, as one of malloc is.
static void guarded_arenas(void **state) {
  (void)state;
  if (!DQ_REDZONE) skip();
  static const size_t bytes[] = {1, 13, 100, 4000, 4095, 4097, 100001, (2 << 20) + 3};
  dq_arena *arena = dq_arena_new(0);
  for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
    char *memory = dq_arena_alloc(arena, bytes[i]);
    assert_false(dq_is_poisoned(memory));
    assert_false(dq_is_poisoned(memory + bytes[i] - 1));
    assert_true(dq_is_poisoned(memory + bytes[i]));
    assert_true(dq_is_poisoned(memory - 1));
  }
  char *released = dq_arena_alloc(arena, 8192), *kept = dq_arena_alloc(arena, 10);
  dq_arena_release(arena, released);
  assert_true(dq_is_poisoned(released));
  dq_arena_free(arena);
  assert_true(dq_is_poisoned(kept));
}

static void sizes(void **state) {
  (void)state;
  size_t size;
  int64_t number;
  assert_true(dq_mul_size(1 << 20, 1 << 20, &size) && size == (size_t)1 << 40);
  assert_false(dq_mul_size(SIZE_MAX, 2, &size));
  assert_false(dq_add_size(SIZE_MAX, 1, &size));
  assert_false(dq_mul_i64(INT64_MAX, 2, &number));
  assert_false(dq_mul_i64(INT64_MIN, -1, &number));
  assert_false(dq_add_i64(INT64_MIN, -1, &number));
  assert_int_equal(dq_round_up(65, 64), 128);
  assert_int_equal(dq_round_up(64, 64), 64);
}

static void shapes(void **state) {
  (void)state;
  dq_tensor tensor;
  dq_error error = {0};
  assert_int_equal(dq_tensor_shape(&tensor, DQ_F32, 2, (int64_t[]){3, 4}, &error), DQ_OK);
  assert_int_equal(dq_tensor_bytes(&tensor), 48);
  assert_int_equal(dq_tensor_shape(&tensor, DQ_F32, 2, (int64_t[]){3, -4}, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_tensor_shape(&tensor, DQ_F32, 9, (int64_t[9]){1}, &error) == DQ_OK, 0);
  int64_t huge[] = {INT64_C(1) << 31, INT64_C(1) << 31};
  assert_int_equal(dq_tensor_shape(&tensor, DQ_F32, 2, huge, &error), DQ_BAD_INPUT);
  int8_t small[2];
  dq_tensor bytes = {.type = DQ_I8, .rank = 1, .dims = {2}, .data = small};
  dq_tensor_set(&bytes, 0, 1000), dq_tensor_set(&bytes, 1, 2.5);
  assert_int_equal(small[0], 127);
  assert_int_equal(small[1], 2); // half to even
}

// ---- Outputs ----

static char folder[] = "/tmp/test_base_XXXXXX";

// The numbers, names and bits of ONNX's TensorProto.DataType. Elements of less than a byte are packed.
static void types(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int bits;
    bool computable;
  } onnx[] = {{"unknown type", 0, false},
              {"float32", 32, true},
              {"uint8", 8, true},
              {"int8", 8, true},
              {"uint16", 16, true},
              {"int16", 16, true},
              {"int32", 32, true},
              {"int64", 64, true},
              {"string", 0, false},
              {"bool", 8, true},
              {"float16", 16, true},
              {"float64", 64, true},
              {"uint32", 32, true},
              {"uint64", 64, true},
              {"complex64", 64, false},
              {"complex128", 128, false},
              {"bfloat16", 16, false},
              {"float8e4m3fn", 8, false},
              {"float8e4m3fnuz", 8, false},
              {"float8e5m2", 8, false},
              {"float8e5m2fnuz", 8, false},
              {"uint4", 4, false},
              {"int4", 4, false},
              {"float4e2m1", 4, false},
              {"float8e8m0", 8, false},
              {"uint2", 2, false},
              {"int2", 2, false}};
  for (int type = 0; type < (int)(sizeof onnx / sizeof *onnx); type++) {
    assert_string_equal(dq_dtype_name(type), onnx[type].name);
    assert_int_equal(dq_dtype_known(type), type != 0);
    assert_int_equal(dq_dtype_computable(type), onnx[type].computable);
    assert_int_equal(dq_dtype_bits(type), onnx[type].bits);
    assert_int_equal(dq_dtype_size(type), onnx[type].computable ? onnx[type].bits / 8 : 0);
    dq_tensor nine = {.type = type, .rank = 2, .dims = {3, 3}}, scalar = {.type = type},
              unknown = {.type = type, .rank = -1};
    assert_int_equal(dq_tensor_bytes(&nine), (9 * onnx[type].bits + 7) / 8);
    assert_int_equal(dq_tensor_bytes(&scalar), (onnx[type].bits + 7) / 8);
    assert_int_equal(dq_tensor_bytes(&unknown), 0);
  }
  assert_string_equal(dq_dtype_name(99), "unknown type");
  assert_true(!dq_dtype_known(99) && !dq_dtype_known(-1) && !dq_dtype_computable(99) && !dq_dtype_computable(-1));
}

static void expect_content(const char *path, const char *text) {
  dq_file file;
  dq_error error = {0};
  assert_int_equal(dq_file_open(&file, path, &error), DQ_OK);
  assert_int_equal(file.size, strlen(text));
  assert_memory_equal(file.data, text, file.size);
  assert_int_equal(file.mapped, *text != 0); // large models do not fit into memory twice
  dq_file_close(&file);
}

// A file that a killed process left is removed by who writes the same file next, unless somebody has it locked.
static void stale_outputs(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  char path[128], names[2][160];
  dq_output output;
  dq_error error = {0};
  snprintf(path, sizeof path, "%s/file", folder);
  int descriptors[2];
  for (int i = 0; i < 2; i++) {
    snprintf(names[i], sizeof names[i], "%s.dq-part%d", path, i);
    descriptors[i] = open(names[i], O_CREAT | O_WRONLY, 0600);
    assert_true(descriptors[i] >= 0);
  }
  assert_int_equal(flock(descriptors[0], LOCK_EX), 0);
  close(descriptors[1]);
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  fputs("text", output.stream);
  assert_int_equal(dq_output_commit(&output, &error), DQ_OK);
  expect_content(path, "text");
  assert_int_equal(access(names[0], F_OK), 0);
  assert_int_not_equal(access(names[1], F_OK), 0);
  close(descriptors[0]);
  unlink(names[0]);
  unlink(path);
  assert_int_equal(rmdir(folder), 0);
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

// Symbolic links stay and lead to what is written, even when nothing is there yet.
static void linked_outputs(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  char link[128], target[128], loop[128];
  dq_output output;
  dq_error error = {0};
  struct stat info;
  snprintf(link, sizeof link, "%s/link", folder);
  snprintf(target, sizeof target, "%s/target", folder);
  snprintf(loop, sizeof loop, "%s/loop", folder);
  assert_int_equal(symlink("target", link), 0);
  assert_int_equal(symlink(loop, loop), 0);
  for (int round = 0; round < 2; round++) {
    assert_int_equal(dq_output_open(&output, link, &error), DQ_OK);
    fputs(round ? "second" : "first", output.stream);
    assert_int_equal(dq_output_commit(&output, &error), DQ_OK);
    expect_content(target, round ? "second" : "first");
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
  }
  assert_int_equal(dq_output_open(&output, loop, &error), DQ_SYSTEM);
  unlink(link), unlink(target), unlink(loop);
  assert_int_equal(rmdir(folder), 0);
  strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

static void outputs(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  char path[128], inside[160];
  dq_output output;
  dq_error error = {0};
  snprintf(path, sizeof path, "%s/file", folder);
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  fputs("first", output.stream);
  assert_int_not_equal(access(path, F_OK), 0); // not there before it is complete
  assert_int_equal(dq_output_commit(&output, &error), DQ_OK);
  dq_output_discard(&output); // harmless now
  expect_content(path, "first");
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  fputs("second", output.stream);
  dq_output_discard(&output);
  expect_content(path, "first");
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  dq_output_remove_all(); // as the signal handler does
  dq_output_discard(&output);
  expect_content(path, "first");
  snprintf(inside, sizeof inside, "%s/missing/file", folder);
  assert_int_equal(dq_output_open(&output, inside, &error), DQ_SYSTEM);
  assert_int_equal(dq_output_open(&output, folder, &error), DQ_SYSTEM);
  assert_int_equal(dq_output_open(&output, "/dev/full", &error), DQ_OK);
  fputs("text", output.stream);
  assert_int_equal(dq_output_commit(&output, &error), DQ_SYSTEM);
  struct stat info;
  assert_int_equal(stat("/dev/full", &info), 0);
  assert_true(S_ISCHR(info.st_mode)); // written to, not replaced
  unlink(path);
  assert_int_equal(rmdir(folder), 0); // nothing was left behind
}

// ---- Threads ----

static void masks(void **state) {
  (void)state;
  unsigned mask;
  dq_error error = {0};
  char text[128];
  assert_int_equal(dq_cpu_mask_parse("c", &mask, &error), DQ_OK);
  assert_int_equal(mask, 0);
  assert_int_equal(dq_cpu_mask_parse("amx,vbmi", &mask, &error), DQ_OK);
  assert_int_equal(mask, DQ_CPU_AVX2 | DQ_CPU_AVX512 | DQ_CPU_VNNI | DQ_CPU_VBMI | DQ_CPU_AMX);
  assert_string_equal(dq_cpu_mask_text(mask, text, sizeof text), "avx2,avx512,vnni,vbmi,amx");
  assert_string_equal(dq_cpu_mask_text(0, text, sizeof text), "c");
  assert_int_equal(dq_cpu_mask_parse("avx512", &mask, &error), DQ_OK);
  assert_int_equal(mask, DQ_CPU_AVX2 | DQ_CPU_AVX512);
  assert_int_equal(dq_cpu_mask_parse("dotprod,c", &mask, &error), DQ_OK);
  assert_int_equal(mask, DQ_CPU_NEON | DQ_CPU_DOTPROD);
  static const char *const wrong[] = {"", "avx", "avx2,", ",avx2", "AVX2", "avx2 vnni"};
  for (int i = 0; i < 6; i++) assert_int_equal(dq_cpu_mask_parse(wrong[i], &mask, &error), DQ_USAGE);
}

static void errors(void **state) {
  (void)state;
  dq_error error = {0};
  char longer[3000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  assert_int_equal(dq_fail(&error, DQ_BAD_INPUT, "%s", longer), DQ_BAD_INPUT); // cut, not overrun
  assert_int_equal(dq_error_prefix(&error, DQ_BAD_INPUT, "%s", longer), DQ_BAD_INPUT);
  assert_true(strlen(error.message) < sizeof error.message);
  assert_int_equal(dq_fail(NULL, DQ_USAGE, "nobody listens"), DQ_USAGE);
  dq_fail(&error, DQ_CONDITION, "the reason"); // a message within the next one
  assert_int_equal(dq_fail(&error, DQ_SYSTEM, "it failed: %s", error.message), DQ_SYSTEM);
  assert_string_equal(error.message, "it failed: the reason");
  dq_error_hint(&error, "more");
  dq_error_hint(&error, "%s and %s", error.hint, error.hint);
  assert_string_equal(error.hint, "more and more");
  assert_int_equal(dq_error_prefix(&error, DQ_CONDITION, "%s", error.message), DQ_CONDITION);
  assert_string_equal(error.message, "it failed: the reason: it failed: the reason");
  assert_int_equal(error.status, DQ_CONDITION);
  dq_budget budget = {.limit = 100};
  dq_context context = {.budget = &budget};
  assert_int_equal(dq_check_memory(&context, 100, "this", &error), DQ_OK);
  assert_int_equal(dq_check_memory(&context, 101, "this", &error), DQ_SYSTEM);
}

// Calls of umask by the library are counted: reading the umask means setting it, so that files which another thread
// makes in between would get another mode.
static int umask_calls;
mode_t __real_umask(mode_t mask);
mode_t __wrap_umask(mode_t mask);
mode_t __wrap_umask(mode_t mask) {
  umask_calls++;
  return __real_umask(mask);
}

// The mode of a new file is what the umask leaves of 0666. The umask is neither changed nor read.
static void outputs_follow_the_umask(void **state) {
  (void)state;
  char path[60];
  snprintf(path, sizeof path, "/tmp/test_base_mode_%d", (int)getpid());
  const mode_t before = __real_umask(027);
  umask_calls = 0;
  dq_output output;
  dq_error error;
  struct stat info;
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  assert_int_equal(dq_output_commit(&output, &error), DQ_OK);
  assert_int_equal(stat(path, &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(__real_umask(before), 027);
  assert_int_equal(umask_calls, 0);
  unlink(path);
}

static void first_not_finite(void **state) {
  (void)state;
  float values[] = {1, -3e38f, INFINITY, NAN};
  uint16_t halves[] = {0x3c00, 0x7c00}; // 1 and infinity
  int8_t integers[] = {127, -128};
  dq_tensor tensor = {.type = DQ_F32, .rank = 1, .dims = {2}, .data = values};
  assert_int_equal(dq_tensor_first_not_finite(&tensor), -1);
  tensor.dims[0] = 4;
  assert_int_equal(dq_tensor_first_not_finite(&tensor), 2);
  assert_int_equal(dq_tensor_first_not_finite(&(dq_tensor){.type = DQ_F16, .rank = 1, .dims = {2}, .data = halves}), 1);
  assert_int_equal(dq_tensor_first_not_finite(&(dq_tensor){.type = DQ_I8, .rank = 1, .dims = {2}, .data = integers}),
                   -1);
  tensor.dims[0] = 0;
  assert_int_equal(dq_tensor_first_not_finite(&tensor), -1);
}

static void dtype_ends(void **state) {
  (void)state;
  static const struct {
    int type;
    int64_t low, high;
  } rows[] = {{DQ_U8, 0, 255},
              {DQ_I8, -128, 127},
              {DQ_U4, 0, 15},
              {DQ_I4, -8, 7},
              {DQ_U2, 0, 3},
              {DQ_I2, -2, 1},
              {DQ_U16, 0, 65535},
              {DQ_I16, INT16_MIN, INT16_MAX},
              {DQ_U32, 0, UINT32_MAX},
              {DQ_I32, INT32_MIN, INT32_MAX},
              {DQ_F32, 0, 0},
              {DQ_BOOL, 0, 0},
              {-1, 0, 0},
              {99, 0, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    assert_true(dq_dtype_low(rows[i].type) == rows[i].low);
    assert_true(dq_dtype_high(rows[i].type) == rows[i].high);
  }
}

static void store_text(void *user, dq_severity severity, const char *text) {
  (void)severity;
  snprintf(user, 64, "%s", text);
}

// Names from files in messages and failures: ESC, CSI in UTF-8 and as a byte, marks of direction, separators of lines.
static void names_in_messages(void **state) {
  (void)state;
  static const char name[] = "a\033[2J\302\2332J\2332J\342\200\256\330\234\342\200\251\n\303\244\377z";
  static const char shown[] = "a?[2J?2J?2J????\303\244\377z";
  char text[64];
  const dq_context context = {.message = store_text, .user = text};
  dq_message(&context, DQ_NOTE, "%s", name);
  assert_string_equal(text, shown);
  dq_error error;
  dq_fail(&error, DQ_USAGE, "%s", name);
  assert_string_equal(error.message, shown);
  dq_error_hint(&error, "%s", name);
  assert_string_equal(error.hint, shown);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(dtype_ends),
                                     cmocka_unit_test(first_not_finite),
                                     cmocka_unit_test(outputs_follow_the_umask),
                                     cmocka_unit_test(budgets),
                                     cmocka_unit_test(arenas),
                                     cmocka_unit_test(scattered_arenas),
                                     cmocka_unit_test(guarded_arenas),
                                     cmocka_unit_test(sizes),
                                     cmocka_unit_test(shapes),
                                     cmocka_unit_test(types),
                                     cmocka_unit_test(stale_outputs),
                                     cmocka_unit_test(linked_outputs),
                                     cmocka_unit_test(outputs),
                                     cmocka_unit_test(masks),
                                     cmocka_unit_test(errors),
                                     cmocka_unit_test(names_in_messages),
                                     cmocka_unit_test(released_of_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
