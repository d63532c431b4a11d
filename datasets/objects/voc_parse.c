// An XML file of Pascal VOC: annotation/object with name, difficult and bndbox (xmin, ymin, xmax, ymax).
#include <expat.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "datasets/objects/voc.h"
#include "lib/base/file.h"

// The parser takes less than EXPANSION times the text, as nothing in it stands for something longer.
enum { LARGEST_FILE = 16 << 20, EXPANSION = 4, LONGEST_TEXT = 256, DEEPEST = 100 };
enum { AT_ROOT = 1, AT_OBJECT, AT_MEMBER, AT_SIDE }; // depths of elements

typedef enum member { XMIN, YMIN, XMAX, YMAX, DIFFICULT, NAME, NONE } member;
static const char *const member_names[] = {"xmin", "ymin", "xmax", "ymax", "difficult", "name"};

typedef struct parse {
  XML_Parser parser;
  const dq_voc_receiver *receiver;
  int64_t number; // of the object, from 1
  int depth;
  bool in_object, in_box;
  member member; // whose text comes
  char text[LONGEST_TEXT], name[LONGEST_TEXT];
  size_t length;
  bool seen[NONE];
  double values[NONE];
  dq_status status;
  dq_error *error;
} parse;

// Ends the parse with a status that has its message.
static void stop(parse *p, dq_status status) {
  if (p->status == DQ_OK && p->number) dq_error_prefix(p->error, status, "object %" PRId64, p->number);
  if (p->status == DQ_OK) p->status = status;
  XML_StopParser(p->parser, XML_FALSE);
}

static member member_of(const parse *p, const char *name) {
  if (!p->in_object || (p->depth != AT_MEMBER && !(p->depth == AT_SIDE && p->in_box))) return NONE;
  const int first = p->depth == AT_SIDE ? XMIN : DIFFICULT, end = p->depth == AT_SIDE ? DIFFICULT : NONE;
  for (int m = first; m < end; m++)
    if (!strcmp(name, member_names[m])) return m;
  return NONE;
}

static void begin_object(parse *p) {
  p->number++;
  p->name[0] = 0;
  memset(p->seen, 0, sizeof p->seen);
  memset(p->values, 0, sizeof p->values);
}

static void XMLCALL start_element(void *user, const char *name, const char **attributes) {
  parse *p = user;
  (void)attributes;
  if (p->status != DQ_OK) return;
  if (++p->depth > DEEPEST) {
    stop(p, dq_fail(p->error, DQ_BAD_INPUT, "elements stand in each other %d deep", p->depth));
    return;
  }
  if (p->depth == AT_ROOT && strcmp(name, "annotation") != 0) {
    stop(p, dq_fail(p->error, DQ_BAD_INPUT, "the first element is '%.100s', expected 'annotation'", name));
    return;
  }
  if (p->depth == AT_OBJECT) p->in_object = !strcmp(name, "object");
  if (p->depth == AT_OBJECT && p->in_object) begin_object(p);
  if (p->depth == AT_MEMBER) p->in_box = !strcmp(name, "bndbox");
  p->member = member_of(p, name);
  p->length = 0;
}

static void XMLCALL add_text(void *user, const char *text, int size) {
  parse *p = user;
  if (p->status != DQ_OK || p->member == NONE) return;
  if (p->length + (size_t)size >= sizeof p->text) {
    stop(p, dq_fail(p->error, DQ_BAD_INPUT, "'%s' has more than %d bytes", member_names[p->member], LONGEST_TEXT - 1));
    return;
  }
  memcpy(p->text + p->length, text, (size_t)size);
  p->length += (size_t)size;
}

// The text of an element without the space around it.
static char *trimmed(parse *p) {
  static const char space[] = " \t\r\n";
  while (p->length && strchr(space, p->text[p->length - 1])) p->length--;
  p->text[p->length] = 0;
  return p->text + strspn(p->text, space);
}

static dq_status store_member(parse *p) {
  char *text = trimmed(p), *end;
  const member m = p->member;
  p->member = NONE;
  p->seen[m] = true;
  if (m == NAME) memcpy(p->name, text, strlen(text) + 1);
  if (m == NAME) return *text ? DQ_OK : dq_fail(p->error, DQ_BAD_INPUT, "'name' is empty");
  p->values[m] = strtod(text, &end);
  if (end != text && !*end && fabs(p->values[m]) <= INT32_MAX) return DQ_OK;
  return dq_fail(p->error, DQ_BAD_INPUT, "'%s' is '%.100s', expected a number", member_names[m], text);
}

