#include "lib/decode/boxes.h"

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

int64_t dq_nms(const dq_box *boxes, const double *scores, int64_t count, double threshold, int64_t *keep) {
  int64_t kept = 0;
  if (count < 1) return 0;
  dq_ranked *order = malloc((size_t)count * sizeof *order);
  if (!order) return -1;
  for (int64_t i = 0; i < count; i++) order[i] = (dq_ranked){scores[i], i};
  qsort(order, (size_t)count, sizeof *order, dq_compare_ranked);
  for (int64_t i = 0; i < count; i++) {
    bool free_place = true;
    for (int64_t k = 0; k < kept && free_place; k++)
      free_place = dq_box_iou(&boxes[keep[k]], &boxes[order[i].index]) <= threshold;
    if (free_place) keep[kept++] = order[i].index;
  }
  free(order);
  return kept;
}
