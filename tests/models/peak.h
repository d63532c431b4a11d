#ifndef DQ_TESTS_PEAK_H
#define DQ_TESTS_PEAK_H

// Runs a command, writes the most megabytes it held at once into `file` and returns its exit status.
int measure_peak(const char *file, char **command);

#endif
