// Processes that compute one result together, the processes of a job, and the part of a batch that one of them
// computes.
#ifndef DQ_BASE_PROCESSES_H
#define DQ_BASE_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

// How the processes of a job exchange bytes. All processes call the same functions in the same order. A failure of the
// connection ends the process. `sizes` have an entry in bytes for each process, at most INT_MAX in all.
enum { DQ_MOST_PROCESSES = 4096, DQ_MOST_EXCHANGES = 16 };
typedef struct dq_processes {
  int index, count; // of this process, from 0; of the job, at most DQ_MOST_PROCESSES
  void *user;       // first argument of the functions
  // Stores in `all` what each process has in `mine`, in the order of the processes; sizes[r] is that of process r.
  void (*gather)(void *user, const void *mine, void *all, const size_t *sizes);
  // Sends to each process its part of `from` and stores in `to` what each process sent, in the order of the processes.
  void (*exchange)(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes);
  // The same without waiting, at most DQ_MOST_EXCHANGES at a time; `from` and `to` stay until `finish`, which waits for
  // the one that was started first. The sizes are copied.
  void (*start)(void *user, const void *from, const size_t *from_sizes, void *to, const size_t *to_sizes);
  void (*finish)(void *user);
  // Stores in `data` of all processes what `root` has there; `bytes` are at most INT_MAX.
  void (*broadcast)(void *user, void *data, size_t bytes, int root);
} dq_processes;

// The index of this process, and the number of processes. In all functions `processes` NULL is a job of one process.
static inline int dq_process_index(const dq_processes *processes) { return processes ? processes->index : 0; }
static inline int dq_process_count(const dq_processes *processes) { return processes ? processes->count : 1; }

// The part of `count` things that this process has: from *first to *end - 1. The numbers of things of two processes
// differ by at most 1.
static inline void dq_process_part(const dq_processes *processes, int64_t count, int64_t *first, int64_t *end) {
  *first = count * dq_process_index(processes) / dq_process_count(processes);
  *end = count * (dq_process_index(processes) + 1) / dq_process_count(processes);
}

// Returns on all processes the status of the lowest one whose status is a failure, with its message in *error; DQ_OK:
// no process failed. *error of that process has its message already, to which its number is added where not all failed.
dq_status dq_processes_agree(const dq_processes *processes, dq_status status, dq_error *error);
// Whether the condition holds on any process.
bool dq_processes_any(const dq_processes *processes, bool condition);
// Stores in values[count] of all processes the sums over the processes, added in their order.
void dq_processes_add(const dq_processes *processes, double *values, int count);
// Stores in *all what each process has in mine[bytes], one behind the other in the order of the processes, and in
// sizes[count] the bytes of each; any sizes fit. *all counts against `budget` (NULL: against none), and the caller
// frees it by dq_budget_free. DQ_SYSTEM: there is no memory.
dq_status dq_processes_collect(const dq_processes *processes, dq_budget *budget, const void *mine, size_t bytes,
                               char **all, size_t *sizes, dq_error *error);
// Stores in data[bytes] of all processes what process 0 has there; `bytes`, the same on all of them, may be any size. A
// job of one process does nothing.
void dq_processes_share(const dq_processes *processes, void *data, size_t bytes);

// The pictures of a batch that a process computes: `first` to first + count - 1 of `all`.
typedef struct dq_picture_part {
  const dq_processes *processes;
  int64_t first, count, all;
} dq_picture_part;

#endif
