// The members of reports, tables and charts, for the files of this module that build and print them.
#ifndef DQ_RENDER_INTERNAL_H
#define DQ_RENDER_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/render/chart.h"
#include "lib/render/report.h"

typedef enum dq_cell_kind { DQ_CELL_EMPTY, DQ_CELL_TEXT, DQ_CELL_INT, DQ_CELL_REAL, DQ_CELL_BOOL } dq_cell_kind;

typedef struct dq_cell {
  unsigned char kind; // dq_cell_kind
  unsigned char mark; // dq_mark
  bool lower;         // the number is a lower bound (dq_table_at_least)
  union {
    const char *text;
    int64_t whole; // INT and BOOL
    double real;
  };
} dq_cell;

struct dq_table {
  const dq_table_layout *layout;
  dq_report *report;
  dq_table *next;
  dq_cell *cells; // row_count rows of column_count cells, malloc
  int64_t row_count, row_capacity;
  dq_cell *total;              // NULL: none; in the arena
  dq_cell *current;            // the row that the put functions fill
  bool files_only;             // see dq_table_files_only
  bool not_csv;                // see dq_table_not_csv
  dq_table *head;              // rows that CSV has in front of these (dq_table_csv_head); NULL: none
  bool grouped;                // see dq_table_group
  uint64_t files_only_columns; // bit i is set when text leaves column i out
};

typedef struct dq_chart_span {
  int series;
  double from, to;
  const char *text;
  struct dq_chart_span *next;
} dq_chart_span;

typedef struct dq_chart_entry {
  const char *label;
  double values[2];
  dq_mark mark;
  dq_chart_histogram *histogram;    // of DQ_CHART_HISTOGRAMS
  dq_chart_span *spans, *last_span; // of DQ_CHART_TRACKS
  struct dq_chart_entry *next;
} dq_chart_entry;

typedef struct dq_report_line {
  const char *text;
  struct dq_report_line *next;
} dq_report_line;

struct dq_chart {
  const dq_chart_layout *layout;
  dq_report *report;
  dq_chart *next;
  dq_chart_entry *entries, *last;
  int count;
  double line; // NaN: none
  const char *line_label;
  dq_report_line *series, *last_series; // of DQ_CHART_TRACKS
};

struct dq_report {
  dq_arena *arena;
  const char *schema, *title;
  int version;
  dq_table *tables, *last_table;
  dq_chart *charts, *last_chart;
  dq_report_line *notes, *last_note;
  dq_status failure; // the first failure while the report was built; DQ_OK: none
  dq_error failure_error;
};

// Stores that there was no memory for `bytes` bytes (0: of any size), unless the report has failed before.
void dq_report_fail_memory(dq_report *report, size_t bytes);

// Writes a cell in the format for people into `text` of `size` bytes and returns `text`. A text is cut to `columns`
// columns of a terminal.
const char *dq_cell_text(const dq_column *column, const dq_cell *cell, int columns, char *text, size_t size);
bool dq_column_numeric(const dq_column *column); // whether its type is one of numbers: not TEXT and not BOOL
double dq_cell_number(const dq_cell *cell);      // NaN for empty cells and texts

// Whether any row or the row of totals has a cell in this column that is not empty.
bool dq_table_column_used(const dq_table *table, int column);
// Whether text shows the column when the terminal is wide enough: columns without any cell are not shown. Reads the
// whole column.
bool dq_table_column_shown(const dq_table *table, int column);

// Writes title and unit, such as "SQNR (dB)", into `text` and returns `text`.
const char *dq_column_title(const dq_column *column, char *text, size_t size);

// Widths of the columns of a table as text, in columns of the terminal; 0 for a column that is not shown.
enum { DQ_COLUMNS = 64, DQ_COLUMN_GAP = 2 };
typedef struct dq_columns {
  int count;
  int widths[DQ_COLUMNS];
} dq_columns;

// Computes widths for a terminal of `available` columns; 0: no limit. Where the table is too wide, columns are left out
// by their priority. Where that is not enough, reasons and then names are shortened. Different names stay different, so
// that a table can remain wider than the terminal.
void dq_columns_lay_out(const dq_table *table, int available, dq_columns *columns);

// Each dq_report_print_* prints a report in one format to the stream; the caller has checked that nothing failed while
// the report was built (dq_report.failure). DQ_SYSTEM: writing failed, or there is no memory. dq_report_print_text
// returns DQ_OK always: its caller finds a failed write when it flushes or closes the stream. `style` NULL: without
// colours and limit.
dq_status dq_report_print_text(const dq_report *report, const dq_text_style *style, FILE *stream, dq_error *error);
// The table that CSV writes; NULL: the report has none.
const dq_table *dq_report_csv_table(const dq_report *report);
dq_status dq_report_print_csv(const dq_report *report, FILE *stream, dq_error *error);
dq_status dq_report_print_json(const dq_report *report, FILE *stream, dq_error *error);
// Writes a text as dq_html_escaped does, with an optional line break behind each character that is in `breaks`.
void dq_html_escaped_breaking(FILE *stream, const char *text, const char *breaks);
extern const char dq_chart_style[];
// Writes all charts of a report as HTML with inline SVG.
void dq_report_print_charts(const dq_report *report, FILE *stream);
// Writes a value as the layout says, with its unit.
void dq_chart_print_value(FILE *stream, const dq_chart_layout *layout, double value);
// Writes a coordinate: up to 2 decimals, without trailing zeros.
void dq_chart_print_number(FILE *stream, double value);
void dq_chart_print_tracks(FILE *stream, const dq_chart *chart); // writes a chart of DQ_CHART_TRACKS as SVG
dq_status dq_report_print_html(const dq_report *report, FILE *stream, dq_error *error);

#endif
