// Charts of tracks: one SVG with its words, which stands for itself when it is copied into a document of its own.
#include "lib/render/render_internal.h"

enum {
  WIDTH = 1000,
  LEFT = 90,        // where spans begin, behind the labels
  SPAN_WIDTH = 880, // of the whole time
  ROW = 26,         // from one track to the next
  LEAST = 1,        // width of a span, so that it is seen
  BAR = 20,         // height of a span
  KEYS = 5,         // series in a row of the key
  KEY_ROW = 20,
  TICKS = 4, // parts of the axis
  FOOT = 22, // below the tracks
};

// Neighbours differ by the golden angle, so that a few series have hues far apart.
static void print_colour(FILE *stream, int series) { fprintf(stream, "hsl(%d,60%%,50%%)", (210 + series * 137) % 360); }

static double end_of(const dq_chart *chart) {
  double end = 0;
  for (const dq_chart_entry *track = chart->entries; track; track = track->next)
    for (const dq_chart_span *span = track->spans; span; span = span->next)
      if (span->to > end) end = span->to;
  return end > 0 ? end : 1;
}

static void print_series(FILE *stream, const dq_chart *chart) {
  int number = 0;
  for (const dq_report_line *series = chart->series; series; series = series->next, number++) {
    int x = LEFT + number % KEYS * (SPAN_WIDTH / KEYS), y = number / KEYS * KEY_ROW;
    fprintf(stream, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"", x, y + 2);
    print_colour(stream, number);
    fprintf(stream, "\"/><text x=\"%d\" y=\"%d\">", x + 17, y + 13);
    dq_html_escaped(stream, series->text);
    fputs("</text>\n", stream);
  }
}

static void print_span(FILE *stream, const dq_chart_span *span, double end, int y) {
  const double width = SPAN_WIDTH * (span->to - span->from) / end;
  fputs("<rect x=\"", stream);
  dq_chart_print_number(stream, LEFT + SPAN_WIDTH * span->from / end);
  fprintf(stream, "\" y=\"%d\" height=\"%d\" width=\"", y, BAR);
  dq_chart_print_number(stream, width > LEAST ? width : LEAST);
  fputs("\" fill=\"", stream);
  print_colour(stream, span->series);
  fputs("\"><title>", stream);
  dq_html_escaped(stream, span->text);
  fputs("</title></rect>\n", stream);
}

// Short spans come last, so that no other one hides them.
static void print_spans(FILE *stream, const dq_chart_entry *track, double end, int y) {
  for (int is_short = 0; is_short < 2; is_short++)
    for (const dq_chart_span *span = track->spans; span; span = span->next)
      if ((SPAN_WIDTH * (span->to - span->from) < LEAST * end) == is_short) print_span(stream, span, end, y);
}

static void print_axis(FILE *stream, const dq_chart *chart, double end, int y) {
  for (int tick = 0; tick <= TICKS; tick++) {
    const char *anchor = !tick ? "start" : tick < TICKS ? "middle" : "end";
    fprintf(stream, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", LEFT + SPAN_WIDTH * tick / TICKS, y + 15, anchor);
    dq_chart_print_value(stream, chart->layout, end * tick / TICKS);
    fputs("</text>\n", stream);
  }
}

void dq_chart_print_tracks(FILE *stream, const dq_chart *chart) {
  const double end = end_of(chart);
  int number = 0;
  for (const dq_report_line *series = chart->series; series; series = series->next) number++;
  int y = (number + KEYS - 1) / KEYS * KEY_ROW;
  fprintf(stream,
          "<div class=\"tracks\"><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-size=\"13\" "
          "font-family=\"sans-serif\" fill=\"#888\">\n",
          WIDTH, y + chart->count * ROW + FOOT);
  print_series(stream, chart);
  for (const dq_chart_entry *track = chart->entries; track; track = track->next, y += ROW) {
    fprintf(stream, "<text x=\"0\" y=\"%d\">", y + BAR - 5);
    dq_html_escaped(stream, track->label);
    fputs("</text>\n", stream);
    fputs("<g stroke=\"#fff\" stroke-opacity=\".5\" stroke-width=\".5\">\n", stream);
    print_spans(stream, track, end, y + 2);
    fputs("</g>\n", stream);
  }
  print_axis(stream, chart, end, y);
  fputs("</svg></div>\n", stream);
}
