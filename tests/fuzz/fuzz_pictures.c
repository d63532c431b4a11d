// Pictures: JPEG, PNG, BMP and PNM through the dataset's reader, as masks too.
#include <stb/stb_image_write.h>
#include <string.h>
#include <xxhash.h>

#include "datasets/image/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/small_model.h"

// ---- Seeds ----

enum { WIDTH = 13, HEIGHT = 11 };

typedef struct bytes {
  uint8_t *data;
  size_t size;
} bytes;

static void put(bytes *to, const void *data, size_t size) {
  if (to->size + size > FUZZ_LARGEST) return;
  memcpy(to->data + to->size, data, size);
  to->size += size;
}
static void put_number(bytes *to, uint32_t value, int width, int big) {
  for (int i = 0; i < width; i++) put(to, &(uint8_t){(uint8_t)(value >> 8 * (big ? width - 1 - i : i))}, 1);
}
static void put_from_stb(void *to, void *data, int size) { put(to, data, (size_t)size); }

static void put_pixels(bytes *to, size_t count) {
  for (size_t i = 0; i < count; i++) put(to, &(uint8_t){(uint8_t)(i * i + i / 7)}, 1);
}

// By the library's own writers: PNG of 1 to 4 channels, JPEG of 1 and 3 at two qualities, BMP.
static void library_seed(bytes *to, int index) {
  uint8_t pixels[WIDTH * HEIGHT * 4];
  put_pixels(&(bytes){pixels, 0}, sizeof pixels);
  if (index < 4) stbi_write_png_to_func(put_from_stb, to, WIDTH, HEIGHT, index + 1, pixels, 0);
  else if (index < 8)
    stbi_write_jpg_to_func(put_from_stb, to, WIDTH, HEIGHT, index & 1 ? 3 : 1, pixels, index < 6 ? 95 : 30);
  else stbi_write_bmp_to_func(put_from_stb, to, WIDTH, HEIGHT, 3, pixels);
}
enum { LIBRARY_SEEDS = 9 };

static void png_chunk(bytes *to, const char *name, const bytes *content) {
  put_number(to, (uint32_t)content->size, 4, 1);
  put(to, name, 4);
  put(to, content->data, content->size);
  put_number(to, 0, 4, 1); // no reader here looks at the checksum
}

// The kinds of PNG that the library does not write: all depths, palettes, interlaced ones; stored blocks.
static void png_seed(bytes *to, uint8_t depth, uint8_t colour, uint8_t interlaced) {
  uint8_t room[4096];
  bytes chunk = {room, 0};
  put(to, "\x89PNG\r\n\x1a\n", 8);
  put_number(&chunk, WIDTH, 4, 1), put_number(&chunk, HEIGHT, 4, 1);
  put(&chunk, (uint8_t[]){depth, colour, 0, 0, interlaced}, 5);
  png_chunk(to, "IHDR", &chunk);
  chunk.size = 0;
  put_pixels(&chunk, 48);
  if (colour == 3) png_chunk(to, "PLTE", &chunk);
  chunk.size = 4;
  if (colour == 3) png_chunk(to, "tRNS", &chunk);
  static const uint8_t channels[] = {1, 1, 3, 1, 2, 1, 4};
  uint32_t rows = interlaced ? 3 * HEIGHT : HEIGHT, size = rows * (1 + (WIDTH * depth * channels[colour] + 7u) / 8);
  chunk.size = 0;
  put(&chunk, "\x78\x01\x01", 3);
  put_number(&chunk, size, 2, 0), put_number(&chunk, ~size, 2, 0);
  memset(room + chunk.size, 0, size);
  chunk.size += size;
  put_number(&chunk, 1, 4, 1);
  png_chunk(to, "IDAT", &chunk);
  chunk.size = 0;
  png_chunk(to, "IEND", &chunk);
}

static void bmp_seed(bytes *to, int32_t height, unsigned bits, unsigned compression) {
  uint32_t colours = bits <= 8 ? 1u << bits : 0, start = 54 + 4 * colours + (compression == 3 ? 12 : 0);
  uint32_t stride = (WIDTH * bits + 31) / 32 * 4;
  put(to, "BM", 2);
  put_number(to, start + stride * HEIGHT, 4, 0), put_number(to, 0, 4, 0), put_number(to, start, 4, 0);
  put_number(to, 40, 4, 0), put_number(to, WIDTH, 4, 0), put_number(to, (uint32_t)height, 4, 0);
  put_number(to, 1, 2, 0), put_number(to, bits, 2, 0), put_number(to, compression, 4, 0);
  for (int i = 0; i < 5; i++) put_number(to, 0, 4, 0);
  if (compression == 3) put_number(to, 0xf800, 4, 0), put_number(to, 0x7e0, 4, 0), put_number(to, 0x1f, 4, 0);
  put_pixels(to, 4 * colours + stride * HEIGHT);
}

