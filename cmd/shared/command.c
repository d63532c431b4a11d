#include "cmd/shared/command.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "cmd/shared/mpi_job.h"
#include "cmd/shared/same_work.h"
#include "lib/base/clock.h"
#include "lib/process/child.h"
#include "lib/base/file.h"
#include "lib/wisdom/wisdom.h"
#include "version.h"

enum { EXIT_BROKEN_PIPE = 141, GRACE_MICROSECONDS = 700000, HEARTBEAT_SECONDS = 10 };

static atomic_bool stop;

static void leave_now(int signal_number) {
  (void)signal_number;
  dq_output_remove_all();
  dq_child_kill();
  _exit(DQ_CANCELLED);
}

// The first signal asks the work to stop and gives it a moment; the timer or a second one ends it.
static void ask_to_stop(int signal_number) {
  if (atomic_exchange(&stop, true)) leave_now(signal_number);
  struct itimerval grace = {.it_value = {.tv_usec = GRACE_MICROSECONDS}};
  setitimer(ITIMER_REAL, &grace, NULL);
}

// An empty handler makes writes to a closed pipe fail with EPIPE, and those beyond the largest size of
// files (ulimit -f) with EFBIG, and, unlike SIG_IGN, is not inherited by the programs that hooks run.
static void nothing(int signal_number) { (void)signal_number; }

static void catch_signals(void) {
  struct sigaction action = {.sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  action.sa_handler = nothing;
  sigaction(SIGPIPE, &action, NULL);
  sigaction(SIGXFSZ, &action, NULL);
  action.sa_handler = leave_now;
  sigaction(SIGALRM, &action, NULL);
  action.sa_handler = ask_to_stop;
  sigaction(SIGTERM, &action, NULL);
  // Even where a shell without job control had it ignored for a background job: whoever sends it
  // wants the work to end.
  sigaction(SIGINT, &action, NULL);
  // The terminal was closed; under nohup the work goes on.
  struct sigaction before;
  if (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
}

// Ends the process before main, while libraries initialize themselves, with the status of an interrupted command. A
// SIGINT from the process itself comes from OpenBLAS, which gets no memory for its threads.
static void leave_early(int signal_number, siginfo_t *origin, void *context) {
  static const char message[] = "dq: out of memory: a library cannot start its threads\n";
  (void)context;
  bool own = signal_number == SIGINT && origin->si_code == SI_TKILL && origin->si_pid == getpid();
  if (own && write(STDERR_FILENO, message, sizeof message - 1) < 0) _exit(DQ_SYSTEM);
  _exit(own ? DQ_SYSTEM : DQ_CANCELLED);
}

static void catch_early_signals(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = leave_early};
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
}

// What the dynamic loader calls before the initialization of libraries. Sanitizers cannot be called so early.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((section(".preinit_array"), used)) static void (*before_libraries)(void) = catch_early_signals;
#endif

// A closed standard stream would give its number to the next file opened, a model perhaps.
static void hold_standard_streams(void) {
  for (int descriptor = 0; descriptor < 3; descriptor++)
    if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) {
      int held = open("/dev/null", descriptor == 2 ? O_RDWR : O_RDONLY);
      if (held != descriptor && held >= 0) close(held);
    }
}

