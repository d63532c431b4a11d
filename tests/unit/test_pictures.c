// Kinds of pictures: every colour type and depth of PNG, sizes at the edges, every truncation; CMYK and
// rotated JPEG. The type is told by the bytes, not by the name.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "datasets/datasets.h"
#include "datasets/image/image.h"
#include "datasets/image/image_jpeg.h"
#include "tests/unit/wire.h"

static char folder[] = "/tmp/test_pictures_XXXXXX";

// ---- A PNG of one colour, its data stored without compression ----

static void big_endian(wire *to, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) wire_append(to, &(uint8_t){(uint8_t)(number >> shift)}, 1);
}

static uint32_t crc(const uint8_t *data, size_t size) {
  uint32_t rest = ~0u;
  for (size_t i = 0; i < size; i++) {
    rest ^= data[i];
    for (int bit = 0; bit < 8; bit++) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0);
  }
  return ~rest;
}

static void chunk(wire *png, const char *name, const wire *content) {
  wire named = {0};
  wire_append(&named, name, 4);
  wire_append(&named, content->data, content->size);
  big_endian(png, (uint32_t)content->size);
  wire_append(png, named.data, named.size);
  big_endian(png, crc(named.data, named.size));
  wire_free(&named);
}

static void store(wire *to, const wire *pixels) { // zlib with stored blocks
  uint32_t a = 1, b = 0;
  wire_append(to, "\x78\x01", 2);
  for (size_t at = 0; at < pixels->size;) {
    uint16_t length = (uint16_t)(pixels->size - at < 60000 ? pixels->size - at : 60000), inverse = (uint16_t)~length;
    wire_append(to, &(uint8_t){at + length == pixels->size}, 1);
    wire_append(to, &length, 2), wire_append(to, &inverse, 2);
    wire_append(to, pixels->data + at, length);
    at += length;
  }
  for (size_t i = 0; i < pixels->size; i++) a = (a + pixels->data[i]) % 65521, b = (b + a) % 65521;
  big_endian(to, b << 16 | a);
}

enum { GREY = 0, RGB = 2, GREY_ALPHA = 4, RGBA = 6 };

// All pixels are `samples` (as many as the colour type has, of `depth` bits).
static wire make_png(uint32_t width, uint32_t height, int depth, int kind, const uint16_t *samples) {
  wire png = {0}, header = {0}, pixels = {0}, stored = {0}, none = {0};
  int count = kind == GREY ? 1 : kind == GREY_ALPHA ? 2 : kind == RGB ? 3 : 4;
  for (uint32_t y = 0; y < height; y++) {
    wire_append(&pixels, "", 1); // no filter
    for (uint32_t x = 0; x < width; x++)
      for (int c = 0; c < count; c++) {
        uint8_t bytes[2] = {(uint8_t)(samples[c] >> 8), (uint8_t)samples[c]};
        wire_append(&pixels, depth == 8 ? bytes + 1 : bytes, depth == 8 ? 1 : 2);
      }
  }
  big_endian(&header, width), big_endian(&header, height);
  wire_append(&header, (uint8_t[]){(uint8_t)depth, (uint8_t)kind, 0, 0, 0}, 5);
  store(&stored, &pixels);
  wire_append(&png, "\x89PNG\r\n\x1a\n", 8);
  chunk(&png, "IHDR", &header), chunk(&png, "IDAT", &stored), chunk(&png, "IEND", &none);
  wire_free(&header), wire_free(&pixels), wire_free(&stored);
  return png;
}

