// Decoding of picture files through stb_image, with the memory known before anything is decoded.
#include "datasets/image/image.h"

#include <limits.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/image/image_header.h"
#include "datasets/image/image_jpeg.h"
#include "lib/base/file.h"
#include "lib/base/sizes.h"

// Larger pictures are refused where nobody gave a limit.
enum { LARGEST_PICTURE = 1 << 30 };

// The decoder's memory while this thread decodes a picture: its hooks have no argument to hand it over by.
// What the header lets expect bounds it, so that a compressed stream cannot unpack to more, and it counts
// against the budget of all.
typedef struct decoding {
  dq_budget own, *shared;
  bool starved; // the shared budget or the system had none left
} decoding;
static _Thread_local decoding current;

typedef struct piece {               // in front of what the decoder gets
  alignas(max_align_t) size_t bytes; // with this
} piece;

static void *piece_alloc(size_t size) {
  if (!dq_add_size(size, sizeof(piece), &size) || !dq_budget_reserve(&current.own, size)) return NULL;
  piece *made = dq_budget_alloc(current.shared, size);
  current.starved |= !made;
  if (!made) return NULL;
  made->bytes = size;
  return made + 1;
}

static void piece_free(void *memory) {
  if (!memory) return;
  piece *old = (piece *)memory - 1;
  dq_budget_release(&current.own, old->bytes);
  dq_budget_free(old);
}

static void *piece_realloc(void *memory, size_t size) {
  if (!memory) return piece_alloc(size);
  piece *old = (piece *)memory - 1;
  size_t before = old->bytes;
  if (!dq_add_size(size, sizeof(piece), &size) || !dq_budget_reserve(&current.own, size)) return NULL;
  piece *made = dq_budget_realloc(old, size);
  current.starved |= !made;
  dq_budget_release(&current.own, made ? before : size);
  if (!made) return NULL;
  made->bytes = size;
  return made + 1;
}

// The library copies no bytes from or to NULL for an empty piece of a PNG, which memcpy does not allow.
static void *copy_bytes(void *to, const void *from, size_t size) { return size ? memcpy(to, from, size) : to; }

#define STBI_MALLOC(size) piece_alloc(size)
#define STBI_REALLOC(block, size) piece_realloc(block, size)
#define STBI_FREE(block) piece_free(block)
// The library takes these four by name, without parentheses: its own definitions, which have them,
// get other names, and ours take their place.
#define stbi__idct_block(...) stock_idct_block(__VA_ARGS__)
#define stbi__resample_row_h_2(...) stock_resample_row_h_2(__VA_ARGS__)
#define stbi__resample_row_hv_2(...) stock_resample_row_hv_2(__VA_ARGS__)
#define stbi__YCbCr_to_RGB_row(...) stock_YCbCr_to_RGB_row(__VA_ARGS__)
static void (*const stbi__idct_block)(uint8_t *, int, short *) = dq_jpeg_idct;
static uint8_t *(*const stbi__resample_row_h_2)(uint8_t *, uint8_t *, uint8_t *, int, int) = dq_jpeg_double_row;
static uint8_t *(*const stbi__resample_row_hv_2)(uint8_t *, uint8_t *, uint8_t *, int, int) = dq_jpeg_double_both;
static void (*const stbi__YCbCr_to_RGB_row)(uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, int,
                                            int) = dq_jpeg_to_rgb;
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_SIMD // the same bytes on every machine
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS DQ_LARGEST_SIDE
// The library's own code is not held to this project's warnings; static declarations without a body
// are reported at the end of the file, so that one is not restored.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#ifndef __clang__ // which does not know it
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#define memcpy copy_bytes
#include <stb/stb_image.h>
#undef memcpy
#pragma GCC diagnostic pop

// Bytes per pixel and channel while decoding: the result, its copy at 16 bits or a progressive
// JPEG's coefficients.
enum { BYTES_WHILE_DECODING = 4 };

// Offsets in a PNG: 8 signature bytes, then the IHDR chunk.
enum { PNG_WIDTH = 16, PNG_HEIGHT = 20, PNG_DEPTH = 24, PNG_COLOUR = 25, PNG_HEADER = 33 };
enum { PNG_COLOUR_PALETTE = 3 };
enum { JPEG_MARKER = 0xff, JPEG_END = 0xd9 };

