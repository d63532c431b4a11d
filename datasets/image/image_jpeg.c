// The accurate integer inverse DCT (Loeffler, Ligtenberg and Moschytz 1989: 11 multiplications, 13
// fractional bits), triangle upsampling and colour conversion, with the roundings of libjpeg.
#include "datasets/image/image_jpeg.h"

enum { CONSTANT_BITS = 13, PASS_BITS = 2 };

// Products of cosines in 13 fractional bits.
enum {
  C_0_298 = 2446,
  C_0_390 = 3196,
  C_0_541 = 4433,
  C_0_765 = 6270,
  C_0_899 = 7373,
  C_1_175 = 9633,
  C_1_501 = 12299,
  C_1_847 = 15137,
  C_1_961 = 16069,
  C_2_053 = 16819,
  C_2_562 = 20995,
  C_3_072 = 25172
};

// Eight values to eight, each scaled by 2^13. 64 bits: broken files may hold any coefficient.
static void transform(const int64_t in[8], int64_t out[8]) {
  int64_t z1 = (in[2] + in[6]) * C_0_541;
  int64_t even2 = z1 - in[6] * C_1_847, even3 = z1 + in[2] * C_0_765;
  int64_t even0 = (in[0] + in[4]) * (1 << CONSTANT_BITS);
  int64_t even1 = (in[0] - in[4]) * (1 << CONSTANT_BITS);
  int64_t a[4] = {even0 + even3, even1 + even2, even1 - even2, even0 - even3};
  int64_t z5 = (in[7] + in[3] + in[5] + in[1]) * C_1_175;
  int64_t z3 = z5 - (in[7] + in[3]) * C_1_961, z4 = z5 - (in[5] + in[1]) * C_0_390;
  int64_t z2 = (in[5] + in[3]) * C_2_562;
  z1 = (in[7] + in[1]) * C_0_899;
  int64_t b[4] = {in[1] * C_1_501 - z1 + z4, in[3] * C_3_072 - z2 + z3, in[5] * C_2_053 - z2 + z4,
                  in[7] * C_0_298 - z1 + z3};
  for (int i = 0; i < 4; i++) {
    out[i] = a[i] + b[i];
    out[7 - i] = a[i] - b[i];
  }
}

static int64_t descale(int64_t value, int bits) { return (value + ((int64_t)1 << (bits - 1))) >> bits; }

static uint8_t clamp(int64_t value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value); }

void dq_jpeg_idct(uint8_t *out, int stride, short coefficients[64]) {
  int64_t work[64], in[8], sums[8];
  for (int column = 0; column < 8; column++) {
    for (int i = 0; i < 8; i++) in[i] = coefficients[8 * i + column];
    transform(in, sums);
    for (int i = 0; i < 8; i++) work[8 * i + column] = descale(sums[i], CONSTANT_BITS - PASS_BITS);
  }
  for (int row = 0; row < 8; row++, out += stride) {
    transform(work + 8 * row, sums);
    for (int i = 0; i < 8; i++) out[i] = clamp(128 + descale(sums[i], CONSTANT_BITS + PASS_BITS + 3));
  }
}

uint8_t *dq_jpeg_double_row(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused) {
  (void)far;
  (void)unused;
  for (int i = 0; i < width; i++) {
    int left = near[i > 0 ? i - 1 : 0], right = near[i + 1 < width ? i + 1 : i];
    out[2 * i] = (uint8_t)((3 * near[i] + left + 1) >> 2);
    out[2 * i + 1] = (uint8_t)((3 * near[i] + right + 2) >> 2);
  }
  return out;
}

uint8_t *dq_jpeg_double_both(uint8_t *out, uint8_t *near, uint8_t *far, int width, int unused) {
  (void)unused;
  for (int i = 0; i < width; i++) {
    int l = i > 0 ? i - 1 : 0, r = i + 1 < width ? i + 1 : i;
    int here = 3 * near[i] + far[i], left = 3 * near[l] + far[l], right = 3 * near[r] + far[r];
    out[2 * i] = (uint8_t)((3 * here + left + 8) >> 4);
    out[2 * i + 1] = (uint8_t)((3 * here + right + 7) >> 4);
  }
  return out;
}

