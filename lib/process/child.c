#include "lib/process/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/sizes.h"
#include "lib/base/clock.h"
#include "lib/base/arena.h"

enum { POLL_MILLISECONDS = 50, OUTPUT_LIMIT = 1 << 20 };
static const double GRACE = 0.5, GRACE_AFTER_STOP = 0.2;

extern char **environ;

// The group at work, for the signal handler; 0: none.
static _Atomic(pid_t) running;

void dq_child_kill(void) {
  pid_t process = running;
  if (process > 0) kill(-process, SIGKILL);
}

typedef struct child {
  pid_t process;     // and its group
  int output;        // reading end of the pipe
  int64_t remaining; // bytes of output that are still passed on
  int wait_status;
  bool ended, dropped;
} child;

static bool is_replaced(const char *entry, const dq_child_options *options) {
  for (int i = 0; i < options->variable_count; i++) {
    size_t length = strlen(options->variables[i].name);
    if (!strncmp(entry, options->variables[i].name, length) && entry[length] == '=') return true;
  }
  return false;
}

static char **make_environment(const dq_child_options *options, dq_arena *arena) {
  size_t count = 0;
  while (environ && environ[count]) count++;
  char **list = DQ_NEW_ARRAY(arena, count + (size_t)options->variable_count + 1, char *);
  if (!list) return NULL;
  size_t used = 0;
  for (size_t i = 0; i < count; i++)
    if (!is_replaced(environ[i], options)) list[used++] = environ[i];
  for (int i = 0; i < options->variable_count; i++) {
    const dq_variable *variable = &options->variables[i];
    list[used] = dq_arena_printf(arena, "%s=%s", variable->name, variable->value);
    if (!list[used++]) return NULL;
  }
  return list;
}

// The signals a command catches are the default again in its child (exec does that); one that was
// ignored and the mask are set back here.
static int set_attributes(posix_spawnattr_t *attributes) {
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  const int signals[] = {SIGINT, SIGTERM, SIGPIPE, SIGQUIT, SIGALRM};
  for (int i = 0; i < DQ_COUNT(signals); i++) sigaddset(&defaults, signals[i]);
  int failed = posix_spawnattr_setpgroup(attributes, 0);
  if (!failed) failed = posix_spawnattr_setsigmask(attributes, &none);
  if (!failed) failed = posix_spawnattr_setsigdefault(attributes, &defaults);
  if (failed) return failed;
  return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(child *c, const char *command, int output, char **environment) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int failed = posix_spawn_file_actions_init(&actions);
  if (failed) return failed;
  failed = posix_spawnattr_init(&attributes);
  if (failed) {
    posix_spawn_file_actions_destroy(&actions);
    return failed;
  }
  failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (!failed) failed = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (!failed) failed = set_attributes(&attributes);
  char *arguments[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", (char *)(uintptr_t)command, NULL};
  if (!failed) failed = posix_spawn(&c->process, "/bin/sh", &actions, &attributes, arguments, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

static dq_status start(child *c, const char *command, const dq_child_options *options, dq_error *error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return dq_fail_errno(error, "pipe");
  dq_arena *arena = dq_arena_new(0);
  char **environment = arena ? make_environment(options, arena) : NULL;
  int failed = environment ? spawn(c, command, ends[1], environment) : ENOMEM;
  dq_arena_free(arena);
  close(ends[1]);
  c->output = ends[0];
  if (failed) {
    close(ends[0]);
    errno = failed;
    return dq_fail_errno(error, "/bin/sh");
  }
  running = c->process;
  fcntl(c->output, F_SETFL, O_NONBLOCK);
  return DQ_OK;
}

static void pass_on(child *c, const char *bytes, size_t count) {
  size_t taken = (int64_t)count <= c->remaining ? count : (size_t)c->remaining;
  c->remaining -= (int64_t)taken;
  if (taken < count) c->dropped = true;
  while (taken) {
    ssize_t written = write(STDERR_FILENO, bytes, taken);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return; // nobody listens
    bytes += written, taken -= (size_t)written;
  }
}

// Reads what is there, at most a megabyte at once so that time and stop are looked at. false: the
// writing end is closed.
static bool drain(child *c) {
  char bytes[1 << 14];
  for (int i = 0; i < 64; i++) {
    ssize_t got = read(c->output, bytes, sizeof bytes);
    if (got > 0) pass_on(c, bytes, (size_t)got);
    else if (got == 0) return false;
    else if (errno != EINTR) return true;
  }
  return true;
}

// One turn: waits a moment for output, passes it on, looks whether the command has ended.
static void watch(child *c) {
  struct pollfd ready = {.fd = c->output, .events = POLLIN}; // -1: poll only waits
  poll(&ready, 1, POLL_MILLISECONDS);
  if (c->output >= 0 && !drain(c)) {
    close(c->output);
    c->output = -1;
  }
  siginfo_t information = {0};
  if (!waitid(P_PID, (id_t)c->process, &information, WEXITED | WNOHANG | WNOWAIT) && information.si_pid == c->process)
    c->ended = true;
}

// Ends what is left of the group; the command itself is asked first unless it has ended. It is
// reaped last: until then nobody else can get its number.
static void end_group(child *c, double grace) {
  double deadline = dq_seconds() + grace;
  if (!c->ended) kill(-c->process, SIGTERM);
  while (!c->ended && dq_seconds() < deadline) watch(c);
  kill(-c->process, SIGKILL);
  running = 0; // while the number is still the command's
  while (waitpid(c->process, &c->wait_status, 0) < 0 && errno == EINTR) continue;
}

static dq_status outcome(const child *c, dq_error *error) {
  if (WIFSIGNALED(c->wait_status))
    return dq_fail(error, DQ_CONDITION, "the command was killed by signal %d (%s)", WTERMSIG(c->wait_status),
                   strsignal(WTERMSIG(c->wait_status)));
  int status = WEXITSTATUS(c->wait_status);
  if (status == 0) return DQ_OK;
  const char *meaning = status == 127 ? " (command not found)" : status == 126 ? " (not executable)" : "";
  return dq_fail(error, DQ_CONDITION, "the command ended with exit status %d%s", status, meaning);
}

dq_status dq_child_run(const char *command, const dq_child_options *options, const dq_context *context,
                       dq_error *error) {
  child c = {.remaining = options->output_limit ? options->output_limit : OUTPUT_LIMIT};
  DQ_TRY(start(&c, command, options, error));
  double began = dq_seconds();
  bool late = false, stopped = false;
  while (!c.ended && !late && !stopped) {
    watch(&c);
    stopped = dq_is_stopped(context);
    late = options->time_limit > 0 && dq_seconds() - began > options->time_limit;
  }
  if (c.ended) late = stopped = false;
  end_group(&c, stopped ? GRACE_AFTER_STOP : GRACE);
  if (c.output >= 0) {
    drain(&c);
    close(c.output);
  }
  if (c.dropped)
    dq_message(context, DQ_WARNING, "output of the command beyond %lld KiB was dropped",
               (long long)((options->output_limit ? options->output_limit : OUTPUT_LIMIT) >> 10));
  DQ_TRY(dq_check_stop(context, error));
  if (late)
    return dq_fail(error, DQ_CONDITION, "the command took longer than the time limit of %g s", options->time_limit);
  return outcome(&c, error);
}
