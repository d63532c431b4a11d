#include "tests/fuzz/mutate_message.h"

#include <string.h>

typedef struct mutation {
  const char *const *words;
  size_t word_count;
  dq_random *random;
  dq_arena *arena;
} mutation;

static uint64_t below(const mutation *m, uint64_t count) { return dq_random_below(m->random, count); }

static void *field_at(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  return (char *)message + field->offset;
}
// The count of a repeated field, the presence of an optional number, or the case of a union.
static void *quantifier(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  return (char *)message + field->quantifier_offset;
}
static bool is_chosen(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  return !(field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) || *(uint32_t *)quantifier(message, field) == field->id;
}

// ---- Finding messages ----

typedef struct choice {
  const ProtobufCMessageDescriptor *kind; // NULL: any
  ProtobufCMessage *chosen;
  uint64_t seen;
  dq_random *random;
} choice;

static void visit(choice *c, ProtobufCMessage *message) {
  if (!message) return;
  if (!c->kind || message->descriptor == c->kind)
    if (!dq_random_below(c->random, ++c->seen)) c->chosen = message;
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
    if (field->type != PROTOBUF_C_TYPE_MESSAGE || !is_chosen(message, field)) continue;
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
      ProtobufCMessage **list = *(ProtobufCMessage ***)field_at(message, field);
      for (size_t k = 0; k < *(size_t *)quantifier(message, field); k++) visit(c, list[k]);
    } else visit(c, *(ProtobufCMessage **)field_at(message, field));
  }
}

void *fuzz_pick_message(ProtobufCMessage *root, const ProtobufCMessageDescriptor *kind, dq_random *random) {
  choice c = {.kind = kind, .random = random};
  visit(&c, root);
  return c.chosen;
}

// ---- One value ----

static size_t width_of(ProtobufCType type) {
  switch (type) {
  case PROTOBUF_C_TYPE_MESSAGE:
  case PROTOBUF_C_TYPE_STRING: return sizeof(void *);
  case PROTOBUF_C_TYPE_BYTES: return sizeof(ProtobufCBinaryData);
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_DOUBLE: return 8;
  default: return 4;
  }
}

static void mutate_bytes(const mutation *m, ProtobufCBinaryData *bytes) {
  if (bytes->len > FUZZ_LARGEST) return;
  size_t room = bytes->len + 64;
  uint8_t *data = dq_arena_alloc(m->arena, room);
  if (!data) return;
  if (bytes->len) memcpy(data, bytes->data, bytes->len);
  switch (below(m, 4)) {
  case 0: bytes->len = (size_t)below(m, bytes->len + 1); break;
  case 1: bytes->len += (size_t)below(m, 64); break;
  case 2: // a number of its own kind at every fourth or eighth byte
    if (bytes->len >= 8) {
      double real = fuzz_real(m->random);
      float single = (float)real;
      int64_t whole = fuzz_integer(m->random, 1);
      size_t at = (size_t)below(m, bytes->len / 8) * 8;
      if (below(m, 2)) memcpy(data + at, &single, sizeof single);
      else memcpy(data + at, &whole, sizeof whole);
    }
    break;
  default: bytes->len = fuzz_mutate_bytes(data, bytes->len, room, NULL, 0, m->random);
  }
  bytes->data = data;
}

static char *other_text(const mutation *m, const char *old) {
  if (!below(m, 4) || !m->word_count)
    return dq_arena_strndup(m->arena, old ? old : "", old && *old ? strlen(old) - 1 : 0);
  return dq_arena_strdup(m->arena, m->words[below(m, m->word_count)]);
}

