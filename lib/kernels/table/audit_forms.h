// Plain structs and function types of the kernels of the overflow audit (lib/kernels/audit/conv_audit.h defines the
// terms).
#ifndef DQ_KERNELS_AUDIT_FORMS_H
#define DQ_KERNELS_AUDIT_FORMS_H

#include <stdbool.h>
#include <stdint.h>

// The audit works on panels: DQ_AUDIT_LANES outputs side by side, panel[t * lanes + lane] the input
// less its zero point at tap t, in the order of the reduction.
enum { DQ_AUDIT_LANES = 32 };

// Running sums in int16 that saturate at every addition, of `rows` output channels (at most the rows of the kernel):
// last[row][lane] receives the sum after the last tap, top[row][lane] the largest sum after any tap (at least 0). Both
// have the rows of the kernel. The weight of a row at tap t is in both halves of weights[t * kernel rows + row];
// |w| <= 128.
typedef struct dq_audit_sums {
  const int16_t *panel;
  const uint32_t *weights;
  int64_t depth;
  int rows;
  int16_t *last, *top;
} dq_audit_sums;
typedef void dq_audit_running_function(const dq_audit_sums *sums);

// Fills a panel from the planes of an input. Piece i fills the lanes from lane[i] on with the numbers at from[i] within
// the window of each tap; the window of tap k of channel c begins at planes + c * plane_bytes + offsets[k].
// DQ_AUDIT_LANES numbers behind every piece must be readable, and behind the panel writable.
typedef struct dq_audit_panel {
  const uint8_t *planes;
  int64_t plane_bytes, channels, taps;
  const int64_t *offsets, *from;
  const int *lane;
  int pieces, zero; // zero: subtracted from every number
  int16_t *panel;
} dq_audit_panel;
typedef void dq_audit_fill_function(const dq_audit_panel *panel);

// How many numbers of each window of some planes are at least each bound:
// counts[(plane * windows + window) * count_stride + b] of those with mask 1 and number >= bounds[b]. Planes are
// read in whole vectors of DQ_AUDIT_VECTOR numbers; masks are [vector][DQ_AUDIT_WINDOWS][DQ_AUDIT_VECTOR] bytes,
// 0 or 1, the same for all planes.
enum { DQ_AUDIT_VECTOR = 64, DQ_AUDIT_WINDOWS = 16 };
typedef struct dq_audit_windows {
  const uint8_t *plane, *masks; // the first plane
  int64_t planes, plane_bytes, vectors;
  int windows;           // at most DQ_AUDIT_WINDOWS
  const uint8_t *bounds; // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count, count_stride;
  uint32_t *counts;
} dq_audit_windows;
typedef void dq_audit_windows_function(const dq_audit_windows *windows);

// counts[b]: how many of `vectors` times DQ_AUDIT_VECTOR numbers are at least bounds[b].
typedef struct dq_audit_reached {
  const uint8_t *numbers;
  int64_t vectors;
  const uint8_t *bounds; // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count;
  uint32_t *counts;
} dq_audit_reached;
typedef void dq_audit_reached_function(const dq_audit_reached *reached);

// The rows and columns of a plane that a window does not contain, as bits: those at the top and at the left are the
// lowest bits, then those at the bottom and at the right.
typedef struct dq_audit_trim {
  uint32_t rows, columns;
  uint32_t padding; // numbers of the window that lie in no row and column
} dq_audit_trim;
// counts[window][b] of some windows of a plane, from those of the whole plane and of the rows and columns that some
// window lacks, all of them count_stride apart.
typedef struct dq_audit_trims {
  const dq_audit_trim *trims; // by window
  int windows, rows, columns;
  const uint32_t *whole;  // of the plane, of the rows, of the columns
  const uint8_t *corners; // [row][column]: the number in both
  uint8_t zero;           // in the padding
  const uint8_t *bounds;  // 1..255; up to the next multiple of 32 they are read, and counts written
  int bound_count, count_stride;
  uint32_t *counts;
} dq_audit_trims;
typedef void dq_audit_trims_function(const dq_audit_trims *trims);

// totals[i] += tables[tap][numbers[tap][i]] of all taps, modulo 2^32; of a table `size` entries are used, 64 may be
// read.
typedef struct dq_audit_totals {
  const uint32_t *tables;
  int64_t table_stride;
  int size, tap_count;
  const uint8_t *numbers;
  const int64_t *taps; // whose numbers lie number_stride apart
  int64_t number_stride, count;
  uint32_t *totals;
} dq_audit_totals;
typedef void dq_audit_totals_function(const dq_audit_totals *totals);

