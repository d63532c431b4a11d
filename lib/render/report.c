// Building a report: rows, cells, their order and their texts.
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/sizes.h"
#include "lib/render/render_internal.h"
#include "lib/render/text.h"
#include "lib/text/nearest.h"

enum { TEXT_WIDTH = 40 };

dq_report *dq_report_new(const char *schema, int version, const char *title) {
  dq_arena *arena = dq_arena_new(0);
  dq_report *report = arena ? DQ_NEW(arena, dq_report) : NULL;
  if (!report) {
    dq_arena_free(arena);
    return NULL;
  }
  report->arena = arena;
  report->version = version;
  report->schema = dq_arena_strdup(arena, schema);
  report->title = dq_arena_strdup(arena, title ? title : "");
  if (!report->schema || !report->title) {
    dq_arena_free(arena);
    return NULL;
  }
  return report;
}

void dq_report_free(dq_report *report) {
  if (!report) return;
  for (dq_table *table = report->tables; table; table = table->next) {
    free(table->cells);
    if (table->head) free(table->head->cells);
  }
  dq_arena_free(report->arena);
}

void dq_report_fail_memory(dq_report *report, size_t bytes) {
  if (report->failure == DQ_OK) report->failure = dq_fail_memory(&report->failure_error, bytes);
}

static dq_table *new_table(dq_report *report, const dq_table_layout *layout) {
  dq_table *table = DQ_NEW(report->arena, dq_table);
  if (!table) {
    dq_report_fail_memory(report, sizeof *table);
    return NULL;
  }
  table->layout = layout;
  table->report = report;
  return table;
}

dq_table *dq_report_table(dq_report *report, const dq_table_layout *layout) {
  dq_table *table = report ? new_table(report, layout) : NULL;
  if (!table) return NULL;
  if (report->last_table) report->last_table->next = table;
  else report->tables = table;
  report->last_table = table;
  return table;
}

dq_table *dq_table_csv_head(dq_table *table) {
  if (table && !table->head) table->head = new_table(table->report, table->layout);
  return table ? table->head : NULL;
}

// vprintf into the arena, of any length.
static const char *arena_vprintf(dq_arena *arena, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *text = length < 0 ? NULL : dq_arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, arguments);
  return text;
}

void dq_report_add_note(dq_report *report, const char *format, ...) {
  if (!report) return;
  dq_report_line *note = DQ_NEW(report->arena, dq_report_line);
  va_list arguments;
  va_start(arguments, format);
  const char *text = note ? arena_vprintf(report->arena, format, arguments) : NULL;
  va_end(arguments);
  if (!text) {
    dq_report_fail_memory(report, sizeof *note);
    return;
  }
  note->text = text;
  if (report->last_note) report->last_note->next = note;
  else report->notes = note;
  report->last_note = note;
}

void dq_table_row(dq_table *table) {
  if (!table) return;
  size_t columns = (size_t)table->layout->column_count;
  table->current = NULL;
  if (table->row_count == table->row_capacity) {
    int64_t capacity = table->row_capacity ? 2 * table->row_capacity : 16;
    size_t bytes;
    dq_cell *larger = NULL;
    if (dq_mul_size((size_t)capacity * columns, sizeof *larger, &bytes)) larger = realloc(table->cells, bytes);
    if (!larger) {
      dq_report_fail_memory(table->report, bytes);
      return;
    }
    table->cells = larger;
    table->row_capacity = capacity;
  }
  table->current = table->cells + (size_t)table->row_count++ * columns;
  memset(table->current, 0, columns * sizeof *table->current);
}

void dq_table_total_row(dq_table *table) {
  if (!table) return;
  if (!table->total) table->total = DQ_NEW_ARRAY(table->report->arena, table->layout->column_count, dq_cell);
  if (!table->total) dq_report_fail_memory(table->report, sizeof(dq_cell));
  table->current = table->total;
}

static int find_column(const dq_table *table, const char *key) {
  for (int i = 0; i < table->layout->column_count; i++)
    if (!strcmp(table->layout->columns[i].key, key)) return i;
  return -1;
}

