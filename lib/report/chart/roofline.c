#include "lib/report/chart/roofline.h"

#include <math.h>

#include "lib/base/file.h"
#include "lib/render/report.h"

enum { WIDTH = 800, HEIGHT = 500, LEFT = 70, RIGHT = 20, TOP = 44, BOTTOM = 50, LINE = 18 };

// The scales: powers of ten around what is shown.
static const double intensities[2] = {0.01, 10000}, speeds[2] = {1e7, 1e13};

static double along(double value, const double ends[2]) {
  double share = log10(value / ends[0]) / log10(ends[1] / ends[0]);
  return share < 0 ? 0 : share > 1 ? 1 : share;
}
static double x_of(double intensity) { return LEFT + along(intensity, intensities) * (WIDTH - LEFT - RIGHT); }
static double y_of(double speed) { return HEIGHT - BOTTOM - along(speed, speeds) * (HEIGHT - TOP - BOTTOM); }

static void draw_axes(FILE *stream) {
  fprintf(stream, "<g fill='none' stroke='#ccc'>\n");
  for (double x = intensities[0]; x <= intensities[1] * 1.1; x *= 10)
    fprintf(stream, "<path d='M%.1f %dV%d'/>\n", x_of(x), TOP, HEIGHT - BOTTOM);
  for (double y = speeds[0]; y <= speeds[1] * 1.1; y *= 10)
    fprintf(stream, "<path d='M%d %.1fH%d'/>\n", LEFT, y_of(y), WIDTH - RIGHT);
  fprintf(stream, "</g>\n<g fill='#444'>\n");
  for (double x = intensities[0]; x <= intensities[1] * 1.1; x *= 10)
    fprintf(stream, "<text x='%.1f' y='%d' text-anchor='middle'>%g</text>\n", x_of(x), HEIGHT - BOTTOM + 18, x);
  for (double y = speeds[0]; y <= speeds[1] * 1.1; y *= 10)
    fprintf(stream, "<text x='%d' y='%.1f' text-anchor='end'>%g</text>\n", LEFT - 6, y_of(y) + 4, y * 1e-9);
  fprintf(stream,
          "<text x='%d' y='%d' text-anchor='middle'>multiply-accumulates per byte of inputs, weights and outputs "
          "(MAC/B)</text>\n"
          "<text x='16' y='%d' text-anchor='middle' transform='rotate(-90 16 %d)'>speed (GMAC/s)</text>\n</g>\n",
          WIDTH / 2, HEIGHT - 10, HEIGHT / 2, HEIGHT / 2);
}

// The bandwidth up to where it meets the peak, then the peak.
static void draw_ceiling(FILE *stream, const char *name, double peak, double bandwidth, const char *color) {
  double meet = peak / bandwidth, start = fmax(intensities[0], speeds[0] / bandwidth);
  fprintf(stream, "<path d='M%.1f %.1fL%.1f %.1fH%d' fill='none' stroke='%s' stroke-width='1.5'/>\n", x_of(start),
          y_of(start * bandwidth), x_of(meet), y_of(peak), WIDTH - RIGHT, color);
  fprintf(stream, "<text x='%d' y='%.1f' text-anchor='end' fill='%s'>%s, %.1f GMAC/s</text>\n", WIDTH - RIGHT,
          y_of(peak) - 5, color, name, peak * 1e-9);
}

static void draw_point(FILE *stream, const dq_roofline_point *point) {
  fprintf(stream, "<circle cx='%.1f' cy='%.1f' r='4' fill='%s' fill-opacity='.6'><title>", x_of(point->intensity),
          y_of(point->speed), point->integer ? "#b5541c" : "#1c5fb5");
  dq_html_escaped(stream, point->label);
  fprintf(stream, ": %.2f GMAC/s, %.2f per byte</title></circle>\n", point->speed * 1e-9, point->intensity);
}

// How many points are above the peak of their kind, and how many are under it but above the slope of the bandwidth.
static void count_above(const dq_peaks *peaks, const dq_roofline_point *points, int count, int *peak, int *slope) {
  *peak = *slope = 0;
  for (int i = 0; i < count; i++) {
    bool above = points[i].speed > (points[i].integer ? peaks->int8 : peaks->float32);
    *peak += above;
    *slope += !above && points[i].speed > points[i].intensity * peaks->bandwidth;
  }
}

static void draw_sentence(FILE *stream, int line, int above, int count, const char *text) {
  fprintf(stream, "<text x='%d' y='%d' fill='#444'>%d of %d steps lie above %s</text>\n", LEFT, HEIGHT + line * LINE,
          above, count, text);
}

static void draw(FILE *stream, const char *title, const dq_peaks *peaks, const dq_roofline_point *points, int count) {
  int peak, slope;
  count_above(peaks, points, count, &peak, &slope);
  int lines = (peak > 0) + (slope > 0), height = HEIGHT + lines * LINE;
  fprintf(
      stream,
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='12'>\n<title>",
      WIDTH, height);
  dq_html_escaped(stream, title);
  fprintf(stream, "</title>\n<rect width='%d' height='%d' fill='#fff'/>\n", WIDTH, height);
  fprintf(stream, "<text x='%d' y='26' font-size='16' fill='#222'>", LEFT);
  dq_html_escaped(stream, title);
  fprintf(stream, "</text>\n");
  draw_axes(stream);
  draw_ceiling(stream, "float32", peaks->float32, peaks->bandwidth, "#1c5fb5");
  draw_ceiling(stream, "8 bits", peaks->int8, peaks->bandwidth, "#b5541c");
  for (int i = 0; i < count; i++) draw_point(stream, &points[i]);
  if (peak)
    draw_sentence(stream, 0, peak, count,
                  "their peak: Winograd computes fewer products than the MACs counted, or the peak was disturbed.");
  if (slope)
    draw_sentence(stream, peak > 0, slope, count,
                  "the slope: their values were in caches, which are faster than the memory that was measured.");
  fprintf(stream, "</svg>\n");
}

dq_status dq_roofline_write(const char *path, const char *title, const dq_peaks *peaks, const dq_roofline_point *points,
                            int count, dq_error *error) {
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  draw(output.stream, title, peaks, points, count);
  return dq_output_commit(&output, error);
}
