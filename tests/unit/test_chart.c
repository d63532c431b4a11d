// Charts of the page: coordinates by hand; the ranges that quantizers stand for.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "calib/chosen.h"
#include "lib/render/chart.h"

static char *page;
static size_t page_size;

static void print(dq_report *report) {
  free(page);
  FILE *stream = open_memstream(&page, &page_size);
  assert_int_equal(dq_report_print(report, DQ_FORMAT_HTML, NULL, stream, NULL), DQ_OK);
  fclose(stream);
}

static void has(const char *text) {
  if (!strstr(page, text)) fail_msg("no '%s' in:\n%s", text, page);
}

static void bars(void **state) {
  (void)state;
  static const dq_chart_layout layout = {"Bits", "Help.", DQ_CHART_BARS, {"seen", "proven"}, DQ_COLUMN_REAL, 0, NULL};
  dq_report *report = dq_report_new("test", 1, "t");
  dq_chart *chart = dq_report_chart(report, &layout);
  dq_chart_line(chart, 5, "five");
  dq_chart_add(chart, "<a>", 12, 20);
  dq_chart_add(chart, "b", NAN, 2.5);
  dq_chart_add(chart, "c", INFINITY, NAN);
  dq_chart_mark(chart, DQ_MARK_BAD);
  print(report);
  has("<span>&lt;a&gt;</span>");
  has("<rect class=\"s1\" height=\"10\" width=\"100\"/><rect class=\"s0\" y=\"2\" height=\"6\" width=\"60\"/>"
      "<path class=\"at\" d=\"M25 0v10\"/></svg><span class=\"v\">12 / 20</span>");
  has("width=\"12.5\"/><path");
  has("<rect class=\"m3\" y=\"2\" height=\"6\" width=\"100\"/>");
  has("<span>| five</span>");
  dq_report_free(report);
}

// 2 of 4 ms are half of 880, from 90 on; the key and two tracks are 20 + 2 * 26 high, the axis 22.
static void tracks(void **state) {
  (void)state;
  static const dq_chart_layout layout = {"Timeline", "Help.", DQ_CHART_TRACKS, {NULL, NULL}, DQ_COLUMN_REAL, 1, "ms"};
  dq_report *report = dq_report_new("test", 1, "t");
  dq_chart *chart = dq_report_chart(report, &layout);
  dq_chart_add_span(chart, 0, 0, 1, "nowhere"); // there is no track yet
  dq_chart_add_series(chart, "a<b");
  dq_chart_add_series(chart, "c");
  dq_chart_add_track(chart, "worker 0");
  dq_chart_add_span(chart, 0, 0, 1, "first");
  dq_chart_add_span(chart, 1, 2, 4, "<second>");
  dq_chart_add_track(chart, "worker 1");
  dq_chart_add_span(chart, 1, 1, 1.001, "short");
  dq_chart_add_span(chart, 0, 1, 2, "long");
  print(report);
  has("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1000 94\" ");
  has("<rect x=\"90\" y=\"2\" width=\"12\" height=\"12\" fill=\"hsl(210,60%,50%)\"/><text x=\"107\" y=\"13\">a&lt;b<");
  has("<rect x=\"266\" y=\"2\" width=\"12\" height=\"12\" fill=\"hsl(347,60%,50%)\"/><text x=\"283\" y=\"13\">c<");
  has("<text x=\"0\" y=\"35\">worker 0</text>\n<g stroke=\"#fff\" stroke-opacity=\".5\" stroke-width=\".5\">\n<rect "
      "x=\"90\" y=\"22\" height=\"20\" width=\"220\" "
      "fill=\"hsl(210,60%,50%)\"><title>first</title></rect>\n<rect x=\"530\" y=\"22\" height=\"20\" width=\"440\" "
      "fill=\"hsl(347,60%,50%)\"><title>&lt;second&gt;</title></rect>\n</g>\n<text x=\"0\" y=\"61\">worker "
      "1</text>");
  has("<title>long</title></rect>\n<rect x=\"310\" y=\"48\" height=\"20\" width=\"1\" "
      "fill=\"hsl(347,60%,50%)\"><title>short</title></rect>\n</g>\n" // short ones come last
      "<text x=\"90\" y=\"87\" text-anchor=\"start\">0.0 ms</text>\n<text x=\"310\" y=\"87\" "
      "text-anchor=\"middle\">1.0 ms</text>");
  has("<text x=\"970\" y=\"87\" text-anchor=\"end\">4.0 ms</text>\n</svg></div>");
  assert_null(strstr(page, "nowhere"));
  dq_report_free(report);
}

