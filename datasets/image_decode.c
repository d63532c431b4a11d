// Decoding of picture files through stb_image, with the memory known before anything is decoded.
#include "datasets/image.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/image_jpeg.h"
#include "lib/base/file.h"
#include "lib/base/sizes.h"

// A compressed stream may hold far more than its header says: no single block may exceed this. What a broken
// picture leaves out is 0, not whatever was in memory.
enum { LARGEST_BLOCK = 1 << 30 };

static void *bounded_malloc(size_t size) {
  return size > LARGEST_BLOCK ? NULL : calloc(1, size);
}
static void *bounded_realloc(void *block, size_t size) {
  return size > LARGEST_BLOCK ? NULL : realloc(block, size);
}

#define STBI_MALLOC(size) bounded_malloc(size)
#define STBI_REALLOC(block, size) bounded_realloc(block, size)
#define STBI_FREE(block) free(block)
// The library takes these four by name, without parentheses: its own definitions, which have them,
// get other names, and ours take their place.
#define stbi__idct_block(...) stock_idct_block(__VA_ARGS__)
#define stbi__resample_row_h_2(...) stock_resample_row_h_2(__VA_ARGS__)
#define stbi__resample_row_hv_2(...) stock_resample_row_hv_2(__VA_ARGS__)
#define stbi__YCbCr_to_RGB_row(...) stock_YCbCr_to_RGB_row(__VA_ARGS__)
static void (*const stbi__idct_block)(uint8_t *, int, short *) = dq_jpeg_idct;
static uint8_t *(*const stbi__resample_row_h_2)(uint8_t *, uint8_t *, uint8_t *, int,
                                                int) = dq_jpeg_double_row;
static uint8_t *(*const stbi__resample_row_hv_2)(uint8_t *, uint8_t *, uint8_t *, int,
                                                 int) = dq_jpeg_double_both;
static void (*const stbi__YCbCr_to_RGB_row)(uint8_t *, const uint8_t *, const uint8_t *,
                                            const uint8_t *, int, int) = dq_jpeg_to_rgb;
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_PNM
#define STBI_NO_SIMD // the same bytes on every machine
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_NO_FAILURE_STRINGS
#define STBI_MAX_DIMENSIONS 100000
// The library's own code is not held to this project's warnings; static declarations without a body
// are reported at the end of the file, so that one is not restored.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

// Bytes per pixel and channel while decoding: the result, its copy at 16 bits or a progressive
// JPEG's coefficients.
enum { BYTES_WHILE_DECODING = 4 };

void dq_image_deinit(dq_image *image) {
  free(image->pixels);
  memset(image, 0, sizeof *image);
}

dq_status dq_image_init(dq_image *image, int width, int height, int channels, dq_error *error) {
  size_t bytes;
  if (width < 1 || height < 1 || !dq_mul_size((size_t)width, (size_t)height, &bytes) ||
      !dq_mul_size(bytes, (size_t)channels, &bytes))
    return dq_fail(error, DQ_BAD_INPUT, "a picture of %dx%d pixels is not possible", width, height);
  *image = (dq_image){.width = width, .height = height, .channels = channels};
  image->pixels = malloc(bytes);
  return image->pixels ? DQ_OK : dq_fail_memory(error, bytes);
}

// Offsets in a PNG: 8 signature bytes, then the IHDR chunk.
enum { PNG_WIDTH = 16, PNG_HEIGHT = 20, PNG_DEPTH = 24, PNG_COLOUR = 25, PNG_HEADER = 33 };
enum { PNG_COLOUR_PALETTE = 3 };

static bool is_png(const uint8_t *bytes, size_t size) {
  return size > PNG_HEADER && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8);
}

static bool is_jpeg(const uint8_t *bytes, size_t size) {
  return size > 2 && bytes[0] == 0xff && bytes[1] == 0xd8;
}

static double big_endian(const uint8_t *at) {
  return at[0] * 0x1p24 + at[1] * 0x1p16 + at[2] * 0x1p8 + at[3];
}

static dq_status check_bytes(double width, double height, int channels, const char *name,
                             size_t budget, dq_error *error) {
  double needed = width * height * (channels < 3 ? 3 : channels) * BYTES_WHILE_DECODING;
  if (budget == 0 || budget > LARGEST_BLOCK) budget = LARGEST_BLOCK;
  if (needed <= (double)budget) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT,
                 "%s: a picture of %.0fx%.0f pixels needs %.0f bytes to decode, at most %zu are "
                 "allowed",
                 name, width, height, needed, budget);
}

