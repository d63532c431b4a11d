// Pictures that a file data.yaml of YOLO names: folders or lists of pictures, with text files of boxes in folders
// `labels` in place of `images`.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "datasets/files.h"
#include "lib/base/file.h"

// The parser takes less than EXPANSION times the text; an alias is one node, however often it stands for something.
enum { LARGEST_FILE = 1 << 20, EXPANSION = 512, MOST_CLASSES = 65536 };

typedef struct description {
  dq_data *data;
  yaml_document_t document;
  const char *root; // folder that paths begin at
} description;

static const char *text_of(const yaml_node_t *node) {
  return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

// The value of a key of a mapping; NULL: there is none.
static yaml_node_t *find(yaml_document_t *document, const yaml_node_t *mapping, const char *key) {
  if (!mapping || mapping->type != YAML_MAPPING_NODE) return NULL;
  for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++) {
    const char *name = text_of(yaml_document_get_node(document, pair->key));
    if (name && !strcmp(name, key)) return yaml_document_get_node(document, pair->value);
  }
  return NULL;
}

static yaml_node_t *member(description *d, const char *key) {
  return find(&d->document, yaml_document_get_root_node(&d->document), key);
}

// ---- Names of classes ----

static dq_status set_name(dq_data *data, const char **names, const yaml_node_t *node, int64_t index, dq_error *error) {
  const char *text = text_of(node);
  if (!text || !*text)
    return dq_fail(error, DQ_BAD_INPUT, "name %" PRId64 " in 'names' is missing, expected a text for each class",
                   index);
  names[index] = dq_arena_strdup(data->arena, text);
  return names[index] ? DQ_OK : dq_fail_memory(error, strlen(text));
}

// A sequence of names, or a mapping from the numbers 0, 1, ... to them.
static dq_status read_names(description *d, const yaml_node_t *names, dq_error *error) {
  const bool sequence = names->type == YAML_SEQUENCE_NODE;
  const int64_t count = sequence ? names->data.sequence.items.top - names->data.sequence.items.start
                                 : names->data.mapping.pairs.top - names->data.mapping.pairs.start;
  if (count < 1 || count > MOST_CLASSES)
    return dq_fail(error, DQ_BAD_INPUT, "'names' has %" PRId64 " classes, expected 1 to %d", count, MOST_CLASSES);
  const char **texts = DQ_NEW_ARRAY(d->data->arena, count, const char *);
  if (!texts) return dq_fail_memory(error, (size_t)count * sizeof *texts);
  for (int64_t i = 0; i < count; i++) {
    char key[32];
    snprintf(key, sizeof key, "%" PRId64, i);
    yaml_node_t *node = sequence ? yaml_document_get_node(&d->document, names->data.sequence.items.start[i])
                                 : find(&d->document, names, key);
    DQ_TRY(set_name(d->data, texts, node, i, error));
  }
  d->data->class_names = texts, d->data->class_name_count = count;
  return DQ_OK;
}

static dq_status read_classes(description *d, dq_error *error) {
  const yaml_node_t *names = member(d, "names"), *number = member(d, "nc");
  int64_t count = 0;
  if (names && names->type == YAML_SCALAR_NODE)
    return dq_fail(error, DQ_BAD_INPUT, "'names' is neither a list nor a map");
  if (names) DQ_TRY(read_names(d, names, error));
  if (number && (!text_of(number) || !dq_parse_integer(text_of(number), &count) || count < 1 || count > MOST_CLASSES))
    return dq_fail(error, DQ_BAD_INPUT, "'nc' is not a number of classes, 1 to %d", MOST_CLASSES);
  if (!names && !number) return dq_fail(error, DQ_BAD_INPUT, "no 'names', expected those of the classes");
  if (names && number && count != d->data->class_name_count)
    return dq_fail(error, DQ_BAD_INPUT, "'nc' is %" PRId64 ", 'names' has %" PRId64 ", expected the same number", count,
                   d->data->class_name_count);
  d->data->classes = names ? d->data->class_name_count : count;
  return DQ_OK;
}

// ---- Pictures ----

