// The overflow audit as tables.
#ifndef DQ_REPORT_REPORT_AUDIT_H
#define DQ_REPORT_REPORT_AUDIT_H

#include "lib/audit/audit.h"
#include "lib/render/report.h"

typedef struct dq_report_audit_options {
  bool channels;                                     // a row per output channel too
  bool (*shown)(const void *user, const char *name); // which nodes; NULL: all
  const void *user;
} dq_report_audit_options;

// Adds the tables overflow (shares of each layer; returned, for sorting), overflow_verdicts,
// overflow_channels and not_audited, as far as there is something to say. Shares are percent: the
// average over pictures, _low and _high the extremes.
dq_table *dq_report_audit(dq_report *report, const dq_audit_report *audit, const dq_report_audit_options *options);

// A verdict in the audit's words: "can, but did not on 32".
void dq_report_put_verdict(dq_table *table, const char *key, dq_audit_verdict verdict, int64_t overflowed,
                           int64_t pictures);

#endif
