// Models that are described in a text, a line for each node.
#ifndef DQ_TESTS_MODELS_DESCRIBED_H
#define DQ_TESTS_MODELS_DESCRIBED_H

// make_models --describe TEXT MODEL: writes the model that the text describes. Lines:
//   opset = VERSION                  13 where no line says so
//   input NAME DIM...                a float32 input; DIM -1 is the batch, -2 another open size
//   output NAME DIM...               without dimensions: of any shape
//   NAME[,NAME...] = OPERATOR OPERAND... [ATTRIBUTE=VALUE...]
// An operand is the name of a value, - for none, or a constant: w(DIMS) random numbers whose sums over all but the
// first dimension have variance 1, b(DIMS) random numbers of deviation 0.1, p(DIMS) random numbers from 0.5 to 1.5,
// f(NUMBERS) a float32 vector, s(NUMBER) a float32 scalar, i(NUMBERS) an int64 vector. A value of an attribute is a
// list of integers when it has a comma (a list of one ends in it), a float when it has a point, an integer or a text. A
// node is called like its first output; name=NAME gives it another name, name= none. Returns an exit status; 2: a line
// cannot be read.
int write_described_model(const char *text_path, const char *path);

#endif
