#include "lib/report/report_verdict.h"

#include <inttypes.h>
#include <math.h>

#include "lib/base/sizes.h"

static const dq_column columns[] = {
    {"output", "Output", DQ_COLUMN_TEXT, NULL, 0, 32, 0},
    {"channels", "Channels", DQ_COLUMN_TEXT, NULL, 0, 24, 2},
    {"compared", "Compared", DQ_COLUMN_TEXT, NULL, 0, 24, 4},
    {"sqnr", "SQNR", DQ_COLUMN_REAL, "dB", 2, 0, 0},
    {"sqnr_low", "From", DQ_COLUMN_REAL, "dB", 1, 0, 2},
    {"sqnr_high", "To", DQ_COLUMN_REAL, "dB", 1, 0, 2},
    {"answers", "Answers", DQ_COLUMN_TEXT, NULL, 0, 12, 1},
    {"agreement", "Kept", DQ_COLUMN_PERCENT, NULL, 2, 0, 1},
    {"agreement_low", "From", DQ_COLUMN_PERCENT, NULL, 1, 0, 2},
    {"agreement_high", "To", DQ_COLUMN_PERCENT, NULL, 1, 0, 2},
    {"count", "Number", DQ_COLUMN_INT, NULL, 0, 0, 3},
};
static const dq_table_layout outputs_layout = {"outputs", "Outputs against the float model", columns, DQ_COUNT(columns),
                                               false};
static const dq_table_layout parts_layout = {"parts", "Parts of outputs, and answers", columns, DQ_COUNT(columns),
                                             false};

static void put_interval(dq_table *table, const char *low, const char *high, const dq_interval *interval) {
  if (isnan(interval->low)) return;
  dq_table_put_real(table, low, interval->low);
  dq_table_put_real(table, high, interval->high);
}

static void put_verdict(dq_report *report, const dq_verdict *verdict, const dq_table_layout *layout) {
  char text[600];
  if (!verdict->count) return;
  dq_table *table = dq_report_table(report, layout);
  const bool others = dq_verdict_tells_of_others(verdict);
  for (int i = 0; i < verdict->count; i++) {
    const dq_verdict_part *part = &verdict->parts[i];
    dq_table_row(table);
    dq_table_put_text(table, "output", part->output);
    if (!part->whole)
      dq_table_put_format(table, "channels", "%" PRId64 " to %" PRId64, part->first, part->first + part->channels - 1);
    if (part->function) dq_table_put_format(table, "compared", "before %s", part->function);
    dq_table_put_real(table, "sqnr", part->sqnr);
    if (!(part->sqnr >= dq_ruinous_bounds.sqnr)) dq_table_mark(table, "sqnr", DQ_MARK_BAD);
    if (others) put_interval(table, "sqnr_low", "sqnr_high", &part->others);
    if (part->answers.kind == DQ_ANSWER_NONE) continue;
    dq_table_put_text(table, "answers", dq_answers_name(&part->answers));
    dq_table_put_real(table, "agreement", dq_answers_agreement(&part->answers));
    if (others) put_interval(table, "agreement_low", "agreement_high", &part->kept);
    dq_table_put_int(table, "count", part->answers.answers);
  }
  dq_report_add_note(report, "%s", dq_verdict_text(verdict, text, sizeof text));
}

void dq_report_verdict(dq_report *report, const dq_verdict *verdict) { put_verdict(report, verdict, &outputs_layout); }
void dq_report_parts(dq_report *report, const dq_verdict *verdict) { put_verdict(report, verdict, &parts_layout); }
