// dq.h: a model as C without a runtime.
#ifndef DQ_SOURCE_H
#define DQ_SOURCE_H

#include "dq_base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

// The instructions that the C may use.
typedef enum dq_source_target {
  DQ_SOURCE_GENERIC, // those of C99
  DQ_SOURCE_DSP      // also the SIMD instructions of Armv7E-M (Cortex-M4, Cortex-M7)
} dq_source_target;

typedef struct dq_model_source_options {
  size_t size;
  const char *const *shapes; // C has fixed sizes
  int64_t batch;             // of inputs where the model leaves it open, 1 or more; default 1
  const char *name;          // names in C begin with it: NAME_run; NULL (default): "net"
  const char *header;        // name of the header, which the source includes; NULL (default): the name with ".h"
  const char *weights;       // name of a file with the constants, which the assembler takes in by .incbin where the
                             // source is compiled; NULL (default): they are arrays in the source, of at most 32 MiB
  dq_source_target target;   // default DQ_SOURCE_GENERIC
} dq_model_source_options;

// The texts, and the bytes of the file of constants, hold until the next dq_model_source or transform of the model.
typedef struct dq_model_source_facts {
  size_t size;
  const char *source, *header;
  const void *weights;    // NULL: the constants are in the source
  uint64_t weights_bytes; // of `weights`
  uint64_t arena_bytes;   // of the block of memory that NAME_run takes
  int64_t constant_bytes; // of all constants
  int64_t macs;           // multiply-accumulates
  int steps;
} dq_model_source_facts;

void dq_model_source_defaults(dq_model_source_options *options, size_t size);
// Writes the model as C, as dq-cc does. The model does not change. DQ_CODE_USAGE: `name` is no name in C, or an option
// is out of its range; DQ_CODE_BAD_INPUT: a size is open; DQ_CODE_UNSUPPORTED: dq cannot write a node as C, or there
// are too many constants for arrays.
dq_code dq_model_source(dq_model *model, const dq_model_source_options *options, dq_model_source_facts *facts,
                        dq_failure *failure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
