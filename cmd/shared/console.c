#include "cmd/shared/console.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/text/utf8.h"

// A terminal that understands "erase to the end of the line" and colours.
static bool capable(FILE *stream) {
  const char *kind = getenv("TERM");
  return isatty(fileno(stream)) && kind && *kind && strcmp(kind, "dumb");
}

bool dq_color_wanted(const dq_common_options *common, FILE *stream) {
  const char *off = getenv("NO_COLOR");
  if (common->color != DQ_WHEN_AUTO) return common->color == DQ_WHEN_ALWAYS;
  return !(off && *off) && capable(stream);
}

void dq_console_init(dq_console *console, const dq_common_options *common) {
  memset(console, 0, sizeof *console);
  console->command = common->command ? common->command->name : "dq";
  console->verbose = common->verbose;
  console->quiet = common->quiet;
  console->color = dq_color_wanted(common, stderr);
  bool show = !common->quiet && common->progress != DQ_PROGRESS_NONE;
  bool automatic = common->progress == DQ_PROGRESS_AUTO && capable(stderr);
  console->bar = show && (common->progress == DQ_PROGRESS_BAR || automatic);
  console->plain = show && common->progress == DQ_PROGRESS_PLAIN;
  console->beats = show && common->progress == DQ_PROGRESS_AUTO && !automatic;
  struct winsize size;
  bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  console->width = known ? size.ws_col : 80;
}

void dq_console_clear(dq_console *console) {
  if (console->drawn) fputs("\r\033[K", stderr);
  console->drawn = false;
}

enum { PLAIN = 0, RED = 31, YELLOW = 33 }; // SGR parameters of terminals (ECMA-48)

// One line, what it begins with in `colour`.
static void print_line(dq_console *console, int colour, const char *before, const char *text) {
  dq_console_clear(console);
  if (console->color && colour) fprintf(stderr, "\033[%dm%s: %s\033[0m", colour, console->command, before);
  else fprintf(stderr, "%s: %s", console->command, before);
  dq_print_name(stderr, text);
  fputc('\n', stderr);
}

void dq_console_message(void *user, dq_severity severity, const char *text) {
  dq_console *console = user;
  if (console->quiet || (severity == DQ_DETAIL && !console->verbose)) return;
  bool warning = severity == DQ_WARNING;
  print_line(console, warning ? YELLOW : PLAIN, warning ? "warning: " : "", text);
}

void dq_console_error(dq_console *console, const dq_error *error) {
  print_line(console, RED, "", error->message);
  if (!*error->hint) return;
  fputs("hint: ", stderr);
  dq_print_name(stderr, error->hint);
  fputc('\n', stderr);
}

// "40/100, 12.3/s, 5 s left"
static void state_text(int64_t done, int64_t total, double elapsed, char *text, size_t size) {
  char left[32] = "";
  double rate = elapsed > 0 ? (double)done / elapsed : 0;
  int used = total > 0 ? snprintf(text, size, "%lld/%lld", (long long)done, (long long)total)
                       : snprintf(text, size, "%lld", (long long)done);
  if (rate <= 0 || used < 0 || (size_t)used >= size) return;
  used += snprintf(text + used, size - (size_t)used, ", %.*f/s", rate < 10 ? 2 : 0, rate);
  if (total <= done || (size_t)used >= size) return;
  dq_duration_text((double)(total - done) / rate, left, sizeof left);
  snprintf(text + used, size - (size_t)used, ", %s left", left);
}

static void draw_bar(dq_console *console, int64_t done, int64_t total, const char *state) {
  int columns = console->width - (int)strlen(console->what) - (int)strlen(state) - 6;
  if (columns > 40) columns = 40;
  fprintf(stderr, "\r%s ", console->what);
  if (total > 0 && columns >= 8) {
    int filled = (int)((double)columns * (double)(done < total ? done : total) / (double)total);
    fputc('[', stderr);
    for (int i = 0; i < columns; i++) fputc(i < filled ? '=' : i == filled ? '>' : ' ', stderr);
    fputs("] ", stderr);
  }
  fprintf(stderr, "%s\033[K", state);
  fflush(stderr);
  console->drawn = true;
}

// What stands behind a colon in the name of a work is its state, which changes.
static bool is_same_work(const char *before, const char *what) {
  const size_t length = strcspn(what, ":"), most = sizeof(((dq_console *)0)->what) - 1;
  if (length >= most) return !strncmp(before, what, most);
  return strcspn(before, ":") == length && !strncmp(before, what, length);
}

void dq_console_progress(void *user, const char *what, int64_t done, int64_t total) {
  dq_console *console = user;
  dq_heartbeat_set(&console->heartbeat, what, done, total);
  if (!console->bar && !console->plain) return;
  double time = dq_seconds();
  if (!is_same_work(console->what, what)) {
    dq_console_clear(console);
    console->start = console->last = time;
  }
  snprintf(console->what, sizeof console->what, "%s", what);
  double elapsed = time - console->start;
  if (total > 0 && done >= total) { // over: whatever comes next is new work
    dq_console_clear(console);
    console->what[0] = 0;
    return;
  }
  if (console->bar ? elapsed < 1 || time - console->last < 0.1 : time - console->last < 10) return;
  console->last = time;
  char state[128];
  state_text(done, total, elapsed, state, sizeof state);
  if (console->bar) draw_bar(console, done, total, state);
  else fprintf(stderr, "%s: %s: %s\n", console->command, console->what, state);
}