static bool is_png(const uint8_t *bytes, size_t size) {
  return size > PNG_HEADER && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_jpeg(const uint8_t *bytes, size_t size) { return size > 2 && bytes[0] == 0xff && bytes[1] == 0xd8; }

static double big_endian(const uint8_t *at) { return at[0] * 0x1p24 + at[1] * 0x1p16 + at[2] * 0x1p8 + at[3]; }

// What decoding a picture takes, by its header.
static double decoding_bytes(double width, double height, int channels) {
  return width * height * (channels < 3 ? 3 : channels) * BYTES_WHILE_DECODING;
}

static dq_status check_bytes(double width, double height, int channels, const char *name, const dq_budget *budget,
                             dq_error *error) {
  double needed = decoding_bytes(width, height, channels);
  size_t limit = budget && budget->limit ? budget->limit : LARGEST_PICTURE;
  if (limit > LARGEST_PICTURE) limit = LARGEST_PICTURE;
  if (needed <= (double)limit) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT,
                 "%s: a picture of %.0fx%.0f pixels needs %.0f bytes to decode, at most %zu are "
                 "allowed",
                 name, width, height, needed, limit);
}

// `most` receives what decoding may take: a half more than the header lets expect, for pictures that are
// stored in whole blocks or interlaced, and copies of the file.
static dq_status check_header(const uint8_t *bytes, size_t size, const char *name, const dq_budget *budget,
                              size_t *most, dq_error *error) {
  int width, height, channels;
  if (size == 0) return dq_fail(error, DQ_BAD_INPUT, "%s: empty file, expected a picture", name);
  if (size > INT_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %zu bytes, a picture has at most %d", name, size, INT_MAX);
  DQ_TRY(dq_image_header_check(bytes, size, name, error));
  if (is_png(bytes, size)) // the library only says no to sizes it cannot count
    DQ_TRY(check_bytes(big_endian(bytes + PNG_WIDTH), big_endian(bytes + PNG_HEIGHT), 1, name, budget, error));
  if (is_jpeg(bytes, size) && !dq_jpeg_tables_fit(bytes, size))
    return dq_fail(error, DQ_BAD_INPUT, "%s: a Huffman table with more than 256 codes", name);
  current = (decoding){.own.limit = LARGEST_PICTURE};
  if (!stbi_info_from_memory(bytes, (int)size, &width, &height, &channels))
    return dq_fail(error, DQ_BAD_INPUT, "%s: not a JPEG, PNG, BMP or PNM picture that can be read", name);
  height = abs(height); // negative where a BMP's rows go from top to bottom
  enum { BLOCK = 32, FILE_COPIES = 4, TABLES = 256 * 1024 };
  *most = (size_t)(1.5 * decoding_bytes(width + BLOCK, height + BLOCK, channels)) + FILE_COPIES * size + TABLES;
  return check_bytes(width, height, channels, name, budget, error);
}

// The picture without alpha, which stb keeps as the last of 2 or 4 channels.
static dq_status copy_pixels(dq_image *image, const uint8_t *pixels, int width, int height, int stored,
                             dq_budget *budget, dq_error *error) {
  int kept = stored < 3 ? 1 : 3;
  DQ_TRY(dq_image_init(image, width, height, kept, budget, error));
  size_t count = (size_t)width * (size_t)height;
  if (kept == stored) memcpy(image->pixels, pixels, count * (size_t)kept);
  else
    for (size_t i = 0; i < count; i++)
      memcpy(image->pixels + i * (size_t)kept, pixels + i * (size_t)stored, (size_t)kept);
  return DQ_OK;
}

// A picture as it is stored, its name for messages, and what may be taken for its pixels.
typedef struct stored_picture {
  const uint8_t *bytes;
  size_t size;
  const char *name;
  dq_budget *budget;
} stored_picture;

// The library takes the low byte of samples of two, and scales none. `white`: what the largest sample becomes.
static dq_status decode_pnm(dq_image *image, const stored_picture *stored, const dq_pnm *pnm, unsigned white,
                            dq_error *error) {
  DQ_TRY(dq_image_header_check(stored->bytes, stored->size, stored->name, error));
  DQ_TRY(check_bytes(pnm->width, pnm->height, pnm->channels, stored->name, stored->budget, error));
  DQ_TRY(dq_image_init(image, pnm->width, pnm->height, pnm->channels, stored->budget, error));
  bool wide = pnm->largest > UINT8_MAX;
  size_t count = (size_t)pnm->width * (size_t)pnm->height * (size_t)pnm->channels;
  const uint8_t *at = stored->bytes + pnm->first;
  for (size_t i = 0; i < count; i++) {
    unsigned sample = wide ? (unsigned)at[2 * i] << 8 | at[2 * i + 1] : at[i];
    if (sample > pnm->largest) sample = pnm->largest;
    sample = (sample * white + pnm->largest / 2) / pnm->largest;
    image->pixels[i] = (uint8_t)(sample < UINT8_MAX ? sample : UINT8_MAX);
  }
  return DQ_OK;
}

// Releases of the library from 2.28 on return what they have of a JPEG that is cut off or has a broken marker, some
// with a reason of failure, and earlier ones refuse it: here the marker of the end has to be what was read last.
static uint8_t *load_jpeg(const uint8_t *bytes, int size, int *width, int *height, int *stored) {
  stbi__context context;
  stbi__result_info info;
  stbi__start_mem(&context, bytes, size);
  stbi__g_failure_reason = NULL;
  uint8_t *pixels = stbi__jpeg_load(&context, width, height, stored, 0, &info);
  const uint8_t *at = context.img_buffer;
  if (!stbi_failure_reason() && at - bytes >= 2 && at[-2] == JPEG_MARKER && at[-1] == JPEG_END) return pixels;
  piece_free(pixels);
  return NULL;
}

dq_status dq_image_decode(dq_image *image, const uint8_t *bytes, size_t size, const char *name, dq_budget *budget,
                          dq_error *error) {
  int width, height, stored;
  size_t most = 0;
  dq_pnm pnm;
  memset(image, 0, sizeof *image);
  if (dq_pnm_read(bytes, size, &pnm))
    return decode_pnm(image, &(stored_picture){bytes, size, name, budget}, &pnm, UINT8_MAX, error);
  DQ_TRY(check_header(bytes, size, name, budget, &most, error));
  current = (decoding){.own.limit = most, .shared = budget};
  uint8_t *pixels = is_jpeg(bytes, size) ? load_jpeg(bytes, (int)size, &width, &height, &stored)
                                         : stbi_load_from_memory(bytes, (int)size, &width, &height, &stored, 0);
  if (!pixels && current.starved) return dq_fail(error, DQ_SYSTEM, "%s: no memory left to decode the picture", name);
  if (!pixels && current.own.refused)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the picture unpacks to more than its header says", name);
  if (!pixels) return dq_fail(error, DQ_BAD_INPUT, "%s: the picture is broken or cut off", name);
  dq_status status = copy_pixels(image, pixels, width, height, stored, budget, error);
  piece_free(pixels);
  return status;
}

dq_status dq_image_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error) {
  dq_file file;
  memset(image, 0, sizeof *image);
  DQ_TRY(dq_file_open_regular(&file, path, error));
  dq_status status = dq_image_decode(image, file.data, file.size, path, budget, error);
  dq_file_close(&file);
  return status;
}