void dq_jpeg_to_rgb(uint8_t *out, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int count, int step) {
  enum { BITS = 16, HALF = 1 << (BITS - 1) };
  for (int i = 0; i < count; i++, out += step) {
    int blue = cb[i] - 128, red = cr[i] - 128;
    out[0] = clamp(y[i] + ((91881 * red + HALF) >> BITS));
    out[1] = clamp(y[i] + ((-22554 * blue - 46802 * red + HALF) >> BITS));
    out[2] = clamp(y[i] + ((116130 * blue + HALF) >> BITS));
    if (step == 4) out[3] = 255;
  }
}

enum { MARKER = 0xff, MARKER_TABLES = 0xc4, MARKER_SCAN = 0xda, MARKER_START = 0xd8, MARKER_END = 0xd9 };
enum { MARKER_FRAME = 0xc0, MARKER_PROGRESSIVE = 0xc2 };
// The decoder has no place for more codes, and takes number 255 for one that is not there.
enum { TABLE_LENGTHS = 16, MOST_CODES = 255, MOST_TABLES = 4 };

typedef struct jpeg_walk {
  unsigned means, coefficients; // bit t: Huffman table t of that class has been read
  int frame;                    // marker of the first frame; 0: none so far
  bool ended;                   // cameras put films and the like behind the picture
  bool scanned;                 // past the first scan a broken file may be read at any byte
} jpeg_walk;

// The tables of the DHT segment of `length` bytes at `at` (JPEG, section B.2.4.2): a class and number, 16
// counts of codes by length, as many values. The decoder reads whole tables whatever the length
// says, and zeros behind the `left` bytes of the file.
static bool segment_fits(jpeg_walk *walk, const uint8_t *at, int64_t length, int64_t left) {
  while (length > 0 && left > 0) {
    int64_t codes = 0;
    for (int i = 1; i <= TABLE_LENGTHS && i < left; i++) codes += at[i];
    if (codes > MOST_CODES) return false;
    *(at[0] >> 4 ? &walk->coefficients : &walk->means) |= 1u << at[0] % (2 * MOST_TABLES);
    int64_t table = 1 + TABLE_LENGTHS + codes;
    if (table > left) break;
    at += table;
    length -= table;
    left -= table;
  }
  return true;
}

// Whether the tables are there by which the scan whose header is at `at` (section B.2.3) is coded: a count, a
// component and its two tables each, the first and last coefficient, and the bits that are refined.
static bool scan_has_tables(const jpeg_walk *walk, const uint8_t *at, size_t left) {
  size_t components = left ? at[0] : 0, end = 1 + 2 * components;
  if (end + 3 > left) return true; // cut off: there is nothing to decode
  bool progressive = walk->frame == MARKER_PROGRESSIVE, first = at[end] == 0;
  bool means = first && (!progressive || at[end + 2] >> 4 == 0), coefficients = !progressive || !first;
  for (size_t i = 1; i < end; i += 2) {
    int means_table = at[i + 1] >> 4, table = at[i + 1] & 15;
    if (means && !(walk->means >> means_table & 1)) return false;
    if (coefficients && !(walk->coefficients >> table & 1)) return false;
  }
  return true;
}

bool dq_jpeg_tables_fit(const uint8_t *bytes, size_t size) {
  jpeg_walk walk = {0};
  for (size_t i = 0; i + 3 < size; i++) {
    if (bytes[i] != MARKER || bytes[i + 1] == MARKER || bytes[i + 1] == 0) continue;
    int marker = bytes[i + 1];
    size_t length = (size_t)bytes[i + 2] << 8 | bytes[i + 3], left = size - i - 4;
    const uint8_t *content = bytes + i + 4;
    if (marker == MARKER_START) continue;
    if (marker == MARKER_SCAN) walk.scanned = true;
    if (marker == MARKER_END) walk.ended = true;
    if (marker >= MARKER_FRAME && marker <= MARKER_PROGRESSIVE && !walk.frame) walk.frame = marker;
    if (marker == MARKER_TABLES && !segment_fits(&walk, content, (int64_t)length - 2, (int64_t)left)) return false;
    if (marker == MARKER_SCAN && !walk.ended && !scan_has_tables(&walk, content, left)) return false;
    if (!walk.scanned) i += 1 + length;
  }
  return true;
}
