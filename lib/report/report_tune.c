// Tables of tuning.
#include "lib/report/report_tune.h"

#include <math.h>

#include "lib/base/sizes.h"

static const dq_column shape_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 28, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 5},
    {"steps", "Steps", DQ_COLUMN_INT, NULL, 0, 0, 4},
    {"share", "Share", DQ_COLUMN_PERCENT, NULL, 1, 0, 2},
    {"algorithm", "Algorithm", DQ_COLUMN_TEXT, NULL, 0, 16, 6},
    {"choice", "Choice", DQ_COLUMN_TEXT, NULL, 0, 40, 1},
    {"before_p5_ms", "Before p5", DQ_COLUMN_REAL, "ms", 4, 0, 8},
    {"before_ms", "Before", DQ_COLUMN_REAL, "ms", 4, 0, 2},
    {"before_p95_ms", "p95", DQ_COLUMN_REAL, "ms", 4, 0, 8},
    {"after_p5_ms", "After p5", DQ_COLUMN_REAL, "ms", 4, 0, 8},
    {"after_ms", "After", DQ_COLUMN_REAL, "ms", 4, 0, 2},
    {"after_p95_ms", "p95", DQ_COLUMN_REAL, "ms", 4, 0, 8},
    {"ratio", "Time ratio", DQ_COLUMN_REAL, NULL, 3, 0, 3},
    {"ratio_low", "from", DQ_COLUMN_REAL, NULL, 3, 0, 3},
    {"ratio_high", "to", DQ_COLUMN_REAL, NULL, 3, 0, 3},
    {"gain_share", "Of gain", DQ_COLUMN_PERCENT, NULL, 1, 0, 4},
    {"source", "Source", DQ_COLUMN_TEXT, NULL, 0, 12, 7},
    {"run", "Run", DQ_COLUMN_TEXT, NULL, 0, 40, 9},
};
static const dq_table_layout shape_layout = {"shapes", "Shapes", shape_columns, DQ_COUNT(shape_columns), false};

static const dq_column network_columns[] = {
    {"steps", "Steps of the network", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"shapes", "Shapes with a choice", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"known", "Shapes known before", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"measured", "Shapes measured now", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"chosen", "Shapes not computed as usual", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"candidates", "Candidates", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"candidates_known", "Candidates known before", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"candidates_measured", "Candidates measured now", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"part_loss", "Loss without --exhaustive", DQ_COLUMN_PERCENT, NULL, 2, 0, 0},
    {"runs", "Runs of the network", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"disturbed", "Disturbed rounds", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"threads", "Threads", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"control_low", "Equal plans, time ratio from", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"control_high", "Equal plans, time ratio to", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"before_p5_ms", "Before, p5", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"before_ms", "Before, median", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"before_p95_ms", "Before, p95", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"after_p5_ms", "After, p5", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"after_ms", "After, median", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"after_p95_ms", "After, p95", DQ_COLUMN_REAL, "ms", 3, 0, 0},
    {"ratio", "Time ratio", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"ratio_low", "Time ratio from", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"ratio_high", "Time ratio to", DQ_COLUMN_REAL, NULL, 3, 0, 0},
    {"used", "Choices are used", DQ_COLUMN_BOOL, NULL, 0, 0, 0},
};
static const dq_table_layout network_layout = {"network", NULL, network_columns, DQ_COUNT(network_columns), true};

static const dq_column family_columns[] = {
    {"family", "Family", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"candidates", "Candidates", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"measured", "Measured", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"correlation", "Rank correlation", DQ_COLUMN_REAL, NULL, 3, 0, 0},
};
static const dq_table_layout family_layout = {"families", "Candidates of shapes", family_columns,
                                              DQ_COUNT(family_columns), false};

