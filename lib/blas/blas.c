#include "lib/blas/blas.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#ifndef DQ_STATIC
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/sizes.h"
#endif

static dq_blas functions;
static char problem[200]; // why there are none; empty where there are

bool dq_address_space_is_limited(void) {
  struct rlimit limit;
  return !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

bool dq_blas_has_space(int buffers) {
  size_t size = (size_t)DQ_BLAS_BUFFER * (size_t)buffers + (64 << 20); // the library, and what others allocate
  void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block != MAP_FAILED) munmap(block, size);
  return block != MAP_FAILED;
}

#ifdef DQ_STATIC

// Only OpenBLAS has these functions; other libraries have no threads.
extern int openblas_get_num_threads(void) __attribute__((weak));
extern void openblas_set_num_threads(int) __attribute__((weak));

// LAPACK calls it for an argument that is wrong, and returns its number as info. LAPACK's own prints and ends the
// process by the input and output of Fortran, of 250 KiB.
void xerbla_(const char *routine, const int *argument, size_t length);
void xerbla_(const char *routine, const int *argument, size_t length) { (void)routine, (void)argument, (void)length; }

static void load(void) {
#define TAKE(name) functions.name = name;
  DQ_CBLAS_FUNCTIONS(TAKE)
  DQ_LAPACKE_FUNCTIONS(TAKE)
#undef TAKE
  functions.set_threads = openblas_set_num_threads;
  functions.threads = openblas_get_num_threads ? openblas_get_num_threads() : 0;
}

#else

// Loads a library with its symbols for the libraries that come after it: LAPACKE calls the LAPACK of OpenBLAS, whatever
// library of that name the system prefers.
static void *library(const char *name) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!handle) snprintf(problem, sizeof problem, "%s", dlerror());
  return handle;
}

// Stores the address of a function of the library at `to`.
static void find(void *handle, const char *name, void *to) {
  *(void **)to = handle ? dlsym(handle, name) : NULL;
  if (handle && !*(void **)to && !problem[0]) snprintf(problem, sizeof problem, "%s", dlerror());
}

static void load_both(void) {
  int (*threads)(void);
  void *openblas = library("libopenblas.so.0"), *lapacke = openblas ? library("liblapacke.so.3") : NULL;
#define FIND_CBLAS(name) find(openblas, #name, &functions.name);
#define FIND_LAPACKE(name) find(lapacke, #name, &functions.name);
  DQ_CBLAS_FUNCTIONS(FIND_CBLAS)
  DQ_LAPACKE_FUNCTIONS(FIND_LAPACKE)
#undef FIND_CBLAS
#undef FIND_LAPACKE
  find(openblas, "openblas_get_num_threads", &threads);
  find(openblas, "openblas_set_num_threads", &functions.set_threads);
  if (!problem[0]) functions.threads = threads();
}

// The most threads that OpenBLAS starts with.
static int most_threads(void) {
  static const char *const names[] = {"OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"};
  long most = sysconf(_SC_NPROCESSORS_ONLN);
  for (int i = 0; i < DQ_COUNT(names); i++) {
    const char *text = getenv(names[i]);
    long wanted = text ? strtol(text, NULL, 10) : 0;
    if (wanted > 0 && wanted < most) most = wanted;
  }
  return most < 1 ? 1 : (int)most;
}

// OpenBLAS 0.3.29 takes a buffer for each of its threads while it is loaded, and asks for ever for one that the system
// refuses. OpenBLAS 0.3.21 raises SIGINT where the system refuses it memory for its threads, and goes on without them;
// it waits for ever later. The signal is kept from this thread and taken away; one that someone else sent is sent on.
static void load(void) {
  if (dq_address_space_is_limited() && !dq_blas_has_space(most_threads())) {
    snprintf(problem, sizeof problem, "out of memory: %d bytes needed for each of its threads", DQ_BLAS_BUFFER);
    return;
  }
  const struct timespec none = {0};
  sigset_t interrupt, before;
  siginfo_t origin;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  load_both();
  bool own = false, other = false;
  while (sigtimedwait(&interrupt, &origin, &none) == SIGINT)
    if (origin.si_pid == getpid()) own = true;
    else other = true;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (own) strcpy(problem, "out of memory: OpenBLAS cannot start its threads");
  if (other) kill(getpid(), SIGINT);
}

#endif

static void load_and_set(void) {
  load();
  if (!problem[0] && functions.set_threads) functions.set_threads(1);
}

dq_status dq_blas_open(dq_error *error) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_and_set);
  if (!problem[0]) return DQ_OK;
  dq_fail(error, DQ_SYSTEM, "OpenBLAS and LAPACKE cannot be loaded: %s", problem);
  if (!strstr(problem, "memory")) // which dlerror says too where a library cannot be mapped
    dq_error_hint(error, "decompositions of matrices with more than 1024 rows and columns need both: apt-get install "
                         "libopenblas0-pthread liblapacke");
  return DQ_SYSTEM;
}

const dq_blas *dq_blas_loaded(void) { return &functions; }
