// The figures of COCO against values by hand, and against those of pycocotools.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/eval/coco/coco_measure.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *cases_path = "tests/unit/coco_cases.txt";

static dq_coco_figures measure(const dq_coco_truth *truth, int64_t truths, const dq_coco_found *found, int64_t founds) {
  dq_coco_figures figures;
  dq_error error;
  if (dq_coco_measure(&figures, truth, truths, found, founds, &error) != DQ_OK) fail_msg("%s", error.message);
  return figures;
}

// Two objects of 40 x 40 pixels, medium ones. A detection overlaps the first by 8/10, up to 0.8 right at seven of ten
// overlaps; another one of higher score is wrong. Precision 1/2 at recalls up to 1/2: 51 of 101.
static void precision_by_hand(void **state) {
  (void)state;
  const dq_coco_truth truth[] = {{0, 0, 0, 0, 40, 40, 1600, false, false}, {0, 1, 0, 0, 40, 40, 1600, false, false}};
  const dq_coco_found found[] = {{0, 0, 0.5, 0, 0, 40, 32}, {0, 1, 0.75, 100, 100, 40, 40}};
  const dq_coco_figures f = measure(truth, 2, found, 2);
  NEAR(f.values[DQ_COCO_AP50], 51.0 / 101 / 2);
  NEAR(f.values[DQ_COCO_AP75], 51.0 / 101 / 2);
  NEAR(f.values[DQ_COCO_AP], 0.7 * 51 / 101 / 2);
  NEAR(f.values[DQ_COCO_AP_MEDIUM], f.values[DQ_COCO_AP]);
  NEAR(f.values[DQ_COCO_AR1], 0.7 / 2), NEAR(f.values[DQ_COCO_AR100], 0.7 / 2),
      NEAR(f.values[DQ_COCO_AR_MEDIUM], 0.7 / 2);
  NEAR(f.values[DQ_COCO_AP_SMALL], -1), NEAR(f.values[DQ_COCO_AR_LARGE], -1); // there are none
}

// A detection in a crowd counts neither way, by the share of it that the crowd covers, and a crowd takes any number of
// them. A difficult object takes one: the second detection of it is wrong.
static void objects_left_out(void **state) {
  (void)state;
  dq_coco_truth truth[] = {{0, 0, 0, 0, 200, 200, 40000, true, false}, {0, 0, 300, 0, 50, 50, 2500, false, false}};
  const dq_coco_found found[] = {{0, 0, 0.9, 0, 0, 10, 10}, {0, 0, 0.8, 50, 50, 10, 10}, {0, 0, 0.7, 300, 0, 50, 50}};
  NEAR(measure(truth, 2, found, 3).values[DQ_COCO_AP], 1);
  NEAR(measure(truth, 1, found, 3).values[DQ_COCO_AP], -1); // nothing to be found
  truth[0].crowd = false;
  NEAR(measure(truth, 1, found, 3).values[DQ_COCO_AP], 0);
  const dq_coco_truth difficult[] = {{0, 0, 0, 0, 10, 10, 100, false, true}, truth[1]};
  const dq_coco_found twice[] = {found[0], found[0], found[2]};
  NEAR(measure(difficult, 2, found, 1).values[DQ_COCO_AR100], 0);
  NEAR(measure(difficult, 2, twice, 3).values[DQ_COCO_AP], 0.5); // one wrong in front of the right one
}

// Sizes are those of the annotation's area, both ends belong to a range, and a detection outside of the range without a
// match is left out.
static void sizes(void **state) {
  (void)state;
  const dq_coco_truth truth[] = {{0, 0, 0, 0, 50, 50, 1024, false, false}};
  const dq_coco_found found[] = {{0, 0, 0.9, 500, 500, 200, 200}, {0, 0, 0.8, 0, 0, 50, 50}};
  const dq_coco_figures f = measure(truth, 1, found, 2);
  NEAR(f.values[DQ_COCO_AP_SMALL], 1), NEAR(f.values[DQ_COCO_AP_MEDIUM], 1), NEAR(f.values[DQ_COCO_AP_LARGE], -1);
  NEAR(f.values[DQ_COCO_AP50], 0.5);
  NEAR(f.values[DQ_COCO_AR1], 0), NEAR(f.values[DQ_COCO_AR10], 1); // the first detection is the wrong one
}

