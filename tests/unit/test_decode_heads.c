// Heads of detectors other than those of YOLO: how their outputs are known, and boxes and scores by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/decode/detector.h"
#include "lib/decode/head.h"
#include "lib/decode/metadata.h"

#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-6) // of logits in float32

enum { MOST_OUTPUTS = 15 };

// ---- Which head is found ----

typedef struct example {
  const char *head, *decode;
  dq_metadata metadata;
  int64_t height, width;
  struct {
    int64_t dims[5]; // ends at 0; -1: the rank is not known
    const char *name;
    int type; // 0: DQ_F32
  } outputs[MOST_OUTPUTS];
} example;

static const example examples[] = {
#define DQ_EXAMPLE(...) __VA_ARGS__,
#include "tests/unit/decode_examples.def"
#undef DQ_EXAMPLE
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

// Stores the outputs of an example, without elements, in `outputs`, and their names in `names`.
static dq_decode_options options_of(const example *own, dq_tensor *outputs, const char **names) {
  dq_decode_options options = {.decode = own->decode,
                               .metadata = own->metadata,
                               .outputs = outputs,
                               .output_names = names,
                               .input_height = own->height,
                               .input_width = own->width};
  for (int i = 0; i < MOST_OUTPUTS && own->outputs[i].dims[0]; i++, options.output_count++) {
    const int64_t *dims = own->outputs[i].dims;
    names[i] = own->outputs[i].name ? own->outputs[i].name : "output";
    outputs[i] =
        (dq_tensor){.type = own->outputs[i].type ? own->outputs[i].type : DQ_F32, .rank = dims[0] < 0 ? -1 : 0};
    for (int k = 0; k < 5 && dims[k] > 0; k++) outputs[i].dims[outputs[i].rank++] = dims[k];
  }
  return options;
}

// Each row of decode_examples.def is the head it says, and where no name asks for the head, no other.
static void heads_of_shapes(void **state) {
  (void)state;
  for (int i = 0; i < EXAMPLES; i++) {
    dq_tensor outputs[MOST_OUTPUTS];
    const char *names[MOST_OUTPUTS];
    const dq_decode_options options = options_of(&examples[i], outputs, names);
    dq_decoder decoder = {0};
    dq_error error = {0};
    const bool found = dq_decoder_init(&decoder, &options, &error) == DQ_OK;
    const char *name = found ? dq_decoder_name(&decoder) : "none";
    if (strcmp(name, examples[i].head)) fail_msg("example %d is %s, expected %s", i, name, examples[i].head);
    dq_decoder_deinit(&decoder);
  }
}

// Every head but that of YOLO, whose anchors are described, has an example.
static void every_head_has_an_example(void **state) {
  (void)state;
  for (int h = 0; dq_head_name(h); h++) {
    bool found = !strcmp(dq_head_name(h), "yolo");
    for (int i = 0; i < EXAMPLES; i++) found = found || !strcmp(dq_head_name(h), examples[i].head);
    if (!found) fail_msg("%s has no example", dq_head_name(h));
  }
}

// Allocates the elements of an output: the number, of integers 1. false: its shape is not known.
static bool fill(dq_tensor *output, double number) {
  if (output->rank < 0) return false;
  output->data = calloc((size_t)dq_tensor_count(output), dq_dtype_size(output->type));
  assert_non_null(output->data);
  for (int64_t k = 0; k < dq_tensor_count(output); k++) dq_tensor_set(output, k, output->type == DQ_F32 ? number : 1);
  return true;
}

// Outputs full of NaN or infinity have no detection.
static void no_scores_in_any_head(void **state) {
  (void)state;
  const double bad[3] = {NAN, INFINITY, -INFINITY};
  for (int i = 0; i < 3 * EXAMPLES; i++) {
    dq_tensor outputs[MOST_OUTPUTS];
    const char *names[MOST_OUTPUTS];
    const dq_tensor *pointers[MOST_OUTPUTS];
    const dq_decode_options options = options_of(&examples[i / 3], outputs, names);
    dq_detector detector = {0};
    dq_error error;
    if (!strcmp(examples[i / 3].head, "none")) continue;
    assert_int_equal(dq_detector_open(&detector, &options, NULL, &error), DQ_OK);
    bool known = true;
    for (int o = 0; o < options.output_count; o++) {
      pointers[o] = &outputs[o];
      known = fill(&outputs[o], bad[i % 3]) && known;
    }
    if (known) assert_int_equal(dq_detect(&detector, pointers, 0, DQ_LOWEST_SCORE, 0.45, &error), DQ_OK);
    if (detector.count) fail_msg("example %d has %d detections", i / 3, (int)detector.count);
    for (int o = 0; o < options.output_count; o++) free(outputs[o].data);
    dq_detector_close(&detector);
  }
}

// Scores of more classes than memory can count, and rows that are too many for a list.
static void sizes_that_overflow(void **state) {
  (void)state;
  const int64_t side = INT64_C(1) << 18, cells = side / 8 * (side / 8) / 16 * 21;
  const struct {
    const char *decode;
    dq_tensor outputs[2];
  } cases[] = {
      {"yolov8", {{DQ_F32, 3, {1, INT64_C(1) << 32, cells}, NULL}}},
      {"end2end", {{DQ_F32, 3, {1, INT64_C(1) << 50, 6}, NULL}}},
      {"rtdetr", {{DQ_F32, 3, {1, INT64_C(100) << 40, 84}, NULL}}},
      {"detr", {{DQ_F32, 3, {1, INT64_C(100) << 40, 84}, NULL}, {DQ_F32, 3, {1, INT64_C(100) << 40, 4}, NULL}}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const dq_decode_options options = {.decode = cases[i].decode,
                                       .outputs = cases[i].outputs,
                                       .output_count = cases[i].outputs[1].rank ? 2 : 1,
                                       .input_height = side,
                                       .input_width = side};
    dq_decoder decoder;
    dq_error error;
    assert_int_equal(dq_decoder_init(&decoder, &options, &error), DQ_BAD_INPUT);
  }
}

// ---- Boxes by hand ----

typedef struct decoded {
  dq_detector detector;
} decoded;

// Decodes outputs with elements by the head `name`. The caller closes the detector.
static decoded decode(const char *name, const dq_decode_options *options) {
  decoded own = {0};
  dq_error error;
  const dq_tensor *pointers[MOST_OUTPUTS];
  dq_decode_options asked = *options;
  asked.decode = name;
  for (int o = 0; o < options->output_count; o++) pointers[o] = &options->outputs[o];
  if (dq_detector_open(&own.detector, &asked, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  if (dq_detect(&own.detector, pointers, 0, 0.05, 1, &error) != DQ_OK) fail_msg("%s", error.message);
  return own;
}

static void expect_box(const dq_box *box, double x1, double y1, double x2, double y2) {
  if (fabs(box->x1 - x1) < 1e-6 && fabs(box->y1 - y1) < 1e-6 && fabs(box->x2 - x2) < 1e-6 && fabs(box->y2 - y2) < 1e-6)
    return;
  fail_msg("%.9g %.9g %.9g %.9g, expected %.9g %.9g %.9g %.9g", box->x1, box->y1, box->x2, box->y2, x1, y1, x2, y2);
}

// On 64 x 40 there are 5 x 8, 3 x 4, 2 x 2 and 1 x 1 cells. Two bins with logits 0 and ln 3 are a distance of 3/4 of a
// cell, with 0 and 0 of 1/2.
static void distances_of_picodet(void **state) {
  (void)state;
  static const int64_t cells[4] = {40, 12, 4, 1};
  float scores[57][2], sides[57][8] = {{0}};
  dq_tensor outputs[8];
  for (int i = 0; i < 57; i++) scores[i][0] = 0.5f, scores[i][1] = 0.25f, sides[i][3] = logf(3);
  for (int64_t l = 0, at = 0; l < 4; at += cells[l++]) {
    outputs[l] = (dq_tensor){DQ_F32, 3, {1, cells[l], 2}, scores[at]};
    outputs[4 + l] = (dq_tensor){DQ_F32, 3, {1, cells[l], 8}, sides[at]};
  }
  sides[1][7] = NAN;
  decoded own = decode(
      "picodet", &(dq_decode_options){.output_count = 8, .outputs = outputs, .input_height = 40, .input_width = 64});
  const dq_candidates *to = &own.detector.candidates;
  assert_int_equal(own.detector.decoder.candidates, 57);
  for (int64_t l = 0, at = 0; l < 4; l++) {
    const double stride = (double)(8 << l);
    const int64_t columns = 8 >> l;
    for (int64_t i = 0; i < cells[l]; i++, at++) {
      const double x = ((double)(i % columns) + 0.5) * stride, y = ((double)(i / columns) + 0.5) * stride;
      if (at == 1) continue;
      expect_box(&to->boxes[at], (x - stride / 2) / 64, (y - 0.75 * stride) / 40, (x + stride / 2) / 64,
                 (y + stride / 2) / 40);
      CLOSE(to->scores[2 * at], 0.5);
      CLOSE(to->scores[2 * at + 1], 0.25);
    }
  }
  assert_true(isnan(to->scores[2]) && isnan(to->scores[3]));
  dq_detector_close(&own.detector);
}

// On 64 x 64 there are 64 + 16 + 4 + 1 cells. NanoDet-Plus measures from the corner of a cell, the first NanoDet, which
// has three levels, from the middle. Equal logits of 0 to 7 cells are 3.5 cells.
static void distances_of_nanodet(void **state) {
  (void)state;
  static float fields[85][34];
  for (int i = 0; i < 85; i++) fields[i][0] = 0.5f, fields[i][1] = 0.25f;
  for (int plus = 0; plus < 2; plus++) {
    const dq_tensor output = {DQ_F32, 3, {1, plus ? 85 : 84, 34}, fields};
    decoded own = decode(
        "nanodet", &(dq_decode_options){.output_count = 1, .outputs = &output, .input_height = 64, .input_width = 64});
    const dq_candidates *to = &own.detector.candidates;
    for (int64_t l = 0, at = 0; l < (plus ? 4 : 3); l++) {
      const double stride = (double)(8 << l) / 64;
      const int64_t columns = 8 >> l;
      for (int64_t i = 0; i < columns * columns; i++, at++) {
        const double x = ((double)(i % columns) + (plus ? 0 : 0.5)) * stride;
        const double y = ((double)(i / columns) + (plus ? 0 : 0.5)) * stride;
        expect_box(&to->boxes[at], x - 3.5 * stride, y - 3.5 * stride, x + 3.5 * stride, y + 3.5 * stride);
        CLOSE(to->scores[2 * at], 0.5);
        CLOSE(to->scores[2 * at + 1], 0.25);
      }
    }
    dq_detector_close(&own.detector);
  }
}

// On 64 x 32 the levels of SCRFD have 4 x 8, 2 x 4 and 1 x 2 cells with two anchors each. Distances and offsets are in
// cells from the corner of a cell.
static void faces_of_scrfd(void **state) {
  (void)state;
  static const int64_t anchors[3] = {64, 16, 4};
  float scores[84], sides[84][4], landmarks[84][10];
  dq_tensor outputs[9];
  for (int i = 0; i < 84; i++) {
    scores[i] = i == 83 ? 0.75f : 0.5f;
    memcpy(sides[i], ((float[]){1, 0.5f, 2, 0.25f}), sizeof sides[i]);
    for (int f = 0; f < 10; f++) landmarks[i][f] = (float)f / 4;
  }
  for (int64_t l = 0, at = 0; l < 3; at += anchors[l++]) { // without a dimension of pictures
    outputs[l] = (dq_tensor){DQ_F32, 2, {anchors[l], 1}, &scores[at]};
    outputs[3 + l] = (dq_tensor){DQ_F32, 2, {anchors[l], 4}, sides[at]};
    outputs[6 + l] = (dq_tensor){DQ_F32, 2, {anchors[l], 10}, landmarks[at]};
  }
  landmarks[3][9] = INFINITY;
  decoded own = decode(
      "scrfd", &(dq_decode_options){.output_count = 9, .outputs = outputs, .input_height = 32, .input_width = 64});
  const dq_candidates *to = &own.detector.candidates;
  assert_int_equal(own.detector.decoder.keypoints, 5);
  for (int64_t l = 0, at = 0; l < 3; l++) {
    const double stride = (double)(8 << l);
    for (int64_t i = 0; i < anchors[l]; i++, at++) {
      const double x = (double)(i / 2 % (8 >> l)) * stride, y = (double)(i / 2 / (8 >> l)) * stride;
      if (at == 3) continue;
      expect_box(&to->boxes[at], (x - stride) / 64, (y - stride / 2) / 32, (x + 2 * stride) / 64,
                 (y + stride / 4) / 32);
      CLOSE(to->extras[10 * at + 4], (x + stride) / 64);
      CLOSE(to->extras[10 * at + 9], (y + 2.25 * stride) / 32);
      CLOSE(to->scores[at], at == 83 ? 0.75 : 0.5);
    }
  }
  assert_true(isnan(to->scores[3]));
  const dq_tensor *pointers[9];
  dq_error error;
  for (int o = 0; o < 9; o++) pointers[o] = &outputs[o];
  assert_int_equal(dq_detect(&own.detector, pointers, 1, 0.1, 1, &error), DQ_BAD_INPUT); // there is one picture
  dq_detector_close(&own.detector);
}

// On 32 x 16 there are 2 x 4, 1 x 2 and 1 x 1 cells with two priors each: squares of 16 and 32, 64 and 128, 256 and 512
// pixels in the middle of a cell. Locations 1 and -2 move it by 0.1 and -0.2 of its side, 5 ln 2 doubles a size.
static void faces_of_retinaface(void **state) {
  (void)state;
  float boxes[22][4], scores[22][2], landmarks[22][10] = {{0}};
  static const double sides[6] = {16, 32, 64, 128, 256, 512};
  for (int i = 0; i < 22; i++) {
    memcpy(boxes[i], ((float[]){1, -2, 5 * logf(2), 0}), sizeof boxes[i]);
    scores[i][0] = 0.75f, scores[i][1] = 0.25f, landmarks[i][6] = 4, landmarks[i][7] = -4;
  }
  const dq_tensor outputs[3] = {
      {DQ_F32, 3, {1, 22, 2}, scores}, {DQ_F32, 3, {1, 22, 10}, landmarks}, {DQ_F32, 3, {1, 22, 4}, boxes}};
  scores[5][1] = NAN;
  decoded own = decode(
      "retinaface", &(dq_decode_options){.output_count = 3, .outputs = outputs, .input_height = 16, .input_width = 32});
  const dq_candidates *to = &own.detector.candidates;
  assert_int_equal(own.detector.decoder.candidates, 22);
  for (int64_t i = 0; i < 22; i++) {
    const int64_t level = i < 16 ? 0 : i < 20 ? 1 : 2, cell = i < 16 ? i / 2 : i < 20 ? (i - 16) / 2 : 0;
    const double side = sides[2 * level + i % 2], stride = (double)(8 << level);
    const double x = ((double)(cell % (4 >> level)) + 0.5) * stride, y = ((double)(cell / (4 >> level)) + 0.5) * stride;
    expect_box(&to->boxes[i], (x + 0.1 * side - side) / 32, (y - 0.2 * side - side / 2) / 16,
               (x + 0.1 * side + side) / 32, (y - 0.2 * side + side / 2) / 16);
    if (i != 5) CLOSE(to->scores[i], 0.25);
    CLOSE(to->extras[10 * i + 6], (x + 0.4 * side) / 32);
    CLOSE(to->extras[10 * i + 7], (y - 0.4 * side) / 16);
  }
  assert_true(isnan(to->scores[5]));
  dq_detector_close(&own.detector);
}

static void faces_of_ultraface(void **state) {
  (void)state;
  static float boxes[4420][4], scores[4420][2];
  memcpy(boxes[7], ((float[]){0.25f, 0.5f, 0.75f, 1}), sizeof boxes[7]);
  scores[7][1] = 0.5f, scores[8][0] = 0.75f, scores[9][1] = 0.5f, boxes[9][2] = NAN;
  const dq_tensor outputs[2] = {{DQ_F32, 3, {1, 4420, 4}, boxes}, {DQ_F32, 3, {1, 4420, 2}, scores}};
  decoded own =
      decode("ultraface",
             &(dq_decode_options){.output_count = 2, .outputs = outputs, .input_height = 240, .input_width = 320});
  assert_int_equal(own.detector.count, 1);
  expect_box(&own.detector.found[0].box, 0.25, 0.5, 0.75, 1);
  CLOSE(own.detector.found[0].score, 0.5);
  dq_detector_close(&own.detector);
}

// Two queries of DETR: logits 0, ln 2 and ln 5 of the class for none are 1/8, 1/4 and 5/8. Both boxes are equal, and
// nothing is suppressed.
static void boxes_of_detr(void **state) {
  (void)state;
  float logits[3][3] = {{0, logf(2), logf(5)}, {0, logf(2), logf(5)}, {0, NAN, 0}}, boxes[3][4];
  for (int i = 0; i < 3; i++) memcpy(boxes[i], ((float[]){0.5f, 0.25f, 0.5f, 0.125f}), sizeof boxes[i]);
  const dq_tensor outputs[2] = {{DQ_F32, 3, {1, 3, 3}, logits}, {DQ_F32, 3, {1, 3, 4}, boxes}};
  const dq_tensor *pointers[2] = {&outputs[0], &outputs[1]};
  decoded own = decode(
      "detr", &(dq_decode_options){.output_count = 2, .outputs = outputs, .input_height = 80, .input_width = 60});
  dq_error error;
  assert_int_equal(dq_detect(&own.detector, pointers, 0, 0.05, 0.45, &error), DQ_OK);
  assert_int_equal(own.detector.count, 4);
  for (int i = 0; i < 4; i++) {
    CLOSE(own.detector.found[i].score, i < 2 ? 0.125 : 0.25);
    expect_box(&own.detector.found[i].box, 0.25, 0.1875, 0.75, 0.3125);
  }
  dq_detector_close(&own.detector);
}

// The three forms of RT-DETR: logits ln 3 and -ln 3 beside boxes, scores behind a box, and a score and a class.
static void boxes_of_rtdetr(void **state) {
  (void)state;
  float logits[2][2] = {{logf(3), -logf(3)}, {-20, -20}}, boxes[2][4] = {{0.5f, 0.25f, 0.5f, 0.125f}};
  static float dense[100][6] = {{0.5f, 0.25f, 0.5f, 0.125f, 0.75f, 0.25f}};
  static float listed[100][6] = {
      {0.5f, 0.25f, 0.5f, 0.125f, 0.75f, 0}, {0.5f, 0.25f, 0.5f, 0.125f, 0.25f, 1}, {0, 0, 0, 0, 0.5f, -1}};
  const dq_tensor pair[2] = {{DQ_F32, 3, {1, 2, 4}, boxes}, {DQ_F32, 3, {1, 2, 2}, logits}};
  const dq_tensor rows[2] = {{DQ_F32, 3, {1, 100, 6}, dense}, {DQ_F32, 3, {1, 100, 6}, listed}};
  const dq_decode_options forms[3] = {{.outputs = pair, .output_count = 2},
                                      {.outputs = &rows[0], .output_count = 1, .metadata.names = "['a', 'b']"},
                                      {.outputs = &rows[1], .output_count = 1, .metadata.head = "RTDETRDecoder"}};
  for (int i = 0; i < 3; i++) {
    dq_decode_options form = forms[i];
    form.input_height = form.input_width = 64;
    decoded own = decode("rtdetr", &form);
    assert_int_equal(own.detector.decoder.listed, i == 2);
    assert_int_equal(own.detector.count, 2);
    for (int k = 0; k < 2; k++) {
      assert_int_equal(own.detector.found[k].label, k);
      CLOSE(own.detector.found[k].score, k ? 0.25 : 0.75);
      expect_box(&own.detector.found[k].box, 0.25, 0.1875, 0.75, 0.3125);
    }
    dq_detector_close(&own.detector);
  }
}

// A map of 4 x 8 points has a peak at the corner and equal ones beside each other, which are both; 1/4 has a higher
// neighbour. A peak at (7, 3) with the offset (1/2, 1/4) and a size of 2 x 1 points. Numbers beyond 0 to 1 are logits.
static void peaks_of_centernet(void **state) {
  (void)state;
  float heat[32] = {0}, sizes[2][32], offsets[2][32];
  for (int i = 0; i < 32; i++) sizes[0][i] = 2, sizes[1][i] = 1, offsets[0][i] = 0.5f, offsets[1][i] = 0.25f;
  heat[31] = 0.75f, heat[30] = 0.25f, heat[1] = heat[2] = 0.5f;
  const dq_tensor outputs[3] = {
      {DQ_F32, 4, {1, 1, 4, 8}, heat}, {DQ_F32, 4, {1, 2, 4, 8}, sizes}, {DQ_F32, 4, {1, 2, 4, 8}, offsets}};
  const dq_decode_options options = {.output_count = 3, .outputs = outputs, .input_height = 16, .input_width = 32};
  decoded own = decode("centernet", &options);
  assert_int_equal(own.detector.count, 3);
  assert_int_equal(own.detector.found[0].candidate, 31);
  assert_int_equal(own.detector.found[1].candidate, 1);
  assert_int_equal(own.detector.found[2].candidate, 2);
  CLOSE(own.detector.found[0].score, 0.75);
  expect_box(&own.detector.found[0].box, 6.5 / 8, 2.75 / 4, 8.5 / 8, 3.75 / 4);
  dq_detector_close(&own.detector);
  for (int i = 0; i < 32; i++) heat[i] = -20;
  heat[31] = logf(3), sizes[0][30] = NAN;
  own = decode("centernet", &options);
  assert_int_equal(own.detector.count, 1);
  CLOSE(own.detector.found[0].score, 0.75);
  assert_true(isnan(own.detector.candidates.scores[30]));
  dq_detector_close(&own.detector);
}

// Squares with variances of 1 at a distance d have a Bhattacharyya coefficient of exp(-d^2 / 8); of variances 4 and 1
// one turned by a right angle has 4/5 with the other, whatever the angle of both. Overlap: one less the root of one
// less the coefficient.
static void overlap_of_rotated_boxes(void **state) {
  (void)state;
  const double unit = sqrt(12), right = acos(0);
  const dq_rotated_box square = {10, 20, unit, unit, 0}, moved = {10, 20 + sqrt(8 * log(2)), unit, unit, 0.3};
  const double same = dq_rotated_overlap(&square, &square);
  assert_true(same > 0.999 && same < 1);
  CLOSE(dq_rotated_overlap(&square, &moved), 1 - sqrt(0.5));
  for (int i = 0; i < 4; i++) {
    const dq_rotated_box one = {0, 0, 2 * unit, unit, 0.4 * i}, other = {0, 0, 2 * unit, unit, 0.4 * i + right};
    CLOSE(dq_rotated_overlap(&one, &other), 1 - sqrt(0.2));
  }
  const dq_rotated_box along = {4, 4, 2 * unit, unit, right / 2},
                       behind = {4 + sqrt(32), 4 + sqrt(32), 2 * unit, unit, right / 2},
                       beside = {4 + sqrt(32), 4 - sqrt(32), 2 * unit, unit, right / 2};
  CLOSE(dq_rotated_overlap(&along, &behind), 1 - sqrt(1 - exp(-2))); // a distance of 8 with a variance of 4
  CLOSE(dq_rotated_overlap(&along, &beside), 1 - sqrt(1 - exp(-8))); // of 1
}

// Of three boxes in a row each overlaps the next one: greedy suppression would leave the last one, as the second is
// dropped, and that of rotated boxes does not. In the detector the angle is the extra of a candidate: without it the
// boxes of different angles would overlap.
static void suppression_of_rotated_boxes(void **state) {
  (void)state;
  const dq_rotated_box row[3] = {{0, 0, 8, 8, 0}, {2, 0, 8, 8, 0}, {4, 0, 8, 8, 0}};
  const double scores[3] = {0.5, 0.75, 0.25};
  int64_t keep[3];
  assert_true(dq_rotated_overlap(&row[0], &row[2]) < 0.5 && dq_rotated_overlap(&row[0], &row[1]) > 0.5);
  assert_int_equal(dq_nms_rotated(row, scores, 3, 0.5, keep), 1);
  assert_int_equal(keep[0], 1);
  assert_int_equal(dq_nms_rotated(row, (double[]){0.75, 0.5, 0.25}, 3, 0.5, keep), 1);
  assert_int_equal(dq_nms_rotated(row, scores, 3, 1, keep), 3);
  assert_int_equal(keep[2], 2);
  assert_int_equal(dq_nms_rotated(row, scores, 0, 0.5, keep), 0);
  static float fields[6][21]; // 32 x 32: centre, size, class, angle
  for (int f = 0; f < 6; f++)
    for (int i = 0; i < 21; i++) fields[f][i] = (float[]){16, 16, 30, 2, 0, 0}[f];
  fields[4][3] = fields[4][4] = 0.5f, fields[4][5] = 0.25f;
  fields[5][4] = fields[5][5] = 1.5f;
  const dq_tensor output = {DQ_F32, 3, {1, 6, 21}, fields};
  const dq_tensor *pointer = &output;
  decoded own = decode(
      "yolov8-obb", &(dq_decode_options){.output_count = 1, .outputs = &output, .input_height = 32, .input_width = 32});
  dq_error error;
  assert_int_equal(dq_detect(&own.detector, &pointer, 0, 0.05, 0.45, &error), DQ_OK);
  assert_int_equal(own.detector.count, 2);
  assert_int_equal(own.detector.found[0].candidate, 3);
  assert_int_equal(own.detector.found[1].candidate, 4);
  dq_detector_close(&own.detector);
}

// Names of classes as Ultralytics writes them, and as JSON.
static void counted_names(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t count;
  } cases[] = {{NULL, 0},
               {"", 0},
               {"person", 0},
               {"{}", 0},
               {"[ ]", 0},
               {"{0: 'person', 1: 'a, b', 2: \"it's\"}", 3},
               {"[\"a\", 'b\\', c',]", 2},
               {"{\"0\": \"x\"", 0},
               {"['open", 0},
               {"['\\", 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t count = dq_name_count(cases[i].text);
    if (count != cases[i].count) fail_msg("case %zu: %d", i, (int)count);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(heads_of_shapes),
                                     cmocka_unit_test(every_head_has_an_example),
                                     cmocka_unit_test(no_scores_in_any_head),
                                     cmocka_unit_test(distances_of_picodet),
                                     cmocka_unit_test(distances_of_nanodet),
                                     cmocka_unit_test(counted_names),
                                     cmocka_unit_test(sizes_that_overflow),
                                     cmocka_unit_test(boxes_of_detr),
                                     cmocka_unit_test(boxes_of_rtdetr),
                                     cmocka_unit_test(peaks_of_centernet),
                                     cmocka_unit_test(faces_of_scrfd),
                                     cmocka_unit_test(faces_of_retinaface),
                                     cmocka_unit_test(faces_of_ultraface),
                                     cmocka_unit_test(overlap_of_rotated_boxes),
                                     cmocka_unit_test(suppression_of_rotated_boxes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
