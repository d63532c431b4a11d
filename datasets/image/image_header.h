// Checks the headers of BMP and PNM files before they are decoded, because the decoder trusts the sizes in them.
#ifndef DQ_DATASETS_IMAGE_HEADER_H
#define DQ_DATASETS_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

enum { DQ_LARGEST_SIDE = 100000 }; // of a picture, in pixels

typedef struct dq_pnm {
  int width, height, channels; // 1 or 3
  unsigned largest;            // the sample of white; above 255 a sample has two bytes
  size_t first;                // offset of the first sample in the file
} dq_pnm;

// Reads the header of a binary PGM or PPM; false: the bytes are not one. The sizes can be trusted only after
// dq_image_header_check.
bool dq_pnm_read(const uint8_t *bytes, size_t size, dq_pnm *found);

// DQ_BAD_INPUT, with `name` in front of the message, when the bytes are a BMP or PNM whose width or height is not
// positive (the height of a BMP may be negative: then its rows go from top to bottom) or above DQ_LARGEST_SIDE, or
// whose pixels are not complete. DQ_OK for all other bytes.
dq_status dq_image_header_check(const uint8_t *bytes, size_t size, const char *name, dq_error *error);

#endif
