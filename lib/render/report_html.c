// One self-contained HTML page: no script, nothing loaded, light or dark as the reader's system.
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/text.h"

enum { COLUMNS = 64 };

static const char head[] = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
static const char style_sheet[] =
    "<style>\n"
    ":root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d5dae0;\n"
    "  --good: #116329; --warn: #7d4e00; --bad: #a40e26; --soft: #59636e;\n"
    "  --first: #0a5bd3; --second: #a9c8f5; --range: #e3ecf9; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --paper: #14181d;\n"
    "  --line: #39424c; --good: #6fdd8b; --warn: #e3b341; --bad: #ff8182; --soft: #9aa4af;\n"
    "  --first: #6cb0ff; --second: #2c4d78; --range: #1d2a3a; } }\n"
    "body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);\n"
    "  max-width: 80rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }\n"
    "h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 1.5rem 0 .3rem; }\n"
    ".wide { overflow-x: auto; }\n"
    ".wide :is(th, td):first-child { position: sticky; left: 0; background: var(--paper); max-width: 40vw; }\n"
    ".record td.n { text-align: left; white-space: normal; }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0 1.5rem; }\n"
    "th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: left;\n"
    "  vertical-align: top; overflow-wrap: normal; max-width: 32rem; }\n"
    "th.n, td.n { text-align: right; } .n, .k { white-space: nowrap; } .p { min-width: 9rem; }\n"
    ".m { overflow-wrap: anywhere; } .r { min-width: min(16rem, 60vw); overflow-wrap: anywhere; }\n"
    ".record td { overflow-wrap: anywhere; } .group th { padding-top: 1rem; overflow-wrap: anywhere; }\n"
    "tfoot td { border-top: 2px solid var(--ink); font-weight: 600; }\n"
    ".good { color: var(--good); } .warn { color: var(--warn); }\n"
    ".bad { color: var(--bad); font-weight: 600; }\n";
static const char *const mark_classes[] = {"", "good", "warn", "bad"};

// How the texts of a column break into lines: m, names, behind their separators; r, reasons, and p, phrases,
// between words; k, anything short, never.
static char text_class(const dq_column *column) {
  enum { SHORT = 24 };
  if (column->type != DQ_COLUMN_TEXT) return 'k';
  if (column->priority == 0) return 'm';
  return column->priority < 0 ? 'r' : column->width > SHORT ? 'p' : 'k';
}

static void print_cell(FILE *stream, const dq_column *column, const dq_cell *cell) {
  bool number = dq_column_numeric(column) && cell->kind != DQ_CELL_TEXT;
  const char *mark = mark_classes[cell->mark];
  char text[256], shape = number ? 'n' : text_class(column);
  fprintf(stream, "<td class=\"%c%s%s\">", shape, *mark ? " " : "", mark);
  if (cell->kind == DQ_CELL_TEXT) dq_html_escaped_breaking(stream, cell->text, shape == 'm' ? "/._:" : "");
  else fputs(dq_cell_text(column, cell, 0, text, sizeof text), stream);
  fputs("</td>", stream);
}

static void print_title(FILE *stream, const dq_column *column) {
  dq_html_escaped(stream, column->title);
  if (!column->unit) return;
  fputs(" (", stream);
  dq_html_escaped(stream, column->unit);
  fputc(')', stream);
}

static void print_record(FILE *stream, const dq_table *table) {
  fputs("<table class=\"record\">\n", stream);
  for (int i = 0; table->row_count && i < table->layout->column_count; i++) {
    if (table->cells[i].kind == DQ_CELL_EMPTY) continue;
    fputs("<tr><th>", stream);
    print_title(stream, &table->layout->columns[i]);
    fputs("</th>", stream);
    print_cell(stream, &table->layout->columns[i], &table->cells[i]);
    fputs("</tr>\n", stream);
  }
  fputs("</table>\n", stream);
}

// A table, and which of its columns are shown.
typedef struct listing {
  const dq_table *table;
  int count;
  bool used[COLUMNS];
} listing;

static void print_row(FILE *stream, const listing *list, const dq_cell *cells) {
  fputs("<tr>", stream);
  for (int i = 0; i < list->count; i++)
    if (list->used[i]) print_cell(stream, &list->table->layout->columns[i], &cells[i]);
  fputs("</tr>\n", stream);
}

