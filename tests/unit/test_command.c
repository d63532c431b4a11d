// The frame of a command, by running a small one in child processes: exit statuses, standard output
// that cannot be written, signals that the work does not look at.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/shared/command.h"
#include "lib/base/file.h"

static char output_path[] = "/tmp/test_command_XXXXXX"; // a folder

static dq_status run(const void *options, const dq_context *context, dq_error *error) {
  const dq_common_options *common = options;
  const char *what = common->operands[0];
  dq_message(context, DQ_NOTE, "name with\nnew line");
  if (!strcmp(what, "bad")) {
    dq_fail(error, DQ_BAD_INPUT, "node 'conv1': broken");
    dq_error_hint(error, "mend it");
    return DQ_BAD_INPUT;
  }
  if (!strcmp(what, "print"))
    for (int i = 0; i < 10000; i++) printf("line %d\n", i);
  if (strcmp(what, "hang")) return DQ_OK;
  char path[64];
  snprintf(path, sizeof path, "%s/model", output_path);
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  if (write(STDOUT_FILENO, "r", 1) != 1) return DQ_SYSTEM;
  for (;;) sleep(60); // never looks at context->stop
}

static const dq_command command = {
    .name = "dq-frame",
    .summary = "a command for tests",
    .usage = "WHAT",
    .operand = "WHAT",
    .operands_minimum = 1,
    .operands_maximum = 1,
    .options_size = sizeof(dq_common_options),
    .run = run,
};

// Starts the command with one argument; standard output and error go to the descriptors.
static pid_t start(const char *what, int out, int err) {
  fflush(NULL);
  pid_t child = fork();
  if (child) return child;
  char name[] = "dq-frame", argument[64];
  snprintf(argument, sizeof argument, "%s", what);
  char *arguments[] = {name, argument, NULL};
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  _exit(dq_command_main(*argument ? 2 : 1, arguments, &command));
}

static int finish(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void statuses_and_messages(void **state) {
  (void)state;
  int ends[2], nowhere = open("/dev/null", O_RDWR);
  assert_int_equal(pipe(ends), 0);
  assert_int_equal(finish(start("bad", nowhere, ends[1])), DQ_BAD_INPUT);
  char text[512];
  ssize_t got = read(ends[0], text, sizeof text - 1);
  text[got > 0 ? got : 0] = 0;
  assert_string_equal(text, "dq-frame: name with?new line\ndq-frame: node 'conv1': broken\n"
                            "hint: mend it\n");
  assert_int_equal(finish(start("", nowhere, nowhere)), DQ_USAGE);
  assert_int_equal(finish(start("--help", nowhere, nowhere)), DQ_OK);
  close(nowhere);
  close(ends[0]);
  close(ends[1]);
}

static void lost_output(void **state) {
  (void)state;
  int nowhere = open("/dev/null", O_RDWR), full = open("/dev/full", O_WRONLY), ends[2];
  assert_int_equal(finish(start("print", full, nowhere)), DQ_SYSTEM);
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  assert_int_equal(finish(start("print", ends[1], nowhere)), 141);
  close(ends[1]);
  close(full);
  close(nowhere);
}

static void signals_end_deaf_work(void **state) {
  (void)state;
  static const int signals[] = {SIGINT, SIGTERM};
  for (int i = 0; i < 2; i++) {
    int ends[2], nowhere = open("/dev/null", O_RDWR);
    snprintf(output_path, sizeof output_path, "/tmp/test_command_XXXXXX");
    assert_non_null(mkdtemp(output_path));
    assert_int_equal(pipe(ends), 0);
    pid_t child = start("hang", ends[1], nowhere);
    char ready;
    assert_int_equal(read(ends[0], &ready, 1), 1);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    kill(child, signals[i]);
    assert_int_equal(finish(child), DQ_CANCELLED);
    clock_gettime(CLOCK_MONOTONIC, &after);
    double seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
    assert_true(seconds < 1);
    assert_int_equal(rmdir(output_path), 0); // empty: the temporary file is gone
    close(ends[0]);
    close(ends[1]);
    close(nowhere);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(statuses_and_messages), cmocka_unit_test(lost_output),
                                     cmocka_unit_test(signals_end_deaf_work)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