static void columns(void **state) {
  (void)state;
  static const dq_chart_layout layout = {"SQNR", "Help.", DQ_CHART_COLUMNS, {"SQNR", NULL}, DQ_COLUMN_REAL, 1, "dB"};
  dq_report *report = dq_report_new("test", 1, "t");
  dq_chart *chart = dq_report_chart(report, &layout);
  dq_report_chart(report, &layout); // nothing in it: not shown
  dq_chart_add(chart, "a", 40, NAN);
  dq_chart_add(chart, "b", 10, NAN);
  print(report);
  has("viewBox=\"0 0 2 100\"");
  has("<rect class=\"s0\" x=\"1.1\" width=\".8\" y=\"75\" height=\"25\"><title>b: 10.0 dB</title></rect>");
  assert_null(strstr(strstr(page, "<h2>SQNR</h2>") + 1, "<h2>SQNR</h2>"));
  dq_report_free(report);
}

static void histogram(void **state) {
  (void)state;
  static const dq_chart_layout layout = {"Values", "Help.", DQ_CHART_HISTOGRAMS, {"values", NULL}, DQ_COLUMN_REAL,
                                         0,        NULL};
  dq_report *report = dq_report_new("test", 1, "t");
  const double heights[] = {1, 0.5};
  const dq_chart_histogram values = {"v", "text", heights, 2, -1, 3, 0, 2};
  dq_chart_add_histogram(dq_report_chart(report, &layout), &values);
  print(report);
  has("<rect class=\"range\" height=\"100\" x=\"25\" width=\"50\"/><path class=\"s0\" d=\"M0 100V0H50V50H100V100Z\"/>");
  has("<figcaption>v<br><span>text</span></figcaption>");
  dq_report_free(report);
  free(page);
  page = NULL;
}

// A quantizer with scale 0.5 and zero point 10 (uint8): -5 to 122.5; one without a zero point: 0 to 127.5.
static void ranges_of_quantizers(void **state) {
  (void)state;
  dq_graph *graph = dq_graph_new(0);
  dq_value *x = dq_graph_add_value(graph, "x"), *y = dq_graph_add_value(graph, "y"),
           *z = dq_graph_add_value(graph, "z");
  dq_value *inputs[] = {x, dq_graph_add_constant(graph, "s", dq_tensor_scalar_f32(graph->arena, 0.5f)),
                        dq_graph_add_constant(graph, "o", dq_tensor_scalar_i8(graph->arena, DQ_U8, 10))};
  dq_graph_add_node(graph, 0, "QuantizeLinear", "q", 3, inputs, 1, &y);
  dq_graph_add_node(graph, 1, "QuantizeLinear", "r", 2, inputs, 1, &z);
  x->is_input = true;
  assert_int_equal(dq_graph_index(graph, false, NULL), DQ_OK);
  dq_arena *arena = dq_arena_new(0);
  dq_chosen chosen;
  assert_int_equal(dq_chosen_of(&chosen, graph, arena, NULL), DQ_OK);
  assert_int_equal(chosen.count, 2);
  assert_string_equal(chosen.values[0], "x");
  assert_float_equal(chosen.ranges[0].low, -5, 0);
  assert_float_equal(chosen.ranges[0].high, 122.5, 0);
  assert_float_equal(chosen.ranges[1].low, 0, 0);
  assert_float_equal(chosen.ranges[1].high, 127.5, 0);
  dq_arena_free(arena);
  dq_graph_free(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bars), cmocka_unit_test(columns), cmocka_unit_test(tracks),
                                     cmocka_unit_test(histogram), cmocka_unit_test(ranges_of_quantizers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
