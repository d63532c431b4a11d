// A signal handler of another thread removes temporary files while their writer goes on.
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/base/file.h"

static _Thread_local bool in_handler;
static sem_t entered, written; // the handler is about to remove a file; its writer has ended
static char named[256], removed[256];
static const char *owned; // the handler's name: commands end, here it is freed
static pthread_t thread;

// Instead of the system's: the handler's name is looked at before the writer goes on, and used when it has ended.
int unlink(const char *path) {
  if (!in_handler) return unlinkat(AT_FDCWD, path, 0);
  owned = path;
  snprintf(named, sizeof named, "%s", path);
  sem_post(&entered);
  sem_wait(&written);
  snprintf(removed, sizeof removed, "%s", path);
  return 0;
}

static void *handler(void *argument) {
  in_handler = true;
  dq_output_remove_all();
  return argument;
}

// The writer has a temporary file here, in every file system.
int rename(const char *from, const char *to) {
  if (pthread_create(&thread, NULL, handler, NULL)) return -1;
  sem_wait(&entered);
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static void names_outlive_a_handler(void **state) {
  (void)state;
  char folder[] = "/tmp/test_output_XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/out.onnx", folder);
  assert_int_equal(sem_init(&entered, 0, 0) | sem_init(&written, 0, 0), 0);
  dq_output output;
  dq_error error = {0};
  assert_int_equal(dq_output_open(&output, path, &error), DQ_OK);
  fputs("text", output.stream);
  assert_int_equal(dq_output_commit(&output, &error), DQ_OK);
  sem_post(&written);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_memory_equal(named, path, strlen(path));
  assert_string_equal(removed, named);
  free((char *)(uintptr_t)owned);
  unlink(path);
  rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(names_outlive_a_handler)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
