// Tables for people: aligned columns, long names cut, colour when wanted.
#include <string.h>

#include "lib/report/private.h"
#include "lib/report/text.h"

enum { CELL_SIZE = 1024, GAP = 2, NARROWEST = 12, COLUMNS = 64 };

static const char *const mark_codes[] = {"", "\033[32m", "\033[33m", "\033[31m"};
static const char bold[] = "\033[1m", plain[] = "\033[0m";

// How one table is laid out: the width of each column, 0 for those that are not shown.
typedef struct layout {
  const dq_table *table;
  bool color;
  int count;
  int widths[COLUMNS];
} layout;

static int larger(int a, int b) { return a > b ? a : b; }

static const char *title_of(const dq_column *column, char *text, size_t size) {
  snprintf(text, size, column->unit ? "%s (%s)" : "%s", column->title, column->unit);
  return text;
}

static int widest_cell(const dq_table *table, int column) {
  const dq_column *about = &table->layout->columns[column];
  char text[CELL_SIZE];
  int width = dq_text_columns(title_of(about, text, sizeof text));
  int columns = table->layout->column_count;
  for (int64_t row = 0; row < table->row_count; row++) {
    const dq_cell *cell = &table->cells[row * columns + column];
    width = larger(width, dq_text_columns(dq_cell_text(about, cell, 0, text, sizeof text)));
  }
  if (table->total)
    width = larger(width, dq_text_columns(
                              dq_cell_text(about, &table->total[column], 0, text, sizeof text)));
  return width;
}

// Takes columns from the widest text until the table fits, or none is worth cutting.
static void narrow(layout *l, int available) {
  for (;;) {
    int sum = -GAP, widest = -1;
    for (int i = 0; i < l->count; i++) {
      if (!l->widths[i]) continue;
      sum += l->widths[i] + GAP;
      bool text = l->table->layout->columns[i].type == DQ_COLUMN_TEXT;
      if (text && (widest < 0 || l->widths[i] > l->widths[widest])) widest = i;
    }
    if (sum <= available || widest < 0 || l->widths[widest] <= NARROWEST) return;
    l->widths[widest]--;
  }
}

static void spaces(FILE *stream, int count) {
  if (count > 0) fprintf(stream, "%*s", count, "");
}

// `text` in its column; nothing follows the last column's text.
static void print_aligned(FILE *stream, const char *text, int width, bool right, bool last,
                          const char *code) {
  int room = width - dq_text_columns(text);
  if (right) spaces(stream, room);
  fprintf(stream, "%s%s%s", code, text, *code ? plain : "");
  if (!right && !last) spaces(stream, room);
}

static int last_shown(const layout *l) {
  int last = 0;
  for (int i = 0; i < l->count; i++)
    if (l->widths[i]) last = i;
  return last;
}

static void print_header(const layout *l, FILE *stream) {
  int last = last_shown(l), sum = -GAP;
  bool first = true;
  for (int i = 0; i < l->count; i++) {
    if (!l->widths[i]) continue;
    char title[CELL_SIZE], fitted[CELL_SIZE];
    const dq_column *column = &l->table->layout->columns[i];
    dq_text_fit(title_of(column, title, sizeof title), l->widths[i], fitted, sizeof fitted);
    spaces(stream, first ? 0 : GAP);
    print_aligned(stream, fitted, l->widths[i], dq_column_numeric(column), i == last,
                  l->color ? bold : "");
    sum += l->widths[i] + GAP;
    first = false;
  }
  fputc('\n', stream);
  for (int i = 0; i < sum; i++) fputc('-', stream);
  fputc('\n', stream);
}

static void print_row(const layout *l, const dq_cell *cells, FILE *stream) {
  int last = last_shown(l);
  bool first = true;
  for (int i = 0; i < l->count; i++) {
    if (!l->widths[i]) continue;
    char text[CELL_SIZE];
    const dq_column *column = &l->table->layout->columns[i];
    dq_cell_text(column, &cells[i], column->type == DQ_COLUMN_TEXT ? l->widths[i] : 0, text,
                 sizeof text);
    spaces(stream, first ? 0 : GAP);
    bool right = dq_column_numeric(column) && cells[i].kind != DQ_CELL_TEXT;
    print_aligned(stream, text, l->widths[i], right, i == last,
                  l->color && *text ? mark_codes[cells[i].mark] : "");
    first = false;
  }
  fputc('\n', stream);
}

static void print_list(const dq_table *table, const dq_text_style *style, FILE *stream) {
  layout l = {.table = table, .color = style->color};
  l.count = table->layout->column_count < COLUMNS ? table->layout->column_count : COLUMNS;
  for (int i = 0; i < l.count; i++)
    l.widths[i] = dq_table_column_used(table, i) ? widest_cell(table, i) : 0;
  if (style->width > 0) narrow(&l, style->width);
  print_header(&l, stream);
  int64_t columns = table->layout->column_count;
  for (int64_t row = 0; row < table->row_count; row++)
    print_row(&l, table->cells + row * columns, stream);
  if (!table->total) return;
  int sum = -GAP;
  for (int i = 0; i < l.count; i++) sum += l.widths[i] ? l.widths[i] + GAP : 0;
  for (int i = 0; i < sum; i++) fputc('-', stream);
  fputc('\n', stream);
  print_row(&l, table->total, stream);
}

static void print_record(const dq_table *table, const dq_text_style *style, FILE *stream) {
  char text[CELL_SIZE];
  int width = 0, count = table->layout->column_count;
  for (int i = 0; table->row_count && i < count; i++)
    if (table->cells[i].kind != DQ_CELL_EMPTY)
      width = larger(width, dq_text_columns(table->layout->columns[i].title));
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

dq_status dq_report_print_text(const dq_report *report, const dq_text_style *style, FILE *stream,
                               dq_error *error) {
  (void)error;
  static const dq_text_style simple = {false, 0};
  if (!style) style = &simple;
  bool first = true;
  for (const dq_table *table = report->tables; table; table = table->next) {
    if ((!table->row_count && !table->total) || table->files_only) continue;
    if (!first) fputc('\n', stream);
    first = false;
    if (table->layout->title)
      fprintf(stream, "%s%s%s\n", style->color ? bold : "", table->layout->title,
              style->color ? plain : "");
    if (table->layout->record) print_record(table, style, stream);
    else print_list(table, style, stream);
  }
  if (report->notes && !first) fputc('\n', stream);
  for (const dq_report_line *note = report->notes; note; note = note->next) {
    char text[4 * CELL_SIZE];
    fprintf(stream, "%s\n", dq_text_fit(note->text, 1000, text, sizeof text));
  }
  return DQ_OK;
}