static dq_status check_header(const uint8_t *bytes, size_t size, const char *name, size_t budget,
                              dq_error *error) {
  int width, height, channels;
  if (size == 0) return dq_fail(error, DQ_BAD_INPUT, "%s: empty file, expected a picture", name);
  if (size > INT_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %zu bytes, a picture has at most %d", name, size,
                   INT_MAX);
  if (is_png(bytes, size)) // the library only says no to sizes it cannot count
    DQ_TRY(check_bytes(big_endian(bytes + PNG_WIDTH), big_endian(bytes + PNG_HEIGHT), 1, name,
                       budget, error));
  if (is_jpeg(bytes, size) && !dq_jpeg_tables_fit(bytes, size))
    return dq_fail(error, DQ_BAD_INPUT, "%s: a Huffman table that is missing or has more than 255 codes", name);
  if (!stbi_info_from_memory(bytes, (int)size, &width, &height, &channels))
    return dq_fail(error, DQ_BAD_INPUT, "%s: not a JPEG, PNG, BMP or PNM picture that can be read",
                   name);
  return check_bytes(width, height, channels, name, budget, error);
}

// Drops alpha, which stb keeps as the last of 2 or 4 channels.
static void drop_alpha(dq_image *image, int stored) {
  size_t count = (size_t)image->width * (size_t)image->height;
  int kept = stored == 2 ? 1 : 3;
  for (size_t i = 0; i < count; i++)
    memmove(image->pixels + i * (size_t)kept, image->pixels + i * (size_t)stored, (size_t)kept);
  image->channels = kept;
}

dq_status dq_image_decode(dq_image *image, const uint8_t *bytes, size_t size, const char *name,
                          size_t budget, dq_error *error) {
  memset(image, 0, sizeof *image);
  DQ_TRY(check_header(bytes, size, name, budget, error));
  int stored;
  image->pixels =
      stbi_load_from_memory(bytes, (int)size, &image->width, &image->height, &stored, 0);
  if (!image->pixels)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the picture is broken or cut off", name);
  image->channels = stored;
  if (stored == 2 || stored == 4) drop_alpha(image, stored);
  return DQ_OK;
}

dq_status dq_image_read(dq_image *image, const char *path, size_t budget, dq_error *error) {
  dq_file file;
  memset(image, 0, sizeof *image);
  DQ_TRY(dq_file_open(&file, path, error));
  dq_status status = dq_image_decode(image, file.data, file.size, path, budget, error);
  dq_file_close(&file);
  return status;
}

// stb resolves palettes; a picture that claims to be grey keeps its indices (PNG, section 11.2.2:
// colour types 0 and 3 store samples alike). Depths under 8 bits are then scaled to 0...255.
static dq_status decode_indices(dq_image *image, const dq_file *file, const char *path,
                                size_t budget, dq_error *error) {
  uint8_t *copy = malloc(file->size);
  if (!copy) return dq_fail_memory(error, file->size);
  memcpy(copy, file->data, file->size);
  copy[PNG_COLOUR] = 0;
  dq_status status = dq_image_decode(image, copy, file->size, path, budget, error);
  int depth = copy[PNG_DEPTH];
  free(copy);
  if (status != DQ_OK || depth >= 8) return status;
  size_t count = (size_t)image->width * (size_t)image->height;
  unsigned step = 255u / ((1u << depth) - 1);
  for (size_t i = 0; i < count; i++) image->pixels[i] = (uint8_t)(image->pixels[i] / step);
  return DQ_OK;
}

dq_status dq_mask_read(dq_image *image, const char *path, size_t budget, dq_error *error) {
  dq_file file;
  memset(image, 0, sizeof *image);
  DQ_TRY(dq_file_open(&file, path, error));
  bool palette = is_png(file.data, file.size) && file.data[PNG_COLOUR] == PNG_COLOUR_PALETTE;
  dq_status status = palette ? decode_indices(image, &file, path, budget, error)
                             : dq_image_decode(image, file.data, file.size, path, budget, error);
  dq_file_close(&file);
  if (status == DQ_OK) status = dq_image_to_grey(image, error);
  if (status != DQ_OK) dq_image_deinit(image);
  return status;
}
