// A network as C99 source without a runtime: the steps of its schedule as functions, its constants as arrays, and one
// block of memory that the caller gives.
//
// The source needs <stdint.h> and <string.h> (memcpy), and <math.h> where steps in float32 do. It allocates nothing,
// has no state, and does not recurse. Integer results are those of the executor on every machine with two's complement
// and an arithmetic right shift, of which a big-endian one has a compiler with __BYTE_ORDER__ and __builtin_bswap64
// where arrays of 8 bits are large; float32 results too, where fmaf and the basic operations round as IEEE 754 says.
#ifndef DQ_CODEGEN_CODEGEN_H
#define DQ_CODEGEN_CODEGEN_H

#include "lib/ops/emit/emit.h"
#include "lib/session/session.h"

// One step of the emitted network.
typedef struct dq_codegen_step {
  const dq_node *node;    // of session.copy
  const char *label;      // the node's name, or its first output's when it has none
  int64_t macs;           // multiply-accumulates
  int64_t constant_bytes; // of its arrays
  int64_t channels;       // whose integer sums are requantized
  int64_t slow_channels;  // of these: by float32, as no fixed-point form was proven
  int64_t exceptions;     // of the fixed-point forms: sums whose result is corrected
  int sum_bits;           // two's complement bits that hold every integer sum whatever the input; 0: none
  int function;           // the first step that calls the same function, NAME_function in C; -1: nothing is called
  size_t scratch_bytes, scratch_offset; // in the block
} dq_codegen_step;

// An input or output of the emitted function.
typedef struct dq_codegen_port {
  const char *name;      // in the model
  const char *field;     // part of the names of its macros
  const char *parameter; // in_FIELD or out_FIELD, which no macro of a header is called
  dq_tensor tensor;      // type and shape
  // The one scale and zero point by which the model's QuantizeLinear or DequantizeLinear at this port relates numbers
  // to integers; scale 0: the port has no such node, or one with a scale for each channel.
  float scale;
  int32_t zero_point;
} dq_codegen_port;

typedef struct dq_codegen {
  dq_session session; // without plan
  dq_arena *arena;    // owned
  const char *name;   // prefix of names in C
  dq_emit_target target;
  dq_codegen_step *steps;
  int step_count;
  dq_codegen_port *inputs, *outputs;
  int input_count, output_count;
  size_t arena_bytes;     // of the block that the caller gives
  int64_t constant_bytes; // of all arrays
  int64_t macs;
  uint64_t content;         // XXH64 of all that the files hold, which stands in each of them
  char *source, *header;    // texts, of malloc
  const char *header_name;  // that the source includes
  const char *weights_name; // of the file that the source takes constants from; NULL: they are arrays
  char *weights;            // its bytes, little endian, of malloc; they begin with `content` and 8 bytes of 0
  size_t weights_bytes;
} dq_codegen;

typedef struct dq_codegen_options {
  dq_session_options session; // shapes, and nothing else
  const char *name;           // prefix of names in C; NULL: "net"
  const char *header;         // name of the header that the source includes
  dq_emit_target target;
  // Name of a file that holds the constants, in the folder in which the source is compiled; NULL: they are arrays in
  // the source, of at most DQ_CODEGEN_MOST_ARRAYS bytes together, since compilers need some fifty times as much
  // memory. The file needs an assembler with .incbin, and a little-endian machine.
  const char *weights_name;
} dq_codegen_options;

enum { DQ_CODEGEN_MOST_ARRAYS = 32 << 20 };

// Emits a network. The caller closes *made, also after a failure. DQ_UNSUPPORTED: a node has an operator that dq cannot
// write as C, or not with these attributes and types, or a shape depends on elements; the message names the first such
// node; or there are too many constants for arrays. DQ_USAGE: `name` is no name in C; else statuses as
// dq_session_schedule.
dq_status dq_codegen_open(dq_codegen *made, const dq_graph *graph, const dq_codegen_options *options,
                          const dq_context *context, dq_error *error);
void dq_codegen_close(dq_codegen *made); // allowed on a zeroed struct

// Makes a name in C of a text: letters, digits and underscores stay, other bytes become underscores; a keyword of C or
// C++, or a text that begins with a digit, gets an underscore in front. In the arena; NULL: there is no memory.
char *dq_codegen_identifier(dq_arena *arena, const char *text);
// Whether a text is a name in C that is no keyword of C or C++ and does not begin with an underscore.
bool dq_codegen_is_name(const char *text);

#endif
