// A walk over the wire format, guided by protobuf-c's descriptors, before anything is unpacked.
// Wire format: https://protobuf.dev/programming-guides/encoding/
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/onnx/document.h"

enum { DEEPEST = 100 }; // nesting of messages; protobuf's own default

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

typedef struct wire_field {
  unsigned number, wire;
  const uint8_t *begin; // its tag
  const uint8_t *data;  // WIRE_BYTES: the content
  size_t size;          // WIRE_BYTES: of the content
  const uint8_t *end;
} wire_field;

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value) {
  *value = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    uint8_t byte = *(*at)++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

// Reads the field at *at and moves behind it; false when it is malformed or cut off.
static bool read_field(const uint8_t **at, const uint8_t *end, wire_field *field) {
  uint64_t tag, value;
  field->begin = *at;
  if (!read_varint(at, end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return false;
  field->number = (unsigned)(tag >> 3);
  field->wire = tag & 7;
  size_t left;
  switch (field->wire) {
  case WIRE_VARINT:
    if (!read_varint(at, end, &value)) return false;
    break;
  case WIRE_BYTES:
    if (!read_varint(at, end, &value)) return false;
    if (value > (uint64_t)(end - *at)) return false;
    field->data = *at;
    field->size = (size_t)value;
    *at += value;
    break;
  case WIRE_64:
  case WIRE_32:
    left = field->wire == WIRE_64 ? 8 : 4;
    if ((size_t)(end - *at) < left) return false;
    *at += left;
    break;
  default: return false; // groups have been gone for ages
  }
  field->end = *at;
  return true;
}

typedef struct wire_scan {
  size_t memory, limit; // bytes unpacking would take, bound
  dq_error *error;
} wire_scan;

static dq_status count_bytes(wire_scan *scan, size_t bytes) {
  if (bytes > scan->limit - scan->memory)
    return dq_fail(scan->error, DQ_BAD_INPUT,
                   "the file would unpack to more than %zu MiB of small parts, far more than it holds",
                   scan->limit >> 20);
  scan->memory += bytes;
  return DQ_OK;
}

static dq_status scan_message(wire_scan *scan, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                              size_t size, int depth);

static size_t packed_bytes(const ProtobufCFieldDescriptor *known, size_t size) {
  switch (known->type) { // varints take at least a byte each in the file
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_UINT32:
  case PROTOBUF_C_TYPE_ENUM: return size * 4;
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_UINT64: return size * 8;
  default: return size;
  }
}

static dq_status scan_bytes(wire_scan *scan, const ProtobufCMessageDescriptor *descriptor,
                            const ProtobufCFieldDescriptor *known, const wire_field *field, int depth) {
  switch (known->type) {
  case PROTOBUF_C_TYPE_MESSAGE: return scan_message(scan, known->descriptor, field->data, field->size, depth + 1);
  case PROTOBUF_C_TYPE_STRING:
    if (memchr(field->data, 0, field->size))
      return dq_fail(scan->error, DQ_BAD_INPUT, "%s.%s has a zero byte in its text", descriptor->short_name,
                     known->name);
    return count_bytes(scan, field->size + 1);
  case PROTOBUF_C_TYPE_BYTES: // raw_data is cut out before unpacking
    if (!strcmp(known->name, "raw_data")) return count_bytes(scan, sizeof(dq_raw_place));
    return count_bytes(scan, field->size + sizeof(ProtobufCBinaryData));
  default: return count_bytes(scan, packed_bytes(known, field->size));
  }
}

static unsigned wire_of(ProtobufCType type) {
  switch (type) {
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
  case PROTOBUF_C_TYPE_FLOAT:
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_SFIXED32: return WIRE_32;
  case PROTOBUF_C_TYPE_DOUBLE:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_SFIXED64: return WIRE_64;
  default: return WIRE_VARINT;
  }
}

static dq_status scan_field(wire_scan *scan, const ProtobufCMessageDescriptor *descriptor, const wire_field *field,
                            int depth) {
  const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(descriptor, field->number);
  if (!known) return count_bytes(scan, (size_t)(field->end - field->begin) + sizeof(ProtobufCMessageUnknownField));
  bool repeated = known->label == PROTOBUF_C_LABEL_REPEATED;
  unsigned expected = wire_of(known->type);
  if (field->wire != expected && !(repeated && field->wire == WIRE_BYTES))
    return dq_fail(scan->error, DQ_BAD_INPUT, "%s.%s has wire type %u, expected %u", descriptor->short_name,
                   known->name, field->wire, expected);
  if (repeated) DQ_TRY(count_bytes(scan, sizeof(void *)));
  return field->wire == WIRE_BYTES ? scan_bytes(scan, descriptor, known, field, depth) : DQ_OK;
}

static dq_status scan_message(wire_scan *scan, const ProtobufCMessageDescriptor *descriptor, const uint8_t *data,
                              size_t size, int depth) {
  if (depth > DEEPEST) return dq_fail(scan->error, DQ_BAD_INPUT, "messages are nested more than %d deep", DEEPEST);
  DQ_TRY(count_bytes(scan, descriptor->sizeof_message));
  const uint8_t *at = data, *end = data + size;
  bool has_operator = descriptor != &onnx__node_proto__descriptor;
  while (at < end) {
    wire_field field = {0};
    if (!read_field(&at, end, &field))
      return dq_fail(scan->error, DQ_BAD_INPUT, "%s is cut off or malformed at byte %zu of its %zu",
                     descriptor->short_name, (size_t)(field.begin - data), size);
    DQ_TRY(scan_field(scan, descriptor, &field, depth));
    has_operator |= field.number == 4; // NodeProto.op_type
  }
  if (!has_operator) return dq_fail(scan->error, DQ_BAD_INPUT, "a node has no op_type");
  return DQ_OK;
}

dq_status dq_scan_message(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
                          size_t *memory, dq_error *error) {
  // A real network unpacks to a few times its bytes without weights; 32 times is far from that.
  size_t limit;
  if (!dq_mul_size(size, 32, &limit) || !dq_add_size(limit, 1 << 20, &limit)) limit = SIZE_MAX / 2;
  wire_scan scan = {.limit = limit, .error = error};
  DQ_TRY(scan_message(&scan, descriptor, data, size, 0));
  *memory = scan.memory;
  return DQ_OK;
}

bool dq_is_cut_off(const uint8_t *data, size_t size) {
  const uint8_t *at = data, *end = data + size;
  while (at < end) {
    wire_field field = {0};
    uint64_t tag, length;
    if (read_field(&at, end, &field)) continue;
    at = field.begin;
    if (!read_varint(&at, end, &tag)) return at == end;
    if ((tag & 7) != WIRE_BYTES) return false;
    if (!read_varint(&at, end, &length)) return at == end;
    return length <= INT32_MAX && length > (uint64_t)(end - at); // no message is longer
  }
  return false;
}

// ---- Cutting raw_data out ----

typedef struct byte_buffer {
  uint8_t *data;
  size_t used, capacity;
  const uint8_t *base; // start of the file, for offsets
  const dq_context *context;
} byte_buffer;

static bool append(byte_buffer *buffer, const void *data, size_t size) {
  if (size > buffer->capacity - buffer->used) {
    size_t capacity = 2 * buffer->capacity + size + 1024;
    uint8_t *larger =
        buffer->data ? dq_budget_realloc(buffer->data, capacity) : dq_context_alloc(buffer->context, capacity);
    if (!larger) return false;
    buffer->data = larger;
    buffer->capacity = capacity;
  }
  if (size) memcpy(buffer->data + buffer->used, data, size);
  buffer->used += size;
  return true;
}

// Which fields to descend into on the way to raw_data: message, field number, message below.
static const struct {
  const ProtobufCMessageDescriptor *message;
  unsigned number;
  const ProtobufCMessageDescriptor *below;
} way[] = {
    {&onnx__model_proto__descriptor, 7, &onnx__graph_proto__descriptor},
    {&onnx__graph_proto__descriptor, 1, &onnx__node_proto__descriptor},
    {&onnx__graph_proto__descriptor, 5, &onnx__tensor_proto__descriptor},
    {&onnx__node_proto__descriptor, 5, &onnx__attribute_proto__descriptor},
    {&onnx__attribute_proto__descriptor, 5, &onnx__tensor_proto__descriptor},
};

static const ProtobufCMessageDescriptor *below(const ProtobufCMessageDescriptor *message, unsigned number) {
  for (int i = 0; i < DQ_COUNT(way); i++)
    if (way[i].message == message && way[i].number == number) return way[i].below;
  return NULL;
}

enum { LENGTH_BYTES = 5 }; // a varint padded to this length can be filled in afterwards

static bool put_tag(byte_buffer *buffer, unsigned number) {
  uint8_t tag = (uint8_t)(number << 3 | WIRE_BYTES); // all numbers on the way are below 16
  return append(buffer, &tag, 1);
}

static void put_length(uint8_t *at, size_t length) {
  for (int i = 0; i < LENGTH_BYTES; i++)
    at[i] = (uint8_t)((length >> (7 * i) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}

static bool cut_message(byte_buffer *buffer, const ProtobufCMessageDescriptor *message, const uint8_t *data,
                        size_t size) {
  const uint8_t *at = data, *end = data + size;
  wire_field field = {0};
  while (at < end && read_field(&at, end, &field)) {
    const ProtobufCMessageDescriptor *next = field.wire == WIRE_BYTES ? below(message, field.number) : NULL;
    if (next) {
      uint8_t length[LENGTH_BYTES] = {0};
      if (!put_tag(buffer, field.number) || !append(buffer, length, sizeof length)) return false;
      size_t start = buffer->used;
      if (!cut_message(buffer, next, field.data, field.size)) return false;
      put_length(buffer->data + start - LENGTH_BYTES, buffer->used - start);
    } else if (message == &onnx__tensor_proto__descriptor && field.number == 9) {
      dq_raw_place place = {(uint64_t)(field.data - buffer->base), field.size};
      uint8_t length[LENGTH_BYTES];
      put_length(length, sizeof place);
      if (!put_tag(buffer, 9) || !append(buffer, length, sizeof length) || !append(buffer, &place, sizeof place))
        return false;
    } else if (!append(buffer, field.begin, (size_t)(field.end - field.begin))) {
      return false;
    }
  }
  return true;
}

dq_status dq_cut_raw_data(const uint8_t *data, size_t size, uint8_t **cut, size_t *cut_size, const dq_context *context,
                          dq_error *error) {
  byte_buffer buffer = {.base = data, .context = context};
  if (!append(&buffer, "", 0) || !cut_message(&buffer, &onnx__model_proto__descriptor, data, size)) {
    dq_budget_free(buffer.data);
    return dq_fail_memory(error, buffer.capacity);
  }
  *cut = buffer.data;
  *cut_size = buffer.used;
  return DQ_OK;
}
