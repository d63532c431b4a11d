// Runs a fuzz target on mutated seeds without a fuzzing engine, so that any compiler will do. Case number K is
// made of the seeds and K alone. The cases run in a process of their own: when one of them ends it, the case is
// counted as failed, its input is kept, and the next process goes on behind it.
//
// usage: fuzz_TARGET [OPTION]... [SEED FILE OR FOLDER]...
//   --cases N      as many cases (default: no bound)
//   --seconds S    as many seconds (default 10 without --cases, else no bound)
//   --first K      the first case (0)
//   --case K       this case alone, in this process, as a debugger wants it
//   --as-is        the files as they are, in this process: replays inputs that were kept
//   --keep FOLDER  where inputs of failed cases go (default ".")
//   --write FOLDER writes the target's own seeds there, for libFuzzer, and ends
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/context.h"
#include "tests/fuzz/fuzz.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1, CASE_SECONDS = 60 };
#else
enum { SANITIZED = 0, CASE_SECONDS = 10 };
#endif
enum { BATCH = 1000, MOST_FINDINGS = 20, MOST_SEEDS = 4096 };
// Over what the process had before its first case: what the engine may take, and as much as its budget does not
// count (messages of protobuf, JSON, the input and copies of it, gaps between blocks).
enum { MEMORY_BOUND = FUZZ_MEMORY + (8 << 20) };

typedef struct seed {
  uint8_t *data;
  size_t size;
  char *path; // NULL: the target's own
} seed;

static seed seeds[MOST_SEEDS];
static int seed_count;
static int64_t *current; // the case at work, shared with the process that runs it

static struct {
  int64_t cases, first, one;
  double seconds;
  int as_is;
  const char *keep, *write;
} options = {.cases = -1, .one = -1, .keep = "."};

// ---- Seeds ----

static void add_seed(const void *data, size_t size, const char *path) {
  if (seed_count == MOST_SEEDS || size > FUZZ_LARGEST) return;
  seed *s = &seeds[seed_count++];
  *s = (seed){malloc(size + 1), size, path ? strdup(path) : NULL};
  memcpy(s->data, data, size);
}

static void add_file(const char *path) {
  size_t size;
  uint8_t *data = fuzz_read(path, &size);
  add_seed(data, size, path);
  free(data);
}

static void add_path(const char *path) { // folders in the order of their names
  struct dirent **entries;
  struct stat info;
  if (stat(path, &info)) {
    fprintf(stderr, "%s: there is no such file\n", path);
    exit(2);
  }
  if (!S_ISDIR(info.st_mode)) {
    add_file(path);
    return;
  }
  int count = scandir(path, &entries, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    char inner[4096];
    snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') add_path(inner);
    free(entries[i]);
  }
  free(entries);
}

static void add_own_seeds(void) {
  uint8_t *data = malloc(FUZZ_LARGEST);
  size_t size;
  for (int i = 0; fuzz_target.seed && (size = fuzz_target.seed(i, data)) > 0; i++) add_seed(data, size, NULL);
  free(data);
}

static int write_seeds(void) {
  for (int i = 0; i < seed_count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%d", options.write, fuzz_target.name, i);
    if (!seeds[i].path) fuzz_write(path, seeds[i].data, seeds[i].size);
  }
  return 0;
}

// ---- Cases ----

// Input of a case, malloc'ed with its exact size, so that a tool sees what is read behind its end. The first
// cases are the seeds as they are.
static uint8_t *make_case(int64_t number, size_t *size, const char **path) {
  dq_random random = {(uint64_t)number};
  const seed *from = &seeds[number < seed_count ? number : (int64_t)dq_random_below(&random, (uint64_t)seed_count)];
  const seed *other = &seeds[dq_random_below(&random, (uint64_t)seed_count)];
  uint8_t *data = malloc(FUZZ_LARGEST);
  memcpy(data, from->data, *size = from->size);
  if (number >= seed_count)
    *size = fuzz_target.mutate(data, from->size, FUZZ_LARGEST, other->data, other->size, &random);
  *path = from->path ? from->path : "(made by the target)";
  uint8_t *exact = malloc(*size ? *size : 1);
  memcpy(exact, data, *size);
  free(data);
  return exact;
}

static void run_case(int64_t number) {
  size_t size;
  const char *path;
  uint8_t *data = make_case(number, &size, &path);
  LLVMFuzzerTestOneInput(data, size);
  free(data);
}

static int64_t peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss << 10;
}

