// Applying a preset to a picture: where it goes in the model's input, and the value of each byte.
#include <math.h>
#include <string.h>

#include "datasets/preprocess.h"

// The size a picture is resampled to, the window of it that is taken, and where that window lies in
// the model's input.
typedef struct placement {
  int64_t width, height;   // resampled
  int64_t left, top;       // of the window
  int x, y, columns, rows; // of the model's input
} placement;

static double larger(double a, double b) { return a > b ? a : b; }

static placement place_crop(const dq_preprocess *preprocess, const dq_image *image, int height, int width) {
  double side = larger(preprocess->resize, larger(width, height));
  double factor = side / (image->width < image->height ? image->width : image->height);
  int64_t full_width = (int64_t)larger(width, rint(image->width * factor));
  int64_t full_height = (int64_t)larger(height, rint(image->height * factor));
  return (placement){.width = full_width,
                     .height = full_height,
                     .left = (full_width - width) / 2,
                     .top = (full_height - height) / 2,
                     .columns = width,
                     .rows = height};
}

static placement place_letterbox(const dq_preprocess *preprocess, const dq_image *image, int height, int width) {
  double factor = (double)width / image->width, other = (double)height / image->height;
  if (other < factor) factor = other;
  bool centred = preprocess->fit == DQ_FIT_LETTERBOX;
  double full_width = image->width * factor, full_height = image->height * factor;
  if (centred) full_width = rint(full_width), full_height = rint(full_height);
  int columns = (int)larger(1, full_width), rows = (int)larger(1, full_height);
  return (placement){.width = columns,
                     .height = rows,
                     .columns = columns,
                     .rows = rows,
                     .x = centred ? (width - columns) / 2 : 0,
                     .y = centred ? (height - rows) / 2 : 0};
}

static placement place_line(const dq_image *image, int height, int width) {
  double wanted = ceil((double)height * image->width / image->height);
  int columns = wanted < width ? (int)wanted : width;
  return (placement){.width = columns, .height = height, .columns = columns, .rows = height};
}

static bool is_letterbox(const dq_preprocess *preprocess) {
  return preprocess->fit == DQ_FIT_LETTERBOX || preprocess->fit == DQ_FIT_LETTERBOX_CORNER;
}

static placement place(const dq_preprocess *preprocess, const dq_image *image, int height, int width) {
  switch (preprocess->fit) {
  case DQ_FIT_CROP: return place_crop(preprocess, image, height, width);
  case DQ_FIT_LETTERBOX:
  case DQ_FIT_LETTERBOX_CORNER: return place_letterbox(preprocess, image, height, width);
  case DQ_FIT_LINE: return place_line(image, height, width);
  default: return (placement){.width = width, .height = height, .columns = width, .rows = height};
  }
}

// A side of an input that leaves its sizes open.
static int open_side(const dq_preprocess *preprocess, double side) {
  double count = floor(side) / preprocess->multiple;
  count = is_letterbox(preprocess) ? ceil(count) : rint(count);
  return (int)(larger(1, count) * preprocess->multiple);
}

bool dq_preprocess_open_size(const dq_preprocess *preprocess, const dq_picture_sizes *pictures, int *height,
                             int *width) {
  bool line = preprocess->fit == DQ_FIT_LINE && preprocess->resize && preprocess->longest;
  if (preprocess->crop || line) {
    *height = preprocess->crop ? preprocess->crop : preprocess->resize;
    *width = preprocess->crop ? preprocess->crop : preprocess->longest;
    return true;
  }
  double longest = preprocess->longest, columns = pictures->width, rows = pictures->height;
  if (!pictures->same && (preprocess->fit != DQ_FIT_STRETCH || columns <= 0)) columns = rows = longest;
  double side = larger(columns, rows);
  if (side <= 0 || (!pictures->same && longest == 0)) return false;
  double target = longest > 0 && (!pictures->same || side > longest) ? longest : side;
  *height = open_side(preprocess, rows * target / side);
  *width = open_side(preprocess, columns * target / side);
  return true;
}

static void fill_view(dq_view *view, const placement *at, int height, int width) {
  // The window's share of the resampled picture, and its place in the input.
  view->scale_x = (double)width / (double)at->width;
  view->scale_y = (double)height / (double)at->height;
  view->offset_x = (double)(at->x - at->left) / width;
  view->offset_y = (double)(at->y - at->top) / height;
}

static double byte_value(const dq_preprocess *preprocess, const dq_norm_row *norm, int channel, double byte) {
  double x = byte * preprocess->scale;
  const double *mean = preprocess->mean, *deviation = preprocess->std;
  if (preprocess->per_patient) {
    x = (byte - norm->low) / (norm->high - norm->low);
    x = x < 0 ? 0 : x > 1 ? 1 : x;
    mean = norm->mean;
    deviation = norm->std;
  }
  return (x - mean[channel]) / deviation[channel];
}

// One channel of the model's input: the table's value of every byte of the window, `pad` around.
static void fill_channel(const float table[256], const dq_image *window, int source_channel, const placement *at,
                         float pad, const dq_picture_shape *shape, float *values) {
  bool whole = at->columns == shape->width && at->rows == shape->height;
  int64_t step = shape->channels_last ? shape->channels : 1;
  int64_t plane = (int64_t)shape->height * shape->width;
  if (!whole)
    for (int64_t i = 0; i < plane; i++) values[i * step] = pad;
  const uint8_t *pixel = window->pixels + source_channel;
  for (int y = 0; y < at->rows; y++) {
    float *row = values + ((int64_t)(at->y + y) * shape->width + at->x) * step;
    for (int x = 0; x < at->columns; x++, pixel += window->channels) row[x * step] = table[*pixel];
  }
}

dq_status dq_preprocess_apply(const dq_preprocess *preprocess, dq_image *image, const dq_norm_row *norm,
                              const dq_picture_shape *shape, float *values, dq_view *view, dq_error *error) {
  int channels = shape->channels, height = shape->height, width = shape->width;
  bool grey = channels == 1 || preprocess->colour == DQ_COLOUR_GREY;
  DQ_TRY(grey ? dq_image_to_grey(image, error) : dq_image_to_rgb(image, error));
  placement at = place(preprocess, image, height, width);
  dq_image window = *image;
  bool resampled =
      at.width != image->width || at.height != image->height || at.columns != image->width || at.rows != image->height;
  if (resampled) {
    DQ_TRY(dq_image_init(&window, at.columns, at.rows, image->channels, image->budget, error));
    const dq_resampling to = {at.width, at.height, at.left, at.top, preprocess->filter};
    dq_status status = dq_image_resample(image, &to, &window, error);
    if (status != DQ_OK) {
      dq_image_deinit(&window);
      return status;
    }
  }
  for (int c = 0; c < channels; c++) {
    float table[256];
    for (int byte = 0; byte < 256; byte++) table[byte] = (float)byte_value(preprocess, norm, c, byte);
    int source = window.channels == 1 ? 0 : preprocess->colour == DQ_COLOUR_BGR ? channels - 1 - c : c;
    fill_channel(table, &window, source, &at, (float)byte_value(preprocess, norm, c, preprocess->pad[c]), shape,
                 values + (shape->channels_last ? c : (int64_t)c * height * width));
  }
  if (resampled) dq_image_deinit(&window);
  if (view) fill_view(view, &at, height, width);
  return DQ_OK;
}
