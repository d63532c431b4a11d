// Matching of detections with true objects by the rules of COCO.
#include "lib/eval/coco/coco_match.h"

#include <math.h>
#include <stdlib.h>

// Squares of pixels; both ends belong to a range.
static const double smallest[DQ_COCO_SIZES] = {0, 0, 32 * 32, 96 * 96};
static const double largest[DQ_COCO_SIZES] = {1e10, 32 * 32, 96 * 96, 1e10};

static bool is_outside(double area, int size) { return area < smallest[size] || area > largest[size]; }

// 0.5 to 0.95 in ten steps, with the bits of numpy.linspace; a box must overlap exactly where 1 is wanted.
static double wanted_overlap(int index) {
  const double last = 0.95, step = (last - 0.5) / (DQ_COCO_OVERLAPS - 1);
  return index == DQ_COCO_OVERLAPS - 1 ? last : index * step + 0.5;
}

// Intersection over union; of a crowd, over the area of the detection.
static double overlap_of(const dq_coco_found *found, const dq_coco_truth *truth) {
  const double width = fmin(found->width + found->left, truth->width + truth->left) - fmax(found->left, truth->left);
  const double height = fmin(found->height + found->top, truth->height + truth->top) - fmax(found->top, truth->top);
  if (width <= 0 || height <= 0) return 0;
  const double both = width * height, area = found->width * found->height;
  return both / (truth->crowd ? area : area + truth->width * truth->height - both);
}

void dq_coco_workspace_free(dq_coco_workspace *workspace) {
  free(workspace->overlaps), free(workspace->order), free(workspace->taken);
  *workspace = (dq_coco_workspace){0};
}

static dq_status make_room(dq_coco_workspace *workspace, int64_t most, dq_error *error) {
  if (most <= workspace->most) return DQ_OK;
  dq_coco_workspace_free(workspace);
  const size_t count = (size_t)most;
  workspace->overlaps = calloc(count, DQ_COCO_MOST_DETECTIONS * sizeof *workspace->overlaps);
  workspace->order = calloc(count, sizeof *workspace->order);
  workspace->taken = calloc(count, sizeof *workspace->taken);
  if (!workspace->overlaps || !workspace->order || !workspace->taken) return dq_fail_memory(error, count);
  workspace->most = most;
  return DQ_OK;
}

static bool is_left_out(const dq_coco_truth *truth, int size) {
  return truth->crowd || truth->difficult || is_outside(truth->area, size);
}

// Brings the true objects that count to the front, otherwise in their order; returns their number.
static int64_t order_truth(const dq_coco_group *group, int size, int64_t *order) {
  int64_t counted = 0, at = 0;
  for (int64_t i = 0; i < group->truth_count; i++) counted += !is_left_out(&group->truth[i], size);
  int64_t behind = counted;
  for (int64_t i = 0; i < group->truth_count; i++) order[is_left_out(&group->truth[i], size) ? behind++ : at++] = i;
  return counted;
}

// The place in `order` of the true object that detection `index` is matched with: of those that overlap most the last
// one, and one that is left out only where none that counts overlaps enough. -1: none.
static int64_t find_match(const dq_coco_group *group, int64_t index, double wanted, int64_t counted,
                          const dq_coco_workspace *workspace) {
  double best = fmin(wanted, 1 - 1e-10);
  int64_t match = -1;
  for (int64_t i = 0; i < group->truth_count; i++) {
    const int64_t t = workspace->order[i];
    const double overlap = workspace->overlaps[index * workspace->most + t];
    if (workspace->taken[t] && !group->truth[t].crowd) continue;
    if (match >= 0 && match < counted && i >= counted) break;
    if (overlap < best) continue;
    best = overlap, match = i;
  }
  return match;
}

static void judge(const dq_coco_group *group, int size, int64_t counted, dq_coco_judged *judged,
                  const dq_coco_workspace *workspace) {
  for (int o = 0; o < DQ_COCO_OVERLAPS; o++) {
    for (int64_t t = 0; t < group->truth_count; t++) workspace->taken[t] = false;
    for (int64_t i = 0; i < group->found_count; i++) {
      const dq_coco_found *found = &group->found[i];
      const int64_t match = find_match(group, i, wanted_overlap(o), counted, workspace);
      if (match >= 0) workspace->taken[workspace->order[match]] = true;
      const bool left_out = match >= 0 ? match >= counted : is_outside(found->width * found->height, size);
      judged[i].verdicts[size][o] = left_out ? DQ_COCO_LEFT_OUT : match >= 0 ? DQ_COCO_RIGHT : DQ_COCO_WRONG;
    }
  }
}

dq_status dq_coco_match(const dq_coco_group *group, dq_coco_judged *judged, int64_t positives[DQ_COCO_SIZES],
                        dq_coco_workspace *workspace, dq_error *error) {
  DQ_TRY(make_room(workspace, group->truth_count, error));
  for (int64_t i = 0; i < group->found_count; i++) {
    judged[i].score = group->found[i].score, judged[i].rank = (int)i;
    for (int64_t t = 0; t < group->truth_count; t++)
      workspace->overlaps[i * workspace->most + t] = overlap_of(&group->found[i], &group->truth[t]);
  }
  for (int size = 0; size < DQ_COCO_SIZES; size++) {
    const int64_t counted = order_truth(group, size, workspace->order);
    positives[size] += counted;
    judge(group, size, counted, judged, workspace);
  }
  return DQ_OK;
}