// The process that runs cases: from *current on, until the batch or the time is over.
static void work(int64_t end, double deadline) {
  struct itimerval cpu = {.it_value = {.tv_sec = CASE_SECONDS}}, wall = {.it_value = {.tv_sec = 6 * CASE_SECONDS}};
  int64_t before = peak_bytes();
  for (; *current < end && dq_seconds() < deadline; ++*current) {
    setitimer(ITIMER_PROF, &cpu, NULL);
    setitimer(ITIMER_REAL, &wall, NULL);
    run_case(*current);
    if (!SANITIZED && peak_bytes() - before > MEMORY_BOUND)
      fuzz_fail("%" PRId64 " MB of memory, the bound is %d", (peak_bytes() - before) >> 20, MEMORY_BOUND >> 20);
  }
  exit(0);
}

static void tell_finding(int status, int argc, char **argv) {
  size_t size;
  const char *path;
  char kept[4096];
  uint8_t *data = make_case(*current, &size, &path);
  snprintf(kept, sizeof kept, "%s/%s_%" PRId64, options.keep, fuzz_target.name, *current);
  fuzz_write(kept, data, size);
  free(data);
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  printf("case %" PRId64 " of %s failed: %s%s, from %s\n", *current, fuzz_target.name,
         signal == SIGPROF || signal == SIGALRM ? "takes too long"
         : signal                               ? strsignal(signal)
                                                : "a report of a sanitizer",
         signal || *current % BATCH ? "" : " (a leak may be of an earlier case)", path);
  printf("  replay: %s --as-is %s\n  or:     %s --case %" PRId64, argv[0], kept, argv[0], *current);
  for (int i = 1; i < argc; i++) // the seeds make the case
    if (argv[i][0] == '-') i += strcmp(argv[i], "--as-is") != 0;
    else printf(" %s", argv[i]);
  printf("\n");
  fflush(stdout);
}

static int campaign(int argc, char **argv) {
  double deadline = options.seconds > 0 ? dq_seconds() + options.seconds : dq_seconds() + 1e9;
  int64_t end = options.cases >= 0 ? options.first + options.cases : INT64_MAX;
  int failed = 0;
  fuzz_path(""); // the folder of all processes, removed by this one
  for (*current = options.first; *current < end && dq_seconds() < deadline && failed < MOST_FINDINGS;) {
    int64_t batch_end = *current + BATCH < end ? *current + BATCH : end;
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) work(batch_end, deadline);
    if (child < 0 || waitpid(child, &status, 0) != child) fuzz_fail("no process for the cases");
    if (!status) continue;
    tell_finding(status, argc, argv);
    failed++;
    if (*current < batch_end) ++*current;
  }
  int64_t cases = *current - options.first;
  printf("%s: %" PRId64 " cases of %d seeds: %" PRId64 " read, %" PRId64 " run, %" PRId64 " transformed\n",
         fuzz_target.name, cases, seed_count, fuzz_reached[FUZZ_READ], fuzz_reached[FUZZ_RUN],
         fuzz_reached[FUZZ_CHANGED]);
  printf("%" PRId64 " passed, %d failed\n", cases - failed, failed);
  return failed != 0;
}

static int run_as_is(void) {
  for (int i = 0; i < seed_count; i++)
    if (seeds[i].path) LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].size);
  printf("%d files\n", seed_count);
  return 0;
}

static void take_options(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : "";
    if (!strcmp(argv[i], "--cases")) options.cases = atoll(value), i++;
    else if (!strcmp(argv[i], "--seconds")) options.seconds = atof(value), i++;
    else if (!strcmp(argv[i], "--first")) options.first = atoll(value), i++;
    else if (!strcmp(argv[i], "--case")) options.one = atoll(value), i++;
    else if (!strcmp(argv[i], "--keep")) options.keep = value, i++;
    else if (!strcmp(argv[i], "--write")) options.write = value, i++;
    else if (!strcmp(argv[i], "--as-is")) options.as_is = 1;
    else if (argv[i][0] == '-') {
      fprintf(stderr, "%s: unknown option; see tests/fuzz/driver.c\n", argv[i]);
      exit(2);
    } else add_path(argv[i]);
  }
  if (options.cases < 0 && options.seconds <= 0) options.seconds = 10;
}

int main(int argc, char **argv) {
  current = mmap(NULL, (1 + FUZZ_STAGES) * sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (current == MAP_FAILED) fuzz_fail("no memory");
  fuzz_reached = current + 1;
  take_options(argc, argv);
  if (options.as_is) return run_as_is();
  add_own_seeds();
  if (options.write) return write_seeds();
  if (!seed_count) {
    fprintf(stderr, "%s: no seeds\n", argv[0]);
    return 2;
  }
  if (options.one < 0) return campaign(argc, argv);
  run_case(options.one);
  return 0;
}
