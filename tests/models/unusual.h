// Models that are valid but out of the ordinary, in the wire format: what no command runs and every command keeps.
#ifndef DQ_TESTS_MODELS_UNUSUAL_H
#define DQ_TESTS_MODELS_UNUSUAL_H

// Writes NAME.onnx into the folder and, for what must be kept to the byte, NAME.kept. 0: done.
int write_unusual_models(const char *folder);

#endif
