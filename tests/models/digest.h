// What stands in a file, in few lines that two versions of it can be compared by.
#ifndef DQ_TESTS_MODELS_DIGEST_H
#define DQ_TESTS_MODELS_DIGEST_H

// make_models --digest FILE: of a model every input, constant, node, output and property, of an array its elements.
// Of a tensor: type, shape, least and largest element, mean, root of the mean square, and a hash of its bytes. Returns
// a dq_status.
int print_digest(const char *path);

#endif
