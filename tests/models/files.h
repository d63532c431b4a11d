// Files for tests of the commands.
#ifndef DQ_TESTS_MODELS_FILES_H
#define DQ_TESTS_MODELS_FILES_H

// make_models --copy FROM.onnx TO.onnx: loads a model and saves it again, for tests that compare the two. Returns a
// dq_status.
int copy_model(const char *from, const char *to);

// make_models --contains WHOLE PART: 0 when the bytes of PART stand somewhere in WHOLE, 1 when they do not, 5 when a
// file cannot be read.
int contains(const char *whole, const char *part);

#endif
