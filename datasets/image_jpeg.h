// The arithmetic of JPEG decoding as libjpeg does it by default, to the last bit, so that pictures
// are the same ones that training pipelines saw.
#ifndef DQ_DATASETS_IMAGE_JPEG_H
#define DQ_DATASETS_IMAGE_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether no Huffman table of the file has more than 255 codes (pictures of 8 bits need at most 176), and every
// scan comes behind the tables that it is coded by. stb_image checks neither.
bool dq_jpeg_tables_fit(const uint8_t *bytes, size_t size);

// Inverse DCT of dequantized coefficients (row by row) into 8x8 samples.
void dq_jpeg_idct(uint8_t *out, int stride, short coefficients[64]);

// Doubling of a row by a triangle filter, horizontally, or in both directions from the nearer and
// the farther row. Writes 2 * width samples and returns `out`. `unused`: the factor, always 2.
uint8_t *dq_jpeg_double_row(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused);
uint8_t *dq_jpeg_double_both(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused);

// `count` pixels of YCbCr (JFIF) to RGB, `step` bytes apart; with 4 the last byte is 255.
void dq_jpeg_to_rgb(uint8_t *out, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int count, int step);

#endif
