// Kernels that look at whole arrays: extremes, bins of histograms, sums and squared errors.
#include <math.h>
#include <stdlib.h>

#include "lib/kernels/array/array.h"
#include "tests/check/check.h"

void check_range(checker *c) {
  int64_t count = array_size(c);
  input_buffer input = input_new((size_t)count * 4);
  fill_floats(c, input.data, count, (int)between(c, 0, FLOAT_MODES - 1));
  dq_range expected = {INFINITY, -INFINITY, 0}, found = dq_find_range(c->cpu, input.data, count);
  for (int64_t i = 0; i < count; i++) {
    float x = ((float *)input.data)[i];
    if (isnan(x)) expected.nans++;
    if (x < expected.minimum) expected.minimum = x;
    if (x > expected.maximum) expected.maximum = x;
  }
  expected.minimum += 0.0f;
  expected.maximum += 0.0f;
  finish_array(c,
               same_floats(&expected.minimum, &found.minimum, 1) && same_floats(&expected.maximum, &found.maximum, 1) &&
                   expected.nans == found.nans,
               "range", count);
  input_free(&input);
}

// Bins that a histogram can have: |x| < 4096 * 2^exponent.
void check_bins(checker *c) {
  int64_t count = array_size(c);
  int exponent = (int)between(c, -126, 100);
  input_buffer input = input_new((size_t)count * 4), found = input_new((size_t)count * 4);
  bool alike = true;
  for (int64_t i = 0; i < count; i++)
    ((float *)input.data)[i] = ldexpf((float)between(c, -4095 * 16, 4095 * 16) / 16, exponent);
  dq_find_bins(c->cpu, input.data, count, exponent, 4096, found.data);
  for (int64_t i = 0; i < count; i++) {
    double bin = 4096 + floor(ldexp((double)((float *)input.data)[i], -exponent));
    alike &= (double)((int32_t *)found.data)[i] == bin;
  }
  finish_array(c, alike, "bins", count);
  input_free(&input);
  input_free(&found);
}

void check_moments(checker *c) {
  int64_t count = array_size(c);
  input_buffer input = input_new((size_t)count * 4);
  double parts[2][8] = {{0}}, found[2], expected[2] = {0};
  fill_floats(c, input.data, count, 0);
  for (int64_t i = 0; i < count; i++) {
    double x = (double)((float *)input.data)[i];
    parts[0][i % 8] += x;
    parts[1][i % 8] += x * x;
  }
  for (int k = 0; k < 2; k++)
    for (int l = 0; l < 8; l++) expected[k] += parts[k][l];
  dq_find_moments(c->cpu, input.data, count, found);
  bool alike = true;
  for (int k = 0; k < 2; k++) alike &= found[k] == expected[k] || (isnan(found[k]) && isnan(expected[k]));
  finish_array(c, alike, "moments", count);
  input_free(&input);
}

// Four partial sums, of which every set adds the same elements in the same order.
void check_squares(checker *c) {
  int64_t count = array_size(c) / 4 * 4;
  input_buffer exact = input_new((size_t)count * 4), other = input_new((size_t)count * 4);
  double parts[2][4] = {{0}}, found[2], expected[2];
  fill_floats(c, exact.data, count, 0);
  fill_floats(c, other.data, count, 0);
  for (int64_t i = 0; i < count; i++) {
    double e = (double)((float *)exact.data)[i], difference = e - (double)((float *)other.data)[i];
    parts[0][i % 4] += e * e;
    parts[1][i % 4] += difference * difference;
  }
  for (int k = 0; k < 2; k++) expected[k] = (parts[k][0] + parts[k][1]) + (parts[k][2] + parts[k][3]);
  dq_find_squares(c->cpu, exact.data, other.data, count, found);
  bool alike = true;
  for (int k = 0; k < 2; k++) alike &= found[k] == expected[k] || (isnan(found[k]) && isnan(expected[k]));
  finish_array(c, alike, "squares", count);
  input_free(&exact);
  input_free(&other);
}
