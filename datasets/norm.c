// The table of constants per patient (CSV with a header row).
#include <string.h>

#include "datasets/reader.h"
#include "lib/base/file.h"

// Columns in the order of a row's numbers.
enum { LOW, HIGH, MEAN, STD = MEAN + 3, NUMBERS = STD + 3, PATIENT = NUMBERS, COLUMNS };
static const char *const column_names[COLUMNS] = {"p10",   "p99",   "mean_r", "mean_g", "mean_b",
                                                  "std_r", "std_g", "std_b",  "patient"};

static dq_status read_header(char **cells, int count, int where[COLUMNS], const char *path, dq_error *error) {
  for (int column = 0; column < COLUMNS; column++) {
    where[column] = -1;
    for (int i = 0; i < count; i++)
      if (!strcmp(cells[i], column_names[column])) where[column] = i;
    if (where[column] < 0)
      return dq_fail(error, DQ_BAD_INPUT, "%s: line 1: no column '%s'", path, column_names[column]);
  }
  return DQ_OK;
}

static dq_status read_row(dq_norm_row *row, char **cells, int count, const int where[COLUMNS], const char *path,
                          int64_t line, dq_error *error) {
  double numbers[NUMBERS];
  for (int column = 0; column < COLUMNS; column++) {
    if (where[column] >= count)
      return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: %d cells, column '%s' is missing", path, (int)line, count,
                     column_names[column]);
    const char *cell = cells[where[column]];
    if (column == PATIENT) row->patient = cell;
    else if (!dq_parse_number(cell, &numbers[column]))
      return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: %s is '%s', expected a number", path, (int)line,
                     column_names[column], cell);
    else if (column >= STD && numbers[column] <= 0)
      return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: %s is %s, expected more than 0", path, (int)line,
                     column_names[column], cell);
  }
  if (numbers[HIGH] <= numbers[LOW])
    return dq_fail(error, DQ_BAD_INPUT, "%s: line %d: p99 is not above p10", path, (int)line);
  row->low = numbers[LOW];
  row->high = numbers[HIGH];
  memcpy(row->mean, numbers + MEAN, sizeof row->mean);
  memcpy(row->std, numbers + STD, sizeof row->std);
  return DQ_OK;
}

static dq_status parse(dq_norm *norm, char *text, const char *path, dq_arena *arena, dq_error *error) {
  char **lines, **cells;
  int count = dq_split(arena, text, '\n', &lines), where[COLUMNS];
  if (count < 0) return dq_fail_memory(error, strlen(text));
  norm->rows = DQ_NEW_ARRAY(arena, count, dq_norm_row);
  norm->count = 0;
  if (!norm->rows) return dq_fail_memory(error, strlen(text));
  for (int i = 0; i < count; i++) {
    lines[i][strcspn(lines[i], "\r")] = 0;
    if (!*lines[i] && i) continue;
    int cell_count = dq_split(arena, lines[i], ',', &cells);
    if (cell_count < 0) return dq_fail_memory(error, strlen(text));
    if (i == 0) DQ_TRY(read_header(cells, cell_count, where, path, error));
    else DQ_TRY(read_row(&norm->rows[norm->count++], cells, cell_count, where, path, i + 1, error));
  }
  return DQ_OK;
}

dq_status dq_norm_read(dq_norm *norm, const char *path, dq_arena *arena, dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open(&file, path, error));
  char *text = dq_arena_strndup(arena, (const char *)file.data, file.size);
  size_t size = file.size;
  dq_file_close(&file);
  return text ? parse(norm, text, path, arena, error) : dq_fail_memory(error, size);
}

dq_status dq_norm_find(const dq_norm *norm, const char *name, const dq_norm_row **row, dq_error *error) {
  const char *base = strrchr(name, '/');
  base = base ? base + 1 : name;
  const char *end = strrchr(base, '_');
  size_t length = end ? (size_t)(end - base) : strcspn(base, ".");
  for (int64_t i = 0; i < norm->count; i++)
    if (strlen(norm->rows[i].patient) == length && !memcmp(norm->rows[i].patient, base, length)) {
      *row = &norm->rows[i];
      return DQ_OK;
    }
  return dq_fail(error, DQ_BAD_INPUT, "%s: no constants for patient '%.*s' in the norm file", name, (int)length, base);
}