// The path with the last folder `images` in it called `labels`; the path itself where there is none.
static const char *labels_for(dq_arena *arena, const char *path) {
  static const char folder[] = "/images";
  const char *last = NULL;
  for (const char *at = path; (at = strstr(at, folder)); at++)
    if (!at[strlen(folder)] || at[strlen(folder)] == '/') last = at;
  if (!last) return path;
  return dq_arena_printf(arena, "%.*s/labels%s", (int)(last - path), path, last + strlen(folder));
}

// The text file that belongs to a picture.
static const char *label_of(dq_arena *arena, const char *picture) {
  const char *path = labels_for(arena, picture), *dot = path ? strrchr(path, '.') : NULL;
  const int length = dot ? (int)(dot - path) : path ? (int)strlen(path) : 0;
  return path ? dq_arena_printf(arena, "%.*s.txt", length, path) : NULL;
}

static dq_status add_listed(dq_data *data, const char *folder, char *name, dq_error *error) {
  if (!strncmp(name, "./", 2)) name += 2;
  dq_file_sample sample = {.name = name, .path = dq_join(data->arena, folder, name), .label = -1};
  if (!sample.path) return dq_fail_memory(error, strlen(name));
  if (!dq_is_file(sample.path)) return dq_fail(error, DQ_BAD_INPUT, "no picture '%s'", sample.path);
  const char *label = label_of(data->arena, sample.path);
  if (!label) return dq_fail_memory(error, strlen(sample.path));
  if (dq_is_file(label)) sample.label_path = label;
  return dq_files_add(data, sample, error);
}

// A text file with the path of a picture on each line, relative to the file.
static dq_status add_list(dq_data *data, const char *path, dq_error *error) {
  dq_file file;
  char **lines, folder[4096];
  DQ_TRY(dq_file_open_regular(&file, path, error));
  char *text = dq_arena_strndup(data->arena, (const char *)file.data, file.size);
  dq_file_close(&file);
  const int count = text ? dq_split(data->arena, text, '\n', &lines) : -1;
  if (count < 0) return dq_fail_memory(error, 0);
  dq_path_folder(path, folder, sizeof folder);
  for (int i = 0; i < count; i++) {
    lines[i][strcspn(lines[i], "\r")] = 0;
    if (!*lines[i]) continue;
    dq_status status = add_listed(data, folder, lines[i], error);
    if (status != DQ_OK) return dq_error_prefix(error, status, "%s: line %d", path, i + 1);
  }
  return DQ_OK;
}

static bool is_there(const char *path) { return path && (dq_is_folder(path) || dq_is_file(path)); }

// What a path of the file means: from the root on, and where it begins with ../ and nothing is there, without that, as
// files are written beside the folder that they mean.
static const char *place_of(const description *d, const char *path) {
  const char *place = dq_join(d->data->arena, d->root, path);
  if (is_there(place) || strncmp(path, "../", 3) != 0) return place;
  const char *other = dq_join(d->data->arena, d->root, path + 3);
  return is_there(other) ? other : place;
}

static dq_status add_place(description *d, const yaml_node_t *node, const char *split, dq_error *error) {
  const char *text = text_of(node);
  if (!text || !*text) return dq_fail(error, DQ_BAD_INPUT, "'%s' is not a path or a list of paths", split);
  const char *place = place_of(d, text);
  if (!place) return dq_fail_memory(error, strlen(text));
  if (dq_is_file(place)) return add_list(d->data, place, error);
  if (!dq_is_folder(place)) return dq_fail(error, DQ_BAD_INPUT, "'%s' is %s, where nothing is", split, place);
  const char *labels = labels_for(d->data->arena, place);
  if (!labels) return dq_fail_memory(error, strlen(place));
  return dq_folder_pictures(d->data, place, dq_is_folder(labels) ? labels : NULL, error);
}

