// The .npy format: a magic string, a length, a Python dictionary as text, the elements
// (numpy.lib.format's documentation).
#include "datasets/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/file.h"
#include "lib/base/sizes.h"
#include "lib/text/find_row.h"

typedef struct npy_type {
  const char *code; // kind and bytes, without the byte order
  int type;
} npy_type;

static const npy_type types[] = {
    {"f4", DQ_F32}, {"f8", DQ_F64}, {"f2", DQ_F16}, {"i1", DQ_I8},  {"i2", DQ_I16}, {"i4", DQ_I32},
    {"i8", DQ_I64}, {"u1", DQ_U8},  {"u2", DQ_U16}, {"u4", DQ_U32}, {"u8", DQ_U64}, {"b1", DQ_BOOL},
};
enum { TYPES = DQ_COUNT(types) };

// A place in the header text.
typedef struct scanner {
  const char *at, *end;
  const char *name; // of the file
  dq_error *error;
} scanner;

static dq_status broken(scanner *scan, const char *expected) {
  return dq_fail(scan->error, DQ_BAD_INPUT, "%s: broken .npy header, expected %s", scan->name, expected);
}

static void skip_space(scanner *scan) {
  while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t')) scan->at++;
}

static bool accept(scanner *scan, const char *text) {
  skip_space(scan);
  size_t length = strlen(text);
  if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, text, length)) return false;
  scan->at += length;
  return true;
}

static dq_status scan_string(scanner *scan, char *text, size_t size) {
  skip_space(scan);
  if (scan->at >= scan->end || (*scan->at != '\'' && *scan->at != '"')) return broken(scan, "a quoted text");
  char quote = *scan->at++;
  size_t used = 0;
  for (; scan->at < scan->end && *scan->at != quote; scan->at++) {
    if (used + 1 >= size) return broken(scan, "a short text");
    text[used++] = *scan->at;
  }
  if (scan->at >= scan->end) return broken(scan, "a closing quote");
  scan->at++;
  text[used] = 0;
  return DQ_OK;
}

static dq_status scan_shape(scanner *scan, int *rank, int64_t dims[DQ_MAX_RANK]) {
  if (!accept(scan, "(")) return broken(scan, "the shape in parentheses");
  for (*rank = 0; !accept(scan, ")"); (*rank)++) {
    if (*rank == DQ_MAX_RANK)
      return dq_fail(scan->error, DQ_BAD_INPUT, "%s: more than %d dimensions", scan->name, DQ_MAX_RANK);
    if (scan->at >= scan->end || *scan->at < '0' || *scan->at > '9') return broken(scan, "a dimension");
    int64_t value = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++)
      if (!dq_mul_i64(value, 10, &value) || !dq_add_i64(value, *scan->at - '0', &value))
        return dq_fail(scan->error, DQ_BAD_INPUT, "%s: a dimension overflows 64 bits", scan->name);
    dims[*rank] = value;
    accept(scan, "L"); // written by Python 2
    if (!accept(scan, ",") && (scan->at >= scan->end || *scan->at != ')')) return broken(scan, "a comma");
  }
  return DQ_OK;
}

static dq_status element_type(scanner *scan, const char *code, int *type) {
  if (*code == '>' && code[2] != '1')
    return dq_fail(scan->error, DQ_BAD_INPUT, "%s: big-endian elements '%s', expected little endian", scan->name, code);
  const char *plain = strchr("<|=>", *code) && *code ? code + 1 : code;
  const int found = dq_find_row(plain, types, sizeof *types, TYPES);
  if (found < 0)
    return dq_fail(scan->error, DQ_BAD_INPUT, "%s: elements of type '%s', expected numbers", scan->name, code);
  *type = types[found].type;
  return DQ_OK;
}

// Fills type and shape from `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
static dq_status scan_header(scanner *scan, dq_tensor *tensor) {
  int type = DQ_UNKNOWN_TYPE, rank = -1;
  int64_t dims[DQ_MAX_RANK];
  bool fortran = false;
  if (!accept(scan, "{")) return broken(scan, "a dictionary");
  while (!accept(scan, "}")) {
    char key[32], code[32];
    DQ_TRY(scan_string(scan, key, sizeof key));
    if (!accept(scan, ":")) return broken(scan, "a colon");
    if (!strcmp(key, "descr")) {
      if (accept(scan, "["))
        return dq_fail(scan->error, DQ_BAD_INPUT, "%s: structured elements, expected numbers", scan->name);
      DQ_TRY(scan_string(scan, code, sizeof code));
      DQ_TRY(element_type(scan, code, &type));
    } else if (!strcmp(key, "fortran_order")) {
      fortran = accept(scan, "True");
      if (!fortran && !accept(scan, "False")) return broken(scan, "True or False");
    } else if (!strcmp(key, "shape")) {
      DQ_TRY(scan_shape(scan, &rank, dims));
    } else {
      return broken(scan, "descr, fortran_order or shape");
    }
    accept(scan, ",");
  }
  if (type == DQ_UNKNOWN_TYPE || rank < 0) return broken(scan, "descr and shape");
  if (fortran && rank > 1) {
    dq_fail(scan->error, DQ_BAD_INPUT, "%s: Fortran order, expected C order", scan->name);
    dq_error_hint(scan->error, "save numpy.ascontiguousarray(x)");
    return DQ_BAD_INPUT;
  }
  dq_status status = dq_tensor_shape(tensor, type, rank, dims, scan->error);
  return status == DQ_OK ? DQ_OK : dq_error_prefix(scan->error, status, "%s", scan->name);
}

