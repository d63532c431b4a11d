// Pictures of bytes: decoding, resampling and preprocessing.
#ifndef DQ_DATASETS_IMAGE_H
#define DQ_DATASETS_IMAGE_H

#include <stdint.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

typedef struct dq_image {
  int width, height;
  int channels;      // 1 grey, 3 RGB
  uint8_t *pixels;   // height x width x channels, of dq_budget_alloc; NULL when there is none
  dq_budget *budget; // what they count against; NULL: nothing
} dq_image;

void dq_image_deinit(dq_image *image); // frees the pixels; safe on a zeroed struct

// Allocates the pixels, zeros. DQ_SYSTEM without memory.
dq_status dq_image_init(dq_image *image, int width, int height, int channels, dq_budget *budget, dq_error *error);

// Decodes JPEG, PNG, BMP or PNM. 16-bit samples keep their high byte, alpha is dropped, CMYK
// becomes RGB, EXIF orientation is not applied (as Pillow's Image.open). The header is checked
// first. DQ_BAD_INPUT when the file is not a regular one, is broken or cut off, would need more than the
// limit of `budget` (NULL or none: 1 GiB) by itself, or unpacks to more than its header says; DQ_SYSTEM when
// the budget has too little left at the moment. Errors name the path.
dq_status dq_image_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error);

// The same from memory; `name` stands in messages.
dq_status dq_image_decode(dq_image *image, const uint8_t *bytes, size_t size, const char *name, dq_budget *budget,
                          dq_error *error);

// A mask: grey values, those of a PGM as the file has them, or the palette indices of a picture with a palette.
dq_status dq_mask_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error);

typedef enum dq_filter { DQ_FILTER_BILINEAR, DQ_FILTER_BICUBIC } dq_filter;

// An enlarged or reduced picture of width x height, and where in it a window begins.
typedef struct dq_resampling {
  int64_t width, height, left, top;
  dq_filter filter;
} dq_resampling;

// A window of a picture resampled: only the rectangle of `target`'s size at (left, top) is computed. Antialiased 8-bit
// fixed-point convolution, bit for bit as the Image.resize of Pillow 13, down to the order of its two passes. `target`
// has its size and channels (the source's) set and pixels allocated.
dq_status dq_image_resample(const dq_image *source, const dq_resampling *to, dq_image *target, dq_error *error);

// Nearest neighbour as Pillow's NEAREST: `values` (height x width) to target_height x target_width.
// DQ_SYSTEM without memory.
dq_status dq_resize_nearest(const uint8_t *values, int width, int height, uint8_t *target, int target_width,
                            int target_height, dq_error *error);

// RGB to grey and back in place of the pixels (ITU-R 601 luma in 16-bit fixed point, as Pillow's
// L).
dq_status dq_image_to_grey(dq_image *image, dq_error *error);
dq_status dq_image_to_rgb(dq_image *image, dq_error *error);

#endif
