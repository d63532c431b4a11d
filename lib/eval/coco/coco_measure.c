// The figures of COCO: matches of all pictures of a class, by falling score, then means over classes.
#include "lib/eval/coco/coco_measure.h"

#include <float.h>
#include <stdlib.h>

#include "lib/base/sizes.h"
#include "lib/eval/coco/coco_match.h"

enum { RECALLS = 101, BOUNDS = 3 };
static const int most_detections[BOUNDS] = {1, 10, DQ_COCO_MOST_DETECTIONS};

// Values added up, and their number.
typedef struct mean {
  double sum;
  int64_t count;
} mean;

// What the classes so far have.
typedef struct sums {
  mean precision[DQ_COCO_SIZES][DQ_COCO_OVERLAPS];
  mean recall[DQ_COCO_SIZES][BOUNDS];
} sums;

// One class while it is measured.
typedef struct measurement {
  dq_coco_judged *judged; // by picture, then by score
  int64_t count;
  int64_t positives[DQ_COCO_SIZES];
  dq_coco_judged *sorted; // by score
  double *recalls, *precisions;
  dq_coco_workspace workspace;
} measurement;

// ---- Order ----

// An element of an array with its place there, so that equal ones keep their order.
typedef struct keyed {
  int64_t class, picture, index;
  double score;
} keyed;

