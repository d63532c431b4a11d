// Models of the ONNX node suite whose parameters are constants.
#ifndef DQ_TESTS_FIXED_H
#define DQ_TESTS_FIXED_H

// Writes a model with all inputs but the first as constants, of the elements that the files input_1.pb, ... in the
// folder `set` have. Returns an exit status.
int write_fixed_model(const char *model, const char *set, const char *path);

#endif
