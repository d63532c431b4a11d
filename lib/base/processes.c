#include "lib/base/processes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 28 };

// Stores in all[count] the `bytes` bytes that each process has at `mine`.
static void gather(const dq_processes *processes, const void *mine, size_t bytes, void *all) {
  size_t sizes[DQ_MOST_PROCESSES];
  for (int r = 0; r < processes->count; r++) sizes[r] = bytes;
  processes->gather(processes->user, mine, all, sizes);
}

dq_status dq_processes_agree(const dq_processes *processes, dq_status status, dq_error *error) {
  const double own = (double)status;
  double statuses[DQ_MOST_PROCESSES];
  dq_error sent = {0};
  int failed = 0, failures = 0;
  if (dq_process_count(processes) == 1) return status;
  gather(processes, &own, sizeof own, statuses);
  for (int r = processes->count - 1; r >= 0; r--)
    if (statuses[r] != 0) failed = r, failures++;
  if (!failures) return DQ_OK;
  if (failed == processes->index && error) sent = *error;
  processes->broadcast(processes->user, &sent, sizeof sent, failed);
  sent.status = (dq_status)statuses[failed];
  if (failures < processes->count && sent.status != DQ_CANCELLED)
    dq_error_prefix(&sent, sent.status, "process %d of %d", failed, processes->count);
  if (error) *error = sent;
  return sent.status;
}

bool dq_processes_any(const dq_processes *processes, bool condition) {
  double count = condition;
  dq_processes_add(processes, &count, 1);
  return count > 0;
}

void dq_processes_add(const dq_processes *processes, double *values, int count) {
  double all[DQ_MOST_PROCESSES];
  if (dq_process_count(processes) == 1) return;
  for (int i = 0; i < count; i++) {
    gather(processes, &values[i], sizeof values[i], all);
    values[i] = 0;
    for (int r = 0; r < processes->count; r++) values[i] += all[r];
  }
}

// ---- Bytes of all processes ----

enum { PART = 1 << 22 }; // of one process in an exchange, at most

typedef struct collecting {
  const dq_processes *processes;
  const char *mine;
  char *all, *part; // `part` is what one exchange brings
  const size_t *sizes;
  size_t *parts; // sizes of one exchange
} collecting;

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

// Brings the bytes at..at + most - 1 of each process, as far as it has so many.
static void collect_part(const collecting *c, size_t at, size_t most) {
  const int count = c->processes->count;
  const char *from = c->part;
  char *to = c->all;
  for (int r = 0; r < count; r++) c->parts[r] = c->sizes[r] > at ? smaller(c->sizes[r] - at, most) : 0;
  const size_t own = smaller(at, c->sizes[c->processes->index]);
  c->processes->gather(c->processes->user, c->mine + own, c->part, c->parts);
  for (int r = 0; r < count; from += c->parts[r], to += c->sizes[r], r++)
    if (c->parts[r]) memcpy(to + at, from, c->parts[r]);
}

static dq_status collect(collecting *c, size_t largest, dq_budget *budget, dq_error *error) {
  const size_t count = (size_t)c->processes->count, most = smaller(PART, INT_MAX / count);
  const size_t bytes = count * smaller(largest, most);
  c->part = dq_budget_alloc(budget, bytes + 1);
  c->parts = calloc(count, sizeof *c->parts);
  dq_status status = c->part && c->parts ? DQ_OK : dq_fail_memory(error, bytes);
  for (size_t at = 0; status == DQ_OK && at < largest; at += most) collect_part(c, at, most);
  dq_budget_free(c->part);
  free(c->parts);
  return status;
}

dq_status dq_processes_collect(const dq_processes *processes, dq_budget *budget, const void *mine, size_t bytes,
                               char **all, size_t *sizes, dq_error *error) {
  const int count = dq_process_count(processes);
  size_t total = 0, largest = 0;
  if (count > 1) gather(processes, &bytes, sizeof bytes, sizes);
  else sizes[0] = bytes;
  for (int r = 0; r < count; r++) {
    total += sizes[r];
    if (sizes[r] > largest) largest = sizes[r];
  }
  *all = dq_budget_alloc(budget, total + 1);
  if (!*all) return dq_fail_memory(error, total);
  collecting c = {.processes = processes, .mine = mine ? mine : "", .all = *all, .sizes = sizes};
  dq_status status = DQ_OK;
  if (count > 1) status = collect(&c, largest, budget, error);
  else if (bytes) memcpy(*all, mine, bytes);
  if (status == DQ_OK) return DQ_OK;
  dq_budget_free(*all);
  *all = NULL;
  return status;
}

void dq_processes_share(const dq_processes *processes, void *data, size_t bytes) {
  if (dq_process_count(processes) == 1) return;
  for (size_t at = 0; at < bytes; at += PIECE)
    processes->broadcast(processes->user, (char *)data + at, bytes - at < PIECE ? bytes - at : PIECE, 0);
}