// The hundred first detections of a class in a picture count; classes without objects do not.
static void many_detections(void **state) {
  (void)state;
  enum { MANY = 101 };
  const dq_coco_truth truth[] = {{1, 0, 0, 0, 50, 50, 2500, false, false}};
  dq_coco_found found[MANY + 1];
  for (int i = 0; i < MANY; i++) found[i] = (dq_coco_found){1, 0, 0.5, 300, 300, 50, 50};
  found[MANY] = (dq_coco_found){0, 0, 1, 0, 0, 50, 50};
  found[MANY - 1] = (dq_coco_found){1, 0, 0.5, 0, 0, 50, 50};
  NEAR(measure(truth, 1, found, MANY + 1).values[DQ_COCO_AR100], 0);
  found[MANY - 2] = found[MANY - 1];
  NEAR(measure(truth, 1, found, MANY + 1).values[DQ_COCO_AR100], 1);
  NEAR(measure(truth, 1, found, MANY + 1).values[DQ_COCO_AP], 0.01);
  NEAR(measure(truth, 0, found, MANY + 1).values[DQ_COCO_AP], -1);
  NEAR(measure(truth, 1, found, 0).values[DQ_COCO_AP], 0);
}

// ---- Cases of pycocotools ----

typedef struct one_case {
  dq_coco_truth *truth;
  dq_coco_found *found;
  int64_t truth_count, found_count;
} one_case;

static void add_line(one_case *c, const char *line) {
  dq_coco_truth t = {0};
  dq_coco_found f = {0};
  int crowd;
  if (sscanf(line, "truth %ld %ld %lf %lf %lf %lf %lf %d", &t.class, &t.picture, &t.left, &t.top, &t.width, &t.height,
             &t.area, &crowd) == 8) {
    t.crowd = crowd;
    c->truth = realloc(c->truth, (size_t)(c->truth_count + 1) * sizeof t);
    c->truth[c->truth_count++] = t;
  } else if (sscanf(line, "found %ld %ld %lf %lf %lf %lf %lf", &f.class, &f.picture, &f.left, &f.top, &f.width,
                    &f.height, &f.score) == 7) {
    c->found = realloc(c->found, (size_t)(c->found_count + 1) * sizeof f);
    c->found[c->found_count++] = f;
  } else fail_msg("line '%s'", line);
}

static void check_figures(const one_case *c, const char *name, const char *text) {
  const dq_coco_figures figures = measure(c->truth, c->truth_count, c->found, c->found_count);
  for (int i = 0; i < DQ_COCO_FIGURES; i++) {
    char *end;
    const double wanted = strtod(text, &end);
    assert_true(end != text);
    if (!(fabs(figures.values[i] - wanted) < 1e-9))
      fail_msg("%s: figure %d is %.12f, not %.12f", name, i, figures.values[i], wanted);
    text = end;
  }
}

static void cases_of_pycocotools(void **state) {
  (void)state;
  char line[512], name[64] = "";
  one_case c = {0};
  int cases = 0;
  FILE *file = fopen(cases_path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) {
    if (*line == '#' || sscanf(line, "case %63s", name) == 1) continue;
    if (strncmp(line, "figures ", 8)) {
      add_line(&c, line);
      continue;
    }
    check_figures(&c, name, line + 8);
    cases++;
    free(c.truth), free(c.found);
    c = (one_case){0};
  }
  fclose(file);
  assert_true(cases > 1);
}

// usage: test_coco_measure [CASES]
int main(int argc, char **argv) {
  if (argc > 1) cases_path = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(precision_by_hand), cmocka_unit_test(objects_left_out),
                                     cmocka_unit_test(sizes), cmocka_unit_test(many_detections),
                                     cmocka_unit_test(cases_of_pycocotools)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