static void put(const char *name, const void *data, size_t size) {
  FILE *file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

// ---- Reading ----

static dq_status open_picture(dq_data **data, bool strict) {
  dq_error error = {0};
  put("list.txt", "p.png 0\n", 8);
  dq_data_options options = {.spec = "list.txt", .preset = "vww", .strict = strict};
  static dq_budget budget = {.limit = (size_t)256 << 20};
  static dq_context context = {.budget = &budget};
  return dq_data_open(data, &options, &context, &error);
}

// The picture as a 3x4x4 input has one colour, in 0...255.
static void reads_as(wire png, double red, double green, double blue) {
  dq_data *data;
  dq_error error = {0};
  float values[48];
  const double expected[3] = {red, green, blue};
  put("p.png", png.data, png.size);
  wire_free(&png);
  assert_int_equal(open_picture(&data, true), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 4, 4}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, NULL, &error), DQ_OK);
  for (int i = 0; i < 48; i++)
    if (fabs((double)values[i] * 255 - expected[i / 16]) > 1.01)
      fail_msg("channel %d is %g, expected %g", i / 16, (double)values[i] * 255, expected[i / 16]);
  dq_data_free(data);
}

static void kinds(void **state) {
  (void)state;
  reads_as(make_png(5, 3, 8, GREY, (uint16_t[]){77}), 77, 77, 77);
  reads_as(make_png(5, 3, 8, RGB, (uint16_t[]){10, 100, 200}), 10, 100, 200);
  reads_as(make_png(5, 3, 8, GREY_ALPHA, (uint16_t[]){77, 255}), 77, 77, 77);
  reads_as(make_png(5, 3, 8, RGBA, (uint16_t[]){10, 100, 200, 255}), 10, 100, 200);
  reads_as(make_png(5, 3, 16, GREY, (uint16_t[]){77 * 257}), 77, 77, 77);
  reads_as(make_png(5, 3, 16, RGB, (uint16_t[]){10 * 257, 100 * 257, 200 * 257}), 10, 100, 200);
  reads_as(make_png(5, 3, 16, RGBA, (uint16_t[]){2570, 25700, 51400, 65535}), 10, 100, 200);
}

static void sizes(void **state) {
  (void)state;
  const uint16_t colour[] = {10, 100, 200};
  reads_as(make_png(1, 1, 8, RGB, colour), 10, 100, 200);
  reads_as(make_png(30000, 1, 8, RGB, colour), 10, 100, 200);
  reads_as(make_png(1, 3000, 8, RGB, colour), 10, 100, 200);
}

