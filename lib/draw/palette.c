#include "lib/draw/palette.h"

#include <math.h>

#include "lib/base/sizes.h"

static uint8_t rounded(double value) { return (uint8_t)(value + 0.5); }

// A colour by hue in turns (0...1), saturation and value (A. R. Smith, "Color Gamut Transform Pairs", 1978).
static dq_colour of_hue(double hue, double saturation, double value) {
  const int sector = (int)(hue * 6);
  const double part = hue * 6 - sector, high = 255 * value;
  const uint8_t most = rounded(high), least = rounded(high * (1 - saturation));
  const uint8_t falling = rounded(high * (1 - saturation * part));
  const uint8_t rising = rounded(high * (1 - saturation * (1 - part)));
  switch (sector) {
  case 0: return (dq_colour){most, rising, least};
  case 1: return (dq_colour){falling, most, least};
  case 2: return (dq_colour){least, most, rising};
  case 3: return (dq_colour){least, falling, most};
  case 4: return (dq_colour){rising, least, most};
  default: return (dq_colour){most, least, falling};
  }
}

dq_colour dq_palette_colour(int64_t index) {
  static const dq_colour first[] = {
      {255, 60, 45},   {0, 255, 0},     {0, 105, 255},   {75, 135, 0},    {240, 0, 255},
      {75, 210, 240},  {255, 195, 60},  {255, 165, 255}, {165, 90, 150},  {120, 195, 90},
      {150, 30, 255},  {165, 255, 180}, {195, 135, 15},  {135, 150, 255}, {255, 90, 180},
      {255, 150, 135}, {0, 150, 195},   {195, 0, 180},   {180, 90, 60},   {210, 120, 255},
  };
  if (index < DQ_COUNT(first)) return first[dq_max_i64(index, 0)];
  static const double saturations[] = {0.95, 0.65, 0.85}, values[] = {1, 0.95, 0.75};
  // Two classes whose numbers differ by 2^32 may share a colour: no more digits of their product are kept.
  const double turns = (double)(index & UINT32_MAX) * 0.6180339887498949; // 1 - the golden angle, in turns
  return of_hue(turns - floor(turns), saturations[index % 3], values[index % 3]);
}

static double linear(uint8_t channel) {
  const double share = channel / 255.0;
  return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

dq_colour dq_contrast_colour(dq_colour background) {
  const double luminance =
      0.2126 * linear(background.red) + 0.7152 * linear(background.green) + 0.0722 * linear(background.blue);
  // The ratios are (luminance + 0.05) / 0.05 to black and 1.05 / (luminance + 0.05) to white. No colour of 8 bits comes
  // closer than 2e-9 to equal ratios, so that the last digits of pow do not matter.
  const bool black = (luminance + 0.05) * (luminance + 0.05) > 0.05 * 1.05;
  return black ? (dq_colour){0, 0, 0} : (dq_colour){255, 255, 255};
}

dq_colour dq_scale_colour(double share) {
  static const dq_colour steps[] = {
      {22, 2, 69},    {42, 4, 85},    {64, 6, 97},    {88, 8, 106},    {113, 11, 109},  {139, 14, 109},
      {166, 18, 104}, {188, 35, 95},  {208, 54, 83},  {226, 74, 69},   {242, 95, 48},   {251, 121, 30},
      {252, 149, 46}, {252, 175, 67}, {253, 198, 88}, {253, 221, 107}, {254, 244, 110},
  };
  enum { LAST = DQ_COUNT(steps) - 1 };
  if (!(share > 0)) return steps[0];
  if (share >= 1) return steps[LAST];
  const int step = (int)(share * LAST);
  const double part = share * LAST - step;
  const dq_colour a = steps[step], b = steps[step + 1];
  return (dq_colour){rounded(a.red + (b.red - a.red) * part), rounded(a.green + (b.green - a.green) * part),
                     rounded(a.blue + (b.blue - a.blue) * part)};
}
