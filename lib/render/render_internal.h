// The insides of a report, for the files that show it.
#ifndef DQ_RENDER_INTERNAL_H
#define DQ_RENDER_INTERNAL_H

#include "lib/base/arena.h"
#include "lib/render/chart.h"
#include "lib/render/report.h"

typedef enum dq_cell_kind { DQ_CELL_EMPTY, DQ_CELL_TEXT, DQ_CELL_INT, DQ_CELL_REAL, DQ_CELL_BOOL } dq_cell_kind;

typedef struct dq_cell {
  unsigned char kind; // dq_cell_kind
  unsigned char mark; // dq_mark
  bool lower;         // a lower bound
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
  dq_cell *total;   // NULL: none; in the arena
  dq_cell *current; // the row the put functions fill
  bool files_only;  // not in text and CSV
  bool not_csv;
  dq_table *head;              // rows that CSV has before these; NULL: none
  bool grouped;                // pages show the first column once, above the rows it is equal in
  uint64_t files_only_columns; // not in text: bit i is column i
};

typedef struct dq_chart_entry {
  const char *label;
  double values[2];
  dq_mark mark;
  dq_chart_histogram *histogram; // of DQ_CHART_HISTOGRAMS
  struct dq_chart_entry *next;
} dq_chart_entry;

struct dq_chart {
  const dq_chart_layout *layout;
  dq_report *report;
  dq_chart *next;
  dq_chart_entry *entries, *last;
  int count;
  double line; // NaN: none
  const char *line_label;
};

typedef struct dq_report_line {
  const char *text;
  struct dq_report_line *next;
} dq_report_line;

struct dq_report {
  dq_arena *arena;
  const char *schema, *title;
  int version;
  dq_table *tables, *last_table;
  dq_chart *charts, *last_chart;
  dq_report_line *notes, *last_note;
  dq_status failure; // the first one while building, DQ_OK: none
  dq_error failure_error;
};

// A cell as people read it, at most `columns` wide when it is a text. Returns `text`.
const char *dq_cell_text(const dq_column *column, const dq_cell *cell, int columns, char *text, size_t size);
bool dq_column_numeric(const dq_column *column);
double dq_cell_number(const dq_cell *cell); // NaN for empty and text

// Whether any row or the total has something in this column; whether text shows it when there is room.
bool dq_table_column_used(const dq_table *table, int column);
bool dq_table_column_shown(const dq_table *table, int column);

// "SQNR (dB)".
const char *dq_column_title(const dq_column *column, char *text, size_t size);

// The widths of a table's columns as text, 0 for those that are not shown.
enum { DQ_COLUMNS = 64, DQ_COLUMN_GAP = 2 };
typedef struct dq_columns {
  int count;
  int widths[DQ_COLUMNS];
} dq_columns;

// Widths for a terminal of `available` columns, 0: no bound. Where the table is wider, columns are left out by
// their priority; where that is not enough, reasons and then names are shortened, names only as far as those that
// differ are shown differently: then the table stays wider than the terminal.
void dq_columns_lay_out(const dq_table *table, int available, dq_columns *columns);

dq_status dq_report_print_text(const dq_report *report, const dq_text_style *style, FILE *stream, dq_error *error);
// The table that CSV writes; NULL: none.
const dq_table *dq_report_csv_table(const dq_report *report);
dq_status dq_report_print_csv(const dq_report *report, FILE *stream, dq_error *error);
dq_status dq_report_print_json(const dq_report *report, FILE *stream, dq_error *error);
// As dq_html_escaped; a page may break the line behind each character of `breaks`.
void dq_html_escaped_breaking(FILE *stream, const char *text, const char *breaks);
extern const char dq_chart_style[];
void dq_report_print_charts(const dq_report *report, FILE *stream);
dq_status dq_report_print_html(const dq_report *report, FILE *stream, dq_error *error);

#endif
