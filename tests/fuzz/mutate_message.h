// Mutations of protobuf messages by what protobuf-c knows of their fields.
#ifndef DQ_TESTS_FUZZ_MUTATE_MESSAGE_H
#define DQ_TESTS_FUZZ_MUTATE_MESSAGE_H

#include "lib/onnx/document.h"
#include "tests/fuzz/fuzz.h"

// Changes one field of one message below `root` (or root itself): takes it out, doubles it, swaps elements,
// gives it another number or text. `words` are texts it may become. New memory comes from the arena.
void fuzz_mutate_message(ProtobufCMessage *root, const char *const *words, size_t word_count, dq_random *random,
                         dq_arena *arena);

// A message below `root` of that kind, each as likely as the others; NULL when there is none.
void *fuzz_pick_message(ProtobufCMessage *root, const ProtobufCMessageDescriptor *kind, dq_random *random);

// Puts an element (NULL: none) at a place of an array of pointers that has `count` of them: the new array.
void *fuzz_array_insert(dq_arena *arena, void *array, size_t *count, size_t at, void *element);

#endif
