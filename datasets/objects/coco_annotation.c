// One annotation of COCO as a true object.
#include <inttypes.h>
#include <math.h>

#include "datasets/objects/coco.h"

enum { BOX_NUMBERS = 4, KEYPOINT_NUMBERS = 3, VISIBLE = 2 };

// No picture is as large; products of two such numbers are finite.
static const double largest_number = INT32_MAX;

static dq_status read_number(const json_t *number, const char *name, double *value, dq_error *error) {
  *value = json_number_value(number);
  if (json_is_number(number) && fabs(*value) <= largest_number) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "'%s' has something else than numbers up to %.0f", name, largest_number);
}

static dq_status read_numbers(const json_t *array, const char *name, double **values, dq_arena *arena,
                              dq_error *error) {
  *values = DQ_NEW_ARRAY(arena, json_array_size(array), double);
  if (!*values) return dq_fail_memory(error, json_array_size(array) * sizeof **values);
  for (size_t i = 0; i < json_array_size(array); i++)
    DQ_TRY(read_number(json_array_get(array, i), name, &(*values)[i], error));
  return DQ_OK;
}

static dq_status read_box(dq_object *object, const json_t *json, dq_arena *arena, dq_error *error) {
  const json_t *box = json_object_get(json, "bbox");
  double *numbers;
  if (json_array_size(box) != BOX_NUMBERS)
    return dq_fail(error, DQ_BAD_INPUT, "'bbox' is not [x, y, width, height], which every annotation needs");
  DQ_TRY(read_numbers(box, "bbox", &numbers, arena, error));
  object->left = numbers[0], object->top = numbers[1];
  object->width = numbers[2], object->height = numbers[3];
  if (object->width < 0 || object->height < 0)
    return dq_fail(error, DQ_BAD_INPUT, "'bbox' has the size %g x %g, expected 0 and more", object->width,
                   object->height);
  object->right = object->left + object->width, object->bottom = object->top + object->height;
  return DQ_OK;
}

static dq_status read_area(dq_object *object, const json_t *json, dq_error *error) {
  const json_t *area = json_object_get(json, "area");
  object->area = area ? json_number_value(area) : object->width * object->height;
  if (area && (!json_is_number(area) || object->area < 0))
    return dq_fail(error, DQ_BAD_INPUT, "'area' is not a number from 0");
  return DQ_OK;
}

static dq_status read_crowd(dq_object *object, const json_t *json, dq_error *error) {
  const json_t *crowd = json_object_get(json, "iscrowd");
  object->crowd = json_is_true(crowd) || json_integer_value(crowd) == 1;
  if (!crowd || json_is_boolean(crowd) || object->crowd || (json_is_integer(crowd) && !json_integer_value(crowd)))
    return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "'iscrowd' is neither 0 nor 1");
}

static dq_status read_polygons(dq_object *object, const json_t *array, dq_arena *arena, dq_error *error) {
  const size_t count = json_array_size(array);
  dq_polygon *polygons = count ? DQ_NEW_ARRAY(arena, count, dq_polygon) : NULL;
  if (count && !polygons) return dq_fail_memory(error, count * sizeof *polygons);
  for (size_t i = 0; i < count; i++) {
    const json_t *polygon = json_array_get(array, i);
    const size_t numbers = json_array_size(polygon);
    double *points;
    if (!numbers || numbers % 2)
      return dq_fail(error, DQ_BAD_INPUT, "polygon %zu of 'segmentation' has %zu numbers, expected x, y, x, y, ...", i,
                     numbers);
    DQ_TRY(read_numbers(polygon, "segmentation", &points, arena, error));
    polygons[i] = (dq_polygon){points, (int64_t)numbers / 2};
  }
  object->polygons = polygons, object->polygon_count = (int64_t)count;
  return DQ_OK;
}

static dq_status read_outline(dq_object *object, const json_t *json, const dq_coco_picture *picture, dq_arena *arena,
                              dq_error *error) {
  const json_t *outline = json_object_get(json, "segmentation");
  dq_runs *mask = NULL;
  if (!outline || json_is_null(outline)) return DQ_OK;
  if (json_is_array(outline)) return read_polygons(object, outline, arena, error);
  if (!json_is_object(outline))
    return dq_fail(error, DQ_BAD_INPUT, "'segmentation' is neither an array of polygons nor a mask");
  DQ_TRY(dq_coco_runs_read(&mask, outline, picture->width, picture->height, arena, error));
  object->mask = mask;
  return DQ_OK;
}

static dq_status read_keypoints(dq_object *object, const json_t *json, dq_arena *arena, dq_error *error) {
  const json_t *array = json_object_get(json, "keypoints");
  const size_t count = json_array_size(array) / KEYPOINT_NUMBERS;
  if (!array || json_is_null(array)) return DQ_OK;
  if (!json_is_array(array) || json_array_size(array) % KEYPOINT_NUMBERS)
    return dq_fail(error, DQ_BAD_INPUT, "'keypoints' is not x, y, visibility, x, y, visibility, ...");
  double *numbers;
  DQ_TRY(read_numbers(array, "keypoints", &numbers, arena, error));
  dq_keypoint *points = DQ_NEW_ARRAY(arena, count, dq_keypoint);
  if (!points) return dq_fail_memory(error, count * sizeof *points);
  for (size_t i = 0; i < count; i++) {
    const double *at = &numbers[i * KEYPOINT_NUMBERS];
    if (at[2] < 0 || at[2] > VISIBLE || at[2] != floor(at[2]))
      return dq_fail(error, DQ_BAD_INPUT, "keypoint %zu has the visibility %g, expected 0, 1 or 2", i, at[2]);
    points[i] = (dq_keypoint){at[0], at[1], (int)at[2]};
  }
  object->keypoints = points, object->keypoint_count = (int64_t)count;
  return DQ_OK;
}

static dq_status read_class(dq_object *object, const dq_coco *coco, const json_t *json, dq_error *error) {
  int64_t id;
  DQ_TRY(dq_coco_integer(json, "category_id", &id, error));
  const int64_t category = dq_coco_find(coco->category_ids, coco->category_count, id);
  if (category < 0)
    return dq_fail(error, DQ_BAD_INPUT, "category_id is %" PRId64 ", which no entry of 'categories' has", id);
  object->class = coco->classes[category];
  if (object->class >= 0) return DQ_OK;
  return dq_fail(error, DQ_BAD_INPUT, "category '%s' is not among the names of the classes",
                 coco->category_names[category]);
}

dq_status dq_coco_annotation_read(dq_object *object, const dq_coco *coco, const json_t *json,
                                  const dq_coco_picture *picture, dq_arena *arena, dq_error *error) {
  *object = (dq_object){0};
  DQ_TRY(read_class(object, coco, json, error));
  DQ_TRY(read_box(object, json, arena, error));
  DQ_TRY(read_area(object, json, error));
  DQ_TRY(read_crowd(object, json, error));
  DQ_TRY(read_outline(object, json, picture, arena, error));
  return read_keypoints(object, json, arena, error);
}
