// Reports of times, from times that are given: every figure and every line of a file. The expected texts were recorded,
// and their figures are those of the numbers in front of them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/report/chart/report_jobs.h"
#include "lib/report/chart/report_timeline.h"
#include "lib/report/report_tune.h"
#include "lib/report/chart/roofline.h"

static char path[] = "/tmp/test_report_times_XXXXXX";

static int open_file(void **state) {
  (void)state;
  int file = mkstemp(path);
  return file < 0 ? -1 : close(file);
}

static int remove_file(void **state) {
  (void)state;
  return unlink(path);
}

// The contents of the file at `path`, static.
static const char *written(void) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  return text;
}

static const char tuned_table[] =
    "Shapes\n"
    "Node    Operator  Steps   Share  Algorithm  Choice               Before p5 (ms)  Before (m"
    "s)  p95 (ms)  After p5 (ms)  After (ms)  p95 (ms)  Time ratio   from     to  Of gain  Sour"
    "ce\n"
    "------------------------------------------------------------------------------------------"
    "------------------------------------------------------------------------------------------"
    "--------\n"
    "first   Conv          2  50.0 %  tiles      usual                        3.0000       4.00"
    "00    8.0000         2.0000      2.5000   12.0000       0.625  0.500  0.688   75.0 %  meas"
    "ured\n"
    "second  Gemm          1  25.0 %             not used: threads=1          1.5000       2.00"
    "00    4.0000         1.0000      1.2500    6.0000       0.750  0.625  0.812   25.0 %  know"
    "n\n"
    "third   Relu          3                     usual                        0.7500       1.00"
    "00    2.0000         0.5000      0.6250    3.0000       1.000  0.875  1.062           meas"
    "ured\n"
    "fourth  Add           1  12.5 %                                                           "
    "                                                                                      not "
    "measured\n"
    "\n"
    "Candidates of shapes\n"
    "Family            Candidates  Measured  Rank correlation\n"
    "--------------------------------------------------------\n"
    "Conv float32 3x3          40        29             0.875\n"
    "Gemm float32              10         1                  \n"
    "\n"
    "Steps of the network:         7\n"
    "Shapes with a choice:         4\n"
    "Shapes known before:          5\n"
    "Shapes measured now:          6\n"
    "Shapes not computed as usual: 1\n"
    "Candidates:                   50\n"
    "Candidates known before:      20\n"
    "Candidates measured now:      30\n"
    "Loss without --exhaustive:    0.25 %\n"
    "Runs of the network:          8\n"
    "Threads:                      3\n"
    "Equal plans, time ratio from: 0.969\n"
    "Equal plans, time ratio to:   1.031\n"
    "Before, p5:                   12.000 ms\n"
    "Before, median:               16.000 ms\n"
    "Before, p95:                  32.000 ms\n"
    "After, p5:                    8.000 ms\n"
    "After, median:                10.000 ms\n"
    "After, p95:                   48.000 ms\n"
    "Time ratio:                   0.500\n"
    "Time ratio from:              0.375\n"
    "Time ratio to:                0.562\n"
    "Choices are used:             yes\n";

static const char tuned_json[] = "{\n"
                                 "  \"schema\": \"dq-tune\",\n"
                                 "  \"version\": 1,\n"
                                 "  \"title\": \"Measured choices\",\n"
                                 "  \"shapes\": [],\n"
                                 "  \"network\": {\n"
                                 "    \"steps\": 7,\n"
                                 "    \"shapes\": 0,\n"
                                 "    \"known\": 5,\n"
                                 "    \"measured\": 6,\n"
                                 "    \"chosen\": 0,\n"
                                 "    \"candidates\": 50,\n"
                                 "    \"candidates_known\": 20,\n"
                                 "    \"candidates_measured\": 30,\n"
                                 "    \"runs\": 8,\n"
                                 "    \"threads\": 3,\n"
                                 "    \"used\": false\n"
                                 "  }\n"
                                 "}\n";

