// True objects in a text file for each picture: lines `class x y width height`, the centre and the size relative to the
// picture (0 to 1), as the tools of YOLO have them.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/objects/annotations.h"
#include "lib/base/file.h"

enum { FIELDS = 5 };

static dq_status add_object(dq_objects *objects, const double numbers[FIELDS], const dq_object_file *file,
                            dq_error *error) {
  const double x = numbers[1], y = numbers[2], width = numbers[3], height = numbers[4];
  if (numbers[0] < 0 || numbers[0] != floor(numbers[0]))
    return dq_fail(error, DQ_BAD_INPUT, "class %g, expected a whole number from 0", numbers[0]);
  if (numbers[0] > INT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "class %g, expected at most %d", numbers[0], INT32_MAX);
  dq_object *object = &objects->items[objects->count++];
  object->class = (int64_t)numbers[0];
  object->left = (x - width / 2) * file->width, object->top = (y - height / 2) * file->height;
  object->right = (x + width / 2) * file->width, object->bottom = (y + height / 2) * file->height;
  object->width = width * file->width, object->height = height * file->height;
  object->area = object->width * object->height;
  return DQ_OK;
}

// One line: five numbers, or nothing.
static dq_status read_line(dq_objects *objects, const char *line, const dq_object_file *file, dq_error *error) {
  double numbers[FIELDS];
  int count = 0;
  for (char *end; *(line += strspn(line, " \t\r")); line = end) {
    double number = strtod(line, &end);
    if (end == line || !isfinite(number) || count == FIELDS)
      return dq_fail(error, DQ_BAD_INPUT, "expected five numbers: class, centre and size");
    numbers[count++] = number;
  }
  if (count == 0) return DQ_OK;
  if (count < FIELDS) return dq_fail(error, DQ_BAD_INPUT, "%d numbers, expected five", count);
  return add_object(objects, numbers, file, error);
}

static int64_t count_lines(const char *text) {
  int64_t lines = 0;
  for (; *(text += strspn(text, " \t\r\n")); text += strcspn(text, "\n")) lines++;
  return lines;
}

static dq_status read_text(dq_objects *objects, const dq_object_file *file, dq_error *error) {
  dq_file text_file;
  DQ_TRY(dq_file_open_regular(&text_file, file->path, error));
  char *text = dq_arena_strndup(objects->arena, (const char *)text_file.data, text_file.size);
  dq_file_close(&text_file);
  objects->items = text ? DQ_NEW_ARRAY(objects->arena, count_lines(text), dq_object) : NULL;
  if (!objects->items) return dq_fail_memory(error, 0);
  int64_t number = 0;
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = 0;
    number++;
    const int64_t before = objects->count;
    dq_status status = read_line(objects, line, file, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s: line %" PRId64, file->path, number);
    if (objects->count > before) objects->items[before].place = number;
  }
  return DQ_OK;
}

const dq_annotation_functions dq_annotation_yolo = {.read = read_text, .before = "line ", .after = ""};
