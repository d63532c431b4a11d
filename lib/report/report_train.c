#include "lib/report/report_train.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/sizes.h"
#include "lib/render/chart.h"

static const dq_column epoch_columns[] = {
    {"epoch", "Epoch", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"steps", "Steps", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"rate", "Learning rate", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 4},
    {"loss", "Loss", DQ_COLUMN_REAL, NULL, 4, 0, 1},
    {"right", "Right", DQ_COLUMN_PERCENT, NULL, 2, 0, 2},
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 0, 3},
    {"validation", "Validation", DQ_COLUMN_REAL, NULL, 4, 0, 1},
    {"kept", "Kept", DQ_COLUMN_BOOL, NULL, 0, 0, 3},
    {"pictures_per_second", "Pictures/s", DQ_COLUMN_REAL, NULL, 0, 0, 6},
    {"seconds", "Seconds", DQ_COLUMN_REAL, NULL, 1, 0, 6},
};
static const dq_table_layout epoch_layout = {"epochs", "Epochs", epoch_columns, DQ_COUNT(epoch_columns), false};

static const dq_column training_columns[] = {
    {"figure", "Figure", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"unit", "Unit", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"before", "Before", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"after", "After", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"change", "Change", DQ_COLUMN_REAL, NULL, 4, 0, 0},
    {"kept", "Epoch kept", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"resumed_steps", "Steps of the checkpoint", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"memory", "Memory announced", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
};
static const dq_table_layout training_layout = {"training", NULL, training_columns, DQ_COUNT(training_columns), true};

static const dq_chart_layout loss_layout = {
    "Loss", "Mean over the steps of each epoch.", DQ_CHART_COLUMNS, {"loss", NULL}, DQ_COLUMN_REAL, 4, NULL};
static const dq_chart_layout figure_layout = {"Validation",
                                              "The figure after each epoch; the line is the model before.",
                                              DQ_CHART_COLUMNS,
                                              {"figure", NULL},
                                              DQ_COLUMN_REAL,
                                              2,
                                              NULL};

static void put_epoch(dq_table *table, const dq_train_report *training, int64_t i) {
  const dq_train_epoch *epoch = &training->epochs[i];
  dq_table_row(table);
  dq_table_put_int(table, "epoch", i + 1);
  dq_table_put_int(table, "steps", epoch->steps);
  dq_table_put_real(table, "rate", epoch->rate);
  dq_table_put_real(table, "loss", epoch->loss);
  if (!isnan(epoch->right)) dq_table_put_real(table, "right", epoch->right);
  dq_table_put_text(table, "figure", training->figure.name);
  dq_table_put_real(table, "validation", epoch->figure);
  dq_table_put_bool(table, "kept", i + 1 == training->kept);
  dq_table_put_real(table, "pictures_per_second", (double)(epoch->steps * training->batch) / epoch->seconds);
  dq_table_put_real(table, "seconds", epoch->seconds);
}

static void put_training(dq_report *report, const dq_train_report *training) {
  dq_table *table = dq_report_table(report, &training_layout);
  dq_table_row(table);
  dq_table_put_text(table, "figure", training->figure.name);
  dq_table_put_text(table, "unit", training->figure.unit);
  dq_table_put_real(table, "before", training->start);
  dq_table_put_real(table, "after", training->figure.value);
  dq_table_put_real(table, "change", training->figure.value - training->start);
  dq_table_put_int(table, "kept", training->kept);
  if (training->resumed) dq_table_put_int(table, "resumed_steps", training->resumed);
  dq_table_put_int(table, "memory", (int64_t)training->memory);
}

static void put_charts(dq_report *report, const dq_train_report *training) {
  dq_chart *loss = dq_report_chart(report, &loss_layout), *figure = dq_report_chart(report, &figure_layout);
  dq_chart_line(figure, training->start, "before");
  for (int64_t i = 0; i < training->count; i++) {
    char label[24];
    snprintf(label, sizeof label, "%lld", (long long)i + 1);
    dq_chart_add(loss, label, training->epochs[i].loss, NAN);
    dq_chart_add(figure, label, training->epochs[i].figure, NAN);
  }
}

void dq_report_train(dq_report *report, const dq_train_report *training) {
  dq_table *table = dq_report_table(report, &epoch_layout);
  for (int64_t i = 0; i < training->count; i++) put_epoch(table, training, i);
  put_training(report, training);
  put_charts(report, training);
  if (training->out_of_time) dq_report_add_note(report, "The time limit ended the training; --resume continues it.");
  if (training->out_of_patience)
    dq_report_add_note(report, "The training ended because no further epoch was better than the best.");
}
