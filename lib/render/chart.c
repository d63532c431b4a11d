#include <math.h>
#include <string.h>

#include "lib/render/render_internal.h"

dq_chart *dq_report_chart(dq_report *report, const dq_chart_layout *layout) {
  dq_chart *chart = report ? DQ_NEW(report->arena, dq_chart) : NULL;
  if (!chart) {
    if (report) dq_report_fail_memory(report, sizeof *chart);
    return NULL;
  }
  *chart = (dq_chart){.layout = layout, .report = report, .line = NAN};
  if (report->last_chart) report->last_chart->next = chart;
  else report->charts = chart;
  report->last_chart = chart;
  return chart;
}

static dq_chart_entry *add_entry(dq_chart *chart, const char *label) {
  dq_chart_entry *entry = DQ_NEW(chart->report->arena, dq_chart_entry);
  const char *own = dq_arena_strdup(chart->report->arena, label);
  if (!entry || !own) {
    dq_report_fail_memory(chart->report, sizeof *entry);
    return NULL;
  }
  entry->label = own;
  if (chart->last) chart->last->next = entry;
  else chart->entries = entry;
  chart->last = entry;
  chart->count++;
  return entry;
}

void dq_chart_add(dq_chart *chart, const char *label, double first, double second) {
  dq_chart_entry *entry = chart ? add_entry(chart, label) : NULL;
  if (entry) entry->values[0] = first, entry->values[1] = second;
}

void dq_chart_mark(dq_chart *chart, dq_mark mark) {
  if (chart && chart->last) chart->last->mark = mark;
}

void dq_chart_line(dq_chart *chart, double value, const char *label) {
  if (!chart) return;
  chart->line = value;
  chart->line_label = label;
}

void dq_chart_add_series(dq_chart *chart, const char *name) {
  if (!chart) return;
  dq_report_line *series = DQ_NEW(chart->report->arena, dq_report_line);
  const char *own = dq_arena_strdup(chart->report->arena, name);
  if (!series || !own) {
    dq_report_fail_memory(chart->report, sizeof *series);
    return;
  }
  series->text = own;
  if (chart->last_series) chart->last_series->next = series;
  else chart->series = series;
  chart->last_series = series;
}

void dq_chart_add_track(dq_chart *chart, const char *label) { dq_chart_add(chart, label, NAN, NAN); }

void dq_chart_add_span(dq_chart *chart, int series, double from, double to, const char *text) {
  dq_chart_entry *track = chart ? chart->last : NULL;
  if (!track) return;
  dq_chart_span *span = DQ_NEW(chart->report->arena, dq_chart_span);
  const char *own = dq_arena_strdup(chart->report->arena, text);
  if (!span || !own) {
    dq_report_fail_memory(chart->report, sizeof *span);
    return;
  }
  *span = (dq_chart_span){series, from, to, own, NULL};
  if (track->last_span) track->last_span->next = span;
  else track->spans = span;
  track->last_span = span;
}

void dq_chart_add_histogram(dq_chart *chart, const dq_chart_histogram *histogram) {
  dq_chart_entry *entry = chart ? add_entry(chart, histogram->label) : NULL;
  if (!entry) return;
  dq_arena *arena = chart->report->arena;
  entry->histogram = dq_arena_copy(arena, histogram, sizeof *histogram);
  double *heights = dq_arena_copy(arena, histogram->heights, (size_t)histogram->count * sizeof *heights);
  const char *text = dq_arena_strdup(arena, histogram->text);
  if (!entry->histogram || !heights || !text) {
    dq_report_fail_memory(chart->report, sizeof *histogram);
    entry->histogram = NULL;
    return;
  }
  entry->histogram->heights = heights;
  entry->histogram->text = text;
}
