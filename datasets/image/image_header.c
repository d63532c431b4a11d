#include "datasets/image/image_header.h"

#include <string.h>

typedef struct header {
  int64_t width, height;
  uint64_t row_bits, row_bytes; // of the pixels, and with what fills the row up
  uint64_t first;               // byte of the pixels
} header;

static uint32_t little_endian(const uint8_t *at, int bytes) {
  uint32_t number = 0;
  for (int i = bytes - 1; i >= 0; i--) number = number << 8 | at[i];
  return number;
}

// Offsets in a BMP: 14 bytes of the file's header, then a header that begins with its own size.
enum { BMP_FIRST = 10, BMP_SIZE = 14, BMP_WIDTH = 18, BMP_OLD_HEIGHT = 20, BMP_OLD_DEPTH = 24, BMP_OLD_SIZE = 12 };
enum { BMP_HEIGHT = 22, BMP_DEPTH = 28, BMP_SHORTEST = 30, BMP_OLD_SHORTEST = 26 };

static bool is_bmp(const uint8_t *bytes, size_t size) { return size >= 2 && bytes[0] == 'B' && bytes[1] == 'M'; }

static bool read_bmp(const uint8_t *bytes, size_t size, header *found) {
  if (size < BMP_OLD_SHORTEST) return false;
  uint32_t own = little_endian(bytes + BMP_SIZE, 4), depth;
  if (own != BMP_OLD_SIZE && size < BMP_SHORTEST) return false;
  if (own == BMP_OLD_SIZE) {
    found->width = little_endian(bytes + BMP_WIDTH, 2);
    found->height = little_endian(bytes + BMP_OLD_HEIGHT, 2);
    depth = little_endian(bytes + BMP_OLD_DEPTH, 2);
  } else {
    found->width = (int32_t)little_endian(bytes + BMP_WIDTH, 4);
    found->height = (int32_t)little_endian(bytes + BMP_HEIGHT, 4);
    depth = little_endian(bytes + BMP_DEPTH, 2);
  }
  if (found->height < 0) found->height = -found->height;
  found->first = little_endian(bytes + BMP_FIRST, 4);
  found->row_bits = (uint64_t)found->width * depth;
  found->row_bytes = (found->row_bits + 31) / 32 * 4;
  return depth > 0 && found->first >= (uint64_t)BMP_SIZE + own;
}

static bool is_pnm(const uint8_t *bytes, size_t size) {
  return size > 2 && bytes[0] == 'P' && (bytes[1] == '5' || bytes[1] == '6');
}

static bool is_space(uint8_t byte) { return byte && strchr(" \t\n\v\f\r", byte); }

// A whole number behind white space and comments; -1: there is none, or it is beyond `most`.
static int64_t read_number(const uint8_t *bytes, size_t size, size_t *at, int64_t most) {
  while (*at < size && (is_space(bytes[*at]) || bytes[*at] == '#')) {
    bool comment = bytes[*at] == '#';
    while (comment && *at + 1 < size && bytes[*at + 1] != '\n' && bytes[*at + 1] != '\r') ++*at;
    ++*at;
  }
  size_t start = *at;
  int64_t number = 0;
  for (; *at < size && bytes[*at] >= '0' && bytes[*at] <= '9' && number <= most; ++*at)
    number = 10 * number + (bytes[*at] - '0');
  return *at > start && number <= most ? number : -1;
}

bool dq_pnm_read(const uint8_t *bytes, size_t size, dq_pnm *found) {
  if (!is_pnm(bytes, size)) return false;
  size_t at = 2;
  int64_t width = read_number(bytes, size, &at, DQ_LARGEST_SIDE),
          height = read_number(bytes, size, &at, DQ_LARGEST_SIDE);
  int64_t largest = read_number(bytes, size, &at, UINT16_MAX);
  *found = (dq_pnm){(int)width, (int)height, bytes[1] == '6' ? 3 : 1, largest > 0 ? (unsigned)largest : 0,
                    at + 1}; // one white space
  return true;
}

static bool check_pnm(const dq_pnm *pnm, header *found) {
  found->width = pnm->width, found->height = pnm->height, found->first = pnm->first;
  found->row_bytes = (uint64_t)pnm->width * (uint64_t)pnm->channels * (pnm->largest > UINT8_MAX ? 2 : 1);
  found->row_bits = 8 * found->row_bytes;
  return pnm->largest > 0;
}

dq_status dq_image_header_check(const uint8_t *bytes, size_t size, const char *name, dq_error *error) {
  header found = {0};
  dq_pnm pnm;
  bool bmp = is_bmp(bytes, size), whole = true;
  if (!bmp && !dq_pnm_read(bytes, size, &pnm)) return DQ_OK;
  whole = bmp ? read_bmp(bytes, size, &found) : check_pnm(&pnm, &found);
  if (!whole || found.width < 1 || found.height < 1 || found.width > DQ_LARGEST_SIDE || found.height > DQ_LARGEST_SIDE)
    return dq_fail(error, DQ_BAD_INPUT, "%s: broken %s header, expected a width and a height of 1 to %d pixels", name,
                   bmp ? "BMP" : "PNM", DQ_LARGEST_SIDE);
  // What fills up the last row may be missing.
  uint64_t needed = found.first + found.row_bytes * (uint64_t)(found.height - 1) + (found.row_bits + 7) / 8;
  if (needed <= size) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "%s: the picture is cut off: %zu bytes, expected %llu for %lldx%lld pixels", name,
                 size, (unsigned long long)needed, (long long)found.width, (long long)found.height);
}
