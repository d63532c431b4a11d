// JSON: schema and version first, then each table under its key; empty cells are left out, numbers
// read back exactly, and what JSON cannot say (NaN, infinities) is null.
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/render/render_internal.h"
#include "lib/render/json_text.h"
#include "lib/render/text.h"

// A JSON string; bytes that are not UTF-8 become U+FFFD, which JSON's rules would refuse.
static json_t *string_value(const char *text) {
  json_t *value = json_string(text);
  if (value) return value;
  char *mended = malloc(3 * strlen(text) + 1);
  if (!mended) return NULL;
  size_t used = 0;
  while (*text) {
    int32_t code;
    int length = dq_utf8_next(text, &code);
    const char *source = code < 0 ? "\xef\xbf\xbd" : text;
    size_t bytes = code < 0 ? 3 : (size_t)length;
    memcpy(mended + used, source, bytes);
    used += bytes;
    text += length;
  }
  value = json_stringn(mended, used);
  free(mended);
  return value;
}

bool dq_json_text(FILE *stream, const char *text) {
  json_t *value = string_value(text);
  bool written = value && !json_dumpf(value, stream, JSON_ENCODE_ANY);
  json_decref(value);
  return written;
}

static json_t *cell_value(const dq_cell *cell) {
  switch ((dq_cell_kind)cell->kind) {
  case DQ_CELL_TEXT: return string_value(cell->text);
  case DQ_CELL_INT: return json_integer(cell->whole);
  case DQ_CELL_BOOL: return json_boolean(cell->whole);
  case DQ_CELL_REAL: return isfinite(cell->real) ? json_real(cell->real) : json_null();
  default: return json_null();
  }
}

// Steals `value`; false when there was no memory for it.
static bool set(json_t *object, const char *key, json_t *value) {
  return value && object && !json_object_set_new(object, key, value);
}

static json_t *row_value(const dq_table_layout *layout, const dq_cell *cells) {
  json_t *object = json_object();
  for (int i = 0; i < layout->column_count; i++) {
    if (cells[i].kind == DQ_CELL_EMPTY) continue;
    if (set(object, layout->columns[i].key, cell_value(&cells[i]))) continue;
    json_decref(object);
    return NULL;
  }
  return object;
}

static json_t *table_value(const dq_table *table) {
  const dq_table_layout *layout = table->layout;
  if (layout->record) return table->row_count ? row_value(layout, table->cells) : json_object();
  json_t *array = json_array();
  for (int64_t row = 0; row < table->row_count; row++) {
    json_t *object = row_value(layout, table->cells + row * layout->column_count);
    if (object && array && !json_array_append_new(array, object)) continue;
    json_decref(array);
    return NULL;
  }
  return array;
}

static bool add_notes(json_t *root, const dq_report_line *note) {
  if (!note) return true;
  json_t *array = json_array();
  for (; array && note; note = note->next)
    if (json_array_append_new(array, string_value(note->text))) {
      json_decref(array);
      return false;
    }
  return set(root, "notes", array);
}

static bool add_tables(json_t *root, const dq_table *table) {
  for (; table; table = table->next) {
    if (!set(root, table->layout->key, table_value(table))) return false;
    if (!table->total) continue;
    char key[128];
    snprintf(key, sizeof key, "%s_total", table->layout->key);
    if (!set(root, key, row_value(table->layout, table->total))) return false;
  }
  return true;
}

dq_status dq_report_print_json(const dq_report *report, FILE *stream, dq_error *error) {
  json_t *root = json_object();
  bool made = set(root, "schema", string_value(report->schema)) &&
              set(root, "version", json_integer(report->version)) &&
              (!*report->title || set(root, "title", string_value(report->title))) &&
              add_tables(root, report->tables) && add_notes(root, report->notes);
  // A failed write stays in the stream's error flag, which whoever owns the stream looks at.
  if (made) {
    json_dumpf(root, stream, JSON_INDENT(2));
    fputc('\n', stream);
  }
  json_decref(root);
  return made ? DQ_OK : dq_fail_memory(error, sizeof *root);
}