// Names are as wide as the longest one, up to a limit, so that many columns do not press them into a word a line.
static void print_head(FILE *stream, const listing *list, int column) {
  enum { WIDEST_NAME = 20 };
  const dq_column *about = &list->table->layout->columns[column];
  char shape = dq_column_numeric(about) ? 'n' : text_class(about);
  int longest = 0;
  for (int64_t row = 0; shape == 'm' && row < list->table->row_count; row++) {
    const dq_cell *cell = &list->table->cells[row * list->table->layout->column_count + column];
    int length = cell->kind == DQ_CELL_TEXT ? dq_text_columns(cell->text) : 0;
    if (length > longest) longest = length;
  }
  fprintf(stream, "<th class=\"%c\"", shape);
  if (longest) fprintf(stream, " style=\"min-width: min(%dch, 40vw)\"", longest < WIDEST_NAME ? longest : WIDEST_NAME);
  fputc('>', stream);
  print_title(stream, about);
  fputs("</th>", stream);
}

// What the rows below have in common, where they begin to.
static void print_group(FILE *stream, const listing *list, int64_t row) {
  int columns = list->table->layout->column_count, shown = 0;
  const dq_cell *cell = &list->table->cells[row * columns];
  if (cell->kind != DQ_CELL_TEXT || (row && !strcmp(cell->text, cell[-columns].text))) return;
  for (int i = 0; i < list->count; i++) shown += list->used[i];
  fprintf(stream, "<tr class=\"group\"><th colspan=\"%d\">", shown);
  dq_html_escaped_breaking(stream, cell->text, "/._:");
  fputs("</th></tr>\n", stream);
}

static void print_list(FILE *stream, const dq_table *table) {
  int columns = table->layout->column_count;
  listing list = {.table = table, .count = columns < COLUMNS ? columns : COLUMNS};
  for (int i = 0; i < list.count; i++) list.used[i] = dq_table_column_used(table, i) && (i || !table->grouped);
  fputs("<div class=\"wide\"><table>\n<thead><tr>", stream);
  for (int i = 0; i < list.count; i++)
    if (list.used[i]) print_head(stream, &list, i);
  fputs("</tr></thead>\n<tbody>\n", stream);
  for (int64_t row = 0; row < table->row_count; row++) {
    if (table->grouped) print_group(stream, &list, row);
    print_row(stream, &list, table->cells + row * columns);
  }
  fputs("</tbody>\n", stream);
  if (table->total) {
    fputs("<tfoot>", stream);
    print_row(stream, &list, table->total);
    fputs("</tfoot>\n", stream);
  }
  fputs("</table></div>\n", stream);
}

// The records, or the lists.
static void print_tables(FILE *stream, const dq_report *report, bool records) {
  for (const dq_table *table = report->tables; table; table = table->next) {
    if ((!table->row_count && !table->total) || table->layout->record != records) continue;
    if (table->layout->title) {
      fputs("<h2>", stream);
      dq_html_escaped(stream, table->layout->title);
      fputs("</h2>\n", stream);
    }
    if (records) print_record(stream, table);
    else print_list(stream, table);
  }
}

dq_status dq_report_print_html(const dq_report *report, FILE *stream, dq_error *error) {
  (void)error;
  const char *title = *report->title ? report->title : report->schema;
  fputs(head, stream);
  fputs("<title>", stream);
  dq_html_escaped(stream, title);
  fputs("</title>\n", stream);
  fputs(style_sheet, stream);
  fputs(dq_chart_style, stream);
  fputs("</style>\n", stream);
  fputs("</head>\n<body>\n<h1>", stream);
  dq_html_escaped(stream, title);
  fputs("</h1>\n", stream);
  print_tables(stream, report, true);
  dq_report_print_charts(report, stream);
  print_tables(stream, report, false);
  for (const dq_report_line *note = report->notes; note; note = note->next) {
    fputs("<p>", stream);
    dq_html_escaped(stream, note->text);
    fputs("</p>\n", stream);
  }
  fputs("</body>\n</html>\n", stream);
  return DQ_OK;
}