// Full cyan as CMYK, 8x8, and blue, 16x8, whose EXIF says it is rotated by 90 degrees.
static const uint8_t cmyk_jpeg[] = {
    255, 216, 255, 238, 0,   14,  65,  100, 111, 98,  101, 0,   100, 0,   0,   0,   0,   0,   255, 219, 0,   67,  0,
    3,   2,   2,   3,   2,   2,   3,   3,   3,   3,   4,   3,   3,   4,   5,   8,   5,   5,   4,   4,   5,   10,  7,
    7,   6,   8,   12,  10,  12,  12,  11,  10,  11,  11,  13,  14,  18,  16,  13,  14,  17,  14,  11,  11,  16,  22,
    16,  17,  19,  20,  21,  21,  21,  12,  15,  23,  24,  22,  20,  24,  18,  20,  21,  20,  255, 192, 0,   20,  8,
    0,   8,   0,   8,   4,   67,  17,  0,   77,  17,  0,   89,  17,  0,   75,  17,  0,   255, 196, 0,   31,  0,   0,
    1,   5,   1,   1,   1,   1,   1,   1,   0,   0,   0,   0,   0,   0,   0,   0,   1,   2,   3,   4,   5,   6,   7,
    8,   9,   10,  11,  255, 196, 0,   181, 16,  0,   2,   1,   3,   3,   2,   4,   3,   5,   5,   4,   4,   0,   0,
    1,   125, 1,   2,   3,   0,   4,   17,  5,   18,  33,  49,  65,  6,   19,  81,  97,  7,   34,  113, 20,  50,  129,
    145, 161, 8,   35,  66,  177, 193, 21,  82,  209, 240, 36,  51,  98,  114, 130, 9,   10,  22,  23,  24,  25,  26,
    37,  38,  39,  40,  41,  42,  52,  53,  54,  55,  56,  57,  58,  67,  68,  69,  70,  71,  72,  73,  74,  83,  84,
    85,  86,  87,  88,  89,  90,  99,  100, 101, 102, 103, 104, 105, 106, 115, 116, 117, 118, 119, 120, 121, 122, 131,
    132, 133, 134, 135, 136, 137, 138, 146, 147, 148, 149, 150, 151, 152, 153, 154, 162, 163, 164, 165, 166, 167, 168,
    169, 170, 178, 179, 180, 181, 182, 183, 184, 185, 186, 194, 195, 196, 197, 198, 199, 200, 201, 202, 210, 211, 212,
    213, 214, 215, 216, 217, 218, 225, 226, 227, 228, 229, 230, 231, 232, 233, 234, 241, 242, 243, 244, 245, 246, 247,
    248, 249, 250, 255, 218, 0,   14,  4,   67,  0,   77,  0,   89,  0,   75,  0,   0,   63,  0,   252, 170, 175, 213,
    58,  253, 83,  175, 213, 58,  255, 217,
};
static const uint8_t rotated_jpeg[] = {
    255, 216, 255, 224, 0,  16,  74,  70, 73,  70,  0,   1,   1,  0,  0,  1,   0,   1,   0,   0,   255, 225, 0,   34,
    69,  120, 105, 102, 0,  0,   77,  77, 0,   42,  0,   0,   0,  8,  0,  1,   1,   18,  0,   3,   0,   0,   0,   1,
    0,   6,   0,   0,   0,  0,   0,   0,  255, 219, 0,   67,  0,  3,  2,  2,   3,   2,   2,   3,   3,   3,   3,   4,
    3,   3,   4,   5,   8,  5,   5,   4,  4,   5,   10,  7,   7,  6,  8,  12,  10,  12,  12,  11,  10,  11,  11,  13,
    14,  18,  16,  13,  14, 17,  14,  11, 11,  16,  22,  16,  17, 19, 20, 21,  21,  21,  12,  15,  23,  24,  22,  20,
    24,  18,  20,  21,  20, 255, 219, 0,  67,  1,   3,   4,   4,  5,  4,  5,   9,   5,   5,   9,   20,  13,  11,  13,
    20,  20,  20,  20,  20, 20,  20,  20, 20,  20,  20,  20,  20, 20, 20, 20,  20,  20,  20,  20,  20,  20,  20,  20,
    20,  20,  20,  20,  20, 20,  20,  20, 20,  20,  20,  20,  20, 20, 20, 20,  20,  20,  20,  20,  20,  20,  20,  20,
    20,  20,  255, 192, 0,  17,  8,   0,  8,   0,   16,  3,   1,  34, 0,  2,   17,  1,   3,   17,  1,   255, 196, 0,
    21,  0,   1,   1,   0,  0,   0,   0,  0,   0,   0,   0,   0,  0,  0,  0,   0,   0,   0,   9,   255, 196, 0,   20,
    16,  1,   0,   0,   0,  0,   0,   0,  0,   0,   0,   0,   0,  0,  0,  0,   0,   0,   255, 196, 0,   21,  1,   1,
    1,   0,   0,   0,   0,  0,   0,   0,  0,   0,   0,   0,   0,  0,  0,  6,   9,   255, 196, 0,   20,  17,  1,   0,
    0,   0,   0,   0,   0,  0,   0,   0,  0,   0,   0,   0,   0,  0,  0,  255, 218, 0,   12,  3,   1,   0,   2,   17,
    3,   17,  0,   63,  0,  158, 224, 42, 152, 59,  255, 217,
};

static wire copy_of(const uint8_t *data, size_t size) {
  wire copy = {0};
  wire_append(&copy, data, size);
  return copy;
}

// CMYK becomes RGB; an EXIF rotation is not applied, as other loaders do not by themselves.
static void jpeg_kinds(void **state) {
  (void)state;
  reads_as(copy_of(cmyk_jpeg, sizeof cmyk_jpeg), 0, 255, 255);
  reads_as(copy_of(rotated_jpeg, sizeof rotated_jpeg), 0, 0, 254);
  dq_data *data;
  dq_error error = {0};
  dq_sample_info info;
  float values[48];
  put("p.png", rotated_jpeg, sizeof rotated_jpeg);
  assert_int_equal(open_picture(&data, true), DQ_OK);
  assert_int_equal(dq_data_set_shape(data, &(dq_tensor){.rank = 4, .dims = {1, 3, 4, 4}}, &error), DQ_OK);
  assert_int_equal(dq_data_read(data, 0, values, &info, &error), DQ_OK);
  assert_int_equal(info.width, 16);
  assert_int_equal(info.height, 8);
  dq_data_free(data);
}

