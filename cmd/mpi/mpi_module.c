#include "cmd/mpi/mpi_module.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/sizes.h"
#include "lib/base/status.h"

enum { PATIENCE_MICROSECONDS = 2000000, PAUSE_MICROSECONDS = 1000 };

static dq_processes job;
static MPI_Comm ends = MPI_COMM_NULL; // for the meeting at the end alone
static bool all_ended;
static const char *command_name;

// ---- Ends of one process alone ----

enum { NOTICE = 1 }; // tag of the message that a process has failed alone, with its status

static void (*remove_outputs)(void);

static void leave(int status) {
  fflush(NULL);
  remove_outputs();
  _exit(status);
}

// Tells all others that this process ends. What it sends is short, so that no process has to receive it first.
static void tell_others(int status) {
  static int sent;
  sent = status;
  for (int r = 0; r < job.count; r++) {
    MPI_Request request;
    int done;
    if (r == job.index) continue;
    MPI_Isend(&sent, 1, MPI_INT, r, NOTICE, ends, &request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

// Whether a process has told that it ends, and with which status.
static bool is_told(int *status) {
  int there;
  MPI_Status from;
  MPI_Iprobe(MPI_ANY_SOURCE, NOTICE, ends, &there, &from);
  if (there) MPI_Recv(status, 1, MPI_INT, from.MPI_SOURCE, NOTICE, ends, MPI_STATUS_IGNORE);
  return there;
}

// Handles an error of MPI: reports it, tells the other processes and ends this one. Without this handler Open MPI would
// end the processes with messages of its own.
static void fail_exchange(MPI_Comm *comm, int *code, ...) {
  static bool failed; // telling the others may fail as well
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length;
  (void)comm;
  if (failed) leave(DQ_SYSTEM);
  failed = true;
  MPI_Error_string(*code, reason, &length);
  fprintf(stderr, "%s: process %d of %d: the exchange with the other processes failed: %s\n", command_name, job.index,
          job.count, reason);
  tell_others(DQ_SYSTEM);
  leave(DQ_SYSTEM);
}

// Byte counts and offsets as MPI takes them.
typedef struct parts {
  int counts[DQ_MOST_PROCESSES], offsets[DQ_MOST_PROCESSES];
} parts;

static void set_parts(parts *p, const size_t *sizes) {
  int at = 0;
  for (int r = 0; r < job.count; r++) {
    p->counts[r] = (int)sizes[r];
    p->offsets[r] = at;
    at += (int)sizes[r];
  }
}

// Waits: looks without a pause at first, and then in pauses that become longer, so that another process, which may be
// the one that is waited for, has the processor. Where processes have processors of their own waits are short and
// looking finds their end; where they are long it looks for a shorter time at the next one.
static void await(MPI_Request *request) {
  enum { SHORTEST_LOOK = 20000, LONGEST_LOOK = 400000, FIRST_PAUSE = 50000, LONGEST_PAUSE = 2000000 }; // nanoseconds
  static int64_t look = 100000;
  const int64_t begin = dq_nanoseconds();
  int64_t waited = 0;
  struct timespec pause = {.tv_nsec = FIRST_PAUSE};
  int met = 0;
  for (;;) {
    MPI_Test(request, &met, MPI_STATUS_IGNORE);
    waited = dq_nanoseconds() - begin;
    if (met) break;
    if (waited < look) continue;
    int status;
    if (is_told(&status)) leave(status);
    nanosleep(&pause, NULL);
    pause.tv_nsec = 2 * pause.tv_nsec < LONGEST_PAUSE ? 2 * pause.tv_nsec : LONGEST_PAUSE;
  }
  look = waited < LONGEST_LOOK ? dq_min_i64(2 * look, LONGEST_LOOK) : dq_max_i64(look / 2, SHORTEST_LOOK);
}

static void gather(void *user, const void *mine, void *all, const size_t *sizes) {
  static parts to; // one thread calls
  MPI_Request request;
  (void)user;
  set_parts(&to, sizes);
  MPI_Iallgatherv(mine, (int)sizes[job.index], MPI_BYTE, all, to.counts, to.offsets, MPI_BYTE, MPI_COMM_WORLD,
                  &request);
  await(&request);
}

static void exchange(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes) {
  static parts sent, received;
  MPI_Request request;
  (void)user;
  set_parts(&sent, from_sizes);
  set_parts(&received, to_sizes);
  MPI_Ialltoallv(from, sent.counts, sent.offsets, MPI_BYTE, to, received.counts, received.offsets, MPI_BYTE,
                 MPI_COMM_WORLD, &request);
  await(&request);
}

// Exchanges that were started: those with the numbers `oldest` to `next` - 1, number n in place n % DQ_MOST_EXCHANGES.
static struct {
  parts sent, received;
  MPI_Request request;
} pending[DQ_MOST_EXCHANGES];
static unsigned oldest, next;

static void start(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes) {
  parts *sent = &pending[next % DQ_MOST_EXCHANGES].sent, *received = &pending[next % DQ_MOST_EXCHANGES].received;
  (void)user;
  set_parts(sent, from_sizes);
  set_parts(received, to_sizes);
  MPI_Ialltoallv(from, sent->counts, sent->offsets, MPI_BYTE, to, received->counts, received->offsets, MPI_BYTE,
                 MPI_COMM_WORLD, &pending[next++ % DQ_MOST_EXCHANGES].request);
}

static void finish(void *user) {
  (void)user;
  await(&pending[oldest++ % DQ_MOST_EXCHANGES].request);
}

static void broadcast(void *user, void *data, size_t bytes, int root) {
  MPI_Request request;
  (void)user;
  MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD, &request);
  await(&request);
}

// ---- The job ----

enum { START_SECONDS = 60 };

static void give_up(union sigval unused) {
  (void)unused;
  fprintf(stderr,
          "%s: the other processes of the MPI job have not started within %d s\n"
          "hint: each process runs the same command, as in: mpirun -n 4 %s ...\n",
          command_name, START_SECONDS, command_name);
  leave(DQ_SYSTEM);
}

// MPI_Init waits for processes that never call it, such as those of another program, for ever.
static void init_in_time(void) {
  int provided;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = give_up};
  const struct itimerspec limit = {.it_value = {.tv_sec = START_SECONDS}};
  const bool watched = !timer_create(CLOCK_MONOTONIC, &event, &timer);
  if (watched) timer_settime(timer, 0, &limit, NULL);
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  if (watched) timer_delete(timer);
}

static const dq_processes *open_job(const char *name, void (*remove_all)(void)) {
  MPI_Errhandler handler;
  command_name = name;
  remove_outputs = remove_all;
  job =
      (dq_processes){.gather = gather, .exchange = exchange, .start = start, .finish = finish, .broadcast = broadcast};
  init_in_time();
  MPI_Comm_create_errhandler(fail_exchange, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_size(MPI_COMM_WORLD, &job.count);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.index);
  MPI_Comm_dup(MPI_COMM_WORLD, &ends); // with the handler
  prctl(PR_SET_TIMERSLACK, 1);         // pauses end when they should
  return &job;
}

// Waits for the others, which are still at work where this process has failed alone; where it has not, they all end.
static bool end_job(int status) {
  static int mine, statuses[DQ_MOST_PROCESSES];
  MPI_Request meeting;
  int met = 0, other;
  mine = status;
  if (ends == MPI_COMM_NULL) return true;
  all_ended = true;
  if (job.count > DQ_MOST_PROCESSES) return job.index == 0;
  MPI_Iallgather(&mine, 1, MPI_INT, statuses, 1, MPI_INT, ends, &meeting);
  for (int waited = 0; !met && (status <= 1 || waited < PATIENCE_MICROSECONDS); waited += PAUSE_MICROSECONDS) {
    MPI_Test(&meeting, &met, MPI_STATUS_IGNORE);
    if (!met && is_told(&other)) leave(other);
    if (!met) usleep(PAUSE_MICROSECONDS);
  }
  all_ended = met;
  if (!met) tell_others(status);
  for (int r = 0; met && r < job.index; r++)
    if (statuses[r] == status) return false;
  return true;
}

static void close_job(int status) {
  if (ends == MPI_COMM_NULL) return;
  if (!all_ended) leave(status);
  MPI_Comm_free(&ends);
  MPI_Finalize();
}

const dq_mpi_module dq_mpi = {open_job, end_job, close_job};