static dq_record record_of(double milliseconds, double ratio) {
  return (dq_record){.ratio = ratio,
                     .low = ratio - 0.125,
                     .high = ratio + 0.0625,
                     .before = {milliseconds * 0.75e-3, milliseconds * 1e-3, milliseconds * 2e-3},
                     .after = {milliseconds * 0.5e-3, milliseconds * 0.625e-3, milliseconds * 3e-3}};
}

static char *tuned_text(const dq_tune_report *tuned, dq_report_format format) {
  dq_error error = {0};
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  dq_report *report = dq_report_new("dq-tune", 1, "Measured choices");
  dq_report_tune(report, tuned, 3);
  assert_int_equal(dq_report_print(report, format, &(dq_text_style){.width = 400}, stream, &error), DQ_OK);
  fclose(stream);
  dq_report_free(report);
  return text;
}

static void tuning(void **state) {
  (void)state;
  dq_tune_shape shapes[] = {
      {.run = "Conv/any",
       .name = "first",
       .op_type = "Conv",
       .algorithm = "tiles",
       .steps = 2,
       .share = 0.5,
       .has_record = true,
       .record = record_of(4, 0.625),
       .used = true,
       .gain = 3},
      {.run = "Gemm/any",
       .name = "second",
       .op_type = "Gemm",
       .steps = 1,
       .share = 0.25,
       .has_record = true,
       .was_known = true,
       .record = record_of(2, 0.75),
       .gain = 1},
      {.run = "Relu/any",
       .name = "third",
       .op_type = "Relu",
       .steps = 3,
       .has_record = true,
       .record = record_of(1, 1)},
      {.run = "Add/any", .name = "fourth", .op_type = "Add", .steps = 1, .share = 0.125},
  };
  assert_true(dq_choice_parse("threads=1", &shapes[1].record.choice));
  shapes[1].record.withdrawn = true;
  dq_tune_family families[] = {{"Conv float32 3x3", 40, 29, 0.875}, {"Gemm float32", 10, 1, NAN}};
  dq_tune_report tuned = {.shapes = shapes,
                          .families = families,
                          .family_count = 2,
                          .candidates = 50,
                          .tried_before = 20,
                          .tried = 30,
                          .has_part_loss = true,
                          .part_loss = 0.0025,
                          .shape_count = 4,
                          .known = 5,
                          .measured = 6,
                          .chosen = 1,
                          .steps = 7,
                          .runs = 8,
                          .has_control = true,
                          .control = {1, 0.96875, 1.03125},
                          .has_network = true,
                          .network = record_of(16, 0.5)};
  char *text = tuned_text(&tuned, DQ_FORMAT_TEXT);
  assert_string_equal(text, tuned_table);
  free(text);
  tuned.has_control = tuned.has_network = false, tuned.chosen = 0, tuned.shape_count = 0;
  tuned.family_count = 0, tuned.has_part_loss = false;
  text = tuned_text(&tuned, DQ_FORMAT_JSON);
  assert_string_equal(text, tuned_json);
  free(text);
}

