// Charts as HTML with inline SVG. Drawings stretch to the width there is; words stand beside them as text,
// so that they keep their size on a phone.
#include <math.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

const char dq_chart_style[] =
    ".help { color: var(--soft); margin: 0 0 .6rem; }\n"
    ".key span { display: inline-block; margin-right: 1rem; }\n"
    ".key i { display: inline-block; width: .8em; height: .8em; margin-right: .35em; }\n"
    ".chart { margin: .5rem 0 1.5rem; }\n"
    ".bar { display: grid; grid-template-columns: 14rem 1fr 11rem; gap: 0 .8rem;\n"
    "  align-items: center; padding: .1rem 0; }\n"
    ".bar > * { min-width: 0; overflow-wrap: anywhere; } .bar svg { width: 100%; height: .9rem; }\n"
    ".bar .v { text-align: right; font-variant-numeric: tabular-nums; }\n"
    ".columns { display: grid; grid-template-columns: auto 1fr; gap: 0 .6rem; }\n"
    ".columns svg { width: 100%; height: 9rem; border-bottom: 1px solid var(--line); }\n"
    ".scale { display: flex; flex-direction: column; justify-content: space-between; text-align: right; }\n"
    ".ends { grid-column: 2; display: flex; justify-content: space-between; gap: 1rem; color: var(--soft); }\n"
    ".ends span { min-width: 0; overflow-wrap: anywhere; }\n"
    ".small { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(15rem, 100%), 1fr)); gap: 1rem; }\n"
    "figure { margin: 0; min-width: 0; } figure svg { width: 100%; height: 5rem; border-bottom: 1px solid var(--line); "
    "}\n"
    "figcaption { overflow-wrap: anywhere; font-size: .9em; } figcaption span { color: var(--soft); }\n"
    ".s0 { fill: var(--first); background: var(--first); } .s1 { fill: var(--second); background: var(--second); }\n"
    ".tracks { overflow-x: auto; } .tracks svg { width: 100%; min-width: 40rem; }\n"
    ".m1 { fill: var(--good); } .m2 { fill: var(--warn); } .m3 { fill: var(--bad); }\n"
    ".range { fill: var(--range); background: var(--range); }\n"
    ".at { stroke: var(--ink); stroke-width: 1.5; vector-effect: non-scaling-stroke; fill: none; }\n"
    "@media (max-width: 40rem) { .bar { grid-template-columns: 1fr auto; padding: .25rem 0; }\n"
    "  .bar svg { grid-column: 1 / 3; grid-row: 2; } }\n";

// The largest finite value: what fills the scale.
static double scale_of(const dq_chart *chart) {
  double largest = isnan(chart->line) ? 0 : chart->line;
  for (const dq_chart_entry *entry = chart->entries; entry; entry = entry->next)
    for (int s = 0; s < 2; s++)
      if (isfinite(entry->values[s]) && entry->values[s] > largest) largest = entry->values[s];
  return largest > 0 ? largest : 1;
}

// A value's share of the scale in hundredths of it.
static double share_of(double value, double scale) {
  if (isinf(value)) return 100;
  if (isnan(value) || value <= 0) return 0;
  return value >= scale ? 100 : 100 * value / scale;
}

static void print_key(FILE *stream, const dq_chart *chart) {
  const dq_chart_layout *layout = chart->layout;
  if (!layout->series[1] && isnan(chart->line)) return;
  fputs("<p class=\"key\">", stream);
  for (int s = 0; s < 2 && layout->series[s]; s++)
    fprintf(stream, "<span><i class=\"s%d\"></i>%s</span>", s, layout->series[s]);
  if (!isnan(chart->line)) fprintf(stream, "<span>| %s</span>", chart->line_label);
  fputs("</p>\n", stream);
}

static const char *mark_class(const dq_chart_entry *entry) {
  static const char *const classes[] = {"s0", "m1", "m2", "m3"};
  return classes[entry->mark];
}

static void print_bar(FILE *stream, const dq_chart *chart, const dq_chart_entry *entry, double scale) {
  const dq_chart_layout *layout = chart->layout;
  fputs("<div class=\"bar\"><span>", stream);
  dq_html_escaped(stream, entry->label);
  fputs("</span><svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", stream);
  if (!isnan(entry->values[1])) {
    fputs("<rect class=\"s1\" height=\"10\" width=\"", stream);
    dq_chart_print_number(stream, share_of(entry->values[1], scale));
    fputs("\"/>", stream);
  }
  if (!isnan(entry->values[0])) {
    fprintf(stream, "<rect class=\"%s\" y=\"%d\" height=\"%d\" width=\"", mark_class(entry), layout->series[1] ? 2 : 0,
            layout->series[1] ? 6 : 10);
    dq_chart_print_number(stream, share_of(entry->values[0], scale));
    fputs("\"/>", stream);
  }
  if (!isnan(chart->line)) {
    fputs("<path class=\"at\" d=\"M", stream);
    dq_chart_print_number(stream, share_of(chart->line, scale));
    fputs(" 0v10\"/>", stream);
  }
  fputs("</svg><span class=\"v\">", stream);
  for (int s = 0; s < 2; s++) {
    if (isnan(entry->values[s])) continue;
    if (s && !isnan(entry->values[0])) fputs(" / ", stream);
    dq_chart_print_value(stream, layout, entry->values[s]);
  }
  fputs("</span></div>\n", stream);
}

