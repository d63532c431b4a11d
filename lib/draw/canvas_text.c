#include "lib/draw/canvas_text.h"

#include "lib/base/sizes.h"
#include "lib/draw/draw_internal.h"
#include "lib/draw/palette.h"
#include "lib/text/utf8.h"

enum { GLYPH_WIDTH = 5, ADVANCE = 6, GLYPH_HEIGHT = 9, IN_A_BAND = 16, FIRST = 32, BOX = 127 };

static const char *const bands[][GLYPH_HEIGHT] = {
#include "lib/draw/glyphs.def"
};

// The character whose glyph is drawn for a code point.
static int glyph_of(int32_t code) {
  // U+00C0 to U+00FF; a space: there is no such letter.
  static const char latin[] = "AAAAAA CEEEEIIIIDNOOOOO OUUUUY  aaaaaa ceeeeiiii nooooo ouuuuy y";
  if (code >= FIRST && code < BOX) return code;
  if (code == 0xa0) return ' ';
  if (code < 0xc0 || code > 0xff || latin[code - 0xc0] == ' ') return BOX;
  return latin[code - 0xc0];
}

dq_draw_sizes dq_draw_sizes_for(int width, int height) {
  const int side = width < height ? width : height;
  const int thickness = (side + 110) / 220, text = (side + 200) / 400;
  const int lines = thickness < 1 ? 1 : thickness;
  return (dq_draw_sizes){lines, (3 * lines + 2) / 2, text < 1 ? 1 : text};
}

static int64_t characters(const char *text) {
  int64_t count = 0;
  for (int32_t code; *text; count++) text += dq_utf8_next(text, &code);
  return count;
}

static int64_t width_of(int64_t count, int scale) { return count ? (count * ADVANCE - 1) * scale : 0; }

int64_t dq_canvas_text_width(const char *text, int scale) { return width_of(characters(text), scale); }

int64_t dq_canvas_text_height(int scale) { return (int64_t)GLYPH_HEIGHT * scale; }

static void draw_glyph(dq_canvas *canvas, int64_t left, int64_t top, int glyph, int scale, dq_colour colour) {
  const int place = glyph - FIRST;
  for (int row = 0; row < GLYPH_HEIGHT; row++)
    for (int column = 0; column < GLYPH_WIDTH; column++) {
      if (bands[place / IN_A_BAND][row][place % IN_A_BAND * ADVANCE + column] != '#') continue;
      const int64_t x = left + (int64_t)column * scale, y = top + (int64_t)row * scale;
      dq_canvas_fill_pixels(canvas, (dq_pixel_box){x, y, x + scale, y + scale}, colour, 1);
    }
}

// Draws the first `most` characters and returns the column behind their last gap.
static int64_t draw_characters(dq_canvas *canvas, dq_pixel_box at, const char *text, int64_t most, int scale,
                               dq_colour colour) {
  for (int64_t i = 0; i < most && *text && at.left < canvas->width; i++) {
    int32_t code;
    text += dq_utf8_next(text, &code);
    draw_glyph(canvas, at.left, at.top, glyph_of(code), scale, colour);
    at.left += (int64_t)ADVANCE * scale;
  }
  return at.left;
}

static dq_pixel_box corner_at(dq_point at) {
  at = dq_near_point(at);
  return (dq_pixel_box){.left = dq_pixel_boundary(at.x), .top = dq_pixel_boundary(at.y)};
}

void dq_canvas_text(dq_canvas *canvas, dq_point at, const char *text, int scale, dq_colour colour) {
  if (!dq_point_is_nan(at)) draw_characters(canvas, corner_at(at), text, INT64_MAX, scale, colour);
}

void dq_canvas_text_within(dq_canvas *canvas, dq_point at, const char *text, int64_t width, int scale,
                           dq_colour colour) {
  static const char more[] = "..";
  if (dq_point_is_nan(at)) return;
  dq_pixel_box corner = corner_at(at);
  const int64_t fitting = (width + scale) / (ADVANCE * (int64_t)scale), hidden = characters(text) > fitting ? 2 : 0;
  corner.left = draw_characters(canvas, corner, text, fitting - hidden, scale, colour);
  if (hidden) draw_characters(canvas, corner, more, fitting, scale, colour);
}

// The place of `size` pixels from `low` on, moved so that they end within `side`, or begin at 0 where they do not fit.
static int64_t moved_within(int64_t low, int64_t size, int64_t side) {
  return dq_max_i64(dq_min_i64(low, side - size), 0);
}

void dq_canvas_label(dq_canvas *canvas, dq_point at, const char *text, int scale, dq_colour background) {
  if (dq_point_is_nan(at)) return;
  // A margin of one dot of the font is left around the text; below, the part under the base line takes its place.
  const int64_t height = dq_canvas_text_height(scale) + scale, margin = scale;
  const int64_t width = dq_min_i64(dq_canvas_text_width(text, scale) + 2 * margin, canvas->width);
  dq_pixel_box box = corner_at(at);
  box.left = moved_within(box.left, width, canvas->width);
  box.top = moved_within(box.top >= height ? box.top - height : box.top, height, canvas->height);
  box.right = box.left + width, box.bottom = box.top + height;
  dq_canvas_fill_pixels(canvas, box, background, 1);
  const dq_point inside = {(double)(box.left + margin), (double)(box.top + margin)};
  dq_canvas_text_within(canvas, inside, text, width - 2 * margin, scale, dq_contrast_colour(background));
}
