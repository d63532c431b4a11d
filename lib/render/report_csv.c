// CSV as RFC 4180 has it: a header of keys, lines ended by CR LF, quotes where needed. Texts are names from files,
// which a spreadsheet must not take for a formula and a terminal not for commands.
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

// One character; returns its bytes. Line breaks and tabs stay, which quotes hold together.
static int print_character(FILE *stream, const char *text) {
  int32_t code;
  const int length = dq_utf8_next(text, &code);
  if (code == '"') fputs("\"\"", stream);
  else if (code == '\n' || code == '\r' || code == '\t' || !dq_utf8_is_hidden(text, code))
    fwrite(text, 1, (size_t)length, stream);
  else if (code >= 0 && code < 0x100) fprintf(stream, "\\x%02x", (unsigned)code);
  else fputc('?', stream);
  return length;
}

// A text that begins like a formula has an apostrophe in front, which spreadsheets do not show.
static void print_field(FILE *stream, const char *text) {
  const bool formula = *text && strchr("=+-@\t\r", *text), quoted = formula || text[strcspn(text, ",\"\r\n\t")];
  if (quoted) fputc('"', stream);
  if (formula) fputc('\'', stream);
  while (*text) text += print_character(stream, text);
  if (quoted) fputc('"', stream);
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