static size_t make_seed(int index, uint8_t *data) {
  static const struct {
    uint8_t depth, colour, interlaced;
  } pngs[] = {{1, 0, 0}, {2, 0, 0}, {4, 0, 0}, {16, 0, 0}, {16, 2, 0}, {16, 6, 0}, {8, 4, 0},
              {1, 3, 0}, {2, 3, 0}, {4, 3, 0}, {8, 3, 0},  {8, 2, 1},  {8, 3, 1},  {4, 0, 1}};
  static const struct {
    int height;
    unsigned bits, compression;
  } bmps[] = {{HEIGHT, 1, 0},  {HEIGHT, 4, 0},  {HEIGHT, 8, 0},  {HEIGHT, 16, 0},
              {HEIGHT, 16, 3}, {HEIGHT, 32, 0}, {-HEIGHT, 24, 0}};
  static const char *const headers[] = {"P6\n13 11\n255\n", "P5\n13 11\n255\n", "P6 13 11 65535\n",
                                        "P5\n# comment\n13 11\n65535\n", "P6\n13 11\n15\n"};
  enum {
    PNGS = sizeof pngs / sizeof *pngs,
    BMPS = sizeof bmps / sizeof *bmps,
    PNMS = sizeof headers / sizeof *headers
  };
  bytes to = {data, 0};
  if (index < LIBRARY_SEEDS) library_seed(&to, index);
  else if ((index -= LIBRARY_SEEDS) < PNGS)
    png_seed(&to, pngs[index].depth, pngs[index].colour, pngs[index].interlaced);
  else if ((index -= PNGS) < BMPS) bmp_seed(&to, bmps[index].height, bmps[index].bits, bmps[index].compression);
  else if ((index -= BMPS) < PNMS) {
    put(&to, headers[index], strlen(headers[index]));
    put_pixels(&to, WIDTH * HEIGHT * 3 * (1 + strlen(headers[index]) / 15));
  }
  return to.size;
}

const fuzz_target_functions fuzz_target = {"pictures", fuzz_mutate_bytes, make_seed};

// ---- The target ----

static void read_picture(dq_dataset *dataset) {
  dq_failure failure;
  dq_model *model = fuzz_small_model();
  dq_network *network = NULL;
  dq_code code = dq_network_open(&network, model, NULL, &failure);
  if (code != DQ_CODE_OK) fuzz_fail("the model cannot be opened: %s", failure.message);
  code = dq_network_read(network, dataset, 0, 0, NULL, &failure);
  if (fuzz_answer(code, &failure, "reading")) fuzz_reach(FUZZ_RUN);
  dq_network_close(network);
  dq_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const presets[] = {"imagenet", "raw01", "tf", "lite", "darknet", "yolox", "cifar-raw", "vww"};
  uint64_t choice = XXH64(data, size, 0);
  const char *list = fuzz_path("list.txt"), *picture = fuzz_path("picture.png");
  dq_dataset_options options;
  dq_dataset *dataset = NULL;
  dq_failure failure;
  dq_error error = {0};
  fuzz_write(picture, data, size);
  fuzz_write(list, "picture.png 1\n", 14);
  dq_dataset_defaults(&options, sizeof options);
  options.preset = presets[choice % (sizeof presets / sizeof *presets)];
  options.preprocess = choice & 16 ? "resize=8" : NULL;
  options.strict = choice >> 5 & 1;
  dq_code code = dq_dataset_open(&dataset, fuzz_engine(), list, &options, &failure);
  if (fuzz_answer(code, &failure, "opening the picture")) {
    fuzz_reach(FUZZ_READ);
    read_picture(dataset);
  }
  dq_dataset_close(dataset);
  dq_image mask = {0};
  dq_status status = dq_mask_read(&mask, picture, &(dq_budget){.limit = FUZZ_MEMORY}, &error);
  dq_failure told = {.code = (dq_code)error.status};
  memcpy(told.message, error.message, sizeof told.message);
  fuzz_answer((dq_code)status, &told, "reading a mask");
  dq_image_deinit(&mask);
  return 0;
}
