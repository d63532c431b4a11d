// Models of a number of like parts, which may cost time and memory in proportion to that number only.
#ifndef DQ_TESTS_HOSTILE_H
#define DQ_TESTS_HOSTILE_H

// Writes to `path` the model of `count` parts of that kind; an exit status. 2: there is no such kind.
int write_hostile_model(const char *kind, int count, const char *path);

#endif