// The cell of the current row, or NULL: then the fault is kept for when the report is written.
static dq_cell *cell_of(dq_table *table, const char *key) {
  if (!table || !table->current) return NULL;
  int column = find_column(table, key);
  if (column >= 0) return &table->current[column];
  dq_report *report = table->report;
  if (report->failure == DQ_OK)
    report->failure =
        dq_fail(&report->failure_error, DQ_SYSTEM, "table '%s' has no column '%s'", table->layout->key, key);
  return NULL;
}

static void put_text(dq_table *table, const char *key, const char *text) {
  dq_cell *cell = cell_of(table, key);
  if (!cell) return;
  if (!text) {
    dq_report_fail_memory(table->report, 0);
    return;
  }
  cell->kind = DQ_CELL_TEXT;
  cell->text = text;
}

void dq_table_put_text(dq_table *table, const char *key, const char *text) {
  if (table && text) put_text(table, key, dq_arena_strdup(table->report->arena, text));
}

void dq_table_put_format(dq_table *table, const char *key, const char *format, ...) {
  if (!table) return;
  va_list arguments;
  va_start(arguments, format);
  put_text(table, key, arena_vprintf(table->report->arena, format, arguments));
  va_end(arguments);
}

void dq_table_put_int(dq_table *table, const char *key, int64_t value) {
  dq_cell *cell = cell_of(table, key);
  if (!cell) return;
  cell->kind = DQ_CELL_INT;
  cell->whole = value;
}

void dq_table_put_real(dq_table *table, const char *key, double value) {
  dq_cell *cell = cell_of(table, key);
  if (!cell) return;
  cell->kind = DQ_CELL_REAL;
  cell->real = value;
}

void dq_table_put_bool(dq_table *table, const char *key, bool value) {
  dq_cell *cell = cell_of(table, key);
  if (!cell) return;
  cell->kind = DQ_CELL_BOOL;
  cell->whole = value;
}

void dq_table_at_least(dq_table *table, const char *key) {
  dq_cell *cell = cell_of(table, key);
  if (cell) cell->lower = true;
}

void dq_table_mark(dq_table *table, const char *key, dq_mark mark) {
  dq_cell *cell = cell_of(table, key);
  if (cell) cell->mark = (unsigned char)mark;
}

void dq_table_not_csv(dq_table *table) {
  if (table) table->not_csv = true;
}

void dq_table_files_only(dq_table *table) {
  if (table) table->files_only = true;
}

void dq_table_group(dq_table *table) {
  if (table) table->grouped = true;
}

void dq_table_column_files_only(dq_table *table, const char *key) {
  int column = table ? find_column(table, key) : -1;
  if (column >= 0 && column < DQ_COLUMNS) table->files_only_columns |= UINT64_C(1) << column;
}

int64_t dq_table_rows(const dq_table *table) { return table ? table->row_count : 0; }

double dq_cell_number(const dq_cell *cell) {
  if (cell->kind == DQ_CELL_REAL) return cell->real;
  return cell->kind == DQ_CELL_INT || cell->kind == DQ_CELL_BOOL ? (double)cell->whole : NAN;
}

bool dq_column_numeric(const dq_column *column) {
  return column->type != DQ_COLUMN_TEXT && column->type != DQ_COLUMN_BOOL;
}

bool dq_table_column_used(const dq_table *table, int column) {
  int columns = table->layout->column_count;
  if (table->total && table->total[column].kind != DQ_CELL_EMPTY) return true;
  for (int64_t row = 0; row < table->row_count; row++)
    if (table->cells[row * columns + column].kind != DQ_CELL_EMPTY) return true;
  return false;
}

bool dq_table_column_shown(const dq_table *table, int column) {
  return !(table->files_only_columns >> column & 1) && dq_table_column_used(table, column);
}