// Wherever a JPEG is cut off: the marker of its end is missing.
static void jpeg_cut_off(void **state) {
  (void)state;
  const uint8_t marker[] = {0xff, 0xd9}, more[] = "a film";
  for (size_t size = 0; size < sizeof rotated_jpeg; size++) {
    dq_data *data = NULL;
    put("p.png", rotated_jpeg, size);
    assert_int_equal(open_picture(&data, true), DQ_BAD_INPUT);
  }
  assert_memory_equal(rotated_jpeg + sizeof rotated_jpeg - 2, marker, 2);
  wire longer = copy_of(rotated_jpeg, sizeof rotated_jpeg);
  wire_append(&longer, more, sizeof more); // what cameras put behind
  reads_as(longer, 0, 0, 254);
}

// A scan by Huffman tables that the file does not bring, and a table of 256 codes of at most 9 bits, which no
// encoder writes: broken, whatever happens to be in memory.
static void jpeg_tables(void **state) {
  (void)state;
  static const uint8_t selectors[] = {2, 17, 3, 17, 0, 63, 0}, start[] = {255, 216};
  static const uint8_t large[] = {255, 196, 1, 19, 2, 0, 0, 0, 0, 0, 0, 0, 1, 255, 0, 0, 0, 0, 0, 0, 0};
  dq_data *data = NULL;
  uint8_t file[sizeof rotated_jpeg];
  memcpy(file, rotated_jpeg, sizeof file);
  uint8_t *selector = (uint8_t *)memmem(file, sizeof file, selectors, sizeof selectors) + 3;
  for (int table = 2; table < 4; table++)
    for (int shift = 0; shift <= 4; shift += 4) { // of the coefficients 1 to 63, of the means
      *selector = (uint8_t)(table << shift | 1 << (4 - shift));
      put("p.png", file, sizeof file);
      assert_int_equal(open_picture(&data, true), DQ_BAD_INPUT);
    }
  wire more = {0};
  uint8_t values[256] = {0};
  wire_append(&more, start, sizeof start);
  wire_append(&more, large, sizeof large);
  wire_append(&more, values, sizeof values);
  wire_append(&more, rotated_jpeg + 2, sizeof rotated_jpeg - 2);
  put("p.png", more.data, more.size);
  assert_int_equal(open_picture(&data, true), DQ_BAD_INPUT);
  wire_free(&more);
}

// Cut off anywhere the picture is skipped, with strict refused; no sample comes from nowhere.
static void truncations(void **state) {
  (void)state;
  wire png = make_png(6, 4, 8, RGB, (uint16_t[]){10, 100, 200});
  size_t trailer = 12 + 4; // IEND, and the checksum of the data before it, may be missing
  for (size_t size = 0; size + trailer < png.size; size++) {
    dq_data *data = NULL;
    put("p.png", png.data, size);
    dq_status status = open_picture(&data, true);
    if (status == DQ_OK) dq_data_free(data); // a decoder may take what is there when pixels are complete
    else assert_int_equal(status, DQ_BAD_INPUT);
    if (size < png.size / 2) assert_int_equal(status, DQ_BAD_INPUT);
  }
  wire_free(&png);
}

// ---- BMP and PNM ----

static void little_endian(wire *to, uint32_t number, int bytes) {
  for (int i = 0; i < bytes; i++) wire_append(to, &(uint8_t){(uint8_t)(number >> 8 * i)}, 1);
}

