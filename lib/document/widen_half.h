// Widens the float16 and bfloat16 of a document graph to float32, for transforms that convert float32 networks.
#ifndef DQ_DOCUMENT_WIDEN_HALF_H
#define DQ_DOCUMENT_WIDEN_HALF_H

#include "lib/base/context.h"
#include "lib/graph/graph.h"

// Stores in *wide a copy of the indexed `graph`, in which float32 stands for float16 and bfloat16:
//  - initializers and tensors of attributes (value of Constant, ConstantOfShape) have the same numbers in float32;
//  - types that attributes name (to, dtype, ...) and declared types of inner values are float32;
//  - a Cast between these types is gone;
//  - inputs and outputs in float16 keep their name and type, with a Cast behind the input (which writes X_fp32) and in
//    front of the output (which reads Y_fp32). Initializers that are inputs too keep theirs from IR version 4 on. Those
//    in bfloat16 become float32, as dq runs no bfloat16, which the note says.
// The outputs differ from those of `graph` by what float16 arithmetic rounds. The widening is a step of the origin
// (lib/document/origin.h). A note with the path of the graph counts the widened weights and ends with "before `what`",
// such as "quantization". *widened says whether anything was. A graph with bodies (If, Loop, Scan), functions
// or BitCast is copied as it is, with a note when something in it is float16. Declared shapes that the nodes contradict
// are repaired in any copy (lib/document/repair_shapes.h).
// The caller frees *wide, before `graph`, whose elements it shares. DQ_SYSTEM: there is no memory.
dq_status dq_widen_half(dq_graph **wide, bool *widened, const dq_graph *graph, const char *what,
                        const dq_context *context, dq_error *error);

// Declares the type of a value of the document in place of the declaration in the file, whose shape stays.
void dq_declare_type(dq_value *value, int type);

#endif
