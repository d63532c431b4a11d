// Lists of texts that a model or a file has for numbers: names of classes, characters of text recognizers.
#ifndef DQ_DECODE_TEXT_CLASS_NAMES_H
#define DQ_DECODE_TEXT_CLASS_NAMES_H

#include "lib/base/context.h"
#include "lib/decode/decode.h"
#include "lib/decode/literal.h"

enum { DQ_LONGEST_NAMES = 1 << 26 }; // bytes of the text of a list

typedef struct dq_names {
  int64_t count;
  char **items; // [count]: UTF-8 as it stands in the source, with every character; owned
} dq_names;

// The functions that fill a list allocate less than 10 bytes for a byte of the source and 8 bytes for each name, which
// count against the context (NULL: no limit). The caller calls dq_names_deinit after success. DQ_BAD_INPUT: the source
// cannot be read, is longer than the bounds above, or is no UTF-8; DQ_SYSTEM: there is no memory.
void dq_names_deinit(dq_names *names); // a zeroed struct is allowed

// A list or a dictionary of texts in Python or JSON: "{0: 'person', 1: \"driver's seat\"}", "['a', 'b']", "{\"0\":
// \"a\"}". Keys are numbers of classes in any order; a number below the highest one that is not there has the name "".
dq_status dq_names_parse(dq_names *names, const char *text, const dq_context *context, dq_error *error);

// The lines of a text of `size` bytes, which end with LF or CRLF; an empty line is the name "". A mark of byte order in
// front is left out.
dq_status dq_names_of_lines(dq_names *names, const char *text, size_t size, const dq_context *context, dq_error *error);

// The lines of a file. Messages begin with the path. DQ_SYSTEM: the file cannot be read.
dq_status dq_names_read(dq_names *names, const char *path, const dq_context *context, dq_error *error);

// The names of the classes of a detector or classifier: the property `names`, else the lines of `character`, which
// detectors of PaddlePaddle have. No names where the model has neither.
dq_status dq_names_of_model(dq_names *names, const dq_metadata *metadata, const dq_context *context, dq_error *error);

#endif