static const char timeline_file[] =
    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
    "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"one.onnx\"}},\n"
    "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"cat\":\"step\",\"ts\":0.000,\"dur\":1.500,\"name\":\"a "
    "\\\"b\\\"\",\"args\":{\"op"
    "erator\":\"Conv\",\"algorithm\":\"tiles\",\"run\":0,\"step\":0}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"cat\":\"step\",\"ts\":1.500,\"dur\":3.499,\"name\":\"c\",\"args\":{\"operator"
    "\":\"Relu\",\"run\":0,\"step\":1}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"cat\":\"step\",\"ts\":5.000,\"dur\":2000.007,\"name\":\"a "
    "\\\"b\\\"\",\"args\":{"
    "\"operator\":\"Conv\",\"algorithm\":\"tiles\",\"run\":1,\"step\":0}},\n"
    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"thread 0, which runs the st"
    "eps\"}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"share\",\"ts\":0.001,\"dur\":0.001,\"name\":\"a "
    "\\\"b\\\"\",\"args\":{\"o"
    "perator\":\"Conv\",\"algorithm\":\"tiles\",\"run\":0,\"step\":0}},\n"
    "{\"ph\":\"M\",\"pid\":1,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"thread 1\"}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"cat\":\"share\",\"ts\":0.100,\"dur\":1.000,\"name\":\"a "
    "\\\"b\\\"\",\"args\":{\"o"
    "perator\":\"Conv\",\"algorithm\":\"tiles\",\"run\":0,\"step\":0}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"cat\":\"share\",\"ts\":2.000,\"dur\":0.001,\"name\":\"c\",\"args\":{\"operato"
    "r\":\"Relu\",\"run\":0,\"step\":1}},\n"
    "{\"ph\":\"M\",\"pid\":2,\"name\":\"process_name\",\"args\":{\"name\":\"two.onnx\"}},\n"
    "{\"ph\":\"M\",\"pid\":2,\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}},\n"
    "{\"ph\":\"X\",\"pid\":2,\"tid\":0,\"cat\":\"step\",\"ts\":5.000,\"dur\":2000.007,\"name\":\"a "
    "\\\"b\\\"\",\"args\":{"
    "\"operator\":\"Conv\",\"algorithm\":\"tiles\",\"run\":1,\"step\":0}},\n"
    "{\"ph\":\"M\",\"pid\":2,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"thread 0, which runs the st"
    "eps\"}}\n"
    "]}\n";

static void timelines(void **state) {
  (void)state;
  dq_error error = {0};
  dq_timeline_event steps[] = {{5000, 6500, 0, 0}, {6500, 9999, 0, 1}, {10000, 2010007, 1, 0}};
  dq_timeline_event first[] = {{5001, 5002, 0, 0}}, second[] = {{5100, 6100, 0, 0}, {7000, 7001, 0, 1}};
  dq_timeline_track workers[] = {{.events = first, .count = 1}, {.events = second, .count = 2}};
  dq_bench_layer layers[] = {{.name = "a \"b\"", .op_type = "Conv", .algorithm = "tiles"},
                             {.name = "c", .op_type = "Relu"}};
  dq_bench_model models[] = {{.layers = layers,
                              .layer_count = 2,
                              .timeline = {.threads = 2, .steps = {.events = steps, .count = 3}, .workers = workers}},
                             {.layers = layers,
                              .layer_count = 2,
                              .timeline = {.threads = 1,
                                           .steps = {.events = steps + 2, .count = 1},
                                           .workers = &(dq_timeline_track){.count = 0}}}};
  const dq_bench_subject subjects[] = {{.path = "one.onnx"}, {.path = "two.onnx"}};
  assert_int_equal(dq_timeline_write(path, subjects, models, 2, &error), DQ_OK);
  assert_string_equal(written(), timeline_file);
}

static const char jobs_file[] =
    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
    "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"dq-multi\"}},\n"
    "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"worker 0\"}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"cat\":\"job\",\"ts\":0.500,\"dur\":1.000,\"name\":\"back\",\"args\":{\"reques"
    "t\":3,\"job\":0}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"cat\":\"job\",\"ts\":1.500,\"dur\":0.750,\"name\":\"camera\",\"args\":{\"requ"
    "est\":4,\"job\":2}},\n"
    "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"worker 1\"}},\n"
    "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"cat\":\"job\",\"ts\":1.000,\"dur\":999.000,\"name\":\"back\",\"args\":{\"requ"
    "est\":5,\"job\":1}}\n"
    "]}\n";

