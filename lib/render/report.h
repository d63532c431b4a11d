// A report is a list of tables that can be written as text, CSV, JSON or HTML. The layout of a table gives each column
// a key (for programs), a title (for people), a type and a unit.
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
// The functions that build a report return no status: the first failure (no memory, an unknown key) is returned when
// the report is written. They accept NULL for report and table and do nothing then.
#ifndef DQ_RENDER_REPORT_H
#define DQ_RENDER_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/base/status.h"

// The format of the cells of a column in text and HTML. CSV and JSON have exact numbers.
typedef enum dq_column_type {
  DQ_COLUMN_TEXT,
  DQ_COLUMN_INT,         // all digits
  DQ_COLUMN_COUNT,       // MACs, parameters: 352.54 M
  DQ_COLUMN_BYTES,       // 4.7 MB
  DQ_COLUMN_REAL,        // with `decimals` decimals
  DQ_COLUMN_SIGNIFICANT, // `decimals` significant digits: scales, errors
  DQ_COLUMN_PERCENT,     // the number is in percent or percentage points
  DQ_COLUMN_BOOL,        // yes, no
} dq_column_type;

typedef struct dq_column {
  const char *key;   // in JSON and CSV: lower case with '_'
  const char *title; // in text and HTML
  dq_column_type type;
  const char *unit; // shown behind the title; NULL: none
  int decimals;
  int width;    // of a TEXT: columns of a terminal before the middle of the text is cut; 0: 40
  int priority; // on a narrow terminal: 0: always shown (names; shortened last); 1 and more: left out, the largest
                // number first, columns of equal number together; -1: always shown, cut as far as needed (reasons)
} dq_column;

typedef struct dq_table_layout { // must outlive the report
  const char *key, *title;       // title NULL: no heading
  const dq_column *columns;
  int column_count;
  bool record; // the table has one row: lines "title: value" in text, an object in JSON
} dq_table_layout;

typedef enum dq_mark { DQ_MARK_NONE, DQ_MARK_GOOD, DQ_MARK_WARN, DQ_MARK_BAD } dq_mark;

typedef struct dq_report dq_report;
typedef struct dq_table dq_table;

// Makes a report without tables. `schema` names the kind of the JSON ("dq-int8"), and `version` is raised with every
// incompatible change of it. NULL when there is no memory; writing NULL gives DQ_SYSTEM.
dq_report *dq_report_new(const char *schema, int version, const char *title);
void dq_report_free(dq_report *report);

// Adds a table, which the report owns.
dq_table *dq_report_table(dq_report *report, const dq_table_layout *layout);

// Adds a sentence below the tables; an element of "notes" in JSON.
void dq_report_add_note(dq_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Begins a row of empty cells, or the row of totals, which is shown last and is an object of its own in JSON
// ("layers_total"). The put functions fill the row that was begun last; `key` is the key of a column.
void dq_table_row(dq_table *table);
void dq_table_total_row(dq_table *table);
void dq_table_put_text(dq_table *table, const char *key, const char *text); // copied; NULL leaves the cell empty
void dq_table_put_format(dq_table *table, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void dq_table_put_int(dq_table *table, const char *key, int64_t value);
void dq_table_put_real(dq_table *table, const char *key, double value); // NaN and infinity are null in JSON
void dq_table_put_bool(dq_table *table, const char *key, bool value);
void dq_table_mark(dq_table *table, const char *key, dq_mark mark); // sets the colour of the cell
void dq_table_at_least(dq_table *table, const char *key);           // text and HTML show the number as a lower bound
int64_t dq_table_rows(const dq_table *table);                       // number of rows without the row of totals

// A second table with the same columns. Only CSV has its rows: in front of the rows of `table`, and in the order in
// which they were added, also after dq_table_sort. NULL when there is no memory.
dq_table *dq_table_csv_head(dq_table *table);

// Leaves the table out of CSV. CSV has one table: the first that is neither a record nor left out.
void dq_table_not_csv(dq_table *table);

// Leaves the table out of text and CSV; JSON and HTML have it.
void dq_table_files_only(dq_table *table);

// Lets HTML show the first column, which must be a text in every row, as a heading above neighbouring rows with equal
// texts.
void dq_table_group(dq_table *table);

// Leaves a column out of text; the other formats have it.
void dq_table_column_files_only(dq_table *table, const char *key);

// Sorts the rows by a column, in n log n time; equal rows keep their order, and the row of totals stays last. Texts
// ascend by their bytes whatever `ascending` says; numbers descend unless `ascending`, false before true as 0 and 1;
// NaN comes behind all numbers, and empty cells come last. The next put functions need a new row. DQ_USAGE, with the
// most similar key as the hint: the table has no column of that key. DQ_SYSTEM: `table` is NULL, because making it
// failed, or there is no memory; the rows then have their old order.
dq_status dq_table_sort(dq_table *table, const char *key, bool ascending, dq_error *error);

// Decides by name which rows a table has. A NULL filter, or `shown` NULL, admits all rows.
typedef struct dq_report_filter {
  bool (*shown)(const void *user, const char *name);
  const void *user;
} dq_report_filter;
static inline bool dq_report_shows(const dq_report_filter *filter, const char *name) {
  return !filter || !filter->shown || filter->shown(filter->user, name);
}

typedef enum dq_report_format {
  DQ_FORMAT_TEXT,
  DQ_FORMAT_CSV, // one table (see dq_table_not_csv), as in RFC 4180
  DQ_FORMAT_JSON,
  DQ_FORMAT_HTML, // one page without other files, dark where the system of the reader prefers that
} dq_report_format;

typedef struct dq_text_style {
  bool color;
  int width; // columns of the terminal, to which wide tables are fitted; 0: no limit
} dq_text_style;

// Writes the report to a stream. `style` is used for DQ_FORMAT_TEXT; NULL: without colours and limit. Returns the first
// failure while the report was built, or DQ_SYSTEM when writing fails.
dq_status dq_report_print(const dq_report *report, dq_report_format format, const dq_text_style *style, FILE *stream,
                          dq_error *error);

// Writes the report as dq_report_print does, into a file, which appears under its name when it is complete; "-" is
// standard output.
dq_status dq_report_write(const dq_report *report, dq_report_format format, const char *path,
                          const dq_text_style *style, dq_error *error);

// Writes a text to `stream`; characters that have a meaning in HTML are escaped, control characters are written as
// \n and \xNN, bytes that are not UTF-8 as U+FFFD. A text of more than 1000 characters ends in an ellipsis.
void dq_html_escaped(FILE *stream, const char *text);

#endif
