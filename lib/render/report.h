// Facts described once and shown as text, CSV, JSON or HTML: a report is a few tables whose columns
// say key, title, type and unit.
//
//   static const dq_column columns[] = {{"node", "Node", DQ_COLUMN_TEXT, NULL, 0, 0, 0}, ...};
//   static const dq_table_layout layers = {"layers", "Layers", columns, 4, false};
//   dq_report *report = dq_report_new("dq-int8", 1, "INT8 quantization of a.onnx");
//   dq_table *table = dq_report_table(report, &layers);
//   dq_table_row(table);
//   dq_table_put_text(table, "node", name);
//   dq_table_put_real(table, "sqnr", 41.5);
//   dq_report_write(report, DQ_FORMAT_JSON, path, NULL, error);
//
// Building never fails at once: what went wrong (memory, an unknown key) is returned when the report
// is written.
#ifndef DQ_REPORT_REPORT_H
#define DQ_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/status.h"

// How a column's cells are shown to people. Programs (CSV, JSON) get exact numbers.
typedef enum dq_column_type {
  DQ_COLUMN_TEXT,
  DQ_COLUMN_INT,         // as it is
  DQ_COLUMN_COUNT,       // MACs, parameters: 352.54 M
  DQ_COLUMN_BYTES,       // 4.7 MB
  DQ_COLUMN_REAL,        // `decimals` digits behind the point
  DQ_COLUMN_SIGNIFICANT, // `decimals` significant digits: scales, errors
  DQ_COLUMN_PERCENT,     // already in percent or percentage points
  DQ_COLUMN_BOOL,        // yes, no
} dq_column_type;

typedef struct dq_column {
  const char *key;   // in JSON and CSV: lower case with '_'
  const char *title; // for people
  dq_column_type type;
  const char *unit; // shown behind the title, NULL: none
  int decimals;
  int width;    // TEXT: columns on a terminal before the middle is cut; 0: 40
  int priority; // what a narrow terminal shows. 0: always (names; shortened last). 1 and more: left out, the
                // largest first, all of one number together. -1: always, cut as far as needed (reasons).
} dq_column;

typedef struct dq_table_layout { // const, outlives the report
  const char *key, *title;       // title NULL: no heading
  const dq_column *columns;
  int column_count;
  bool record; // one row, shown as lines "title: value"; an object in JSON
} dq_table_layout;

typedef enum dq_mark { DQ_MARK_NONE, DQ_MARK_GOOD, DQ_MARK_WARN, DQ_MARK_BAD } dq_mark;

typedef struct dq_report dq_report;
typedef struct dq_table dq_table;

// `schema` names what the JSON holds ("dq-int8"), `version` counts its incompatible changes. NULL
// when there is no memory; every function takes NULL then, and writing fails.
dq_report *dq_report_new(const char *schema, int version, const char *title);
void dq_report_free(dq_report *report);

// Adds a table; owned by the report.
dq_table *dq_report_table(dq_report *report, const dq_table_layout *layout);

// A sentence below the tables; "notes" in JSON.
void dq_report_add_note(dq_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Begins a row of empty cells, or the row of totals, which is shown last and has an object of its own
// in JSON ("layers_total"). The put functions fill cells of the row begun last.
void dq_table_row(dq_table *table);
void dq_table_total_row(dq_table *table);
void dq_table_put_text(dq_table *table, const char *key, const char *text); // copied; NULL: empty
void dq_table_put_format(dq_table *table, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void dq_table_put_int(dq_table *table, const char *key, int64_t value);
void dq_table_put_real(dq_table *table, const char *key, double value); // NaN, Inf: null in JSON
void dq_table_put_bool(dq_table *table, const char *key, bool value);
void dq_table_mark(dq_table *table, const char *key, dq_mark mark); // colour of that cell
void dq_table_at_least(dq_table *table, const char *key);           // the number there is a lower bound: people read so
int64_t dq_table_rows(const dq_table *table);                       // without the totals

// Rows with the same columns that only the CSV of the table has, before its own and never sorted; NULL: no memory.
dq_table *dq_table_csv_head(dq_table *table);

// Leaves the table out of CSV, which has the first table that is not left out.
void dq_table_not_csv(dq_table *table);

// Leaves the table out of text and CSV: facts that stand in the other formats only.
void dq_table_files_only(dq_table *table);

// Pages show the first column, which is a text in every row, as a heading of the rows it is equal in.
void dq_table_group(dq_table *table);

// Leaves a column out of text.
void dq_table_column_files_only(dq_table *table, const char *key);

// Orders the rows by a column, equal ones staying in order and empty cells last; numbers descend
// unless `ascending`, texts ascend. DQ_USAGE for an unknown key, naming the nearest.
dq_status dq_table_sort(dq_table *table, const char *key, bool ascending, dq_error *error);

// Which rows a table is to show, by name. NULL or without `shown`: all.
typedef struct dq_report_filter {
  bool (*shown)(const void *user, const char *name);
  const void *user;
} dq_report_filter;
static inline bool dq_report_shows(const dq_report_filter *filter, const char *name) {
  return !filter || !filter->shown || filter->shown(filter->user, name);
}

typedef enum dq_report_format {
  DQ_FORMAT_TEXT,
  DQ_FORMAT_CSV, // the first table that is no record; RFC 4180
  DQ_FORMAT_JSON,
  DQ_FORMAT_HTML, // one self-contained page, dark when the reader's system is
} dq_report_format;

typedef struct dq_text_style {
  bool color;
  int width; // columns of the terminal, which wide tables leave columns out for; 0: no bound
} dq_text_style;

// Writes to a stream. `style` is for DQ_FORMAT_TEXT and may be NULL.
dq_status dq_report_print(const dq_report *report, dq_report_format format, const dq_text_style *style, FILE *stream,
                          dq_error *error);

// Writes a file atomically; "-" is standard output.
dq_status dq_report_write(const dq_report *report, dq_report_format format, const char *path,
                          const dq_text_style *style, dq_error *error);

// Writes a text to `stream`; characters that have a meaning in HTML are escaped, control characters are written as
// \n and \xNN, bytes that are not UTF-8 as U+FFFD. A text of more than 1000 characters ends in an ellipsis.
void dq_html_escaped(FILE *stream, const char *text);

#endif
