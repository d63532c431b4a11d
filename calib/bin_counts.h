// The counts of the bins of a histogram. While few bins are filled they are packed: for each of these bins the number
// of empty bins in front of it and its count, as numbers of 7 bits a byte, the lowest first. Of small values, which
// large networks have by the thousand, some hundred bytes stay where all counts take 64 KiB.
#ifndef DQ_CALIB_BIN_COUNTS_H
#define DQ_CALIB_BIN_COUNTS_H

#include <stdint.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

enum { DQ_HISTOGRAM_BINS = 8192 };

// All zeros but for the budget (NULL: none), against which the memory counts: the counts of empty bins.
typedef struct dq_bin_counts {
  dq_budget *budget;
  uint64_t *all; // [DQ_HISTOGRAM_BINS]; NULL: the counts are packed
  uint8_t *packed;
  size_t used, capacity; // bytes of `packed`
} dq_bin_counts;

void dq_bin_counts_deinit(dq_bin_counts *counts); // frees the memory, and keeps the budget
// The counts of all bins, in memory of their own or in bins[DQ_HISTOGRAM_BINS], which is filled where they are packed.
const uint64_t *dq_bin_counts_read(const dq_bin_counts *counts, uint64_t *bins);
// Returns what dq_bin_counts_read returns, to be changed; dq_bin_counts_store stores the result.
uint64_t *dq_bin_counts_open(dq_bin_counts *counts, uint64_t *bins);
// Stores what dq_bin_counts_open returned, packed where it was and takes 8 KiB at most. DQ_SYSTEM: there is no memory.
dq_status dq_bin_counts_store(dq_bin_counts *counts, const uint64_t *bins, dq_error *error);
// Ends the packing, for counts that will soon fill many bins. DQ_SYSTEM: there is no memory.
dq_status dq_bin_counts_unpack(dq_bin_counts *counts, dq_error *error);
// The bytes that the counts take, without what is reserved for more.
size_t dq_bin_counts_bytes(const dq_bin_counts *counts);

#endif