static dq_status add_split(description *d, const char *split, dq_error *error) {
  yaml_node_t *node = member(d, split);
  if (!node) {
    dq_fail(error, DQ_BAD_INPUT, "no '%s'", split);
    dq_error_hint(error, "split=train, split=val or split=test behind the file chooses the pictures");
    return DQ_BAD_INPUT;
  }
  if (node->type != YAML_SEQUENCE_NODE) return add_place(d, node, split, error);
  for (yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
    DQ_TRY(add_place(d, yaml_document_get_node(&d->document, *item), split, error));
  return DQ_OK;
}

// ---- The file ----

static dq_status set_root(description *d, const char *path, dq_error *error) {
  char folder[4096];
  dq_path_folder(path, folder, sizeof folder);
  const char *text = text_of(member(d, "path"));
  const char *beside = dq_arena_strdup(d->data->arena, folder);
  const char *named = text && *text ? dq_join(d->data->arena, folder, text) : beside;
  if (!beside || !named) return dq_fail_memory(error, strlen(folder));
  d->root = dq_is_folder(named) ? named : beside;
  return DQ_OK;
}

static dq_status read_document(description *d, const char *path, const char *split, dq_error *error) {
  const yaml_node_t *root = yaml_document_get_root_node(&d->document);
  if (!root || root->type != YAML_MAPPING_NODE)
    return dq_fail(error, DQ_BAD_INPUT, "no map, expected names, train and val");
  DQ_TRY(read_classes(d, error));
  DQ_TRY(set_root(d, path, error));
  DQ_TRY(add_split(d, split, error));
  d->data->kind = DQ_LABEL_BOXES;
  return DQ_OK;
}

static dq_status parse(description *d, const dq_file *file, const char *path, const char *split, dq_error *error) {
  yaml_parser_t parser;
  if (file->size > LARGEST_FILE)
    return dq_fail(error, DQ_BAD_INPUT, "%zu bytes, expected at most %d", file->size, LARGEST_FILE);
  if (!yaml_parser_initialize(&parser)) return dq_fail_memory(error, 0);
  yaml_parser_set_input_string(&parser, file->data, file->size);
  dq_status status = DQ_OK;
  if (yaml_parser_load(&parser, &d->document)) {
    status = read_document(d, path, split, error);
    yaml_document_delete(&d->document);
  } else if (parser.error == YAML_MEMORY_ERROR) {
    status = dq_fail_memory(error, 0);
  } else {
    status = dq_fail(error, DQ_BAD_INPUT, "line %zu: %s", parser.problem_mark.line + 1, parser.problem);
  }
  yaml_parser_delete(&parser);
  return status;
}

static dq_status read_file(dq_data *data, const char *path, const char *split, dq_error *error) {
  dq_file file;
  description d = {.data = data};
  dq_budget *budget = dq_data_budget(data);
  DQ_TRY(dq_file_open_regular(&file, path, error));
  const size_t room = EXPANSION * (file.size < LARGEST_FILE ? file.size : 0);
  dq_status status = DQ_OK;
  if (dq_budget_reserve(budget, room)) {
    status = parse(&d, &file, path, split, error);
    dq_budget_release(budget, room);
  } else {
    status = dq_fail_memory(error, room);
  }
  dq_file_close(&file);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}

// "FILE.yaml,split=train"; without a split those to validate with.
static dq_status open_yolo(dq_data *data, const char *argument, const dq_data_options *options, dq_error *error) {
  static const char field[] = ",split=";
  const char *comma = strstr(argument, field), *split = comma ? comma + strlen(field) : "val";
  const char *path = comma ? dq_arena_strndup(data->arena, argument, (size_t)(comma - argument)) : argument;
  if (options->labels)
    return dq_fail(error, DQ_USAGE,
                   "yolo: the file has the names of the classes and of the labels; leave --labels out");
  if (!path) return dq_fail_memory(error, strlen(argument));
  if (strcmp(split, "train") != 0 && strcmp(split, "val") != 0 && strcmp(split, "test") != 0)
    return dq_fail(error, DQ_USAGE, "yolo: split is '%s', expected train, val or test", split);
  return read_file(data, path, split, error);
}

const dq_reader_functions dq_reader_yolo = {
    .open = open_yolo, .describe = dq_files_describe, .pixels = dq_files_pixels, .close = dq_files_close};
