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

// One of the sums of dq_planes by its definition; `kind` DQ_PLANE_SUM: of y where there is one.
static double plane_total(const dq_planes *p, dq_plane_terms kind) {
  double total = 0;
  for (int64_t n = 0; n < p->planes; n++) {
    float lanes[16] = {0};
    for (int64_t i = 0; i < p->elements; i++) {
      const float x = p->x[n * p->step + i], y = p->y ? p->y[n * p->step + i] : x, d = x - p->mean;
      lanes[i % 16] += kind == DQ_PLANE_SUM ? y : kind == DQ_PLANE_SQUARES ? d * d : d * y;
    }
    for (int i = 0; i < 16; i++) total += (double)lanes[i];
  }
  return total;
}

static bool same_total(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

void check_planes(checker *c) {
  dq_planes p = {.planes = between(c, 0, 9), .elements = array_size(c), .kind = (dq_plane_terms)between(c, 0, 2)};
  p.step = p.elements + between(c, 0, 40);
  const int64_t count = p.planes * p.step, read = p.planes ? count - p.step + p.elements : 0;
  input_buffer x = input_new((size_t)read * 4), y = input_new((size_t)read * 4);
  const int mode = (int)between(c, 0, FLOAT_MODES - 1);
  fill_floats(c, x.data, read, mode);
  fill_floats(c, y.data, read, mode);
  fill_floats(c, &p.mean, 1, FLOATS_NORMAL);
  p.x = x.data, p.y = p.kind == DQ_PLANE_PRODUCTS ? y.data : NULL;
  double totals[2];
  DQ_KERNEL_FUNCTION(plane_sums, c->cpu)(&p, totals);
  bool good = same_total(totals[0], plane_total(&p, p.kind));
  if (p.y) good = good && same_total(totals[1], plane_total(&p, DQ_PLANE_SUM));
  finish_array(c, good, "sums of planes", p.elements);
  input_free(&x);
  input_free(&y);
}

void check_combine(checker *c) {
  const int64_t count = array_size(c);
  const int mode = (int)between(c, 0, FLOAT_MODES - 1);
  input_buffer x = input_new((size_t)count * 4), y = input_new((size_t)count * 4);
  output_buffer found = output_new((size_t)count * 4, (size_t)between(c, 0, 15) * 4);
  output_buffer expected = output_new((size_t)count * 4, 0);
  float terms[4];
  fill_floats(c, x.data, count, mode);
  fill_floats(c, y.data, count, mode);
  fill_floats(c, terms, 4, FLOATS_NORMAL);
  for (int64_t i = 0; i < count; i++) {
    const volatile float difference = ((float *)x.data)[i] - terms[3], second = terms[1] * ((float *)y.data)[i];
    const volatile float first = terms[0] * difference, sum = first + second;
    ((float *)expected.data)[i] = sum + terms[2];
  }
  DQ_KERNEL_FUNCTION(combine, c->cpu)(x.data, y.data, found.data, count, terms);
  finish_array(c, same_floats(expected.data, found.data, count) && output_guards_hold(&found), "combination", count);
  input_free(&x);
  input_free(&y);
  output_free(&found);
  output_free(&expected);
}
