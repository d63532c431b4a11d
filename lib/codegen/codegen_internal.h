// Parts of the emission of C.
#ifndef DQ_CODEGEN_INTERNAL_H
#define DQ_CODEGEN_INTERNAL_H

#include <stdio.h>

#include "lib/codegen/codegen.h"

typedef enum dq_codegen_home {
  DQ_HOME_NOWHERE, // no element is stored
  DQ_HOME_ARENA,
  DQ_HOME_INPUT, // in what the caller gives as an input
  DQ_HOME_OUTPUT // in what the caller gives for an output
} dq_codegen_home;

// Where the elements of a value lie.
typedef struct dq_codegen_place {
  dq_codegen_home home;
  int port;      // of an input or output
  size_t offset; // from the start of that, in bytes
} dq_codegen_place;

// Finds the place of every value (by value index, in made->arena), with inputs and outputs in the memory of the caller
// and the others in one block together with the scratch of the steps; sets made->arena_bytes and the scratch offsets.
// DQ_SYSTEM: there is no memory.
dq_status dq_codegen_places(dq_codegen *made, dq_codegen_place **places, dq_error *error);

// One function of the source.
typedef struct dq_codegen_function {
  int step; // the first step that calls it, whose number is in its name
  const char *parameters, *body;
  bool has_floats; // it computes with floats, more than a product or a quotient
} dq_codegen_function;

// What is collected before the source is written.
typedef struct dq_codegen_parts {
  dq_codegen_place *places; // by value index
  dq_tensor *tensors;       // by value index; those of constants have elements
  dq_codegen_function *functions;
  int function_count;
  FILE *constants; // definitions of arrays
  bool has_words;  // one of them is written in words of 64 bits
  FILE *weights;   // bytes of the arrays, where they get a file of their own; NULL: they get none
  size_t weights_bytes;
  FILE *calls;                   // statements of the network's function
  bool helpers[DQ_EMIT_HELPERS]; // that bodies call, and what these need
  uint64_t library;              // functions of the C library that bodies call by pointers: dq_codegen_body
} dq_codegen_parts;

// DQ_UNSUPPORTED: a value has more elements, or a window reaches farther, than the counters of the C hold; the message
// names it. Sizes are those of parts->tensors.
dq_status dq_codegen_check_bounds(const dq_codegen *made, const dq_codegen_parts *parts, dq_error *error);

// Prints the step `index`: its arrays, its function unless an equal one is there, and its call. Statuses as
// dq_codegen_open.
dq_status dq_codegen_emit_step(dq_codegen *made, dq_codegen_parts *parts, int index, const dq_context *context,
                               dq_error *error);

// Prints the array of output `o`, which is a constant, and the statement that copies it.
void dq_codegen_constant_output(dq_codegen *made, dq_codegen_parts *parts, int o);

// Writes the body of a function. Names of functions of the C library whose last bits are the library's own get dq_c_ in
// front, and the functions are added to the set *library.
void dq_codegen_body(FILE *to, const char *body, uint64_t *library);
// Writes definitions in C of the pointers by which bodies call the functions of such a set.
void dq_codegen_library(FILE *to, uint64_t library);
// Writes a text as part of a comment: no end of a comment, no control characters, no backslash.
void dq_codegen_comment(FILE *to, const char *text);
// Writes a comment on a step of the first call of a function: operator, name, types and shapes, and which other steps
// call it.
void dq_codegen_describe(FILE *to, const dq_codegen *made, const dq_codegen_parts *parts, int step);
// Writes the C header of the emitted network.
void dq_codegen_header(FILE *to, const dq_codegen *made);
// Writes the declaration of the network's function, without a semicolon.
void dq_codegen_declaration(FILE *to, const dq_codegen *made);

#endif
