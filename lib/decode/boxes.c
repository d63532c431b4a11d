#include "lib/decode/boxes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/order.h"

static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }

double dq_box_iou(const dq_box *a, const dq_box *b) {
  double width = larger(smaller(a->x2, b->x2) - larger(a->x1, b->x1), 0);
  double height = larger(smaller(a->y2, b->y2) - larger(a->y1, b->y1), 0);
  double both = width * height;
  double areas = (a->x2 - a->x1) * (a->y2 - a->y1) + (b->x2 - b->x1) * (b->y2 - b->y1);
  return both / larger(areas - both, 1e-12);
}

// The indices of scores in descending order, which the caller frees with free(); NULL when there is no memory.
static dq_ranked *rank_scores(const double *scores, int64_t count) {
  dq_ranked *order = malloc((size_t)count * sizeof *order);
  if (!order) return NULL;
  for (int64_t i = 0; i < count; i++) order[i] = (dq_ranked){scores[i], i};
  qsort(order, (size_t)count, sizeof *order, dq_compare_ranked);
  return order;
}

int64_t dq_nms(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t *keep) {
  return dq_nms_first(boxes, scores, count, threshold, count, keep);
}

int64_t dq_nms_first(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t most,
                     int64_t *keep) {
  int64_t kept = 0;
  if (count < 1) return 0;
  dq_ranked *order = rank_scores(scores, count);
  if (!order) return -1;
  for (int64_t i = 0; i < count && kept < most; i++) {
    bool free_place = true;
    for (int64_t k = 0; k < kept && free_place; k++)
      free_place = dq_box_iou(&boxes[keep[k]], &boxes[order[i].index]) <= threshold;
    if (free_place) keep[kept++] = order[i].index;
  }
  free(order);
  return kept;
}

// ---- Rotated boxes ----

typedef struct covariance {
  double xx, yy, xy;
} covariance;

// That of an even distribution over the box.
static covariance covariance_of(const dq_rotated_box *box) {
  const double along = box->width * box->width / 12, across = box->height * box->height / 12;
  const double cosine = cos(box->angle), sine = sin(box->angle);
  return (covariance){along * cosine * cosine + across * sine * sine, along * sine * sine + across * cosine * cosine,
                      (along - across) * cosine * sine};
}

static double determinant(const covariance *c) { return c->xx * c->yy - c->xy * c->xy; }

double dq_rotated_overlap(const dq_rotated_box *a, const dq_rotated_box *b) {
  const double tiny = 1e-7, most = 100; // of Ultralytics
  const covariance one = covariance_of(a), two = covariance_of(b);
  const covariance sum = {one.xx + two.xx, one.yy + two.yy, one.xy + two.xy};
  const double x = a->x - b->x, y = a->y - b->y, spread = determinant(&sum);
  const double shift = (sum.xx * y * y + sum.yy * x * x - 2 * sum.xy * x * y) / (spread + tiny) / 4;
  const double own = sqrt(larger(determinant(&one), 0) * larger(determinant(&two), 0));
  const double distance = shift + log(spread / (4 * own + tiny) + tiny) / 2; // of Bhattacharyya
  return 1 - sqrt(1 - exp(-larger(smaller(distance, most), tiny)) + tiny);
}

int64_t dq_nms_rotated(const dq_rotated_box *boxes, const double *scores, int64_t count, double threshold,
                       int64_t *keep) {
  int64_t kept = 0;
  if (count < 1) return 0;
  dq_ranked *order = rank_scores(scores, count);
  if (!order) return -1;
  for (int64_t i = 0; i < count; i++) {
    bool free_place = true;
    for (int64_t k = 0; k < i && free_place; k++)
      free_place = !(dq_rotated_overlap(&boxes[order[k].index], &boxes[order[i].index]) > threshold);
    if (free_place) keep[kept++] = order[i].index;
  }
  free(order);
  return kept;
}
