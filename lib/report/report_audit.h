// Tables of the overflow audit.
#ifndef DQ_REPORT_REPORT_AUDIT_H
#define DQ_REPORT_REPORT_AUDIT_H

#include "lib/audit/audit.h"
#include "lib/render/report.h"

typedef struct dq_report_audit_options {
  bool channels;                                     // adds the table of output channels
  bool (*shown)(const void *user, const char *name); // whether a node has rows; NULL: all nodes have
  const void *user;                                  // first argument of `shown`
} dq_report_audit_options;

// Adds the tables `overflow` (shares of each layer), `overflow_verdicts`, `overflow_channels` and `not_audited`, each
// only when it has a row. Shares are in percent: the mean over pictures, and with _low and _high the least and largest.
// Returns the table `overflow`, which the caller may sort.
dq_table *dq_report_audit(dq_report *report, const dq_audit_report *audit, const dq_report_audit_options *options);

// Fills a cell with the text of a verdict, such as "can, but did not on 32". `overflowed` of `pictures` pictures
// overflowed.
void dq_report_put_verdict(dq_table *table, const char *key, dq_audit_verdict verdict, int64_t overflowed,
                           int64_t pictures);

#endif
