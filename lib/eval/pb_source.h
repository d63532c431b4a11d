// The data kind `pb:DIR`: tensors in protobuf files, laid out as in the ONNX test suite. It stands
// here because `datasets` must not know protobuf and `lib/onnx` must not know data sets.
#ifndef DQ_EVAL_PB_SOURCE_H
#define DQ_EVAL_PB_SOURCE_H

#include "datasets/datasets.h"

// An element of dq_data_options.sources. DIR contains input_0.pb, or folders test_data_set_N that contain it, which are
// read in the order of N. Dimension 0 of a tensor counts pictures. Elements of any computable type become float32
// without preprocessing; output_N.pb is not read. Opening reads all tensors into memory, within context->budget.
// DQ_SYSTEM: there is no such folder, or no input_0.pb in it; DQ_BAD_INPUT: a file is broken or has a scalar;
// DQ_UNSUPPORTED: there are several inputs, or the elements are not numbers.
extern const dq_data_source dq_pb_source;

#endif
