// Progress on standard error: bars, lines, and neither.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cmd/shared/console.h"

// What a console prints of `done` of `total` steps, so many seconds after the work began and `since` after progress was
// printed last, on a terminal of 80 columns.
typedef struct moment {
  const char *what;
  int64_t done, total;
  double seconds, since;
} moment;

// Standard error, while it goes to a file.
typedef struct capture {
  FILE *file;
  int stored;
} capture;

static capture begin_capture(void) {
  capture c = {tmpfile(), dup(STDERR_FILENO)};
  assert_non_null(c.file);
  fflush(stderr);
  dup2(fileno(c.file), STDERR_FILENO);
  return c;
}

// What was printed, static.
static char *end_capture(const capture *c) {
  static char text[512];
  fflush(stderr);
  dup2(c->stored, STDERR_FILENO);
  close(c->stored);
  rewind(c->file);
  text[fread(text, 1, sizeof text - 1, c->file)] = 0;
  fclose(c->file);
  return text;
}

// `first` is the name of the work at its beginning.
static char *printed_from(const char *first, int progress, bool quiet, const moment *at) {
  const dq_common_options common = {.progress = progress, .quiet = quiet};
  dq_console console;
  const capture c = begin_capture();
  dq_console_init(&console, &common);
  dq_console_progress(&console, first, 1, 12);
  console.start -= at->seconds, console.last -= at->since;
  dq_console_progress(&console, at->what, at->done, at->total);
  return end_capture(&c);
}

static char *printed_at(int progress, bool quiet, const moment *at) {
  return printed_from(at->what, progress, quiet, at);
}

static char *printed(int progress, bool quiet) {
  return printed_at(progress, quiet, &(moment){"counting", 3, 12, 20, 20});
}

static void lines(void **state) {
  (void)state;
  assert_string_equal(printed(DQ_PROGRESS_PLAIN, false), "dq: counting: 3/12, 0.15/s, 1:00 left\n");
}

// 80 columns leave room for a bar of 40, of which a quarter is filled.
static void bars(void **state) {
  (void)state;
  assert_string_equal(printed(DQ_PROGRESS_BAR, false),
                      "\rcounting [==========>                             ] 3/12, 0.15/s, 1:00 left\033[K");
}

