// Sizes of inputs that a model leaves open: the name of each, its origin, and a size to assume where none is given, so
// that the cost of the network can be counted.
#ifndef DQ_SCHEDULE_OPEN_SIZES_H
#define DQ_SCHEDULE_OPEN_SIZES_H

#include "lib/schedule/infer.h"

typedef enum dq_size_source {
  DQ_SIZE_DEFAULT,    // the batch, which is 1
  DQ_SIZE_GIVEN,      // the request gives it, for another dimension with the same symbol
  DQ_SIZE_REMEMBERED, // the model records it (dq_value.usual)
  DQ_SIZE_ASSUMED     // dq_sizes_assume chose it
} dq_size_source;

// One size: of the open first dimensions of all inputs (the batch), of the dimensions with one symbol, or of one
// dimension without. Channels, height and width of a picture are never the batch, whatever their symbol.
typedef struct dq_open_size {
  const char *name;      // in shapes, no two alike: the file's symbol where it is a plain word of at most 16 letters,
                         // else C, H, W by its place in a picture, or D and the dimension; the batch is N unless its
                         // symbol has one or two letters
  const char *symbol;    // in the file; NULL: none, or no word
  const dq_value *input; // the first input that has it, and where
  int dimension;
  int64_t size;
  dq_size_source source;
} dq_open_size;

typedef struct dq_sizes {
  dq_open_size *open;
  int count;
  bool fit;        // false: the network contradicts itself at every size that was tried, as it does at these
  dq_error misfit; // how, at the sizes in `open`
} dq_sizes;

// Lists the sizes that stay open under the request `given` (may be NULL) in *sizes. Those whose size nothing else gives
// are assumed: the first of the following at which shape inference succeeds. Height and width of inputs of rank 4 and 5
// from 224, 256, 320, 416, 512, 640 (squares), 48 x 320, 32 x 320, then 192, 160, 128, 96, 64, 32, 28 and 16; channels
// from 3, 1, 4 and 2; all others from 128, 256, 512, 576, 1024, 4096, 16000, 64, 32, 16, 8, 4, 2 and 1. Arrays are in
// the arena. The time is that of one shape inference for each trial. DQ_BAD_INPUT, DQ_USAGE: the request contradicts
// the inputs; DQ_SYSTEM: there is no memory; DQ_CANCELLED.
dq_status dq_sizes_assume(dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                          const dq_context *context, dq_arena *arena, dq_error *error);

// Stores in *request a copy of `given` (may be NULL) with all open sizes filled in; that of open[twice] is doubled (-1:
// none is). Arrays are in the arena. DQ_SYSTEM: there is no memory.
dq_status dq_sizes_request(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given, int twice,
                           dq_arena *arena, dq_shape_request *request, dq_error *error);

bool dq_sizes_assumed(const dq_sizes *sizes); // whether any size has the source DQ_SIZE_ASSUMED

// Does what dq_infer (DQ_INFER_TOLERANT) does at assumed sizes, for callers that need types only. *assumed (may be
// NULL) receives whether any size was assumed. DQ_USAGE: a size is not known, and none of those that were tried fits.
dq_status dq_infer_assuming(const dq_graph *graph, const dq_shape_request *given, bool *assumed,
                            const dq_context *context, dq_arena *arena, dq_tensor **tensors, dq_error *error);

// The index in sizes->open of the size of a dimension of an input; -1: that dimension is not open.
int dq_sizes_find(const dq_sizes *sizes, const dq_value *input, int dimension);

// Copies recorded sizes (dq_value.usual) from inputs of `from` to inputs of `to` with the same name and no recorded
// sizes, so that both run at the same size. DQ_SYSTEM: there is no memory.
dq_status dq_sizes_share(dq_graph *to, const dq_graph *from, dq_error *error);

// The text of the options that give all assumed sizes, "--shape x=N,3,224,224", in the arena; NULL: there is no memory.
const char *dq_sizes_option(const dq_sizes *sizes, const dq_graph *graph, const dq_shape_request *given,
                            dq_arena *arena);

// Sets the hint of `error` for a size that is not known: options with sizes at which shape inference succeeds.
void dq_sizes_hint(const dq_graph *graph, const dq_shape_request *given, const dq_context *context, dq_error *error);

#endif
