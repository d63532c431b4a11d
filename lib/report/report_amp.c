#include "lib/report/report_amp.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/render/text.h"

static const dq_column node_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 48, 0},      {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 1},
    {"colour", "Colour", DQ_COLUMN_TEXT, NULL, 0, 8, 3},   {"precision", "Precision", DQ_COLUMN_TEXT, NULL, 0, 8, 2},
    {"reason", "Reason", DQ_COLUMN_TEXT, NULL, 0, 80, -1},
};
static const dq_table_layout node_layout = {"nodes", NULL, node_columns, DQ_COUNT(node_columns), false};

static const dq_column model_columns[] = {
    {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"float16", "In float16", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"guarded", "In float32 by the guard", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"proven", "Values proven to fit", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"estimated", "Values estimated to fit", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"unbounded", "Values of unknown range", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"weights", "Weights in float16", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"kept_weights", "Weights in float32", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"lost_to_zero", "Weights too small, now zero", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"turned", "Weights not rounded to nearest", DQ_COLUMN_COUNT, NULL, 0, 0, 0},
    {"noise_sqnr_db", "SQNR on noise (dB)", DQ_COLUMN_REAL, NULL, 1, 0, 0},
    {"casts", "Casts", DQ_COLUMN_INT, NULL, 0, 0, 0},
    {"cast_bytes", "Bytes cast in a run", DQ_COLUMN_BYTES, NULL, 0, 0, 0},
};
static const dq_table_layout model_layout = {"model", NULL, model_columns, DQ_COUNT(model_columns), true};

static void put_nodes(dq_report *report, const dq_amp_report *facts) {
  static const char *const categories[] = {"DENY", "ALLOW", "FOLLOW"};
  dq_table *table = dq_report_table(report, &node_layout);
  for (int i = 0; i < facts->count; i++) {
    const dq_amp_node *node = &facts->nodes[i];
    dq_table_row(table);
    dq_table_put_text(table, "node", node->name[0] ? node->name : "(no name)");
    dq_table_put_text(table, "op", node->op_type);
    dq_table_put_text(table, "colour", categories[node->category]);
    dq_table_put_text(table, "precision", node->neutral ? "-" : node->half ? "float16" : "float32");
    dq_table_put_text(table, "reason", node->reason);
  }
}

static const dq_column unlisted_columns[] = {
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 0, 0},
    {"nodes", "Nodes", DQ_COLUMN_INT, NULL, 0, 0, 0},
};
static const dq_table_layout unlisted_layout = {"unlisted", "Operators that no list has, left in float32",
                                                unlisted_columns, DQ_COUNT(unlisted_columns), false};

// Nodes up to `until` of the operator of node i that no list has.
static int count_unlisted(const dq_amp_report *facts, int i, int until) {
  int count = 0;
  for (int n = 0; n < until; n++)
    count += facts->nodes[n].unlisted && !strcmp(facts->nodes[n].op_type, facts->nodes[i].op_type);
  return count;
}

static void put_unlisted(dq_report *report, const dq_amp_report *facts) {
  dq_table *table = NULL;
  for (int i = 0; i < facts->count; i++) {
    if (!facts->nodes[i].unlisted || count_unlisted(facts, i, i)) continue;
    if (!table) table = dq_report_table(report, &unlisted_layout);
    dq_table_row(table);
    dq_table_put_text(table, "op", facts->nodes[i].op_type);
    dq_table_put_int(table, "nodes", count_unlisted(facts, i, facts->count));
  }
}

static void report_speed(dq_report *report, const dq_amp_report *facts, bool half_products) {
  char kept[32], all[32];
  if (facts->kept_weights > facts->weights) {
    dq_format_count((double)facts->kept_weights, kept, sizeof kept);
    dq_format_count((double)(facts->kept_weights + facts->weights), all, sizeof all);
    dq_report_add_note(report,
                       "Little smaller: %s of %s weights stay in float32, most of them in %s (--explain says why).",
                       kept, all, facts->keeper);
  } else
    dq_report_add_note(
        report, half_products ? "Smaller; whether it is faster depends on the runtime (dq-bench tells): this processor "
                                "has float16 arithmetic."
                              : "Smaller, not faster: this processor has no float16 arithmetic.");
}

static const dq_column check_columns[] = {
    {"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 48, 0},
    {"op", "Operator", DQ_COLUMN_TEXT, NULL, 0, 20, 3},
    {"largest", "Largest", DQ_COLUMN_SIGNIFICANT, NULL, 4, 0, 2},
    {"overflow", "Beyond 65504", DQ_COLUMN_INT, NULL, 0, 0, 1},
    {"overflow_share", "Share", DQ_COLUMN_PERCENT, NULL, 3, 0, 1},
    {"subnormal_share", "Below 2^-14", DQ_COLUMN_PERCENT, NULL, 3, 0, 4},
};
static const dq_table_layout check_layout = {"check", "Values in float16 on the pictures", check_columns,
                                             DQ_COUNT(check_columns), false};

static void put_check(dq_report *report, const dq_report_amp_options *options) {
  int overflowed = 0; // layers
  dq_table *table = dq_report_table(report, &check_layout);
  for (int i = 0; i < options->range_count; i++) {
    const dq_amp_range *range = &options->ranges[i];
    double share = range->elements ? 100.0 / (double)range->elements : 0;
    overflowed += range->overflow > 0;
    dq_table_row(table);
    dq_table_put_text(table, "node", range->name);
    dq_table_put_text(table, "op", range->op_type);
    dq_table_put_real(table, "largest", range->largest);
    dq_table_put_int(table, "overflow", range->overflow);
    dq_table_put_real(table, "overflow_share", share * (double)range->overflow);
    dq_table_put_real(table, "subnormal_share", share * (double)range->subnormal);
    if (range->overflow) dq_table_mark(table, "overflow", DQ_MARK_BAD);
  }
  dq_report_add_note(report, "%d of %d layers have values beyond 65504 on %" PRId64 " pictures.", overflowed,
                     options->range_count, options->pictures);
}

static void put_model(dq_report *report, const dq_amp_report *facts, bool guarded) {
  dq_table *model = dq_report_table(report, &model_layout);
  dq_table_row(model);
  dq_table_put_int(model, "nodes", facts->count);
  dq_table_put_int(model, "float16", facts->halves);
  if (guarded) {
    dq_table_put_int(model, "guarded", facts->guarded);
    dq_table_put_int(model, "proven", facts->proven);
    dq_table_put_int(model, "estimated", facts->estimated);
    dq_table_put_int(model, "unbounded", facts->unbounded);
  }
  dq_table_put_int(model, "weights", facts->weights);
  if (facts->kept_weights) dq_table_put_int(model, "kept_weights", facts->kept_weights);
  dq_table_put_int(model, "lost_to_zero", facts->lost_to_zero);
  if (facts->probed) {
    dq_table_put_int(model, "turned", facts->not_nearest);
    if (!isnan(facts->noise_sqnr)) dq_table_put_real(model, "noise_sqnr_db", facts->noise_sqnr);
  }
  dq_table_put_int(model, "casts", facts->casts);
  if (!facts->sizes_unknown) dq_table_put_int(model, "cast_bytes", facts->cast_bytes);
}

void dq_report_amp(dq_report *report, const dq_amp_report *facts, const dq_report_amp_options *options) {
  if (options->nodes) put_nodes(report, facts);
  put_unlisted(report, facts);
  if (options->ranges) put_check(report, options);
  put_model(report, facts, options->guarded);
  if (facts->halves || facts->kept_weights) report_speed(report, facts, options->half_products);
}
