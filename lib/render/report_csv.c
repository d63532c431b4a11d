// CSV as RFC 4180 has it: a header of keys, lines ended by CR LF, quotes where needed.
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

static void print_field(FILE *stream, const char *text) {
  if (!text[strcspn(text, ",\"\r\n")]) {
    fputs(text, stream);
    return;
  }
  fputc('"', stream);
  for (; *text; text++) {
    if (*text == '"') fputc('"', stream);
    fputc(*text, stream);
  }
  fputc('"', stream);
}

static void print_cell(FILE *stream, const dq_cell *cell) {
  char text[64];
  if (cell->kind == DQ_CELL_TEXT) print_field(stream, cell->text);
  if (cell->kind == DQ_CELL_INT) fprintf(stream, "%lld", (long long)cell->whole);
  if (cell->kind == DQ_CELL_BOOL) fputs(cell->whole ? "true" : "false", stream);
  if (cell->kind == DQ_CELL_REAL) fputs(dq_format_exact(cell->real, text, sizeof text), stream);
}

static void print_rows(FILE *stream, const dq_table *table) {
  int columns = table->layout->column_count;
  for (int64_t row = 0; row < table->row_count; row++) {
    for (int i = 0; i < columns; i++) {
      if (i) fputc(',', stream);
      print_cell(stream, &table->cells[row * columns + i]);
    }
    fputs("\r\n", stream);
  }
}

const dq_table *dq_report_csv_table(const dq_report *report) {
  const dq_table *table = report->tables;
  while (table && (table->layout->record || table->files_only || table->not_csv)) table = table->next;
  return table;
}

dq_status dq_report_print_csv(const dq_report *report, FILE *stream, dq_error *error) {
  const dq_table *table = dq_report_csv_table(report);
  if (!table) return dq_fail(error, DQ_USAGE, "there is no table to write as CSV");
  for (int i = 0; i < table->layout->column_count; i++) {
    if (i) fputc(',', stream);
    print_field(stream, table->layout->columns[i].key);
  }
  fputs("\r\n", stream);
  if (table->head) print_rows(stream, table->head);
  print_rows(stream, table);
  return DQ_OK;
}
