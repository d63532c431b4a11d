// Finds the members and elements of a JSON text by its brackets and quotes, so that files of any size are parsed piece
// by piece.
#include <inttypes.h>
#include <string.h>

#include "datasets/objects/coco.h"

static void skip(dq_json_rest *rest, size_t size) { rest->text += size, rest->size -= size; }

static void skip_space(dq_json_rest *rest) {
  while (rest->size && strchr(" \t\r\n", *rest->text) && *rest->text) skip(rest, 1);
}

bool dq_json_ended(const dq_json_rest *rest) {
  dq_json_rest left = *rest;
  skip_space(&left);
  return !left.size;
}

// Moves behind a text in quotes; false: it has no end.
static bool skip_text(dq_json_rest *rest) {
  for (skip(rest, 1); rest->size; skip(rest, 1)) {
    if (*rest->text == '"') return skip(rest, 1), true;
    if (*rest->text == '\\' && rest->size > 1) skip(rest, 1);
  }
  return false;
}

// Moves behind an object or an array; false: it has no end.
static bool skip_nested(dq_json_rest *rest) {
  int64_t depth = 0;
  while (rest->size) {
    const char c = *rest->text;
    if (c == '"') {
      if (!skip_text(rest)) return false;
      continue;
    }
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    skip(rest, 1);
    if (!depth) return true;
  }
  return false;
}

static dq_status skip_value(dq_json_rest *rest, dq_json_span *value, dq_error *error) {
  const char first = rest->size ? *rest->text : 0;
  value->text = rest->text;
  bool ends = true;
  if (first == '"') ends = skip_text(rest);
  else if (first == '{' || first == '[') ends = skip_nested(rest);
  else
    while (rest->size && !(strchr(",:]} \t\r\n", *rest->text) && *rest->text)) skip(rest, 1);
  value->size = (size_t)(rest->text - value->text);
  if (!ends) return dq_fail(error, DQ_BAD_INPUT, "a '%c' has no end; the file is cut off or broken", first);
  return value->size ? DQ_OK : dq_fail(error, DQ_BAD_INPUT, "a value is missing; the file is cut off or broken");
}

// Moves behind what stands before a member or an element: the opening bracket or a comma. *more is false at the end.
static dq_status open_next(dq_json_rest *rest, bool first, const char brackets[2], bool *more, dq_error *error) {
  skip_space(rest);
  const char wanted = first ? brackets[0] : ',', c = rest->size ? *rest->text : 0;
  *more = c == wanted;
  if (!*more && (first || c != brackets[1]))
    return dq_fail(error, DQ_BAD_INPUT, "expected '%c'; the file is cut off or broken", wanted);
  skip(rest, 1);
  skip_space(rest);
  if (!first || !rest->size || *rest->text != brackets[1]) return DQ_OK;
  *more = false;
  skip(rest, 1);
  return DQ_OK;
}

dq_status dq_json_member(dq_json_rest *rest, bool first, dq_json_span *member, dq_json_span *value, bool *more,
                         dq_error *error) {
  DQ_TRY(open_next(rest, first, "{}", more, error));
  if (!*more) return DQ_OK;
  if (!rest->size || *rest->text != '"')
    return dq_fail(error, DQ_BAD_INPUT, "expected a name in quotes; the file is cut off or broken");
  DQ_TRY(skip_value(rest, member, error));
  *member = (dq_json_span){member->text + 1, member->size - 2};
  skip_space(rest);
  if (!rest->size || *rest->text != ':')
    return dq_fail(error, DQ_BAD_INPUT, "expected ':' behind a name; the file is cut off or broken");
  skip(rest, 1);
  skip_space(rest);
  return skip_value(rest, value, error);
}

dq_status dq_json_element(dq_json_rest *rest, bool first, dq_json_span *value, bool *more, dq_error *error) {
  DQ_TRY(open_next(rest, first, "[]", more, error));
  return *more ? skip_value(rest, value, error) : DQ_OK;
}
