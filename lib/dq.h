// dq: makes convolutional networks smaller and faster (ONNX in, ONNX out), and reports what each step costs.
// This header includes all parts of the public interface of libdq. `pkg-config --cflags --libs dq` prints the flags
// that a program needs. docs/guide/example.c is a program that uses nothing else.
//
//   engine    number of threads, limit of memory, receiver of messages
//   model     an ONNX file in memory: load, transform, inspect, save
//   dataset   pictures or arrays, which are read one at a time
//   network   a model made ready to run
//   queue     several networks at once, and the requests to them
//
// Failures. A function that can fail returns a dq_code, DQ_CODE_OK (0) for success. Its last argument is a dq_failure,
// which receives the reason, or NULL. Every such function can return DQ_CODE_SYSTEM when memory is missing or the limit
// of the engine is reached, and DQ_CODE_CANCELLED after dq_engine_stop; the comments below name the other codes.
// Except for the retraining hook the library does not print, and it neither exits nor installs signal handlers.
//
// Handles. A function whose name ends in _open or _load makes a handle and stores the handle in its first argument, or
// NULL after a failure. The function with _close or _free releases the handle; NULL is allowed and does nothing.
// Release a handle after everything that was made with it: datasets, models, networks and queues before their engine,
// networks and queues before their models, requests before their queue.
//
// Structs of options and results begin with `size`, the size of the struct that the program was built with, so that
// later versions of the library can add fields at the end. Set options by their _defaults function, then change fields:
//   dq_model_int8_options options;
//   dq_model_int8_defaults(&options, sizeof options);
// `options` may be NULL and then stands for the defaults. Set the size of results before the call:
// `dq_model_int8_facts facts = {.size = sizeof facts};`. `facts` and rows may be NULL: nothing is written. `facts` are
// written on success only. DQ_CODE_USAGE: `size` is not set, or the options have fields of a later version.
//
// NULL. Where a function with a code needs a pointer (a handle, a path, a place for a result), NULL is DQ_CODE_USAGE,
// and the message names the argument. Other functions take NULL as nothing: they do nothing, or return 0 or NULL;
// dq_request_wait returns 1.
//
// Locale. Files, texts of options and messages have a decimal point and the letters of the locale "C", whatever locale
// the program has set for itself or for the thread. Callbacks run in the locale of the program.
//
// Lists of names are arrays whose last element is NULL; NULL stands for an empty list. Fields of type int that answer
// yes or no are 0 for no; any other value means yes.
//
// `shapes` is such a list. It gives sizes that the model leaves open, one text for each input: "x=1,3,224,224", or
// "1,3,224,224" where the model has one input. A size N stays what the model has ("x=N,3,224,224"). Fewer sizes than
// dimensions are the last ones ("x=224,224"). DQ_CODE_USAGE: the text has another form, or there is no such input.
//
// The library reads texts of the program during the call only. Texts in results belong to the handle and hold as long
// as the comment at the function says, at most until the handle is released.
//
// Use an engine, and everything that was made with it, in one thread at a time, but requests of a queue (dq_multi.h).
// Engines do not depend on each other.
// Results depend neither on the number of threads nor on the instruction set, except for factors of dq_model_tucker,
// which LAPACK computes.
#ifndef DQ_H
#define DQ_H

#include "dq_amp.h"
#include "dq_base.h"
#include "dq_int8.h"
#include "dq_measure.h"
#include "dq_mix.h"
#include "dq_multi.h"
#include "dq_network.h"
#include "dq_retrain.h"
#include "dq_source.h"
#include "dq_train.h"
#include "dq_tucker.h"
#include "dq_tune.h"

#endif