static int by_class_picture_score(const void *left, const void *right) {
  const keyed *a = left, *b = right;
  if (a->class != b->class) return a->class < b->class ? -1 : 1;
  if (a->picture != b->picture) return a->picture < b->picture ? -1 : 1;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static dq_status sort_truth(dq_coco_truth **sorted, const dq_coco_truth *truth, int64_t count, dq_error *error) {
  keyed *keys = malloc((size_t)(count + 1) * sizeof *keys);
  *sorted = malloc((size_t)(count + 1) * sizeof **sorted);
  const bool room = keys && *sorted;
  for (int64_t i = 0; room && i < count; i++) keys[i] = (keyed){truth[i].class, truth[i].picture, i, 0};
  if (room) qsort(keys, (size_t)count, sizeof *keys, by_class_picture_score);
  for (int64_t i = 0; room && i < count; i++) (*sorted)[i] = truth[keys[i].index];
  free(keys);
  return room ? DQ_OK : dq_fail_memory(error, (size_t)count * (sizeof *keys + sizeof **sorted));
}

static dq_status sort_found(dq_coco_found **sorted, const dq_coco_found *found, int64_t count, dq_error *error) {
  keyed *keys = malloc((size_t)(count + 1) * sizeof *keys);
  *sorted = malloc((size_t)(count + 1) * sizeof **sorted);
  const bool room = keys && *sorted;
  for (int64_t i = 0; room && i < count; i++) keys[i] = (keyed){found[i].class, found[i].picture, i, found[i].score};
  if (room) qsort(keys, (size_t)count, sizeof *keys, by_class_picture_score);
  for (int64_t i = 0; room && i < count; i++) (*sorted)[i] = found[keys[i].index];
  free(keys);
  return room ? DQ_OK : dq_fail_memory(error, (size_t)count * (sizeof *keys + sizeof **sorted));
}

static int by_score(const void *left, const void *right) {
  const keyed *a = left, *b = right;
  if (a->score != b->score) return a->score > b->score ? -1 : 1;
  return a->index < b->index ? -1 : a->index > b->index;
}

static dq_status sort_judged(measurement *class, dq_error *error) {
  keyed *keys = malloc((size_t)(class->count + 1) * sizeof *keys);
  if (!keys) return dq_fail_memory(error, (size_t) class->count * sizeof *keys);
  for (int64_t i = 0; i < class->count; i++) keys[i] = (keyed){.score = class->judged[i].score, .index = i};
  qsort(keys, (size_t) class->count, sizeof *keys, by_score);
  for (int64_t i = 0; i < class->count; i++) class->sorted[i] = class->judged[keys[i].index];
  free(keys);
  return DQ_OK;
}

// ---- One class ----

// Fills the recalls and precisions behind each detection that counts; returns their number.
static int64_t trace(measurement *class, int size, int overlap, int most) {
  const double positives = (double)class->positives[size];
  int64_t count = 0;
  double right = 0, wrong = 0;
  for (int64_t i = 0; i < class->count; i++) {
    const dq_coco_judged *judged = &class->sorted[i];
    if (judged->rank >= most) continue;
    right += judged->verdicts[size][overlap] == DQ_COCO_RIGHT;
    wrong += judged->verdicts[size][overlap] == DQ_COCO_WRONG;
    class->recalls[count] = right / positives;
    class->precisions[count++] = right / (wrong + right + DBL_EPSILON);
  }
  return count;
}

// Adds the highest precision at each of the recalls 0, 0.01, ..., 1 or behind it; 0 where that recall is not reached.
static void add_precision(mean *sum, measurement *class, int64_t count) {
  for (int64_t i = count - 1; i > 0; i--)
    if (class->precisions[i] > class->precisions[i - 1]) class->precisions[i - 1] = class->precisions[i];
  int64_t at = 0;
  for (int r = 0; r < RECALLS; r++) {
    const double recall = r == RECALLS - 1 ? 1 : r * 0.01;
    while (at < count && class->recalls[at] < recall) at++;
    if (at < count) sum->sum += class->precisions[at];
  }
  sum->count += RECALLS;
}

static void add_class(sums *all, measurement *class) {
  for (int size = 0; size < DQ_COCO_SIZES; size++) {
    if (!class->positives[size]) continue;
    for (int overlap = 0; overlap < DQ_COCO_OVERLAPS; overlap++)
      for (int bound = 0; bound < BOUNDS; bound++) {
        const int64_t count = trace(class, size, overlap, most_detections[bound]);
        all->recall[size][bound].sum += count ? class->recalls[count - 1] : 0;
        all->recall[size][bound].count++;
        if (bound == BOUNDS - 1) add_precision(&all->precision[size][overlap], class, count);
      }
  }
}

// ---- All classes ----

// What is left of both sorted arrays.
typedef struct unread {
  const dq_coco_truth *truth, *truth_end;
  const dq_coco_found *found, *found_end;
} unread;

static int64_t next_class(const unread *rest) {
  const int64_t truth = rest->truth < rest->truth_end ? rest->truth->class : INT64_MAX;
  const int64_t found = rest->found < rest->found_end ? rest->found->class : INT64_MAX;
  return dq_min_i64(truth, found);
}

// Takes the objects of the next picture that has some of this class; false: there is none.
static bool take_group(unread *rest, int64_t class, dq_coco_group *group) {
  const bool true_left = rest->truth < rest->truth_end && rest->truth->class == class;
  const bool found_left = rest->found < rest->found_end && rest->found->class == class;
  const int64_t picture =
      dq_min_i64(true_left ? rest->truth->picture : INT64_MAX, found_left ? rest->found->picture : INT64_MAX);
  *group = (dq_coco_group){.truth = rest->truth, .found = rest->found};
  if (!true_left && !found_left) return false;
  while (rest->truth < rest->truth_end && rest->truth->class == class && rest->truth->picture == picture) rest->truth++;
  while (rest->found < rest->found_end && rest->found->class == class && rest->found->picture == picture) rest->found++;
  group->truth_count = rest->truth - group->truth;
  group->found_count = dq_min_i64(rest->found - group->found, DQ_COCO_MOST_DETECTIONS);
  return true;
}

static dq_status measure_class(sums *all, measurement *class, unread *rest, int64_t number, dq_error *error) {
  dq_coco_group group;
  class->count = 0;
  for (int size = 0; size < DQ_COCO_SIZES; size++) class->positives[size] = 0;
  while (take_group(rest, number, &group)) {
    DQ_TRY(dq_coco_match(&group, class->judged + class->count, class->positives, &class->workspace, error));
    class->count += group.found_count;
  }
  DQ_TRY(sort_judged(class, error));
  add_class(all, class);
  return DQ_OK;
}

// The detections of the class that has most, and one more.
static size_t room_for(const unread *rest) {
  size_t most = 0, count = 0;
  for (const dq_coco_found *found = rest->found; found < rest->found_end; found++) {
    count = found > rest->found && found->class == found[-1].class ? count + 1 : 1;
    if (count > most) most = count;
  }
  return most + 1;
}

static dq_status measure_classes(sums *all, unread *rest, dq_error *error) {
  const size_t room = room_for(rest);
  measurement class = {.judged = calloc(room, sizeof *class.judged),
                       .sorted = calloc(room, sizeof *class.sorted),
                       .recalls = calloc(room, sizeof *class.recalls),
                       .precisions = calloc(room, sizeof *class.precisions)};
  dq_status status = DQ_OK;
  if (!class.judged || !class.sorted || !class.recalls || !class.precisions) status = dq_fail_memory(error, room);
  for (int64_t next; status == DQ_OK && (next = next_class(rest)) != INT64_MAX;)
    status = measure_class(all, &class, rest, next, error);
  free(class.judged), free(class.sorted), free(class.recalls), free(class.precisions);
  dq_coco_workspace_free(&class.workspace);
  return status;
}

static double mean_of(const mean *means, int count) {
  mean all = {0};
  for (int i = 0; i < count; i++) all.sum += means[i].sum, all.count += means[i].count;
  return all.count ? all.sum / (double)all.count : -1;
}

static void set_figures(dq_coco_figures *figures, const sums *all) {
  enum { AT_50 = 0, AT_75 = 5 };
  double *values = figures->values;
  values[DQ_COCO_AP50] = mean_of(&all->precision[0][AT_50], 1);
  values[DQ_COCO_AP75] = mean_of(&all->precision[0][AT_75], 1);
  values[DQ_COCO_AP] = mean_of(all->precision[0], DQ_COCO_OVERLAPS);
  for (int bound = 0; bound < BOUNDS; bound++) values[DQ_COCO_AR1 + bound] = mean_of(&all->recall[0][bound], 1);
  for (int size = 1; size < DQ_COCO_SIZES; size++) {
    values[DQ_COCO_AP_SMALL + size - 1] = mean_of(all->precision[size], DQ_COCO_OVERLAPS);
    values[DQ_COCO_AR_SMALL + size - 1] = mean_of(&all->recall[size][BOUNDS - 1], 1);
  }
}

dq_status dq_coco_measure(dq_coco_figures *figures, const dq_coco_truth *truth, int64_t truth_count,
                          const dq_coco_found *found, int64_t found_count, dq_error *error) {
  sums all = {0};
  dq_coco_truth *sorted_truth = NULL;
  dq_coco_found *sorted_found = NULL;
  dq_status status = sort_truth(&sorted_truth, truth, truth_count, error);
  if (status == DQ_OK) status = sort_found(&sorted_found, found, found_count, error);
  if (status == DQ_OK) {
    unread rest = {sorted_truth, sorted_truth + truth_count, sorted_found, sorted_found + found_count};
    status = measure_classes(&all, &rest, error);
  }
  if (status == DQ_OK) set_figures(figures, &all);
  free(sorted_truth), free(sorted_found);
  return status;
}
