// A loop over pictures that the processes of a job (lib/base/processes.h) divide: each runs a part of the pictures, and
// all receive what was measured on all pictures, in the order of the pictures, so that sums have the same bits as in
// one process.
#ifndef DQ_SESSION_DIVIDED_H
#define DQ_SESSION_DIVIDED_H

#include "lib/session/records.h"
#include "lib/session/runner.h"

typedef struct dq_divided_loop {
  dq_picture_loop loop;         // its taps and functions call dq_divided_give; `after` and `run` see own pictures only
  dq_record_function on_record; // receives the measurements of all pictures
  void *user;                   // first argument of on_record
  dq_records *records;          // set by dq_divided_run: of the pictures of this process; NULL: there is no other one
} dq_divided_loop;

// Runs the pictures of the range. All processes call it with the same range. What is measured in one run may come
// ordered by value, then by picture, so on_record adds up each value for itself. Statuses as dq_picture_loop_run and
// on_record, the same on all processes.
dq_status dq_divided_run(dq_divided_loop *divided, const dq_picture_range *range, dq_error *error);
// Passes on a measurement of the picture at work. The numbers `listener` and `slot` are the caller's. The elements are
// copied, or used during the call. Statuses as dq_records_add and on_record.
dq_status dq_divided_give(const dq_divided_loop *divided, int listener, int slot, const dq_tensor *measured,
                          dq_error *error);
// The same of any `bytes`, which on_record receives as a tensor of type DQ_U8.
dq_status dq_divided_give_bytes(const dq_divided_loop *divided, int listener, int slot, const void *data, size_t bytes,
                                dq_error *error);

#endif
