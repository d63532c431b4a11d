// What the headers of BMP and PNM files say, checked before the decoder reads them: it trusts their sizes.
#ifndef DQ_DATASETS_IMAGE_HEADER_H
#define DQ_DATASETS_IMAGE_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

enum { DQ_LARGEST_SIDE = 100000 }; // of a picture, in pixels

// DQ_BAD_INPUT, with `name` in front, when the bytes are a BMP or PNM whose width or height is none (a BMP
// may have a negative height: its rows go from top to bottom) or whose pixels are not all there.
// Other bytes pass.
dq_status dq_image_header_check(const uint8_t *bytes, size_t size, const char *name, dq_error *error);

#endif
