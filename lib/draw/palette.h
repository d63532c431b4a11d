// Colours: of classes, of text on them, of numbers.
#ifndef DQ_DRAW_PALETTE_H
#define DQ_DRAW_PALETTE_H

#include "lib/draw/canvas.h"

// The colour of class `index`. The first 20 are chosen so that each is as far as possible from those before it in the
// Oklab space (B. Ottosson, "A perceptual color space for image processing", 2020), among strong and bright colours
// that are seen on photographs; the distance of two is at least 0.12 (red and green: 0.49). Colour i >= 20 has the hue
// of i golden angles (360 degrees / 1.618...^2, counted backwards) from red, in three steps of lightness. An index
// below 0 has the colour of 0.
dq_colour dq_palette_colour(int64_t index);

// Black or white, whichever has the higher contrast ratio to `background` (Web Content Accessibility Guidelines 2.2,
// "contrast ratio" and "relative luminance").
dq_colour dq_contrast_colour(dq_colour background);

// The colour that stands for `share` (limited to 0...1; NaN as 0) of the way from the lowest to the highest number:
// from dark violet through red and orange to light yellow. Equal steps are nearly equal differences for the eye: the
// lightness of Oklab grows evenly, from 0.20 to 0.95, and the hue evenly from 285 to 465 degrees, with the largest
// chroma below 0.19 that sRGB has, less 5 %.
dq_colour dq_scale_colour(double share);

#endif