// 24 bits a pixel, all of one colour.
static wire make_bmp(int32_t width, int32_t height, int rows) {
  wire bmp = {0};
  wire_append(&bmp, "BM", 2);
  little_endian(&bmp, 0, 4), little_endian(&bmp, 0, 4), little_endian(&bmp, 54, 4);
  little_endian(&bmp, 40, 4), little_endian(&bmp, (uint32_t)width, 4), little_endian(&bmp, (uint32_t)height, 4);
  little_endian(&bmp, 1, 2), little_endian(&bmp, 24, 2);
  for (int i = 0; i < 6; i++) little_endian(&bmp, 0, 4);
  for (int y = 0; y < rows; y++) {
    for (int x = 0; x < width; x++) wire_append(&bmp, (uint8_t[]){200, 100, 10}, 3); // blue first
    wire_append(&bmp, "\0\0\0", (size_t)((4 - 3 * width % 4) % 4));
  }
  return bmp;
}

static void refuses(const void *bytes, size_t size) {
  dq_data *data = NULL;
  put("p.png", bytes, size);
  assert_int_equal(open_picture(&data, true), DQ_BAD_INPUT);
}

static void refuses_wire(wire file) {
  refuses(file.data, file.size);
  wire_free(&file);
}

static void bmp_kinds(void **state) {
  (void)state;
  reads_as(make_bmp(5, 3, 3), 10, 100, 200);
  reads_as(make_bmp(5, -3, 3), 10, 100, 200);
  wire unfilled = make_bmp(5, 3, 3);
  unfilled.size--; // what fills up the last row may be missing
  reads_as(unfilled, 10, 100, 200);
}

// Pixels that are not there, and sizes that the decoder would count wrongly.
static void bmp_broken(void **state) {
  (void)state;
  wire whole = make_bmp(4, 3, 3);
  for (size_t size = 0; size < whole.size; size++) refuses(whole.data, size);
  wire_free(&whole);
  refuses_wire(make_bmp(3000, -3000, 0));
  refuses_wire(make_bmp(3, -100, 3));
  refuses_wire(make_bmp(1, INT32_MIN, 1));
  refuses_wire(make_bmp(0, 3, 3));
  refuses_wire(make_bmp(4, 0, 0));
}

static void pnm_kinds(void **state) {
  (void)state;
  static const char grey[] = "P5\n# a comment\n2 # another\n1\n255\nMM";
  reads_as(copy_of((const uint8_t *)grey, sizeof grey - 1), 77, 77, 77);
}

// Samples are numbers up to the largest of the header, in two bytes where that is above 255, the high one first.
static void pnm_scales(void **state) {
  (void)state;
  static const uint8_t words[] = "P6 1 1 65535\n\x12\x34\x80\x00\xff\xff"; // 255 * 4660 / 65535 = 18.13, 127.5, 255
  static const uint8_t tens[] = "P5 1 1 1023\n\x02\x00";                   // 255 * 512 / 1023 = 127.6
  static const uint8_t percents[] = "P6 1 1 100\n\x00\x32\xc8";            // 0, 127.5, beyond the largest
  reads_as(copy_of(words, sizeof words - 1), 18, 128, 255);
  reads_as(copy_of(tens, sizeof tens - 1), 128, 128, 128);
  reads_as(copy_of(percents, sizeof percents - 1), 0, 128, 255);
}

// A mask holds classes, which the largest sample does not scale.
static void pnm_masks(void **state) {
  (void)state;
  static const uint8_t mask[] = "P5 3 1 20\n\x00\x07\x14";
  dq_image image;
  dq_error error;
  put("p.pgm", mask, sizeof mask - 1);
  assert_int_equal(dq_mask_read(&image, "p.pgm", NULL, &error), DQ_OK);
  assert_memory_equal(image.pixels, mask + sizeof mask - 4, 3);
  dq_image_deinit(&image);
}

static void pnm_broken(void **state) {
  (void)state;
  static const char whole[] = "P6 2 2 255\nabcdefghijkl";
  static const char *const headers[] = {"P6 99999999999999999999 1 255\nabc",
                                        "P5 4294967297 1 255\na",
                                        "P5 0 1 255\na",
                                        "P5 1 1 70000\naa",
                                        "P5 1 1 0\naa",
                                        "P5 -1 1 255\na",
                                        "P5 1",
                                        "P5 #",
                                        "P5 1 1 255"};
  for (size_t size = 0; size < sizeof whole - 1; size++) refuses(whole, size);
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) refuses(headers[i], strlen(headers[i]));
}