// Rates below 10 have two digits behind the point; what is left is in seconds below a minute, and no total has none.
static void states(void **state) {
  (void)state;
  static const struct {
    moment at;
    const char *text;
  } cases[] = {{{"a", 30, 120, 10, 20}, "30/120, 3.00/s, 30 s left"},
               {{"a", 20, 79, 20, 20}, "20/79, 1.00/s, 59 s left"},
               {{"a", 6, 12, 3599, 20}, "6/12, 0.00/s, 59:59 left"},
               {{"a", 6, 12, 3600, 20}, "6/12, 0.00/s, 1:00:00 left"},
               {{"a", 6, 12, 3723, 20}, "6/12, 0.00/s, 1:02:03 left"},
               {{"a", 300, 600, 20, 20}, "300/600, 15/s, 20 s left"},
               {{"a", 3, 0, 20, 20}, "3, 0.15/s"},
               {{"a", 0, 12, 20, 20}, "0/12"},
               {{"a", 11, 12, 20, 20}, "11/12, 0.55/s, 2 s left"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char line[80];
    snprintf(line, sizeof line, "dq: a: %s\n", cases[i].text);
    assert_string_equal(printed_at(DQ_PROGRESS_PLAIN, false, &cases[i].at), line);
  }
  assert_string_equal(printed_at(DQ_PROGRESS_PLAIN, false, &(moment){"a", 3, 12, 20, 9}), "");   // every 10 seconds
  assert_string_equal(printed_at(DQ_PROGRESS_PLAIN, false, &(moment){"a", 12, 12, 20, 20}), ""); // over
  assert_string_equal(printed_at(DQ_PROGRESS_BAR, false, &(moment){"a", 3, 12, 0.5, 20}), "");   // short work
  assert_string_equal(printed_at(DQ_PROGRESS_BAR, false, &(moment){"a", 3, 12, 20, 0}), "");
}

// The name, the state of 23 characters and 6 others leave room for a bar of 40 beside 11 characters, of 8 beside 43;
// narrower ones are left out.
static void widths_of_bars(void **state) {
  (void)state;
  for (int length = 10; length < 46; length++) {
    char name[64];
    memset(name, 'n', sizeof name);
    name[length] = 0;
    int width = length < 11 ? 40 : 51 - length, filled = width / 4;
    char bar[64] = "", line[160];
    if (width >= 8) snprintf(bar, sizeof bar, "[%.*s>%*s] ", filled, "==========", width - filled - 1, "");
    snprintf(line, sizeof line, "\r%s %s3/12, 0.15/s, 1:00 left\033[K", name, bar);
    assert_string_equal(printed_at(DQ_PROGRESS_BAR, false, &(moment){name, 3, 12, 20, 20}), line);
  }
}

// What stands behind a colon changes while the work goes on; another work begins anew.
static void names_with_a_state(void **state) {
  (void)state;
  assert_string_equal(printed_from("a: loss 3", DQ_PROGRESS_PLAIN, false, &(moment){"a: loss 2", 3, 12, 20, 20}),
                      "dq: a: loss 2: 3/12, 0.15/s, 1:00 left\n");
  assert_string_equal(printed_from("a: loss 2", DQ_PROGRESS_PLAIN, false, &(moment){"b: loss 2", 3, 12, 20, 20}), "");
  assert_string_equal(printed_from("a", DQ_PROGRESS_PLAIN, false, &(moment){"ab", 3, 12, 20, 20}), "");
}

static void nothing(void **state) {
  (void)state;
  assert_string_equal(printed(DQ_PROGRESS_NONE, false), "");
  assert_string_equal(printed(DQ_PROGRESS_AUTO, false), ""); // a file is no terminal
  assert_string_equal(printed(DQ_PROGRESS_PLAIN, true), "");
  assert_string_equal(printed(DQ_PROGRESS_BAR, true), "");
}

// Names in messages and hints come from files: their control characters do not reach the terminal.
static void errors(void **state) {
  (void)state;
  const dq_common_options common = {.progress = DQ_PROGRESS_NONE, .quiet = true};
  const dq_error error = {DQ_USAGE, "no node 'a\033b\302\2332J\342\200\256\2339c\303\244'",
                          "did you mean 'a\nb\033[2J'?"};
  dq_console console;
  const capture c = begin_capture();
  dq_console_init(&console, &common);
  dq_console_error(&console, &error);
  assert_string_equal(end_capture(&c), "dq: no node 'a?b?2J??9c\303\244'\nhint: did you mean 'a?b?[2J'?\n");
}

// Without a terminal: the first line tells what is done after the first interval; nothing stands behind the end.
static void heartbeats(void **state) {
  (void)state;
  dq_heartbeat heartbeat = {0};
  dq_heartbeat_set(&heartbeat, "nobody listens", 1, 2);
  const capture c = begin_capture();
  dq_heartbeat_start(&heartbeat, "dq-int8", 1.5);
  dq_heartbeat_set(&heartbeat, "trial 5: range search", 0, 1);
  dq_heartbeat_set(&heartbeat, "searching \033ranges", 3, 12);
  usleep(2200000);
  dq_heartbeat_stop(&heartbeat);
  dq_heartbeat_stop(&heartbeat);
  assert_string_equal(end_capture(&c), "dq-int8: 2 s: trial 5: range search: searching ?ranges 3 of 12\n");
}

// By the options, where standard error is a file.
static void who_has_heartbeats(void **state) {
  (void)state;
  static const struct {
    int progress;
    bool quiet, expected;
  } cases[] = {{DQ_PROGRESS_AUTO, false, true},
               {DQ_PROGRESS_AUTO, true, false},
               {DQ_PROGRESS_NONE, false, false},
               {DQ_PROGRESS_PLAIN, false, false},
               {DQ_PROGRESS_BAR, false, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const dq_common_options common = {.progress = cases[i].progress, .quiet = cases[i].quiet};
    dq_console console;
    const capture c = begin_capture();
    dq_console_init(&console, &common);
    end_capture(&c);
    assert_int_equal(console.beats, cases[i].expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(heartbeats),
                                     cmocka_unit_test(who_has_heartbeats),
                                     cmocka_unit_test(lines),
                                     cmocka_unit_test(bars),
                                     cmocka_unit_test(states),
                                     cmocka_unit_test(widths_of_bars),
                                     cmocka_unit_test(names_with_a_state),
                                     cmocka_unit_test(errors),
                                     cmocka_unit_test(nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
