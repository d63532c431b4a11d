// Tables for people: aligned columns, long names cut, colour when wanted.
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

enum { CELL_SIZE = 1024 };

static const char *const mark_codes[] = {"", "\033[32m", "\033[33m", "\033[31m"};
static const char bold[] = "\033[1m", plain[] = "\033[0m";

// A table as it is shown.
typedef struct layout {
  const dq_table *table;
  const dq_text_style *style;
  dq_columns columns;
} layout;

static int larger(int a, int b) { return a > b ? a : b; }

static void spaces(FILE *stream, int count) {
  if (count > 0) fprintf(stream, "%*s", count, "");
}

// `text` in its column; nothing follows the last column's text.
static void print_aligned(FILE *stream, const char *text, int width, bool right, bool last, const char *code) {
  int padding = width - dq_text_columns(text);
  if (right) spaces(stream, padding);
  fprintf(stream, "%s%s%s", code, text, *code ? plain : "");
  if (!right && !last) spaces(stream, padding);
}

static int last_shown(const layout *l) {
  int last = 0;
  for (int i = 0; i < l->columns.count; i++)
    if (l->columns.widths[i]) last = i;
  return last;
}

static void print_header(const layout *l, FILE *stream) {
  int last = last_shown(l);
  bool first = true;
  for (int i = 0; i < l->columns.count; i++) {
    if (!l->columns.widths[i]) continue;
    char title[CELL_SIZE], fitted[CELL_SIZE];
    const dq_column *column = &l->table->layout->columns[i];
    dq_text_fit(dq_column_title(column, title, sizeof title), l->columns.widths[i], fitted, sizeof fitted);
    spaces(stream, first ? 0 : DQ_COLUMN_GAP);
    print_aligned(stream, fitted, l->columns.widths[i], dq_column_numeric(column), i == last,
                  l->style->color ? bold : "");
    first = false;
  }
  fputc('\n', stream);
}

static void print_row(const layout *l, const dq_cell *cells, FILE *stream) {
  int last = last_shown(l);
  bool first = true;
  for (int i = 0; i < l->columns.count; i++) {
    if (!l->columns.widths[i]) continue;
    char text[CELL_SIZE];
    const dq_column *column = &l->table->layout->columns[i];
    dq_cell_text(column, &cells[i], column->type == DQ_COLUMN_TEXT ? l->columns.widths[i] : 0, text, sizeof text);
    spaces(stream, first ? 0 : DQ_COLUMN_GAP);
    bool right = dq_column_numeric(column) && cells[i].kind != DQ_CELL_TEXT;
    print_aligned(stream, text, l->columns.widths[i], right, i == last,
                  l->style->color && *text ? mark_codes[cells[i].mark] : "");
    first = false;
  }
  fputc('\n', stream);
}

static void print_rule(const layout *l, FILE *stream) {
  int sum = -DQ_COLUMN_GAP;
  for (int i = 0; i < l->columns.count; i++) sum += l->columns.widths[i] ? l->columns.widths[i] + DQ_COLUMN_GAP : 0;
  for (int i = 0; i < sum; i++) fputc('-', stream);
  fputc('\n', stream);
}

// A sentence in lines as wide as the terminal, broken at spaces; in one line where the width is 0.
static void print_sentence(const char *text, int width, FILE *stream) {
  for (int at = 0; *text;) {
    int length = (int)strcspn(text, " ");
    bool breaks = width > 0 && at && at + 1 + length > width;
    if (at) fputc(breaks ? '\n' : ' ', stream);
    fprintf(stream, "%.*s", length, text);
    at = (at && !breaks ? at + 1 : 0) + length;
    text += length;
    text += *text == ' ';
  }
  fputc('\n', stream);
}

// Which columns the terminal is too narrow for, and where they are. `csv`: the file of --csv has this table.
static void print_left_out(const layout *l, bool csv, FILE *stream) {
  char text[2 * CELL_SIZE];
  size_t used = 0;
  int count = 0;
  for (int i = 0; i < l->columns.count && used < sizeof text; i++)
    if (!l->columns.widths[i] && dq_table_column_shown(l->table, i))
      used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
                               count++ ? "," : "Left out:", l->table->layout->columns[i].key);
  if (!count) return;
  if (used < sizeof text)
    snprintf(text + used, sizeof text - used, " (a wider terminal or %s shows %s)", csv ? "--csv" : "--json",
             count > 1 ? "them" : "it");
  print_sentence(text, l->style->width, stream);
}

static void print_list(const dq_table *table, const dq_text_style *style, bool csv, FILE *stream) {
  layout l = {.table = table, .style = style};
  dq_columns_lay_out(table, style->width, &l.columns);
  print_header(&l, stream);
  print_rule(&l, stream);
  int64_t columns = table->layout->column_count;
  for (int64_t row = 0; row < table->row_count; row++) print_row(&l, table->cells + row * columns, stream);
  if (table->total) {
    print_rule(&l, stream);
    print_row(&l, table->total, stream);
  }
  print_left_out(&l, csv, stream);
}

static void print_record(const dq_table *table, const dq_text_style *style, FILE *stream) {
  char text[CELL_SIZE];
  int width = 0, count = table->layout->column_count;
  for (int i = 0; table->row_count && i < count; i++)
    if (table->cells[i].kind != DQ_CELL_EMPTY) width = larger(width, dq_text_columns(table->layout->columns[i].title));
  for (int i = 0; table->row_count && i < count; i++) {
    const dq_column *column = &table->layout->columns[i];
    const dq_cell *cell = &table->cells[i];
    if (cell->kind == DQ_CELL_EMPTY) continue;
    const char *code = style->color ? mark_codes[cell->mark] : "";
    fprintf(stream, "%s:", column->title);
    spaces(stream, width - dq_text_columns(column->title) + 1);
    fprintf(stream, "%s%s", code, dq_cell_text(column, cell, column->width ? 0 : 120, text, sizeof text));
    if (column->unit) fprintf(stream, " %s", column->unit);
    fprintf(stream, "%s\n", *code ? plain : "");
  }
}

dq_status dq_report_print_text(const dq_report *report, const dq_text_style *style, FILE *stream, dq_error *error) {
  (void)error;
  static const dq_text_style simple = {false, 0};
  if (!style) style = &simple;
  bool first = true;
  for (const dq_table *table = report->tables; table; table = table->next) {
    if ((!table->row_count && !table->total) || table->files_only) continue;
    if (!first) fputc('\n', stream);
    first = false;
    if (table->layout->title)
      fprintf(stream, "%s%s%s\n", style->color ? bold : "", table->layout->title, style->color ? plain : "");
    if (table->layout->record) print_record(table, style, stream);
    else print_list(table, style, table == dq_report_csv_table(report), stream);
  }
  if (report->notes && !first) fputc('\n', stream);
  for (const dq_report_line *note = report->notes; note; note = note->next) {
    char text[4 * CELL_SIZE];
    print_sentence(dq_text_fit(note->text, 1000, text, sizeof text), style->width, stream);
  }
  return DQ_OK;
}
