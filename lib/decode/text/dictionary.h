// The characters that the classes of a text recognizer stand for.
#ifndef DQ_DECODE_TEXT_DICTIONARY_H
#define DQ_DECODE_TEXT_DICTIONARY_H

#include "lib/decode/text/class_names.h"

typedef struct dq_dictionary {
  dq_names lines;   // a character or a text in each
  int64_t classes;  // 0: nothing counts them
  int64_t in_front; // classes in front of that of the first line: 0, or 1, the blank
} dq_dictionary;

// Both open a dictionary for a recognizer of `classes` classes. By the number of lines these are the classes as they
// stand (as many lines as classes, or `classes` is 0: nothing counts them), the classes behind the blank (one line
// fewer), or the classes between the blank and a space (two fewer: PaddleOCR's rule). An empty line is a class without
// text, as in PaddleOCR. The caller calls dq_dictionary_deinit after success. Statuses as for dq_names_of_lines.
// DQ_BAD_INPUT also: the number of lines is another one.

// The dictionary in the property `character` of a model. DQ_BAD_INPUT also: the model has no such property.
dq_status dq_dictionary_of_model(dq_dictionary *dictionary, const dq_metadata *metadata, int64_t classes,
                                 const dq_context *context, dq_error *error);
// The dictionary in a file of lines. Messages begin with the path. DQ_SYSTEM: the file cannot be read.
dq_status dq_dictionary_read(dq_dictionary *dictionary, const char *path, int64_t classes, const dq_context *context,
                             dq_error *error);
void dq_dictionary_deinit(dq_dictionary *dictionary); // a zeroed struct is allowed

// The text of a class, "" for the blank in front. NULL: there is no such class.
const char *dq_dictionary_text(const dq_dictionary *dictionary, int64_t class);

#endif