// stb resolves palettes; a picture that claims to be grey keeps its indices (PNG, section 11.2.2:
// colour types 0 and 3 store samples alike). Depths under 8 bits are then scaled to 0...255.
static dq_status decode_indices(dq_image *image, const dq_file *file, const char *path, dq_budget *budget,
                                dq_error *error) {
  uint8_t *copy = dq_budget_alloc(budget, file->size);
  if (!copy) return dq_fail_memory(error, file->size);
  memcpy(copy, file->data, file->size);
  copy[PNG_COLOUR] = 0;
  dq_status status = dq_image_decode(image, copy, file->size, path, budget, error);
  int depth = copy[PNG_DEPTH];
  dq_budget_free(copy);
  if (status != DQ_OK || depth >= 8) return status;
  size_t count = (size_t)image->width * (size_t)image->height;
  unsigned step = 255u / ((1u << depth) - 1);
  for (size_t i = 0; i < count; i++) image->pixels[i] = (uint8_t)(image->pixels[i] / step);
  return DQ_OK;
}

dq_status dq_mask_read(dq_image *image, const char *path, dq_budget *budget, dq_error *error) {
  dq_file file;
  memset(image, 0, sizeof *image);
  DQ_TRY(dq_file_open_regular(&file, path, error));
  dq_pnm pnm;
  bool palette = is_png(file.data, file.size) && file.data[PNG_COLOUR] == PNG_COLOUR_PALETTE;
  dq_status status;
  if (palette) status = decode_indices(image, &file, path, budget, error);
  else if (dq_pnm_read(file.data, file.size, &pnm)) // classes as they are
    status = decode_pnm(image, &(stored_picture){file.data, file.size, path, budget}, &pnm, pnm.largest, error);
  else status = dq_image_decode(image, file.data, file.size, path, budget, error);
  dq_file_close(&file);
  if (status == DQ_OK) status = dq_image_to_grey(image, error);
  if (status != DQ_OK) dq_image_deinit(image);
  return status;
}