// 10x10 pixels by the header; the data unpack to 258 zeros for every 13 bits.
static void png_bomb(void **state) {
  (void)state;
  wire png = make_png(10, 10, 8, GREY, (uint16_t[]){1}), bomb = {0}, data = {0}, none = {0};
  wire_append(&bomb, png.data, 8 + 25); // signature and IHDR
  wire_append(&data, "\x78\x01", 2);
  uint64_t bits = 3 | (uint64_t)0x0c << 3; // last block, fixed codes; the literal 0 is 00110000
  int count = 3 + 8;
  for (int i = 0; i < 100000; i++) {
    bits |= (uint64_t)0xa3 << count; // length 258 is 11000101, then five zeros for the distance 1
    for (count += 13; count >= 8; count -= 8, bits >>= 8) wire_append(&data, &(uint8_t){(uint8_t)bits}, 1);
  }
  little_endian(&data, (uint32_t)bits, 4), big_endian(&data, 0); // the end of the block is seven zeros
  chunk(&bomb, "IDAT", &data), chunk(&bomb, "IEND", &none);
  refuses(bomb.data, bomb.size);
  wire_free(&bomb), wire_free(&data), wire_free(&png);
}

// The data of a PNG may start with an empty piece; that alone is no picture.
static void empty_piece(void **state) {
  (void)state;
  const size_t header = 8 + 25; // signature and IHDR
  wire png = make_png(5, 3, 8, RGB, (uint16_t[]){10, 100, 200}), pieces = {0}, nothing = {0}, none = {0};
  wire_append(&pieces, png.data, header), wire_append(&nothing, png.data, header);
  chunk(&pieces, "IDAT", &none), chunk(&nothing, "IDAT", &none), chunk(&nothing, "IEND", &none);
  wire_append(&pieces, png.data + header, png.size - header);
  reads_as(pieces, 10, 100, 200);
  refuses(nothing.data, nothing.size);
  wire_free(&nothing), wire_free(&png);
}

// 3 x 2 values onto 6 x 3: columns 0 0 1 1 2 2; rows at (y + 0.5) 2 / 3 = 0.33, 1, 1.67, so 0 1 1.
static void nearest_values(void **state) {
  (void)state;
  const uint8_t values[6] = {1, 2, 3, 4, 5, 6};
  const uint8_t expected[18] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 4, 4, 5, 5, 6, 6};
  uint8_t target[18];
  dq_error error = {0};
  assert_int_equal(dq_resize_nearest(values, 3, 2, target, 6, 3, &error), DQ_OK);
  assert_memory_equal(target, expected, sizeof expected);
}

// Colours of halved size are doubled as (3 nearer + further + rounding) / 4 along each axis, the ends repeated; what
// lies behind a row is not read.
static void jpeg_colours_doubled(void **state) {
  (void)state;
  uint8_t near[3] = {0, 16, 255}, far[3] = {0, 32, 255}, out[4];
  dq_jpeg_double_row(out, near, far, 2, 0); // (0 + 0 + 1) / 4, (0 + 16 + 2) / 4, (48 + 0 + 1) / 4, (48 + 16 + 2) / 4
  assert_memory_equal(out, ((uint8_t[]){0, 4, 12, 16}), 4);
  // Columns 3 near + far: 0 and 80; (0 + 8) / 16, (0 + 80 + 7) / 16, (240 + 0 + 8) / 16, (240 + 80 + 7) / 16.
  dq_jpeg_double_both(out, near, far, 2, 0);
  assert_memory_equal(out, ((uint8_t[]){0, 5, 15, 20}), 4);
}

