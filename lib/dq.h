// dq: makes convolutional networks smaller, ONNX in and ONNX out, and tells what each step costs.
// This is the whole public interface of libdq, in the parts that it includes;
// `pkg-config --cflags --libs dq` tells how to build with it. docs/guide/example.c is a program that uses nothing else.
//
//   engine    threads, memory bound, where messages go
//   model     an ONNX file in memory: load, transform, look at, save
//   dataset   pictures or arrays, read one at a time
//   network   a model made ready to run
//
// Everything that can fail returns a dq_code, DQ_CODE_OK (0) for success, and takes a dq_failure last
// (may be NULL) that says why. Nothing prints, exits or installs signal handlers. Handles are made by
// _open or _load, into their first argument (NULL after a failure), and given back by _close or
// _free, which take NULL. What was made with a handle is given back before it.
//
// Structs of options and results begin with `size`. Options are set by their _defaults function, then by the program:
//   dq_model_int8_options options;
//   dq_model_int8_defaults(&options, sizeof options);
// Results are told theirs: `dq_model_int8_facts facts = {.size = sizeof facts};` So later versions of the
// library can add fields at the end, and programs built before go on working.
//
// Lists of names are arrays ended by NULL; NULL stands for an empty one. `shapes` are texts such as
// "x=1,3,224,224" (or "1,3,224,224" when there is one input) for inputs that the model leaves open; N keeps what the
// model has ("x=N,3,224,224"), and fewer sizes are the last ones ("x=224,224"). DQ_CODE_USAGE: no such input.
// Texts handed in are needed during the call only. Texts in results belong to the handle.
//
// One engine and all that was made with it are used by one thread at a time; several engines are
// independent. Results depend on neither threads nor instruction sets.
#ifndef DQ_H
#define DQ_H

#include "dq_amp.h"
#include "dq_base.h"
#include "dq_int8.h"
#include "dq_measure.h"
#include "dq_network.h"
#include "dq_retrain.h"
#include "dq_tucker.h"

#endif
