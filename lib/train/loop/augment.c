#include "lib/train/loop/augment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"

// ---- Texts ----

static bool read_number(const char *text, double largest, bool whole, double *number) {
  char *end;
  *number = strtod(text, &end);
  return end != text && !*end && *number > 0 && *number <= largest && (!whole || *number == floor(*number));
}

static dq_status parse_field(dq_augmentation *augmentation, const char *field, dq_error *error) {
  enum { MOST_PIXELS = 65536 };
  const char *equals = strchr(field, '='), *value = equals ? equals + 1 : "";
  const size_t length = equals ? (size_t)(equals - field) : strlen(field);
  const char *const names[] = {"flip", "crop", "cutout", "colour", "color"};
  double number;
  int name = 0;
  while (name < 5 && (strlen(names[name]) != length || strncmp(names[name], field, length))) name++;
  if (name == 5 || (name == 0) == (equals != NULL)) {
    dq_fail(error, DQ_USAGE, "augmentation '%s', expected flip, crop=N, cutout=N or colour=S", field);
    return DQ_USAGE;
  }
  if (name == 0) augmentation->flip = true;
  else if (!read_number(value, name < 3 ? MOST_PIXELS : 1, name < 3, &number))
    return dq_fail(error, DQ_USAGE, "augmentation %s is '%s', expected %s", names[name], value,
                   name < 3 ? "1 to 65536 pixels" : "a number above 0 and at most 1");
  else if (name == 1) augmentation->crop = (int64_t)number;
  else if (name == 2) augmentation->cutout = (int64_t)number;
  else augmentation->colour = number;
  return DQ_OK;
}

dq_status dq_augmentation_parse(dq_augmentation *augmentation, const char *text, dq_error *error) {
  char field[64];
  *augmentation = (dq_augmentation){0};
  for (;;) {
    const size_t length = strcspn(text, ",");
    snprintf(field, sizeof field, "%.*s", (int)dq_min_i64((int64_t)length, sizeof field - 1), text);
    DQ_TRY(parse_field(augmentation, field, error));
    if (!text[length]) return DQ_OK;
    text += length + 1;
  }
}

// ---- Pictures ----

bool dq_picture_layout_of(const dq_tensor *input, dq_picture_layout *layout) {
  if (input->rank != 4) return false;
  const int64_t *d = input->dims;
  if (dq_channels_last(4, d)) *layout = (dq_picture_layout){d[3], d[1], d[2], 1, d[2] * d[3], d[3]};
  else *layout = (dq_picture_layout){d[1], d[2], d[3], d[2] * d[3], d[3], 1};
  return true;
}

static void change_colour(float *picture, int64_t elements, double strength, dq_random *random) {
  const double factor = dq_random_between(random, 1 - strength, 1 + strength);
  const double shift = dq_random_between(random, -strength, strength);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < elements; i++) sum += (double)picture[i];
  const double mean = sum / (double)elements;
  for (int64_t i = 0; i < elements; i++) squares += ((double)picture[i] - mean) * ((double)picture[i] - mean);
  const double deviation = sqrt(squares / (double)elements);
  for (int64_t i = 0; i < elements; i++)
    picture[i] = (float)(mean + factor * ((double)picture[i] - mean) + shift * deviation);
}

// Takes the window that begins `down` rows and `right` columns behind the picture's corner; outside there are zeros.
static void move_picture(const dq_picture_layout *l, int64_t down, int64_t right, bool flip, float *picture,
                         float *scratch) {
  memcpy(scratch, picture, (size_t)(l->channels * l->height * l->width) * sizeof *scratch);
  for (int64_t c = 0; c < l->channels; c++)
    for (int64_t y = 0; y < l->height; y++)
      for (int64_t x = 0; x < l->width; x++) {
        const int64_t row = y + down, column = (flip ? l->width - 1 - x : x) + right;
        const bool inside = row >= 0 && row < l->height && column >= 0 && column < l->width;
        picture[c * l->channel_step + y * l->row_step + x * l->column_step] =
            inside ? scratch[c * l->channel_step + row * l->row_step + column * l->column_step] : 0;
      }
}

static void cut_out(const dq_picture_layout *l, int64_t side, dq_random *random, float *picture) {
  const int64_t top = (int64_t)dq_random_below(random, (uint64_t)l->height) - side / 2;
  const int64_t left = (int64_t)dq_random_below(random, (uint64_t)l->width) - side / 2;
  for (int64_t y = dq_max_i64(0, top); y < dq_min_i64(l->height, top + side); y++)
    for (int64_t x = dq_max_i64(0, left); x < dq_min_i64(l->width, left + side); x++)
      for (int64_t c = 0; c < l->channels; c++) picture[c * l->channel_step + y * l->row_step + x * l->column_step] = 0;
}

void dq_augment(const dq_augmentation *augmentation, const dq_picture_layout *layout, dq_random *random, float *picture,
                float *scratch) {
  const int64_t crop = augmentation->crop, places = 2 * crop + 1;
  int64_t down = 0, right = 0;
  bool flip = false;
  if (augmentation->colour > 0)
    change_colour(picture, layout->channels * layout->height * layout->width, augmentation->colour, random);
  if (crop) down = (int64_t)dq_random_below(random, (uint64_t)places) - crop;
  if (crop) right = (int64_t)dq_random_below(random, (uint64_t)places) - crop;
  if (augmentation->flip) flip = dq_random_below(random, 2) != 0;
  if (down || right || flip) move_picture(layout, down, right, flip, picture, scratch);
  if (augmentation->cutout) cut_out(layout, augmentation->cutout, random, picture);
}
