#include "lib/verdict/picture_errors.h"

#include <string.h>

dq_status dq_picture_errors_open(dq_picture_errors *table, int outputs, int64_t pictures, dq_arena *arena,
                                 dq_error *error) {
  const int64_t rows = pictures < DQ_MOST_ROWS ? pictures : DQ_MOST_ROWS;
  *table = (dq_picture_errors){DQ_NEW_ARRAY(arena, rows * outputs, dq_row_error), DQ_NEW_ARRAY(arena, pictures, bool),
                               outputs, rows, pictures};
  return table->cells && table->is_broken ? DQ_OK : dq_fail_memory(error, 0);
}

static void clear_cell(dq_row_error *cell) {
  dq_output_error_clear(&cell->error);
  cell->answers = cell->equal = 0;
}

void dq_picture_errors_clear(dq_picture_errors *table) {
  for (int64_t i = 0; i < table->rows * table->outputs; i++) clear_cell(&table->cells[i]);
  memset(table->is_broken, 0, (size_t)table->pictures * sizeof *table->is_broken);
}

dq_row_error *dq_picture_errors_at(const dq_picture_errors *table, int64_t picture, int output) {
  return &table->cells[picture % DQ_MOST_ROWS * table->outputs + output];
}

dq_status dq_picture_errors_add(dq_picture_errors *table, int64_t picture, int output, const dq_output_error *one,
                                dq_arena *arena, dq_error *error) {
  return dq_output_error_join(&dq_picture_errors_at(table, picture, output)->error, one, arena, error);
}

static dq_status take_row(dq_picture_errors *table, int64_t to, const dq_picture_errors *other, int64_t from,
                          dq_arena *arena, dq_error *error) {
  for (int o = 0; o < table->outputs; o++) {
    dq_row_error *cell = dq_picture_errors_at(table, to, o);
    const dq_row_error *taken = dq_picture_errors_at(other, from, o);
    clear_cell(cell);
    cell->answers = taken->answers, cell->equal = taken->equal;
    DQ_TRY(dq_output_error_join(&cell->error, &taken->error, arena, error));
  }
  return DQ_OK;
}

dq_status dq_picture_errors_take(dq_picture_errors *table, int64_t to, const dq_picture_errors *other, int64_t from,
                                 dq_arena *arena, dq_error *error) {
  table->is_broken[to] = other->is_broken[from];
  return take_row(table, to, other, from, arena, error);
}

dq_status dq_picture_errors_copy(dq_picture_errors *copy, const dq_picture_errors *table, dq_arena *arena,
                                 dq_error *error) {
  DQ_TRY(dq_picture_errors_open(copy, table->outputs, table->pictures, arena, error));
  memcpy(copy->is_broken, table->is_broken, (size_t)table->pictures * sizeof *copy->is_broken);
  for (int64_t r = 0; r < table->rows; r++) DQ_TRY(take_row(copy, r, table, r, arena, error));
  return DQ_OK;
}

dq_status dq_picture_errors_sum(const dq_picture_errors *table, int output, dq_row_error *sum, dq_arena *arena,
                                dq_error *error) {
  for (int64_t r = 0; r < table->rows; r++) {
    const dq_row_error *cell = dq_picture_errors_at(table, r, output);
    sum->answers += cell->answers, sum->equal += cell->equal;
    DQ_TRY(dq_output_error_join(&sum->error, &cell->error, arena, error));
  }
  return DQ_OK;
}

int64_t dq_picture_errors_broken(const dq_picture_errors *table) {
  int64_t count = 0;
  for (int64_t p = 0; p < table->pictures; p++) count += table->is_broken[p];
  return count;
}