static void jobs(void **state) {
  (void)state;
  dq_error error = {0};
  dq_arena *arena = dq_arena_new(0);
  dq_job_record record;
  assert_int_equal(dq_job_record_open(&record, 2, arena, &error), DQ_OK);
  record.tracks[0].count = record.tracks[1].count = 5;
  dq_job_record_clear(&record);
  record.tracks[0].events[0] = (dq_job_event){1000, 2000, 3, 1, 0};
  record.tracks[0].events[1] = (dq_job_event){2000, 2750, 4, 0, 2};
  record.tracks[1].events[0] = (dq_job_event){1500, 1000500, 5, 1, 1};
  record.tracks[0].count = 2, record.tracks[1].count = 1;
  assert_int_equal(dq_job_record_lost(&record), 0);
  assert_int_equal(dq_job_record_write(&record, path, (const char *const[]){"camera", "back"}, 500, &error), DQ_OK);
  assert_string_equal(written(), jobs_file);
  record.tracks[0].count = DQ_JOB_EVENTS;
  assert_int_equal(dq_job_record_lost(&record), 0);
  record.tracks[0].count = DQ_JOB_EVENTS + 3, record.tracks[1].count = DQ_JOB_EVENTS + 4;
  assert_int_equal(dq_job_record_lost(&record), 7);
  dq_arena_free(arena);
}

static int occurrences(const char *text, const char *what) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, what)); at++) count++;
  return count;
}

// Of 150 jobs of one worker and 70 of another, which begin in turns, the picture has the first 200: 130 and 70. A third
// worker has none; what its events held before does not count.
static void picture_of_jobs(void **state) {
  (void)state;
  dq_error error = {0};
  dq_arena *arena = dq_arena_new(0);
  dq_job_record record;
  char *page = NULL;
  size_t size;
  assert_int_equal(dq_job_record_open(&record, 3, arena, &error), DQ_OK);
  for (int i = 0; i < 150; i++) record.tracks[0].events[i] = (dq_job_event){4000 * i, 4000 * i + 3000, i, 0, 7};
  for (int i = 0; i < 150; i++) record.tracks[1].events[i] = (dq_job_event){4000 * i + 1000, 4000 * i + 2000, i, 1, 8};
  record.tracks[2].events[0] = (dq_job_event){2500, 2600, 999, 1, 9};
  record.tracks[0].count = 150, record.tracks[1].count = 70, record.tracks[2].count = 0;
  dq_report *report = dq_report_new("test", 1, "t");
  dq_job_record_draw(&record, report, (const char *const[]){"camera", "back"}, 2, 1000);
  FILE *stream = open_memstream(&page, &size);
  assert_int_equal(dq_report_print(report, DQ_FORMAT_HTML, NULL, stream, NULL), DQ_OK);
  fclose(stream);
  assert_int_equal(occurrences(page, "camera, request "), 130);
  assert_int_equal(occurrences(page, "back, request "), 70);
  assert_non_null(strstr(page, "camera, request 129, job 7: 0.003 ms"));
  assert_non_null(strstr(page, "camera, request 0, job 7: 0.003 ms")); // it began before the picture does
  assert_non_null(strstr(page, "back, request 69, job 8: 0.001 ms"));
  assert_null(strstr(page, "request 999"));
  dq_report_free(report);
  dq_arena_free(arena);
  free(page);
}

