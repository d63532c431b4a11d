// The data kind `pb:DIR`: tensors in protobuf files, laid out as in the ONNX test suite. It stands
// here because `datasets` must not know protobuf and `lib/onnx` must not know data sets.
#ifndef DQ_ONNX_PB_SOURCE_H
#define DQ_ONNX_PB_SOURCE_H

#include "datasets/datasets.h"

// The source is for dq_data_options.sources. DIR holds input_0.pb, input_1.pb, ..., one for each input of the network,
// or folders test_data_set_N that do, taken in the order of N. Dimension 0 of a tensor counts samples; the tensors of a
// set that differ in it, scalars among them, are one sample together. Values of any number type are given to the model
// as they are; output_N.pb is not read. All tensors are read on opening and kept, within context->budget. DQ_SYSTEM: no
// such folder or no input_0.pb in it; DQ_BAD_INPUT: a broken file, an empty tensor, a scalar for the only input, sets
// with another number of inputs; DQ_UNSUPPORTED: elements that are no numbers.
extern const dq_data_source dq_pb_source;

#endif
