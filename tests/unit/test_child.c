// Child processes: how they end, what they are given, what they print.
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/process/child.h"

static void endings(void **state) {
  (void)state;
  const struct {
    const char *command;
    dq_status status;
    const char *message;
  } cases[] = {
      {"true", DQ_OK, ""},
      {"exit 0", DQ_OK, ""},
      {"exit 7", DQ_CONDITION, "the command ended with exit status 7"},
      {"/no/such/thing 2>/dev/null", DQ_CONDITION, "the command ended with exit status 127 (command not found)"},
      {"kill -9 $$", DQ_CONDITION, "the command was killed by signal 9 (Killed)"},
      {"sleep 60", DQ_CONDITION, "the command took longer than the time limit of 0.2 s"},
      {"trap '' TERM; while :; do sleep 0.05; done", DQ_CONDITION,
       "the command took longer than the time limit of 0.2 s"},
      {"exec >&- 2>&-; sleep 60", DQ_CONDITION, "the command took longer than the time limit of 0.2 s"},
      {"kill -STOP $$", DQ_CONDITION, "the command took longer than the time limit of 0.2 s"},
      {"cat", DQ_OK, ""}}; // standard input is empty
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    dq_error error = {0};
    dq_child_options options = {.time_limit = strstr(cases[i].message, "time limit") ? 0.2 : 60};
    assert_int_equal(dq_child_run(cases[i].command, &options, NULL, &error), cases[i].status);
    if (cases[i].status != DQ_OK) assert_string_equal(error.message, cases[i].message);
  }
  assert_int_equal(dq_child_run("sleep 0.1", &(dq_child_options){.time_limit = 0}, NULL, NULL), DQ_OK); // no limit
}

static void environment(void **state) {
  (void)state;
  setenv("DQ_TEST_OLD", "old", 1);
  const dq_variable variables[] = {{"DQ_TEST_OLD", "new"}, {"DQ_TEST_ODD", "a 'b' $c\n\"d\""}};
  dq_child_options options = {.variables = variables, .variable_count = 2};
  assert_int_equal(dq_child_run("test \"$DQ_TEST_OLD\" = new && test ${#DQ_TEST_ODD} = 12 && "
                                "test -n \"$PATH\"",
                                &options, NULL, NULL),
                   DQ_OK);
  assert_string_equal(getenv("DQ_TEST_OLD"), "old");
}

static void count_messages(void *user, dq_severity severity, const char *text) {
  (void)severity, (void)text;
  ++*(int *)user;
}

// 20 MB, of which 1000 bytes are passed on.
static void much_output(void **state) {
  (void)state;
  char path[] = "/tmp/dq_child_XXXXXX";
  int file = mkstemp(path), kept = dup(STDERR_FILENO), messages = 0;
  assert_true(file >= 0 && kept >= 0);
  dq_context context = {.message = count_messages, .user = &messages};
  dup2(file, STDERR_FILENO);
  dq_child_options options = {.output_limit = 1000};
  dq_status status = dq_child_run("yes | head -c 20000000; yes | head -c 20 >&2", &options, &context, NULL);
  dup2(kept, STDERR_FILENO);
  struct stat info;
  assert_int_equal(fstat(file, &info), 0);
  close(file), close(kept), unlink(path);
  assert_int_equal(status, DQ_OK);
  assert_int_equal(info.st_size, 1000);
  assert_int_equal(messages, 1);
}

static atomic_bool stop;
static void set_stop(int number) {
  (void)number;
  stop = true;
}

// A stop ends the command and what it started in the background.
static void stopped(void **state) {
  (void)state;
  char folder[] = "/tmp/dq_child_XXXXXX", path[64], command[160];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/pid", folder);
  snprintf(command, sizeof command, "sleep 60 & echo $! >%s; kill -ALRM %d; wait", path, (int)getpid());
  struct sigaction action = {.sa_handler = set_stop}, old;
  sigaction(SIGALRM, &action, &old);
  dq_context context = {.stop = &stop};
  dq_child_options options = {.time_limit = 60};
  assert_int_equal(dq_child_run(command, &options, &context, NULL), DQ_CANCELLED);
  sigaction(SIGALRM, &old, NULL);
  FILE *file = fopen(path, "r");
  int process = 0;
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%d", &process), 1);
  fclose(file), unlink(path), rmdir(folder);
  for (int i = 0; i < 100 && !kill(process, 0); i++) // until its new parent has noticed
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  char name[64], line[128] = "";
  snprintf(name, sizeof name, "/proc/%d/stat", process);
  if ((file = fopen(name, "r"))) {
    if (!fgets(line, sizeof line, file)) line[0] = 0;
    fclose(file);
  }
  assert_true(!line[0] || strstr(line, ") Z ") != NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(endings), cmocka_unit_test(environment),
                                     cmocka_unit_test(much_output), cmocka_unit_test(stopped)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
