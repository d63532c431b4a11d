// Which columns of a table a terminal shows, and how wide they are.
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

enum { CELL_SIZE = 1024, NARROWEST = 12, REASON = 32, GROUPS = 64 };

static int larger(int a, int b) { return a > b ? a : b; }
static int smaller(int a, int b) { return a < b ? a : b; }

static const dq_column *column_at(const dq_table *table, int column) { return &table->layout->columns[column]; }

static bool is_name(const dq_column *column) { return column->type == DQ_COLUMN_TEXT && column->priority == 0; }

const char *dq_column_title(const dq_column *column, char *text, size_t size) {
  snprintf(text, size, column->unit ? "%s (%s)" : "%s", column->title, column->unit);
  return text;
}

static int compare_hashes(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static int64_t count_different(uint64_t *hashes, int64_t count) {
  qsort(hashes, (size_t)count, sizeof *hashes, compare_hashes);
  int64_t different = count > 0;
  for (int64_t i = 1; i < count; i++) different += hashes[i] != hashes[i - 1];
  return different;
}

// How many different texts a column shows when it is `columns` wide; 0: as they are. Without memory the
// number of rows: then nothing is made wider.
static int64_t count_texts(const dq_table *table, int column, int columns) {
  uint64_t *hashes = malloc((size_t)(table->row_count + 1) * sizeof *hashes);
  if (!hashes) return table->row_count;
  for (int64_t row = 0; row < table->row_count; row++) {
    const dq_cell *cell = &table->cells[row * table->layout->column_count + column];
    char text[CELL_SIZE];
    const char *shown = cell->kind == DQ_CELL_TEXT ? cell->text : "";
    if (columns) shown = dq_text_fit(shown, columns, text, sizeof text);
    hashes[row] = XXH3_64bits(shown, strlen(shown));
  }
  int64_t different = count_different(hashes, table->row_count);
  free(hashes);
  return different;
}

// The least width from `from` to `to` in which names that differ are shown differently; `to` when none does.
static int distinct_width(const dq_table *table, int column, int from, int to) {
  int64_t different = count_texts(table, column, 0);
  while (from < to) { // wider texts never look more alike, but for rare cases in which a little more is shown
    int middle = from + (to - from) / 2;
    if (count_texts(table, column, middle) == different) to = middle;
    else from = middle + 1;
  }
  return to;
}

// The widest cell where texts may have `columns`; 0: what the column says.
static int widest_cell(const dq_table *table, int column, int columns) {
  const dq_column *about = column_at(table, column);
  char text[CELL_SIZE];
  int width = dq_text_columns(dq_column_title(about, text, sizeof text)), count = table->layout->column_count;
  for (int64_t row = 0; row < table->row_count; row++) {
    const dq_cell *cell = &table->cells[row * count + column];
    width = larger(width, dq_text_columns(dq_cell_text(about, cell, columns, text, sizeof text)));
  }
  if (!table->total) return width;
  return larger(width, dq_text_columns(dq_cell_text(about, &table->total[column], columns, text, sizeof text)));
}

// The width a column has when there is room: texts are cut at what the column says, names only as far as they
// still differ.
static int natural_width(const dq_table *table, int column) {
  int width = widest_cell(table, column, 0);
  if (!is_name(column_at(table, column)) || count_texts(table, column, 0) == count_texts(table, column, width))
    return width;
  int full = widest_cell(table, column, CELL_SIZE / 4);
  return distinct_width(table, column, width, full);
}

static int sum_of(const dq_columns *columns) {
  int sum = -DQ_COLUMN_GAP;
  for (int i = 0; i < columns->count; i++) sum += columns->widths[i] ? columns->widths[i] + DQ_COLUMN_GAP : 0;
  return larger(sum, 0);
}

// Adds the groups of columns that fit beside those that are always shown, the most important one first.
static void add_groups(const dq_table *table, dq_columns *columns, const int natural[], int available) {
  for (int group = 1; group < GROUPS; group++) {
    int needed = 0;
    for (int i = 0; i < columns->count; i++)
      if (natural[i] && column_at(table, i)->priority == group) needed += natural[i] + DQ_COLUMN_GAP;
    if (sum_of(columns) + needed > available) continue;
    for (int i = 0; i < columns->count; i++)
      if (natural[i] && column_at(table, i)->priority == group) columns->widths[i] = natural[i];
  }
}

// Shortens columns, the widest first, down to what `least` allows.
static void shorten(dq_columns *columns, const int least[], int available) {
  for (int over = sum_of(columns) - available; over > 0; over--) {
    int widest = -1;
    for (int i = 0; i < columns->count; i++)
      if (columns->widths[i] > least[i] && (widest < 0 || columns->widths[i] > columns->widths[widest])) widest = i;
    if (widest < 0) return;
    columns->widths[widest]--;
  }
}

// Texts take the room that is left, up to their full width: names first, then reasons.
static void widen(const dq_table *table, dq_columns *columns, int priority, int available) {
  for (int i = 0; i < columns->count; i++) {
    const dq_column *column = column_at(table, i);
    int available_columns = available - sum_of(columns);
    if (!columns->widths[i] || column->type != DQ_COLUMN_TEXT || column->priority != priority || available_columns <= 0)
      continue;
    columns->widths[i] = widest_cell(table, i, smaller(columns->widths[i] + available_columns, CELL_SIZE / 4));
  }
}

// Leaves columns out until the rest fits.
static void leave_out(const dq_table *table, dq_columns *columns, int available) {
  int natural[DQ_COLUMNS];
  memcpy(natural, columns->widths, sizeof natural);
  for (int i = 0; i < columns->count; i++) {
    const dq_column *column = column_at(table, i);
    if (column->priority > 0) columns->widths[i] = 0;
    else if (column->priority < 0) columns->widths[i] = smaller(natural[i], REASON);
  }
  add_groups(table, columns, natural, available);
}

// Cuts names, or reasons, as far as they may be cut.
static void shorten_texts(const dq_table *table, dq_columns *columns, int priority, int available) {
  int least[DQ_COLUMNS];
  for (int i = 0; i < columns->count; i++) {
    const dq_column *column = column_at(table, i);
    least[i] = columns->widths[i];
    if (!columns->widths[i] || column->type != DQ_COLUMN_TEXT || column->priority != priority) continue;
    int narrowest = smaller(NARROWEST, columns->widths[i]);
    least[i] = is_name(column) ? distinct_width(table, i, narrowest, columns->widths[i]) : narrowest;
  }
  shorten(columns, least, available);
}

// Names that take no more than their part of the terminal are shown whole, whatever has to be left out for them.
static void show_names(const dq_table *table, dq_columns *columns, int available) {
  int names = 0;
  for (int i = 0; i < columns->count; i++) names += columns->widths[i] && is_name(column_at(table, i));
  for (int i = 0; i < columns->count; i++)
    if (columns->widths[i] && is_name(column_at(table, i)))
      columns->widths[i] = larger(columns->widths[i], widest_cell(table, i, available / (names + 1)));
}

void dq_columns_lay_out(const dq_table *table, int available, dq_columns *columns) {
  columns->count = smaller(table->layout->column_count, DQ_COLUMNS);
  for (int i = 0; i < columns->count; i++)
    columns->widths[i] = dq_table_column_shown(table, i) ? natural_width(table, i) : 0;
  if (available <= 0) return;
  show_names(table, columns, smaller(available, CELL_SIZE / 4));
  if (sum_of(columns) > available) leave_out(table, columns, available);
  if (sum_of(columns) > available) shorten_texts(table, columns, -1, available);
  if (sum_of(columns) > available) shorten_texts(table, columns, 0, available);
  widen(table, columns, 0, available);
  widen(table, columns, -1, available);
}
