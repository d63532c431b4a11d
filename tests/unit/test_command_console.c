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

#include "cmd/console.h"

// What a console prints of 3 of 12 steps, 20 seconds after the work began, on a terminal of 80 columns.
static char *printed(int progress, bool quiet) {
  static char text[512];
  const dq_common_options common = {.progress = progress, .quiet = quiet};
  dq_console console;
  FILE *file = tmpfile();
  int kept = dup(STDERR_FILENO);
  assert_non_null(file);
  fflush(stderr);
  dup2(fileno(file), STDERR_FILENO);
  dq_console_init(&console, &common);
  dq_console_progress(&console, "counting", 1, 12);
  console.start -= 20, console.last -= 20;
  dq_console_progress(&console, "counting", 3, 12);
  fflush(stderr);
  dup2(kept, STDERR_FILENO);
  close(kept);
  rewind(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
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

static void nothing(void **state) {
  (void)state;
  assert_string_equal(printed(DQ_PROGRESS_NONE, false), "");
  assert_string_equal(printed(DQ_PROGRESS_AUTO, false), ""); // a file is no terminal
  assert_string_equal(printed(DQ_PROGRESS_PLAIN, true), "");
  assert_string_equal(printed(DQ_PROGRESS_BAR, true), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines), cmocka_unit_test(bars), cmocka_unit_test(nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