static void put_times(dq_table *table, const dq_record *record) {
  const double milli = 1e3;
  dq_table_put_real(table, "before_p5_ms", record->before.p5 * milli);
  dq_table_put_real(table, "before_ms", record->before.median * milli);
  dq_table_put_real(table, "before_p95_ms", record->before.p95 * milli);
  dq_table_put_real(table, "after_p5_ms", record->after.p5 * milli);
  dq_table_put_real(table, "after_ms", record->after.median * milli);
  dq_table_put_real(table, "after_p95_ms", record->after.p95 * milli);
  dq_table_put_real(table, "ratio", record->ratio);
  dq_table_put_real(table, "ratio_low", record->low);
  dq_table_put_real(table, "ratio_high", record->high);
}

static void put_shape(dq_table *table, const dq_tune_shape *shape, double gains) {
  char choice[DQ_CHOICE_TEXT];
  dq_table_row(table);
  dq_table_put_text(table, "node", shape->name);
  dq_table_put_text(table, "op", shape->op_type);
  dq_table_put_int(table, "steps", shape->steps);
  if (shape->share > 0) dq_table_put_real(table, "share", 100 * shape->share);
  dq_table_put_text(table, "algorithm", shape->algorithm);
  dq_table_put_text(table, "run", shape->run);
  dq_table_put_text(table, "source", !shape->has_record ? "not measured" : shape->was_known ? "known" : "measured");
  if (!shape->has_record) return;
  dq_table_put_format(table, "choice", "%s%s", shape->record.withdrawn ? "not used: " : "",
                      dq_choice_text(&shape->record.choice, choice));
  put_times(table, &shape->record);
  if (shape->gain > 0) dq_table_put_real(table, "gain_share", 100 * shape->gain / gains);
}

static void put_network(dq_table *table, const dq_tune_report *tuned, int threads) {
  dq_table_row(table);
  dq_table_put_int(table, "steps", tuned->steps);
  dq_table_put_int(table, "shapes", tuned->shape_count);
  dq_table_put_int(table, "known", tuned->known);
  dq_table_put_int(table, "measured", tuned->measured);
  dq_table_put_int(table, "chosen", tuned->chosen);
  dq_table_put_int(table, "candidates", tuned->candidates);
  dq_table_put_int(table, "candidates_known", tuned->tried_before);
  dq_table_put_int(table, "candidates_measured", tuned->tried);
  if (tuned->has_part_loss) dq_table_put_real(table, "part_loss", 100 * tuned->part_loss);
  dq_table_put_int(table, "runs", tuned->runs);
  if (tuned->rounds.are_watched) dq_table_put_int(table, "disturbed", tuned->rounds.disturbed);
  dq_table_put_int(table, "threads", threads);
  if (tuned->has_control) {
    dq_table_put_real(table, "control_low", tuned->control.low);
    dq_table_put_real(table, "control_high", tuned->control.high);
  }
  if (tuned->has_network) put_times(table, &tuned->network);
  dq_table_put_bool(table, "used", tuned->chosen > 0);
}

static void put_families(dq_table *table, const dq_tune_report *tuned) {
  for (int f = 0; f < tuned->family_count; f++) {
    const dq_tune_family *family = &tuned->families[f];
    dq_table_row(table);
    dq_table_put_text(table, "family", family->name);
    dq_table_put_int(table, "candidates", family->candidates);
    dq_table_put_int(table, "measured", family->measured);
    if (!isnan(family->correlation)) dq_table_put_real(table, "correlation", family->correlation);
  }
}

void dq_report_tune(dq_report *report, const dq_tune_report *tuned, int threads) {
  double gains = 0;
  dq_table *shapes = dq_report_table(report, &shape_layout);
  dq_table_column_files_only(shapes, "run");
  for (int i = 0; i < tuned->shape_count; i++) gains += tuned->shapes[i].gain;
  for (int i = 0; i < tuned->shape_count; i++) put_shape(shapes, &tuned->shapes[i], gains);
  if (tuned->family_count) put_families(dq_report_table(report, &family_layout), tuned);
  put_network(dq_report_table(report, &network_layout), tuned, threads);
}