static bool broken_pipe(void) {
  struct pollfd output = {.fd = STDOUT_FILENO};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

// The exit status after everything on standard output was written, or was not.
static int finish_output(dq_console *console, int status, dq_error *error) {
  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return status;
  if (errno == EPIPE || broken_pipe()) {
    error->message[0] = 0; // whoever closed the pipe knows
    return status == DQ_OK || status == DQ_SYSTEM ? EXIT_BROKEN_PIPE : status;
  }
  if (status != DQ_OK && status != DQ_CONDITION) return status;
  dq_fail(error, DQ_SYSTEM, "standard output: %s", errno ? strerror(errno) : "write error");
  dq_console_error(console, error);
  error->message[0] = 0;
  return DQ_SYSTEM;
}

// Whether --help or its kin was given.
static bool asks(const dq_common_options *common) {
  return common->help || common->version || common->help_man || common->help_check ||
         dq_option_given(common, "help-complete");
}

// What --help and its kin print.
static void answer(const dq_common_options *common, int *status, dq_error *error) {
  const dq_command *command = common->command;
  if (common->help) dq_options_help(command, stdout);
  else if (common->version) printf("%s %s%s\n", command->name, DQ_VERSION, DQ_COMMIT[0] ? " (" DQ_COMMIT ")" : "");
  else if (common->help_man) dq_options_man(command, stdout);
  else if (common->help_check) *status = (int)dq_options_check(command, error);
  else if (dq_option_given(common, "help-complete"))
    dq_options_complete(command, (enum dq_shell)common->help_complete, stdout);
}

// What a command can write to standard output, by the options that name it; NULL where not given.
enum { JSON, CSV, HTML, MODEL, STREAMS };
static void standard_outputs(const dq_common_options *common, const char *paths[STREAMS]) {
  const dq_command *command = common->command;
  memset(paths, 0, STREAMS * sizeof *paths);
  if (command->shared & DQ_WITH_REPORT) {
    const dq_report_options *files = (const void *)((const char *)common + command->report_offset);
    paths[JSON] = files->json, paths[CSV] = files->csv, paths[HTML] = files->html;
  }
  if (command->shared & DQ_WITH_OUTPUT)
    paths[MODEL] = ((const dq_output_options *)(const void *)((const char *)common + command->output_offset))->output;
}

static dq_status check_standard_output(const dq_common_options *common, dq_error *error) {
  static const char *const names[STREAMS] = {"--json", "--csv", "--html", "--output"};
  const char *paths[STREAMS], *taken = NULL;
  standard_outputs(common, paths);
  for (int i = 0; i < STREAMS; i++) {
    if (!paths[i] || strcmp(paths[i], "-")) continue;
    if (taken) return dq_fail(error, DQ_USAGE, "only one of %s and %s can be '-'", taken, names[i]);
    taken = names[i];
  }
  return DQ_OK;
}

// What --verbose ends with.
static void report_effort(const dq_context *context, double seconds) {
  char features[256];
  struct rusage usage = {0};
  getrusage(RUSAGE_SELF, &usage); // Linux counts memory in kB
  dq_message(context, DQ_DETAIL, "%.2f s, %.1f MiB of memory, threads: %d, instruction sets: %s", seconds,
             (double)usage.ru_maxrss / 1024, dq_pool_threads(context->pool),
             dq_cpu_mask_text(context->cpu, features, sizeof features));
}

// A file that was asked for must be there; that of the user is left out where it cannot be read.
static dq_status open_wisdom(const dq_common_options *common, const dq_context *context, dq_wisdom **wisdom,
                             dq_error *error) {
  dq_error own = {0};
  if (!(common->command->shared & DQ_WITH_WISDOM) || common->no_wisdom) return DQ_OK;
  if (common->wisdom && access(common->wisdom, F_OK))
    return dq_fail(error, DQ_SYSTEM, "%s: %s", common->wisdom, strerror(errno));
  dq_status status = dq_wisdom_open_here(wisdom, common->wisdom, context, common->wisdom ? error : &own);
  if (status == DQ_OK || common->wisdom) return status;
  dq_message(context, DQ_WARNING, "%s; every step is computed as usual", own.message);
  return DQ_OK;
}

// Joins the job of a command whose options were parsed with the status `parsed`: all processes have the same status.
static dq_status join_job(const dq_common_options *common, dq_status parsed, const dq_processes **processes,
                          dq_error *error) {
  if (!(common->command->shared & DQ_WITH_PROCESSES)) return parsed;
  dq_error own = {0};
  dq_status status = dq_job_open(common->command->name, processes, &own);
  if (parsed == DQ_OK && status != DQ_OK && !asks(common)) *error = own, parsed = status;
  DQ_TRY(dq_processes_agree(*processes, parsed, error));
  return dq_same_command(*processes, common, error);
}

// Only the first process of a job speaks.
static void be_silent(dq_context *context) {
  if (dq_process_index(context->processes) == 0) return;
  context->message = NULL;
  context->progress = NULL;
}

static dq_status run(const dq_common_options *common, const dq_processes *processes, dq_console *console,
                     dq_error *error) {
  DQ_TRY(dq_processes_agree(processes, check_standard_output(common, error), error));
  dq_context context;
  int threads = common->threads ? (int)common->threads : dq_processors();
  DQ_TRY(dq_context_init(&context, threads, common->cpu_mask, error));
  dq_budget budget = {.limit = common->memory};
  context.budget = &budget;
  context.seed = (uint64_t)common->seed;
  context.message = dq_console_message;
  context.progress = dq_console_progress;
  context.user = console;
  context.processes = processes;
  be_silent(&context);
  context.stop = &stop;
  context.half_sums = common->accumulate == DQ_ACCUMULATION_FP16;
  if (context.half_sums && !(context.cpu & (DQ_CPU_AVX512FP16 | DQ_CPU_FP16)))
    dq_message(&context, DQ_WARNING,
               "this machine has no float16 arithmetic (AVX512-FP16): float16 sums are emulated, which is slow");
  double start = dq_seconds();
  if (console->beats && dq_process_index(processes) == 0)
    dq_heartbeat_start(&console->heartbeat, console->command, HEARTBEAT_SECONDS);
  dq_wisdom *wisdom = NULL;
  dq_status status = dq_processes_agree(processes, open_wisdom(common, &context, &wisdom, error), error);
  if (status == DQ_OK) status = dq_same_inputs(common, &context, error);
  context.wisdom = wisdom;
  if (status == DQ_OK) status = common->command->run(common, &context, error);
  report_effort(&context, dq_seconds() - start);
  dq_wisdom_free(wisdom);
  dq_context_deinit(&context);
  if (status == DQ_SYSTEM && !*error->hint && atomic_load(&budget.refused))
    dq_error_hint(error, "--memory allows %zu MiB and %zu MiB more were asked for", budget.limit >> 20,
                  (atomic_load(&budget.refused) >> 20) + 1);
  if (stop && status != DQ_CANCELLED) status = dq_fail(error, DQ_CANCELLED, "interrupted");
  return status;
}

// Columns of the terminal behind a stream, as COLUMNS says or the terminal itself; 0: it is none.
static int terminal_width(FILE *stream) {
  struct winsize size;
  if (ioctl(fileno(stream), TIOCGWINSZ, &size)) return 0;
  const char *columns = getenv("COLUMNS");
  int wanted = columns && strlen(columns) < 6 ? atoi(columns) : 0;
  return wanted > 0 ? wanted : size.ws_col;
}

dq_status dq_command_report(const dq_common_options *common, const dq_report *report, dq_error *error) {
  static const dq_report_format formats[] = {DQ_FORMAT_JSON, DQ_FORMAT_CSV, DQ_FORMAT_HTML};
  const char *paths[STREAMS];
  standard_outputs(common, paths);
  bool taken = false; // standard output holds one of the formats for programs
  for (int i = 0; i < MODEL; i++) {
    if (!paths[i]) continue;
    DQ_TRY(dq_report_write(report, formats[i], paths[i], NULL, error));
    taken = taken || !strcmp(paths[i], "-");
  }
  if (taken) return DQ_OK;
  FILE *stream = paths[MODEL] && !strcmp(paths[MODEL], "-") ? stderr : stdout;
  dq_text_style style = {.color = dq_color_wanted(common, stream), .width = terminal_width(stream)};
  return dq_report_print(report, DQ_FORMAT_TEXT, &style, stream, error);
}

bool dq_command_reports_text_alone(const dq_common_options *common) {
  const char *paths[STREAMS];
  standard_outputs(common, paths);
  bool alone = true;
  for (int i = 0; i < MODEL; i++) alone = alone && !paths[i];
  return alone;
}

int dq_command_main(int argc, char **argv, const dq_command *command) {
  catch_signals();
  hold_standard_streams();
  // Blocks of pictures and activations go back to the system when they are freed, so that peak memory
  // does not depend on the sizes that came before (glibc would raise its threshold).
  mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  setlocale(LC_ALL, "C"); // numbers and messages are the same everywhere
  dq_error error = {0};
  dq_console console = {.command = command->name};
  dq_common_options *common = malloc(command->options_size);
  if (!common) {
    dq_fail_memory(&error, command->options_size);
    dq_console_error(&console, &error);
    return DQ_SYSTEM;
  }
  const dq_processes *processes = NULL;
  int status = (int)dq_options_parse(command, argc, argv, common, &error);
  if (status == DQ_OK) dq_console_init(&console, common);
  status = (int)join_job(common, (dq_status)status, &processes, &error);
  if (status == DQ_OK && !asks(common)) status = (int)run(common, processes, &console, &error);
  else if (status == DQ_OK && dq_process_index(processes) == 0) answer(common, &status, &error);
  dq_heartbeat_stop(&console.heartbeat);
  dq_console_clear(&console);
  const bool speaks = dq_job_end(status);
  if (!speaks) error.message[0] = 0;
  status = finish_output(&console, status, &error);
  if (status != DQ_OK && *error.message) dq_console_error(&console, &error);
  dq_options_free(command, common);
  free(common);
  dq_job_close(status);
  // Where the address space is limited (ulimit -v) OpenBLAS's own threads may wait for ever for their buffers, and
  // exit would wait for them.
  struct rlimit limit;
  if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) quick_exit(status);
  return status;
}