static const char *number_text(const dq_column *column, const dq_cell *cell, char *text, size_t size) {
  double number = dq_cell_number(cell);
  switch (column->type) {
  case DQ_COLUMN_COUNT: return dq_format_count(number, text, size);
  case DQ_COLUMN_BYTES: return dq_format_bytes(number, text, size);
  case DQ_COLUMN_PERCENT: return dq_format_percent(number, column->decimals, text, size);
  case DQ_COLUMN_SIGNIFICANT: return dq_format_significant(number, column->decimals, text, size);
  default: break;
  }
  if (cell->kind == DQ_CELL_INT) return snprintf(text, size, "%lld", (long long)cell->whole), text;
  return dq_format_fixed(number, column->decimals, text, size);
}

const char *dq_cell_text(const dq_column *column, const dq_cell *cell, int columns, char *text, size_t size) {
  char number[64];
  switch ((dq_cell_kind)cell->kind) {
  case DQ_CELL_EMPTY: return snprintf(text, size, "%s", ""), text;
  case DQ_CELL_BOOL: return snprintf(text, size, "%s", cell->whole ? "yes" : "no"), text;
  case DQ_CELL_TEXT:
    return dq_text_fit(cell->text, columns > 0 ? columns : column->width > 0 ? column->width : TEXT_WIDTH, text, size);
  default: break;
  }
  snprintf(text, size, "%s%s", cell->lower ? "at least " : "", number_text(column, cell, number, sizeof number));
  return text;
}

typedef struct sorting {
  const dq_table *table;
  int column;
  bool ascending;
} sorting;

static int compare_cells(const dq_cell *a, const dq_cell *b, bool ascending) {
  bool no_a = a->kind == DQ_CELL_EMPTY, no_b = b->kind == DQ_CELL_EMPTY;
  if (no_a || no_b) return no_a - no_b;
  if (a->kind == DQ_CELL_TEXT && b->kind == DQ_CELL_TEXT) return strcmp(a->text, b->text);
  double x = dq_cell_number(a), y = dq_cell_number(b);
  if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
  return (x > y) - (x < y) == 0 ? 0 : (x < y) == ascending ? -1 : 1;
}

static int compare_rows(const void *a, const void *b, void *user) {
  const sorting *by = user;
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  int columns = by->table->layout->column_count;
  int order = compare_cells(&by->table->cells[x * columns + by->column], &by->table->cells[y * columns + by->column],
                            by->ascending);
  return order ? order : (x > y) - (x < y);
}

static dq_status sort_rows(dq_table *table, int column, bool ascending, dq_error *error) {
  size_t rows = (size_t)table->row_count, columns = (size_t)table->layout->column_count;
  int64_t *order = malloc(rows * sizeof *order);
  dq_cell *sorted = malloc(rows * columns * sizeof *sorted);
  if (!order || !sorted) {
    free(order);
    free(sorted);
    return dq_fail_memory(error, rows * columns * sizeof *sorted);
  }
  for (size_t i = 0; i < rows; i++) order[i] = (int64_t)i;
  sorting by = {table, column, ascending};
  qsort_r(order, rows, sizeof *order, compare_rows, &by);
  for (size_t i = 0; i < rows; i++)
    memcpy(sorted + i * columns, table->cells + (size_t)order[i] * columns, columns * sizeof *sorted);
  memcpy(table->cells, sorted, rows * columns * sizeof *sorted);
  free(order);
  free(sorted);
  table->current = NULL;
  return DQ_OK;
}

dq_status dq_table_sort(dq_table *table, const char *key, bool ascending, dq_error *error) {
  if (!table) return dq_fail_memory(error, sizeof *table);
  int column = find_column(table, key);
  if (column >= 0) return table->row_count ? sort_rows(table, column, ascending, error) : DQ_OK;
  dq_nearest nearest = dq_nearest_begin(key);
  for (int i = 0; i < table->layout->column_count; i++) dq_nearest_offer(&nearest, table->layout->columns[i].key);
  dq_fail(error, DQ_USAGE, "table '%s' has no column '%.100s' to sort by", table->layout->key, key);
  if (nearest.name) dq_error_hint(error, "did you mean '%s'?", nearest.name);
  return DQ_USAGE;
}
