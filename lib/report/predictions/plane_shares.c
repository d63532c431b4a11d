#include "lib/report/predictions/plane_shares.h"

#include <math.h>
#include <stdlib.h>

// Whether position `index` of `count` along one side of the plane shows the picture.
static bool shows(int64_t index, int64_t count, double offset, double scale) {
  const double place = (((double)index + 0.5) / (double)count - offset) * scale;
  return place >= 0 && place < 1;
}

static bool is_shown(const dq_predictions *predictions, int64_t y, int64_t x) {
  const dq_view *view = &predictions->view;
  return shows(y, predictions->plane.height, view->offset_y, view->scale_y) &&
         shows(x, predictions->plane.width, view->offset_x, view->scale_x);
}

static int by_percent(const void *left, const void *right) {
  const dq_share *a = left, *b = right;
  if (a->percent != b->percent) return a->percent > b->percent ? -1 : 1;
  return a->label < b->label ? -1 : a->label > b->label;
}

// counts[class + 1], of points without a class counts[0]; returns their sum.
static int64_t count_labels(const dq_predictions *predictions, int64_t *counts) {
  const dq_prediction_plane *plane = &predictions->plane;
  int64_t all = 0;
  for (int64_t y = 0; y < plane->height; y++)
    for (int64_t x = 0; x < plane->width; x++)
      if (is_shown(predictions, y, x)) counts[plane->labels[y * plane->width + x] + 1]++, all++;
  return all;
}

int64_t dq_plane_shares(const dq_predictions *predictions, dq_share **shares) {
  const int64_t classes = predictions->plane.classes > 1 ? predictions->plane.classes : 2;
  int64_t *counts = calloc((size_t)classes + 1, sizeof *counts), count = 0;
  *shares = malloc(((size_t)classes + 1) * sizeof **shares);
  if (!counts || !*shares) {
    free(counts);
    free(*shares);
    *shares = NULL;
    return -1;
  }
  const int64_t all = count_labels(predictions, counts);
  for (int64_t c = 0; c <= classes; c++)
    if (counts[c]) (*shares)[count++] = (dq_share){c - 1, 100 * (double)counts[c] / (double)all};
  free(counts);
  if (count) qsort(*shares, (size_t)count, sizeof **shares, by_percent);
  return count;
}

dq_plane_bounds dq_plane_bounds_of(const dq_predictions *predictions) {
  const dq_prediction_plane *plane = &predictions->plane;
  dq_plane_bounds bounds = {.least = NAN, .mean = NAN, .greatest = NAN};
  int64_t count = 0;
  double sum = 0;
  for (int64_t y = 0; y < plane->height; y++)
    for (int64_t x = 0; x < plane->width; x++) {
      const double value = (double)plane->values[y * plane->width + x];
      if (!is_shown(predictions, y, x)) continue;
      if (!isfinite(value)) {
        bounds.nonfinite++;
        continue;
      }
      if (!count || value < bounds.least) bounds.least = value;
      if (!count || value > bounds.greatest) bounds.greatest = value;
      sum += value;
      count++;
    }
  if (count) bounds.mean = sum / (double)count;
  return bounds;
}
