// The arithmetic of JPEG decoding with the bits of the default methods of libjpeg, so that a network reads the same
// pixels as in training.
#ifndef DQ_DATASETS_IMAGE_JPEG_H
#define DQ_DATASETS_IMAGE_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether no Huffman table of the file has more than 255 codes (8-bit pictures need at most 176), and the tables of
// every scan stand in front of it. The decoder checks neither and would read outside of its tables.
bool dq_jpeg_tables_fit(const uint8_t *bytes, size_t size);

// The functions below have the signatures that the decoder expects of its callbacks.

// The inverse discrete cosine transform of 64 dequantized coefficients, row by row, into 8 rows of 8 samples that begin
// `stride` bytes apart.
void dq_jpeg_idct(uint8_t *out, int stride, short coefficients[64]);

// Double a row of `width` samples horizontally by a triangle filter; dq_jpeg_double_both also interpolates vertically
// between the nearer and the farther row of the smaller plane. Both write 2 * width samples to `out` and return it.
// `unused` is the factor, always 2.
uint8_t *dq_jpeg_double_row(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused);
uint8_t *dq_jpeg_double_both(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused);

// Converts `count` pixels from YCbCr (JFIF) to RGB. Pixels in `out` are `step` bytes apart; with step 4 the fourth byte
// is 255.
void dq_jpeg_to_rgb(uint8_t *out, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int count, int step);

#endif
