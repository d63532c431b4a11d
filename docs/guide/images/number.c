// Numbers as text without a C library: the exact decimal digits of a float32, rounded to six.
#include <stdint.h>
#include <string.h>

#include "image.h"

enum { DIGITS = 120, SHOWN = 6 };

// digits[0] is the lowest of `count`; `point` of them stand behind the decimal point.
typedef struct decimal {
  int count, point;
  unsigned char digits[DIGITS];
} decimal;

static void multiply(decimal *d, int factor, int addend) {
  int carry = addend;
  for (int i = 0; i < d->count || carry; i++) {
    if (i == d->count) d->digits[d->count++] = 0;
    carry += d->digits[i] * factor;
    d->digits[i] = (unsigned char)(carry % 10);
    carry /= 10;
  }
}

// m 2^e. A negative e: m 5^-e, with -e digits behind the point.
static void set(decimal *d, uint32_t mantissa, int exponent) {
  d->count = 0, d->point = exponent < 0 ? -exponent : 0;
  for (int bit = 23; bit >= 0; bit--) multiply(d, 2, mantissa >> bit & 1);
  for (int i = 0; i < exponent; i++) multiply(d, 2, 0);
  for (int i = 0; i < d->point; i++) multiply(d, 5, 0);
}

// Leaves six digits, of which the last is rounded to the nearest, ties to even.
static void round_off(decimal *d) {
  int drop = d->count - SHOWN, below = 0;
  if (drop <= 0) return;
  for (int i = 0; i < drop - 1; i++) below |= d->digits[i];
  int last = d->digits[drop - 1], up = last > 5 || (last == 5 && (below || d->digits[drop] % 2));
  for (int i = 0; i < SHOWN; i++) d->digits[i] = d->digits[i + drop];
  d->count = SHOWN, d->point -= drop;
  if (up) multiply(d, 1, 1);
}

static int put_exponent(char *text, int exponent) {
  int length = 0, magnitude = exponent < 0 ? -exponent : exponent;
  text[length++] = 'e';
  text[length++] = exponent < 0 ? '-' : '+';
  text[length++] = (char)('0' + magnitude / 10);
  text[length++] = (char)('0' + magnitude % 10);
  return length;
}

// Digits without zeros at the end, with a point in front of digit `point`.
static int put_digits(char *text, const decimal *d, int point) {
  int length = 0, last = 0;
  while (last < d->count - 1 && !d->digits[last]) last++;
  if (point <= 0) text[length++] = '0', text[length++] = '.';
  for (int i = point; i < 0; i++) text[length++] = '0';
  for (int i = 0; i < d->count - last || i < point; i++) {
    if (i == point && i) text[length++] = '.';
    text[length++] = (char)('0' + (i < d->count ? d->digits[d->count - 1 - i] : 0));
  }
  return length;
}

static int put_word(char *text, const char *word) {
  int length = 0;
  while (word[length]) text[length] = word[length], length++;
  return length;
}

int number_text(float value, char text[NUMBER_TEXT]) {
  decimal d;
  uint32_t bits;
  int length = 0;
  (void)memcpy(&bits, &value, sizeof bits);
  int exponent = (int)(bits >> 23 & 255);
  uint32_t mantissa = bits & 0x7fffff;
  if (bits >> 31) text[length++] = '-';
  if (exponent == 255) length += put_word(text + length, mantissa ? "nan" : "inf");
  else if (!exponent && !mantissa) text[length++] = '0';
  else {
    set(&d, exponent ? mantissa | 0x800000 : mantissa, (exponent ? exponent : 1) - 150);
    round_off(&d);
    int first = d.count - 1 - d.point; // the power of ten of the first digit
    if (first < -4 || first >= SHOWN) {
      length += put_digits(text + length, &d, 1);
      length += put_exponent(text + length, first);
    } else length += put_digits(text + length, &d, first + 1);
  }
  text[length] = 0;
  return length;
}