enum { MAGIC_BYTES = 6, LENGTH_AT = 8, VERSION_1_PREFIX = 10, VERSION_2_PREFIX = 12 };
static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

dq_status dq_npy_parse(dq_tensor *tensor, const uint8_t *bytes, size_t size, const char *name, dq_error *error) {
  memset(tensor, 0, sizeof *tensor);
  if (size == 0) return dq_fail(error, DQ_BAD_INPUT, "%s: empty file, expected .npy", name);
  if (size < VERSION_2_PREFIX || memcmp(bytes, magic, MAGIC_BYTES))
    return dq_fail(error, DQ_BAD_INPUT, "%s: not an .npy file", name);
  int version = bytes[MAGIC_BYTES];
  if (version < 1 || version > 3)
    return dq_fail(error, DQ_BAD_INPUT, "%s: .npy version %d, expected 1, 2 or 3", name, version);
  size_t prefix = version == 1 ? VERSION_1_PREFIX : VERSION_2_PREFIX;
  size_t length = bytes[LENGTH_AT] | (size_t)bytes[LENGTH_AT + 1] << 8;
  if (version > 1) length |= (size_t)bytes[LENGTH_AT + 2] << 16 | (size_t)bytes[LENGTH_AT + 3] << 24;
  if (length > size - prefix)
    return dq_fail(error, DQ_BAD_INPUT, "%s: the header of %zu bytes is cut off", name, length);
  const char *header = (const char *)bytes + prefix;
  scanner scan = {header, header + length, name, error};
  DQ_TRY(scan_header(&scan, tensor));
  size_t expected = dq_tensor_bytes(tensor), found = size - prefix - length;
  if (found < expected)
    return dq_fail(error, DQ_BAD_INPUT, "%s: %zu bytes of elements, expected %zu", name, found, expected);
  tensor->data = (void *)(uintptr_t)(bytes + prefix + length);
  return DQ_OK;
}

dq_status dq_npy_read(dq_tensor **tensor, const char *path, dq_arena *arena, dq_error *error) {
  dq_file file;
  dq_tensor found;
  *tensor = NULL;
  DQ_TRY(dq_file_open_stream(&file, path, dq_arena_budget(arena), error));
  dq_status status = dq_npy_parse(&found, file.data, file.size, path, error);
  if (status == DQ_OK) {
    *tensor = dq_tensor_new(arena, found.type, found.rank, found.dims);
    if (*tensor) memcpy((*tensor)->data, found.data, dq_tensor_bytes(&found));
    else status = dq_fail_memory(error, dq_tensor_bytes(&found));
  }
  dq_file_close(&file);
  return status;
}

// The dictionary padded with spaces so that the elements begin at a multiple of 64 bytes.
static size_t make_header(char *header, size_t size, const char *code, const dq_tensor *tensor) {
  bool single = dq_dtype_size(tensor->type) == 1;
  size_t used =
      (size_t)snprintf(header, size, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", single ? '|' : '<', code);
  for (int i = 0; i < tensor->rank; i++)
    used += (size_t)snprintf(header + used, size - used, "%s%" PRId64 "%s", i ? " " : "", tensor->dims[i],
                             i + 1 < tensor->rank || tensor->rank == 1 ? "," : "");
  used += (size_t)snprintf(header + used, size - used, "), }");
  size_t padded = dq_round_up(VERSION_1_PREFIX + used + 1, 64) - VERSION_1_PREFIX;
  memset(header + used, ' ', padded - used - 1);
  header[padded - 1] = '\n';
  return padded;
}

dq_status dq_npy_write(const char *path, const dq_tensor *tensor, dq_error *error) {
  const char *code = NULL;
  for (int i = 0; i < TYPES; i++)
    if (types[i].type == tensor->type) code = types[i].code;
  if (!code || tensor->rank < 0)
    return dq_fail(error, DQ_UNSUPPORTED, "%s: elements of type %s cannot be written as .npy", path,
                   dq_dtype_name(tensor->type));
  char header[512];
  size_t length = make_header(header, sizeof header, code, tensor);
  uint8_t prefix[VERSION_1_PREFIX] = {0};
  memcpy(prefix, magic, MAGIC_BYTES);
  prefix[MAGIC_BYTES] = 1;
  prefix[LENGTH_AT] = (uint8_t)(length & 255);
  prefix[LENGTH_AT + 1] = (uint8_t)(length >> 8);
  dq_output output;
  DQ_TRY(dq_output_open(&output, path, error));
  fwrite(prefix, 1, sizeof prefix, output.stream); // the commit sees a failed write
  fwrite(header, 1, length, output.stream);
  if (dq_tensor_bytes(tensor)) fwrite(tensor->data, 1, dq_tensor_bytes(tensor), output.stream);
  return dq_output_commit(&output, error);
}
