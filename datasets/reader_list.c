// A list file: one picture per line, its label after the last space or tab.
#include <inttypes.h>
#include <string.h>

#include "datasets/files.h"
#include "lib/base/file.h"

static void cut_spaces(char **begin) {
  while (**begin == ' ' || **begin == '\t') (*begin)++;
  size_t length = strlen(*begin);
  while (length && strchr(" \t\r", (*begin)[length - 1])) (*begin)[--length] = 0;
}

// The label's text: what follows the last tab, else the last space; NULL when the whole line is the
// name of a file.
static char *cut_label(dq_data *data, const char *folder, char *line) {
  char *separator = strrchr(line, '\t');
  if (!separator) separator = strrchr(line, ' ');
  if (!separator) return NULL;
  char *whole = dq_join(data->arena, folder, line);
  if (whole && dq_is_file(whole)) return NULL;
  char *label = separator + 1;
  *separator = 0;
  cut_spaces(&line);
  return label;
}

static dq_status read_label(dq_data *data, const char *folder, const char *text, dq_file_sample *sample,
                            dq_label_kind *kind, dq_error *error) {
  bool boxes = false;
  const char *dot = strrchr(text, '.');
  if (dot) boxes = !strcmp(dot, ".txt") || dq_is_xml(text);
  if (boxes || dq_has_picture_suffix(text)) {
    sample->label_path = dq_join(data->arena, folder, text);
    *kind = boxes ? DQ_LABEL_BOXES : DQ_LABEL_MASK;
    if (!sample->label_path) return dq_fail_memory(error, strlen(text));
    if (!dq_is_file(sample->label_path)) return dq_fail(error, DQ_BAD_INPUT, "no label file '%s'", sample->label_path);
    return DQ_OK;
  }
  *kind = DQ_LABEL_CLASS;
  if (!dq_parse_integer(text, &sample->label))
    return dq_fail(error, DQ_BAD_INPUT, "label '%s', expected a whole number or a file", text);
  if (sample->label < 0 || sample->label >= INT32_MAX)
    return dq_fail(error, DQ_BAD_INPUT, "label %s, expected 0 to %d", text, INT32_MAX - 1);
  return DQ_OK;
}

static dq_status read_line(dq_data *data, const char *folder, char *line, dq_error *error) {
  dq_file_sample sample = {.label = -1};
  dq_label_kind kind = DQ_LABEL_NONE;
  char *label = cut_label(data, folder, line);
  sample.name = line;
  sample.path = dq_join(data->arena, folder, line);
  if (!sample.path) return dq_fail_memory(error, strlen(line));
  if (!dq_is_file(sample.path)) return dq_fail(error, DQ_BAD_INPUT, "no picture '%s'", sample.path);
  if (label) DQ_TRY(read_label(data, folder, label, &sample, &kind, error));
  if (data->found && kind != data->kind)
    return dq_fail(error, DQ_BAD_INPUT, "%s, unlike the lines before",
                   label ? "another kind of label" : "the label is missing");
  data->kind = kind;
  data->classes = kind == DQ_LABEL_CLASS && sample.label >= data->classes ? sample.label + 1 : data->classes;
  return dq_files_add(data, sample, error);
}

// The text of a list, behind a byte order mark, in the arena.
static dq_status read_text(dq_data *data, const char *path, char **text, dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open_regular(&file, path, error));
  bool zero = file.size && memchr(file.data, 0, file.size);
  *text = dq_arena_strndup(data->arena, (const char *)file.data, file.size);
  dq_file_close(&file);
  if (!*text) return dq_fail_memory(error, 0);
  if (zero) return dq_fail(error, DQ_BAD_INPUT, "%s: not a text file, expected a list", path);
  if (!strncmp(*text, "\xef\xbb\xbf", 3)) *text += 3;
  return DQ_OK;
}

dq_status dq_list_found(dq_data *data, const char *path, const char *folder, bool *found, dq_error *error) {
  char *line;
  DQ_TRY(read_text(data, path, &line, error));
  line += strspn(line, " \t\r\n");
  line[strcspn(line, "\n")] = 0;
  cut_spaces(&line);
  cut_label(data, folder, line);
  const char *picture = dq_join(data->arena, folder, line);
  if (!picture) return dq_fail_memory(error, strlen(line));
  *found = *line && (dq_is_file(picture) || dq_has_picture_suffix(line));
  return DQ_OK;
}

dq_status dq_list_read(dq_data *data, const char *path, const char *folder, dq_error *error) {
  char *text;
  DQ_TRY(read_text(data, path, &text, error));
  for (int64_t number = 1; text; number++) {
    char *line = text;
    text = strchr(text, '\n');
    if (text) *text++ = 0;
    cut_spaces(&line);
    if (!*line) continue;
    dq_status status = read_line(data, folder, line, error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s: line %" PRId64, path, number);
  }
  return data->kind == DQ_LABEL_BOXES ? dq_files_boxes(data, error) : DQ_OK;
}

static dq_status open_list(dq_data *data, const char *path, const dq_data_options *options, dq_error *error) {
  char folder[4096];
  if (options->labels) DQ_TRY(dq_read_class_names(data, options->labels, error));
  dq_path_folder(path, folder, sizeof folder);
  return dq_list_read(data, path, folder, error);
}

const dq_reader_functions dq_reader_list = {
    .open = open_list, .describe = dq_files_describe, .pixels = dq_files_pixels, .close = dq_files_close};