// Pixels count from 1, and both corners are inside of the box.
static dq_status give_object(parse *p) {
  const double *v = p->values;
  for (member m = 0; m < NONE; m++)
    if (!p->seen[m] && m != DIFFICULT)
      return dq_fail(p->error, DQ_BAD_INPUT, "no '%s', expected name and bndbox with xmin, ymin, xmax, ymax",
                     member_names[m]);
  if (v[XMAX] < v[XMIN] || v[YMAX] < v[YMIN])
    return dq_fail(p->error, DQ_BAD_INPUT, "the box is from %g, %g to %g, %g, expected xmin <= xmax and ymin <= ymax",
                   v[XMIN], v[YMIN], v[XMAX], v[YMAX]);
  dq_object object = {.left = v[XMIN] - 1,
                      .top = v[YMIN] - 1,
                      .right = v[XMAX],
                      .bottom = v[YMAX],
                      .width = v[XMAX] - v[XMIN] + 1,
                      .height = v[YMAX] - v[YMIN] + 1,
                      .difficult = v[DIFFICULT] != 0,
                      .keeps = true,
                      .place = p->number};
  object.area = object.width * object.height;
  return p->receiver->take(p->receiver->user, &object, p->name, p->error);
}

static void XMLCALL end_element(void *user, const char *name) {
  parse *p = user;
  (void)name;
  if (p->status != DQ_OK) return;
  dq_status status = p->member == NONE ? DQ_OK : store_member(p);
  if (status == DQ_OK && p->depth == AT_OBJECT && p->in_object) status = give_object(p);
  if (status != DQ_OK) stop(p, status);
  if (p->depth == AT_OBJECT) p->in_object = false;
  if (p->depth == AT_MEMBER) p->in_box = false;
  p->depth--;
}

// Entities are declared inside of a document type alone, as others are not read.
static void XMLCALL refuse_declarations(void *user, const char *name, const char *system, const char *public,
                                        int inside) {
  parse *p = user;
  (void)system, (void)public;
  if (inside)
    stop(p, dq_fail(p->error, DQ_BAD_INPUT,
                    "the type '%.100s' has declarations of its own, expected a file without them and without entities",
                    name));
}

static dq_status run_parser(parse *p, const dq_file *file) {
  XML_SetUserData(p->parser, p);
  XML_SetElementHandler(p->parser, start_element, end_element);
  XML_SetCharacterDataHandler(p->parser, add_text);
  XML_SetStartDoctypeDeclHandler(p->parser, refuse_declarations);
  const enum XML_Status done = XML_Parse(p->parser, (const char *)file->data, (int)file->size, 1);
  if (p->status != DQ_OK || done == XML_STATUS_OK) return p->status;
  if (XML_GetErrorCode(p->parser) == XML_ERROR_NO_MEMORY) return dq_fail_memory(p->error, 0);
  return dq_fail(p->error, DQ_BAD_INPUT, "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(p->parser),
                 XML_ErrorString(XML_GetErrorCode(p->parser)));
}

static dq_status parse_file(const dq_file *file, const dq_voc_receiver *receiver, dq_budget *budget, dq_error *error) {
  dq_error unread;
  if (file->size > LARGEST_FILE)
    return dq_fail(error, DQ_BAD_INPUT, "%zu bytes, expected at most %d", file->size, LARGEST_FILE);
  if (!dq_budget_reserve(budget, EXPANSION * file->size)) return dq_fail_memory(error, EXPANSION * file->size);
  parse p = {.parser = XML_ParserCreate(NULL), .receiver = receiver, .member = NONE, .error = error ? error : &unread};
  dq_status status = p.parser ? run_parser(&p, file) : dq_fail_memory(error, 0);
  if (p.parser) XML_ParserFree(p.parser);
  dq_budget_release(budget, EXPANSION * file->size);
  return status;
}

dq_status dq_voc_parse(const char *path, const dq_voc_receiver *receiver, dq_budget *budget, dq_error *error) {
  dq_file file;
  DQ_TRY(dq_file_open_regular(&file, path, error));
  dq_status status = parse_file(&file, receiver, budget, error);
  dq_file_close(&file);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(error, status, "%s", path);
}
