// Segmentation: Dice and IoU of one foreground channel (above 0.5), or IoU per class of several
// (the largest). Maps are brought to the mask's size by nearest neighbour.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/image/image.h"
#include "lib/base/sizes.h"
#include "lib/decode/item.h"
#include "lib/eval/task_internal.h"

// Grey values above the middle are foreground.
enum { FOREGROUND = 127, IGNORED = 255, LARGEST_CLASSES = 255, NO_CLASS = 255 };

void dq_dice_add(dq_dice *dice, const uint8_t *found, const uint8_t *mask, int64_t pixels) {
  int64_t both = 0, ours = 0, theirs = 0;
  for (int64_t i = 0; i < pixels; i++) {
    both += found[i] & mask[i];
    ours += found[i];
    theirs += mask[i];
  }
  dice->intersection += both;
  dice->sum += ours + theirs;
  if (theirs) {
    dice->slices += 2.0 * (double)both / (double)(ours + theirs);
    dice->slice_count++;
  } else {
    dice->empty++;
    dice->empty_clean += ours == 0;
  }
}

double dq_dice_pooled(const dq_dice *dice) {
  return dice->sum ? 2.0 * (double)dice->intersection / (double)dice->sum : 1;
}

double dq_dice_slices(const dq_dice *dice) { return dice->slice_count ? dice->slices / (double)dice->slice_count : 1; }

double dq_iou_pooled(const dq_dice *dice) {
  int64_t together = dice->sum - dice->intersection;
  return together ? (double)dice->intersection / (double)together : 1;
}

void dq_confusion_add(int64_t *confusion, int64_t classes, const uint8_t *found, const uint8_t *mask, int64_t pixels) {
  for (int64_t i = 0; i < pixels; i++)
    if (mask[i] < classes) confusion[mask[i] * (classes + 1) + (found[i] < classes ? found[i] : classes)]++;
}

static int64_t row_sum(const int64_t *confusion, int64_t classes, int64_t label) {
  int64_t sum = 0;
  for (int64_t c = 0; c <= classes; c++) sum += confusion[label * (classes + 1) + c];
  return sum;
}

double dq_confusion_iou(const int64_t *confusion, int64_t classes, int64_t label) {
  int64_t both = confusion[label * (classes + 1) + label], together = row_sum(confusion, classes, label);
  for (int64_t c = 0; c < classes; c++) together += confusion[c * (classes + 1) + label];
  together -= both;
  return together ? (double)both / (double)together : 0;
}

double dq_confusion_mean_iou(const int64_t *confusion, int64_t classes) {
  double sum = 0;
  int64_t present = 0;
  for (int64_t c = 0; c < classes; c++) {
    if (row_sum(confusion, classes, c) == 0) continue;
    sum += dq_confusion_iou(confusion, classes, c);
    present++;
  }
  return present ? sum / (double)present : 0;
}

double dq_confusion_accuracy(const int64_t *confusion, int64_t classes) {
  int64_t right = 0, all = 0;
  for (int64_t c = 0; c < classes; c++) {
    right += confusion[c * (classes + 1) + c];
    all += row_sum(confusion, classes, c);
  }
  return all ? (double)right / (double)all : 0;
}

typedef struct segmentation {
  int64_t classes; // channels of the output; 1: foreground or not
  int height, width;
  dq_dice dice;
  double *slices; // [dice.slice_count]: the Dice coefficients whose sum is dice.slices
  int64_t slice_room;
  int64_t *confusion;
} segmentation;

static dq_status open_segment(dq_task *task, const dq_task_options *options, dq_error *error) {
  const dq_tensor *output = &options->decode.outputs[0];
  char text[DQ_SHAPE_TEXT];
  if (output->rank != 4 || output->dims[1] < 1 || output->dims[1] > LARGEST_CLASSES || output->dims[2] < 1 ||
      output->dims[2] > INT32_MAX || output->dims[3] < 1 || output->dims[3] > INT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "segment: the output is %s, expected Nx(classes, at most %d)xHxW",
                   dq_tensor_shape_text(output, text, sizeof text), LARGEST_CLASSES);
  segmentation *state = task->state = calloc(1, sizeof *state);
  if (!state) return dq_fail_memory(error, sizeof *state);
  state->classes = output->dims[1];
  state->height = (int)output->dims[2];
  state->width = (int)output->dims[3];
  state->confusion = calloc((size_t)(state->classes * (state->classes + 1)), sizeof *state->confusion);
  return state->confusion ? DQ_OK : dq_fail_memory(error, sizeof *state->confusion);
}

static void close_segment(dq_task *task) {
  segmentation *state = task->state;
  if (!state) return;
  free(state->slices);
  free(state->confusion);
}

// The class of a pixel: 0 or 1 for one channel, else the first of the largest; NO_CLASS when one is no score.
static uint8_t class_of(const double *values, int64_t classes, int64_t plane) {
  int64_t best = 0;
  for (int64_t c = 0; c < classes; c++) {
    if (dq_is_no_score(values[c * plane])) return NO_CLASS;
    if (values[c * plane] > values[best * plane]) best = c;
  }
  return (uint8_t)(classes == 1 ? *values > 0.5 : best);
}

static void classify_pixels(const segmentation *state, const double *values, uint8_t *found) {
  int64_t plane = (int64_t)state->height * state->width;
  for (int64_t i = 0; i < plane; i++) found[i] = class_of(values + i, state->classes, plane);
}

