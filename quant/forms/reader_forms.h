// Nodes without effect, and pairs that are left out, by which other runtimes answer a file in QDQ form as dq does. dq
// leaves such nodes out of every run (lib/passes/drop.c).
//
// Identity between pairs: OpenVINO 2026.4.0 ends its process while it compiles two networks of text detection that have
// a pair in front of an Identity and the same one behind. The Identity and the second pair are left out.
//
// Pads between pairs: OpenVINO 2026.4.0 moves the conversion in front of a Pad behind it, and pads its zero point with
// it, in place. Where another conversion shares the zero point, that one has numbers in the wrong places, or OpenVINO
// refuses the file. The conversion in front of a Pad has a zero point of its own.
//
// Products that stay in float between pairs: ONNX Runtime 1.32 with its default optimizations rounds the float weight
// of a Conv, ConvTranspose or Gemm to 8 bits with one scale, where it finds a DequantizeLinear in front and a
// QuantizeLinear behind, with nothing but Relu, Clip and moves in between (weight_bias_quantization.cc of its source;
// findings/onnxruntime_quantizes_float_weights_between_pairs.sh). A LeakyRelu of slope 1 ends that search; ONNX Runtime
// computes it in the epilogue of a Conv or Gemm.
//
// Softmax and LogSoftmax between pairs: tract 0.23.9 takes what lies between two pairs for a function of single
// elements where each axis of the result is one of the input (quantize_section in core/src/ops/quant.rs of its source),
// and answers with its values at 256 inputs (findings/tract_takes_softmax_between_pairs_for_a_table.sh). ONNX Runtime
// rounds once more in its QLinearSoftmax. A PRelu of slope 1, which has two inputs, ends what both look for.
#ifndef DQ_QUANT_READER_FORMS_H
#define DQ_QUANT_READER_FORMS_H

#include "lib/document/origin.h"

// Leaves out of an indexed graph in QDQ form every Identity between two pairs of the same scale and zero point, and the
// second pair, where no value of them is an output. Puts a LeakyRelu of slope 1 behind every product with a float32
// weight that stands between pairs: behind constants added or multiplied and batch normalizations that runtimes fold
// into the product, in front of Relu, Clip and moves. A MatMul counts where an Add follows it, as ONNX Runtime makes a
// Gemm of both. Where the graph stays in QDQ form (`stays`), the DequantizeLinear in front of a Pad gets a zero point
// that no other node reads, and a PRelu of slope 1 stands behind every Softmax and LogSoftmax between pairs. New values
// are added to `origin`. The graph is indexed again. Statuses as dq_graph_index; DQ_SYSTEM: there is no memory.
dq_status dq_write_reader_forms(dq_graph *graph, bool stays, dq_origin *origin, dq_error *error);

#endif
