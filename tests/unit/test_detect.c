// The task detect on objects that are left out, and on those that keep detections.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "datasets/objects/annotations.h"
#include "lib/eval/eval.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

// One anchor as large as the input with logits of 0: the box is the whole picture, class 1 its class.
static float whole[7] = {0, 0, 0, 0, 20, -20, 20};
static const dq_tensor head = {DQ_F32, 4, {1, 7, 1, 1}, whole};
static const dq_tensor *const heads[] = {&head};

static dq_task *open_task(const dq_tensor *output, const char *decode, int64_t height) {
  dq_error error;
  dq_task *task;
  const dq_task_options options = {.task = "detect",
                                   .decode.decode = decode,
                                   .decode.output_count = 1,
                                   .decode.outputs = output,
                                   .decode.output_names = (const char *const[]){"y"},
                                   .decode.input_width = 32,
                                   .decode.input_height = height,
                                   .labels = DQ_LABEL_BOXES};
  if (dq_task_open(&task, &options, NULL, &error) != DQ_OK) fail_msg("%s", error.message);
  return task;
}

// Two objects of class 1 in the upper 91 and 62 hundredths of the picture.
static bool first_is_crowd, first_is_difficult, boxes_keep;
static dq_status read_two(dq_objects *objects, const dq_object_file *file, dq_error *error) {
  (void)file;
  (void)error;
  objects->items = DQ_NEW_ARRAY(objects->arena, 2, dq_object);
  for (; objects->count < 2; objects->count++) {
    const double height = objects->count ? 62 : 91;
    objects->items[objects->count] = (dq_object){.class = 1,
                                                 .right = 100,
                                                 .bottom = height,
                                                 .width = 100,
                                                 .height = height,
                                                 .area = 100 * height,
                                                 .keeps = boxes_keep};
  }
  objects->items[0].crowd = first_is_crowd, objects->items[0].difficult = first_is_difficult;
  return DQ_OK;
}

static double figure_of(const dq_result *result, const char *key) {
  for (int i = 0; i < result->count; i++)
    if (!strcmp(result->figures[i].key, key)) return result->figures[i].value;
  return -1;
}

// Crowds and difficult objects are not to be found, and a detection that overlaps one of them most is left out: the
// only one, so that the other object is missed; by the rules of COCO it takes that one, which it overlaps by 0.62.
static void boxes_left_out(void **state) {
  (void)state;
  const dq_annotation_functions functions = {.read = read_two, .before = "", .after = ""};
  const dq_annotations annotations = {&functions};
  for (int left_out = 0; left_out < 3; left_out++) {
    dq_error error;
    dq_result result;
    dq_task *task = open_task(&head, "yolo:classes=2,anchors=32x16", 16);
    const dq_sample_info info = {.name = "p",
                                 .kind = DQ_LABEL_BOXES,
                                 .label_path = "p.json",
                                 .annotations = &annotations,
                                 .width = 100,
                                 .height = 100,
                                 .view = {1, 1, 0, 0}};
    first_is_crowd = left_out == 1, first_is_difficult = left_out == 2;
    assert_int_equal(dq_task_add(task, heads, 0, &info, &error), DQ_OK);
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    NEAR(result.figures[0].value, left_out ? 0 : 50);
    NEAR(figure_of(&result, "boxes"), left_out ? 1 : 2);
    NEAR(figure_of(&result, "coco_ap50"), left_out ? 100 : 100.0 * 51 / 101);
    NEAR(figure_of(&result, "coco_ap75"), left_out ? 0 : 100.0 * 51 / 101);
    NEAR(figure_of(&result, "ap_small"), -1); // there are none
    NEAR(figure_of(&result, "ar_medium"), left_out ? 30 : 45);
    dq_task_free(task);
  }
}

// The left 52 hundredths of the upper 91 and the right 60 of the upper 80, of class 1, in the form of YOLOv8. Both
// overlap the first object more (0.520, 0.527) than the second one (0.418, 0.511).
static void find_two(float fields[6][21]) {
  const float boxes[2][4] = {{0.26f, 0.455f, 0.52f, 0.91f}, {0.7f, 0.4f, 0.6f, 0.8f}};
  for (int b = 0; b < 2; b++) {
    for (int f = 0; f < 4; f++) fields[f][b] = 32 * boxes[b][f];
    fields[5][b] = 0.9f - 0.1f * (float)b;
  }
}

// The second detection has the second object, unless the first one, which it overlaps most, keeps it.
static void boxes_that_keep_detections(void **state) {
  (void)state;
  static float fields[6][21];
  static const dq_tensor output = {DQ_F32, 3, {1, 6, 21}, fields};
  static const dq_tensor *const outputs[] = {&output};
  const dq_annotation_functions functions = {.read = read_two, .before = "", .after = ""};
  const dq_annotations annotations = {&functions};
  const dq_sample_info info = {.kind = DQ_LABEL_BOXES,
                               .label_path = "p.xml",
                               .annotations = &annotations,
                               .width = 100,
                               .height = 100,
                               .view = {1, 1, 0, 0}};
  find_two(fields);
  first_is_crowd = first_is_difficult = false;
  for (int keep = 0; keep < 2; keep++) {
    dq_error error;
    dq_result result;
    dq_task *task = open_task(&output, "yolov8", 32);
    boxes_keep = keep;
    assert_int_equal(dq_task_add(task, outputs, 0, &info, &error), DQ_OK);
    assert_int_equal(dq_task_result(task, &result, &error), DQ_OK);
    NEAR(result.figures[0].value, keep ? 50 : 100);
    NEAR(figure_of(&result, "detections"), 2);
    dq_task_free(task);
  }
  boxes_keep = false;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_left_out), cmocka_unit_test(boxes_that_keep_detections)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