static void mutate_value(const mutation *m, const ProtobufCFieldDescriptor *field, void *value) {
  switch (field->type) {
  case PROTOBUF_C_TYPE_MESSAGE: return; // its own fields are changed when it is picked
  case PROTOBUF_C_TYPE_STRING: {
    char *text = other_text(m, *(char **)value);
    if (text) *(char **)value = text;
    return;
  }
  case PROTOBUF_C_TYPE_BYTES: mutate_bytes(m, value); return;
  case PROTOBUF_C_TYPE_FLOAT: *(float *)value = (float)fuzz_real(m->random); return;
  case PROTOBUF_C_TYPE_DOUBLE: *(double *)value = fuzz_real(m->random); return;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64: *(int64_t *)value = fuzz_integer(m->random, *(int64_t *)value); return;
  case PROTOBUF_C_TYPE_ENUM: *(int32_t *)value = (int32_t)below(m, 26); return;
  default: // types of elements are small numbers
    *(int32_t *)value = below(m, 2) ? (int32_t)below(m, 26) : (int32_t)fuzz_integer(m->random, *(int32_t *)value);
  }
}

// ---- One field ----

void *fuzz_array_insert(dq_arena *arena, void *array, size_t *count, size_t at, void *element) {
  void **made = dq_arena_array(arena, *count + 1, sizeof *made);
  if (!made) return array;
  if (at) memcpy(made, array, at * sizeof *made);
  made[at] = element;
  if (*count > at) memcpy(made + at + 1, (void **)array + at, (*count - at) * sizeof *made);
  ++*count;
  return made;
}

static void mutate_repeated(const mutation *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  size_t *count = quantifier(message, field), width = width_of(field->type);
  char **list = field_at(message, field);
  if (!*count) return;
  size_t at = (size_t)below(m, *count), to = (size_t)below(m, *count);
  char *copy = dq_arena_array(m->arena, *count + 1, width), swapped[sizeof(ProtobufCBinaryData)];
  if (!copy) return;
  memcpy(copy, *list, *count * width);
  switch (below(m, 5)) {
  case 0: // one fewer
    memmove(copy + at * width, copy + (at + 1) * width, (*count - at - 1) * width);
    --*count;
    break;
  case 1: // one twice
    memmove(copy + (to + 1) * width, *list + to * width, (*count - to) * width);
    memcpy(copy + to * width, *list + at * width, width);
    ++*count;
    break;
  case 2:
    memcpy(swapped, copy + at * width, width);
    memcpy(copy + at * width, copy + to * width, width);
    memcpy(copy + to * width, swapped, width);
    break;
  default: mutate_value(m, field, copy + at * width);
  }
  *list = copy;
}

static void mutate_single(const mutation *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field) {
  void *value = field_at(message, field);
  bool pointer = field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING;
  if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
    if (!is_chosen(message, field)) {
      if (field->type == PROTOBUF_C_TYPE_MESSAGE) return;
      memset(value, 0, width_of(field->type));
      *(uint32_t *)quantifier(message, field) = field->id;
    } else if (!below(m, 4)) {
      *(uint32_t *)quantifier(message, field) = 0;
      return;
    }
    mutate_value(m, field, value);
    return;
  }
  if (!below(m, 4)) { // taken out
    if (pointer)
      *(void **)value = (void *)(uintptr_t)(field->type == PROTOBUF_C_TYPE_STRING ? field->default_value : NULL);
    else *(protobuf_c_boolean *)quantifier(message, field) = 0;
    return;
  }
  mutate_value(m, field, value);
  if (!pointer) *(protobuf_c_boolean *)quantifier(message, field) = 1;
}

void fuzz_mutate_message(ProtobufCMessage *root, const char *const *words, size_t word_count, dq_random *random,
                         dq_arena *arena) {
  mutation m = {words, word_count, random, arena};
  ProtobufCMessage *message = fuzz_pick_message(root, NULL, random);
  for (int tries = 0; message->descriptor->n_fields && tries < 4; tries++) { // most fields are empty: look again
    const ProtobufCFieldDescriptor *field = &message->descriptor->fields[below(&m, message->descriptor->n_fields)];
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    if (repeated && !*(size_t *)quantifier(message, field)) continue;
    if (repeated) mutate_repeated(&m, message, field);
    else mutate_single(&m, message, field);
    return;
  }
}