static void print_columns(FILE *stream, const dq_chart *chart, double scale) {
  const dq_chart_layout *layout = chart->layout;
  fputs("<div class=\"columns\"><div class=\"scale\"><span>", stream);
  dq_chart_print_value(stream, layout, scale);
  fprintf(stream, "</span><span>0</span></div><svg viewBox=\"0 0 %d 100\" preserveAspectRatio=\"none\">\n",
          chart->count);
  int at = 0;
  for (const dq_chart_entry *entry = chart->entries; entry; entry = entry->next, at++) {
    double height = share_of(entry->values[0], scale);
    fprintf(stream, "<rect class=\"%s\" x=\"%d.1\" width=\".8\" y=\"", mark_class(entry), at);
    dq_chart_print_number(stream, 100 - height);
    fputs("\" height=\"", stream);
    dq_chart_print_number(stream, height);
    fputs("\"><title>", stream);
    dq_html_escaped(stream, entry->label);
    fputs(": ", stream);
    dq_chart_print_value(stream, layout, entry->values[0]);
    fputs("</title></rect>\n", stream);
  }
  fputs("</svg><div class=\"ends\"><span>", stream);
  dq_html_escaped(stream, chart->entries->label);
  fputs("</span><span>", stream);
  if (chart->count > 1) dq_html_escaped(stream, chart->last->label);
  fputs("</span></div></div>\n", stream);
}

static double place_of(double value, const dq_chart_histogram *h) {
  double share = (value - h->low) / (h->high - h->low);
  return 100 * (share < 0 ? 0 : share > 1 ? 1 : share);
}

static void print_histogram(FILE *stream, const dq_chart_entry *entry) {
  const dq_chart_histogram *h = entry->histogram;
  if (!h) return;
  fputs("<figure><svg viewBox=\"0 0 100 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">", stream);
  if (!isnan(h->from)) {
    double from = place_of(h->from, h), to = place_of(h->to, h);
    fputs("<rect class=\"range\" height=\"100\" x=\"", stream);
    dq_chart_print_number(stream, from);
    fputs("\" width=\"", stream);
    dq_chart_print_number(stream, to - from);
    fputs("\"/>", stream);
  }
  fputs("<path class=\"s0\" d=\"M0 100", stream);
  for (int i = 0; i < h->count; i++) {
    fputc('V', stream);
    dq_chart_print_number(stream, 100 - 100 * h->heights[i]);
    fputc('H', stream);
    dq_chart_print_number(stream, 100.0 * (i + 1) / h->count);
  }
  fputs("V100Z\"/></svg><figcaption>", stream);
  dq_html_escaped(stream, entry->label);
  fputs("<br><span>", stream);
  dq_html_escaped(stream, h->text);
  fputs("</span></figcaption></figure>\n", stream);
}

static void print_chart(FILE *stream, const dq_chart *chart) {
  double scale = scale_of(chart);
  fputs("<h2>", stream);
  dq_html_escaped(stream, chart->layout->title);
  fputs("</h2>\n<p class=\"help\">", stream);
  dq_html_escaped(stream, chart->layout->help);
  fputs("</p>\n", stream);
  print_key(stream, chart);
  fprintf(stream, "<div class=\"chart%s\">\n", chart->layout->kind == DQ_CHART_HISTOGRAMS ? " small" : "");
  if (chart->layout->kind == DQ_CHART_COLUMNS) print_columns(stream, chart, scale);
  if (chart->layout->kind == DQ_CHART_TRACKS) dq_chart_print_tracks(stream, chart);
  for (const dq_chart_entry *entry = chart->entries; entry; entry = entry->next) {
    if (chart->layout->kind == DQ_CHART_BARS) print_bar(stream, chart, entry, scale);
    if (chart->layout->kind == DQ_CHART_HISTOGRAMS) print_histogram(stream, entry);
  }
  fputs("</div>\n", stream);
}

void dq_report_print_charts(const dq_report *report, FILE *stream) {
  for (const dq_chart *chart = report->charts; chart; chart = chart->next)
    if (chart->count) print_chart(stream, chart);
}
