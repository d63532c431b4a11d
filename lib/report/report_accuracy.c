#include "lib/report/report_accuracy.h"

#include "lib/base/sizes.h"

static const dq_column one_columns[] = {
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 40, 0},   {"key", "Key", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"value", "Value", DQ_COLUMN_REAL, NULL, 4, 0, 0},      {"unit", "Unit", DQ_COLUMN_TEXT, NULL, 0, 8, 1},
    {"pictures", "Pictures", DQ_COLUMN_INT, NULL, 0, 0, 2}, {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
};
static const dq_table_layout one_layout = {"accuracy", "Accuracy", one_columns, DQ_COUNT(one_columns), false};

static const dq_column change_columns[] = {
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 40, 0},   {"key", "Key", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"before", "Before", DQ_COLUMN_REAL, NULL, 4, 0, 0},    {"after", "After", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"change", "Change", DQ_COLUMN_REAL, NULL, 4, 0, 0},    {"unit", "Unit", DQ_COLUMN_TEXT, NULL, 0, 8, 1},
    {"pictures", "Pictures", DQ_COLUMN_INT, NULL, 0, 0, 2}, {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
};
static const dq_table_layout change_layout = {"accuracy", "Accuracy", change_columns, DQ_COUNT(change_columns), false};

static const dq_column retrained_columns[] = {
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 40, 0},
    {"key", "Key", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"before", "Before", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"converted", "Converted", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"after", "Retrained", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"change", "Change", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"unit", "Unit", DQ_COLUMN_TEXT, NULL, 0, 8, 1},
    {"pictures", "Pictures", DQ_COLUMN_INT, NULL, 0, 0, 2},
    {"nonfinite", "Not finite", DQ_COLUMN_INT, NULL, 0, 0, 1},
};
static const dq_table_layout retrained_layout = {"accuracy", "Accuracy", retrained_columns, DQ_COUNT(retrained_columns),
                                                 false};

// A row with what all tables say of a figure.
static void begin_row(dq_table *table, const dq_result *result, const dq_figure *figure) {
  dq_table_row(table);
  dq_table_put_text(table, "figure", figure->name);
  dq_table_put_text(table, "key", figure->key);
  if (figure->unit[0]) dq_table_put_text(table, "unit", figure->unit);
  dq_table_put_int(table, "pictures", result->pictures);
  if (!result->nonfinite) return;
  dq_table_put_int(table, "nonfinite", result->nonfinite);
  dq_table_mark(table, "nonfinite", DQ_MARK_BAD);
}

void dq_report_accuracy(dq_report *report, const dq_result *result) {
  if (!result->count) return;
  dq_table *table = dq_report_table(report, &one_layout);
  for (int i = 0; i < result->count; i++) {
    begin_row(table, result, &result->figures[i]);
    dq_table_put_real(table, "value", result->figures[i].value);
  }
}

static void add_changes(dq_report *report, const dq_table_layout *layout, const dq_result *before,
                        const dq_result *converted, const dq_result *after) {
  if (!before->count || before->count != after->count) return;
  dq_table *table = dq_report_table(report, layout);
  for (int i = 0; i < before->count; i++) {
    begin_row(table, after, &after->figures[i]);
    dq_table_put_real(table, "before", before->figures[i].value);
    if (converted) dq_table_put_real(table, "converted", converted->figures[i].value);
    dq_table_put_real(table, "after", after->figures[i].value);
    dq_table_put_real(table, "change", after->figures[i].value - before->figures[i].value);
  }
}

void dq_report_accuracy_change(dq_report *report, const dq_result *before, const dq_result *after) {
  add_changes(report, &change_layout, before, NULL, after);
}

void dq_report_accuracy_retrained(dq_report *report, const dq_result *before, const dq_result *converted,
                                  const dq_result *after) {
  if (converted->count == before->count) add_changes(report, &retrained_layout, before, converted, after);
}
