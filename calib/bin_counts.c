#include "calib/bin_counts.h"

#include <stdbool.h>
#include <string.h>

enum { BINS = DQ_HISTOGRAM_BINS, MOST_PACKED = 8192, LONGEST = 12 }; // bytes; of a bin's two numbers

void dq_bin_counts_deinit(dq_bin_counts *counts) {
  dq_budget_free(counts->all);
  dq_budget_free(counts->packed);
  *counts = (dq_bin_counts){.budget = counts->budget};
}

size_t dq_bin_counts_bytes(const dq_bin_counts *counts) {
  return counts->all ? BINS * sizeof *counts->all : counts->used;
}

static uint64_t read_number(const uint8_t **at) {
  uint64_t number = 0;
  int shift = 0;
  for (; **at & 0x80; (*at)++, shift += 7) number |= (uint64_t)(**at & 0x7f) << shift;
  return number | (uint64_t) * (*at)++ << shift;
}

static uint8_t *write_number(uint8_t *to, uint64_t number) {
  for (; number >= 0x80; number >>= 7) *to++ = (uint8_t)(number | 0x80);
  *to++ = (uint8_t)number;
  return to;
}

static void unpack(const dq_bin_counts *counts, uint64_t *bins) {
  memset(bins, 0, BINS * sizeof *bins);
  uint64_t bin = 0;
  for (const uint8_t *at = counts->packed, *end = at + counts->used; at < end; bin++) {
    bin += read_number(&at);
    bins[bin] = read_number(&at);
  }
}

static uint64_t *bins_of(const dq_bin_counts *counts, uint64_t *bins) {
  if (counts->all) return counts->all;
  unpack(counts, bins);
  return bins;
}
uint64_t *dq_bin_counts_open(dq_bin_counts *counts, uint64_t *bins) { return bins_of(counts, bins); }
const uint64_t *dq_bin_counts_read(const dq_bin_counts *counts, uint64_t *bins) { return bins_of(counts, bins); }

static bool is_empty(const uint64_t *bins, int count) {
  uint64_t any = 0;
  for (int i = 0; i < count; i++) any |= bins[i];
  return !any;
}

// The bytes of packed[MOST_PACKED + LONGEST] that were filled; more than MOST_PACKED: there were too few of them.
static size_t pack(const uint64_t *bins, uint8_t *packed) {
  enum { STRIDE = 32 };
  uint8_t *to = packed;
  int next = 0; // behind the last filled bin
  for (int first = 0; first < BINS; first += STRIDE) {
    if (is_empty(bins + first, STRIDE)) continue;
    for (int i = first; i < first + STRIDE && to <= packed + MOST_PACKED; i++) {
      if (!bins[i]) continue;
      to = write_number(write_number(to, (uint64_t)(i - next)), bins[i]);
      next = i + 1;
    }
  }
  return (size_t)(to - packed);
}

dq_status dq_bin_counts_unpack(dq_bin_counts *counts, dq_error *error) {
  if (counts->all) return DQ_OK;
  uint64_t *all = dq_budget_alloc(counts->budget, BINS * sizeof *all);
  if (!all) return dq_fail_memory(error, BINS * sizeof *all);
  unpack(counts, all);
  dq_bin_counts_deinit(counts);
  counts->all = all;
  return DQ_OK;
}

// A quarter more than needed, as the next picture mostly fills other bins.
static dq_status reserve(dq_bin_counts *counts, size_t bytes, dq_error *error) {
  if (bytes <= counts->capacity) return DQ_OK;
  bytes += bytes / 4;
  uint8_t *packed = counts->packed ? dq_budget_realloc(counts->packed, bytes) : dq_budget_alloc(counts->budget, bytes);
  if (!packed) return dq_fail_memory(error, bytes);
  counts->packed = packed, counts->capacity = bytes;
  return DQ_OK;
}

dq_status dq_bin_counts_store(dq_bin_counts *counts, const uint64_t *bins, dq_error *error) {
  uint8_t packed[MOST_PACKED + LONGEST];
  if (counts->all) return DQ_OK;
  size_t bytes = pack(bins, packed);
  if (bytes > MOST_PACKED) {
    DQ_TRY(dq_bin_counts_unpack(counts, error));
    memcpy(counts->all, bins, BINS * sizeof *bins);
    return DQ_OK;
  }
  DQ_TRY(reserve(counts, bytes, error));
  if (bytes) memcpy(counts->packed, packed, bytes);
  counts->used = bytes;
  return DQ_OK;
}
