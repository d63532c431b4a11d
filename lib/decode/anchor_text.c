// Reading the description of YOLO heads.
#include "lib/decode/anchor_text.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLASSES = 100000, MAX_HEADS = DQ_MOST_ROLES };

static dq_status alloc_heads(dq_decoder *decoder, size_t count, dq_error *error) {
  if (count < 1 || count > MAX_HEADS)
    return dq_fail(error, DQ_BAD_INPUT, "decode: %zu heads, expected 1 to %d", count, MAX_HEADS);
  decoder->anchors = calloc(count, sizeof *decoder->anchors);
  decoder->roles = (int)count;
  return decoder->anchors ? DQ_OK : dq_fail_memory(error, count * sizeof *decoder->anchors);
}

static bool positive(double value) { return isfinite(value) && value > 0; }

static dq_status find_output(int *output, const char *name, const dq_decode_options *options, dq_error *error) {
  for (int i = 0; i < options->output_count; i++)
    if (!strcmp(options->output_names[i], name)) {
      *output = i;
      return DQ_OK;
    }
  return dq_fail(error, DQ_BAD_INPUT, "decode: the model has no output '%s'", name);
}

static dq_status read_json_anchors(dq_anchor_head *head, const json_t *anchors, dq_error *error) {
  size_t count = json_array_size(anchors);
  if (count < 1 || count > DQ_MAX_ANCHORS)
    return dq_fail(error, DQ_BAD_INPUT, "decode: %zu anchors, expected 1 to %d", count, DQ_MAX_ANCHORS);
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < 2; k++) {
      double value = json_number_value(json_array_get(json_array_get(anchors, i), k));
      if (!positive(value)) return dq_fail(error, DQ_BAD_INPUT, "decode: anchor %zu is not two positive numbers", i);
      head->anchors[i][k] = value;
    }
  head->anchor_count = (int)count;
  return DQ_OK;
}

static dq_status read_json_head(dq_decoder *decoder, int role, const json_t *json, const dq_decode_options *options,
                                dq_error *error) {
  dq_anchor_head *head = &decoder->anchors[role];
  const char *name = json_string_value(json_object_get(json, "name"));
  const json_t *scale = json_object_get(json, "scale_x_y");
  if (!name) return dq_fail(error, DQ_BAD_INPUT, "decode: a head without a name");
  DQ_TRY(find_output(&decoder->output[role], name, options, error));
  head->classes = json_integer_value(json_object_get(json, "classes"));
  if (head->classes < 1 || head->classes > MAX_CLASSES)
    return dq_fail(error, DQ_BAD_INPUT, "decode: head '%s' has no number of classes", name);
  head->scale = scale ? json_number_value(scale) : 1;
  if (!positive(head->scale))
    return dq_fail(error, DQ_BAD_INPUT, "decode: head '%s': scale_x_y is not a positive number", name);
  return read_json_anchors(head, json_object_get(json, "anchors"), error);
}

dq_status dq_anchors_from_json(dq_decoder *decoder, const char *text, const dq_decode_options *options,
                               dq_error *error) {
  json_error_t where;
  json_t *json = json_loads(text, 0, &where);
  if (!json) return dq_fail(error, DQ_BAD_INPUT, "metadata property 'decode': line %d: %s", where.line, where.text);
  dq_status status = alloc_heads(decoder, json_array_size(json), error);
  for (int i = 0; i < decoder->roles && status == DQ_OK; i++)
    status = read_json_head(decoder, i, json_array_get(json, (size_t)i), options, error);
  json_decref(json);
  return status;
}

static dq_status fail_text(const char *text, const char *at, dq_error *error) {
  dq_fail(error, DQ_USAGE, "decode: '%s' cannot be read at '%.20s'", text, at);
  dq_error_hint(error, "for example yolo:classes=80,anchors=10x14:23x27/81x82:135x169,scale=1.05");
  return DQ_USAGE;
}

// A positive number at *at, which moves behind it.
static bool parse_number(const char **at, double *value) {
  char *end;
  *value = strtod(*at, &end);
  if (end == *at || !positive(*value)) return false;
  *at = end;
  return true;
}

// Moves *at behind `mark` when that stands there; the end of the text never does.
static bool parse_mark(const char **at, char mark) {
  const bool found = **at == mark;
  *at += found;
  return found;
}

// "10x14:23x27/81x82:135x169"
static bool parse_anchors(dq_decoder *decoder, const char **at) {
  for (int i = 0; i < decoder->roles; i++) {
    dq_anchor_head *head = &decoder->anchors[i];
    do {
      if (head->anchor_count == DQ_MAX_ANCHORS) return false;
      double *anchor = head->anchors[head->anchor_count++];
      if (!parse_number(at, &anchor[0]) || !parse_mark(at, 'x') || !parse_number(at, &anchor[1])) return false;
    } while (parse_mark(at, ':'));
    if (i + 1 < decoder->roles && !parse_mark(at, '/')) return false;
  }
  return true;
}

static bool parse_key(const char **at, const char *key) {
  size_t length = strlen(key);
  if (strncmp(*at, key, length)) return false;
  *at += length;
  return true;
}

dq_status dq_anchors_from_text(dq_decoder *decoder, const char *text, const dq_decode_options *options,
                               dq_error *error) {
  double classes = 0, scale = 1;
  bool anchors = false;
  if (options->output_count < 1) return dq_fail(error, DQ_BAD_INPUT, "the model has no outputs");
  DQ_TRY(alloc_heads(decoder, (size_t)options->output_count, error));
  for (const char *at = strchr(text, ':') + 1;; at++) {
    bool good = false;
    if (parse_key(&at, "classes=")) good = parse_number(&at, &classes) && classes <= MAX_CLASSES;
    else if (parse_key(&at, "scale=")) good = parse_number(&at, &scale);
    else if (parse_key(&at, "anchors=")) good = !anchors && (anchors = parse_anchors(decoder, &at));
    if (!good || (*at && *at != ',')) return fail_text(text, at, error);
    if (!*at) break;
  }
  if (!anchors || classes < 1 || classes != floor(classes))
    return dq_fail(error, DQ_USAGE, "decode: '%s' needs anchors and a whole number of classes", text);
  for (int i = 0; i < decoder->roles; i++) {
    decoder->output[i] = i;
    decoder->anchors[i].classes = (int64_t)classes;
    decoder->anchors[i].scale = scale;
  }
  return DQ_OK;
}