static const char roofline_file[] =
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 800 518' font-family='sans-serif' fon"
    "t-size='12'>\n"
    "<title>Roofline of &lt;a&gt;</title>\n"
    "<rect width='800' height='518' fill='#fff'/>\n"
    "<text x='70' y='26' font-size='16' fill='#222'>Roofline of &lt;a&gt;</text>\n"
    "<g fill='none' stroke='#ccc'>\n"
    "<path d='M70.0 44V450'/>\n"
    "<path d='M188.3 44V450'/>\n"
    "<path d='M306.7 44V450'/>\n"
    "<path d='M425.0 44V450'/>\n"
    "<path d='M543.3 44V450'/>\n"
    "<path d='M661.7 44V450'/>\n"
    "<path d='M780.0 44V450'/>\n"
    "<path d='M70 450.0H780'/>\n"
    "<path d='M70 382.3H780'/>\n"
    "<path d='M70 314.7H780'/>\n"
    "<path d='M70 247.0H780'/>\n"
    "<path d='M70 179.3H780'/>\n"
    "<path d='M70 111.7H780'/>\n"
    "<path d='M70 44.0H780'/>\n"
    "</g>\n"
    "<g fill='#444'>\n"
    "<text x='70.0' y='468' text-anchor='middle'>0.01</text>\n"
    "<text x='188.3' y='468' text-anchor='middle'>0.1</text>\n"
    "<text x='306.7' y='468' text-anchor='middle'>1</text>\n"
    "<text x='425.0' y='468' text-anchor='middle'>10</text>\n"
    "<text x='543.3' y='468' text-anchor='middle'>100</text>\n"
    "<text x='661.7' y='468' text-anchor='middle'>1000</text>\n"
    "<text x='780.0' y='468' text-anchor='middle'>10000</text>\n"
    "<text x='64' y='454.0' text-anchor='end'>0.01</text>\n"
    "<text x='64' y='386.3' text-anchor='end'>0.1</text>\n"
    "<text x='64' y='318.7' text-anchor='end'>1</text>\n"
    "<text x='64' y='251.0' text-anchor='end'>10</text>\n"
    "<text x='64' y='183.3' text-anchor='end'>100</text>\n"
    "<text x='64' y='115.7' text-anchor='end'>1000</text>\n"
    "<text x='64' y='48.0' text-anchor='end'>10000</text>\n"
    "<text x='400' y='490' text-anchor='middle'>multiply-accumulates per byte of inputs, weight"
    "s and outputs (MAC/B)</text>\n"
    "<text x='16' y='250' text-anchor='middle' transform='rotate(-90 16 250)'>speed (GMAC/s)</t"
    "ext>\n"
    "</g>\n"
    "<path d='M70.0 362.0L389.4 179.3H780' fill='none' stroke='#1c5fb5' stroke-width='1.5'/>\n"
    "<text x='780' y='174.3' text-anchor='end' fill='#1c5fb5'>float32, 100.0 GMAC/s</text>\n"
    "<path d='M70.0 362.0L460.6 138.6H780' fill='none' stroke='#b5541c' stroke-width='1.5'/>\n"
    "<text x='780' y='133.6' text-anchor='end' fill='#b5541c'>8 bits, 400.0 GMAC/s</text>\n"
    "<circle cx='306.7' cy='247.0' r='4' fill='#1c5fb5' fill-opacity='.6'><title>a: 10.00 GMAC/"
    "s, 1.00 per byte</title></circle>\n"
    "<circle cx='70.0' cy='450.0' r='4' fill='#b5541c' fill-opacity='.6'><title>b &amp; c: 0.00"
    " GMAC/s, 0.00 per byte</title></circle>\n"
    "<circle cx='780.0' cy='44.0' r='4' fill='#1c5fb5' fill-opacity='.6'><title>d: 1000000.00 G"
    "MAC/s, 1000000.00 per byte</title></circle>\n"
    "<text x='70' y='500' fill='#444'>1 of 3 steps lie above their peak: Winograd computes fewe"
    "r products than the MACs counted, or the peak was disturbed.</text>\n"
    "</svg>\n";

static void rooflines(void **state) {
  (void)state;
  dq_error error = {0};
  const dq_peaks peaks = {100e9, 400e9, 20e9};
  const dq_roofline_point points[] = {{"a", 1, 10e9, false}, {"b & c", 0.001, 1e6, true}, {"d", 1e6, 1e15, false}};
  assert_int_equal(dq_roofline_write(path, "Roofline of <a>", &peaks, points, 3, &error), DQ_OK);
  assert_string_equal(written(), roofline_file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(tuning), cmocka_unit_test(timelines), cmocka_unit_test(jobs),
                                     cmocka_unit_test(picture_of_jobs), cmocka_unit_test(rooflines)};
  return cmocka_run_group_tests(tests, open_file, remove_file);
}
