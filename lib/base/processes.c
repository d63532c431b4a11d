#include "lib/base/processes.h"

enum { PIECE = 1 << 28 };

// Stores in values[count] what each process has in `mine`.
static void gather_doubles(const dq_processes *processes, double mine, double *values) {
  size_t sizes[DQ_MOST_PROCESSES];
  for (int r = 0; r < processes->count; r++) sizes[r] = sizeof mine;
  processes->gather(processes->user, &mine, values, sizes);
}

dq_status dq_processes_agree(const dq_processes *processes, dq_status status, dq_error *error) {
  double statuses[DQ_MOST_PROCESSES];
  dq_error sent = {0};
  int failed = 0, failures = 0;
  if (dq_process_count(processes) == 1) return status;
  gather_doubles(processes, (double)status, statuses);
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
    gather_doubles(processes, values[i], all);
    values[i] = 0;
    for (int r = 0; r < processes->count; r++) values[i] += all[r];
  }
}

void dq_processes_share(const dq_processes *processes, void *data, size_t bytes) {
  if (dq_process_count(processes) == 1) return;
  for (size_t at = 0; at < bytes; at += PIECE)
    processes->broadcast(processes->user, (char *)data + at, bytes - at < PIECE ? bytes - at : PIECE, 0);
}
