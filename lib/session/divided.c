#include "lib/session/divided.h"

#include "lib/base/processes.h"
#include "lib/base/sizes.h"

enum { SENT = 1 << 20, MOST_TOGETHER = 64 }; // bytes that a process sends at a time, about; pictures at most

dq_status dq_divided_give(const dq_divided_loop *divided, int listener, int slot, const dq_tensor *measured,
                          dq_error *error) {
  return divided->records ? dq_records_add(divided->records, listener, slot, measured, error)
                          : divided->on_record(divided->user, listener, slot, measured, error);
}

dq_status dq_divided_give_bytes(const dq_divided_loop *divided, int listener, int slot, const void *data, size_t bytes,
                                dq_error *error) {
  const dq_tensor measured = {
      .type = DQ_U8, .rank = 1, .dims = {(int64_t)bytes}, .data = (void *)(uintptr_t)data}; // it is only read
  return dq_divided_give(divided, listener, slot, &measured, error);
}

// A round of `count` pictures, of which each process runs neighbouring ones.
static dq_status run_round(const dq_divided_loop *divided, const dq_picture_range *round, size_t *largest,
                           dq_error *error) {
  const dq_processes *processes = divided->records->context->processes;
  int64_t begin, end;
  dq_process_part(processes, round->count, &begin, &end);
  dq_picture_range mine = *round;
  mine.first += begin * round->step, mine.count = end - begin, mine.doing = NULL;
  dq_records all = {0};
  dq_records_clear(divided->records);
  dq_status status = dq_picture_loop_run(&divided->loop, &mine, error);
  status = dq_processes_agree(processes, status, error);
  if (status == DQ_OK) status = dq_records_share(divided->records, &all, largest, error);
  if (status == DQ_OK) status = dq_records_each(&all, divided->on_record, divided->user, error);
  dq_records_free(&all);
  return status;
}

// Round by round, so that the memory for what processes send each other does not grow with the number of pictures.
static dq_status run_rounds(const dq_divided_loop *divided, const dq_picture_range *range, dq_error *error) {
  const dq_context *context = divided->records->context;
  const int64_t count = dq_process_count(context->processes), unit = range->one_by_one ? 1 : divided->loop.first->batch;
  int64_t together = unit, done = 0;
  dq_status status = DQ_OK;
  while (status == DQ_OK && done < range->count) {
    dq_picture_range round = *range;
    size_t largest = 0;
    round.first += done * range->step, round.count = dq_min_i64(range->count - done, count * together);
    status = run_round(divided, &round, &largest, error);
    const int64_t most = (round.count + count - 1) / count, bytes = (int64_t)largest / most + 1;
    together = dq_max_i64(1, dq_min_i64(SENT / bytes, MOST_TOGETHER) / unit) * unit;
    done += round.count;
    if (status == DQ_OK && range->doing) dq_progress(context, range->doing, done, range->count);
  }
  return status;
}

dq_status dq_divided_run(dq_divided_loop *divided, const dq_picture_range *range, dq_error *error) {
  dq_records records = {.context = divided->loop.first->context};
  if (dq_process_count(dq_processes_of(records.context)) == 1) return dq_picture_loop_run(&divided->loop, range, error);
  divided->records = &records;
  const dq_status status = run_rounds(divided, range, error);
  divided->records = NULL;
  dq_records_free(&records);
  return status;
}