// Two neighbouring weights of one sign whose products can leave int16.
typedef struct dq_audit_pair {
  int64_t tap;            // position of the first weight
  uint16_t first, second; // |weight|
  uint16_t limit;         // the largest |sum| that does not saturate
} dq_audit_pair;
// Returns how often a pair saturates at the `count` places with mask 1; first[i] and second[i] are the unsigned numbers
// under both weights. Whole vectors of DQ_AUDIT_VECTOR numbers are read.
typedef uint64_t dq_audit_pairs_function(const dq_audit_pair *pair, const uint8_t *first, const uint8_t *second,
                                         const uint8_t *mask, int64_t count);

// Compares exact sums of `lanes` outputs of one channel with the saturating ones of dq_audit_sums.
typedef struct dq_audit_comparison {
  const int32_t *sums;
  const int16_t *last, *top;
  int lanes;
  int different, unsure; // results: how many differ, and how many are equal although the largest int16 was touched
} dq_audit_comparison;
typedef void dq_audit_compare_function(dq_audit_comparison *comparison);

// Counts and extremes of the exact sums of one output channel.
typedef struct dq_audit_whole {
  const int32_t *sums;
  int64_t count;
  int32_t low16, high16, low32, high32;             // what a sum must lie within to fit with its bias
  uint64_t outside16, outside_low16, outside_low32; // results: sums outside int16, and outside the bounds above
  int32_t lowest, highest;
} dq_audit_whole;
typedef void dq_audit_whole_function(dq_audit_whole *whole);

// Transposes `channels` planes of bytes, channel_bytes apart, so that the channels of a place follow each other:
// to[i * place_bytes + c] = from[c * channel_bytes + i] ^ flip, for i below count.
typedef void dq_audit_turn_function(const uint8_t *from, int64_t channel_bytes, int64_t channels, int64_t count,
                                    uint8_t flip, uint8_t *to, int64_t place_bytes);

// Copies rows of bytes: to[i * to_bytes + j] = from[i * from_bytes + j] for i below rows, j below count; up to the next
// multiple of 64 more bytes of each row are read and written.
typedef void dq_audit_rows_function(const uint8_t *from, int64_t from_bytes, int64_t rows, int64_t count, uint8_t *to,
                                    int64_t to_bytes);

// Exact sums of DQ_AUDIT_ROWS outputs by blocks of DQ_AUDIT_BLOCK taps, for DQ_AUDIT_CHANNELS output channels. Outputs
// whose running sum may leave int16 within a block, and has not left it at the end of a block, are computed tap by tap.
enum { DQ_AUDIT_BLOCK = 32, DQ_AUDIT_ROWS = 64, DQ_AUDIT_CHANNELS = 16 };
typedef struct dq_audit_block_weights {
  int8_t *tiles; // [block][all, those above 0][block_bytes / 4][16 channels][4 taps]
  int8_t *lines; // [16 channels][blocks * DQ_AUDIT_BLOCK]
  int32_t low16[DQ_AUDIT_CHANNELS], high16[DQ_AUDIT_CHANNELS]; // what a sum must lie within to fit with its bias
} dq_audit_block_weights;
typedef struct dq_audit_block_counts { // by channel; added to
  uint32_t left[DQ_AUDIT_CHANNELS], outside[DQ_AUDIT_CHANNELS], outside_low[DQ_AUDIT_CHANNELS];
  int32_t lowest[DQ_AUDIT_CHANNELS], highest[DQ_AUDIT_CHANNELS];
  int64_t doubts; // outputs that were looked at tap by tap, of all blocks of taps
} dq_audit_block_counts;
// Where zero is not 0 a block holds, for each of its taps, how far the value is above zero, and then how far it is
// below; the weights of these are those with the opposite sign.
typedef struct dq_audit_block_rows {
  const uint8_t *values;                  // [DQ_AUDIT_ROWS outputs][row_bytes], in the order of the reduction
  int64_t row_bytes, blocks, block_bytes; // block_bytes: DQ_AUDIT_BLOCK or twice as many
  int outputs;
} dq_audit_block_rows;
// running[i]: whether running sums of the i-th 16 of `count` times 16 channels may leave int16 at all. `weights` and
// `counts` have `count` elements.
typedef void dq_audit_blocks_function(const dq_audit_block_rows *rows, const dq_audit_block_weights *weights,
                                      const bool *running, int64_t count, dq_audit_block_counts *counts);

#endif
