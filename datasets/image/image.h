// Pictures with a byte for each sample: decoding, resampling and conversion of colours.
#ifndef DQ_DATASETS_IMAGE_H
#define DQ_DATASETS_IMAGE_H

#include <stdint.h>

#include "lib/base/budget.h"
#include "lib/base/status.h"

typedef struct dq_image {
  int width, height;
  int channels;      // 1: grey; 3: RGB
  uint8_t *pixels;   // height x width x channels, owned (dq_budget_alloc); NULL: there are none
  dq_budget *budget; // the budget that the pixels count against; NULL: none
} dq_image;

// Frees the pixels and zeroes the struct, so that a second call does nothing; allowed on a zeroed struct.
void dq_image_deinit(dq_image *image);

// Fills *image, whatever it held, and allocates its pixels, zeros. The caller calls dq_image_deinit after success and
// may call it after a failure. DQ_BAD_INPUT: the width or height is below 1, or the bytes do not fit size_t;
// DQ_SYSTEM: there is no memory.
dq_status dq_image_init(dq_image *image, int width, int height, int channels, dq_budget *budget, dq_error *error);

// Decodes a JPEG, PNG, BMP or PNM file. Of 16-bit samples the high byte is used, alpha is dropped, CMYK becomes RGB,
// and the orientation of EXIF is not applied, as by Image.open of Pillow. The caller calls dq_image_deinit after
// success. Messages begin with the path. DQ_BAD_INPUT: the path is not a regular file, the file is broken or cut off,
// its pixels alone would need more than the limit of `budget` (1 GiB without a limit), or it unpacks to more than its
// header says; DQ_SYSTEM: the file cannot be read, or the budget has too little left.
dq_status dq_image_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error);

// Does what dq_image_read does, with the bytes of a file in memory. Messages begin with `name`.
dq_status dq_image_decode(dq_image *image, const uint8_t *bytes, size_t size, const char *name, dq_budget *budget,
                          dq_error *error);

// Reads a mask, with one channel: the indices of a picture with a palette, the samples of a PGM without scaling, else
// grey values. Statuses as for dq_image_read.
dq_status dq_mask_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error);

typedef enum dq_filter { DQ_FILTER_BILINEAR, DQ_FILTER_BICUBIC } dq_filter;

// The size to which a picture is resampled, and the place of the rectangle of the result that is computed.
typedef struct dq_resampling {
  int64_t width, height; // of the whole result
  int64_t left, top;     // of the rectangle
  dq_filter filter;
} dq_resampling;

// Resamples the source to to->width x to->height and stores the rectangle at (left, top) of the result in `target`;
// only that rectangle is computed. The caller has set width, height, channels (those of the source) and pixels of
// `target` (dq_image_init), which is not the source. The rectangle has the size of `target` and lies inside of the
// result; all sizes are at least 1. After a failure the caller still owns `target`, whose pixels mean nothing. The
// filter is an antialiased convolution in 8-bit fixed point with the bits of Image.resize of Pillow 13, which depend on
// the order of the horizontal and the vertical pass. DQ_SYSTEM: there is no memory.
dq_status dq_image_resample(const dq_image *source, const dq_resampling *to, dq_image *target, dq_error *error);

// Fills *crop with a quadrilateral of the source, as recognizers of text take a line of it (get_rotate_crop_image of
// PaddleOCR). The corners, x and y in pixels of the source, begin with the one that becomes the upper left one, and go
// on clockwise; the middle of the first pixel is (0, 0). They may lie outside of the source, whose outermost pixels go
// on there. The crop is as wide and high as the longer one of the opposite sides, rounded down, and the corners become
// (0, 0), (width, 0), (width, height) and (0, height) by a projection, between whose pixels cubic convolution with
// a = -0.75 interpolates (as INTER_CUBIC of OpenCV, but in double precision). A crop 1.5 times as high as wide or more
// is then turned counterclockwise by 90 degrees. The caller calls dq_image_deinit after success. DQ_BAD_INPUT: width or
// height is below 1 or above 100000, or a corner is no number; DQ_SYSTEM: there is no memory.
dq_status dq_image_crop(dq_image *crop, const dq_image *source, const double corners[4][2], dq_error *error);

// Resizes `values` (height x width) to target_height x target_width by the nearest neighbour, as NEAREST of Pillow.
// DQ_SYSTEM: there is no memory.
dq_status dq_resize_nearest(const uint8_t *values, int width, int height, uint8_t *target, int target_width,
                            int target_height, dq_error *error);

// Replace the pixels by grey ones (luma of ITU-R BT.601 in 16-bit fixed point, as mode L of Pillow), or by RGB with
// equal channels. Nothing happens when the picture is grey, or RGB, already. Old and new pixels, 4 bytes for each
// place, are in memory together for a moment. DQ_SYSTEM: there is no memory, and the picture is as it was.
dq_status dq_image_to_grey(dq_image *image, dq_error *error);
dq_status dq_image_to_rgb(dq_image *image, dq_error *error);

#endif
