// What the headers of BMP and PNM files say, checked before the decoder reads them: it trusts their sizes.
#ifndef DQ_DATASETS_IMAGE_HEADER_H
#define DQ_DATASETS_IMAGE_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

enum { DQ_LARGEST_SIDE = 100000 }; // of a picture, in pixels

typedef struct dq_pnm {
  int width, height, channels; // 1 or 3
  unsigned largest;            // what a sample stands for white with; above 255 samples have two bytes
  size_t first;                // byte of the samples
} dq_pnm;

// False when the bytes are no binary PGM or PPM. All is right once dq_image_header_check has passed.
bool dq_pnm_read(const uint8_t *bytes, size_t size, dq_pnm *found);

// DQ_BAD_INPUT, with `name` in front, when the bytes are a BMP or PNM whose width or height is none (a BMP
// may have a negative height: its rows go from top to bottom) or whose pixels are not all there.
// Other bytes pass.
dq_status dq_image_header_check(const uint8_t *bytes, size_t size, const char *name, dq_error *error);

#endif
