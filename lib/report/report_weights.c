#include "lib/report/report_weights.h"

#include "lib/base/sizes.h"

static const dq_column columns[] = {
    {"weight", "Weight", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"elements", "Elements", DQ_COLUMN_INT, NULL, 0, 0, 5},
    {"nan", "NaN", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"infinite", "Infinite", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"denormal", "Denormal", DQ_COLUMN_INT, NULL, 0, 0, 2},
    {"channels", "Channels", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"zero_channels", "all zero", DQ_COLUMN_INT, NULL, 0, 0, 3},
    {"outlier", "Outlier", DQ_COLUMN_SIGNIFICANT, "times the next", 3, 0, 4},
};
static const dq_table_layout layout = {"odd_weights", "Weights out of the ordinary", columns, (int)(DQ_COUNT(columns)),
                                       false};

static void put_found(dq_table *table, const char *column, int64_t found, bool bad) {
  if (!found) return;
  dq_table_put_int(table, column, found);
  if (bad) dq_table_mark(table, column, DQ_MARK_BAD);
}

void dq_report_weights(dq_report *report, const dq_odd_weight *odd, int count) {
  dq_table *table = count ? dq_report_table(report, &layout) : NULL;
  for (int i = 0; i < count; i++) {
    dq_table_row(table);
    dq_table_put_text(table, "weight", odd[i].name);
    dq_table_put_int(table, "elements", odd[i].elements);
    put_found(table, "nan", odd[i].nan, true);
    put_found(table, "infinite", odd[i].infinite, true);
    put_found(table, "denormal", odd[i].denormal, false);
    put_found(table, "channels", odd[i].zero_channels ? odd[i].channels : 0, false);
    put_found(table, "zero_channels", odd[i].zero_channels, false);
    if (odd[i].outlier > 0) dq_table_put_real(table, "outlier", odd[i].outlier);
  }
}