static dq_status add_dice(segmentation *state, const uint8_t *found, const uint8_t *mask, int64_t pixels,
                          dq_error *error) {
  enum { FIRST_ROOM = 256 };
  const double before = state->dice.slices;
  if (state->dice.slice_count == state->slice_room) {
    const int64_t room = state->slice_room ? 2 * state->slice_room : FIRST_ROOM;
    double *slices = realloc(state->slices, (size_t)room * sizeof *slices);
    if (!slices) return dq_fail_memory(error, (size_t)room * sizeof *slices);
    state->slices = slices, state->slice_room = room;
  }
  state->dice.slices = 0; // so that the coefficient of this picture is left
  const int64_t count = state->dice.slice_count;
  dq_dice_add(&state->dice, found, mask, pixels);
  if (state->dice.slice_count > count) state->slices[count] = state->dice.slices;
  state->dice.slices += before;
  return DQ_OK;
}

static dq_status count_pixels(segmentation *state, uint8_t *found, dq_image *mask, dq_error *error) {
  int64_t pixels = (int64_t)mask->width * mask->height;
  if (state->classes == 1) {
    for (int64_t i = 0; i < pixels; i++) {
      mask->pixels[i] = mask->pixels[i] > FOREGROUND;
      if (found[i] == NO_CLASS) found[i] = !mask->pixels[i]; // wrong, whatever is there
    }
    return add_dice(state, found, mask->pixels, pixels, error);
  }
  for (int64_t i = 0; i < pixels; i++)
    if (mask->pixels[i] >= state->classes && mask->pixels[i] != IGNORED)
      return dq_fail(error, DQ_BAD_INPUT, "the mask has class %d, the model has %" PRId64 " classes", mask->pixels[i],
                     state->classes);
  dq_confusion_add(state->confusion, state->classes, found, mask->pixels, pixels);
  return DQ_OK;
}

// The output's map at the mask's size.
static dq_status find_map(const segmentation *state, const dq_tensor *output, int64_t item, const dq_image *mask,
                          uint8_t **map, dq_error *error) {
  double *values;
  size_t plane = (size_t)state->height * (size_t)state->width;
  size_t pixels = (size_t)mask->width * (size_t)mask->height;
  DQ_TRY(dq_item_values(&values, output, item, state->classes * (int64_t)plane, error));
  uint8_t *found = malloc(plane);
  *map = malloc(pixels);
  dq_status status = found && *map ? DQ_OK : dq_fail_memory(error, plane + pixels);
  if (status == DQ_OK) {
    classify_pixels(state, values, found);
    status = dq_resize_nearest(found, state->width, state->height, *map, mask->width, mask->height, error);
  }
  free(found);
  free(values);
  if (status != DQ_OK) free(*map);
  return status;
}

static dq_status add_segment(dq_task *task, const dq_tensor *const *outputs, int64_t item, const dq_sample_info *info,
                             dq_error *error) {
  segmentation *state = task->state;
  dq_image mask;
  uint8_t *map;
  if (!info->label_path) return dq_fail(error, DQ_BAD_INPUT, "no mask, which task segment needs for every picture");
  if (info->view.scale_x != 1 || info->view.scale_y != 1)
    return dq_fail(error, DQ_USAGE, "segment: pictures are cropped or padded, expected fit=stretch");
  dq_budget *budget = dq_budget_of(task->context);
  DQ_TRY(dq_mask_read(&mask, info->label_path, budget, error));
  dq_status status = find_map(state, outputs[0], item, &mask, &map, error);
  if (status == DQ_OK) {
    status = count_pixels(state, map, &mask, error);
    free(map);
  }
  dq_image_deinit(&mask);
  return status;
}

static dq_status result_segment(dq_task *task, dq_result *result, dq_error *error) {
  const segmentation *state = task->state;
  const dq_dice *dice = &state->dice;
  (void)error;
  if (state->classes > 1) {
    dq_result_add(result, "mIoU", "miou", 100 * dq_confusion_mean_iou(state->confusion, state->classes), "%", 2);
    dq_result_add(result, "pixel accuracy", "pixel_accuracy",
                  100 * dq_confusion_accuracy(state->confusion, state->classes), "%", 2);
    return DQ_OK;
  }
  result->points = 100;
  dq_result_add(result, "Dice", "dice", dq_dice_pooled(dice), "", 4);
  dq_result_add(result, "Dice per picture with a mask", "dice_pictures", dq_dice_slices(dice), "", 4);
  dq_result_add(result, "IoU", "iou", dq_iou_pooled(dice), "", 4);
  dq_result_add(result, "empty pictures clean", "empty_clean", (double)dice->empty_clean, "", 0);
  dq_result_add(result, "empty pictures", "empty", (double)dice->empty, "", 0);
  return DQ_OK;
}

static dq_status share_segment(dq_task *task, const dq_processes *processes, dq_error *error) {
  segmentation *state = task->state;
  dq_dice *dice = &state->dice;
  double *slices = dq_task_share_items(processes, state->slices, &dice->slice_count, sizeof *slices, error);
  if (!slices) return DQ_SYSTEM;
  state->slices = slices, state->slice_room = dice->slice_count;
  dice->slices = 0;
  for (int64_t i = 0; i < dice->slice_count; i++) dice->slices += slices[i];
  int64_t counts[] = {dice->intersection, dice->sum, dice->empty, dice->empty_clean};
  DQ_TRY(dq_task_share_counts(processes, counts, DQ_COUNT(counts), error));
  dice->intersection = counts[0], dice->sum = counts[1], dice->empty = counts[2], dice->empty_clean = counts[3];
  return dq_task_share_counts(processes, state->confusion, state->classes * (state->classes + 1), error);
}

const dq_task_functions dq_task_segment = {
    .open = open_segment, .add = add_segment, .result = result_segment, .close = close_segment, .share = share_segment};