// Each of the 64 cosines against the definition in double: the sample at row y and column x is 128 + c(u) c(v) / 4
// cos((2 x + 1) u pi / 16) cos((2 y + 1) v pi / 16) of the coefficient in row v and column u, c(0) being 1 / sqrt 2.
// The integers may differ by one.
static void jpeg_cosines(void **state) {
  (void)state;
  for (int k = 0; k < 64; k++)
    for (int sign = -1; sign <= 1; sign += 2) {
      int v = k / 8, u = k % 8;
      short coefficients[64] = {0};
      uint8_t out[8 * 10];
      memset(out, 7, sizeof out);
      coefficients[k] = (short)(sign * 400);
      dq_jpeg_idct(out, 10, coefficients);
      for (int y = 0; y < 8; y++) {
        assert_true(out[10 * y + 8] == 7 && out[10 * y + 9] == 7);
        for (int x = 0; x < 8; x++) {
          double wave = cos((2 * x + 1) * u * M_PI / 16) * cos((2 * y + 1) * v * M_PI / 16);
          double expected = 128 + sign * 100 * wave * (u ? 1 : M_SQRT1_2) * (v ? 1 : M_SQRT1_2);
          if (fabs(out[10 * y + x] - expected) > 1)
            fail_msg("coefficient %d: %d at row %d, column %d, expected %g", k, out[10 * y + x], y, x, expected);
        }
      }
    }
  short large[64] = {2000}; // 128 + 2000 / 8 is beyond 255
  uint8_t out[64];
  dq_jpeg_idct(out, 8, large);
  assert_int_equal(out[63], 255);
  large[0] = -2000;
  dq_jpeg_idct(out, 8, large);
  assert_int_equal(out[0], 0);
}

// JFIF: R = Y + 1.402 Cr, G = Y - 0.344136 Cb - 0.714136 Cr, B = Y + 1.772 Cb with colours around 128, rounded and
// clamped to a byte; the fourth byte is opaque.
static void jpeg_colours(void **state) {
  (void)state;
  const uint8_t y[] = {100, 100, 100, 250, 5, 128}, cb[] = {128, 138, 128, 228, 28, 128};
  const uint8_t cr[] = {128, 128, 118, 228, 28, 128};
  // 100 - 3.44, 100 + 17.72; 100 - 14.02, 100 + 7.14; above 255 and 250 - 105.83; below 0 and 5 + 105.83
  const uint8_t expected[][3] = {{100, 100, 100}, {100, 97, 118}, {86, 107, 100},
                                 {255, 144, 255}, {0, 111, 0},    {128, 128, 128}};
  for (int step = 3; step <= 4; step++) {
    uint8_t out[6 * 4];
    dq_jpeg_to_rgb(out, y, cb, cr, 6, step);
    for (int i = 0; i < 6; i++) {
      assert_memory_equal(out + i * step, expected[i], 3);
      if (step == 4) assert_int_equal(out[4 * i + 3], 255);
    }
  }
}

static int enter(void **state) {
  (void)state;
  return !mkdtemp(folder) || chdir(folder) ? -1 : 0;
}
static int leave(void **state) {
  (void)state;
  unlink("p.png"), unlink("p.pgm"), unlink("list.txt");
  return chdir("/") || rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kinds),          cmocka_unit_test(sizes),
                                     cmocka_unit_test(jpeg_kinds),     cmocka_unit_test(jpeg_cut_off),
                                     cmocka_unit_test(jpeg_tables),    cmocka_unit_test(truncations),
                                     cmocka_unit_test(bmp_kinds),      cmocka_unit_test(bmp_broken),
                                     cmocka_unit_test(pnm_kinds),      cmocka_unit_test(pnm_scales),
                                     cmocka_unit_test(pnm_masks),      cmocka_unit_test(pnm_broken),
                                     cmocka_unit_test(png_bomb),       cmocka_unit_test(empty_piece),
                                     cmocka_unit_test(nearest_values), cmocka_unit_test(jpeg_colours_doubled),
                                     cmocka_unit_test(jpeg_cosines),   cmocka_unit_test(jpeg_colours)};
  return cmocka_run_group_tests(tests, enter, leave);
}
